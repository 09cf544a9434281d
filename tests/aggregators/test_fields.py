"""Fields of a state: what may be declared, what is taken for a column, and the way to Arrow and back."""

from __future__ import annotations

import datetime
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.states import (
    Compensated,
    CompensatedField,
    Exact,
    ExactField,
    Objects,
    Plain,
    concatenate,
    field,
    numpy_type,
    place,
)

PLAIN = {"int64": "int64", "bool": bool, np.float32: "float32", pa.int8(): "int8", pa.timestamp("ms"): "datetime64[ms]"}
TYPES = [pa.string(), pa.decimal128(5, 2), pa.list_(pa.int64())]
OTHERS = {"compensated": CompensatedField(), "exact": ExactField(2), "exact128": ExactField(4), "object": Objects()}
DECLARED = {
    **{declared: Plain(np.dtype(dtype)) for declared, dtype in PLAIN.items()},
    **{type: Objects(type) for type in TYPES},
    **OTHERS,
    object: Objects(),
}


@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_declarations(declared: Any) -> None:
    assert field(declared) == DECLARED[declared]


@pytest.mark.parametrize("declared", ["floaty", "complex128", 7.5, [("a", "int64")], "V8"])
def test_wrong_declarations_are_named(declared: Any) -> None:
    with pytest.raises(ff.OperationError, match="declared as"):
        field(declared)


def test_which_fields_lose_nothing() -> None:
    exact = {"int64", "uint8", "bool", "compensated", "exact", "exact128", "datetime64[us]"}
    for declared in [*exact, "float64", "float32", "object", pa.string()]:
        assert field(declared).exact is (declared in exact), declared


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ("int64", [-(2**63), 0, 2**63 - 1]),
        ("uint64", [0, 2**64 - 1]),
        ("bool", [True, False]),
        ("float64", [1.5, float("inf"), -0.0, 5e-324]),
        ("float32", [1.5]),
        ("datetime64[us]", [datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)]),
        ("object", [None, {"a": [1]}, (1, 2), [3, 4], frozenset({5})]),
        ("object", [(1, 2), (3, 4)]),
        ("object", [[1, 2], [3, 4]]),
        (pa.string(), ["", "é", None]),
        (pa.decimal128(38, 3), [Decimal("-1.125"), Decimal(10) ** 34]),
        (pa.list_(pa.int64()), [[1, 2], [3, 4]]),
        (pa.struct([("a", pa.int64())]), [{"a": 1}, None]),
    ],
)
def test_there_and_back(declared: Any, values: list[Any]) -> None:
    kind = field(declared)
    column = kind.column(np.array(values, declared) if isinstance(kind, Plain) else values)
    planes = kind.to_arrow(column)
    assert [plane.type for plane in planes] == list(kind.planes.values())
    back = kind.of_pickles(lambda: Objects(trusted=True)).from_arrow(planes)
    assert back.tolist() == column.tolist()
    assert len(back) == len(values)


def test_nan_and_nat_travel() -> None:
    for dtype, value in (("float64", np.nan), ("datetime64[us]", np.datetime64("NaT"))):
        kind = field(dtype)
        column = np.array([value], dtype)
        assert np.array_equal(kind.from_arrow(kind.to_arrow(column)), column, equal_nan=True)


def test_arrays_of_one_length_are_one_object_each() -> None:
    """Numpy would make one array of two dimensions of them."""
    arrays = [np.array([1, 2]), np.array([3, 4])]
    column = Objects().column(arrays)
    assert column.shape == (2,)
    assert column[1].tolist() == [3, 4]
    assert Objects().full(np.array([1, 2]), 3).shape == (3,)
    assert Objects().full(np.array([7]), 1)[0].tolist() == [7]
    assert Objects().full([1, 2], 2).tolist() == [[1, 2], [1, 2]]
    assert Objects().full((), 2).tolist() == [(), ()]


@pytest.mark.parametrize("first", [1.5, b"\x93", None, len])
def test_objects_travel_with_functions_and_classes_of_a_script(first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = type("Made", (), {"__module__": "__main__"})
    own = made()
    own.number = 7
    values = [first, (2.0, 3), float.fromhex("0x1.9393939393939p+9"), own, lambda x: x + 1]
    kind = Objects(trusted=True)
    with monkeypatch.context() as script:
        script.setattr(sys.modules["__main__"], "Made", made, raising=False)
        planes = [kind.to_arrow(kind.column(values[:4])), kind.to_arrow(kind.column(values))]
    for each in planes:  # read where the script is not
        found = kind.from_arrow(each)
        assert found[:3].tolist() == values[:3]
        assert found[3].number == 7
    assert found[4](1) == 2


REFUSED = {
    "int64": [np.array([1.5]), np.array(["a"]), Compensated.of(np.array([1.0]))],
    "bool": [np.array([1, 0])],
    "compensated": [np.array(["a"]), Exact.of(np.array([1]))],
    "exact": [np.array([1.0]), Compensated.of(np.array([1.0]))],
}


@pytest.mark.parametrize("declared", REFUSED)
def test_other_types_are_refused_and_narrower_ones_taken(declared: str) -> None:
    for wrong in REFUSED[declared]:
        with pytest.raises((TypeError, ValueError)):
            field(declared).column(wrong)
    for wide, narrow in (("float64", "int8"), ("int64", "int32"), ("float32", "float64")):
        assert field(wide).column(np.array([1], narrow)).dtype == np.dtype(wide)


@pytest.mark.parametrize("declared", ["int64", "float64", "compensated", "exact", "object", pa.string()])
def test_place_puts_states_among_the_identity(declared: Any) -> None:
    kind = field(declared)
    texts = isinstance(kind, Objects)
    of = lambda *v: kind.column(list(map(str, v)) if texts else np.array(v))  # noqa: E731
    placed = place(5, np.array([3, 1]), of(7, 8), of(0))
    numbers = {Compensated: Compensated.value, Exact: Exact.integers}.get(type(placed), list)(placed)
    assert [int(value) for value in numbers] == [0, 8, 0, 7, 0]
    both = concatenate([of(1), of(2, 3)])
    assert len(both) == 3
    assert concatenate([placed]) is placed


def test_numpy_types_hold_the_values_as_they_are() -> None:
    numbers = [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.bool_()]
    times = [pa.date32(), pa.date64(), pa.timestamp("ns", "UTC"), pa.duration("s")]
    for type in numbers + times:
        dtype = numpy_type(type)
        assert dtype is not None
        column = pa.array(np.array([0, 1], dtype)).cast(type)
        back = column.to_numpy(zero_copy_only=False)
        assert back.dtype == dtype
    for type in (pa.string(), pa.binary(), pa.decimal128(5), pa.time64("us"), pa.list_(pa.int8()), pa.string_view()):
        assert numpy_type(type) is None
