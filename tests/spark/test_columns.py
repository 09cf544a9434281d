"""States that Spark builds itself: exact sums, what it cannot build; results are compared in ``test_cells``."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..oracles.by_definition import exact_sum, rounded
from ..oracles.exact import spread
from ..support.inner import answers, inner, place_of
from ..support.spark_parts import explained
from ..support.spark_results import conf
from ..support.sql import ROW_LIMIT, SMALL_ROW_LIMIT, joined, sql_floats
from .test_cells import events

WINDOW = ff.sliding("1 hour", every="10 minutes")
# Values that a sum of floats stumbles over: each bound of what is of ordinary size, and all that is far from it.
ODD = [
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308, 1e300, -1e300, 1e16, -1e16),
    *(2.0**24, -(2.0**24), math.nextafter(2.0**24, 0), 2.0**-17, math.nextafter(2.0**-17, 0), 2.0**65, 2.0**-58),
    *(2.0**960, math.nextafter(2.0**960, 0), 2.0**1001, 0.1, 1 / 3, 1e-12),
]


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    """Events in three partitions."""
    return spark.createDataFrame(events()).repartition(3).persist()


def by_spark(data: Any, window: Any = WINDOW, by: Any = (), time: str = "t", **choices: Any) -> Any:
    """A query whose events Spark is to accumulate."""
    return ff.events(data, time=time, by=by).window(window).options(accumulate="spark", **choices)


@pytest.mark.parametrize("odd", ["any", "finite", "tiny", "pairs that cancel"])
def test_sums_of_awkward_floats_are_rounded_correctly(spark: SparkSession, odd: str) -> None:
    """Frames of few values, for two floats to have room for their sum."""
    rng = np.random.default_rng(5)
    values = rng.choice({"finite": ODD[3:], "tiny": [1e-310, 5e-324, 1e-300, 0.0, -1e-290]}.get(odd, ODD), 900)
    if odd == "pairs that cancel":
        values = np.concatenate([values[:450], -values[:450]])
        values[~np.isfinite(values)] = 1.0
    slots = np.arange(900) % 450 if odd == "pairs that cancel" else np.arange(900) // 2
    table = pa.table({"t": slots, "x": values})
    query = by_spark(spark.createDataFrame(table).repartition(2), ff.tumbling(1), combine="driver")
    found = query.aggregate(x=ff.Sum("x"), m=ff.Average("x")).collect()
    groups: dict[int, list[float]] = defaultdict(list)
    for slot, value in zip(slots.tolist(), values.tolist(), strict=True):
        groups[slot].append(value)
    assert [row["window"]["start"] for row in found] == sorted(groups)
    for row in found:
        value = groups[row["window"]["start"]]
        expected = rounded(exact_sum(value))
        if math.isfinite(expected) and max(map(abs, value)) >= 2.0**959:  # kept apart from lesser ones
            assert row["x"] == pytest.approx(expected, rel=3e-16), value
        else:
            assert repr(row["x"] + 0.0) == repr(expected + 0.0), value
            if abs(expected) < math.inf:
                assert repr(row["m"] + 0.0) == repr(expected / 2 + 0.0), value


def columns_of_values() -> dict[str, list[float]]:
    """Values of many kinds, ten of each to a frame: all that a sum of squares stumbles over."""
    rng = np.random.default_rng(8)
    many = 400
    scale = 10.0 ** rng.integers(-12, 20, many)
    edges = [2.0**18, 2.0**-10, 2.0**46, 2.0**-38]
    kinds = {
        "cents": rng.normal(50, 10, many).round(2), "of both signs": rng.normal(0, 1e-3, many),
        "far from 0": 1e9 + rng.normal(0, 1e-3, many), "very far from 0": 2.0**17 + rng.normal(0, 1e-9, many),
        "of many sizes": rng.normal(0, 1, many) * scale,
        "at the edges of sizes": np.nextafter(rng.choice(edges, many), rng.choice([0, math.inf], many)),
        "all equal": np.repeat(rng.normal(0, 1e3, many // 10), 10), "huge": 1e300 * rng.normal(1, 1e-5, many),
        "as huge as can be": rng.choice([1.7e308, -1.7e308, 1.79e308, 1e308], many),
        "tiny": 1e-300 * rng.normal(1, 1e-5, many), "denormal": rng.integers(-100, 100, many) * 5e-324,
        "odd": rng.choice([value for value in ODD if math.isfinite(value)], many),
        "not finite": rng.choice([math.nan, math.inf, 1.0, 1e300], many, p=[0.05, 0.05, 0.8, 0.1]),
    }  # fmt: skip
    return {kind: values.tolist() for kind, values in kinds.items()}


@pytest.mark.parametrize(("combine", "ddof"), [("driver", 0), ("executors", 1)])
def test_variances_of_awkward_floats_are_rounded_correctly(spark: SparkSession, combine: str, ddof: int) -> None:
    """Frames of ten values, of one, and of none but nulls; for executors sums have room for more rows."""
    rows = [
        {"kind": kind, "t": place // 10, "x": value if place % 10 < (10, 10, 10, 1, 0)[place // 10 % 5] else None}
        for kind, values in columns_of_values().items()
        for place, value in enumerate(values)
    ]
    groups: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in rows:
        groups[row["kind"], row["t"]] += [] if row["x"] is None else [row["x"]]
    df = spark.createDataFrame(pa.Table.from_pylist(rows)).repartition(2)
    query = by_spark(df, ff.tumbling(1), "kind", combine=combine)
    outputs = {"v": ff.Variance("x", ddof=ddof), "s": ff.StdDev("x", ddof=ddof), "total": ff.Sum("x")}
    found = query.aggregate(**outputs).collect()
    assert len(found) == len(groups)
    for row in found:
        values = groups[row["kind"], row["window"]["start"]]
        if len(values) <= ddof:
            assert row["v"] is row["s"] is None
        elif not all(map(math.isfinite, values)):
            assert math.isnan(row["v"])
            assert math.isnan(row["s"])
        else:
            assert (row["v"], row["s"]) == spread(values, ddof), (row["kind"], values)
            assert row["kind"] == "odd" or row["total"] == rounded(exact_sum(values)), (row["kind"], values)


def test_long_sums_of_cents_are_exact(spark: SparkSession) -> None:
    """Spark's own sum is not: the optimiser must not have taken out what is added and taken off again."""
    df = spark.range(0, 200_000, 1, 4).selectExpr("id", "round(rand(3) * 1000000, 2) * if(id % 2 = 0, 1, -1) as x")
    df = df.persist()
    found = by_spark(df, ff.tumbling(1_000_000), time="id").aggregate(x=ff.Sum("x")).collect()[0]["x"]
    values = df.select("x").toArrow()["x"].to_pylist()
    assert found == math.fsum(values)
    assert df.agg(f.sum("x")).collect()[0][0] != found
    df.unpersist()


@pytest.mark.parametrize("most", [SMALL_ROW_LIMIT, ROW_LIMIT])
def test_integers_leave_nothing_of_ordinary_values(most: int) -> None:
    """What is cut off is exact, and 64 bits have room for the most rows there may be."""
    rng = np.random.default_rng(2)
    top, bottom = sql_floats.TOP, sql_floats.TOP - sql_floats.WIDTH
    values = np.ldexp(rng.uniform(-1, 1, 4_000), rng.integers(bottom + 1, top + 2, 4_000))
    values = values[np.abs(values) >= 2.0 ** (bottom - 1)]
    values = np.concatenate([values, [2.0 ** (top + 1), -(2.0 ** (top + 1)), math.nextafter(2.0**bottom, 1)]])
    rest, exact = values * 2.0 ** sql_floats.first_shift(most), [Fraction(0)] * len(values)
    for place in range(sql_floats.INTEGERS[most]):
        integers = rest.astype(np.int64)
        assert (np.abs(integers) <= (2**63 - 1) // (most - 1)).all()
        unit = Fraction(2) ** -(sql_floats.first_shift(most) + place * inner("bits of integers in SQL")(most))
        exact = [total + each * unit for total, each in zip(exact, integers.tolist(), strict=True)]
        rest = (rest - integers) * 2.0 ** inner("bits of integers in SQL")(most)
    assert exact == list(map(Fraction, values.tolist()))


@pytest.mark.parametrize("most", [SMALL_ROW_LIMIT, ROW_LIMIT])
def test_sums_of_integers_are_joined_without_an_error(most: int) -> None:
    rng = np.random.default_rng(3)
    sums = [rng.integers(-(2**62), 2**62, 500) >> rng.integers(0, 60, 500) for _ in range(sql_floats.INTEGERS[most])]
    sums[0][:100] = rng.integers(-2, 3, 100)
    unit = 2.0 ** -sql_floats.first_shift(most)
    high, low = (part * unit for part in joined(list(sums), inner("bits of integers in SQL")(most)))
    for place, parts in enumerate(zip(*(each.tolist() for each in sums), strict=True)):
        total = sum(
            each * Fraction(2) ** -(sql_floats.first_shift(most) + number * inner("bits of integers in SQL")(most))
            for number, each in enumerate(parts)
        )
        assert high[place] == float(total)
        rest = float(total - Fraction(float(high[place])))
        assert abs(low[place] - rest) <= math.ulp(rest)  # its last bit says whether it is exact


def test_powers_of_two_are_exact_in_spark(spark: SparkSession) -> None:
    found = spark.range(-600, 601).selectExpr("power(2D, id)").toArrow()[0].to_pylist()
    assert found == [math.ldexp(1.0, exponent) for exponent in range(-600, 601)]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_integers_at_the_ends_of_int64(spark: SparkSession, ansi: str) -> None:
    ends = pa.table({"t": [0, 1, 2, 3], "i": [2**63 - 1, 2**63 - 1, -(2**63), -(2**63)]})
    with conf(spark, {"spark.sql.ansi.enabled": ansi}):
        assert by_spark(spark.createDataFrame(ends), ff.tumbling(4)).aggregate(i=ff.Sum("i")).collect()[0]["i"] == -2
        with pytest.raises(ff.SumOverflowError, match="does not fit int64"):
            by_spark(spark.createDataFrame(ends.slice(0, 2)), ff.tumbling(4)).aggregate(i=ff.Sum("i"))


@pytest.mark.parametrize("tick", [2**63 - 5, -(2**63) + 5])
def test_times_at_the_ends_of_int64_are_refused(spark: SparkSession, tick: int) -> None:
    with pytest.raises(ff.ColumnError, match="beyond the range of int64"):
        by_spark(spark.createDataFrame(pa.table({"t": [0, tick]})), ff.sliding(60, every=10)).aggregate(n=ff.Count())


class Product(ff.AggregateOperation):
    """A user's own: the sum of products of two columns, which Spark can build too."""

    state = {"total": "int64", "rows": "int64"}
    sql = {"total": "sum(cast({0} as bigint) * {1})", "rows": "count({0})"}

    def accumulate(self, frames: Any, x: Any, y: Any) -> Any:
        return {"total": frames.sum(x.astype(np.int64) * y), "rows": frames.count()}

    def combine(self, a: Any, b: Any) -> Any:
        return {name: a[name] + b[name] for name in a}

    def finish(self, a: Any) -> Any:
        return a["total"] * 1000 + a["rows"]


class Changed(Product):
    """Its own accumulate: what was said in SQL is of another."""

    def accumulate(self, frames: Any, x: Any, y: Any) -> Any:
        return {"total": frames.count() * 0, "rows": frames.count()}


def test_an_operation_of_the_users_says_how(frame: DataFrame) -> None:
    outputs = {"p": Product("small", "m"), "n": ff.Count()}
    expected = ff.events(events(), time="t", by="k").window(WINDOW).aggregate(**outputs)
    found = by_spark(frame, by="k", combine="driver").aggregate(**outputs)
    assert found.toArrow().to_pylist() == expected.to_pylist()
    why = str(ff.events(frame, time="t", by="k").window(WINDOW).explain(p=Changed("small", "m")))
    assert "not by Spark itself: p=Changed('small', 'm') is not made of SQL" in why


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ({"total": "sum({0})"}, "the sql of Wrong.* has 'total'; expected an aggregate for each of 'total', 'rows'"),
        ({"total": "sum({2})", "rows": "count({0})"}, r"for 'total' names \{2\}; expected one of its 2 columns"),
    ],
)
def test_a_wrong_sql_is_an_error(frame: DataFrame, sql: dict[str, str], message: str) -> None:
    wrong = type("Wrong", (Product,), {"sql": sql, "accumulate": Product.accumulate})
    with pytest.raises(ff.OperationError, match=message):
        ff.events(frame, time="t").window(WINDOW).aggregate(p=wrong("small", "m"))


@pytest.mark.parametrize(
    ("window", "output", "why"),
    [
        (WINDOW, ff.Median("z"), r"y=Median\('z'\) is not made of SQL aggregates"),
        (WINDOW, ff.Max("k"), r"y=Max\('k'\) is not made of SQL aggregates"),
        (WINDOW, ff.First("z"), r"y=First\('z'\) is not made of SQL aggregates|the order of events matters"),
        (ff.sliding("1 month", every="1 month"), ff.Sum("z"), "SQL has no simple number for the frames of"),
        (ff.last_rows(3), ff.Sum("z"), "the windows are counted in rows"),
    ],
    ids=str,
)
def test_what_spark_cannot_build_is_left_to_tasks(frame: DataFrame, window: Any, output: Any, why: str) -> None:
    query = ff.events(frame, time="t", by="k").window(window)
    assert re.search(f"not by Spark itself: ({why})", str(query.explain(y=output)))
    with pytest.raises(ff.QueryError, match=f"accumulate is 'spark', but ({why}).*; expected 'auto' or 'python'"):
        query.options(accumulate="spark").aggregate(y=output)


def test_events_stay_in_spark(frame: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """No task in Python before there are partials: the plan has none."""
    query = ff.events(frame, time="t", by="k").window(WINDOW)
    plans = answers(monkeypatch, "groups of SQL", lambda plan, *_: str(explained(plan)))
    query.aggregate(x=ff.Sum("z"), n=ff.Count())
    tasks = str(query.options(accumulate="python").explain(z=ff.Sum("z")))
    assert "not by Spark itself: accumulate='python'" in tasks
    assert len(plans) == 1
    assert "HashAggregate" in plans[0]
    assert "MapInArrow" not in plans[0]


def test_too_many_rows_for_exact_sums_are_refused(frame: DataFrame, limit: Callable[..., None]) -> None:
    query = by_spark(frame, ff.tumbling("1 day"))
    outputs = {"x": ff.Sum("z"), "v": ff.Variance("z")}
    expected = query.aggregate(**outputs).collect()
    limit(few_sql_rows=10)
    assert query.aggregate(**outputs).collect() == expected  # with more parts
    limit(sql_rows=10)
    with pytest.raises(ff.EngineError, match=r"a frame has \d+ events of one key, and Spark's sums are exact for 10;"):
        query.aggregate(x=ff.Sum("z"))


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_sums_of_more_rows_than_64_bits_have_room_for(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None], ansi: str
) -> None:
    """Which is an error in ANSI mode, and a wrong sum otherwise: both are computed again, with more integers."""
    # As if a few rows were the most that the integers have room for.
    monkeypatch.setattr(*place_of("bits of integers in SQL"), lambda rows: 60 if rows == SMALL_ROW_LIMIT else 33)
    limit(few_sql_rows=10)
    df = spark.range(200_000).selectExpr("id", "200000D + id as x")
    with conf(spark, {"spark.sql.ansi.enabled": ansi}):
        for combine in ("auto", "driver"):
            query = by_spark(df, ff.tumbling(200_000), time="id", combine=combine)
            found = query.aggregate(x=ff.Sum("x")).collect()
            assert [row["x"] for row in found] == [200_000 * 200_000 + 199_999 * 100_000]
