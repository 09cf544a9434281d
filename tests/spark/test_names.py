"""Names that differ in case only: one name to Spark, unless the session says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

import framefold as ff

from ..support.spark_results import conf

TABLE = pa.table({"t": [1, 2, 12], "origin": ["a", "b", "a"], "x": [2.0, 3.0, 4.0]})
BOTH = pa.table({"t": [1], "x": [2.0], "X": [5.0]})
SENSITIVE = "spark.sql.caseSensitive"

TENS = ff.tumbling(10)
REFUSED: dict[str, tuple[str, list[str], str, Any]] = {
    "the key 'origin' and the output 'Origin'": ("", ["origin"], "Origin", TENS),
    "the output 'n' and the output 'N'": ("", [], "N", TENS),
    "the key 'origin' and the key 'Origin'": ("", ["origin", "Origin"], "m", TENS),
    "the column 'window' and the output 'Window'": ("", [], "Window", TENS),
    "the column 'at' and the output 'AT'": ("", [], "AT", ff.landmark()),
    "the key 'Window' and the column 'window'": ("Window", ["Window"], "m", TENS),
    "the key 'At' and the column 'at'": ("At", ["At"], "m", ff.last_rows(2)),
}


def said(start: str) -> str:
    """A pattern of the whole sentence."""
    rest = f"differ in case only, which is one name to this session; expected another name, or {SENSITIVE}=true"
    return f"^{start} {rest}$"


def of(data: Any, windows: Any, by: list[str], **options: str) -> Any:
    return ff.events(data, time="t", by=by).window(windows).options(**options)


@pytest.mark.parametrize("case", list(REFUSED))
def test_a_result_with_one_name_twice_is_refused_before_a_job(spark: SparkSession, tmp_path: Path, case: str) -> None:
    column, by, output, windows = REFUSED[case]
    outputs = {"n": ff.Last("x"), output: ff.Count()}
    table = TABLE.rename_columns(["t", column or "origin", "x"])
    parquet.write_table(table, tmp_path / "t.parquet")
    fails = spark.createDataFrame(table).selectExpr("t", column or "origin", "raise_error('it ran') :: double as x")
    for data in (fails, ff.parquet(tmp_path / "t.parquet", spark=spark)):
        queries = [of(data, windows, by, combine=combine) for combine in ("auto", "driver", "executors")]
        for ask in (*(query.aggregate for query in queries), queries[0].explain):
            with pytest.raises(ff.QueryError, match=said(case)):
                ask(**outputs)


@pytest.fixture
def sensitive(spark: SparkSession) -> Iterator[None]:
    """A session that tells names apart by case."""
    with conf(spark, {SENSITIVE: "true"}):
        yield


@pytest.mark.usefixtures("sensitive")
def test_a_case_sensitive_session_has_them_all(spark: SparkSession, tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "t.parquet")
    outputs = {"Origin": ff.Count(), "N": ff.Sum("x"), "n": ff.Count(), "Window": ff.Max("x")}
    local = of(TABLE, ff.tumbling(10), ["origin"]).aggregate(**outputs)
    for data in (spark.createDataFrame(TABLE), ff.parquet(tmp_path / "t.parquet", spark=spark)):
        asked = of(data, ff.tumbling(10), ["origin"])
        assert asked.aggregate(**outputs).toArrow().to_pylist() == local.to_pylist()
        assert "Origin = Count()" in str(asked.explain(**outputs))
    rows = of(spark.createDataFrame(BOTH), ff.tumbling(10), []).aggregate(x=ff.Sum("x"), y=ff.Sum("X")).collect()
    assert [(row["x"], row["y"]) for row in rows] == [(2.0, 5.0)]


def test_the_local_engine_tells_names_apart() -> None:
    table = of(TABLE, ff.tumbling(10), ["origin"]).aggregate(Origin=ff.Count(), WINDOW=ff.Sum("x"))
    assert table.schema.names == ["origin", "window", "Origin", "WINDOW"]


@pytest.mark.parametrize("data", [TABLE, "spark"], ids=["local", "spark"])
def test_a_key_is_not_called_at_where_results_have_that(spark: SparkSession, data: Any) -> None:
    table = TABLE.rename_columns(["t", "at", "x"])
    events = spark.createDataFrame(table) if data == "spark" else table
    with pytest.raises(ff.QueryError, match="by= names 'at', the name of a column of the result; expected another"):
        of(events, ff.landmark(), ["at"]).aggregate(n=ff.Count())
    assert len(of(table, ff.tumbling(10), ["at"]).aggregate(n=ff.Count())) == 3


def spelt_otherwise(df: DataFrame, **options: str) -> list[tuple[Any, ...]]:
    """A query whose every column is spelt in another way than those of the data."""
    asked = ff.events(df, time="T", by=["ORIGIN"], null_time="drop").window(ff.tumbling(10)).options(**options)
    result = asked.aggregate(n=ff.Sum("X"), m=ff.Max("x"))
    assert result.columns == ["ORIGIN", "window", "n", "m"]
    return [(row["ORIGIN"], row["window"]["start"], row["n"], row["m"]) for row in result.collect()]


def test_columns_may_be_spelt_otherwise(spark: SparkSession, tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "t.parquet")
    csv.write_csv(TABLE, tmp_path / "t.csv")
    expected = [("a", 0, 2.0, 2.0), ("a", 10, 4.0, 4.0), ("b", 0, 3.0, 3.0)]
    files = [ff.parquet(tmp_path / "t.parquet", spark=spark), ff.files(tmp_path / "t.csv", format="csv", spark=spark)]
    for data in (spark.createDataFrame(TABLE), *files):
        for options in ({}, {"accumulate": "python"}, {"combine": "executors"}):
            assert spelt_otherwise(data, **options) == expected


def test_a_column_that_is_there_twice_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with conf(spark, {SENSITIVE: "true"}):
        df = spark.createDataFrame(BOTH)
    asked = of(df, ff.tumbling(10), [])
    for ask in (asked.aggregate, asked.explain, asked.options(accumulate="python").aggregate):
        with pytest.raises(ff.ColumnError) as error:
            ask(n=ff.Sum("x"))
        assert str(error.value) == (
            "column 'x' is ambiguous: 2 columns of the DataFrame go by that name, 'x' and 'X'; expected other names, "
            f"or {SENSITIVE}=true"
        )
    assert asked.aggregate(n=ff.Sum("t")).collect()[0]["n"] == 1
    parquet.write_table(BOTH, tmp_path / "t.parquet")
    with pytest.raises(ff.QueryError, match=said("the column 'x' and the column 'X'")):
        of(ff.parquet(tmp_path / "t.parquet", spark=spark), ff.tumbling(10), []).aggregate(n=ff.Sum("x"))


def test_inputs_whose_columns_are_one_name_are_refused(spark: SparkSession) -> None:
    """The columns of both would be put into one."""
    df = spark.createDataFrame(TABLE)
    with pytest.raises(ff.QueryError, match=said("the column 'a.t' and the column 'A.t'")):
        ff.together(a=ff.events(df, "t"), A=ff.events(df, "t"))
    both = ff.together(a=ff.events(df, "t"), b=ff.events(df, "t")).window(ff.tumbling(10))
    assert both.aggregate(n=ff.Sum("a.x"), m=ff.Sum("b.X")).collect()[0][1:] == (5.0, 5.0)
