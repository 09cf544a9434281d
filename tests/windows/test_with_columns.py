"""What ``.with_columns`` gives: the events as they came, each with the values of its window; and its explanation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.limits import limits
from ..support.loops import needs_loops
from .test_as_they_come import OUTPUTS, WINDOWS, Where, assert_alike, by_rows, right, rows_of_windows
from .test_as_they_come import events as of_all_types

KINDS: dict[str, tuple[Any, Where]] = {
    **{kind: WINDOWS[kind] for kind in ("so far", "rows (-2, -1), if any", "last 2, full", "last 9",
        "time [-4, 6] both", "time [-9, 0] left", "time [0, 0] neither")},
    "around rows": (ff.around(rows=(-2, 1)), by_rows(-2, 1, full=True)),
    "last times": (ff.last_rows(2, ties="distinct_time"),
        lambda ticks, at: [place for place, tick in enumerate(ticks)
        if tick in sorted({t for t in ticks if t <= ticks[at]})[-2:]]),
    "landmark since": (ff.landmark(since=5),
        lambda ticks, at: [place for place in range(at + 1) if ticks[place] >= 5] if ticks[at] >= 5 else None),
    "evict by count": (ff.policy(evict=ff.by_count(2)), by_rows(-1, 0)),
    "evict by time": (ff.policy(evict=ff.by_time(4)),
        lambda ticks, at: [place for place in range(at + 1) if ticks[place] >= ticks[at] - 4]),
}  # fmt: skip


def expected(table: pa.Table, where: Where, by: str | None) -> list[list[int] | None]:
    """The ids in the window of each event, in the order of the events, whose ids ascend."""
    ordered = table.sort_by([("t", "ascending"), ("id", "ascending")])
    ids, windows = ordered["id"].to_pylist(), rows_of_windows(ordered, [by] if by else [], where)
    of = {id: rows and [ids[row] for row in rows] for id, rows in zip(ids, windows, strict=True)}
    return [of[id] for id in table["id"].to_pylist()]


def events(seed: int, *, ascending: bool = False) -> pa.Table:
    rng, count = np.random.default_rng(seed), 60
    times = rng.integers(0, 20, count)
    keys = np.array(["b", "a", None, "cc"], object)[rng.integers(0, 4, count)]
    values = rng.integers(-9, 9, count)
    return pa.table({
        "t": np.sort(times) if ascending else times, "k": pa.array(keys.tolist(), pa.string()), "id": np.arange(count),
        "x": pa.array(values, mask=rng.random(count) < 0.2),
        "more": pa.array([{"a": [number]} for number in range(count)]),
    })  # fmt: skip


FEW: dict[str, dict[str, int]] = {
    "all at once": {}, "chunks": {"chunk_windows": 7, "batch_rows": 7},
    "keys by threads": {"keys_rows": 16, "many_rows": 9},
}  # fmt: skip


NAMES = ("sum of integers", "most", "count", "first", "last", "text", "list")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("by", ["k", None])
@pytest.mark.parametrize("few", FEW)
def test_each_event_has_its_windows(by: str | None, few: str, way: str) -> None:
    """Of each kind alone, and of all kinds in one query; of events in no order, and in the order of time or of keys."""
    outputs = {"ids": ff.CollectList("id"), **{name: OUTPUTS[name][0] for name in NAMES}}
    wide = {f"{name} {kind}": each.over(KINDS[kind][0]) for kind in KINDS for name, each in outputs.items()}
    for seed, order in enumerate((["mixed"], ["k", "t"] if by else ["t"])):
        table = of_all_types(seed, 60).append_column("mixed", pa.array(np.random.default_rng(seed).random(60)))
        table = table.sort_by([(name, "ascending") for name in order]).append_column("id", pa.array(range(60)))
        with limits(**FEW[few]):
            all_kinds = ff.events(table, time="t", by=by).window().with_columns(**wide)
            alone = {kind: ff.events(table, time="t", by=by).window(spec) for kind, (spec, _) in KINDS.items()}
            found = {kind: windows.with_columns(**outputs) for kind, windows in alone.items()}
        for kind, (_, window) in KINDS.items():
            assert found[kind].select(["mixed", *"tkns"]).equals(table.select(["mixed", *"tkns"]))
            ids = expected(table, window, by)
            for name in outputs:
                wanted = ids if name == "ids" else right(table, ids, name)
                for result in (found[kind][name], all_kinds[f"{name} {kind}"]):
                    assert_alike(result.to_pylist(), wanted, kind, name)


def test_columns_are_those_that_came_and_outputs_as_in_aggregate() -> None:
    table = pa.table({
        "at": pa.array([3, 1, 2], pa.timestamp("ms", "UTC")), "window": pa.array(["u", "v", "u"]).dictionary_encode(),
        "u": pa.array([b"x" * 16, b"y" * 16, None], pa.uuid()), "v": pa.array([1, 2, 3], pa.decimal128(9, 2)),
    })  # fmt: skip
    query = ff.events(table, time="at", by="window").window(ff.around(rows=(0, 0)))
    found = query.with_columns(sum=ff.Sum("v"), last=ff.Last("u"), start=ff.Count())
    assert found.select(table.column_names).equals(table)
    other = table.rename_columns(["t", "k", "u", "v"])
    same = ff.events(other, time="t", by="k").window(ff.around(rows=(0, 0)))
    given = same.aggregate(sum=ff.Sum("v"), last=ff.Last("u"), start=ff.Count()).schema
    assert [found.schema.field(name).type for name in ("sum", "last", "start")] == given.types[-3:]
    assert found["last"].to_pylist() == table["u"].to_pylist()


TEXT = pa.array(["b", "a", "b", "a", "c"])


def twice(indices: list[int | None]) -> pa.Array:
    """Text by the places of a dictionary that has one value twice, and a null."""
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(["b", "a", "b", None]))


ODD_KEYS = [
    (pa.array([0.0, -0.0, math.nan, None, math.nan]), [3, 2, 20, 8, 16]), (TEXT, [5, 10, 4, 8, 16]),
    (pa.array([{"a": 1}, {"a": None}, {"a": 1}, None, None]), [5, 2, 4, 24, 16]),
    (TEXT.dictionary_encode(), [5, 10, 4, 8, 16]), (twice([0, 1, 2, 3, 0]), [21, 2, 20, 8, 16]),
    (twice([0, None, 2, None, 0]), [21, 10, 20, 8, 16]),
]  # fmt: skip


def test_odd_keys() -> None:
    for column, totals in ODD_KEYS:
        table = pa.table({"k": column, "t": [5, 4, 3, 2, 1], "x": [1, 2, 4, 8, 16]})
        found = ff.events(table, time="t", by="k").window(ff.landmark()).with_columns(s=ff.Sum("x"))
        assert found["s"].to_pylist() == totals
        assert found["k"].type == column.type


def test_samples_conditions_ties_and_computed_columns() -> None:
    table = pa.table({"t": [1, 1, 1, 2], "o": [3, 1, 2, 0], "x": [1, 2, 3, 4], "s": [{"a": 7}] * 4})
    query = ff.events(table, time="t", ties="o").window(ff.around(rows=(-1, 0), min_fill="partial", min_samples=2))
    found = query.with_columns(l=ff.CollectList("x"), a=ff.Sum(pc.field("x") * 2), b=ff.Sum("s.a"))
    assert found.column_names == ["t", "o", "x", "s", "l", "a", "b"]
    assert found["l"].to_pylist() == [[3, 1], None, [2, 3], [1, 4]]
    assert found["a"].to_pylist() == [8, None, 10, 10]
    kept = ff.events(table, time="t").where(pc.field("x") > 2).window(ff.last_rows(9)).with_columns(n=ff.Count())
    assert kept.to_pydict() == table.slice(2).to_pydict() | {"n": [1, 2]}


def test_nothing_and_files_and_streams_of_batches(tmp_path: Any) -> None:
    table = events(3)
    pq.write_table(table, tmp_path / "a.parquet")
    outputs = {"n": ff.Count(), "s": ff.Sum("x")}
    wanted = ff.events(table, time="t", by="k").window(ff.last_rows(3)).with_columns(**outputs)
    for data in (ff.parquet(str(tmp_path / "a.parquet")), table.to_reader(max_chunksize=7), table.to_batches()[0]):
        assert ff.events(data, time="t", by="k").window(ff.last_rows(3)).with_columns(**outputs).equals(wanted)
    none = ff.events(table.slice(0, 0), time="t", by="k").window(ff.last_rows(3)).with_columns(**outputs)
    assert none.equals(wanted.slice(0, 0))


def test_labels_come_back_with_their_features() -> None:
    rng = np.random.default_rng(5)
    table = events(1)
    start, names = rng.integers(-3, 20, 40), np.array(["a", "b", "zz", None], object)[rng.integers(0, 4, 40)]
    labels = pa.table({
        "id": np.arange(40)[::-1], "who": pa.array(names.tolist(), pa.string()), "from": start,
        "to": start + rng.integers(0, 6, 40), "note": [[number] for number in range(40)],
    })  # fmt: skip
    rows = list(zip(*(table[name].to_pylist() for name in ("k", "t", "id")), strict=True))
    ends = list(zip(*(labels[name].to_pylist() for name in ("who", "from", "to")), strict=True))
    wanted = [
        [id for t, id in sorted(r[1:] for r in rows if r[0] == who is not None) if a <= t < b] for who, a, b in ends
    ]
    for empty in ("emit", "skip"):
        windows = ff.windows_from(labels, start="from", end="to", by="who", empty=empty)
        found = ff.events(table, time="t", by="k").window(windows).with_columns(ids=ff.CollectList("id"), n=ff.Count())
        assert found.select(labels.column_names).equals(labels)
        assert found["ids"].to_pylist() == [each or ([] if empty == "emit" else None) for each in wanted]
        assert found["n"].to_pylist() == [len(each) or (0 if empty == "emit" else None) for each in wanted]
    of_all = ff.windows_from(labels, start="from", end="to")
    counts = ff.events(table, time="t").window(of_all).with_columns(n=ff.Count())["n"].to_pylist()
    assert counts == [sum(a <= t < b for _, t, _ in rows) for _, a, b in ends]


LABELS = pa.table({"a": [1], "b": [2]})
NEAR, COUNT = ff.around(time=(-1, 0)), {"n": ff.Count()}
REFUSED: list[tuple[list[Any], dict[str, Any], str]] = [
    ([NEAR], {"x": ff.Count()}, r"the output 'x' would hide the column 'x' that is there; expected another"),
    ([NEAR, ff.last_rows(2)], COUNT, r"with_columns\(n=Count\(\)\) is over 2 kinds of windows, .* expected one"),
    ([ff.windows_from(LABELS, start="a", end="b")], COUNT,
        r"1 given windows of every key.* which every key has; expected the key col"),
    ([NEAR], {}, "no outputs are asked for"),
    *(([windows], COUNT, r"with_columns\(\) is asked for .*, which are not one for each event; exp.*around")
        for windows in (ff.sliding(4, every=2), ff.tumbling(4), ff.cumulating(4, every=2), ff.session(3),
        ff.last_rows(3, every=2), ff.landmark(every=2), ff.policy(evict=ff.by_count(2), trigger=ff.by_count(2)),
        ff.policy(evict=ff.by_count(2), trigger=ff.by_time(2)), ff.policy(ff.by_delta("x", 2), ff.by_delta("x", 2)))),
]  # fmt: skip


@pytest.mark.parametrize(("windows", "outputs", "sentence"), REFUSED)
def test_what_is_refused(windows: list[Any], outputs: dict[str, Any], sentence: str) -> None:
    table = pa.table({"t": [1, 2], "k": [1, 1], "x": [1.0, 2.0]})
    with pytest.raises(ff.QueryError, match=sentence):
        ff.events(table, time="t", by="k").window(*windows).with_columns(**outputs)


def test_what_is_refused_of_rows_names_and_columns() -> None:
    table = pa.table({"t": [1, 2], "k": [1, 1], "x": [1.0, 2.0]})
    mixed = {"n": ff.Count().over(NEAR), "m": ff.Count().over(ff.windows_from(LABELS, start="a", end="b"))}
    with pytest.raises(ff.QueryError, match=r"which are not of the same rows; expected a query for each"):
        ff.events(table, time="t").window().with_columns(**mixed)
    with pytest.raises(ff.QueryError, match=r"with_columns\(\) is given .* without a name"):
        ff.events(table, time="t").window(NEAR).with_columns(ff.Count())  # type: ignore[arg-type]
    with pytest.raises(ff.NullTimeError, match="1 of 2 events"):
        ff.events(pa.table({"t": [1, None]}), time="t").window(NEAR).with_columns(n=ff.Count())
    double = pa.Table.from_arrays([*table.columns, table["x"]], names=["t", "k", "x", "x"])
    with pytest.raises(ff.ColumnError, match="several columns called 'x'"):
        ff.events(double, time="t", by="k").window(NEAR).with_columns(n=ff.Count())


TABLE = pa.table({"t": [4, 1, 2], "k": ["a", "b", "a"], "x": [3, 1, 2]})
BEFORE = ff.around(time=(-2, 0))
OF_LABELS = ff.windows_from(pa.table({"k": ["a"], "from": [0], "to": [3]}), start="from", end="to", by="k")


def explained(data: Any, windows: Any = BEFORE) -> dict[str, str]:
    return dict(ff.events(data, time="t", by="k").window(windows).explain_with_columns(s=ff.Sum("x")).rows)


def test_it_is_explained() -> None:
    found = explained(TABLE)
    assert found["beside"] == "each event, in the order in which they are"
    assert found["sort, accumulate, slide, finish"] == "in this process, all events by key and time"
    assert explained(TABLE, OF_LABELS)["beside"] == "each row of the other table, in the order in which they are"
    events = ff.events(TABLE, time="t", by="k").window(ff.lookback(2, 5))
    assert events.explain(s=ff.Sum("x")) == events.explain_with_columns(s=ff.Sum("x"))
    for at in (None, TABLE.select(["t", "k"]).rename_columns(["at", "k"])):
        events = ff.events(TABLE, time="t", by="k").window(ff.lookback(2, 5, at=at))
        told = [text for label, text in events.explain_with_columns(s=ff.Sum("x")).rows if label == "windows"]
        assert [text.split()[0].lstrip("-") for text in told] == ["2", "5"]


@needs_loops
def test_events_in_the_order_of_time_are_not_sorted(tmp_path: Path) -> None:
    """What is folded row by row; of files that are not read yet the order is not known."""
    ordered = TABLE.sort_by("t")
    by_row = "in this process, row by row: events are in the order of time"
    assert explained(ordered, ff.landmark())["accumulate, slide, finish"] == by_row
    assert explained(ordered, BEFORE)["accumulate, slide, finish"] == by_row
    greatest = ff.events(ordered, time="t", by="k").window(BEFORE).explain_with_columns(top=ff.Max("x"))
    for found in (explained(TABLE, ff.landmark()), dict(greatest.rows)):
        assert "accumulate, slide, finish" not in found
        assert found["sort, accumulate, slide, finish"] == "in this process, all events by key and time"
    with_nulls = ordered.set_column(0, "t", pa.array([1, None, 4]))
    events = ff.events(with_nulls, time="t", by="k", ties="x", null_time="drop").window(ff.last_rows(1))
    assert dict(events.explain_with_columns(s=ff.Sum("x")).rows)["accumulate, slide, finish"] == by_row
    pq.write_table(ordered, tmp_path / "events.parquet")
    files = ff.parquet(tmp_path / "events.parquet")
    for data in (files, ff.events(ordered, time="t", by="k").where("x > 0").engine.source):
        assert "row by row if events are in" in explained(data, ff.landmark())["accumulate, slide, finish"]


def test_what_with_columns_refuses_it_refuses() -> None:
    with pytest.raises(ff.QueryError, match=r"with_columns\(\) is asked for .* which are not one for each event"):
        explained(TABLE, ff.tumbling(5))
    with pytest.raises(ff.QueryError, match=r"explain_with_columns\(\) is given Count\(\) without a name"):
        ff.events(TABLE, time="t").window(BEFORE).explain_with_columns(ff.Count())  # type: ignore[arg-type]


def test_it_is_explained_on_spark(spark: Any, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "events.parquet")
    for data in (spark.createDataFrame(TABLE), ff.parquet(str(tmp_path / "events.parquet"), spark=spark)):
        found = explained(data)
        assert found["sort"] == "on executors, by key and time: all events of a key come into one task"
        assert found["accumulate, slide, finish"] == "in mapInArrow, some keys at a time, lazily"
        assert "merge, slide, finish" in explained(data, OF_LABELS)
    stream = spark.readStream.format("rate").load()
    events = ff.events(stream, time="timestamp").window(ff.around(time=("-1 s", "0 s")))
    with pytest.raises(ff.QueryError, match=r"with_columns\(\) is asked for a stream"):
        events.explain_with_columns(n=ff.Count())
