"""The main job on 20,000 real departures: every row as Spark's own window(), DuckDB and the local engine have it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DUCKDB = """
with placed as (select origin, delay, epoch_us(departure) // 900000000 as last from read_parquet($path)),
     windows as (select origin, delay, unnest(range(last - 23, last + 1)) * 900000000 as start from placed)
select origin, start, count(*) as n, sum(delay)::bigint as total, avg(delay) as mean, min(delay) as least,
       max(delay) as most, stddev_samp(delay) as deviation
from windows group by all order by all
"""


OUTPUTS: dict[str, Any] = {
    "n": ff.Count(), "total": ff.Sum("delay"), "mean": ff.Average("delay"), "least": ff.Min("delay"),
    "most": ff.Max("delay"), "deviation": ff.StdDev("delay"),
}  # fmt: skip


def flat(result: pa.Table) -> pa.Table:
    """A result with its windows' starts in microseconds, sorted; the ends are checked by the way."""
    window = result["window"].combine_chunks()
    start, end = (
        pc.cast(pc.struct_field(window, name), pa.timestamp("us", tz="UTC")).cast(pa.int64())
        for name in ("start", "end")
    )
    assert pc.all(pc.equal(pc.subtract(end, start), 6 * 3600 * 1_000_000)).as_py()
    table = result.drop_columns(["window"]).append_column("start", start)
    return table.sort_by([("origin", "ascending"), ("start", "ascending")])


def assert_same(got: pa.Table, right: pa.Table) -> None:
    """Equal rows, but for the rounding of means and deviations."""
    ours, theirs = (pl.DataFrame(pl.from_arrow(each.select(["origin", "start", *OUTPUTS]))) for each in (got, right))
    for names, near in ((["deviation"], 1e-9), ([name for name in ours.columns if name != "deviation"], 0.0)):
        assert_frame_equal(ours[names], theirs[names], check_dtypes=False, rel_tol=1e-12, abs_tol=near)


@pytest.fixture(scope="session")
def local(flights: Path) -> pa.Table:
    """What the local engine gives, in the order it gives it."""
    events = ff.events(pq.read_table(flights), time="departure", by="origin")
    return events.window(ff.sliding("6 hours", every="15 minutes")).aggregate(**OUTPUTS)


def test_locally_as_duckdb_has_it_and_sorted(local: pa.Table, flights: Path) -> None:
    """The same straight from the file."""
    table, starts = flat(local), pc.struct_field(local["window"].combine_chunks(), "start").cast(pa.int64())
    assert starts.equals(table["start"].combine_chunks())
    assert local["origin"].equals(table["origin"])
    assert_same(table, duckdb.sql(DUCKDB, params={"path": str(flights)}).to_arrow_table())
    events = ff.events(ff.parquet(str(flights)), time="departure", by="origin")
    assert events.window(ff.sliding("6 hours", every="15 minutes")).aggregate(**OUTPUTS).equals(local)


def test_local_is_as_sparks_own(local: pa.Table, spark: SparkSession, flights: Path) -> None:
    from pyspark.sql import functions as F

    frame = spark.read.parquet(str(flights)).groupBy("origin", F.window("departure", "6 hours", "15 minutes"))
    own = frame.agg(
        F.count("*").alias("n"), F.sum("delay").alias("total"), F.avg("delay").alias("mean"),
        F.min("delay").alias("least"), F.max("delay").alias("most"), F.stddev_samp("delay").alias("deviation"),
    ).toArrow()  # fmt: skip
    assert_same(flat(local), flat(own))
