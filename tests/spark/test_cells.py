"""One test of each cell of source, way and combine on Spark: the results are those of the local engine.

``.explain()`` says of each cell that it is the one meant. ``make test`` runs these of the tests with Spark.
"""

from __future__ import annotations

import datetime as dt
import decimal
import inspect
import math
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..support.inner import inner, place_of
from ..support.plans import Operation, Options
from ..support.spark_parts import COMPUTED
from ..support.spark_results import conf, rows
from ..support.toys import Joined, Total
from ..values.struct_keys import KEYS, KIND

pytestmark = pytest.mark.filterwarnings("ignore::framefold.CalendarWarning", "ignore::framefold.DroppedEventsWarning")
cell = pytest.mark.cell
ROWS = 400
NIGHT = np.datetime64("2021-10-30T22:00", "us")  # before the clocks of Berlin go back


def events() -> pa.Table:
    """Events in the order of chance, many of one time, with keys and values of every type, some of them null."""
    rng = np.random.default_rng(23)

    def some(values: Any, type: pa.DataType) -> pa.Array:
        return pa.array([None if rng.random() < 0.1 else value for value in values], type)

    def chosen(*values: Any) -> pa.Array:
        return pa.array([values[at] for at in rng.integers(0, len(values), ROWS)])

    utc, minute = pa.timestamp("us", "UTC"), np.timedelta64(1, "m")
    minutes, far = rng.integers(0, 400, ROWS), rng.integers(-(2**63), 2**63, ROWS)
    few, ticks = rng.integers(0, 12, ROWS), rng.integers(-200, 200, ROWS)
    far[rng.random(ROWS) < 0.9] //= 2**45
    days = [dt.date(1970, 1, 1) + dt.timedelta(days=tick // 8) for tick in ticks.tolist()]
    return pa.table({
        "t": pa.array(NIGHT + minutes * minute, utc),
        "end": pa.array(NIGHT + (minutes + rng.integers(1, 150, ROWS)) * minute, utc),
        "eastern": pa.array(NIGHT + minutes * 9 * minute, pa.timestamp("us", "America/New_York")),
        "old": pa.array((minutes - 200) * minute + np.datetime64(0, "us")),
        "tick": ticks,
        "day": days,
        "k": chosen("ann", "ßeth", None),
        "a.b": chosen(None, -0.0, 0.0, np.nan, 1.5),
        "tie": chosen(None, -1.0, -0.0, 0.0, np.nan),
        "n": np.arange(ROWS),
        "x": some(rng.integers(-99, 99, ROWS).tolist(), pa.int64()),
        "y": some((rng.normal(0, 1, ROWS) * 10.0 ** rng.integers(-9, 9, ROWS)).tolist(), pa.float64()),
        "z": some(rng.normal(50, 10, ROWS).round(2).tolist(), pa.float64()),
        "r": some(rng.normal(0, 1, ROWS).astype(np.float32).tolist(), pa.float32()),
        "i": some(far.tolist(), pa.int64()),
        "m": some((far % 2**31).tolist(), pa.int32()),
        "small": some(rng.integers(-(2**15), 2**15, ROWS).tolist(), pa.int16()),
        "d": some([decimal.Decimal(int(each)) / 8 for each in few - 5], pa.decimal128(12, 3)),
        "few": some(few.tolist(), pa.int64()),
        "s": some([chr(97 + each) for each in few], pa.string()),
        "b": some([bytes([each]) for each in few], pa.binary()),
        "flag": some((few > 4).tolist(), pa.bool_()),
        "born": some([dt.date(2026, 1, 1 + int(each)) for each in few], pa.date32()),
        "at": some([dt.datetime(2026, 1, 1, int(each), tzinfo=dt.UTC) for each in few], utc),
        "tags": some([[f"t{each % 3}", None] for each in few], pa.list_(pa.string())),
        "vector": some([[float(each), float(each % 3)] for each in few], pa.list_(pa.float64())),
        "weight": rng.integers(1, 5, ROWS).astype(float),
        "struct": pa.array([KEYS[at] for at in rng.integers(0, len(KEYS), ROWS)], KIND),
    })  # fmt: skip


class Raising(ff.PythonOperation):
    """A sum that fails in the midst of the events."""

    result = "int64"
    commutative = True

    def create(self) -> int:
        return 0

    def accumulate(self, state: int, value: int) -> int:
        if state + value > 40:
            raise ZeroDivisionError("thirteen")
        return state + value

    def combine(self, a: int, b: int) -> int:
        return a + b


SUMS: dict[str, Operation] = {
    "rows": ff.Count(), "known": ff.Count("z"), "sum": ff.Sum("z"), "sum_y": ff.Sum("y"), "sum_real": ff.Sum("r"),
    "sum_x": ff.Sum("x"), "sum_m": ff.Sum("m"), "sum_small": ff.Sum("small", empty=0), "sum_d": ff.Sum("d"),
    "average": ff.Average("z"), "average_i": ff.Average("i"), "average_d": ff.Average("d"),
    "min": ff.Min("y"), "max": ff.Max("r"), "max_i": ff.Max("i"), "min_d": ff.Min("d"), "min_t": ff.Min("t"),
    "max_day": ff.Max("born"), "max_flag": ff.Max("flag"), "all": ff.BoolAnd("flag"), "any": ff.BoolOr("flag"),
    "flags": ff.CountIf("flag"), "and": ff.BitAnd("i"), "or": ff.BitOr("small"), "xor": ff.BitXor("m"),
    "both": ff.AllOf(low=ff.Min("z"), mean=ff.Average("y"), n=ff.Count("d")),
    "then": ff.Sum("z").then(lambda total: total * 2), "variance": ff.Variance("z"), "deviation": ff.StdDev("r"),
    "spread": ff.AllOf(wide=ff.StdDev("r"), n=ff.Variance("m", ddof=0)),
}  # fmt: skip
"""What Spark SQL can accumulate; to the last bit."""

VALUES: dict[str, Operation] = {
    "middle": ff.Median("z"), "different": ff.CountDistinct("s"), "least": ff.Min("s"), "bytes": ff.Max("b"),
    "top": ff.TopN("x", 2, "s"), "groups": ff.GroupedBy(ff.Sum("x"), "s"), "parts": ff.Quantile("z", [0.1, 0.9]),
}  # fmt: skip
ORDERED: dict[str, Operation] = {
    "n": ff.Count(), "x": ff.Sum("x"), "low": ff.Min("x"), "order": Joined("n"), "own": Total("n"),
}  # fmt: skip
FEW: dict[str, Operation] = {"n": ff.Count(), "z": ff.Sum("z"), "i": ff.Min("i")}
TWICE: dict[str, Operation] = {"twice": ff.Sum(ff.expr("x * 2"))}

OPERATIONS: dict[str, Operation] = {
    "arg_max": ff.ArgMax("s", "z"), "arg_min": ff.ArgMin("at", "few"), "approx_distinct": ff.ApproxCountDistinct("s"),
    "approx_distinct_cpc": ff.ApproxCountDistinct("few", method="cpc"), "approx_quantile": ff.ApproxQuantile("z", 0.5),
    "bottom": ff.BottomN("few", 3, "s"), "collect_list": ff.CollectList("z"), "collect_set": ff.CollectSet("s"),
    "concat": ff.Concat("s", delimiter=",", prefix="<", suffix=">"), "correlation": ff.Correlation("z", "few"),
    "count_distinct": ff.CountDistinct("d"), "covariance": ff.Covariance("z", "few"),
    "distinct_sum": ff.DistinctSum("few"), "element_wise": ff.ElementWise(ff.Sum("vector")),
    "ewma": ff.Ewma("z", "20 minutes"), "filtered": ff.Filtered(ff.Sum("few"), "flag"),
    "filtered_by": ff.Filtered(ff.Count(), ff.expr("z > 50")), "first": ff.First("b"), "first_n": ff.FirstN("s", 2),
    "flat_mapped": ff.FlatMapped(ff.Count(), None, "tags"), "frequent": ff.FrequentItems("s", 2),
    "geometric": ff.GeometricMean("weight"), "harmonic": ff.HarmonicMean("weight"), "histogram": ff.Histogram("s"),
    "histogram_bins": ff.Histogram("z", bins=[30.0, 40.0, 50.0, 60.0]), "kurtosis": ff.Kurtosis("z"),
    "last": ff.Last("at"), "last_list": ff.Last("tags"), "last_n": ff.LastN("few", 3),
    "trend": ff.LinearTrend("t", "z"), "mapped": ff.Mapped(ff.Average("z"), np.abs), "max": ff.Max("s"),
    "mode": ff.Mode("s"), "product": ff.Product("weight"), "range": ff.Range("z"), "range_at": ff.Range("at"),
    "quantile": ff.Quantile("few", [0.25, 0.75], method="discrete"), "delta": ff.Delta("few"), "rate": ff.Rate("z"),
    "in_state": ff.TimeInState("s", "c"), "held": ff.TimeWeightedAverage("z", fill="last"),
    "linear": ff.TimeWeightedAverage("few", fill="linear"), "bar": ff.OHLC("d"),
    "sample_skewness": ff.Skewness("z", bias=False), "sample_kurtosis": ff.Kurtosis("z", bias=False),
    "reducing": ff.Reducing("few", 0, np.add, np.subtract), "rms": ff.RootMeanSquare("z"),
    "skewness": ff.Skewness("z"), "sum_over_count": ff.Sum("z") / ff.Count() + 1, "theta": ff.ThetaSketch("s"),
    "weighted": ff.WeightedAverage("z", "weight"),
}  # fmt: skip
"""All other operations, on values of many types."""
OF_LIVES: dict[str, Operation] = {
    "covered": ff.Covered(), "weighted": ff.TimeWeightedAverage("z"), "n": ff.Count(), "total": ff.Sum("d"),
}  # fmt: skip

ANCHORS = pa.table(
    {
        "a": ["ann", None, "ann", "only here", "ann"],
        "b": pa.array([np.nan, None, 0.0, 7.0, np.nan], pa.float64()),
        "from": pa.array(NIGHT + np.array([1, 0, 3, 2, 2]) * np.timedelta64(1, "h"), pa.timestamp("us", "UTC")),
        "to": pa.array(NIGHT + np.array([4, 9, 3, 5, 3]) * np.timedelta64(1, "h"), pa.timestamp("us", "UTC")),
    }
)
START = dt.datetime(2021, 10, 30, 22, tzinfo=dt.UTC)
ONE_KEY: dict[str, Any] = {"by": []}
TIES: dict[str, Any] = {"ties": "tie"}
LIVES: dict[str, Any] = {"until": "end"}
KEYS_OF_TYPES = ["s", "b", "d", "flag", "born", "at", "r", "a.b"]
STRUCTS: dict[str, Any] = {"by": "struct", "ties": "n"}
FILLED: dict[str, Any] = {
    "empty": "emit", "fill_from": START - dt.timedelta(minutes=30), "fill_to": START + dt.timedelta(hours=9),
}  # fmt: skip
MORE_KEYS = pa.table({"zone": ["one", "two"], "a.b": pa.array([None, 9.0]), "k": ["ann", "never there"]})

Query = tuple[Any, dict[str, Operation], dict[str, Any]]
SQL_QUERIES: dict[str, Query] = {
    "sums": ([ff.sliding("20 minutes", "5 minutes"), ff.tumbling("45 minutes", closed="right")], SUMS, {}),
    "sessions": ([ff.session("4 minutes"), ff.cumulating("1 hour", "10 minutes")], FEW | TWICE, {}),
    "weeks": ([ff.tumbling("1 week"), ff.cumulating("1 week", every="1 day")], FEW, {"time": "at"}),
    "few samples": (ff.sliding("20 minutes", "10 minutes", min_samples=4), FEW, {"by": "k"}),
    "sums of one key": (ff.sliding("1 hour", "10 minutes"), FEW, ONE_KEY),
    "sums around 1970": (ff.sliding("50 minutes", "15 minutes", offset="7 minutes"), FEW, {"time": "old"}),
    "gaps": (ff.sliding("5 minutes", "15 minutes", closed="right", empty="emit", gaps="allow"), FEW, {"by": "k"}),
    "cumulating right": (ff.cumulating("1 hour", "10 minutes", offset="5 minutes", closed="right"), FEW, {}),
    "longest sessions": (ff.session("2 minutes", longest="10 minutes"), FEW, {"by": ["k", "flag"]}),
    "ticks": (ff.sliding(60, every=7, closed="right", offset=-3), FEW, {"time": "tick"}),
    "full ticks": (ff.sliding(4, every=1, min_fill="full"), FEW, {"time": "tick"}),
    "sessions of ticks": (ff.session(3), FEW, {"time": "tick"}),
    "days": (ff.sliding("7 days", every="1 day", stamp="end"), FEW, {"time": "day"}),
    "structs": (ff.tumbling("30 minutes"), FEW, {"by": "struct"}),
    "many keys": (ff.sliding("1 hour", "10 minutes"), FEW, {"by": KEYS_OF_TYPES, "time": "old"}),
    "filled gaps": (ff.sliding("5 minutes", "45 minutes", gaps="allow", **FILLED), FEW, {}),
    "two of days": ([ff.sliding("5 days", "3 days"), ff.tumbling("2 days", offset="1 day")], FEW, {"time": "day"}),
}
TRADING_DAY = ff.business_days(1, "Sun Mon Tue Wed Thu", holidays=["2021-10-31"])
TASK_QUERIES: dict[str, Query] = {
    "values": (ff.sliding("20 minutes", "5 minutes"), VALUES | {"own": Total("n")}, {}),
    "days of a zone": ([ff.tumbling("1 day", timezone="Europe/Berlin"), ff.session("4 minutes")], SUMS | VALUES, {}),
    "months": ([ff.sliding("1 month", "1 day"), ff.tumbling("1 month"), ff.tumbling(TRADING_DAY)], FEW, ONE_KEY),
    "days of files": (ff.tumbling("1 day"), FEW | {"last": ff.Max("eastern")}, {"time": "eastern", "by": "k"}),
    "filled": (ff.sliding("20 minutes", "10 minutes", **FILLED, fill_keys=MORE_KEYS), FEW, {}),
    "lives": (ff.sliding("40 minutes", "15 minutes"), OF_LIVES, LIVES),
}
ORDERED_QUERIES: dict[str, Query] = {
    "ordered": (ff.sliding("30 minutes", "20 minutes"), ORDERED | TWICE, TIES),
    "all operations": (ff.sliding("40 minutes", "15 minutes"), OPERATIONS, {"by": "k"}),
    "in the order of arrival": (ff.sliding("1 hour", "25 minutes"), ORDERED, {}),
    "all windows": (ff.tumbling("50 minutes", closed="right", empty="emit", stamp="end"), ORDERED, {}),
    "ordered days of a zone": (ff.sliding("2 days", "1 day", timezone="Europe/Berlin"), ORDERED, {}),
    "ordered months": (ff.tumbling("1 month", offset="14 days"), ORDERED, ONE_KEY),
    "cumulating": ([ff.cumulating("3 hours", "30 minutes"), ff.cumulating("1 month", "1 day")], ORDERED, {}),
    "landmark a step": (ff.landmark(since=START + dt.timedelta(hours=1), every="1 hour"), ORDERED, ONE_KEY),
    "ordered sessions": (ff.session("12 minutes"), ORDERED, {}),
    "sessions of one key": (ff.session("3 minutes", merge_touching=True), ORDERED, ONE_KEY),
    "given": (ff.windows_from(ANCHORS, start="from", end="to", by=["a", "b"]), ORDERED, {}),
    "given, one key": (ff.windows_from(ANCHORS, start="from", end="to", closed="both"), ORDERED, ONE_KEY),
    "sliding over lives": (ff.sliding("1 hour", "25 minutes"), ORDERED, LIVES),
    "snapshot": (ff.snapshot(), ORDERED, LIVES | ONE_KEY),
    "ordered ticks": (ff.sliding(60, every=7), ORDERED, {"time": "tick"}),
    "ordered days": (ff.sliding("7 days", every="1 day"), ORDERED, {"time": "day"}),
}
ROW_QUERIES: dict[str, Query] = {
    "rows": (ff.last_rows(4), ORDERED, TIES),
    "around": (ff.around(rows=(-2, 3), min_fill="partial"), FEW, TIES),
    "two in rows": ([ff.landmark(every="1 hour"), ff.last_rows(3, every=2)], FEW | TWICE, TIES),
    "landmark an event": (ff.landmark(until=START + dt.timedelta(hours=5)), ORDERED, TIES),
    "rows of one key": (ff.last_rows(12, 5, min_fill="full"), ORDERED, ONE_KEY),
    "rows with gaps": (ff.last_rows(2, 5, gaps="allow"), ORDERED, {}),
    "last times": (ff.last_rows(3, ties="distinct_time"), ORDERED, {}),
    "last whole times": (ff.last_rows(3, ties="strict"), ORDERED, ONE_KEY),
    "around rows, one key": (ff.around(rows=(1, 6), min_fill="partial"), ORDERED, ONE_KEY),
    "around time": (ff.around(time=("-10 minutes", "5 minutes")), ORDERED, {}),
    "policy by delta": (ff.policy(ff.by_delta("n", 90), ff.by_count(2)), ORDERED, TIES),
    "policy by time": (ff.policy(ff.by_time("1 hour"), ff.by_delta("t", "20 minutes")), ORDERED, ONE_KEY),
    "rows without a time": (ff.last_rows(3), FEW, {"time": "at"}),
    "rows of structs": (ff.last_rows(2), ORDERED, STRUCTS),
    "several": ([ff.last_rows(3), ff.sliding("1 hour", "20 minutes"), ff.around(rows=(-1, 1))], ORDERED, {}),
}
QUERIES = SQL_QUERIES | TASK_QUERIES | ORDERED_QUERIES | ROW_QUERIES
"""Windows, outputs, and how events are named where they have not the time ``t`` and the keys ``k`` and ``a.b``."""

BY_TASKS = "tasks on files"
WAYS: dict[str, tuple[dict[str, Any], str, str]] = {
    "auto": ({}, "accumulate", ""),
    "SQL": ({"accumulate": "spark"}, "accumulate", "by Spark itself, grouped by key and frame"),
    "mapInArrow": ({"accumulate": "python", "read": "spark"}, "accumulate", "in mapInArrow: one pass over the events"),
    BY_TASKS: ({}, "accumulate", "on executors, where the events are read"),
    "few events": ({"read": "spark"}, "accumulate", "on the driver, which gets the events as they are if those are at"),
    "in time order": ({}, "accumulate", "by key and block of time that puts them in time order; then in mapInArrow"),
    "in row order": ({"accumulate": "python"}, "number rows", "counts the rows of each task's first and last key"),
    "few rows": ({}, "number rows", "on the driver, which gets the events as they are"),
}
"""For each way: the options that lead to it, and in which row of the explanation it says what."""

COMBINE: dict[str, tuple[dict[str, Any], dict[str, int], str]] = {
    "driver": ({"combine": "driver"}, {}, "on the driver, all keys at once: combine='driver'"),
    "executors": ({"combine": "executors"}, {}, "lazily: combine='executors'"),
    "too many": ({"max_driver_partials": 0}, {}, "if there are at most 0 partials"),
    "too large": ({}, {"auto_result_bytes": 0}, "combine='auto' counts them"),
}
"""For each place where partials are combined: options, limits, and what the explanation says."""

CELLS: list[tuple[str, str, str, list[str]]] = [
    ("DataFrame", "SQL", "driver", ["sums", "sessions", "few samples"]),
    ("DataFrame", "SQL", "executors", ["sums", "sessions"]),
    ("DataFrame", "SQL", "too many", ["sums"]),
    ("DataFrame", "SQL", "too large", ["sums"]),
    ("DataFrame", "mapInArrow", "driver", ["sums", "values", "lives"]),
    ("DataFrame", "mapInArrow", "executors", ["values", "days of a zone"]),
    ("DataFrame", "mapInArrow", "too many", ["values"]),
    ("DataFrame", "mapInArrow", "too large", ["values"]),
    ("DataFrame", "in time order", "driver", ["all operations"]),
    ("DataFrame", "in time order", "executors", ["ordered"]),
    ("DataFrame", "in row order", "driver", ["rows"]),
    ("DataFrame", "in row order", "executors", ["rows", "two in rows"]),
    ("DataFrame", "in row order", "too many", ["around"]),
    ("DataFrame", "few rows", "driver", ["around"]),
    ("files", BY_TASKS, "driver", ["sums", "values", "days of a zone"]),
    ("files", BY_TASKS, "executors", ["sums", "values"]),
    ("files", BY_TASKS, "too many", ["values"]),
    ("files", "few events", "driver", ["few samples"]),
    ("files", "SQL", "driver", ["sums"]),
    ("files", "SQL", "executors", ["sums"]),
    ("files", "mapInArrow", "driver", ["values"]),
    ("files", "mapInArrow", "executors", ["values"]),
    ("files", "in time order", "driver", ["ordered"]),
    ("files", "in row order", "executors", ["rows"]),
]
MORE = [
    *(("DataFrame", "SQL", "executors", [name]) for name in SQL_QUERIES if name not in ("sums", "sessions")),
    *(("DataFrame", "mapInArrow", "executors", [name]) for name in ("lives", "months", "filled", "filled gaps")),
    *(("DataFrame", "mapInArrow", combine, ["structs", "many keys"]) for combine in ("driver", "executors")),
    ("files", BY_TASKS, "driver", ["filled", "filled gaps", "many keys", "days of files"]),
    ("files", BY_TASKS, "executors", ["days of files"]),
    ("files", "mapInArrow", "executors", ["days of files"]),
    ("files", "few rows", "driver", ["rows without a time"]),
    *(("DataFrame", "auto", "executors", [name]) for name in ORDERED_QUERIES if name != "ordered"),
    *(("DataFrame", "auto", "executors", [name]) for name in ROW_QUERIES if name not in ("rows", "two in rows")),
]
"""Queries that take the same ways, on executors: on the driver they take that of the local engine."""


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> Iterator[DataFrame]:
    """The events in three partitions, in a session with settings of a user's; shuffles spread them over more tasks."""
    sql = {"adaptive.enabled": "false", "shuffle.partitions": "3", "session.timeZone": "America/New_York"}
    sql |= {"execution.arrow.maxRecordsPerBatch": "50", "execution.arrow.useLargeVarTypes": "true"}
    sql |= {"timestampType": "TIMESTAMP_NTZ"}
    with conf(spark, {f"spark.sql.{name}": value for name, value in sql.items()}):
        df = spark.createDataFrame(events()).repartition(3).persist()
        yield df
        df.unpersist()


@pytest.fixture(scope="module")
def table(frame: DataFrame) -> pa.Table:
    """The events in the order in which Spark has them."""
    return frame.toArrow().cast(events().schema)


@pytest.fixture(scope="module")
def sources(
    spark: SparkSession, frame: DataFrame, table: pa.Table, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The events in three partitions, and in two files of several row groups."""
    folder = tmp_path_factory.mktemp("cells")
    for number in range(2):
        pq.write_table(table.slice(number * 250, 250), folder / f"{number}.parquet", row_group_size=60)
    return {"DataFrame": frame, "files": ff.parquet(folder, spark=spark)}


@pytest.fixture(scope="module")
def expected(table: pa.Table) -> Callable[[str], list[dict[str, Any]]]:
    """The rows of a query on the local engine."""
    known: dict[str, list[dict[str, Any]]] = {}

    def rows_of(name: str) -> list[dict[str, Any]]:
        if name not in known:
            known[name] = rows(query(table, name).aggregate(**QUERIES[name][1]))
            assert len(known[name]) > 2 or "month" in name
        return known[name]

    return rows_of


def close(a: Any, b: Any, digits: float = 1e-11) -> bool:
    """Whether results are equal, floats up to their last digits."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=digits, abs_tol=digits) or (a != a and b != b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key], digits) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(close(x, y, digits) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def query(data: Any, name: str, **options: Any) -> Any:
    """A query without its outputs, over the events that meet a condition."""
    windows, _, how = QUERIES[name]
    named = ff.events(data, **({"time": "t", "by": ["k", "a.b"], "null_time": "drop"} | how))
    kept = named.where(ff.expr("n <> 7 and (s <> 'd' or s is null)"))
    return kept.window(*(windows if isinstance(windows, list) else [windows])).options(**options)


@pytest.mark.parametrize(
    ("source", "way", "combine", "names"), [*(pytest.param(*of, marks=cell) for of in CELLS), *MORE], ids=str
)
def test_cell(
    source: str,
    way: str,
    combine: str,
    names: list[str],
    sources: dict[str, Any],
    expected: Callable[[str], list[dict[str, Any]]],
    limit: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (options, stage, words), (choice, bounds, where) = WAYS[way], COMBINE[combine]
    limit(row_block=5, window_block_ticks=1, **bounds)
    monkeypatch.setattr(*place_of("blobs"), partial(inner("blobs"), rows=7))  # what is "too large" goes to many tasks
    for name in names:
        outputs = QUERIES[name][1]
        asked = query(sources[source], name, **options, **choice)
        explained = dict(asked.explain(**outputs).rows)
        assert words in explained[stage], name
        assert where in explained["merge, slide, finish"], name
        by_tasks, by_spark = "on executors, with pyarrow, not through the JVM", "by spark.read.parquet as a DataFrame"
        if source == "files" and "twice" not in outputs:
            assert explained["read"].startswith(by_tasks if way == BY_TASKS else by_spark), name
        if name == "values" and combine == "executors":
            assert "by key and block of" in explained["merge, slide, finish"]
        result = asked.aggregate(**outputs)
        assert (result in COMPUTED) == (combine == "driver"), name
        if combine == "too large":
            assert result.select(f.spark_partition_id()).distinct().count() > 1
        how = {"time": "t", "by": ["k", "a.b"]} | QUERIES[name][2]
        given, types = ({field.name: field.dataType for field in df.schema} for df in (sources["DataFrame"], result))
        assert given[how["time"]] == (types["window"]["start"].dataType if "window" in types else types["at"]), name
        assert all(given[key] == types[key] for key in np.atleast_1d(how["by"])), name
        digits = 1e-11 if outputs is OPERATIONS else 0
        differing = [pair for pair in zip(rows(result), expected(name), strict=True) if not close(*pair, digits)]
        assert not differing[:2], name


def test_no_operation_is_left_out() -> None:
    public = {each.__name__ for each in vars(ff).values() if inspect.isclass(each) and issubclass(each, Operation)}

    def kinds(operation: Operation) -> set[str]:
        inner = [part for part in vars(operation).values() if isinstance(part, Operation)]
        return {type(operation).__name__}.union(*map(kinds, inner))

    tested = set().union(*(kinds(each) for _, outputs, _ in QUERIES.values() for each in outputs.values()))
    assert public - tested <= {"AggregateOperation", "Operation", "PythonOperation"}


@cell
@pytest.mark.parametrize(("written", "combine"), [("driver", "driver"), ("tasks", "too large"), ("tasks", "executors")])
def test_cell_of_stored_partials(
    spark: SparkSession,
    table: pa.Table,
    sources: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: Callable[..., None],
    written: str,
    combine: str,
) -> None:
    """A history of two runs, of a DataFrame and of files."""
    if written == "tasks":
        limit(stored_driver_partials=0, few_events=0)
    outputs = FEW | {"middle": ff.Median("z"), "different": ff.CountDistinct("s")}
    stored = ff.partials(tmp_path, time="t", by=["k", "a.b"], frame="5 minutes", spark=spark, **outputs)
    stored.append(sources["DataFrame"].where("n < 90"), run="1")
    stored.append(sources["files"], run="2")
    if combine == "executors":
        monkeypatch.setattr(*place_of("choices of stored partials"), lambda: Options(max_driver_partials=0))
    limit(**COMBINE[combine][1])
    windows = ff.sliding("20 minutes", "5 minutes")
    result = stored.window(windows).aggregate()
    assert (result in COMPUTED) == (combine == "driver")
    both = pa.concat_tables([table.filter(pa.array(table["n"].to_numpy() < 90)), table])
    wanted = ff.events(both, time="t", by=["k", "a.b"]).window(windows).aggregate(**outputs)
    assert close(rows(result), rows(wanted), 0)


@cell
def test_cell_of_relations(table: pa.Table, sources: dict[str, Any]) -> None:
    def views(data: Any) -> list[Any]:
        relation = ff.events(data, time="t", by="k", ties="n").window(ff.last_rows(3)).relation()
        last = relation.where("n > 100").select("k", "x", "n")
        joined = last.join(relation.select("k", m="n"), on="k", how="inner")
        return [
            last.rows(),
            relation.distinct("k", "s").rows(),
            last.changes(),
            joined.rows(),
            last.at("2021-10-31T01:00:00Z"),
        ]

    found, wanted = views(sources["DataFrame"]), views(table)
    for mine, local in zip(found, wanted, strict=True):
        assert Counter(map(repr, rows(mine.toArrow().cast(local.schema)))) == Counter(map(repr, rows(local)))
        assert len(local)


@cell
@pytest.mark.parametrize(
    ("source", "way", "combine"),
    [
        *(("DataFrame", way, "driver") for way in ("SQL", "mapInArrow")),
        *(("DataFrame", way, "executors") for way in ("SQL", "in row order")),
        *(("files", BY_TASKS, combine) for combine in ("driver", "executors")),
    ],
)
def test_errors_of_cells(source: str, way: str, combine: str, spark: SparkSession, tmp_path: Path) -> None:
    """Null times of several tasks, and a function that raises: at once, or when the result is used."""
    some = pa.table({"t": [at if at % 10 else None for at in range(40)], "x": range(100, 140)})
    pq.write_table(some, tmp_path / "some.parquet", row_group_size=10)
    data = spark.createDataFrame(some).repartition(3) if source == "DataFrame" else ff.parquet(tmp_path, spark=spark)
    options = WAYS[way][0] | COMBINE[combine][0]
    lazy, windows = combine == "executors", ff.last_rows(2) if "row" in way else ff.tumbling(10)
    errors: Any = PythonException if lazy else ff.FramefoldError
    count = r"\d+ of \d+" if lazy else "4 of 40"
    with pytest.raises(errors, match=f"the time 't' is null in {count} events"):
        ff.events(data, time="t").window(windows).options(**options).aggregate(n=ff.Count()).collect()
    events = ff.events(data, time="t", null_time="drop")
    assert events.dropped().count() == 4
    known = events.window(windows).options(**options)
    if way == "SQL":
        assert sum(row["n"] for row in known.aggregate(n=ff.Count()).collect()) == 36
        return
    with pytest.raises(errors, match=r"accumulate of 'x' .* failed: ZeroDivisionError: thirteen") as caught:
        known.aggregate(x=Raising("x")).collect()
    shown = "".join(traceback.format_exception(caught.value))
    assert "in accumulate" in shown
    assert "test_cells.py" in shown


@pytest.mark.parametrize(
    ("source", "combine"), [("DataFrame", "driver"), ("DataFrame", "executors"), ("files", "executors")]
)
def test_no_events(source: str, combine: str, sources: dict[str, Any]) -> None:
    """No windows, of the same types; but for windows that are listed, or filled."""
    for windows in (ff.tumbling("1 hour"), ff.last_rows(3), ff.around(rows=(0, 1)), ff.landmark(every="1 hour")):
        events = ff.events(sources[source], time="t", by="k").options(combine=combine)
        found = events.where(ff.expr("n < 0")).window(windows).aggregate(**FEW)
        assert found.collect() == []
        assert found.schema == events.window(windows).options(combine="executors").aggregate(**FEW).schema
    nothing = ff.events(sources[source], time="t", by="k").where(ff.expr("n < 0")).options(combine=combine)
    given = nothing.window(ff.windows_from(ANCHORS, start="from", end="to", by="a")).aggregate(n=ff.Count())
    assert [(row["k"], row["n"]) for row in given.collect()] == [(None, 0), *[("ann", 0)] * 3, ("only here", 0)]
    keys = sources["DataFrame"].sparkSession.createDataFrame(MORE_KEYS)
    filled = ff.tumbling("1 hour", **FILLED, fill_keys=keys.select("zone", "k"))
    assert [row["n"] for row in nothing.window(filled).aggregate(n=ff.Count()).collect()] == [0] * 20
