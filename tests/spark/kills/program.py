"""A query to be killed: from files to Parquet or PostgreSQL, or from Kafka to Kafka; or of the value now."""

from __future__ import annotations

import os
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import functions as f
from sitecustomize import strike

import framefold as ff

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.support.sessions import PROVIDER, ROCKSDB, local_session

STATE = "spark.sql.streaming.stateStore"
SCHEMA = "time timestamp, key string, x double"

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


def main(sink: str, folder: str) -> None:
    """Run the query until the input has been read."""
    changelog = random.SystemRandom().choice(["true", "false"])
    settings = {
        PROVIDER: ROCKSDB,
        f"{STATE}.rocksdb.changelogCheckpointing.enabled": changelog,
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
    outputs = {"n": ff.Count(), "s": ff.Sum("x")}
    if sink == "latest":  # micro-batches without events, which its clock makes at each trigger, would never end
        spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", False)
        of = ff.events(stream, time="time", by="key").window(ff.sliding("40000 days", every="20000 days"))
        writer = of.latest(**outputs).writeStream.outputMode("update").foreachBatch(partial(put, folder))
        start(writer, folder)
        return
    windows = ff.sliding("20 minutes", every="5 minutes")
    events = ff.events(stream.withWatermark("time", "10 minutes"), time="time", by="key")
    result: Any = events.window(windows).aggregate(**outputs)
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
