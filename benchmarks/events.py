"""The events that everything is measured on: seeded, evenly spread over one day."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DAY = 86_400_000_000
START = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z, in microseconds

ROW_GROUP = 1 << 20


def write_events(path: Path, rows: int, keys: int, seed: int = 7) -> None:
    """Write events with time ``t``, key ``k`` and values ``x`` (float) and ``n`` (integer), ordered by time.

    Parameters
    ----------
    path
        The Parquet file to write.
    rows, keys
        How many events, of how many keys.
    """
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, DAY, rows)) + START
    table = pa.table(
        {
            "t": pa.array(times).cast(pa.timestamp("us", tz="UTC")),
            "k": rng.integers(0, keys, rows),
            "x": rng.normal(50.0, 10.0, rows).round(2),
            "n": rng.integers(0, 1000, rows),
        }
    )
    pq.write_table(table, path, row_group_size=ROW_GROUP)
