"""Keys from two places: one rule for labels, keys to fill and several inputs, the wider of both types."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..support.columns import wider

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

DAY = dt.datetime(2026, 1, 1)
UTC = DAY.replace(tzinfo=dt.UTC)
D = decimal.Decimal

STRUCT = pa.struct([("a", pa.int8()), ("b", pa.string())])
LARGE_STRUCT = pa.struct([("a", pa.int64()), ("b", pa.large_string())])
# Of the events, of the other place, of both; two values that both have.
FIT: list[tuple[pa.DataType, pa.DataType, pa.DataType, list[Any]]] = [
    (pa.string(), pa.large_string(), pa.large_string(), ["a", "b"]),
    (pa.large_string(), pa.string(), pa.large_string(), ["a", "b"]),
    (pa.string(), pa.string_view(), pa.large_string(), ["a", "é"]),
    (pa.dictionary(pa.int8(), pa.string()), pa.large_string(), pa.large_string(), ["a", "b"]),
    (pa.string(), pa.dictionary(pa.int32(), pa.large_string()), pa.large_string(), ["a", "b"]),
    (pa.binary(), pa.large_binary(), pa.large_binary(), [b"a", b"b"]),
    (pa.binary(1), pa.binary(), pa.binary(), [b"a", b"b"]),
    (pa.int32(), pa.int64(), pa.int64(), [1, 2]),
    (pa.int64(), pa.int8(), pa.int64(), [1, 2]),
    (pa.uint8(), pa.int8(), pa.int16(), [1, 2]),
    (pa.float32(), pa.float64(), pa.float64(), [0.5, 2.0]),
    (pa.int64(), pa.float64(), pa.float64(), [1, 2]),
    (pa.decimal128(5, 2), pa.decimal128(9, 4), pa.decimal128(9, 4), [D("1.50"), D("2.00")]),
    (pa.int32(), pa.decimal128(4, 2), pa.decimal128(12, 2), [1, 2]),
    (pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("us"), [DAY, DAY + dt.timedelta(1)]),
    (pa.timestamp("us", "UTC"), pa.timestamp("s", "Etc/UTC"), pa.timestamp("us", "UTC"), [UTC, UTC + dt.timedelta(1)]),
    (pa.date32(), pa.date64(), pa.date64(), [DAY.date(), (DAY + dt.timedelta(1)).date()]),
    (pa.date32(), pa.timestamp("us"), pa.timestamp("us"), [DAY.date(), (DAY + dt.timedelta(1)).date()]),
    (pa.time32("s"), pa.time64("us"), pa.time64("us"), [dt.time(1), dt.time(2)]),
    (pa.duration("s"), pa.duration("ms"), pa.duration("ms"), [dt.timedelta(1), dt.timedelta(2)]),
    (STRUCT, LARGE_STRUCT, LARGE_STRUCT, [{"a": 1, "b": "x"}, {"a": 2, "b": None}]),
]
APART: list[tuple[pa.DataType, pa.DataType, Any, Any]] = [
    (pa.string(), pa.int64(), "a", 1), (pa.string(), pa.binary(), "a", b"a"), (pa.bool_(), pa.int8(), True, 1),
    (pa.float64(), pa.decimal128(4, 2), 1.0, D("1.00")), (pa.timestamp("us"), pa.timestamp("us", "UTC"), DAY, UTC),
    (pa.date32(), pa.timestamp("us", "UTC"), DAY.date(), UTC), (pa.date32(), pa.int64(), DAY.date(), 1),
    (pa.struct([("a", pa.int8())]), pa.struct([("b", pa.int8())]), {"a": 1}, {"b": 1}),
]  # fmt: skip


def values(given: list[Any], type: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(type):
        given = [D(each) for each in given]
    if pa.types.is_dictionary(type):
        return pa.array(given, type.value_type).dictionary_encode().cast(type)
    if pa.types.is_timestamp(type):
        given = [each if isinstance(each, dt.datetime) else dt.datetime.combine(each, dt.time()) for each in given]
    return pa.array(given, type)


def events(type: pa.DataType, given: list[Any]) -> pa.Table:
    """One event of the first value and two of the second."""
    return pa.table({"t": [1, 2, 3], "k": values([given[0], given[1], given[1]], type)})


def from_windows(one: pa.Table, other: pa.Table) -> pa.Table:
    bounds = {name: [end] * len(other) for name, end in (("s", 0), ("e", 9))}
    window = ff.windows_from(pa.table({"k": other["k"], **bounds}), start="s", end="e", by="k")
    return ff.events(one, time="t", by="k").window(window).aggregate(n=ff.Count())


def filled(one: pa.Table, other: pa.Table) -> pa.Table:
    window = ff.tumbling(10, empty="emit", fill_from=0, fill_to=10, fill_keys=other.select(["k"]))
    return ff.events(one, time="t", by="k").window(window).aggregate(n=ff.Count())


def together(one: pa.Table, other: pa.Table) -> pa.Table:
    both = ff.together(a=ff.events(one, time="t", by="k"), b=ff.events(other, time="t", by="k"))
    return both.window(ff.tumbling(10)).aggregate(n=ff.Count())


PLACES = {"windows_from": from_windows, "fill_keys": filled, "together": together}


@pytest.mark.parametrize("fit", FIT, ids=lambda fit: f"{fit[0]} {fit[1]}")
def test_the_wider_type(fit: Any) -> None:
    """Whichever place comes first; but for the zone, which is the first one's."""
    mine, theirs, both, given = fit
    other = pa.table({"t": [5], "k": values(given[1:], theirs)})
    for place, counts in {"windows_from": [2], "fill_keys": [1, 2], "together": [1, 3]}.items():
        found = PLACES[place](events(mine, given), other)
        assert found.schema.field("k").type == both
        assert found["n"].to_pylist() == counts
        assert found["k"].equals(pa.chunked_array([values(given[-len(counts) :], both)]))
    mine, theirs = (each.value_type if pa.types.is_dictionary(each) else each for each in (mine, theirs))
    if pa.string_view() not in (mine, theirs) and getattr(mine, "tz", None) is None:
        assert wider(mine, theirs) == wider(theirs, mine) == both


SAID = {
    "windows_from": "the anchors' key 'k' is .*, and 'k' is .*; expected one type",
    "fill_keys": "fill_keys has the key 'k' as .*, and the events as .*; expected one type",
    "together": "the column 'k' of the input 'b' is .*, and 'k' of others is .*; expected one type: cast one .*",
}


@pytest.mark.parametrize("apart", APART, ids=lambda apart: f"{apart[0]} {apart[1]}")
def test_types_of_which_none_is_wider(apart: Any) -> None:
    mine, theirs, value, other = apart
    for type, key, type_there, there in ((mine, value, theirs, other), (theirs, other, mine, value)):
        for place, sentence in SAID.items():
            with pytest.raises(ff.ColumnError, match=f"^{sentence}$"):
                PLACES[place](events(type, [key] * 2), pa.table({"t": [5], "k": pa.array([there], type_there)}))


@pytest.mark.parametrize("place", PLACES)
def test_values_that_the_wider_type_does_not_hold(place: str) -> None:
    other = pa.table({"t": [5], "k": pa.array([1.0])})
    with pytest.raises(ff.ColumnError, match=r"'k'.* is int64, and has values that double does not hold"):
        PLACES[place](events(pa.int64(), [1, 2**53 + 1]), other)


def test_labels_of_data_frames() -> None:
    """Those of pandas and Polars have long text, and a column of integers with a null has floats in pandas."""
    data = pa.table({"t": [1, 2, 3], "k": ["a", "b", "b"], "i": [1, 2, 2]})
    for labels in (polars.DataFrame, pandas.DataFrame):
        frame = labels({"k": ["b", None], "i": [2, None], "s": [0, 0], "e": [9, 9]})
        for by in ("k", "i", ["k", "i"]):
            window = ff.windows_from(frame, start="s", end="e", by=by)
            found = ff.events(data, time="t", by=by).window(window).aggregate(n=ff.Count())
            assert found["n"].to_pylist() == [0, 2], (labels, by)


def test_several_windows_with_keys_of_their_own() -> None:
    data = events(pa.int8(), [1, 2])
    tables = [pa.table({"k": pa.array([2], kind), "s": [0], "e": [9]}) for kind in (pa.int16(), pa.int32())]
    windows = [ff.windows_from(each, start="s", end="e", by="k") for each in tables]
    found = ff.events(data, time="t", by="k").window(*windows).aggregate(n=ff.Count(), high=ff.Max("k"))
    assert found.schema.field("k").type == pa.int32()
    assert set(found["n"].to_pylist()) == {2}
