"""DuckDB: two stages, each event joined with its windows, and window functions over the events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb

from ..jobs import Job
from .stages import copied, every, over, plain, two_stages

Statement = str


def source(job: Job) -> str:
    """The file as SQL."""
    return f"read_parquet('{Path(job.path) / '*.parquet' if Path(job.path).is_dir() else job.path}')"


def hottest(counts: Statement, job: Job) -> Statement:
    """Of each window the rows whose first output is greatest."""
    if job.kind != "hottest":
        return counts
    name = job.names[0]
    return f"SELECT * FROM ({counts}) QUALIFY {name} = max({name}) OVER (PARTITION BY start)"


def by_hand(job: Job) -> Statement:
    """Two stages."""
    return two_stages(job, source(job), "t" if job.time == "integer" else "epoch_us(t)", "//")


def all_windows(job: Job) -> Statement:
    """Two stages, the first filled up with empty rows."""
    return every(job, source(job))


def by_copies(job: Job) -> Statement:
    """Two stages, the partials of the first copied into their windows."""
    return hottest(copied(job, source(job), "epoch_us(t)", "//", "unnest(range({0}, {1} + 1))"), job)


def expanded(job: Job) -> Statement:
    """Each event copied into every window it is in."""
    last = f"epoch_us(t) // {job.every} * {job.every}"
    starts = f"unnest(range({last} - {job.size - job.every}, {last} + {job.every}, {job.every}::BIGINT))"
    keys = ", ".join(job.keys)
    needed = ", ".join({column for _, _, column in job.outputs if column} | set(job.keys))
    copies = f"SELECT {needed}, {starts} AS start FROM {source(job)}"
    counts = f"SELECT {keys}, start, {plain(job)} FROM ({copies}) GROUP BY ALL"
    return hottest(counts, job)


def over_events(job: Job) -> Statement:
    """A window function over the events themselves."""
    bounds = {
        "around": f"RANGE BETWEEN INTERVAL '{job.size} microseconds' PRECEDING AND CURRENT ROW",
        "rows": f"ROWS BETWEEN {job.size - 1} PRECEDING AND CURRENT ROW",
    }[job.kind]
    keys = ", ".join(job.keys)
    window = f"WINDOW w AS (PARTITION BY {keys} ORDER BY {job.order} {bounds})"
    return f"SELECT {keys}, epoch_us(t) AS at, {over(job)} FROM {source(job)} {window}"


def consume(result: Statement) -> None:
    """Compute all of it into Arrow."""
    duckdb.sql("SET TimeZone = 'UTC'")
    duckdb.sql(result).to_arrow_table()


def save(result: Statement, job: Job, path: str) -> None:
    """Write the result."""
    duckdb.sql(f"COPY ({result}) TO '{path}' (FORMAT parquet)")


def versions() -> dict[str, str]:
    """What runs here."""
    return {"DuckDB": duckdb.__version__}


WAYS: dict[str, Callable[[Job], Statement]] = {
    "every": all_windows,
    "two_stages": by_hand,
    "copied": by_copies,
    "expanded": expanded,
    "range": over_events,
}
