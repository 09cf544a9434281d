"""What each of the settings of ``ff.spark_conf(streams=True)`` is to a stream: milliseconds a micro-batch.

``python -m benchmarks.run --cases stream-settings`` puts the table into the report: the query of
``benchmarks/streams.py`` on the same files, with all settings, without one of them, and with RocksDB alone, in turns.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import framefold as ff
from framefold.spark.session.conf_overrides import replaced_conf
from framefold.spark.session.session import local_session
from framefold.spark.session.settings import AT_START, BATCH_BYTES, CHANGELOG, PARTITIONS, PROVIDER, of_streams

from .stream_queries import OURS
from .streams import WARM, day, files, milliseconds, ratios

TITLE = "Streams, a micro-batch with and without settings of the session"
SIZE = day(300_000, 7, rounds=3)
CORES, OF_SPARK, FEW = 2, "200", 4
"""The cores, Spark's own number of partitions, and the micro-batches of a run with so many, which takes long."""

ALL = of_streams(CORES)
TCP = "all, but Python by TCP: spark.python.unix.domain.socket.enabled is for a session that starts"
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "all of ff.spark_conf(streams=True), 2 partitions": ALL,
    "all, 1 partition": ALL | {PARTITIONS: "1"},
    "all but changelogs": ALL | {CHANGELOG: "false"},
    "all but Arrow's, which is 256 MB": ALL | {BATCH_BYTES: str(1 << 28)},
    "all but these two": ALL | {CHANGELOG: "false", BATCH_BYTES: str(1 << 28)},
    "RocksDB alone, 200 partitions": {
        PROVIDER: ALL[PROVIDER], CHANGELOG: "false", BATCH_BYTES: str(1 << 28), PARTITIONS: OF_SPARK,
    },
}  # fmt: skip
FIRST = next(iter(SETTINGS))


def medians(folder: Path) -> dict[str, list[float]]:
    """What a micro-batch takes with each of the settings, turn by turn."""
    schema = files(folder, SIZE)
    taken: dict[str, list[float]] = {name: [] for name in (*SETTINGS, TCP)}
    few = f"{folder}/{{{','.join(f'{number:03}' for number in range(FEW))}}}.parquet"
    for socket, names in (("true", list(SETTINGS)), ("false", [TCP])):
        spark = local_session("settings of streams", f"local[{CORES}]", **dict.fromkeys(AT_START, socket))
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", 1000)
        for turn in range(-WARM, SIZE.rounds):
            for name in names:
                settings = SETTINGS.get(name, ALL)
                if settings[PARTITIONS] == OF_SPARK and turn != SIZE.rounds - 1:
                    continue
                with replaced_conf(spark, settings):
                    place = few if settings[PARTITIONS] == OF_SPARK else str(folder)
                    found = milliseconds(spark, place, OURS, schema, None)
                taken[name] += [found] if turn >= 0 else []
                print(turn, name, f"{found:.0f} ms", file=sys.stderr, flush=True)
        spark.stop()
    return taken


def table() -> list[str]:
    """The measurement as lines of Markdown."""
    with tempfile.TemporaryDirectory() as root:
        taken = medians(Path(root) / "events")
    return [
        f"Milliseconds a micro-batch of {SIZE.events:,} events, median of the turns, and how many times as long as the "
        f"first row in the same turn: {OURS}, sum and count, {SIZE.keys} keys, on {CORES} cores.",
        "",
        "| settings of the session | ms | times |",
        "| --- | ---: | ---: |",
        *(f"| {name} | {statistics.median(each):,.0f} | {ratios(taken, name, FIRST)[1]} |"
          for name, each in taken.items()),
    ]  # fmt: skip


if __name__ == "__main__":
    assert ff.spark_conf(streams=True, partitions=CORES) == AT_START | ALL
    print("\n".join(table()))
