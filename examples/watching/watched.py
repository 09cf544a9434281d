"""A stream whose figures Prometheus reads: trips of zones, made up as it goes, at http://127.0.0.1:9108/metrics."""

from __future__ import annotations

import argparse
import time
from typing import Any

from prometheus_client import start_http_server
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import framefold as ff


def speeds(spark: SparkSession, rows: int) -> Any:
    """The mean speed of each of twenty zones, over the last minute, every five seconds."""
    made = spark.readStream.format("rate").option("rowsPerSecond", rows).load()
    late = f.when(f.rand() < 0.001, 90).otherwise(f.rand())
    trips = made.select(
        f.timestamp_seconds(f.unix_millis("timestamp") / 1000 - late).alias("pickup"),
        (f.col("value") % 20).alias("zone"),
        (20 + 10 * f.rand()).alias("speed"),
    )
    windows = ff.events(trips, time="pickup", by="zone").window(ff.sliding("1 minute", every="5 seconds"))
    return windows.stream(watermark="5 seconds", ahead="1 minute").aggregate(speed=ff.Average("speed"), n=ff.Count())


def main() -> None:
    """Run it for a while."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--port", type=int, default=9108)
    parser.add_argument("--rows", type=int, default=1000, help="a second")
    asked = parser.parse_args()
    spark = SparkSession.builder.master("local[2]").config(map=ff.spark_conf(streams=True, partitions=2)).getOrCreate()
    start_http_server(asked.port, "127.0.0.1")
    spark.streams.addListener(ff.prometheus_listener())
    writer = speeds(spark, asked.rows).writeStream.queryName("speeds").format("noop")
    query = writer.trigger(processingTime="1 second").start()
    time.sleep(asked.seconds)
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
