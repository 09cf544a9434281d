"""Keys: each distinct struct is one, sorted by its fields; of two places they have the wider of both types."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.columns import wider
from ..support.shards import Cut, as_stream, shard_numbers
from .struct_keys import KEYS, KIND

EVENTS = pa.table({"t": list(range(24)), "s": pa.array(KEYS * 2, KIND), "x": range(24)})


def order(value: Any) -> Any:
    """A value by its place: null first, NaN last, -0.0 as 0.0, structs by their fields."""
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, *map(order, value.values()))
    if isinstance(value, str):
        return (1, value.encode())
    nan = isinstance(value, float) and math.isnan(value)
    return (1, nan, 0 if nan else value)


def groups(width: int = 1000) -> list[tuple[Any, int, list[int]]]:
    """Each key by its place, the number of its window, and its events, sorted."""
    found: dict[Any, list[int]] = {}
    for row in EVENTS.to_pylist():
        found.setdefault((order(row["s"]), row["t"] // width), []).append(row["x"])
    return [(*key, found[key]) for key in sorted(found)]


def rows(found: pa.Table, width: int = 1000) -> list[tuple[Any, int, list[int]]]:
    return [(order(row["s"]), row["window"]["start"] // width, row["x"]) for row in found.to_pylist()]


def test_groups_and_their_order() -> None:
    assert len(groups()) == len(KEYS) - 1  # two differ in the sign of zero only
    for width in (1000, 7):
        for events in (EVENTS, pa.concat_tables([EVENTS.slice(at, 5) for at in range(0, 24, 5)])):
            query = ff.events(events, time="t", by="s").window(ff.tumbling(width))
            assert rows(query.aggregate(x=ff.CollectList("x")), width) == groups(width)


def test_beside_other_keys() -> None:
    events = EVENTS.append_column("k", pa.array(["b", "a"] * 12))
    for by in (["s", "k"], ["k", "s"]):
        found = ff.events(events, time="t", by=by).window(ff.tumbling(1000)).aggregate(n=ff.Count()).to_pylist()
        keys = Counter((order(row["s"]), order(row["k"])) for row in events.to_pylist())
        assert {(order(row["s"]), order(row["k"])): row["n"] for row in found} == keys
        places = [tuple(order(row[name]) for name in by) for row in found]
        assert places == sorted(places)


def test_labels_and_keys_to_fill_and_several_inputs() -> None:
    new = {"a": 9, "b": None, "at": None}
    some = pa.array([KEYS[0], new], KIND)
    anchors = pa.table({"of": some, "from": [0, 0], "to": [99, 99]})
    window = ff.windows_from(anchors, start="from", end="to", by="of")
    found = ff.events(EVENTS, time="t", by="s").window(window).aggregate(n=ff.Count()).to_pylist()
    assert [(order(row["s"]), row["n"]) for row in found] == [(order(KEYS[0]), 4), (order(new), 0)]
    filled = ff.tumbling(50, empty="emit", fill_from=0, fill_to=50, fill_keys=pa.table({"s": some}))
    found = ff.events(EVENTS, time="t", by="s").window(filled).aggregate(n=ff.Count()).to_pylist()
    assert [row["n"] for row in found] == [*(len(xs) for *_, xs in groups()), 0]
    both = ff.together(a=ff.events(EVENTS, time="t", by="s"), b=ff.events(anchors, time="from", by="of"))
    found = both.window(ff.tumbling(50)).aggregate(n=ff.Count()).to_pylist()
    assert sum(row["n"] for row in found) == 26
    assert found[-1]["n"] == 1


def test_ties() -> None:
    one_time = EVENTS.set_column(0, "t", pa.array([1] * 24))
    found = ff.events(one_time, time="t", ties="s").window(ff.last_rows(24)).aggregate(x=ff.CollectList("x"))
    by_key = sorted(range(24), key=lambda at: order(EVENTS["s"][at].as_py()))
    assert found["x"].to_pylist()[-1] == by_key


def test_files_and_other_layouts(tmp_path: Any) -> None:
    pq.write_table(EVENTS, tmp_path / "a.parquet", row_group_size=5)
    coded = pa.array(["p", "q"] * 12).dictionary_encode()
    views = pa.array(["p", "q"] * 12, pa.string_view())
    with_coded, with_views = (pa.StructArray.from_arrays([each], ["of"]) for each in (coded, views))
    query = ff.events(ff.parquet(str(tmp_path)), time="t", by="s").window(ff.tumbling(1000))
    assert rows(query.aggregate(x=ff.CollectList("x"))) == groups()
    for column in (with_coded, with_views, with_coded.slice(0)):
        events = EVENTS.set_column(1, "s", column)
        found = ff.events(events, time="t", by="s").window(ff.tumbling(1000)).aggregate(n=ff.Count())
        assert found.select(["s", "n"]).to_pylist() == [{"s": {"of": "p"}, "n": 12}, {"s": {"of": "q"}, "n": 12}]


def test_streams_in_shards() -> None:
    """Equal structs are dealt to one shard, and windows are those of the batch."""
    shards = shard_numbers([pa.array(KEYS, KIND)], len(KEYS), 1000)
    assert shards[0] == shards[3]
    assert len(set(shards.tolist())) == len(KEYS) - 1
    events = ff.events(EVENTS, time="t", by="s")
    for window in (ff.sliding(6, every=3), ff.session(3)):
        whole = events.window(window).aggregate(n=ff.Count(), x=ff.Sum("x"))
        cut = as_stream(events, Cut((7, 9, 8))).window(window).aggregate(n=ff.Count(), x=ff.Sum("x"))
        assert sorted(map(repr, cut.to_pylist())) == sorted(map(repr, whole.to_pylist()))


LIST, MAP = pa.list_(pa.int64()), pa.map_(pa.string(), pa.int64())
BAD: dict[str, tuple[pa.DataType, list[Any]]] = {
    "a list": (LIST, [[1]]),
    "a map": (MAP, [[("a", 1)]]),
    "a struct with a list": (pa.struct([("a", LIST)]), [{"a": [1]}]),
    "a struct with a map in a struct": (pa.struct([("b", pa.struct([("a", MAP)]))]), [{"b": {"a": [("a", 1)]}}]),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_a_key(bad: str) -> None:
    kind, values = BAD[bad]
    events = pa.table({"t": [1], "s": pa.array(values, kind)})
    for arguments, named in (({"by": "s"}, "by="), ({"ties": "s"}, "ties=")):
        with pytest.raises(ff.ColumnError, match=f"{named} names 's', which is .*; expected .* or structs of these"):
            ff.events(events, time="t", **arguments).window(ff.tumbling(5)).aggregate(n=ff.Count())


# Keys from two places: one rule for labels, keys to fill and several inputs, the wider of both types

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


def values_of(given: list[Any], type: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(type):
        given = [D(each) for each in given]
    if pa.types.is_dictionary(type):
        return pa.array(given, type.value_type).dictionary_encode().cast(type)
    if pa.types.is_timestamp(type):
        given = [each if isinstance(each, dt.datetime) else dt.datetime.combine(each, dt.time()) for each in given]
    return pa.array(given, type)


def events_of(type: pa.DataType, given: list[Any]) -> pa.Table:
    """One event of the first value and two of the second."""
    return pa.table({"t": [1, 2, 3], "k": values_of([given[0], given[1], given[1]], type)})


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
    other = pa.table({"t": [5], "k": values_of(given[1:], theirs)})
    for place, counts in {"windows_from": [2], "fill_keys": [1, 2], "together": [1, 3]}.items():
        found = PLACES[place](events_of(mine, given), other)
        assert found.schema.field("k").type == both
        assert found["n"].to_pylist() == counts
        assert found["k"].equals(pa.chunked_array([values_of(given[-len(counts) :], both)]))
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
                PLACES[place](events_of(type, [key] * 2), pa.table({"t": [5], "k": pa.array([there], type_there)}))


@pytest.mark.parametrize("place", PLACES)
def test_values_that_the_wider_type_does_not_hold(place: str) -> None:
    other = pa.table({"t": [5], "k": pa.array([1.0])})
    with pytest.raises(ff.ColumnError, match=r"'k'.* is int64, and has values that double does not hold"):
        PLACES[place](events_of(pa.int64(), [1, 2**53 + 1]), other)


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
    data = events_of(pa.int8(), [1, 2])
    tables = [pa.table({"k": pa.array([2], kind), "s": [0], "e": [9]}) for kind in (pa.int16(), pa.int32())]
    windows = [ff.windows_from(each, start="s", end="e", by="k") for each in tables]
    found = ff.events(data, time="t", by="k").window(*windows).aggregate(n=ff.Count(), high=ff.Max("k"))
    assert found.schema.field("k").type == pa.int32()
    assert set(found["n"].to_pylist()) == {2}
