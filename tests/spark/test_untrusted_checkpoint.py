"""A checkpoint that somebody else has written runs no code, whatever the operations are wrapped in."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import framefold as ff

from ..operations.pickled import PICKLED
from ..support.inner import place_of
from ..support.spark_results import conf

pytestmark = pytest.mark.usefixtures("rocksdb")
SCHEMA = "time timestamp, g string, x double, l array<double>, m map<string, double>"


class Command:
    """What a pickle of it does where it is read."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"touch '{self.marker}'",)


class Counting(ff.PythonOperation):
    """The query of a victim, and of whoever has written the checkpoint."""

    result = "int64"
    commutative = True  # or trials would say so of one query and not of the other, which then are not the same
    marker = ""
    result_parameters = ("marker",)

    def create(self) -> Any:
        return None

    def accumulate(self, state: Any, value: Any) -> Any:
        return Command(self.marker) if self.marker else 1

    def combine(self, a: Any, b: Any) -> Any:
        return b if a is None else a

    def finish(self, state: Any) -> int:
        return 1


def add(folder: Path, number: int, minute: int) -> None:
    times = pa.array([1_600_000_000_000_000 + minute * 60_000_000], pa.timestamp("us", "UTC"))
    table = pa.table({"time": times, "g": ["a"], "x": [1.0], "l": [[1.0]], "m": pa.array([[("a", 1.0)]], pa.map_(
        pa.string(), pa.float64()))})  # fmt: skip
    parquet.write_table(table, folder / f"{number}.parquet")


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).parquet(str(folder)).withWatermark("time", "1 minute")


def query(df: DataFrame, **options: Any) -> Any:
    return ff.events(df, time="time").window(ff.tumbling("1 hour")).stream(**options)


def test_pickles_at_any_depth_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    events = stream(spark, tmp_path)
    for name, operation in PICKLED.items():
        with pytest.raises(ff.QueryError, match=r"the states of 'n' are Python objects, which .*trust_checkpoint=True"):
            query(events).aggregate(c=ff.Count(), n=operation)
        assert query(events, trust_checkpoint=True).aggregate(n=operation).isStreaming, name


def test_what_reads_a_state_asks_first(spark: SparkSession, tmp_path: Path) -> None:
    """Whether pickles are trusted, before it looks at anything."""
    events, nowhere = query(stream(spark, tmp_path)), str(tmp_path / "nowhere")
    for read in (events.latest, events.late, partial(events.still_open, nowhere), *(
        partial(each, nowhere, nowhere) for each in (events.export_state, events.import_state)
    )):  # fmt: skip
        with pytest.raises(ff.QueryError, match=r"expected .stream\(trust_checkpoint=True\)"):
            read(n=PICKLED["GroupedBy"])


def test_an_attack_by_a_checkpoint(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events, checkpoint, marker = tmp_path / "in", str(tmp_path / "checkpoint"), tmp_path / "it ran"
    events.mkdir()

    def run(operation: Any, **options: Any) -> None:
        result = query(stream(spark, events), **options).aggregate(n=operation)
        writer = result.writeStream.format("noop").trigger(availableNow=True)
        writer.option("checkpointLocation", checkpoint).start().awaitTermination(120)

    theirs, victims = Counting("x"), Counting("x")
    theirs.marker = str(marker)
    add(events, 0, 0)
    run(ff.GroupedBy(theirs, "g"), trust_checkpoint=True)
    marker.unlink(missing_ok=True)  # theirs may have read what its tasks have made
    add(events, 1, 1)
    with pytest.raises(ff.QueryError, match="trust_checkpoint=True"):
        run(ff.GroupedBy(victims, "g"))
    # Whoever forgets to ask when the query is written: what reads pickles asks as well.
    with monkeypatch.context() as patched:
        patched.setattr(*place_of("outputs with pickles"), lambda plan: [])
        with pytest.raises(StreamingQueryException, match="pickles that nobody has said can be trusted"):
            run(ff.GroupedBy(victims, "g"))
    assert not marker.exists()
    run(ff.GroupedBy(victims, "g"), trust_checkpoint=True)
    assert marker.exists()  # what would have happened


FORGED: list[tuple[str, Any]] = [
    ("metadata", lambda whole: b'{"id":7}'),
    ("offsets/[0-9]*", lambda whole: b""),
    ("offsets/[0-9]*", lambda whole: whole.replace(b'"batchWatermarkMs":', b'"batchWatermarkMs":1e99, "was":')),
    ("commits/[0-9]*", lambda whole: b"v99\n{}"),
    ("commits/[0-9]*", lambda whole: b'v1\n{"nextBatchWatermarkMs":' + b"9" * 99 + b"}"),
    ("state/0/_metadata/v2/*", lambda whole: b"v2\n" + b"[" * 99_999),
    ("state/0/_metadata/v2/*", lambda whole: whole[: len(whole) // 2]),
    ("state/0/_stateSchema/*/*", lambda whole: b"\0" * 99),
    ("state/0/*/*.zip", lambda whole: whole[: len(whole) // 2]),
    ("state/0/*/*.zip", lambda whole: b"PK\3\4" + b"\xff" * 999),
]
"""Files of a checkpoint, and what somebody has made of them."""


def forged(whole: Path, copy: Path, name: str, change: Any) -> Path:
    shutil.copytree(whole, copy)
    files = [each for each in copy.glob(name) if not each.name.endswith(".crc")]
    assert files, name
    for file in files:
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        file.write_bytes(change(file.read_bytes()))
    return copy


@pytest.mark.slow
def test_forged_files(spark: SparkSession, tmp_path: Path) -> None:
    """Whoever reads a checkpoint gets its results, or one sentence, without the classes and traces of Java's errors."""
    events, whole = tmp_path / "in", tmp_path / "whole"
    events.mkdir()
    add(events, 0, 0)
    outputs = {"n": ff.Count(), "m": ff.Median("x")}

    def read(checkpoint: Path) -> Iterator[Callable[[], Any]]:
        reading = query(stream(spark, events))
        yield lambda: reading.still_open(checkpoint, **outputs).collect()
        yield lambda: reading.export_state(checkpoint, tmp_path / f"state of {checkpoint.name}", **outputs)
        yield lambda: query(stream(spark, events), checkpoint=checkpoint).aggregate(**outputs)

    said = []
    with conf(spark, {"spark.sql.shuffle.partitions": "1"}):
        writer = query(stream(spark, events)).aggregate(**outputs).writeStream.format("noop")
        writer.option("checkpointLocation", str(whole)).trigger(availableNow=True).start().awaitTermination(120)
        right = next(read(whole))()
        assert [row.n for row in right] == [1]
        for number, (name, change) in enumerate(FORGED):
            for each in read(forged(whole, tmp_path / str(number), name, change)):
                try:
                    each()
                except ff.FramefoldError as error:
                    said.append(f"{name}: {error}")
    assert not [each for each in said if "\n" in each or len(each) > 1_000 or re.search(r"\bjava\.|Exception", each)]
    assert len(said) >= 2 * len(FORGED) - 4  # a few are no harm: what Spark does not read, or reads as it should be
