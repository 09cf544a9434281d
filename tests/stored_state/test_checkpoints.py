"""A checkpoint that an earlier release has written, with its RocksDB, is gone on from: no window lost, none twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from ..support.spark_parts import VERSION
from .checkpoints import BEFORE, DELAY, HERE, ROWS, WINDOWS, event, go_on, unpacked

pytestmark = pytest.mark.usefixtures("rocksdb")

FILES = sorted(HERE.glob("version_*.tar.xz"))
MORE = 2


def watermark(batches: int) -> int:
    return max(event(number)[0] for number in range(ROWS * batches)) - DELAY


def sliding() -> Iterator[tuple[int, Any]]:
    """When each window is given, and it: of twenty seconds every seven."""
    held: dict[Any, list[float]] = defaultdict(list)
    for time, key, x in map(event, range(ROWS * (BEFORE + MORE))):
        last = time // 7000 * 7000
        for start in range(last, time - 20_000, -7000):
            held[key, start, start + 20_000].append(x)
    for (key, start, end), xs in held.items():
        yield end, (key, start, end, len(xs), sum(xs))


def last_rows() -> Iterator[tuple[int, Any]]:
    """The last three events of a key, at each of them."""
    events = sorted(map(event, range(ROWS * (BEFORE + MORE))))
    assert all(one[:2] != other[:2] for one, other in pairwise(events)), "no two of a key at one time"
    for place, (time, key, _) in enumerate(events):
        last = [each for each in events[: place + 1] if each[1] == key][-3:]
        yield time + 1, (key, last[0][0], time, len(last), sum(x for *_, x in last))


def test_this_version_has_a_checkpoint() -> None:
    assert f"version_{VERSION}.tar.xz" in [file.name for file in FILES]


@pytest.mark.classic("what its foreachBatch calls runs in a Python of the server's, with all of PySpark")
@pytest.mark.parametrize(
    "file",
    [*(pytest.param(file, marks=pytest.mark.slow) for file in FILES[:-1]), FILES[-1]],
    ids=lambda file: file.name,
)
def test_a_stored_checkpoint_goes_on(spark: SparkSession, tmp_path: Path, file: Path) -> None:
    for kind, checkpoint in unpacked(file, tmp_path).items():
        rows = [row for _ in range(MORE) for row in go_on(spark, kind, checkpoint)]
        bounds = pa.array([row["window"] for row in rows])
        start, end = (
            [tick // 1000 for tick in pc.struct_field(bounds, name).cast("int64").to_pylist()]
            for name in ("start", "end")
        )
        found = Counter((row["key"], *rest, row["n"], row["s"]) for row, *rest in zip(rows, start, end, strict=True))
        begin, until = watermark(BEFORE), watermark(BEFORE + MORE)
        windows = sliding() if kind == "sliding" else last_rows()
        assert found == Counter(row for due, row in windows if begin < due <= until), kind
        assert len(found) > 30, kind
    assert set(unpacked(file, tmp_path / "again")) == set(WINDOWS)
