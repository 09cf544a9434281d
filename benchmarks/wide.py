"""How the time of a query grows with the columns of its table and with its outputs, on ten rows.

``python -m benchmarks.wide`` prints the tables as Markdown; the report has them by ``python -m benchmarks.run --cases
wide``. Seconds are those of the processor, of this process. Growth is the time, in times that of the column before,
by the columns, in times those before: 1.0 is linear, and more than ``MOST`` is marked.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import framefold as ff

from .report import table

COLUMNS, OUTPUTS = (100, 1_000, 10_000), (10, 100, 1_000, 3_000)
MOST = 1.3
"""The most growth that there may be."""
TEN = ff.tumbling(10)

Query = Callable[[pa.Table, Mapping[str, Any]], Any]
"""A query of a table with some outputs."""


def wide(columns: int) -> pa.Table:
    """Ten rows with so many columns of values."""
    return pa.table({"t": range(10), "k": ["a", "b"] * 5, **{f"x{at}": [float(at)] * 10 for at in range(columns)}})


def sums(outputs: int) -> dict[str, Any]:
    """A sum of each of the first columns."""
    return {f"s{at}": ff.Sum(f"x{at}") for at in range(outputs)}


def of(events: Any) -> Any:
    """Events by key."""
    return ff.events(events, time="t", by="k")


def of_file(events: pa.Table, outputs: Mapping[str, Any]) -> Any:
    """The events come from a file."""
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(events, path := Path(folder) / "events.parquet")
        return of(ff.parquet(path)).where("x1 > 0").window(TEN).aggregate(**outputs)


def in_sql(events: pa.Table, outputs: Mapping[str, Any]) -> Any:
    """The same sums in SQL."""
    listed = ", ".join(f"sum(x{at}) AS {name}" for at, name in enumerate(outputs))
    return ff.sql(f"SELECT k, {listed} FROM TUMBLE(e, t, 10) GROUP BY k, window_start", e=events)


def related(events: pa.Table, outputs: Mapping[str, Any]) -> Any:
    """A relation of all columns, and its groups."""
    return of(events).window(TEN).relation().where("x1 > 0").aggregate(by="k", **outputs).at(3)


ENTRIES: dict[str, Query] = {
    "events": lambda events, outputs: of(events).where("x1 > 0").window(TEN).aggregate(**outputs),
    "parquet": of_file,
    "sql": in_sql,
    "lookback": lambda events, outputs: of(events).window(ff.lookback(2, 3, 5, 7)).aggregate(**outputs),
    "with_columns": lambda events, outputs: of(events).window(ff.last_rows(3)).with_columns(**outputs),
    "with_columns, events in any order": lambda events, outputs: (
        of(events[::-1]).window(ff.last_rows(3)).with_columns(**outputs)
    ),
    "relations": related,
}


def seconds(query: Query, columns: int, outputs: int, repeats: int) -> float:
    """The least time of some runs."""
    events, computed, taken = wide(columns), sums(outputs), []
    for _ in range(repeats):
        begin = time.process_time()
        query(events, computed)
        taken.append(time.process_time() - begin)
    return min(taken)


def row(name: str, numbers: tuple[int, ...], taken: list[float]) -> list[str]:
    """A query's times with its greatest growth."""
    steps = zip(itertools.pairwise(numbers), itertools.pairwise(taken), strict=True)
    growth = max(after / before / (more / fewer) for (fewer, more), (before, after) in steps)
    shown = f"{growth:.1f}"
    return [name, *(f"{each:.3f}" for each in taken), shown if growth <= MOST else f"**{shown}**"]


def tables(repeats: int = 3) -> dict[str, list[str]]:
    """Those of the report."""
    by_columns, by_outputs = [], []
    for name, query in ENTRIES.items():
        query(wide(2), sums(1))  # imports
        by_columns.append(row(name, COLUMNS, [seconds(query, each, 10, repeats) for each in COLUMNS]))
        most = max(OUTPUTS)
        by_outputs.append(row(name, OUTPUTS, [seconds(query, most, each, repeats) for each in OUTPUTS]))
    return {
        "Wide, ten rows, 10 outputs: seconds by columns": table(
            ["", *(f"{each:,} columns" for each in COLUMNS), "growth"], by_columns
        ),
        f"Wide, ten rows, {max(OUTPUTS):,} columns: seconds by outputs": table(
            ["", *(f"{each:,} outputs" for each in OUTPUTS), "growth"], by_outputs
        ),
    }


if __name__ == "__main__":
    for title, lines in tables().items():
        print("\n".join([f"## {title}", "", *lines, ""]))
