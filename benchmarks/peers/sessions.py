"""The Spark that all contenders on Spark get: two cores' worth of tasks, settings that help each of them."""

from __future__ import annotations

import functools
import os
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ..jobs import Job

MICROSECONDS = {"utc": "unix_micros({})", "naive": "unix_micros(cast({} AS timestamp))", "integer": "{}"}
"""A time as an integer, as SQL."""

SETTINGS = {
    "spark.driver.memory": "4g",
    "spark.driver.maxResultSize": "3g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.files.openCostInBytes": "0",
    "spark.python.unix.domain.socket.enabled": "true",
}


@functools.cache
def session() -> SparkSession:
    """The one session of the process."""
    cores = os.cpu_count() or 1
    builder = SparkSession.builder.appName("framefold benchmarks").master(f"local[{cores}]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def events(job: Job) -> DataFrame:
    """The events as a DataFrame, shuffles set to as many tasks as the job says."""
    partition(job)
    return session().read.parquet(job.path)


def partition(job: Job) -> None:
    """Set shuffles to as many tasks as a job says."""
    session().conf.set("spark.sql.shuffle.partitions", str(job.partitions or os.cpu_count() or 1))


def consume(result: DataFrame) -> None:
    """Compute every row and throw it away."""
    result.write.format("noop").mode("overwrite").save()


def save(result: DataFrame, job: Job, path: str) -> None:
    """Write the result: the start of a window, and an event's time, as microseconds."""
    from pyspark.sql import functions as f

    if "window" in result.columns:
        name = "window.end" if job.kind == "landmark" else "window.start"
        edge = f.expr(MICROSECONDS[job.time].format(name)) - (job.every if job.kind == "landmark" else 0)
        result = result.withColumn("start", edge)
    if "at" in result.columns:
        result = result.withColumn("at", f.unix_micros("at"))
    columns = [*job.keys, job.place, *job.names]
    result.select(*columns).write.mode("overwrite").parquet(path)


def versions() -> dict[str, str]:
    """What runs here."""
    import pyspark

    spark: Any = session()
    java = spark.sparkContext._jvm.System.getProperty("java.version")
    return {"PySpark": pyspark.__version__, "Java": java}
