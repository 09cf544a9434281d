"""What may change on a checkpoint, and what may not: each change that the page on streams speaks of, tried."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..support.spark_results import conf
from ..support.stream_source import Source, batches, late_events, nowhere, table

pytestmark = pytest.mark.usefixtures("rocksdb")

OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x")}
TEN = ff.tumbling("10 minutes")
UPDATE: dict[str, Any] = {"late": "update", "allowed_lateness": "10 minutes"}
EPOCH = "1970-01-01T00:00:00+00:00"
OF_ANOTHER = r"the checkpoint is of another query: {}; expected the same query, or a new checkpoint"


def with_choices(query: Any, choices: dict[str, Any]) -> Any:
    """A query with choices, of which those that streams have are not for ``.options``."""
    own = {name: choice for name, choice in choices.items() if name == "window"}
    return query.options(**own).stream(**{name: choice for name, choice in choices.items() if name not in own})


def asked(source: Source, outputs: dict[str, Any] | None = None, stream: Any = None, **more: Any) -> DataFrame:
    """The query of which a checkpoint is, with some things changed."""
    options, of_events = more.pop("options", {}), {"time": "time", "by": ["key", "letter"]} | more
    windows = of_events.pop("windows", TEN)
    stream = letters(source.plain) if stream is None else stream
    events = ff.events(stream.withWatermark(of_events["time"], "10 minutes"), **of_events)
    result: DataFrame = with_choices(events.window(windows), options).aggregate(**(outputs or OUTPUTS))
    return result


def letters(stream: DataFrame) -> DataFrame:
    return stream.withColumn("letter", f.upper("key")).withColumn("other", f.col("time"))


def forbidden(source: Source) -> dict[str, tuple[str, Callable[[dict[str, Any]], DataFrame]]]:
    """Changes that are refused, with what is said of them; each is given options."""
    of = lambda what: OF_ANOTHER.format(f"{what} .* became .*")  # noqa: E731
    text = letters(source.plain).withColumn("x", f.col("x").cast("float"))
    return {
        "the time": (of("time"), lambda o: asked(source, time="other", options=o)),
        "the keys": (of("by"), lambda o: asked(source, by=["key"], options=o)),
        "the windows": (of("windows"), lambda o: asked(source, windows=ff.tumbling("5 minutes"), options=o)),
        "another operation": (of("outputs: s"), lambda o: asked(source, OUTPUTS | {"s": ff.Max("x")}, options=o)),
        "the type of a column": (of("columns"), lambda o: asked(source, stream=text, options=o)),
        "shards": (of("shards"), lambda o: asked(source, options={"shards": 3, **o})),
        "a history": (of("until"), lambda o: asked(source, options=o | history(source))),
    }


def history(source: Source) -> dict[str, Any]:
    return {"history": letters(source.spark.createDataFrame(table(0, 1))), "until": EPOCH}


MODES = "the checkpoint .* is of a query in output mode {}, and this one is in {}: early= and late='update' cannot be"


@pytest.mark.slow
def test_what_may_not_change_is_refused_when_it_is_written(spark: SparkSession, tmp_path: Path) -> None:
    """Where the query says which checkpoint it is for: without a new event, and before there is a query of Spark's."""
    source = Source(spark, tmp_path)
    checkpoint = {"checkpoint": str(tmp_path / "out-checkpoint")}
    for some in ([], batches()[:2]):  # a new one is none of another query, nor is one without a micro-batch
        source.add(*some)
        source.run(out=asked(source, options=checkpoint))
    for name, (message, changed) in forbidden(source).items():
        with pytest.raises(ff.EngineError, match=message):
            changed(checkpoint)
        assert changed({}).isStreaming, name
    with conf(spark, {"spark.sql.shuffle.partitions": "3"}):
        remedy = r"[.]import_state take the state[.] spark.sql.shuffle.partitions stays as it was .*partitions=4[)]$"
        with pytest.raises(ff.EngineError, match=OF_ANOTHER.format("shards .* became .*") + ".*" + remedy):
            asked(source, options=checkpoint)
    for options in ({"early": "1 minute"}, UPDATE):
        with pytest.raises(ff.EngineError, match=MODES.format("append", "update")):
            asked(source, options=checkpoint | options)
    for options in ({}, {"late": "drop_partial"}, {"forget": "1 hour"}, {"window": "flat"}):
        assert asked(source, options=checkpoint | options).isStreaming
    closed = ff.events(letters(source.plain), time="time", by=["key", "letter"]).window(TEN).stream(**checkpoint)
    with pytest.raises(ff.EngineError, match=r"is of another query|is of a query in output mode append"):
        closed.latest(**OUTPUTS)
    others = {"checkpoint": str(tmp_path / "others")}
    source.run_into(nowhere, source.plain, "others")
    with pytest.raises(
        ff.EngineError, match="others' is of another query, which has no state of framefold's; expected"
    ):
        asked(source, options=others)


@pytest.mark.slow
def test_what_may_not_change_ends_a_query_with_its_reason_first(spark: SparkSession, tmp_path: Path) -> None:
    """At the first new event, where the checkpoint is not named: no traceback is in front of the sentence."""
    source = Source(spark, tmp_path).add(*batches()[:2])
    source.run(out=asked(source))
    source.add(batches()[2])
    for name in ("the keys", "another operation", "shards"):  # those of each of the others is the same one
        message, changed = forbidden(source)[name]
        with pytest.raises(StreamingQueryException, match=message) as caught:
            source.start(changed({})).awaitTermination(300)
        assert "Traceback" not in str(caught.value).partition("the checkpoint is of")[0], name
    early = asked(source, options={"early": "1 minute"})
    with pytest.raises(StreamingQueryException, match=r"(?i)output ?mode"):
        source.run_into(nowhere, early, "out-checkpoint", "update")
    source.run(out=asked(source))  # as it was it goes on


@pytest.mark.slow
def test_what_may_change(spark: SparkSession, tmp_path: Path) -> None:
    """Each between two micro-batches of one query: it goes on, and its windows are those of the batch."""
    tables = [table(30 * number, 30 * number + 8, seed=number) for number in range(6)]
    source, found = Source(spark, tmp_path), []
    names = ["key", "letter", "window", *OUTPUTS]
    checkpoint = str(tmp_path / "out-checkpoint")

    def sink(batch: DataFrame, number: int) -> None:
        if "window" not in batch.columns:
            batch = batch.withColumn(
                "window", f.struct(*(f.col(f"window_{each}").alias(each) for each in ("start", "end")))
            )
        found.append(batch.select(names).toArrow())

    changes: list[tuple[Any, Any]] = [
        ({}, None),
        ({"late": "drop_partial"}, letters(source.plain)),
        ({"forget": "1 hour", "window": "flat"}, None),
        ({"checkpoint": checkpoint}, letters(source.plain).where("x > -100")),
        ({"trust_checkpoint": True}, None),
        ({}, None),
    ]
    for delay, ((options, stream), some) in enumerate(zip(changes, tables, strict=True)):
        source.add(some)
        stream = letters(source.plain) if stream is None else stream
        events = ff.events(stream.withWatermark("time", f"{10 + delay} minutes"), time="time", by=["key", "letter"])
        result = with_choices(events.window(TEN), options).aggregate(**OUTPUTS)
        assert late_events(source.run_into(sink, result, "out-checkpoint")) == 0
    batch = pa.concat_tables(tables)
    batch = batch.append_column("letter", pa.array([key.upper() for key in batch["key"].to_pylist()]))
    whole = ff.events(batch, time="time", by=["key", "letter"]).window(TEN).aggregate(**OUTPUTS)
    passed = [row for row in whole.select(names).to_pylist() if row["window"]["end"].timestamp() <= (150 - 15) * 60]
    got = [row for each in found for row in each.to_pylist()]
    assert sorted(map(repr, got)) == sorted(map(repr, passed))


@pytest.mark.slow
def test_early_results_may_change_where_the_mode_stays(spark: SparkSession, tmp_path: Path) -> None:
    """With closed windows given again they may begin and come more often; and so may how late an event may be."""
    source = Source(spark, tmp_path)
    early = ({"early": "1 millisecond"}, {"early": "1 hour"}, {"allowed_lateness": "1 hour"})
    for number, options in enumerate([UPDATE, *(UPDATE | each for each in early)]):
        source.add(table(30 * number, 30 * number + 8, seed=number))
        result = asked(source, options=options)
        query = source.run_into(nowhere, result, "updates", "update")
        assert sum(ff.stream_metrics(each)["windows"] for each in query.recentProgress) > 0 or number == 0
    source.add(table(200, 201))
    with pytest.raises(StreamingQueryException, match=r"(?i)output ?mode"):
        source.run_into(nowhere, asked(source), "updates")
