"""A job in which one task, once, loses its executor (lost) or takes very long (slow): TRIPS RESULT KIND MARKER.

The marker is a file that then has the folder of the executor.
"""

import os
import signal
import sys
import time
from pathlib import Path

from means import GeometricMean
from pyspark.sql import SparkSession

import framefold as ff


class Mishap(GeometricMean):
    """A mean whose first task on an executor has an accident; a file tells that it was."""

    def __init__(self, column, kind, marker):
        super().__init__(column)
        self.kind, self.marker = kind, marker

    def accumulate(self, frames, x):
        daemon = os.getppid()
        if b"pyspark.daemon" in Path(f"/proc/{daemon}/cmdline").read_bytes():  # not on the driver
            try:
                with open(self.marker, "x") as file:
                    file.write(os.getcwd())
            except FileExistsError:
                pass
            else:
                if self.kind == "lost":
                    executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
                    os.kill(executor, signal.SIGKILL)
                time.sleep(120)
        return super().accumulate(frames, x)


trips, result, kind, marker = sys.argv[1:]
spark = SparkSession.builder.appName("mishap").getOrCreate()
speeds = (
    ff.events(spark.read.parquet(trips).repartition(6), time="pickup", by="zone")
    .window(ff.sliding("1 hour", every="10 minutes"))
    .aggregate(pace=Mishap("speed", kind, marker), middle=ff.Median("speed"), trips=ff.Count())
)
speeds.write.mode("overwrite").parquet(result)
spark.stop()
