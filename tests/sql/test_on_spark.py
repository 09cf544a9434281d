"""Queries on Spark: what Spark SQL itself gives, of DataFrames and of files; streams as the batch."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.stream_source import Source, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = [
    "SELECT k, window.start, window.end, window, count(*) AS n, sum(x) AS s, sum(x) / count(*) AS m, max(t) AS last "
    "FROM t WHERE s <> 'q' GROUP BY k, window(t, '10 minutes', '5 minutes') HAVING count(*) > 1 "
    "ORDER BY k DESC, start LIMIT 20 OFFSET 1",
    "SELECT k, session_window.start, session_window.end, count(*) AS n, avg(y) AS m, max_by(x, y) AS b FROM t "
    "GROUP BY k, session_window(t, '2 minutes') ORDER BY 1, 2",
    "SELECT n, max(x) OVER (PARTITION BY k ORDER BY t RANGE BETWEEN INTERVAL '4' MINUTE PRECEDING AND CURRENT ROW) "
    "AS m, upper(s) AS u FROM t ORDER BY n NULLS LAST",
    "SELECT n, c FROM (SELECT *, count(*) OVER (PARTITION BY k ORDER BY t ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) "
    "AS c FROM t) WHERE c < 2 ORDER BY n",
    "SELECT upper(s) AS u, window.end, stddev(y) AS d, sum(x) FILTER (WHERE y > 0) AS p, count(DISTINCT x) AS c, "
    "median(x) AS m FROM (SELECT s, x, y + 1 AS y, t FROM t WHERE x > -4) GROUP BY window(t, '1 hour'), upper(s) "
    "ORDER BY d, u",
    "SELECT window.start, count(*) AS n FROM t GROUP BY window(t, '1 day') ORDER BY n",
    "SELECT window.start, count(*) AS n FROM t GROUP BY window(t, '1 week', '2 days', '3 hours') ORDER BY 1",
]


def events(rows: int = 200) -> pa.Table:
    rng = np.random.default_rng(0)
    seconds = rng.permutation(rows * 20)[:rows].astype("timedelta64[s]")

    def some(values: Any) -> pa.Array:
        return pa.array(values, mask=rng.random(rows) < 0.2)

    return pa.table(
        {
            "t": pa.array(np.datetime64("2024-01-01", "us") + seconds).cast(pa.timestamp("us", "UTC")),
            "n": np.arange(rows), "k": some(rng.choice(list("abc"), rows)), "x": some(rng.integers(-5, 6, rows)),
            "y": some(rng.normal(size=rows).round(2)), "s": some(rng.choice(["p", "q", "r"], rows)),
        }
    )  # fmt: skip


def plain(rows: pa.Table) -> list[dict[str, Any]]:
    def rounded(value: Any) -> Any:
        return round(value, 9) if isinstance(value, float) else value

    return [{name: rounded(value) for name, value in row.items()} for row in rows.to_pylist()]


@pytest.mark.slow
def test_spark_sql_gives_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """In a zone in which days are other ones than in UTC, where Spark's windows have them."""
    from ..support.spark_results import conf

    local, path = events(), str(tmp_path / "t.parquet")
    pq.write_table(local, path)
    df = spark.read.parquet(path)
    df.createOrReplaceTempView("t")
    computed = df.repartition(3)
    with conf(spark, {"spark.sql.session.timeZone": "Asia/Kathmandu"}):
        for query in QUERIES:
            expected = plain(spark.sql(query).toArrow())
            assert expected, query
            for data in (df, computed, ff.parquet(path, spark=spark)):
                assert plain(ff.sql(query, t=data).toArrow()) == expected, query
            assert plain(ff.sql(query, t=local)) == expected, query


def test_a_stream_gives_what_the_batch_does(spark: SparkSession, rocksdb: None, tmp_path: Path) -> None:
    query = (
        "SELECT key AS k, window_start, window_end, AVG(IF(x > 0, x * 2, 0)) AS m, COUNT(*) AS n "
        "FROM TABLE(HOP(TABLE trips, DESCRIPTOR(time), INTERVAL '5' MINUTE, INTERVAL '20' MINUTE)) WHERE x > -1 "
        "GROUP BY key, window_start, window_end HAVING COUNT(*) > 3"
    )
    tables = [table(0, 60), table(600, 601, 4)]
    source = Source(spark, tmp_path).add(*tables)
    streamed = ff.sql(query, trips=source.plain.withWatermark("time", "10 minutes"))
    source.start(streamed).awaitTermination()
    found = {tuple(row.values()) for row in plain(source.found())}
    closed = datetime.datetime(1970, 1, 1, 9, tzinfo=datetime.UTC)
    batch = {tuple(row.values()) for row in plain(ff.sql(query, trips=pa.concat_tables(tables)))}
    assert found == {row for row in batch if row[2] < closed} != set()
    with pytest.raises(ff.QueryError, match="has ORDER BY or LIMIT, and a stream has no end"):
        ff.sql(f"{query} ORDER BY n", trips=source.plain.withWatermark("time", "10 minutes"))
