"""Visits to a web site: clicks of a user that follow one another within half an hour are one visit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import framefold as ff

PAGES = np.array(["home", "search", "product", "basket", "paid", "help"])


def visits(clicks: Path) -> pa.Table:
    """A row for each visit: its bounds, how many clicks and pages it had, where it began and ended, what was paid.

    Parameters
    ----------
    clicks
        A CSV file with ``user``, ``time``, ``page`` and ``paid``.
    """
    found = (
        ff.events(ff.files(clicks, format="csv"), time="time", by="user")
        .window(ff.session("30 minutes"))
        .aggregate(
            clicks=ff.Count(),
            pages=ff.CountDistinct("page"),
            landing=ff.First("page"),
            exit=ff.Last("page"),
            paid=ff.Sum("paid"),
        )
    )
    start, end = found["window"].combine_chunks().flatten()  # CSV has no structs
    return found.drop_columns("window").append_column("start", start).append_column("end", end)


def make(path: Path, rows: int = 3_000, seed: int = 3) -> None:
    """Write made-up clicks of a day; no two at the same time."""
    random = np.random.default_rng(seed)
    seconds = random.choice(86_400, rows, replace=False)
    page = random.integers(0, len(PAGES), rows)
    pa.csv.write_csv(
        pa.table(
            {
                "user": random.integers(0, 40, rows),
                "time": np.datetime64("2024-05-01", "us") + seconds.astype("timedelta64[s]"),
                "page": PAGES[page],
                "paid": pa.array(random.integers(1, 400, rows) / 4, mask=PAGES[page] != "paid"),
            }
        ),
        path,
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder, "clicks.csv"))
        table = visits(Path(folder, "clicks.csv"))
        pa.csv.write_csv(table, Path(folder, "visits.csv"))
        print(f"{len(table)} visits, the first of them:")
        print("\n".join(Path(folder, "visits.csv").read_text().splitlines()[:4]))
