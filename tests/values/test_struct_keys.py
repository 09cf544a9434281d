"""Keys that are structs: each distinct struct is a key, and they are sorted field by field, nulls first."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

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
