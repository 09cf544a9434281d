"""Parquet files with types for which Spark reads nothing: tasks read them, as the local engine does."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as t

import framefold as ff

from ..support.spark_parts import foreign, kinds
from ..support.spark_results import conf, rows

ROWS = 12
SECONDS = [i * 1_000_000_000 for i in range(ROWS)]
OTHERS: dict[str, pa.Array] = {
    "a time of day": pa.array(SECONDS, pa.time64("ns")),
    "a short time of day": pa.array(range(ROWS), pa.time32("ms")),
    "half floats": pa.array(np.arange(ROWS, dtype=np.float16)),
    "a UUID": pa.array([uuid.UUID(int=i).bytes for i in range(ROWS)], pa.uuid()) if hasattr(pa, "uuid") else None,
    "digits": pa.array(range(ROWS)).cast(pa.decimal256(50, 2)),
    "instants in a list": pa.array([[each] for each in SECONDS], pa.list_(pa.timestamp("ns", "UTC"))),
}


def written(folder: Path, times: pa.Array, **more: pa.Array) -> Path:
    x = [float(i * 7 % 5) for i in range(ROWS)]
    table = pa.table({"t": times, "k": ["a", "b", "b"] * (ROWS // 3), "x": x, **more})
    pq.write_table(table, folder / "events.parquet", version="2.6")
    return folder / "events.parquet"


def query(data: Any, windows: Any, **options: Any) -> Any:
    return ff.events(data, time="t", by="k").options(**options).window(windows)


def found(result: Any) -> list[Any]:
    return sorted([row["k"], row["window"]["start"].replace(tzinfo=None), row["v"]] for row in rows(result))


@pytest.mark.parametrize("zone", ["UTC", None])
def test_times_in_nanoseconds(spark: SparkSession, tmp_path: Path, zone: str | None) -> None:
    path = written(
        tmp_path, pa.array(SECONDS, pa.timestamp("ns", zone)), u=pa.array(SECONDS, pa.timestamp("ns", "UTC"))
    )
    ten, of_spark = ff.tumbling("5 seconds"), ff.parquet(path, spark=spark)
    events = pq.read_table(path)
    events = events.set_column(events.column_names.index("t"), "t", events["t"].cast(pa.timestamp("us")))
    expected = duckdb.sql(
        "SELECT k, time_bucket(INTERVAL '5 seconds', t) AS w, sum(x) FROM events GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    for options in ({}, {"read": "spark"}, {"accumulate": "spark"}, {"combine": "executors"}):
        assert found(query(of_spark, ten, **options).aggregate(v=ff.Sum("x"))) == list(map(list, expected))
    for windows, output in ((ten, ff.Last("x")), (ff.last_rows(3), ff.Sum("x"))):
        local = query(ff.parquet(path), windows).aggregate(v=output)
        assert found(query(of_spark, windows).aggregate(v=output)) == found(local)
    greatest = query(of_spark, ten).aggregate(v=ff.Max("u")).toArrow()["v"].cast(pa.timestamp("us", "UTC"))
    local = query(ff.parquet(path), ten).aggregate(v=ff.Max("u"))["v"].cast(pa.timestamp("us", "UTC"))
    assert greatest.to_pylist() == local.to_pylist()


def test_digits_below_a_microsecond_are_named(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path, pa.array([each + 7 for each in SECONDS], pa.timestamp("ns", "UTC")))
    sentence = r"the column 't' of '.*' \(timestamp\[ns, tz=UTC\]\) has digits below a microsecond; expected whole"
    for windows, output in ((ff.tumbling("1 minute"), ff.Sum("x")), (ff.last_rows(2), ff.Last("x"))):
        with pytest.raises(ff.ColumnError, match=sentence):
            query(ff.parquet(path, spark=spark), windows).options(combine="driver").aggregate(v=output).collect()


def test_a_column_of_a_type_that_spark_refuses_blocks_no_other(spark: SparkSession, tmp_path: Path) -> None:
    """Last reads the files as a DataFrame, which Spark by itself would not make."""
    others = {name: values for name, values in OTHERS.items() if values is not None}
    path = written(tmp_path, pa.array(SECONDS, pa.timestamp("ns", "UTC")).cast(pa.timestamp("us", "UTC")), **others)
    plain = (tmp_path / "plain").mkdir() or written(tmp_path / "plain", pa.array(SECONDS, pa.timestamp("ns", "UTC")))
    both = ff.parquet(path, plain, spark=spark)  # of two kinds, so that their types are looked for
    for source, local in ((ff.parquet(path, spark=spark), ff.parquet(path)), (both, ff.parquet(path, plain))):
        for output in (ff.Last("x"), ff.Sum("x")):
            windows = ff.tumbling("5 seconds")
            expected = found(query(local, windows).aggregate(v=output))
            assert found(query(source, windows).aggregate(v=output)) == expected
    for name in ("a time of day", "a UUID"):
        if OTHERS[name] is not None:
            with pytest.raises(
                ff.ColumnError, match=f"the column '{name}' is .*, for which Spark has no type; expected"
            ):
                query(ff.parquet(path, spark=spark), ff.tumbling("1 minute")).aggregate(v=ff.Max(name))


def test_where_a_setting_leaves_them_to_spark_it_is_said(spark: SparkSession, tmp_path: Path) -> None:
    path = written(tmp_path, pa.array(SECONDS, pa.timestamp("ns", "UTC")))
    sentence = "the column 't' is Timestamp in nanoseconds in '.*', for which Spark reads none of the files, and tasks"
    with conf(spark, {"spark.sql.parquet.mergeSchema": "true"}), pytest.raises(ff.QueryError, match=sentence):
        query(ff.parquet(path, spark=spark), ff.tumbling("1 minute")).aggregate(v=ff.Sum("x"))


OWN: dict[str, tuple[Any, str | None]] = {
    "udt": ({"type": "udt", "pyClass": "os.nothing", "serializedClass": "gASV", "sqlType": "long"}, "os.nothing"),
    "vector": ({"type": "udt", "pyClass": "pyspark.ml.linalg.VectorUDT", "sqlType": "long"}, None),
    "list": (
        {"type": "array", "elementType": {"type": "udt", "pyClass": "os.abort"}, "containsNull": True},
        "os.abort",
    ),
}
"""Types in a footer that name a class, and the name where it is none of Spark's."""


@pytest.mark.parametrize("name", OWN)
def test_a_file_brings_no_code(name: str) -> None:
    """PySpark 4.0 takes the class of a type from the file, as a pickle, wherever a footer is parsed."""
    type, said = OWN[name]
    columns = [{"name": "t", "type": "long"}, {"name": "x", "type": type}]
    footer = footer_of({"type": "struct", "fields": [{**each, "nullable": True, "metadata": {}} for each in columns]})
    assert kinds(footer) == {"t": t.LongType(), "x": None}
    assert foreign(footer) == said


@pytest.mark.parametrize(
    "own", [7, [], {}, {"fields": 3}, {"fields": [{"name": "t"}]}, {"fields": [{"name": [], "type": 3}]}]
)
def test_what_a_footer_says_of_types_may_be_nonsense(own: Any) -> None:
    assert kinds(footer_of(own)) == {"t": t.LongType(), "x": t.LongType()}
    assert foreign(footer_of(own)) is None


def footer_of(own: Any) -> pq.FileMetaData:
    table = pa.table({"t": [1], "x": [2]})
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": json.dumps(own)}), sink)
    return pq.read_metadata(pa.BufferReader(sink.getvalue()))
