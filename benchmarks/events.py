"""The events that everything is measured on: seeded, evenly spread over one day."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DAY = 86_400_000_000
START = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z, in microseconds

ROW_GROUP = 1 << 20
CHUNK = 8_000_000


def tables(rows: int, keys: int, seed: int = 7, texts: bool = False) -> Iterator[pa.Table]:
    """Events by time, some millions at a time, so that a hundred million need no more memory than eight."""
    rng = np.random.default_rng(seed)
    chunks = -(-rows // CHUNK)
    edges = [DAY * chunk // chunks for chunk in range(chunks + 1)]
    for chunk in range(chunks):
        many = rows * (chunk + 1) // chunks - rows * chunk // chunks
        times = np.sort(rng.integers(edges[chunk], edges[chunk + 1], many)) + START
        key = pa.array(rng.integers(0, keys, many))
        yield pa.table(
            {
                "t": pa.array(times).cast(pa.timestamp("us", tz="UTC")),
                "k": names(key, keys) if texts else key,
                "x": rng.normal(50.0, 10.0, many).round(2),
                "n": rng.integers(0, 1000, many),
            }
        )


def names(key: pa.Array, keys: int) -> pa.Array:
    """Keys as strings of thirteen letters."""
    return pa.array([f"customer-{number:04d}" for number in range(keys)]).take(key)


def write_events(path: Path, rows: int, keys: int, seed: int = 7, texts: bool = False) -> None:
    """Write events with time ``t``, key ``k`` and values ``x`` (float) and ``n`` (integer), ordered by time.

    Parameters
    ----------
    path
        The Parquet file to write.
    rows, keys
        How many events, of how many keys.
    seed
        Of the random numbers.
    texts
        Whether keys are strings.
    """
    writer = None
    for table in tables(rows, keys, seed, texts):
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=ROW_GROUP)
    if writer:
        writer.close()


def write_chunks(folder: Path, rows: int, keys: int) -> None:
    """Write a file for each chunk of events as it is made: the next one is made meanwhile."""
    folder.mkdir(parents=True)
    writing: Future[None] | None = None
    with ThreadPoolExecutor(1) as pool:
        for number, table in enumerate(tables(rows, keys)):
            if writing:
                writing.result()
            writing = pool.submit(pq.write_table, table, folder / f"{number:04d}.parquet", row_group_size=ROW_GROUP)
        if writing:
            writing.result()
