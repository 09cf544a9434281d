"""Streams whose state is damaged, whose disk is full, whose sink fails: one error, and once mended nothing is lost."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import framefold as ff

from ..support.sessions import CHANGELOG
from ..support.stream_source import Source, every_row
from .killing import events, expected

pytestmark = pytest.mark.usefixtures("rocksdb")


class Stream(Source):
    """A query on a folder of files, a file a micro-batch, run to the end of its input."""

    def until(self, batches: int, sink: Callable[[DataFrame, int], None] | None = None) -> None:
        self.add(*map(events, range(self.count, batches)))
        result = self.query().aggregate(n=ff.Count(), s=ff.Sum("x"))
        self.run_into(sink, result, "checkpoint") if sink else self.go_on(result, "checkpoint")

    def check(self, batches: int) -> None:
        assert every_row(self.found()) == every_row(expected(batches))


def newest(folder: Path, form: str) -> Path:
    """The file with the greatest number."""
    return max(folder.glob(form), key=lambda path: int(path.name.split(".")[0]))


def take_back(checkpoint: Path, sink: Path) -> None:
    """The last micro-batch that was committed is to be run again, and the sink is not to say that it has it."""
    last = newest(checkpoint / "commits", "[0-9]*")
    gone = [last, sink / "_spark_metadata" / last.name]
    gone += [path for path in (checkpoint / "offsets").glob("[0-9]*") if int(path.name) > int(last.name)]
    for path in gone:
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changelog", "damage", "mended"),
    [
        ("true", "deleted", "from a copy"),
        ("true", "torn", "by taking back a micro-batch"),
        ("false", "torn", "by taking back a micro-batch"),
    ],
)
def test_a_damaged_file_of_state(spark: SparkSession, tmp_path: Path, changelog: str, damage: str, mended: str) -> None:
    spark.conf.set(CHANGELOG, changelog)
    stream = Stream(spark, tmp_path)
    stream.until(4)
    damaged = newest(tmp_path / "checkpoint/state/0/0", "*.changelog" if changelog == "true" else "*.zip")
    kept = damaged.read_bytes()
    if damage == "deleted":
        damaged.unlink()
    else:
        damaged.write_bytes(kept[: len(kept) // 2])
    with pytest.raises(StreamingQueryException, match="CANNOT_LOAD_STATE_STORE"):
        stream.until(6)
    if mended == "from a copy":
        damaged.write_bytes(kept)
    else:
        take_back(tmp_path / "checkpoint", tmp_path / "out")
    stream.until(6)
    stream.check(6)


def fill(disk: Path) -> None:
    """Write until nothing more goes in."""
    with suppress(OSError), (disk / "filling").open("wb", buffering=0) as filling:
        while True:
            filling.write(bytes(4096))


def reasons(error: Any) -> str:
    """What an error of Spark's says, with its causes."""
    said = []
    while error is not None:
        said += [str(error), str(getattr(error, "_stackTrace", ""))]
        error = getattr(error, "_cause", None)
    return "\n".join(said)


@pytest.mark.slow
@pytest.mark.parametrize("full", ["checkpoint", "out"])
def test_a_full_disk(spark: SparkSession, tmp_path: Path, full: str) -> None:
    """A file system in memory, filled by others when the query has begun, until they make room."""
    disk = tmp_path / full
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(disk)]
    tried = subprocess.run(mount, capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"who may not mount has no disk to fill: {tried.stderr}")
    try:
        stream = Stream(spark, tmp_path)
        stream.until(3)
        fill(disk)
        with pytest.raises(StreamingQueryException) as caught:
            stream.until(6)
        assert "No space left on device" in reasons(caught.value)
        (disk / "filling").unlink()
        stream.until(6)
        stream.check(6)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.slow
def test_a_sink_that_fails_half_way(spark: SparkSession, tmp_path: Path) -> None:
    """What it writes is idempotent by key and window; the error is its own."""
    stored: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    written = 0
    broken = True

    def sink(batch: DataFrame, number: int) -> None:
        nonlocal written
        rows = batch.select("key", "window.*", "n", "s").toArrow().to_pylist()
        for place, row in enumerate(rows):
            if broken and number >= 2 and place == len(rows) // 2:
                raise OSError("the sink has gone away")
            stored[row["key"], row["start"], row["end"]] = (row["n"], row["s"])
            written += 1

    stream = Stream(spark, tmp_path)
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="OSError: the sink has gone away"):
            stream.until(6, sink)
    broken = False
    stream.until(6, sink)
    batch = expected(6).to_pylist()
    assert stored == {(row["key"], row["window"]["start"], row["window"]["end"]): (row["n"], row["s"]) for row in batch}
    assert written > len(stored)
