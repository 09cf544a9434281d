"""Operations bound to types: what states may be, contracts checked at every call, and whoever breaks one is named."""

from __future__ import annotations

import datetime
import pickle
import sys
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.inner import inner, place_of
from ..support.plans import BoundAggregate, same
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
from ..support.toys import Joined, Total


def bound(operation: Any, *types: pa.DataType) -> BoundAggregate:
    return BoundAggregate("out", operation, types or [pa.int64()] * len(operation.columns))


def broken(base: Any = Total, columns: tuple[str, ...] = ("x",), **methods: Any) -> Any:
    """An operation with some of its members replaced, declared so that binding makes no trial."""
    own = {"result": base.__dict__.get("result", "int64"), "commutative": True, "__module__": __name__}
    return type("Broken", (base,), own | methods)(*columns)


def states(*values: int) -> Any:
    return {"total": np.array(values)}


def run(operation: Any, method: str) -> None:
    made = bound(operation)
    two = [states(1, 2), states(3, 4)]
    if isinstance(operation, ff.PythonOperation):
        two = [{"state": np.array(["a", "b"], object)}] * 2
    if method == "accumulate":
        made.accumulate(ff.Frames(np.array([0, 1, 1]), 2, np.arange(3)), [pa.array([1, 2, 3])])
    else:
        getattr(made, method)(*(two[:1] if method == "finish" else two))


WRONG_STATES = [
    ({"total": np.array([1])}, "1 states.*expected (2|128)"),
    ({"total": np.arange(3)}, "3 states.*expected (2|128)"),
    *(([1, 2], "dict"), (None, "dict"), ({}, "no field 'total'")),
    ({"total": np.arange(2), "n": np.arange(2)}, "undeclared field 'n'"),
    *(({"total": np.array([1.5, 2.5])}, "int64"), ({"total": np.array(["a", "b"])}, "int64")),
    *(({"total": 5}, "total"), ({"total": np.ones((2, 2), np.int64)}, "total")),
]
WRONG = [
    *((method, lambda *_, made=made: made, f"{method} of 'out'.*({sentence})")
        for method in ("accumulate", "combine", "deduct") for made, sentence in WRONG_STATES),
    *(("finish", lambda *_, made=made: made, "finish of 'out' returned")
        for made in (np.array([1]), np.arange(3), 5, None, [1, 2, 3])),
    *(("finish", lambda self, a, made=made: [made] * len(a["total"]), "int64") for made in ("a", 1.5, object())),
    # arguments cannot be changed
    ("combine", lambda self, a, b: a["total"].__iadd__(b["total"]), "combine of 'out'.*read-only"),
    ("combine", lambda self, a, b: b["total"].__setitem__(0, 9), "combine of 'out'.*read-only"),
    ("deduct", lambda self, a, b: a["total"].__iadd__(b["total"]), "deduct of 'out'.*read-only"),
    ("accumulate", lambda self, frames, x: x.__setitem__(0, 9), "accumulate of 'out'.*read-only"),
    ("finish", lambda self, a: a["total"].__imul__(2), "finish of 'out'.*read-only"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "function", "sentence"), WRONG)
def test_what_functions_must_not_do(method: str, function: Any, sentence: str) -> None:
    with pytest.raises(ff.OperationError, match=sentence) as caught:
        run(broken(**{method: function}), method)
    assert "read-only" not in sentence or isinstance(caught.value.__cause__, ValueError)


BASES = [
    *((Total, method) for method in ("accumulate", "combine", "deduct", "finish")),
    *((Joined, method) for method in ("create", "accumulate", "combine", "finish")),
]


@pytest.mark.parametrize(("base", "method"), BASES)
def test_a_users_exception_keeps_its_traceback(base: Any, method: str) -> None:
    def boom(self: Any, *_: Any) -> Any:
        raise ZeroDivisionError("boom")

    with pytest.raises(ff.OperationError, match=f"{method} of 'out'.*ZeroDivisionError: boom") as caught:
        run(broken(base, **{method: boom}), method)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert traceback.extract_tb(cause.__traceback__)[-1].name == "boom"


@pytest.mark.parametrize(
    ("base", "method"), [each for each in BASES if each not in ((Total, "deduct"), (Joined, "finish"))]
)
def test_missing_methods_are_named(base: Any, method: str) -> None:
    with pytest.raises(ff.OperationError, match=f"has no {method}"):
        bound(broken(base, **{method: getattr(base.__mro__[1], method)}))


@pytest.mark.parametrize(
    ("operation", "sentence"),
    [
        (broken(state={}), "declares no state"),
        (broken(state={"total": "floaty"}), "'floaty'"),
        (broken(create=lambda self: {}), r"create of 'out'.*no field"),
        (broken(create=lambda self: {"total": "zero"}), "create of 'out'"),
        (broken(columns=()), "given 0 columns, but its accumulate takes 1"),
        (broken(columns=("x", "y")), "given 2 columns, but its accumulate takes 1"),
        (broken(Joined, columns=()), "column"),
        (broken(Joined, columns=("x", "y")), "column"),
        (broken(finish=lambda self, a: [None] * len(a["total"]), result=None), "declare it"),
        (broken(result="nonsense"), "'nonsense'"),
    ],
)
def test_what_is_declared_wrongly(operation: Any, sentence: str) -> None:
    """Said before anything runs."""
    with pytest.raises(ff.OperationError, match=sentence):
        bound(operation)


FINISHED: list[tuple[Any, pa.DataType]] = [
    (lambda self, a: a["total"] / 2, pa.float64()),
    (lambda self, a: a["total"], pa.int64()),
    (lambda self, a: a["total"] > 3, pa.bool_()),
    (lambda self, a: [str(each) for each in a["total"]], pa.string()),
    (lambda self, a: [[int(each)] for each in a["total"]], pa.list_(pa.int64())),
    (lambda self, a: np.ma.masked_array(a["total"] * 1.5, a["total"] > 3), pa.float64()),
    (lambda self, a: pa.array(a["total"]).cast(pa.int8()), pa.int8()),
    (lambda self, a: pa.chunked_array([pa.array(a["total"])]), pa.int64()),
    (lambda self, a: Compensated.of(a["total"]), pa.float64()),
]
DECLARED = {
    "float32": pa.float32(),
    pa.int8(): pa.int8(),
    np.float64: pa.float64(),
    "list<string>": pa.list_(pa.string()),
}


def test_the_type_of_the_result() -> None:
    """It is found out by a trial, or declared."""
    for finish, expected in FINISHED:
        made = bound(broken(finish=finish, result=None))
        assert (made.result, made.finish(states(1, 2)).type) == (expected, expected)
    for declared, expected in DECLARED.items():
        assert bound(broken(result=declared)).result == expected


def test_columns_are_names() -> None:
    with pytest.raises(ff.QueryError, match="names of columns"):
        Total(3)  # type: ignore[arg-type]


def test_masked_results_are_null() -> None:
    made = bound(broken(finish=lambda self, a: np.ma.masked_array(a["total"], [True, False])))
    assert made.finish(states(1, 2)).to_pylist() == [None, 2]


JOINS: dict[str, tuple[Any, bool]] = {  # zero is an identity of some of them only
    "left": (lambda a, b: a, False),
    "right": (lambda a, b: b, False),
    "add": (lambda a, b: a + b, True),
    "min": (np.minimum, True),
    "nan": (lambda a, b: a * np.nan, True),
}


@pytest.mark.parametrize("how", JOINS)
@pytest.mark.parametrize("type", [pa.int64(), pa.float64(), pa.uint8()])
def test_commutativity_is_tried(how: str, type: pa.DataType) -> None:
    join, expected = JOINS[how]
    operation = broken(
        state={"total": "float64"},
        result="float64",
        commutative=None,
        try_laws=False,
        accumulate=lambda self, frames, x: {"total": frames.first(x).astype(float)},
        combine=lambda self, a, b: {"total": join(a["total"], b["total"])},
    )
    assert bound(operation, type).commutative is expected


def test_commutativity_is_not_assumed() -> None:
    """Where no values can be made up, or the operation fails on them, order is kept."""

    def picky(self: Any, frames: Any, x: Any) -> Any:
        raise ValueError("only real values")

    assert bound(broken(accumulate=picky, commutative=None)).commutative is False
    assert bound(broken(commutative=None), pa.struct([("a", pa.int64())])).commutative is False


def test_which_operations_deduct() -> None:
    def minus(self: Any, a: Any, b: Any) -> Any:
        return {"total": a["total"] - b["total"]}

    assert bound(broken()).deducts == (False, "it has no deduct")
    assert bound(broken(deduct=minus)).deducts[0] is True
    assert bound(broken(deduct=minus, state={"total": "compensated"})).deducts[0] is True
    for inexact in ("float64", "object"):
        assert bound(broken(deduct=minus, state={"total": inexact})).deducts[0] is False
        assert bound(broken(deduct=minus, state={"total": inexact}, exact_deduct=True)).deducts[0] is True


def test_equality_of_states() -> None:
    assert same(np.array([np.nan, 1]), np.array([np.nan, 1]))
    assert not same(np.array([1.0]), np.array([2.0]))
    assert same(Compensated.of([np.nan]), Compensated.of([np.nan]))
    assert same(np.array([(1, 2), "a"], object), np.array([(1, 2), "a"], object))


@pytest.mark.parametrize("operation", [ff.Sum("x"), ff.Min("x"), ff.Last("x"), Total("x"), Joined("x")], ids=repr)
def test_bound_operations_can_be_sent(operation: Any) -> None:
    made = bound(operation)
    sent = pickle.loads(cloudpickle.dumps(made))
    assert sent.result == made.result
    frames = ff.Frames(np.array([0, 0]), 1, np.arange(2))
    of = [each.finish(each.accumulate(frames, [pa.array([4, 5])])).to_pylist() for each in (made, sent)]
    assert of[0] == of[1]


# --- operations of one state and one value at a time ------------------------------------------------------------------


@pytest.mark.parametrize("most", [0, 300, 1 << 20])
def test_states_of_many_portions(most: int, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]) -> None:
    """Values beyond some bytes are pickled, and those that are merged into others are no longer held."""
    limit(held_object_bytes=most, pending_partials=8, batch_rows=10)
    held: list[int] = []
    release = inner("release of held objects")

    def spied(store: Any, least: int) -> None:
        release(store, least)
        held.append(len(store.values))

    monkeypatch.setattr(*place_of("release of held objects"), spied)
    rng = np.random.default_rng(3)
    times, keys, x = np.arange(400) // 4, rng.integers(0, 2, 400), rng.integers(0, 10, 400)
    table = pa.table({"t": times, "k": keys, "x": x})
    query = ff.events(table, time="t", by="k").window(ff.sliding(5, 1))
    found = query.aggregate(words=Joined("x"), x=ff.CollectList("x"))
    assert found["words"].to_pylist() == ["".join(map(str, each)) for each in found["x"].to_pylist()]
    partials = len(set(zip(times.tolist(), keys.tolist(), strict=True)))
    assert len(held) > 3
    assert max(held) <= partials


class Places(Joined):
    """Counts of values, and of another column in tens, in an array, whose == has no truth value."""

    result = "list<int64>"

    def create(self) -> Any:
        return np.zeros(3, np.int64)

    def accumulate(self, state: Any, value: Any, other: Any) -> Any:
        return state + (np.arange(3) == value) + 10 * (np.arange(3) == other)


def test_states_may_be_arrays_of_several_columns() -> None:
    table = pa.table({"t": [0, 1, 2], "x": [0, 2, 2], "y": [2, 1, 0]})
    found = ff.events(table, time="t").window(ff.sliding(2, 1)).aggregate(h=Places("x", "y"))
    assert found["h"].to_pylist() == [[1, 0, 10], [1, 10, 11], [10, 10, 2], [10, 0, 1]]


# Fields of a state: what may be declared, what is taken for a column, and the way to Arrow and back

PLAIN = {"int64": "int64", "bool": bool, np.float32: "float32", pa.int8(): "int8", pa.timestamp("ms"): "datetime64[ms]"}
TYPES = [pa.string(), pa.decimal128(5, 2), pa.list_(pa.int64())]
OTHERS = {"compensated": CompensatedField(), "exact": ExactField(2), "exact128": ExactField(4), "object": Objects()}
FIELDS = {
    **{declared: Plain(np.dtype(dtype)) for declared, dtype in PLAIN.items()},
    **{type: Objects(type) for type in TYPES},
    **OTHERS,
    object: Objects(),
}


@pytest.mark.parametrize("declared", FIELDS, ids=str)
def test_declarations(declared: Any) -> None:
    assert field(declared) == FIELDS[declared]


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
