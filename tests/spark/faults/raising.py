"""Jobs whose user functions raise, and how often these are called: raising.py FOLDER MASTER [SETTING=VALUE ...]."""

import os
import sys
import time
import traceback
from pathlib import Path

from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import framefold as ff

folder, master, *settings = sys.argv[1:]
TASKS, BAD = 40, 1313


class Raising(ff.PythonOperation):
    """A count that raises at one value; each call with it leaves a file."""

    result = "int64"
    commutative = True

    def __init__(self, column, marker):
        super().__init__(column)
        self.marker = marker

    def create(self):
        return 0

    def accumulate(self, state, value):
        if value == BAD:
            before = called(self.marker)
            Path(folder, f"{self.marker}-{os.getpid()}-{time.time_ns()}").touch()
            if self.marker == "network" and before == 0:
                raise ConnectionResetError("what another try may cure")
            if self.marker != "network":
                raise ZeroDivisionError("thirteen")
        return state + 1

    def combine(self, a, b):
        return a + b


def called(marker):
    return len(list(Path(folder).glob(f"{marker}-*")))


builder = SparkSession.builder.appName("raising").master(master).config("spark.ui.showConsoleProgress", "false")
for name, value in [each.split("=", 1) for each in settings]:
    builder = builder.config(name, value)
spark = builder.getOrCreate()
numbers = spark.range(0, 4000, 1, TASKS).selectExpr("id as t", "id % 7 as k", "cast(id as int) as x")
numbers.write.parquet(f"{folder}/files")
WAYS = {
    "auto": (numbers, {}),
    "driver": (numbers, {"combine": "driver"}),
    "counted": (numbers, {"max_driver_partials": 4}),
    "files": (ff.parquet(f"{folder}/files", spark=spark), {}),
    "lazy": (numbers, {"combine": "executors"}),
    "written": (numbers, {"combine": "executors"}),
    "network": (numbers, {}),
}
for name, (data, options) in WAYS.items():
    began = time.monotonic()
    try:
        asked = ff.events(data, time="t", by="k").window(ff.tumbling(100)).options(**options)
        result = asked.aggregate(n=Raising("x", name))
        if name == "written":
            result.write.parquet(f"{folder}/out")
        said = f"{sum(row['n'] for row in result.collect())} events"
    except (ff.OperationError, PythonException) as error:
        shown = "".join(traceback.format_exception(error))
        named = "ZeroDivisionError: thirteen" in shown and "raising.py" in shown and "in accumulate" in shown
        said = "the user's traceback" if named else shown
    print(f"{name}: {called(name)} calls, {said}", flush=True)
    print(f"{time.monotonic() - began:.1f} s", file=sys.stderr)
spark.stop()
