"""Histogram against counters and numpy.histogram of each window's own values."""

from __future__ import annotations

import datetime
import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.brute import ANY, DAY, NOON, VALUES, Row, assert_right, column, ordered, table_of
from ..support.plans import BoundAggregate
from .test_distinct import counted


@pytest.mark.parametrize("kind", ANY)
def test_counts_a_value(kind: str) -> None:
    right = lambda rows: sorted(counted(rows).items(), key=lambda item: ordered(item[0]))  # noqa: E731
    assert_right(ff.Histogram("x"), table_of(x=column(kind)), right, windows=[(5, 2)])


@pytest.mark.parametrize("kind", ["int8", "float64", "float32", "short decimal"])
@pytest.mark.parametrize("edges", [[-3, 0, 2, 127], [-2.5, 1.5], [0.5, 0.75, math.inf]])
def test_bins(kind: str, edges: list[Any]) -> None:
    def right(rows: list[Row]) -> list[int]:
        values = [float(value) for (value,) in rows if value is not None and value == value]
        inside = [value for value in values if edges[0] <= value <= edges[-1]]
        counts = [0] * (len(edges) - 1)
        for value in inside:
            counts[max(i for i in range(len(counts)) if edges[i] <= value)] += 1
        if math.isfinite(edges[-1]):
            assert counts == np.histogram(inside, edges)[0].tolist()
        return counts

    table = table_of(x=column(kind))
    assert_right(ff.Histogram("x", bins=edges), table, right)


@pytest.mark.parametrize(
    ("kind", "edges"),
    [
        ("date", [datetime.date(1905, 1, 1), DAY, DAY + datetime.timedelta(2)]),
        ("timestamp", [NOON.replace(year=1910, month=3), NOON, NOON + datetime.timedelta(seconds=1)]),
        ("timestamp", [NOON.astimezone(datetime.timezone(datetime.timedelta(hours=5))), NOON.replace(year=2030)]),
        ("duration", [datetime.timedelta(hours=-1), datetime.timedelta(0), datetime.timedelta(1)]),
    ],
    ids=str,
)
def test_bins_of_dates_and_times(kind: str, edges: list[Any]) -> None:
    def right(rows: list[Row]) -> list[int]:
        values = [value for (value,) in rows if value is not None]
        counts = [sum(low <= value < high for value in values) for low, high in itertools.pairwise(edges)]
        counts[-1] += values.count(edges[-1])
        return counts

    table = table_of(x=column(kind))
    assert_right(ff.Histogram("x", bins=edges), table, right)


def test_bins_of_numpy_times() -> None:
    times = np.array(["2024-01-01", "2024-01-03", "2024-01-09"], "datetime64[s]")
    table = pa.table(
        {"t": [0, 0, 0], "x": pa.array(times.astype("datetime64[ns]")), "d": times.astype("datetime64[D]")}
    )
    query = ff.events(table, time="t").window(ff.tumbling(1))
    days = times.astype("datetime64[D]")
    found = query.aggregate(x=ff.Histogram("x", bins=times), d=ff.Histogram("d", bins=days)).select(["x", "d"])
    assert found.to_pylist() == [{"x": [1, 2], "d": [1, 2]}]


def test_bins_deduct_and_values_do_not() -> None:
    assert BoundAggregate("x", ff.Histogram("x", bins=[0, 1]), [pa.int64()]).deducts[0]
    assert not BoundAggregate("x", ff.Histogram("x"), [pa.int64()]).deducts[0]


def test_large_integers_are_not_rounded() -> None:
    for type, least in [(pa.int64(), 2**53), (pa.uint64(), 2**53), (pa.uint64(), 2**64 - 3)]:
        table = pa.table({"t": [0, 0], "x": pa.array([least, least + 1], type)})
        query = ff.events(table, time="t").window(ff.tumbling(1))
        found = query.aggregate(x=ff.Histogram("x", bins=[least, least + 1, least + 2]))
        assert found["x"].to_pylist() == [[1, 1]]


@pytest.mark.parametrize("bins", [[], [1], [2, 1], [1, 1], 5, ["a", 1]])
def test_wrong_bins(bins: Any) -> None:
    with pytest.raises(ff.QueryError, match="expected two or more edges, ascending"):
        ff.Histogram("x", bins=bins)


@pytest.mark.parametrize(
    ("kind", "edges", "expected"),
    [
        ("date", [0, 1], r"expected dates, such as datetime\.date\(2024, 1, 31\), as 'x' is date32"),
        ("date", ["a", "b"], "expected dates"),
        ("date", [NOON, NOON + datetime.timedelta(1)], "expected dates"),
        ("timestamp", [0, 10**18], r"expected datetimes, such as datetime\.datetime\("),
        ("timestamp", [DAY, DAY + datetime.timedelta(1)], "expected datetimes"),
        ("timestamp", [datetime.datetime(2024, 1, 1), datetime.datetime(2025, 1, 1)], "datetimes with a time zone"),
        ("duration", [0, 1], r"expected durations, such as datetime\.timedelta"),
        ("int8", [DAY, DAY + datetime.timedelta(1)], "expected numbers, as 'x' is int8"),
        ("int8", ["1", "2"], "expected numbers"),
        ("float64", [False, True], "expected numbers"),
        ("string", [0, 1], "needs a column of numbers, dates, timestamps or durations for its bins; 'x' is string"),
    ],
)
def test_bins_of_a_wrong_kind(kind: str, edges: list[Any], expected: str) -> None:
    with pytest.raises(ff.ColumnError if kind == "string" else ff.QueryError, match=expected):
        BoundAggregate("x", ff.Histogram("x", bins=edges), [VALUES[kind][0]])


def test_edges_that_the_column_cannot_hold() -> None:
    edges = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 0, 0, 0, 500_000)]
    with pytest.raises(ff.QueryError, match=r"expected edges that timestamp\[s\] can hold"):
        BoundAggregate("x", ff.Histogram("x", bins=edges), [pa.timestamp("s")])
    with pytest.raises(ff.QueryError, match="expected datetimes without a time zone"):
        BoundAggregate("x", ff.Histogram("x", bins=[NOON, NOON.replace(year=2030)]), [pa.timestamp("s")])
