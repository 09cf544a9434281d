"""A stream that begins with partials at rest is one that begins with the events they are of."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.shards import Cut, as_stream, frame_of
from ..support.stream_source import (
    DELAY,
    MINUTE,
    OUTPUTS,
    SCHEMA,
    WINDOWS,
    Source,
    batches,
    every_row,
    expected,
    late_events,
    rows,
    table,
)
from ..support.toys import Longest
from .test_random_runs import KINDS, ROUNDED, SAID, Case, cases
from .test_random_runs import pytestmark as pytestmark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_A_GRID = ["sliding", "tumbling", "calendar", "cumulating"]
"""Kinds whose windows close at their ends."""

NO_STREAM = "a stream cannot answer this query"


def rows_of(found: pa.Table) -> Counter[str]:
    """Rows to the last bit, in any order."""
    names = [name for name in found.column_names if name not in ROUNDED]
    return Counter(map(repr, found.select(names).to_pylist()))


def ticks(times: Any) -> Any:
    """Times as integers of what a tick of theirs is."""
    narrow = pa.int32() if pa.types.is_date(times.type) else pa.int64()
    return times.cast(narrow).cast(pa.int64())


def goes_on(case: Case, kind: str, path: Path) -> bool:
    """Whether a stream can begin with what is stored; then its windows are those of one that begins with the events."""
    stored, events = case.stored(path), case.events[-1]
    if not len(events):
        return False
    begin = frame_of(stored, case.chance.choice(ticks(events["t"]).to_pylist()))[case.chance.randrange(2)]
    empty = getattr(case.windows, "empty", "skip") == "emit"
    cut = Cut(begin=begin, forget=5_000_000 if empty else None, shards=case.chance.randrange(1, 4))

    def found(cut: Cut) -> pa.Table:
        query = as_stream(ff.events(events, **case.said), cut)
        return query.window(case.windows).aggregate(**case.outputs)

    try:
        want = found(cut)
        got = found(replace(cut, history=stored))
    except ff.QueryError as error:
        if not any(said in str(error) for said in (NO_STREAM, *SAID)):
            raise
        return False
    assert rows_of(got) == rows_of(want)
    if kind in OF_A_GRID and not empty:
        batch = case.right()
        closed = getattr(case.windows, "closed", "left")
        ends = ticks(pc.struct_field(batch["window"], "end"))
        given = (pc.greater if closed == "left" else pc.greater_equal)(ends, begin)
        assert rows_of(got) == rows_of(batch.filter(given))
    return True


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_goes_on_as_from_the_events(kind: str, tmp_path: Path) -> None:
    """Of two cases, or as many more as it takes until one can begin with what is stored: the draws are hypothesis'."""
    found: list[bool] = []
    for case in cases(kind, 24, first=500):
        found.append(goes_on(case, kind, tmp_path))
        if len(found) >= 2 and (any(found) or kind not in OF_A_GRID):
            break
    assert any(found) or kind not in OF_A_GRID


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_streams_go_on_as_from_the_events(kind: str, tmp_path: Path) -> None:
    found = [goes_on(case, kind, tmp_path) for case in cases(kind, 12, first=600 + 5 * KINDS.index(kind))]
    assert sum(found) > (2 if kind in OF_A_GRID else 0)


UNTIL = "1970-01-01T00:35:00+00:00"


def at(path: Path, frame: Any = "5 minutes", **more: Any) -> ff.StoredPartials:
    return ff.partials(path, **{"time": "time", "by": "key", "frame": frame, **(more or OUTPUTS)})


ON_SPARK: dict[str, Any] = {
    "sliding": (WINDOWS["sliding"], OUTPUTS),
    "days of a zone": (WINDOWS["days of a zone"], OUTPUTS),
    "several kinds": ((WINDOWS["sliding"], ff.cumulating("30 minutes", every="10 minutes")), OUTPUTS),
    "in order": (WINDOWS["sliding"], {"first": ff.First("x"), "all": ff.CollectList("x"), "s": ff.Sum("x")}),
    "changes": (ff.sliding("20 minutes", every="5 minutes", emit="on_change"), {"n": ff.Count()}),
}


@pytest.mark.slow
@pytest.mark.usefixtures("rocksdb")
@pytest.mark.parametrize("kind", ON_SPARK)
def test_a_running_stream_begins_with_a_table(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    windows, outputs = ON_SPARK[kind]
    tables = batches()
    events = pa.concat_tables(tables)
    source = Source(spark, tmp_path).add(*tables)
    day = at(tmp_path / "lake", **outputs)
    in_frames = pc.divide(events["time"].cast("int64"), 300_000_000)  # whole frames in a run: order counts
    for run in (1, 0, 2):
        some = events.filter(pc.equal(pc.subtract(in_frames, pc.multiply(pc.divide(in_frames, 3), 3)), run))
        day.append(some, run=str(run))
    pq.write_table(events, tmp_path / "history.parquet")
    before = spark.read.schema(SCHEMA).parquet(str(tmp_path / "history.parquet"))
    found = []
    for name, history in {"from the table": day, "from the events": before}.items():
        result = source.query(windows, history=history, until=UNTIL).aggregate(**outputs)
        query = source.start(result, name)
        assert query.awaitTermination(300)
        assert late_events(query) == 0
        found.append(every_row(source.found(name)))
    assert found[0] == found[1]
    watermark = (pc.max(events["time"]).value - DELAY) // 1000 * 1000
    several = windows if isinstance(windows, tuple) else (windows,)
    batch = ff.events(events, time="time", by="key").window(*several).aggregate(**outputs)
    ends = pc.struct_field(batch["window"], "end").cast("int64")
    given = pc.and_(pc.greater(ends, 35 * MINUTE), pc.less_equal(ends, watermark))
    assert found[0] == every_row(batch.filter(given))
    assert found[0]


@pytest.mark.usefixtures("rocksdb")
def test_what_does_not_fit_is_refused_at_once(spark: SparkSession, tmp_path: Path) -> None:
    source, events = Source(spark, tmp_path), table(0, 60)

    def filled(name: str, events: pa.Table = events, **outputs: Any) -> ff.StoredPartials:
        stored = at(tmp_path / name, **outputs)
        stored.append(events, run="1")
        return stored

    n, twenty = {"n": ff.Count()}, WINDOWS["sliding"]
    day, other = filled("lake"), filled("other", by=(), **n)
    ints = filled("ints", events.set_column(2, "x", pa.array([1] * len(events))), s=ff.Sum("x"))
    kinds = filled("kinds", m=ff.Quantile("x", 0.9), **n)
    late = filled("late", **n).add_output(events, s=ff.Sum("x"))
    late.append(table(60, 70), run="2")
    past, coarse, toys = filled("past", **n), filled("coarse", **n), filled("toys", w=Longest("key"))
    past.expire("30 minutes")
    coarse.coarsen("10 minutes", older="10 minutes")
    newer = filled("newer", **n)
    (manifest,) = (tmp_path / "newer" / "_framefold").glob("*.json")
    manifest.write_text(manifest.read_text().replace('"version": 1', '"version": 99'))
    cases: list[tuple[str, ff.StoredPartials, str, Any, Any]] = [
        (r"has stored partials of another query: by \[\] became \['key \(string\)'\]; expected the same$",
         other, UNTIL, twenty, n),
        (r"has stored partials of another query: x 'int64' became 'double'", ints, UNTIL, twenty, {"s": ff.Sum("x")}),
        (r"another query: m \"Quantile.* became \"Median", kinds, UNTIL, twenty, {"m": ff.Median("x")}),
        (r"^history has no output 'top'; found \['n', 's', 'm', 'v'\], expected those of the stream$",
         day, UNTIL, twenty, {"top": ff.Max("x")}),
        (r"^until is 1970-01-01 00:33:00\+00:00, inside of the stored frame of times from 1970-01-01 00:30:00\+00:00 "
         r"up to 1970-01-01 00:35:00\+00:00; expected one of these$", day, UNTIL.replace("35", "33"), twenty, n),
        (r"^until is 1970-01-01 00:35:00\+00:00, inside of the stored frame of times from 1970-01-01 00:30:00",
         coarse, UNTIL, twenty, n),
        (r"cut the stored frame from .* in two; expected windows that begin and end where stored.* of 8 minutes",
         day, UNTIL, ff.tumbling("8 minutes"), n),
        ("are of single events, and partials of frames", day, UNTIL, ff.last_rows(3), n),
        (r"^the stored partials are kept from 1970-01-01 00:30:00\+00:00 on, and .* that end after until, "
         r"1970-01-01 00:35:00\+00:00, may reach further back; expected a later until=, or shorter windows$",
         past, UNTIL, twenty, n),
        (r"^'s' is stored from 1970-01-01 01:00:00\+00:00 on, and .* may reach further back; expected a later until=, "
         r"or \.refresh\(\.\.\.\) from there on$", late, "1970-01-01T01:05:00+00:00", twenty, {"s": ff.Sum("x")}),
        (r"^history is of what some runs have changed; expected ff\.partials without \.changed", day.changed(run="1"),
         UNTIL, twenty, n),
        ("are empty; expected .append", at(tmp_path / "nothing"), UNTIL, twenty, n),
        (r"the states of 'w' are Python objects, .*; expected ff\.partials\(\.\.\., trust=True\)", toys, UNTIL, twenty,
         {"w": Longest("key")}),
        ("have version 99, and this framefold knows up to 2", newer, UNTIL, twenty, n),
    ]  # fmt: skip
    for said, history, until, windows, outputs in cases:
        with pytest.raises((ff.QueryError, ff.EngineError), match=said):
            source.query(windows, history=history, until=until, trust_checkpoint=True).aggregate(**outputs)
    # What is asked for is there all the same.
    source.query(twenty, history=late, until="1970-01-01T01:20:00+00:00").aggregate(s=ff.Sum("x"))
    source.query(twenty, history=past, until="1970-01-01T00:50:00+00:00").aggregate(n=ff.Count())


@pytest.mark.slow
@pytest.mark.usefixtures("rocksdb")
def test_a_stream_that_has_begun_asks_nothing_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    tables = batches()
    source = Source(spark, tmp_path).add(*tables[:2])
    day = at(tmp_path / "lake")
    day.append(pa.concat_tables(tables), run="1")

    def query() -> Any:
        options = {"history": day, "until": UNTIL, "checkpoint": tmp_path / "out-checkpoint"}
        return source.query(**options).aggregate(**OUTPUTS)

    assert source.start(query()).awaitTermination(300)
    day.expire("10 minutes")
    with pytest.raises(ff.QueryError, match="may reach further back"):
        source.query(history=day, until=UNTIL).aggregate(**OUTPUTS)
    source.add(*tables[2:])
    assert source.start(query()).awaitTermination(300)
    found = expected(WINDOWS["sliding"], tables)
    new = pc.greater(pc.struct_field(found["window"], "end").cast("int64"), 35 * MINUTE)
    assert rows(source.found()) == rows(found.filter(new))
