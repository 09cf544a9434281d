"""Checkpoints of real queries, RocksDB and all, of each version of the state.

``python -m tests.stored_state.checkpoints 1`` makes those of a version, once, with the release that has it; then they
stay as they are.
"""

from __future__ import annotations

import io
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import framefold as ff

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HERE = Path(__file__).parent
ROWS, SPAN, BEFORE = 40, 60_000, 3
"""The events of a micro-batch, its milliseconds of event time, and the micro-batches in a stored checkpoint."""

DELAY = 40_000
PLACE = b"/checkpoints"
"""What stands in a file for the folder of its checkpoints."""

WINDOWS: dict[str, Any] = {"sliding": ff.sliding("20 seconds", every="7 seconds"), "last rows": ff.last_rows(3)}


def event(number: int) -> tuple[int, str, float]:
    """Time in milliseconds, key and value of an event: micro-batches overlap by half of what they have."""
    return number // ROWS * SPAN + number * 7919 % (3 * SPAN // 2), "abc"[number % 3], float(number * 5 % 17)


def query(spark: SparkSession, kind: str) -> DataFrame:
    """The same events, as Spark makes them."""
    from pyspark.sql import functions as f

    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).option("numPartitions", 2)
    source = source.option("startTimestamp", 0).option("advanceMillisPerBatch", SPAN)
    number = f.col("value")
    tick = f.floor(number / ROWS) * SPAN + (number * 7919) % (3 * SPAN // 2)
    stream = source.load().select(
        f.timestamp_millis(tick).alias("time"),
        f.substring(f.lit("abc"), (number % 3 + 1).cast("int"), f.lit(1)).alias("key"),
        ((number * 5) % 17).cast("double").alias("x"),
    )
    events = ff.events(stream.withWatermark("time", f"{DELAY // 1000} seconds"), time="time", by="key")
    result: DataFrame = events.window(WINDOWS[kind]).aggregate(n=ff.Count(), s=ff.Sum("x"))
    return result


def go_on(spark: SparkSession, kind: str, checkpoint: Path) -> list[dict[str, Any]]:
    """One micro-batch more, and the one without events after it; what they give."""
    found: list[dict[str, Any]] = []
    writer = query(spark, kind).writeStream.foreachBatch(lambda batch, _: found.extend(batch.toArrow().to_pylist()))
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    assert writer.start().awaitTermination(300)
    return found


def unpacked(file: Path, folder: Path) -> dict[str, Path]:
    """The checkpoints in a file, by what they are of, as if they had always been here: they name their place."""
    with tarfile.open(file) as archive:
        archive.extractall(folder, filter="data")
    for path in folder.glob("*/state/0/_metadata/v2/*"):
        path.write_bytes(path.read_bytes().replace(PLACE, str(folder).encode()))
    return {kind: folder / kind for kind in WINDOWS}


def main(version: str) -> None:
    from ..support.sessions import CHANGELOG, local_session

    spark = local_session("stored", "local[2]", **ff.spark_conf(streams=True, partitions=2))
    # One has snapshots of RocksDB, the other changes only.
    with tempfile.TemporaryDirectory() as folder, tarfile.open(HERE / f"version_{version}.tar.xz", "w:xz") as archive:
        for kind, changelog in zip(WINDOWS, ("false", "true"), strict=True):
            spark.conf.set(CHANGELOG, changelog)
            place = Path(folder, kind)
            for _ in range(BEFORE):
                go_on(spark, kind, place)
            newest = max((int(path.stem.split("_")[0]) for path in place.glob("state/0/0/*.zip")), default=0)
            for path in sorted(place.rglob("*")):
                old = path.suffix == ".zip" and int(path.stem.split("_")[0]) < newest
                if path.is_file() and path.suffix != ".crc" and not old:
                    entry, found = tarfile.TarInfo(f"{kind}/{path.relative_to(place)}"), path.read_bytes()
                    if "_metadata" in path.parts:
                        found = found.replace(folder.encode(), PLACE)
                    entry.size = len(found)
                    archive.addfile(entry, io.BytesIO(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
