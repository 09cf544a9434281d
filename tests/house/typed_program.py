"""A program as a user writes it, with types: mypy --strict and pyright find nothing in it, and it runs.

It uses every public name, and has three operations of its own. ``tests/house/test_typed_program.py`` checks that.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Floats = NDArray[np.float64]


class GeometricMean(ff.AggregateOperation):
    """The one of the README, with types."""

    state = {"log_sum": "float64", "count": "int64"}

    def accumulate(self, frames: ff.Frames, x: Floats) -> ff.State:
        return {"log_sum": frames.sum(np.log(x)), "count": frames.count(x)}

    def combine(self, a: ff.State, b: ff.State) -> ff.State:
        return {"log_sum": a["log_sum"] + b["log_sum"], "count": a["count"] + b["count"]}

    def deduct(self, a: ff.State, b: ff.State) -> ff.State:
        return {"log_sum": a["log_sum"] - b["log_sum"], "count": a["count"] - b["count"]}

    def finish(self, a: ff.State) -> Any:
        return np.exp(a["log_sum"] / a["count"])


class Dot(ff.AggregateOperation):
    """The sum of products of two columns."""

    state = {"total": "compensated"}
    result = pa.float64()
    commutative = True

    def __init__(self, left: str, right: str, *, scale: float = 1.0) -> None:
        super().__init__(left, right)
        self.scale = scale

    def create(self) -> Mapping[str, Any]:
        return {"total": 0.0}

    def accumulate(self, rows: ff.Frames, left: Floats, right: Floats) -> dict[str, Any]:
        return {"total": rows.sum(left * right)}

    def combine(self, one: ff.State, other: ff.State) -> dict[str, Any]:
        return {"total": one["total"] + other["total"]}

    def finish(self, state: ff.State) -> Any:
        return state["total"].value() * self.scale


class Words(ff.PythonOperation):
    """The words seen, as a set."""

    result = "list<string>"

    def create(self) -> set[str]:
        return set()

    def accumulate(self, state: set[str], value: str) -> set[str]:
        return state | {value}

    def combine(self, a: set[str], b: set[str]) -> set[str]:
        return a | b

    def finish(self, state: set[str]) -> list[str]:
        return sorted(state)


EVENTS = pa.table({
    "t": [0, 1, 2, 3], "u": [2, 3, 4, 6], "k": ["a", "b", "a", "b"], "x": [1.0, 2.0, 4.0, 3.0],
    "y": [1.0, 3.0, 2.0, 2.0], "i": [1, 2, 3, 4], "ok": [True, False, True, None], "v": [[1], [2, 3], [4], []],
})  # fmt: skip


class Longest:
    """With the methods of Spark's Aggregator."""

    def zero(self) -> int:
        return 0

    def reduce(self, buffer: int, value: str) -> int:
        return max(buffer, len(value))

    def merge(self, buffer1: int, buffer2: int) -> int:
        return max(buffer1, buffer2)

    def finish(self, buffer: int) -> int:
        return buffer


TWICE: ff.Expr = ff.expr("x * 2")
IN_SQL = "SELECT k, SUM(x) AS total FROM TUMBLE(trips, t, 4) GROUP BY k, window_start"
AGGREGATES: dict[str, Any] = {
    "twice": ff.Sum(TWICE), "twice_mapped": ff.Mapped(ff.Max("x"), TWICE),
    "beyond": ff.Filtered(ff.Count(), ff.expr("x > 1")), "longest": ff.from_aggregator(Longest(), "k"),
    "rise": ff.Delta("x"), "rate": ff.Rate("x"), "time_in_state": ff.TimeInState("k", "a"),
    "all_of": ff.AllOf(low=ff.Min("x"), high=ff.Max("x")), "arg_max": ff.ArgMax("k", "x"),
    "arg_min": ff.ArgMin("k", "x"), "average": ff.Average("x"), "bars": ff.OHLC("x"), "bit_and": ff.BitAnd("i"),
    "bit_or": ff.BitOr("i"), "bit_xor": ff.BitXor("i"), "bool_and": ff.BoolAnd("ok"), "bool_or": ff.BoolOr("ok"),
    "bottom": ff.BottomN("x", 2), "concat": ff.Concat("k", "-"), "correlation": ff.Correlation("x", "y"),
    "count": ff.Count(), "count_distinct": ff.CountDistinct("k"), "count_if": ff.CountIf("ok"),
    "covariance": ff.Covariance("x", "y"), "distinct_sum": ff.DistinctSum("x"),
    "element_wise": ff.ElementWise(ff.Sum("v")), "ewma": ff.Ewma("x", 2),
    "filtered": ff.Filtered(ff.Count(), lambda x: x > 1, "x"), "first": ff.First("x"), "first_n": ff.FirstN("x", 2),
    "flat_mapped": ff.FlatMapped(ff.Sum("v")), "geometric": ff.GeometricMean("x"),
    "grouped": ff.GroupedBy(ff.Sum("x"), "k"), "harmonic": ff.HarmonicMean("x"),
    "histogram": ff.Histogram("x", bins=[0.0, 2.0, 5.0]), "kurtosis": ff.Kurtosis("x"), "last": ff.Last("x"),
    "last_n": ff.LastN("x", 2), "list": ff.CollectList("x"), "mapped": ff.Mapped(ff.Sum("x"), np.sqrt),
    "mean": ff.Mean("x"), "median": ff.Median("x"), "mode": ff.Mode("k"), "product": ff.Product("x"),
    "quantile": ff.Quantile("x", 0.9, method="discrete"), "range": ff.Range("x"),
    "reducing": ff.Reducing("i", 0, np.add, np.subtract), "rms": ff.RootMeanSquare("x"), "set": ff.CollectSet("k"),
    "skewness": ff.Skewness("x"), "std_dev": ff.StdDev("x", ddof=0), "top": ff.TopN("x", 2, "k"),
    "trend": ff.LinearTrend("x", "y"), "variance": ff.Variance("x"), "weighted": ff.WeightedAverage("x", "y"),
    "own": GeometricMean("x"), "dot": Dot("x", "y", scale=2.0), "words": Words("k"),
    "arithmetic": (ff.Sum("x") + 1) / ff.Count() - 2 * -ff.Max(pc.field("x") * 2),
}  # fmt: skip


def sketches() -> dict[str, Any]:
    """What needs Apache DataSketches."""
    both = [ff.theta_union, ff.theta_intersection, ff.theta_difference, ff.theta_estimate]
    assert all(map(callable, both))
    return {
        "distinct": ff.ApproxCountDistinct("k"), "quantile": ff.ApproxQuantile("x", 0.5),
        "frequent": ff.FrequentItems("k"), "theta": ff.ThetaSketch("k"),
    }  # fmt: skip


def charts(result: pa.Table) -> None:
    """What needs Altair."""
    ff.plot(result, "average", band=("bit_and", "bit_or"), kind="lines").properties(title="A band").save("band.html")


def all_windows() -> list[Any]:
    """One of every kind."""
    return [
        ff.sliding(4, every=2, closed="right", empty="emit", min_fill="full", emit="on_change", stamp="end"),
        ff.tumbling(4), ff.tumbling(ff.business_days(5, holidays=["2026-12-25"])),
        ff.cumulating(4, every=2), ff.landmark(), ff.session(2), ff.last_rows(2, ties="arrival"),
        ff.around(rows=(-2, 0)), ff.policy(evict=ff.by_time(2), trigger=ff.by_count(1)),
        ff.policy(evict=ff.by_delta("x", 2.0), trigger=ff.by_count(1)),
        ff.windows_from(pa.table({"from": [0], "to": [3]}), start="from", end="to", closed="both"),
    ]  # fmt: skip


def local() -> pa.Table:
    """Arrow in, Arrow out."""
    given: ff.Events[pa.Table] = ff.events(EVENTS, time="t", by="k", null_time="drop").where(pc.field("x") > 0)
    ff.sql(IN_SQL, trips=EVENTS)
    query: ff.Windowed[pa.Table] = given.window(ff.tumbling(4)).options(combine="auto")
    result = query.aggregate(**AGGREGATES)
    assert_type(result, pa.Table)
    assert_type(given.window(ff.lookback(2, 9)).with_columns(seen=ff.Count()), pa.Table)
    share = ff.Sum("x").over(2) / ff.Sum("x").over(9)
    assert_type(given.window(ff.lookback(9, every=3, closed="both", timezone=None)).aggregate(share=share), pa.Table)
    explained: ff.Explanation = query.explain(n=ff.Count())
    assert str(explained)
    both = ff.together(one=given, other=given).window(ff.tumbling(4)).aggregate(n=ff.Count())
    assert_type(both, pa.Table)
    lives = ff.events(EVENTS, time="t", until="u").window(ff.snapshot())
    lives.aggregate(covered=ff.Covered(), level=ff.TimeWeightedAverage("x"))
    ff.check_laws(GeometricMean("x"), EVENTS)
    assert not ff.stream_metrics({"observedMetrics": {}})
    stored: ff.StoredPartials = ff.partials("payments", time="t", by="k", frame=2, n=ff.Count())
    assert not stored.runs().num_rows
    held: ff.Relation[pa.Table] = ff.relation(EVENTS, valid_from="t", valid_to="u")
    held.union(held).rows()
    return result


def on_spark(df: DataFrame, spark: SparkSession) -> DataFrame:
    """Spark in, Spark out."""
    spark.streams.addListener(ff.prometheus_listener())
    spark.streams.addListener(ff.opentelemetry_listener())
    settings: dict[str, str] = ff.spark_conf(streams=True, partitions=4)
    spark.builder.config(map={**settings})
    query = ff.events(df, time="ts", by=["k"]).window(ff.sliding("1 hour", every="1 minute"))
    read = ff.events(ff.parquet("events", spark=spark), time="ts").window(ff.tumbling("1 day"))
    assert_type(read.aggregate(n=ff.Count()), "DataFrame")
    read.export_state("checkpoint", "state", n=ff.Count())
    assert_type(read.import_state("state", "new", skip_incomplete=True, n=ff.Count()), datetime.datetime)
    assert_type(ff.events(df, time="ts").aggregate(n=ff.Count().over(ff.tumbling("1 day"))), "DataFrame")
    result = query.options(combine="executors", window="flat").aggregate(mean=ff.Average("x"))
    assert_type(result, "DataFrame")
    return result


def of_files(folder: str) -> pa.Table:
    """Files of the local engine."""
    return ff.events(ff.files(folder, format="csv"), time="t").window(ff.tumbling(4)).aggregate(n=ff.Count())


ERRORS: tuple[type[Exception], ...] = (
    ff.FramefoldError, ff.QueryError, ff.ColumnError, ff.DurationError, ff.EngineError, ff.JavaError, ff.LawError,
    ff.NullTimeError, ff.OperationError, ff.SumOverflowError, ff.DroppedEventsWarning, ff.CalendarWarning,
    ff.FarTimesWarning, ff.GapsWarning,
)  # fmt: skip

if __name__ == "__main__":
    print(ff.__version__, local().num_rows)
