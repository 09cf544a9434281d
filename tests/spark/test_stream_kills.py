"""Streams whose driver and workers are killed, at random and at chosen points: each window once, none wrong."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("google.protobuf")

from .killing import Killed, events, expected, once
from .postgres import server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = 40.0
"""As long as each sink is killed; more with `FRAMEFOLD_KILLS_SECONDS`."""


def same(found: pa.Table, killed: Killed) -> None:
    """Each window of the batch once, and no other."""
    batch = expected(killed.batches)
    print(f"{killed.kills.total()} kills, {len(batch)} windows: {dict(sorted(killed.kills.items()))}")
    assert once(found) == once(batch)


@pytest.mark.slow
def test_kills_with_parquet(spark: SparkSession, tmp_path: Path) -> None:
    killed = Killed("parquet", tmp_path, wanted=100)
    killed.until_killed(SECONDS)
    same(spark.read.parquet(str(tmp_path / "out")).toArrow(), killed)


@pytest.mark.slow
def test_kills_of_the_value_now(tmp_path: Path) -> None:
    """A micro-batch gives the keys of its events and no other, each with all events up to it, whoever was killed."""
    killed = Killed("latest", tmp_path, wanted=60)
    killed.until_killed(SECONDS)
    print(f"{killed.kills.total()} kills, {killed.batches} micro-batches: {dict(sorted(killed.kills.items()))}")
    values = defaultdict[str, list[float]](list)
    for number in range(killed.batches):
        rows = events(number).to_pylist()
        for row in rows:
            values[row["key"]].append(row["x"])
        found = pq.read_table(tmp_path / "out" / f"{number}.parquet").to_pylist()
        assert {row["key"]: row["n"] for row in found} == {row["key"]: len(values[row["key"]]) for row in rows}
        assert len(found) == len({row["key"] for row in rows})
        for row in found:
            assert row["s"] == pytest.approx(math.fsum(values[row["key"]]), rel=1e-12, abs=1e-12)


@pytest.mark.slow
def test_kills_of_executors(spark: SparkSession, tmp_path: Path) -> None:
    """Two executors, each a JVM with its own Python workers; Spark starts others in their place."""
    killed = Killed("parquet", tmp_path, {"KILL_MASTER": "local-cluster[2,1,1024]"}, wanted=10)
    killed.until_killed(SECONDS)
    same(spark.read.parquet(str(tmp_path / "out")).toArrow(), killed)
    assert set(killed.kills) == {"executor: any time"}


@pytest.mark.slow
def test_kills_with_postgresql(tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    with server() as environment:
        place = " ".join(
            f"{name}={environment[variable]}"
            for name, variable in [("host", "PGHOST"), ("user", "PGUSER"), ("dbname", "PGDATABASE")]
        )
        with psycopg.connect(place) as connection:
            connection.execute(
                "CREATE TABLE windows (key text, began timestamptz, ended timestamptz, n bigint, s float8, "
                "UNIQUE NULLS NOT DISTINCT (key, began, ended))"
            )
        killed = Killed("postgresql", tmp_path, environment, wanted=50)
        killed.until_killed(SECONDS)
        with psycopg.connect(place) as connection:
            stored = connection.execute("SELECT * FROM windows").fetchall()
    stamp = pa.timestamp("us", tz="UTC")
    columns = list(zip(*stored, strict=True))
    window = pa.StructArray.from_arrays(
        [pa.array(columns[1], stamp), pa.array(columns[2], stamp)], names=["start", "end"]
    )
    same(pa.table({"key": columns[0], "window": window, "n": columns[3], "s": columns[4]}), killed)
