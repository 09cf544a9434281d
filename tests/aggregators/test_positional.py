"""First and Last, with and without a column that breaks ties."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.brute import ANY, Row, assert_right, column, expected, ordered, table_of


@pytest.mark.parametrize("kind", ANY)
def test_first_and_last_of_every_type(kind: str) -> None:
    table = table_of(x=column(kind))
    known = lambda rows: [value for (value,) in rows if value is not None]  # noqa: E731
    assert_right(ff.First("x"), table, lambda rows: next(iter(known(rows)), None), windows=[(5, 2)])
    assert_right(ff.Last("x"), table, lambda rows: next(reversed(known(rows)), None), windows=[(5, 2)])


@pytest.mark.parametrize("kind", ANY)
@pytest.mark.parametrize("first", [True, False])
def test_ties_are_broken_by_a_column_of_every_type(kind: str, first: bool) -> None:
    """Among events of one time: by the column, then by input order."""
    ids = pa.array(range(220))
    table = table_of(x=column("string", seed=1), tie=column(kind), id=ids)
    timed = table.append_column("time", table.column("t"))

    def right(rows: list[Row]) -> Any:
        known = [(time, ordered(tie), at, value) for time, tie, at, value in rows if None not in (tie, value)]
        return (min if first else max)(known)[3] if known else None

    rows = expected(timed, ["time", "tie", "id", "x"], 5, 2, right)
    operation = (ff.First if first else ff.Last)("x", ties="tie")
    found = ff.events(table, time="t", by="key").window(ff.sliding(5, every=2)).aggregate(x=operation)
    assert {(row["key"], row["window"]["start"]): row["x"] for row in found.to_pylist()} == rows


@pytest.mark.parametrize("kind", ["float64", "string", "timestamp"])
def test_ties_in_every_way(kind: str) -> None:
    """All events of one time, so that only the tie and input order decide."""
    table = table_of(x=column("int64", seed=2), tie=column(kind))
    table = table.set_column(0, "t", pa.array([7] * len(table)))

    def known(rows: list[Row]) -> list[Row]:
        return sorted((row for row in rows if None not in row), key=lambda row: ordered(row[1]))

    assert_right(ff.First("x", ties="tie"), table, lambda rows: known(rows)[0][0], windows=[(3, 1)])
    assert_right(ff.Last("x", ties="tie"), table, lambda rows: known(rows)[-1][0], windows=[(3, 1)])


def test_nan_ties_are_last() -> None:
    table = pa.table({"t": [0, 0, 0], "x": ["a", "b", "c"], "tie": [math.nan, 2.0, 1.0]})
    query = ff.events(table, time="t").window(ff.tumbling(1))
    found = query.aggregate(first=ff.First("x", ties="tie"), last=ff.Last("x", ties="tie")).to_pylist()
    assert (found[0]["first"], found[0]["last"]) == ("c", "a")


def test_a_column_without_an_order_breaks_no_ties() -> None:
    table = pa.table({"t": [0], "x": ["a"], "tie": [[1]]})
    with pytest.raises(ff.ColumnError, match=r"needs a column whose values have an order; 'tie' is list"):
        ff.events(table, time="t").window(ff.tumbling(1)).aggregate(x=ff.First("x", ties="tie"))
