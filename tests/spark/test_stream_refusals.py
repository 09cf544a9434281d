"""What streams refuse before they start: a table of calls, with the sentence of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import framefold as ff

from ..oracles.operations import Ledger
from ..support.stream_source import Source, table

pytestmark = [pytest.mark.cell, pytest.mark.usefixtures("rocksdb")]

COUNT: dict[str, Any] = {"n": ff.Count()}
UNTIL = "1970-01-01T00:35:00+00:00"
UPDATE: dict[str, Any] = {"late": "update", "allowed_lateness": "1 hour"}
FORGET = r"empty='emit' on a stream .* until it is forgotten; expected \.stream\(forget='1 day'\)"
NO_PLACE = "the checkpoint is .*; expected the checkpointLocation of a stream"
NO_LAST = "the other table is a stream, which has no last row; expected"
NO_STREAM = r"{}\(\) is asked for events that are no stream; expected a stream"

Call = Callable[[Source], Any]


def of_history(history: Any) -> Call:
    """Ask for a sum with a history: a DataFrame, or a schema of one."""

    def call(source: Source) -> Any:
        found = source.spark.createDataFrame([], history) if isinstance(history, str) else history
        found = source.plain if history == "" else found
        return source.query(history=found, until=UNTIL).aggregate(s=ff.Sum("x"))

    return call


def of_options(windows: Any = None, **options: Any) -> Call:
    """Ask for a count with options."""
    return lambda source: source.query(windows or ff.tumbling("1 hour"), **options).aggregate(**COUNT)


def of_windows(windows: Any) -> Call:
    """Give a stream windows that it does not have."""
    return lambda source: events(source).window(windows)


def events(source: Source) -> Any:
    return ff.events(source.plain.withWatermark("time", "10 minutes"), time="time", by="key")


def latest(source: Source, windows: Any, **options: Any) -> Any:
    return ff.events(source.plain, time="time", by="key").window(windows).stream(**options).latest(**COUNT)


def of_table(method: str, *arguments: Any) -> Call:
    """Ask something of streams about a table."""
    hours = ff.events(table(0, 1), time="time").window(ff.tumbling("1 hour"))
    return lambda _: getattr(hours, method)(*arguments, **COUNT)


LABELS = pa.table({"key": ["a"], "at": pa.array([0], pa.timestamp("us", "UTC"))})
EMIT = ff.tumbling("10 minutes", empty="emit")
FILLED = ff.tumbling("10 minutes", empty="emit", fill_from=UNTIL)
STEPS = ff.lookback("1 hour", "1 day", every="1 hour")

QUERIES: list[tuple[Call, str]] = [
    (lambda s: s.query(until=UNTIL), "history is not given and until is '1970-"),
    (of_history(""), "history is a stream; expected a DataFrame of the events before until"),
    (of_history(7), "history is 7; expected a DataFrame"),
    (of_history("time timestamp, key string"),
        r"history has no column 'x'; found \['time', 'key'\], expected those of the stream"),
    (of_history("time timestamp, key string, x string"),
        "the column 'x' of history is string; expected double, as in the stream"),
    (lambda s: s.query(history=s.spark.createDataFrame(table(0, 1)), until="1969-12-31T00:00:00+00:00").late(**COUNT),
        "until is '1969-.*before 1970, where Spark's watermark begins"),
    (of_options(ff.session("1 minute"), **UPDATE),
        "cannot be given again: a late event can change which windows there"),
    (of_options(STEPS, **UPDATE), "closed windows cannot be given again: .*; expected late='drop'"),
    (lambda s: s.query(early="1 minute").aggregate(provisional=ff.Count()), "column 'provisional' of its own"),
    (lambda s: s.query(late="update"), "late is 'update' and allowed_lateness None; expected late='update' with"),
    (lambda s: s.query(allowed_lateness="1 hour"), "late is 'drop' and allowed_lateness '1 hour'"),
    (lambda s: s.query(late="refire"), "late is 'refire', expected one of 'drop', 'drop_partial', 'update'"),
    (lambda s: s.query(shards=0), "shards is 0, expected a whole number of at least 1"),
    (of_options(EMIT), FORGET),
    (of_options(FILLED, forget="1 day"), r"a stream cannot answer this query: windows are filled \(fill_from=, "),
    (lambda s: ff.events(s.plain, time="time").window(ff.tumbling("1 hour")).aggregate(**COUNT),
        r"no watermark on its time 'time'; expected .*withWatermark\('time'"),
    (lambda s: ff.events(s.plain, time="time").stream(ahead="1 hour"),
        "ahead is '1 hour', but the watermark is not framefold's"),
    (of_options(watermark="1 hour"), "watermark is '1 hour', but the stream has one on its time 'time'"),
    (of_options(ff.policy(ff.by_delta("x", 1.0), min_fill="full")),
        "a stream cannot answer this query: min_fill='full' depends on the first"),
    (lambda s: s.query().aggregate(n=Ledger("x")), r"Python objects.*trust_checkpoint=True"),
    (of_windows(ff.lookback("1 hour")), "the lookback is for each event, and the events are a stream, .*; expected"),
    (of_windows(ff.lookback("1 hour", at=LABELS)),
        r"for the rows of at=, and the events are a stream, .*every='1 minute'\)"),
    (lambda s: ff.lookback("1 hour", at=s.plain.withColumnRenamed("time", "at")), NO_LAST),
    (lambda s: ff.windows_from(s.plain.withColumnRenamed("time", "at"), start="at", end="at"), NO_LAST),
    (partial(latest, windows=ff.tumbling("1 hour"), early="1 minute"),
        "early is '1 minute', which is of windows that a watermark closes"),
    (partial(latest, windows=ff.session("1 minute")), "no window ends now: there are "),
    (of_table("late"), r"late\(\) is asked for events that are no stream"),
    (of_table("still_open", "anywhere"), NO_STREAM.format("still_open")),
    (of_table("export_state", "here", "there"), NO_STREAM.format("export_state")),
    (of_table("import_state", "here", "there"), NO_STREAM.format("import_state")),
    *((lambda s, place=place: s.query().still_open(place, **COUNT), NO_PLACE) for place in (5, "", b"there")),
    *((of_options(checkpoint=place), NO_PLACE) for place in (5, "", b"there")),
    *((lambda s, place=place: s.query().export_state(place, "state", **COUNT), NO_PLACE) for place in (5, "")),
    (lambda s: s.query().import_state(5, s.folder / "new", **COUNT), "^the path is 5; expected a string or a path$"),
]  # fmt: skip
"""What is wrong with a query, or with a path."""

CHECKPOINTS: list[tuple[Call, str]] = [
    (lambda s: s.query().still_open(str(s.folder / "nothing"), **COUNT),
        r"the checkpoint '.*nothing' has no state that can be read: .*; expected"),
    (lambda s: s.query().still_open(s.folder / "no%thing", **COUNT),
        r"the checkpoint '.*no%thing' has '%' in its path"),
    (lambda s: s.query().export_state(s.folder / "nothing", s.folder / "state", **COUNT),
        r"^the checkpoint '.*nothing' has no micro-batch that is over; expected"),
    (lambda s: s.query().import_state(s.folder / "state", s.folder / "new", **COUNT),
        r"^there is no state of a stream in '.*state'; expected what .export_state"),
    *((lambda s, place=place: s.query().export_state(place, s.folder / "state", **COUNT),
        "^the checkpoint '.*' is not on a disk of this machine, .*; expected")
        for place in ("s3://bucket/checkpoint", "hdfs://nowhere/checkpoint")),
]  # fmt: skip
"""What is no checkpoint, or none that can be read."""


@pytest.mark.parametrize(("call", "sentence"), QUERIES, ids=[sentence for _, sentence in QUERIES])
def test_queries(spark: SparkSession, tmp_path: Path, call: Call, sentence: str) -> None:
    with pytest.raises(ff.QueryError, match=sentence):
        call(Source(spark, tmp_path))


@pytest.mark.parametrize(("call", "sentence"), CHECKPOINTS, ids=[sentence for _, sentence in CHECKPOINTS])
def test_checkpoints(spark: SparkSession, tmp_path: Path, call: Call, sentence: str) -> None:
    with pytest.raises(ff.EngineError, match=sentence):
        call(Source(spark, tmp_path))


def test_durations(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ff.DurationError, match="early is '0 s'"):
        of_options(early="0 s")(Source(spark, tmp_path))


def test_what_is_not_refused(spark: SparkSession, tmp_path: Path) -> None:
    """States of Python objects that are trusted; a checkpoint that is yet to be; what an explanation says of both."""
    source = Source(spark, tmp_path)
    assert source.query(trust_checkpoint=True).aggregate(n=Ledger("x")).isStreaming
    assert of_options(checkpoint=tmp_path / "nothing")(source).isStreaming
    text = str(source.query(shards=3).explain(**COUNT))
    assert "framefold on Spark, a stream" in text
    assert "in 3 shards, whose partials Spark's state store keeps" in text
    assert "events are held back until the watermark has passed" in str(source.query(ff.last_rows(3)).explain(**COUNT))
    steps = events(source).window(STEPS)
    for said in (steps.explain(**COUNT), steps.explain_with_columns(**COUNT)):
        assert dict(said.rows)["beside"] == "each step of each key"
        assert "when the watermark closes windows" in dict(said.rows)["slide, finish"]
