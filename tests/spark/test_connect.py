"""The same code through Spark Connect: a server and a client that knows it by its protocol only.

``make connect`` runs the other tests for Spark so, which are not repeated here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ..support.programs import run_program

pytest.importorskip("grpc")

from .test_ship import HELPERS

PROGRAM = """
import gc, traceback

import framefold as ff
from tests.support.sessions import ensure_java

ensure_java()
from helpers import Tally
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

spark = SparkSession.builder.remote("local[2]").config("spark.sql.session.timeZone", "America/New_York").getOrCreate()
assert not hasattr(spark, "_jsparkSession")


class Local(ff.PythonOperation):
    result = "int64"
    commutative = True

    def create(self):
        return Tally()

    def accumulate(self, state, value):
        if value == 1313:
            raise ZeroDivisionError("thirteen")
        return state.plus(value)

    def combine(self, a, b):
        return a.join(b)

    def finish(self, state):
        return state.n


df = spark.range(0, 2_000, 1, 4).selectExpr(
    "timestamp_micros(1730600000000000 + id * 17000000) as ts",
    "case id % 4 when 0 then null when 1 then double('nan') when 2 then -0.0d else 0.0d end as `k.f`",
    "if(id % 3 = 0, null, cast(id % 3 as decimal(20, 3))) as money",
    "cast(id as double) as x",
    "cast(id % 100 as int) as n",
)
theirs = df.groupBy(f.col("`k.f`"), "money", f.window("ts", "1 hour", "10 minutes"))
theirs = theirs.agg(f.sum("x").alias("total"), f.count("*").alias("n")).orderBy("`k.f`", "money", "window").toArrow()
events = ff.events(df, time="ts", by=["k.f", "money"]).window(ff.sliding("1 hour", every="10 minutes"))
last_rows = df.selectExpr(
    "`k.f` + 0.0d as k",
    "money",
    "ts",
    "sum(x) over (partition by `k.f`, money order by ts, n rows between 6 preceding and current row)",
).orderBy("k", "money", "ts").collect()
choices = [{"combine": way} for way in ("driver", "executors", "auto")] + [{"max_driver_partials": 0}]
for choice in choices:
    result = events.options(**choice).aggregate(total=ff.Sum("x"), n=ff.Count())
    assert isinstance(result, DataFrame)
    assert repr(result.toArrow().to_pylist()) == repr(theirs.to_pylist()), choice
    ordered = events.options(**choice).aggregate(last=ff.Last("x"), first=ff.First("n"), own=Local("n"), n=ff.Count())
    assert all(row["own"] == row["n"] for row in ordered.collect()), choice
    rows = ff.events(df, time="ts", by=["k.f", "money"], ties="n").window(ff.last_rows(7)).options(**choice)
    counted = rows.aggregate(x=ff.Sum("x"), own=Local("n")).where("own > 0")
    del rows
    gc.collect()
    found = [(row["k.f"], row["money"], row["at"], row["x"]) for row in counted.collect()]
    assert repr(found) == repr([tuple(row) for row in last_rows]), choice
    del result
    gc.collect()

holes = df.withColumn("ts", f.when(f.col("n") != 7, f.col("ts")))
for error, data, column in [(ff.NullTimeError, holes, "n"), (Exception, df.withColumn("n", f.lit(1313)), "n")]:
    try:
        ff.events(data, time="ts").window(ff.tumbling("1 hour")).aggregate(own=Local(column))
    except error as found:
        print(type(found).__name__, "|", str(found).splitlines()[0])
        if error is Exception:
            shown = "".join(traceback.format_exception(found))
            assert "ZeroDivisionError: thirteen" in shown and "in accumulate" in shown, shown
    else:
        raise AssertionError(error)
spark.stop()
print("connected")
"""


@pytest.mark.slow
def test_everything_through_connect(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(HELPERS)
    done = run_program(tmp_path, PROGRAM)
    assert done.stdout.strip().endswith("connected"), done.stdout + done.stderr
    assert "NullTimeError | the time 'ts' is null in 20 of 2000 events" in done.stdout
