"""Read this first: one program, on the same trips, in one process, on Spark, and as a stream that never ends."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTE = 60_000_000  # of microseconds


def program(trips: Any) -> Any:
    """What is asked, of each driver and hour, every ten minutes: how many trips, how fast they were, and where."""
    return (
        ff.events(trips, time="pickup", by="driver", ties="trip")
        .window(ff.sliding("1 hour", every="10 minutes"))
        .aggregate(
            n=ff.Count(),
            speed=ff.Average("speed"),
            usual=ff.Median("speed"),
            fastest=ff.TopN("speed", 3),
            zones=ff.CountDistinct("zone"),
            route=ff.CollectList("zone"),
        )
    )


def day_of_trips() -> pa.Table:
    """Trips of a day in the order in which they are reported, up to ten minutes late; and one a day later."""
    rng = random.Random(1)
    pickups = [rng.randrange(24 * 60 * MINUTE) for _ in range(1000)]
    pickups.sort(key=lambda pickup: pickup + rng.randrange(10 * MINUTE))
    pickups.append(48 * 60 * MINUTE)
    return pa.table({
        "trip": range(1001),
        "pickup": pa.array(pickups).cast(pa.timestamp("us", tz="UTC")),
        "driver": [rng.choice(["ann", "bob"]) for _ in range(1000)] + ["the last"],
        "speed": [rng.choice([None, 30.0, rng.gauss(40, 10)]) for _ in range(1001)],
        "zone": [rng.choice(["harbour", "old town", "station"]) for _ in range(1001)],
    })  # fmt: skip


def test_equal_tables(spark: SparkSession, tmp_path: Path, rocksdb: None) -> None:
    trips = day_of_trips()
    for number in range(4):  # a file is a micro-batch of the stream, which takes the oldest first
        path = tmp_path / f"{number}.parquet"
        pq.write_table(trips.slice(number * 251, 251), path)
        os.utime(path, (number, number))

    local = program(trips)

    files = spark.read.parquet(str(tmp_path))
    batch = program(files).toArrow()

    stream = spark.readStream.schema(files.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path))
    results = program(stream.withWatermark("pickup", "10 minutes"))
    query = results.writeStream.format("memory").queryName("windows").trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    streamed = spark.table("windows").toArrow()

    # A stream gives a window once later trips have closed it, as those of all but the last trip are.
    closed = [each.filter(pc.field("driver") != "the last") for each in (local, batch, streamed)]
    by_driver, on_spark, on_stream = (
        each.sort_by([("driver", "ascending"), ("window", "ascending")]) for each in closed
    )
    assert len(by_driver) > 290
    assert on_spark.cast(by_driver.schema).equals(by_driver)
    assert on_stream.cast(by_driver.schema).equals(by_driver)
