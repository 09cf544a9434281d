"""The rows of random windows by definition, and one operation by every way of getting to its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

import pyarrow as pa

import framefold as ff

from ..support import stages
from ..support.inner import place_of
from ..support.plans import Operation, Plan, trusting

Rows = dict[tuple[Any, int], list[tuple[Any, ...]]]


def windows_of(table: pa.Table, by: str, size: int, every: int) -> Any:
    return ff.events(table, time="t", by=by).window(ff.sliding(size, every=every, gaps="allow"))


def rows_of_windows(table: pa.Table, by: str, columns: Sequence[str], size: int, every: int) -> Rows:
    """The values of columns in each window, by key and start, in the order of time, then of input."""
    found: Rows = {}
    for row in sorted(table.select(dict.fromkeys(["t", by, *columns])).to_pylist(), key=lambda row: row["t"]):
        for number in range((row["t"] - size) // every + 1, row["t"] // every + 1):
            found.setdefault((row[by], number * every), []).append(tuple(row[name] for name in columns))
    return found


def every_way(operation: Operation, table: pa.Table, by: str, size: int, every: int) -> Iterator[tuple[str, pa.Table]]:
    """Results of the local engine, of batches in any order, and by each way of sliding, each with its name."""
    yield "engine", windows_of(table, by, size, every).aggregate(x=operation)
    query: Plan = trusting(windows_of(table, by, size, every)._query({"x": operation})[1])
    for count in () if query.ordered else (1, 3, 17):
        yield f"{count} batches", stages.results(query, stages.in_batches(query, table, count))
    for deducts in {False, query.outputs["x"].deducts[0]}:
        with patch.object(*place_of("deducts"), (deducts, "a test says so")):
            yield "deduct" if deducts else "two-stacks", stages.results(query, stages.accumulate(query, table, 0))


def by_window(result: pa.Table, by: str) -> dict[tuple[Any, int], Any]:
    """The results by key and start."""
    return {(row[by], row["window"]["start"]): row["x"] for row in result.to_pylist()}


def one_window(x: Any, /, **outputs: Any) -> dict[str, Any]:
    """The results over all values of a column ``x``."""
    table = pa.table({"t": [0] * len(x), "x": x})
    row: dict[str, Any] = ff.events(table, time="t").window(ff.tumbling(1)).aggregate(**outputs).to_pylist()[0]
    return {name: row[name] for name in outputs}
