"""Streams whose driver and workers are killed, at random and at chosen points: each window once, none wrong."""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import framefold as ff

pytest.importorskip("google.protobuf")

from ..support.stream_source import every_row
from .killing import Killed, events, expected
from .postgres import server

SECONDS = 40.0
"""As long as each sink is killed; more with `FRAMEFOLD_KILLS_SECONDS`."""


def same(found: pa.Table, killed: Killed) -> None:
    """Each window of the batch once, and no other."""
    assert every_row(found) == every_row(expected(killed.batches))


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


class Reader(threading.Thread):
    """Reads a table all the time: what it has must be whole micro-batches, and never less than before."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path, self.read, self.over = path, 0, False
        self.wrong: list[Any] = []

    def run(self) -> None:
        last = 0
        while not self.over:
            try:
                found = sum(of_table(self.path).window(ff.tumbling("1 day")).aggregate("n")["n"].to_pylist())
                if found % 300 or found < last:
                    self.wrong.append((last, found))
                last, self.read = found, self.read + 1
            except ff.EngineError as error:
                if "are empty; expected .append" not in str(error):
                    self.wrong.append(error)
            time.sleep(0.05)


def of_table(path: Path) -> ff.StoredPartials:
    return ff.partials(path, time="time", by="key", frame="5 minutes", n=ff.Count(), s=ff.Sum("x"))


@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_kills_of_what_is_added_to_a_table(format: str, tmp_path: Path) -> None:
    """Each micro-batch is a run, once; nothing is lost, doubled or half there, whoever reads meanwhile."""
    if format == "delta":
        pytest.importorskip("deltalake")
    killed, reader = Killed(f"{format} at rest", tmp_path, wanted=15), Reader(tmp_path / "lake")
    reader.start()
    killed.until_killed(2 * SECONDS)
    reader.over = True
    reader.join()
    assert not reader.wrong
    assert reader.read
    stored, together = of_table(tmp_path / "lake"), pa.concat_tables(map(events, range(killed.batches)))
    runs = stored.runs()
    assert runs["events"].to_pylist() == [300] * killed.batches
    assert [int(name.split()[1]) for name in runs["run"].to_pylist()] == [*range(killed.batches)]
    right = duckdb.sql(
        "select key, epoch_us(time) // 300000000 as frame, count(*), fsum(x) from together group by all order by all"
    ).fetchall()
    found = stored.window(ff.tumbling("5 minutes")).aggregate()
    frames = pc.divide(pc.struct_field(found["window"], "start").cast("int64"), 300_000_000).to_pylist()
    rows = zip(found["key"].to_pylist(), frames, found["n"].to_pylist(), found["s"].to_pylist(), strict=True)
    for got, want in zip(sorted(rows), right, strict=True):
        assert got[:3] == want[:3]
        assert got[3] == pytest.approx(want[3], rel=1e-12, abs=1e-12)
    assert len(together) == 300 * killed.batches


@pytest.mark.slow
def test_kills_of_states_that_go_on_in_another_query(spark: SparkSession, tmp_path: Path) -> None:
    """Again and again with other shards, into one sink: a stored state, or a new checkpoint, is whole or not there."""
    killed = Killed("moved", tmp_path, wanted=30)
    killed.until_killed(2 * SECONDS)
    moves = len([*tmp_path.glob("checkpoint-*")]) - 1
    print(f"{moves} moves")
    assert moves > 1
    same(spark.read.parquet(str(tmp_path / "out")).toArrow(), killed)


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
