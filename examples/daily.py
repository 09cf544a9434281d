"""A daily job that stays warm: each run reads the events of its day, and gives weeks and months that end with it.

The partials of all days before are at rest. Run again, a day changes nothing; late events are in the run of the day
on which they came, and the windows that they change are given anew.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import framefold as ff

DAY = dt.timedelta(days=1)
WINDOWS = (ff.sliding("7 days", every="1 day"), ff.sliding("30 days", every="1 day"))


def kept(lake: Path) -> Any:
    """The partials of payments, a frame a day."""
    return ff.partials(
        lake, time="time", by="customer", frame="1 day", n=ff.Count(), spent=ff.Sum("amount"), top=ff.Max("amount")
    )


def run(day: dt.datetime, payments: Path, lake: Path) -> pa.Table:
    """Add what came on a day, and give the windows up to its end that this has changed."""
    partials, name = kept(lake), f"{day:%Y-%m-%d}"
    partials.append(ff.parquet(payments / f"{name}.parquet"), run=name)
    found: pa.Table = partials.changed(run=name).window(*WINDOWS).ending(until=day + DAY).aggregate()
    return found


def make(folder: Path, days: int = 40, seed: int = 3) -> list[dt.datetime]:
    """Write made-up payments, a file for each day on which they came; the days. Some came two days late."""
    random, first = np.random.default_rng(seed), dt.datetime(2026, 9, 1)
    for number in range(days):
        rows = 500
        late = np.where(random.random(rows) < 0.01, min(number, 2), 0)
        day = np.datetime64(first, "us") + (number - late) * np.timedelta64(1, "D")
        columns = {
            "time": day + random.integers(0, 86_400_000_000, rows).astype("m8[us]"),
            "customer": random.integers(0, 20, rows),
            "amount": random.integers(1, 1000, rows) / 4,
        }
        pq.write_table(pa.table(columns), folder / f"{first + number * DAY:%Y-%m-%d}.parquet")
    return [first + number * DAY for number in range(days)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for each in make(Path(place)):
            windows = run(each, Path(place), Path(place, "lake"))
            print(f"{each:%Y-%m-%d}: {len(windows)} windows, the latest of customer 0 with {windows['n'][0]} payments")
