"""Histogram against counters and numpy.histogram of each window's own values."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff
from framefold import ColumnError, QueryError
from framefold.aggregators.binding import Bound
from framefold.aggregators.histogram import Histogram

from .brute import ANY, DAY, Row, assert_laws, assert_right, column, ordered, table_of
from .test_distinct import counted


@pytest.mark.parametrize("kind", ANY)
def test_counts_a_value(kind: str) -> None:
    right = lambda rows: sorted(counted(rows).items(), key=lambda item: ordered(item[0]))  # noqa: E731
    assert_right(Histogram("x"), table_of(x=column(kind)), right, windows=[(5, 2)])


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
    assert_right(Histogram("x", bins=edges), table, right)
    assert_laws(Histogram("x", bins=edges), table)


def test_bins_of_dates() -> None:
    edges = [DAY, DAY + datetime.timedelta(1), DAY + datetime.timedelta(9)]
    table = pa.table({"t": [0, 0, 0], "x": [DAY, DAY + datetime.timedelta(2), datetime.date(1905, 1, 1)]})
    query = ff.events(table, time="t").window(ff.tumbling(1))
    assert query.aggregate(x=Histogram("x", bins=edges))["x"].to_pylist() == [[1, 1]]


def test_bins_deduct_and_values_do_not() -> None:
    assert Bound("x", Histogram("x", bins=[0, 1]), [pa.int64()]).deducts[0]
    assert not Bound("x", Histogram("x"), [pa.int64()]).deducts[0]


def test_large_integers_are_not_rounded() -> None:
    table = pa.table({"t": [0, 0], "x": [2**53, 2**53 + 1]})
    query = ff.events(table, time="t").window(ff.tumbling(1))
    found = query.aggregate(x=Histogram("x", bins=[2**53, 2**53 + 1, 2**53 + 2]))
    assert found["x"].to_pylist() == [[1, 1]]


@pytest.mark.parametrize("bins", [[], [1], [2, 1], [1, 1], 5, ["a", 1]])
def test_wrong_bins(bins: Any) -> None:
    with pytest.raises(QueryError, match="expected two or more edges, ascending"):
        Histogram("x", bins=bins)


def test_bins_of_a_wrong_type() -> None:
    query = ff.events(pa.table({"t": [0], "x": ["a"], "d": [DAY]}), time="t").window(ff.tumbling(1))
    with pytest.raises(ColumnError, match=r"for its bins; 'x' is string"):
        query.aggregate(x=Histogram("x", bins=[0, 1]))
    with pytest.raises(QueryError, match="expected edges of the type date32"):
        query.aggregate(x=Histogram("d", bins=["a", "b"]))
