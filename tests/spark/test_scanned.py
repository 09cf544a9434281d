"""DataFrames that are nothing but Parquet files: tasks read them, with the results that Spark would give."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType

import framefold as ff

Make = Callable[["SparkSession", Path], "DataFrame"]


def write(folder: Path, *tables: pa.Table) -> str:
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet")
    return str(folder)


def events(first: int, more: bool = False) -> pa.Table:
    columns: dict[str, Any] = {"t": pa.array(range(first, first + 40)), "k": ["a", None, "b", "a"] * 10}
    columns["x"] = pa.array([i * 0.5 if i % 7 else None for i in range(40)], pa.float64())
    return pa.table(columns | {"y": range(40)} if more else columns)


def folder(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.parquet(write(path / "plain", events(0), events(20)))


def files(spark: SparkSession, path: Path) -> DataFrame:
    write(path / "files", events(0), events(20))
    chosen = spark.read.parquet(*(str(path / "files" / f"{number}.parquet") for number in (1, 0)))
    return chosen.select("x", "k", "t")


def partitioned(spark: SparkSession, path: Path) -> DataFrame:
    for key in ("a", "b"):
        write(path / f"k={key}", events(0).drop_columns(["k"]))
    return spark.read.parquet(str(path))


def evolved(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.option("mergeSchema", "true").parquet(write(path / "evolved", events(0), events(9, more=True)))


def with_a_schema(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.schema("t bigint, k string, x double, z int").parquet(write(path / "given", events(0)))


def mapped(spark: SparkSession, path: Path) -> DataFrame:
    """Columns known by their numbers, as tables whose columns were renamed have them."""
    table = events(0)
    fields = [field.with_metadata({"PARQUET:field_id": str(at)}) for at, field in enumerate(table.schema)]
    write(path / "mapped", table.cast(pa.schema(fields)).rename_columns(["old_t", "old_k", "old_x"]))
    columns = zip(("t", "k", "x"), (LongType(), StringType(), DoubleType()), strict=True)
    schema = [StructField(name, of, True, {"parquet.field.id": at}) for at, (name, of) in enumerate(columns)]
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    return spark.read.schema(StructType(schema)).parquet(str(path / "mapped"))


def chosen_by_name(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.option("pathGlobFilter", "0*").parquet(write(path / "chosen", events(0), events(20)))


def filtered(spark: SparkSession, path: Path) -> DataFrame:
    return folder(spark, path).where("x > 3")


def computed(spark: SparkSession, path: Path) -> DataFrame:
    return folder(spark, path).selectExpr("t", "k", "x + 1 as x")


def cached(spark: SparkSession, path: Path) -> DataFrame:
    found = folder(spark, path).persist()
    found.count()
    return found


def appended_to(spark: SparkSession, path: Path) -> DataFrame:
    found = folder(spark, path)
    pq.write_table(events(500), path / "plain" / "9.parquet")  # Spark has listed the files before
    return found


def given_twice(spark: SparkSession, path: Path) -> DataFrame:
    place = write(path / "twice", events(0), events(20))
    return spark.read.parquet(place, f"{place}/1.parquet")  # Spark reads the file twice


def without_a_file(spark: SparkSession, path: Path) -> DataFrame:
    """Spark leaves out a file that is gone, where it is told to."""
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    found = folder(spark, path)
    (path / "plain" / "1.parquet").unlink()
    return found


def without_a_broken_file(spark: SparkSession, path: Path) -> DataFrame:
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    write(path / "plain", events(0))
    (path / "plain" / "1.parquet").write_bytes(b"no file of Parquet, but more than eight bytes")
    return spark.read.schema("t bigint, k string, x double").parquet(str(path / "plain"))


CASES: dict[Make, bool] = {
    folder: True, files: True, partitioned: True, evolved: False, with_a_schema: False,
    mapped: False, chosen_by_name: False, filtered: False, computed: False, cached: False, appended_to: False,
    given_twice: False, without_a_file: False, without_a_broken_file: False,
}  # fmt: skip
"""Whether tasks read the files of each."""


def query(df: DataFrame, **options: Any) -> Any:
    return ff.events(df, time="t", by="k").window(ff.sliding(10, every=3)).options(**options)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_results_are_those_of_spark(
    spark: SparkSession, make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    df = make(spark, tmp_path)
    outputs = {"x": ff.Sum("x"), "n": ff.Count()}
    views = spark.catalog.listTables()
    with caplog.at_level(logging.INFO, "framefold"):
        asked = query(df)
        found = asked.aggregate(**outputs).toArrow()
        text = str(asked.explain(**outputs))
    assert spark.catalog.listTables() == views
    assert df.storageLevel.useMemory is (make is cached)
    # Through Connect Spark lists the files each time.
    by_tasks = CASES[make] or (make is appended_to and "FRAMEFOLD_REMOTE" in os.environ)
    assert ("tasks read the" in caplog.text) is by_tasks
    assert ("on executors, with pyarrow" in text) is by_tasks
    theirs = query(df, read="spark")
    assert found.equals(theirs.aggregate(**outputs).toArrow())
    assert len(found) > 20
    assert "pyarrow" not in str(theirs.explain(**outputs))
    df.unpersist()
    for name in ("parquet.fieldId.read.enabled", "files.ignoreMissingFiles", "files.ignoreCorruptFiles"):
        spark.conf.unset(f"spark.sql.{name}")


def test_what_is_known_of_a_dataframe_holds_no_longer_than_it_is_so(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    df = folder(spark, tmp_path)

    def by_tasks() -> bool:
        caplog.clear()
        with caplog.at_level(logging.INFO, "framefold"):
            found = query(df).aggregate(n=ff.Count()).toArrow()
        assert found.equals(query(df, read="spark").aggregate(n=ff.Count()).toArrow())
        return "tasks read the 2 files" in caplog.text

    assert [by_tasks(), by_tasks()] == [True, True]
    df.persist()
    assert not by_tasks()
    df.unpersist()
    assert by_tasks()
    pq.write_table(events(500), tmp_path / "plain" / "9.parquet")
    assert not by_tasks()
    assert "its paths have other files now than it has listed" in caplog.text
    (tmp_path / "plain" / "9.parquet").unlink()
    assert by_tasks()


def test_what_spark_has_to_do_is_not_looked_at(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    df = folder(spark, tmp_path)
    with caplog.at_level(logging.DEBUG, "framefold"):
        ff.events(df, time="t", by="k").window(ff.last_rows(3)).aggregate(n=ff.Count()).collect()
    assert caplog.messages[0] == (
        "Spark reads the DataFrame: the windows are counted in rows, and so need all events in their order"
    )


def test_a_file_that_is_gone_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    df = folder(spark, tmp_path)
    asked = query(df)
    asked.explain(n=ff.Count())  # it has looked at the files
    (tmp_path / "plain" / "1.parquet").unlink()
    with pytest.raises(ff.EngineError, match=r"1\.parquet"):
        asked.aggregate(n=ff.Count()).collect()


def test_read_is_one_of_two_words(spark: SparkSession) -> None:
    with pytest.raises(ff.QueryError, match="read is 'tasks', expected one of 'auto', 'spark'"):
        query(spark.range(3).selectExpr("id as t", "id as k"), read="tasks")
