"""Times on Spark: days of files and DataFrames, expressions and names."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import framefold as ff

from ..support.spark_results import conf, rows

pytestmark = pytest.mark.filterwarnings("ignore::framefold.CalendarWarning")
ZONE = "spark.sql.session.timeZone"
START = dt.datetime(2026, 2, 27, 3, tzinfo=dt.UTC)
EVENTS = pa.table(
    {
        "t": pa.array([START + dt.timedelta(hours=7 * n) for n in range(60)], pa.timestamp("us", "UTC")),
        "k": [n % 2 for n in range(60)],
        "x": [float(n) for n in range(60)],
    }
)
OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x")}


def instants(found: Any) -> list[tuple[Any, ...]]:
    """The rows of a result, with bounds as instants."""
    return sorted(
        (row["k"], row["window"]["start"].timestamp(), row["window"]["end"].timestamp(), row["n"], row["s"])
        for row in rows(found)
    )


def test_a_dataframe_of_files_has_the_days_of_utc(spark: SparkSession, tmp_path: Path) -> None:
    """It has instants, whatever the zone of the column; files have the days of that (``test_cells``)."""
    eastern = EVENTS.set_column(0, "t", EVENTS["t"].cast(pa.timestamp("us", "America/New_York")))
    pq.write_table(eastern, tmp_path / "events.parquet")
    found, expected = (
        ff.events(data, time="t", by="k").window(ff.tumbling("1 day")).aggregate(**OUTPUTS)
        for data in (spark.read.parquet(str(tmp_path / "events.parquet")), EVENTS)
    )
    assert instants(found) == instants(expected)


def test_times_by_expressions(spark: SparkSession) -> None:
    text = [str(moment)[:19] for moment in EVENTS["t"].to_pylist()]
    seconds = [int(moment.timestamp()) for moment in EVENTS["t"].to_pylist()]
    data = pa.table({"text": text, "seconds": seconds, "k": EVENTS["k"], "x": EVENTS["x"]})
    df = spark.createDataFrame(data)
    with conf(spark, {ZONE: "UTC"}):
        want = instants(ff.events(EVENTS, time="t", by="k").window(ff.tumbling("6 hours")).aggregate(**OUTPUTS))
        for time in (f.to_timestamp("text"), f.timestamp_seconds("seconds"), f.col("text").cast("timestamp")):
            query = ff.events(df, time=time, by="`k`").window(ff.tumbling("6 hours"))
            assert instants(query.aggregate(n=ff.Count(), s=ff.Sum("`x`"))) == want
        for column, how in (("text", "F.to_timestamp('text')"), ("seconds", "F.timestamp_seconds('seconds')")):
            with pytest.raises(ff.QueryError) as caught:
                ff.events(df, time=column).window(ff.tumbling("1 day")).aggregate(n=ff.Count())
            assert f"time={how} on Spark" in str(caught.value)
    with pytest.raises(ff.QueryError, match="does not fit the DataFrame"):
        ff.events(df, time=f.to_timestamp("nope"))


def test_what_is_wrong_is_said_where_it_is_written(spark: SparkSession) -> None:
    df = spark.createDataFrame(EVENTS).withColumn("a.b", f.lit(1))
    with pytest.raises(ff.ColumnError, match="by= names the unknown column 'nope'"):
        ff.events(df, time="t", by="nope")
    told = str(ff.events(df, time="t", by="`a.b`").window(ff.tumbling("1 day")).explain())
    assert told.startswith("framefold on Spark")
    assert "key a.b" in told
    assert "accumulate" not in told
    keyed = ff.events(df, time="`t`", by="`a.b`").window(ff.tumbling("100 days")).aggregate(m=ff.Max("`a.b`"))
    assert [(row["a.b"], row["m"]) for row in keyed.toArrow().to_pylist()] == [(1, 1)] * keyed.count()
