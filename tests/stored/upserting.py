"""A daily job into PostgreSQL, as its page has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa

import framefold as ff

from .killing import run

PAGE = Path(__file__).parents[2] / "docs" / "every-day-again.md"
DAY = 86_400_000_000


def upsert() -> str:
    """The statement on the page."""
    (found,) = re.findall(r"```sql\n(INSERT INTO windows .*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


def events(day: int) -> pa.Table:
    """Those of a day, and late ones of the two days before."""
    times = [max(day - at % 3, 0) * DAY + at * 3_600_000_000 for at in range(12)]
    keys = [("ann", "bob", None)[(at + day) % 3] for at in range(12)]
    columns = {"time": pa.array(times, pa.timestamp("us", "UTC")), "customer": pa.array(keys, pa.string())}
    return pa.table(columns | {"amount": [day * 100 + at for at in range(12)]})


def job(place: str, path: str, day: int) -> None:
    """The two steps of a day: its events into the table of partials, and what they have changed into PostgreSQL."""
    outputs = {"n": ff.Count(), "spent": ff.Sum("amount"), "top": ff.Max("amount")}
    daily = ff.partials(path, time="time", by="customer", frame="1 day", **outputs)
    daily.append(events(day), run=str(day))
    changed = daily.changed(run=str(day)).window(ff.sliding("3 days", every="1 day")).aggregate()
    with psycopg.connect(place) as connection:
        connection.execute("CREATE TEMPORARY TABLE new (LIKE windows)")
        with connection.cursor().copy("COPY new FROM STDIN") as copy:
            for row in changed.to_pylist():
                window = row.pop("window")
                copy.write_row([row.pop("customer"), window["start"], window["end"], *row.values()])
        connection.execute(upsert())


def killed(place: str, path: str, day: int, point: int) -> None:
    """The job, which is killed at a point, of those in PostgreSQL, too."""
    watched: list[tuple[Any, str]] = [
        (psycopg.Connection, "execute"),
        (psycopg.Copy, "write_row"),
        (psycopg.Connection, "commit"),
    ]

    def change(path: str, day: int) -> None:
        job(place, path, day)

    run(change, path, day, point, watched)
