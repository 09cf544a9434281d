"""Files of other writers come the same on every way: times of 96 bits, with a zone and without one, and far ones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.inner import place_of
from ..support.limits import limits
from ..support.sources import FileSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore::framefold.FarTimesWarning")
UTC = dt.UTC
FIRST, LAST = dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
NOON = dt.datetime(2024, 5, 1, 12, 0, 0, 123_456, tzinfo=UTC)
TIMES = [FIRST, NOON, NOON + dt.timedelta(seconds=5), dt.datetime(1900, 1, 1, 0, 0, 0, 7, tzinfo=UTC), LAST]
ENDS = [LAST, None, FIRST, LAST, FIRST]
MOMENTS = pa.timestamp("us", "UTC")
EVENTS = pa.table({"t": pa.array(TIMES, MOMENTS), "end": pa.array(ENDS, MOMENTS), "x": [1, 2, 3, 4, 5]})
NAIVE = EVENTS.cast(pa.schema([("t", pa.timestamp("us")), ("end", pa.timestamp("us")), ("x", pa.int64())]))
HOUR = 3_600_000_000


def micros(time: dt.datetime | None) -> int | None:
    return None if time is None else (time - dt.datetime(1970, 1, 1, tzinfo=UTC)) // dt.timedelta(microseconds=1)


def wanted() -> list[tuple[Any, ...]]:
    """Key, start of the window, rows, sum, last end and last time of hours, from the lists above."""
    groups: dict[tuple[int | None, int], list[tuple[int, int | None, int]]] = {}
    for x, (time, end) in enumerate(zip(map(micros, TIMES), map(micros, ENDS), strict=True), 1):
        assert time is not None
        groups.setdefault((end, time // HOUR * HOUR), []).append((time, end, x))
    rows = [
        (key, start, len(got), sum(x for *_, x in got), max(got)[1], max(got)[0])
        for (key, start), got in groups.items()
    ]
    return sorted(rows, key=lambda row: (row[0] is not None, row[0] or 0, row[1]))


def found(events: Any, zone: str | None, **options: Any) -> list[tuple[Any, ...]]:
    """The same by framefold: the far times are the time, a key and values."""
    query = ff.events(events, time="t", by="end").window(ff.tumbling("1 hour")).options(**options)
    result = query.aggregate(n=ff.Count(), s=ff.Sum("x"), least=ff.Min("end"), last=ff.Max("t"))
    table = result if isinstance(result, pa.Table) else result.toArrow()
    kinds = {table["window"].type.field("start").type, *(table[name].type for name in ("end", "least", "last"))}
    assert {kind.tz is None for kind in kinds} == {zone is None}
    start = table["window"].combine_chunks().field("start")
    columns = [table["end"], start, table["n"], table["s"], table["least"], table["last"]]
    return list(zip(*(each.cast(pa.int64()).to_pylist() for each in columns), strict=True))


def by_duckdb(path: Path, events: pa.Table) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("events", events)
        connection.execute(f"COPY (SELECT * FROM events) TO '{path}' (FORMAT parquet)")


VERSION = int(pa.__version__.split(".")[0])
"""pyarrow up to 22 writes times of 96 bits before 1970 with negative nanoseconds, which Arrow takes for large ones."""

WRITERS: dict[str, tuple[Callable[[Path], Any], str | None]] = {
    "pyarrow": (lambda path: pq.write_table(EVENTS, path), "UTC"),
    "pyarrow, without a zone": (lambda path: pq.write_table(NAIVE, path), None),
    "pyarrow, 96 bits": (lambda path: pq.write_table(EVENTS, path, use_deprecated_int96_timestamps=True), "UTC"),
    "pyarrow, 96 bits without a zone": (
        lambda path: pq.write_table(NAIVE, path, use_deprecated_int96_timestamps=True), "UTC",
    ),
    "duckdb": (lambda path: by_duckdb(path, EVENTS), "UTC"),
    "duckdb, without a zone": (lambda path: by_duckdb(path, NAIVE), None),
    "polars": (lambda path: pl.from_arrow(EVENTS).write_parquet(path), "UTC"),  # type: ignore[union-attr]
    "polars, without a zone": (lambda path: pl.from_arrow(NAIVE).write_parquet(path), None),  # type: ignore[union-attr]
}  # fmt: skip


def each_local_way(path: Path, zone: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    scanned = FileSource(ff.parquet(path))
    monkeypatch.setattr(scanned, "readers", lambda *given: None)
    with limits(min_decoded_rows=0):
        assert found(ff.parquet(path), zone) == wanted(), "threads, Polars decodes"
    monkeypatch.setattr(*place_of("Polars"), lambda: None)
    assert found(ff.parquet(path), zone) == wanted(), "threads, pyarrow decodes"
    assert found(scanned, zone) == wanted(), "scanned by one thread"
    assert found(ds.dataset(path), zone) == wanted(), "a data set of a user's"


def by_each_writer(*others: str) -> list[Any]:
    bad = pytest.mark.skipif(
        VERSION < 24, reason=f"pyarrow {VERSION} writes times of 96 bits before 1970 in its own way"
    )
    return [pytest.param(name, marks=bad if "96 bits" in name else ()) for name in (*others, *WRITERS)]


@pytest.mark.parametrize("writer", by_each_writer())
def test_locally(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, zone = WRITERS[writer]
    write(tmp_path / "events.parquet")
    each_local_way(tmp_path / "events.parquet", zone, monkeypatch)


@pytest.mark.spark
@pytest.mark.parametrize("writer", by_each_writer("spark", "spark, 64 bits"))
def test_on_spark(writer: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """By tasks, and as a DataFrame; of Spark's own files locally, too."""
    from ..support.spark_results import conf

    if writer in WRITERS:
        write, zone = WRITERS[writer]
        write(tmp_path / "events.parquet")
    else:
        zone = "UTC"
        kind = "TIMESTAMP_MICROS" if "64" in writer else "INT96"
        texts = [tuple(None if each is None else str(each) for each in pair) for pair in zip(TIMES, ENDS, strict=True)]
        df = spark.createDataFrame([(*pair, x) for x, pair in enumerate(texts, 1)], "t string, end string, x bigint")
        df = df.selectExpr("cast(t as timestamp) t", "cast(end as timestamp) end", "x")
        with conf(spark, {"spark.sql.parquet.outputTimestampType": kind}):
            df.coalesce(1).write.parquet(str(tmp_path / "spark"))
        (path,) = (tmp_path / "spark").glob("*.parquet")
        path.rename(tmp_path / "events.parquet")
        each_local_way(tmp_path / "events.parquet", zone, monkeypatch)
    files = ff.parquet(tmp_path / "events.parquet", spark=spark)
    assert "not through the JVM" in str(
        ff.events(files, time="t", by="end").window(ff.tumbling("1 hour")).explain(n=ff.Count(), last=ff.Max("t"))
    )
    assert found(files, zone) == wanted()
    assert found(spark.read.parquet(str(tmp_path / "events.parquet")), zone, read="spark") == wanted()


def test_times_of_96_bits_in_lists_structs_and_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = EVENTS["end"].cast(pa.timestamp("us")).combine_chunks()
    x = EVENTS["x"].combine_chunks()
    columns = {
        "t": x,
        "s": pa.StructArray.from_arrays([x, end, pa.array([[each] for each in end])], ["a", "end", "l"]),
        "m": pa.array([[(each, 1)] for each in TIMES], pa.map_(pa.timestamp("us"), pa.int64())),
    }
    pq.write_table(pa.table(columns), tmp_path / "nested.parquet", use_deprecated_int96_timestamps=True)
    scanned = FileSource(ff.parquet(tmp_path / "nested.parquet"))
    monkeypatch.setattr(scanned, "readers", lambda *given: None)
    for source in (ff.parquet(tmp_path / "nested.parquet"), scanned, ds.dataset(tmp_path / "nested.parquet")):
        query = ff.events(source, time="t").window(ff.tumbling(100))
        (row,) = query.aggregate(f=ff.CollectList("s.end"), l=ff.Last("s"), m=ff.Last("m")).to_pylist()
        assert row["f"] == [each for each in ENDS if each is not None]
        assert row["l"] == {"a": 5, "end": FIRST, "l": [FIRST]}
        assert row["m"] == [(LAST, 1)]


def test_a_condition_on_times_of_96_bits(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(EVENTS, path, use_deprecated_int96_timestamps=True, row_group_size=2)
    for source in (ff.parquet(path), ds.dataset(path)):
        some = ff.events(source, time="x").where(ds.field("end") > NOON)
        assert some.window(ff.tumbling(10)).aggregate(s=ff.Sum("x"))["s"].to_pylist() == [5]


@pytest.mark.skipif(VERSION < 20, reason="pyarrow 18 wraps far times of ORC and says nothing")
def test_far_times_of_orc_are_refused_by_name(tmp_path: Path) -> None:
    """pyarrow has nanoseconds for them; Spark reads them, see test_orc_times_are_left_to_spark."""
    orc.write_table(NAIVE, tmp_path / "events.orc")
    query = ff.events(ff.files(tmp_path / "events.orc", format="orc"), time="x").window(ff.tumbling(10))
    assert query.aggregate(n=ff.Count())["n"].to_pylist() == [5]
    sentence = r"the column 'end' \(timestamp\[ns\]\): .* out of range .* from 1677 to 2262"
    with pytest.raises(ff.EngineError, match=sentence):
        query.aggregate(last=ff.Last("end"))
