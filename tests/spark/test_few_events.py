"""DataFrames of few events in files: the driver gets the events, with the results that Spark SQL and tasks have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import framefold as ff
from framefold.spark.input.scan_bounds import footers_of, is_row_by_row, most_groups

from ..oracles.operations import Ledger
from ..support.inner import answers, place_of
from ..support.plans import bind
from ..support.spark_results import listed

ROWS = 600


@pytest.fixture
def path(tmp_path: Path) -> str:
    rng = np.random.default_rng(3)
    times = pa.array(rng.integers(0, 300, ROWS) * 1_000_000).cast(pa.timestamp("us", tz="UTC"))
    columns: dict[str, Any] = {"t": times, "k": rng.choice(["a", "b", "c"], ROWS)}
    columns["x"] = pa.array(rng.normal(0, 1e9, ROWS), mask=rng.random(ROWS) < 0.1)
    pq.write_table(pa.table(columns | {"l": [[1, 2]] * ROWS}), tmp_path / "events.parquet")
    return str(tmp_path / "events.parquet")


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of events that came to the driver."""
    return answers(monkeypatch, "few events to partials", lambda found, *_: found[2])


def query(df: Any, **options: Any) -> Any:
    windows = ff.sliding("20 seconds", every="3 seconds")
    return ff.events(df, time="t", by="k").window(windows).options(read="spark", **options)


OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Max("x"), "v": ff.Variance("x")}

BOUNDED: dict[str, Callable[[DataFrame], DataFrame]] = {
    "as it is": lambda df: df,
    "filtered": lambda df: df.where("x > 0"),
    "computed": lambda df: df.withColumn("x", f.col("x") * 2).select("k", "x", "t"),
    "both": lambda df: df.where("k <> 'b'").withColumn("x", f.abs("x")).where("x > 1e8"),
}
OTHER: dict[str, Callable[[DataFrame], DataFrame]] = {
    "more rows": lambda df: df.withColumn("each", f.explode("l")),
    "joined": lambda df: df.join(df.select("k").limit(9), "k"),
    "a union": lambda df: df.union(df),
    "cached": lambda df: df.persist(),
    "no files": lambda df: df.sparkSession.createDataFrame(df.toArrow()),
}


@pytest.mark.parametrize("name", [*BOUNDED, *OTHER])
def test_results_are_the_same(spark: SparkSession, path: str, collected: list[int], name: str) -> None:
    df = (BOUNDED | OTHER)[name](spark.read.parquet(path))
    found = query(df).aggregate(**OUTPUTS).toArrow()
    assert collected == ([df.count()] if name in BOUNDED else [])
    assert len(found) > 200
    ways = [{"accumulate": "spark"}]
    if name == "both":
        ways += [{"accumulate": "python"}, {"combine": "executors"}]
    for options in ways:
        assert query(df, **options).aggregate(**OUTPUTS).toArrow().equals(found), options
    assert len(collected) == (name in BOUNDED)
    df.unpersist()


def test_more_events_are_left_to_spark(
    spark: SparkSession, path: str, collected: list[int], limit: Callable[..., None]
) -> None:
    limit(few_events=ROWS - 1)
    query(spark.read.parquet(path)).aggregate(**OUTPUTS)
    assert not collected
    limit(few_events=ROWS)
    query(spark.read.parquet(path)).aggregate(**OUTPUTS)
    assert collected == [ROWS]


@pytest.mark.parametrize(("most", "few"), [(5_000_000, True), (3, True), (5_000_000, False)])
def test_few_groups_are_put_together_by_one_task(
    spark: SparkSession,
    tmp_path: Path,
    most: int,
    few: bool,
    monkeypatch: pytest.MonkeyPatch,
    limit: Callable[..., None],
) -> None:
    """With more partials than the driver may have, executors go on, as where groups are not known to be few."""
    limit(few_groups=1 << 14 if few else 0)
    used = answers(monkeypatch, "groups of SQL collected", lambda found, source, *_: (source.few, found is not None))
    rng = np.random.default_rng(5)
    for number in range(3):
        times = pa.array(rng.integers(0, 100, ROWS) * 1_000_000).cast(pa.timestamp("us", tz="UTC"))
        table = pa.table({"t": times, "k": rng.integers(0, 3, ROWS), "x": rng.integers(0, 1000, ROWS)})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    found, expected = (
        ff.events(data, time="t", by="k").window(ff.tumbling("50 seconds")).options(**options).aggregate(**OUTPUTS)
        for data, options in (
            (spark.read.parquet(str(tmp_path)), {"read": "spark", "max_driver_partials": most}),
            (ff.parquet(tmp_path), {}),
        )
    )
    assert listed(found) == listed(expected)
    assert used == [(few, most > 3)]


def test_what_spark_does_not_hand_over_is_grouped_by_it(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> Any:
        raise PySparkException("the results are bigger than spark.driver.maxResultSize")

    expected = query(spark.read.parquet(path)).aggregate(**OUTPUTS).toArrow()
    monkeypatch.setattr(*place_of("few events collected"), refused)
    assert query(spark.read.parquet(path)).aggregate(**OUTPUTS).toArrow().equals(expected)


def test_users_functions_run_in_tasks(spark: SparkSession, path: str, collected: list[int]) -> None:
    query(spark.read.parquet(path).withColumn("x", f.expr("cast(x as bigint)"))).aggregate(n=Ledger("x"))
    assert not collected


def test_footers_and_plans(spark: SparkSession, path: str, limit: Callable[..., None]) -> None:
    df = spark.read.parquet(path)
    footers = footers_of(df.where("x > 0"))
    assert footers is not None
    assert [footer.num_rows for footer in footers] == [ROWS]
    assert footers_of(spark.range(3)) is None
    limit(few_files=0)
    assert footers_of(df) is None
    assert is_row_by_row(df.where("x > 0"))
    assert not is_row_by_row(df.union(df))


@pytest.mark.parametrize(
    ("time", "unit", "window", "edges"),
    [
        (pa.timestamp("us", "UTC"), 1_000_000, ff.sliding("20 seconds", every="3 seconds"), (3, 2)),
        (pa.timestamp("ms"), 1_000, ff.sliding("20 seconds", every="3 seconds"), (3, 2)),
        (pa.date32(), 1, ff.tumbling("7 days"), (7, 7)),
        (pa.int64(), 1, ff.sliding(10, every=4), (4, 2)),
    ],
)
def test_the_most_groups_are_no_fewer_than_there_are(
    tmp_path: Path, time: pa.DataType, unit: int, window: Any, edges: tuple[int, int]
) -> None:
    rng = np.random.default_rng(5)
    ticks, keys = rng.integers(-400, 400, (2, 500)), rng.integers(-3, 4, (2, 500))
    times = [
        pa.array(each * unit).cast(pa.int32() if pa.types.is_date(time) else pa.int64()).cast(time) for each in ticks
    ]
    for number, each in enumerate(times):
        nulls = pa.array(keys[number], mask=rng.random(500) < 0.1)
        pq.write_table(pa.table({"t": each, "k": nulls, "s": ["a"] * 500}), tmp_path / f"{number}.parquet")
    footers = [pq.read_metadata(tmp_path / f"{number}.parquet") for number in (0, 1)]
    schema = pq.read_schema(tmp_path / "0.parquet")
    plan = bind(schema, time="t", by=["k"], window=window, outputs={"n": ff.Count()})
    most = most_groups(footers, plan)
    step, cut = edges  # a frame ends where a window starts, and where one ends
    found = len({(t // step, t % step >= cut, k) for t, k in zip(ticks.ravel(), keys.ravel(), strict=True)})
    assert most is not None
    assert found <= most <= 16 * found
    assert most_groups(footers, bind(schema, time="t", by=["s"], window=window, outputs={"n": ff.Count()})) is None


def test_many_events_of_each_group_are_grouped_by_spark(
    spark: SparkSession, tmp_path: Path, collected: list[int]
) -> None:
    table = pa.table({"t": range(6_000), "k": [1, 2, 3] * 2_000, "s": ["a", "b"] * 3_000, "x": [0.1] * 6_000})
    pq.write_table(table, tmp_path / "events.parquet")
    df = spark.read.parquet(str(tmp_path / "events.parquet"))
    for by, size, here in (("k", 2_000, 0), ("k", 20, 1), ("s", 2_000, 1)):
        events = ff.events(df, time="t", by=by).window(ff.tumbling(size)).options(read="spark")
        found = events.aggregate(n=ff.Count(), total=ff.Sum("x")).toArrow().to_pylist()
        assert len(collected) == here
        collected.clear()
        expected = Counter((key, t // size * size) for key, t in zip(table[by].to_pylist(), range(6_000), strict=True))
        assert {(row[by], row["window"]["start"]): row["n"] for row in found} == expected
        assert all(row["total"] == math.fsum([0.1] * row["n"]) for row in found)
