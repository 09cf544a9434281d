"""Micro-batches are runs: each is in once, however a stream is stopped, and whatever is given again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ID = "01234567-89ab-cdef-0123-456789abcdef 7"
"""The name of a run of a micro-batch."""

WINDOW = ff.sliding("10 minutes", every="5 minutes")


def files(folder: Path, *numbers: int) -> pa.Table:
    """Some more files of a stream, and what is in all of them."""
    for number in numbers:
        minutes = [0, 3, number, 2 * number, 60 - number]  # late ones among them
        times = pa.array([each * 60_000_000 for each in minutes], pa.timestamp("us", "UTC"))
        table = pa.table({"t": times, "k": ["a", "b", "a", "b", "a"], "x": [number, 1, 2, 3, 4]})
        pq.write_table(table, folder / f"{number:02}.parquet")
    return pq.read_table(folder, partitioning=None)


def stored(path: Path) -> Any:
    return ff.partials(path, time="t", by="k", frame="5 minutes", n=ff.Count(), s=ff.Sum("x"))


@pytest.mark.slow
def test_each_micro_batch_is_in_once(spark: SparkSession, tmp_path: Path) -> None:
    place, table, checkpoint = tmp_path / "events", tmp_path / "lake", tmp_path / "checkpoint"
    place.mkdir()
    day = stored(table)
    files(place, 1, 2, 3)
    stream = spark.readStream.schema("t timestamp, k string, x bigint").option("maxFilesPerTrigger", 1)

    def until_now(**more: Any) -> None:
        query = day.append_stream(stream.parquet(str(place)), checkpoint=checkpoint, availableNow=True, **more)
        query.awaitTermination()

    def right() -> bool:
        whole = ff.events(pq.read_table(place, partitioning=None), time="t", by="k").window(WINDOW)
        found = day.window(WINDOW).aggregate()
        return bool(found.to_pylist() == whole.aggregate(n=ff.Count(), s=ff.Sum("x")).to_pylist())

    until_now()
    assert right()
    assert day.runs()["events"].to_pylist() == [5, 5, 5]
    files(place, 4)
    until_now()  # stopped, and started again
    assert right()
    names = day.runs()["run"].to_pylist()
    assert [name.split()[1] for name in names] == ["0", "1", "2", "3"]
    assert len({name.split()[0] for name in names}) == 1
    for name in ("3", ".3.crc"):  # killed after the commit of the table, before that of Spark
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    until_now()
    assert right()
    assert day.runs()["run"].to_pylist() == names
    shutil.rmtree(checkpoint)  # another query, whose batches are its own
    with pytest.raises(
        ff.QueryError, match=rf"runs of the query {names[0].split()[0]}, and .* expected the checkpoint"
    ):
        until_now()
    until_now(beside=True)
    assert len(day.runs()) == 8
    until_now()
    assert len(day.runs()) == 8


def test_what_is_no_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(ff.QueryError, match=r"append_stream\(\) is given .*; expected a streaming DataFrame"):
        stored(tmp_path).append_stream(spark.range(3), checkpoint=tmp_path / "c")
    one = pa.table({"t": pa.array([0], pa.timestamp("us", "UTC")), "k": ["a"], "x": [1]})
    stored(tmp_path).append(one, run="r")
    stored(tmp_path / "p").append(one, run=ID)
    same = spark.readStream.schema("t timestamp, k string, x bigint").parquet(str(tmp_path / "p" / "day=1970-01-01"))
    with pytest.raises(ff.QueryError, match=rf"runs of the query {ID[:-2]}, and .* is of none yet, .*beside=True"):
        stored(tmp_path / "p").append_stream(same, checkpoint=tmp_path / "c")
    (tmp_path / "c").mkdir()
    for text in (b"", b"[" * 99_999, b'{"id": 7}', b'{"id": "../x"}', b"\xff", b"{}\n{}", b'{"id": "' + b"a" * 99_999):
        (tmp_path / "c" / "metadata").write_bytes(text)
        with pytest.raises(ff.EngineError, match=r"^the checkpoint '.*c' has metadata that cannot be read: .{,300}$"):
            stored(tmp_path / "p").append_stream(same, checkpoint=tmp_path / "c")
    other = spark.readStream.schema("t timestamp, k string, x string").parquet(str(tmp_path / "day=1970-01-01"))
    with pytest.raises(ff.EngineError, match=r"'x' as int64, and it is string in the events"):
        stored(tmp_path).append_stream(other, checkpoint=tmp_path / "c")
