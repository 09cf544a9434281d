"""Times on Spark: weeks from Monday whoever accumulates, days whatever the session's zone, expressions and names."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as f

import framefold as ff

from ..support.spark_results import conf, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


@pytest.mark.slow
def test_files_have_the_days_of_their_column(spark: SparkSession, tmp_path: Path) -> None:
    """Whoever reads, accumulates and combines; a DataFrame of them has instants, whose days are those of UTC."""
    eastern = EVENTS.set_column(0, "t", EVENTS["t"].cast(pa.timestamp("us", "America/New_York")))
    pq.write_table(eastern, tmp_path / "events.parquet")
    outputs = OUTPUTS | {"last": ff.Max("t")}
    ways: list[dict[str, Any]] = [{}, {"read": "spark"}, {"accumulate": "spark"}, {"combine": "executors"}]
    for windows in (ff.tumbling("1 day"), ff.session("7 hours"), ff.last_rows(3)):
        for by in ("k", "t"):
            local = ff.events(eastern, time="t", by=by).window(windows)
            want = sorted(map(str, in_utc(local.aggregate(**outputs))))
            for way in ways:
                if way.get("accumulate") and windows != ff.session("7 hours"):
                    continue
                files = ff.events(ff.parquet(tmp_path / "events.parquet", spark=spark), time="t", by=by).options(**way)
                assert sorted(map(str, in_utc(files.window(windows).aggregate(**outputs).toArrow()))) == want, way
    df = spark.read.parquet(str(tmp_path / "events.parquet"))
    days = ff.events(df, time="t", by="k").window(ff.tumbling("1 day")).aggregate(**OUTPUTS)
    of_utc = ff.events(EVENTS, time="t", by="k").window(ff.tumbling("1 day")).aggregate(**OUTPUTS)
    assert instants(days) == instants(of_utc)


def in_utc(found: pa.Table) -> list[dict[str, Any]]:
    """Rows with all times as numbers of seconds."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items()}
        return value.timestamp() if isinstance(value, dt.datetime) else value

    return [plain(row) for row in found.to_pylist()]


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


def test_a_stream_of_weeks_by_an_expression(spark: SparkSession, tmp_path: Path) -> None:
    """As the batch has them, but for the week that the watermark has not closed."""
    pytest.importorskip("pyspark", minversion="4.1")  # which streams need
    from ..support.sessions import state_in_rocksdb

    folder = tmp_path / "in"
    folder.mkdir()
    seconds = [int(moment.timestamp()) for moment in EVENTS["t"].to_pylist()]
    pq.write_table(pa.table({"seconds": seconds, "k": EVENTS["k"], "x": EVENTS["x"]}), folder / "events.parquet")
    with state_in_rocksdb(spark):
        stream = spark.readStream.schema("seconds long, k long, x double").parquet(str(folder))
        events = ff.events(stream, time=f.timestamp_seconds("seconds"), by="`k`").stream(watermark="1 hour")
        writer = events.window(ff.tumbling("1 week")).aggregate(**OUTPUTS).writeStream.format("parquet")
        writer = writer.option("path", str(tmp_path / "out")).option("checkpointLocation", str(tmp_path / "book"))
        writer.trigger(availableNow=True).start().awaitTermination()
    batch = ff.events(EVENTS, time="t", by="k").window(ff.tumbling("1 week")).aggregate(**OUTPUTS)
    last = max(seconds) - 3600
    want = [row for row in instants(batch) if row[2] <= last]
    assert {dt.datetime.fromtimestamp(start, dt.UTC).weekday() for _, start, *_ in want} == {0}
    assert instants(spark.read.parquet(str(tmp_path / "out"))) == want
