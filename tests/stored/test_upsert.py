"""The page's upsert into PostgreSQL, of a daily job that is killed anywhere, then played again."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

pytest.importorskip("psycopg")

import psycopg

from ..spark.postgres import server
from .killing import started
from .upserting import DAY, events, killed

FEWEST = 25
"""Kills."""

TABLE = """
CREATE TABLE windows (
    customer text, since timestamptz, until timestamptz, n bigint, spent bigint, top bigint,
    UNIQUE NULLS NOT DISTINCT (customer, since, until)
)
"""


def wanted(days: int) -> list[Any]:
    """The windows of some days by definition, made by DuckDB."""
    events_of_days = pa.concat_tables([events(0)[:0], *map(events, range(days))])  # noqa: F841  # DuckDB finds it
    return duckdb.sql(
        f"select customer, first, first + 3, count(*), sum(amount), max(amount) from events_of_days, "
        f"range(-2, {days}) as days(first) where epoch_us(time) // {DAY} between first and first + 2 "
        "group by customer, first order by all"
    ).fetchall()


def there(place: str) -> list[Any]:
    with psycopg.connect(place) as connection:
        found = connection.execute(
            "SELECT customer, extract(epoch FROM since)::bigint / 86400, extract(epoch FROM until)::bigint / 86400, "
            "n, spent, top FROM windows"
        ).fetchall()
    return sorted(found, key=lambda row: (row[0] is None, row))


@pytest.mark.slow
def test_a_daily_job_is_killed_between_its_steps_and_within_them(tmp_path: Path) -> None:
    path, kills, days = str(tmp_path / "lake"), 0, 0
    with server() as environment:
        names = [("host", "PGHOST"), ("user", "PGUSER"), ("dbname", "PGDATABASE")]
        place = " ".join(f"{name}={environment[variable]}" for name, variable in names)
        with psycopg.connect(place) as connection:
            connection.execute(TABLE)
        while kills < FEWEST:
            before, after = wanted(days), wanted(days + 1)
            for point in range(1, 200, 3):
                process = started(killed, place, path, days, point + days % 3)
                process.join(60)
                assert there(place) in (before, after), point
                if process.exitcode != -signal.SIGKILL:
                    assert process.exitcode == 0
                    break
                kills += 1
            assert there(place) == after
            days += 1
        assert days > 1
