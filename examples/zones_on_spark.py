"""A dashboard of taxi zones on Spark: how fast and how busy each was over the last hour, every five minutes.

``python zones_on_spark.py trips.parquet zones.parquet``, or by ``spark-submit``; ``framefold demo --keep DIR`` makes
trips.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def zones(trips: DataFrame) -> DataFrame:
    """A row for each zone and window, with the bounds of windows as columns, which tables and plots take.

    Parameters
    ----------
    trips
        ``pickup``, ``zone``, ``speed``, ``fare`` and ``distance``.
    """
    from pyspark.sql import functions as F

    found = (
        ff.events(trips.where("distance >= 1"), time="pickup", by="zone")
        .window(ff.sliding("1 hour", every="5 minutes"))
        .aggregate(trips=ff.Count(), speed=ff.Average("speed"), fares=ff.Sum("fare"), longest=ff.Max("distance"))
    )
    return found.select("zone", "window.start", "window.end", *found.columns[2:]).withColumn(
        "rank", F.expr("rank() OVER (PARTITION BY start ORDER BY trips DESC)")
    )


def main(spark: SparkSession, source: str, target: str) -> None:
    """Read trips, and write the dashboard's table."""
    zones(spark.read.parquet(source)).write.mode("overwrite").parquet(target)


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    main(SparkSession.builder.appName("zones").getOrCreate(), *sys.argv[1:])
