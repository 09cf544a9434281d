"""Does a query cost what its columns do, however many there are?"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

FEW, MANY, MOST = 60, 480, 14
"""Numbers of columns, and how many times as long the many may take: what grows with their square takes 20 to 60."""
TEN = ff.tumbling(10)


def table(columns: int) -> pa.Table:
    return pa.table({"t": range(10), "k": ["a", "b"] * 5, **{f"x{at}": [float(at)] * 10 for at in range(columns)}})


def events(columns: int) -> Any:
    return ff.events(table(columns), time="t", by="k")


def sums(columns: int, prefix: str = "") -> dict[str, Any]:
    return {f"s{at}": ff.Sum(f"{prefix}x{at}") for at in range(columns)}


def of_file(columns: int) -> Any:
    pq.write_table(table(columns), path := Path(mkdtemp()) / "events.parquet")
    return ff.events(ff.parquet(path), time="t", by="k").window(TEN).aggregate(**sums(columns))


def at_rest(columns: int) -> Any:
    stored = ff.partials(Path(mkdtemp()) / "stored", time="t", by="k", frame=5, **sums(columns))
    stored.append(table(columns), run="1")
    return stored.window(TEN).aggregate()


def joined(columns: int) -> Any:
    left = events(columns).window(TEN).relation()
    right = left.select(k="k", **{f"y{at}": pc.field(f"x{at}") for at in range(columns)})
    return left.where("x1 > 0").join(right, on="k").at(3)


def in_sql(columns: int) -> Any:
    outputs = ", ".join(f"sum(x{at}) AS s{at}" for at in range(columns))
    return ff.sql(f"SELECT k, {outputs} FROM TUMBLE(e, t, 10) GROUP BY k, window_start", e=table(columns))


ENTRIES: dict[str, Callable[[int], Any]] = {
    "windows": lambda columns: events(columns).window(TEN, ff.sliding(4, every=2)).aggregate(**sums(columns)),
    "lookbacks": lambda columns: events(columns).window(ff.lookback(2, 3, 5, 7)).aggregate(**sums(columns)),
    "labels": lambda columns: (
        events(columns).window(ff.lookback(2, 5, at=pa.table({"at": [3], "k": ["a"]}))).aggregate(**sums(columns))
    ),
    "with_columns": lambda columns: events(columns).window(ff.last_rows(3)).with_columns(**sums(columns)),
    "of one column": lambda columns: (
        events(1)
        .window(ff.lookback(2, 5))
        .aggregate(**{f"q{at}": ff.Quantile("x0", at / columns) for at in range(columns)})
    ),
    "conditions": lambda columns: (
        events(columns)
        .window(TEN)
        .aggregate(**{f"n{at}": ff.Filtered(ff.Count(), ff.expr(f"x{at} > 1")) for at in range(columns)})
    ),
    "together": lambda columns: (
        ff.together(a=events(columns), b=events(2)).window(TEN).aggregate(**sums(columns, "a."))
    ),
    "explain": lambda columns: str(events(columns).window(ff.lookback(2, 5)).explain(**sums(columns))),
    "files": of_file,
    "partials at rest": at_rest,
    "relations": joined,
    "SQL": in_sql,
}


def seconds(query: Callable[[int], Any], columns: int) -> float:
    begin = time.process_time()
    query(columns)
    return time.process_time() - begin


@pytest.mark.sampled(3)
@pytest.mark.parametrize("entry", ENTRIES)
def test_the_cost_grows_as_the_columns_do(entry: str) -> None:
    query = ENTRIES[entry]
    few = min(seconds(query, FEW) for _ in range(3))
    assert seconds(query, MANY) < MOST * few or seconds(query, MANY) < MOST * few  # another process may have been busy
