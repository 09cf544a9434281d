"""Queries, in each of which an executor is killed at random: killed.py FOLDER RUNS MASTER [SETTING=VALUE ...]."""

import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import framefold as ff

sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.spark.killing import members

folder, runs, master, *settings = sys.argv[1:]
ROWS, FILES = 400_000, 8


class Spread(ff.PythonOperation):
    """The largest value less the smallest."""

    result = "float64"
    commutative = True

    def create(self):
        return (float("inf"), float("-inf"))

    def accumulate(self, state, value):
        return (min(state[0], value), max(state[1], value))

    def combine(self, a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

    def finish(self, state):
        return state[1] - state[0]


def executors() -> list[int]:
    return members(os.getsid(0), "CoarseGrainedExecutorBackend")


def events() -> pa.Table:
    rng = np.random.default_rng(1)
    times = np.sort(rng.integers(0, 86_400_000_000, ROWS))
    columns = {"t": pa.array(times).cast(pa.timestamp("us", tz="UTC")), "k": rng.integers(0, 40, ROWS)}
    return pa.table(columns | {"n": np.arange(ROWS), "x": rng.normal(0, 1e3, ROWS)})


table = events()
for number in range(FILES):
    part = table.slice(number * ROWS // FILES, ROWS // FILES)
    pq.write_table(part, Path(folder, f"{number}.parquet"), row_group_size=ROWS // FILES // 2)
hours, rows = ff.sliding("1 hour", every="5 minutes"), ff.last_rows(50, every=10)
SUMS = {"n": ff.Count(), "x": ff.Sum("x"), "sd": ff.StdDev("x")}
QUERIES = {
    "medians, driver": (hours, {"x": ff.Median("x"), "n": ff.Count()}, {"combine": "driver", "read": "spark"}),
    "sums by tasks": (hours, SUMS, {"combine": "driver", "accumulate": "python", "read": "spark"}),
    "sums by Spark": (hours, SUMS, {"combine": "executors", "accumulate": "spark"}),
    "files": (hours, {"x": ff.Median("x")}, {"combine": "executors"}),
    "own": (ff.tumbling("1 hour"), {"x": Spread("x")}, {"read": "spark"}),
    "rows, executors": (rows, {"x": ff.Sum("x"), "last": ff.Last("n")}, {"combine": "executors"}),
    "rows, too many for the driver": (rows, {"x": ff.Sum("x")}, {"max_driver_partials": 0, "accumulate": "python"}),
}
builder = SparkSession.builder.appName("killed").master(master).config("spark.ui.showConsoleProgress", "false")
for name, value in [each.split("=", 1) for each in settings]:
    builder = builder.config(name, value)
spark = builder.getOrCreate()
chance = random.Random(int(os.environ.get("FRAMEFOLD_SEED", "7")))


def computed(data, spec, outputs, options):
    result = (
        ff.events(data, time="t", by="k", ties="n" if spec is rows else ())
        .window(spec)
        .options(**options)
        .aggregate(**outputs)
    )
    return result.toArrow() if options else result


def same(found, wanted):
    return found.cast(wanted.schema).to_pylist() == wanted.to_pylist()


seconds, wanted, killed, wrong = {}, {}, 0, []
for run in range(-len(QUERIES), int(runs)):
    name = list(QUERIES)[run % len(QUERIES)]
    spec, outputs, options = QUERIES[name]
    killers = []
    if run >= 0:
        while len(executors()) < 2:
            time.sleep(0.1)

        def kill(after):
            global killed
            time.sleep(after)
            for victim in chance.sample(executors(), 1):
                os.kill(victim, signal.SIGKILL)
                killed += 1

        killers = [threading.Thread(target=kill, args=[chance.uniform(0, seconds[name])])]
        killers[0].start()
    else:
        wanted[name] = computed(table, spec, outputs, {})
    began = time.monotonic()
    found = computed(spark.read.parquet(folder), spec, outputs, options)
    seconds.setdefault(name, time.monotonic() - began)
    for killer in killers:
        killer.join()
    right = same(found, wanted[name])
    print(
        f"{run:3} {name}: {time.monotonic() - began:.1f} s, {found.num_rows} windows, {'same' if right else 'OTHER'}",
        flush=True,
    )
    wrong += [] if right else [name]
spark.stop()
print(f"{killed} executors killed, {len(wrong)} results wrong")
