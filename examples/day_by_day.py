"""A batch job that runs once a day: each run writes the windows that have ended on its day, and no others.

A window may begin on the day before, so a run reads so much more. Run again, for instance because events came late, it
replaces what it has written. All runs together give what one run over everything would.
"""

from __future__ import annotations

import datetime as dt
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import framefold as ff

LENGTH, STEP, DAY = dt.timedelta(hours=6), dt.timedelta(hours=1), dt.timedelta(days=1)


def run(day: dt.datetime, readings: Path, results: Path) -> Path:
    """Write the windows that end after the beginning of a day, and up to its end.

    Parameters
    ----------
    day
        Its beginning.
    readings
        A folder of Parquet files with ``sensor``, ``time`` and ``value``.
    results
        The folder of results: a folder ``day=...`` for each day.
    """
    needed = (pc.field("time") >= day - LENGTH) & (pc.field("time") < day + DAY)
    found = (
        ff.events(ff.parquet(readings), time="time", by="sensor")
        .where(needed)  # files and row groups of other days are not read
        .window(ff.sliding(LENGTH, every=STEP))
        .aggregate(n=ff.Count(), mean=ff.Average("value"), highest=ff.Max("value"))
    )
    end = pc.field("window", "end")
    found = found.filter((end > day) & (end <= day + DAY))
    target = results / f"day={day:%Y-%m-%d}" / "windows.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(".windows.parquet")
    pq.write_table(found, beside)
    os.replace(beside, target)  # readers see the old result or the new one
    return target


def make(folder: Path, days: int = 4, seed: int = 2) -> list[dt.datetime]:
    """Write made-up readings, a file a day; the days."""
    random = np.random.default_rng(seed)
    first = dt.datetime(2024, 5, 1)
    for number in range(days):
        rows = 2_000
        times = np.datetime64(first + number * DAY, "us") + random.integers(0, 86_400_000_000, rows).astype("m8[us]")
        columns = {"sensor": random.integers(0, 5, rows), "time": times, "value": random.integers(0, 1000, rows) / 8}
        pq.write_table(pa.table(columns), folder / f"{number:02}.parquet")
    return [first + number * DAY for number in range(days)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        events, windows = Path(place, "readings"), Path(place, "windows")
        events.mkdir()
        for each in make(events):
            written = run(each, events, windows)
            print(f"{written.relative_to(place)}: {pq.read_metadata(written).num_rows} windows")
