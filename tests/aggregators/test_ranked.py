"""ArgMin, ArgMax, TopN and BottomN against sorting each window's rows."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.brute import ANY, Row, assert_right, column, ordered, table_of


def best(rows: list[Row], place: int, greatest: bool) -> list[Row]:
    """The rows that are not null at a place, best first; of equal ones the earlier first, as sorting is stable."""
    known = [row for row in rows if row[place] is not None]
    return sorted(known, key=lambda row: ordered(row[place]), reverse=greatest)


@pytest.mark.parametrize("kind", ANY)
def test_arguments_of_every_type(kind: str) -> None:
    table = table_of(who=column("string", seed=1), x=column(kind))
    one = lambda rows: rows[0][0] if rows else None  # noqa: E731
    assert_right(ff.ArgMin("who", "x"), table, lambda rows: one(best(rows, 1, False)), windows=[(5, 2), (24, 3)])
    assert_right(ff.ArgMax("who", "x"), table, lambda rows: one(best(rows, 1, True)), windows=[(5, 2), (24, 3)])


@pytest.mark.parametrize("kind", ANY)
def test_values_of_every_type_at_an_extreme(kind: str) -> None:
    """The value may be null; an event whose `by` is null is left out."""
    table = table_of(who=column(kind), x=column("int8", seed=3))
    right = lambda rows: next((row[0] for row in best(rows, 1, True)), None)  # noqa: E731
    assert_right(ff.ArgMax("who", "x"), table, right, windows=[(1, 1)])


@pytest.mark.parametrize("kind", ANY)
def test_top_and_bottom_of_every_type(kind: str) -> None:
    table = table_of(x=column(kind))
    for operation, greatest in ((ff.TopN("x", 3), True), (ff.BottomN("x", 3), False)):
        right = lambda rows, greatest=greatest: [row[0] for row in best(rows, 0, greatest)[:3]]  # noqa: E731
        assert_right(operation, table, right, windows=[(5, 2)])


@pytest.mark.parametrize("greatest", [True, False])
def test_companions(greatest: bool) -> None:
    """They come with the value, null where they are; ties go to the earlier event."""
    table = table_of(x=column("float64"), a=column("string", seed=1), b=column("timestamp", seed=2))

    def right(rows: list[Row]) -> Any:
        return [dict(zip(("x", "a", "b"), row, strict=True)) for row in best(rows, 0, greatest)[:4]]

    assert_right((ff.TopN if greatest else ff.BottomN)("x", 4, "a", "b"), table, right)


def test_types_of_results() -> None:
    table = pa.table({"t": [0], "x": pa.array([1.0], pa.float32()), "y": ["a"]})
    query = ff.events(table, time="t").window(ff.tumbling(1))
    found = query.aggregate(a=ff.ArgMin("y", "x"), b=ff.TopN("x", 1), c=ff.TopN("x", 1, "y")).schema
    assert found.field("a").type == pa.string()
    assert found.field("b").type == pa.list_(pa.float32())
    assert found.field("c").type == pa.list_(pa.struct({"x": pa.float32(), "y": pa.string()}))


def test_nan_is_the_greatest() -> None:
    table = pa.table({"t": [0, 1], "x": [math.nan, math.inf], "y": ["a", "b"]})
    row = (
        ff.events(table, time="t")
        .window(ff.tumbling(2))
        .aggregate(a=ff.ArgMax("y", "x"), b=ff.ArgMin("y", "x"))
        .to_pylist()
    )
    assert (row[0]["a"], row[0]["b"]) == ("a", "b")


def test_wrong_arguments() -> None:
    with pytest.raises(ff.QueryError, match=r"n= of TopN\('x'\) is 0; expected an integer of 1 or more"):
        ff.TopN("x", 0)
    with pytest.raises(ff.QueryError, match="names a column twice"):
        ff.TopN("x", 2, "x")
    table = pa.table({"t": [0], "x": [[1]], "y": [1]})
    for operation in (ff.ArgMin("y", "x"), ff.TopN("x", 1)):
        with pytest.raises(ff.ColumnError, match="needs a column whose values have an order; 'x' is list"):
            ff.events(table, time="t").window(ff.tumbling(1)).aggregate(x=operation)


def test_columns_of_nulls() -> None:
    table = pa.table({"t": [0, 1], "x": pa.array([None, None], pa.string()), "y": ["a", "b"]})
    query = ff.events(table, time="t").window(ff.tumbling(2))
    row = query.aggregate(a=ff.ArgMax("y", "x"), b=ff.TopN("x", 2, "y"), c=ff.ArgMin("x", "y")).to_pylist()[0]
    assert (row["a"], row["b"], row["c"]) == (None, [], None)
