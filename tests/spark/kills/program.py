"""Queries to be killed: files to Parquet or PostgreSQL, Kafka to Kafka, of the value now, into a table, that move."""

from __future__ import annotations

import os
import random
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import functions as f
from sitecustomize import IN_DRIVER, IN_MOVES, make_deadly, strike

import framefold as ff

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.support.limits import limits
from tests.support.sessions import CHANGELOG, local_session

SCHEMA = "time timestamp, key string, x double"
OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x")}

UPSERT = (
    "INSERT INTO windows VALUES (%(key)s, %(start)s, %(end)s, %(n)s, %(s)s) "
    "ON CONFLICT (key, began, ended) DO UPDATE SET n = excluded.n, s = excluded.s"
)


def upsert(batch: Any, number: int) -> None:
    """A micro-batch into PostgreSQL, in one transaction."""
    import psycopg

    rows = batch.select("key", "window.*", "n", "s").toArrow().to_pylist()
    at = os.environ.get("KILL_AT")
    with psycopg.connect() as connection:
        cursor = connection.cursor()
        cursor.executemany(UPSERT, rows[::2])
        if at == "a transaction is open":
            strike()
        cursor.executemany(UPSERT, rows[1::2])
    if at == "a transaction is committed":
        strike()


def put(folder: str, batch: Any, number: int) -> None:
    """A micro-batch of the values now into a file of its number, in the place of one that is there."""
    path = Path(folder, "out", f"{number}.parquet")
    path.parent.mkdir(exist_ok=True)
    pq.write_table(batch.toArrow(), path.with_suffix(".part"))
    path.with_suffix(".part").rename(path)


def at_rest(stream: Any, folder: str, format: str) -> None:
    """Add micro-batches to partials at rest, from the driver or from tasks, as chance has it."""
    by_tasks = os.environ["KILL_AT"] == "tasks have written" or random.SystemRandom().random() < 0.5
    with limits(**({"stored_driver_partials": 0} if by_tasks else {})):
        day = ff.partials(f"{folder}/lake", time="time", by="key", frame="5 minutes", format=format, **OUTPUTS)
        query = day.append_stream(stream, checkpoint=f"{folder}/checkpoint", availableNow=True)
        print("started", flush=True)
        query.awaitTermination()
        print("done", flush=True)


def moved(stream: Any, folder: str) -> None:
    """Run a query to the end of its input, then have another one go on from its state, with other shards, and again."""
    events = ff.events(stream.withWatermark("time", "10 minutes"), time="time", by="key")
    windows = events.window(ff.sliding("20 minutes", every="5 minutes"))
    print("started", flush=True)
    for _ in range(2):
        numbers = [int(path.name.rpartition("-")[2]) for path in Path(folder).glob("checkpoint-*")]
        last = max(numbers, default=0)
        old, new = (windows.stream(shards=2 + number % 3) for number in (last, last + 1))
        checkpoint = f"{folder}/checkpoint-{last}"
        writer = old.aggregate(**OUTPUTS).writeStream.format("parquet").option("path", f"{folder}/out")
        writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
        over = max(int(path.name) for path in Path(checkpoint, "commits").glob("[0-9]*"))
        state = f"{folder}/state-{last}-{over}"
        old.export_state(checkpoint, state, **OUTPUTS)
        new.import_state(state, f"{folder}/checkpoint-{last + 1}", **OUTPUTS)
    print("done", flush=True)


def main(sink: str, folder: str) -> None:
    """Run the query until the input has been read."""
    if (at := os.environ["KILL_AT"]) in IN_DRIVER | IN_MOVES:
        module, function = (IN_DRIVER | IN_MOVES)[at]
        make_deadly(import_module(module), function)
    changelog = random.SystemRandom().choice(["true", "false"])
    settings = {
        **ff.spark_conf(streams=True, partitions=2),
        CHANGELOG: changelog,
        "spark.jars": os.environ.get("KILL_JARS", ""),
        "spark.task.maxFailures": "20",
        "spark.deploy.maxExecutorRetries": "-1",
    }
    spark = local_session("killed", os.environ.get("KILL_MASTER", "local[2, 20]"), **settings)
    kafka = {"kafka.bootstrap.servers": os.environ.get("KAFKA", "")}
    if sink == "kafka":
        options = kafka | {"subscribe": "events", "startingOffsets": "earliest", "maxOffsetsPerTrigger": "300"}
        records = spark.readStream.format("kafka").options(**options).load()
        stream = records.select(f.from_json(f.col("value").cast("string"), SCHEMA).alias("event")).select("event.*")
    else:
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
    if sink in ("delta at rest", "parquet at rest"):
        at_rest(stream, folder, sink.partition(" ")[0])
        return
    if sink == "moved":
        moved(stream, folder)
        return
    if sink == "latest":  # micro-batches without events, which its clock makes at each trigger, would never end
        spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", False)
        of = ff.events(stream, time="time", by="key").window(ff.sliding("40000 days", every="20000 days"))
        writer = of.latest(**OUTPUTS).writeStream.outputMode("update").foreachBatch(partial(put, folder))
        start(writer, folder)
        return
    windows = ff.sliding("20 minutes", every="5 minutes")
    events = ff.events(stream.withWatermark("time", "10 minutes"), time="time", by="key")
    result: Any = events.window(windows).aggregate(**OUTPUTS)
    if sink == "postgresql":
        writer = result.writeStream.foreachBatch(upsert)
    elif sink == "kafka":
        bounds = [f.unix_micros(f.col("window")[name]).alias(name) for name in ("start", "end")]
        key, value = f.to_json(f.struct("key", *bounds)), f.to_json(f.struct("n", "s"))
        sent = result.select(key.alias("key"), value.alias("value"))
        writer = sent.writeStream.format("kafka").options(**kafka, topic="windows")
    else:
        writer = result.writeStream.format("parquet").option("path", f"{folder}/out")
    start(writer, folder)


def start(writer: Any, folder: str) -> None:
    """Run a query to the end of its input."""
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    print("started", flush=True)
    query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
