"""First and Last: by time, ties by input order, nulls left out, in every type."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

events = st.lists(st.tuples(st.integers(-12, 12), st.one_of(st.none(), st.integers(0, 99))), min_size=1, max_size=20)


def expected(rows: list[tuple[int, Any]], start: int, end: int) -> tuple[Any, Any]:
    own = [
        (time, place, value) for place, (time, value) in enumerate(rows) if start <= time < end and value is not None
    ]
    return (min(own)[2], max(own)[2]) if own else (None, None)


@given(
    events,
    st.integers(1, 9),
    st.integers(1, 9),
    st.sampled_from([1, 3, 100]),
    st.sampled_from([pa.int64(), pa.string()]),
)
def test_windows_in_any_order_of_events(rows: list[Any], size: int, every: int, chunk: int, type: pa.DataType) -> None:
    """Also where the events come in several batches."""
    if type == pa.string():
        rows = [(time, None if value is None else f"{value:02}") for time, value in rows]
    table = pa.table({"t": pa.array([t for t, _ in rows], pa.int64()), "x": pa.array([x for _, x in rows], type)})
    result = (
        ff.events(table.to_reader(max_chunksize=chunk), time="t")
        .window(ff.sliding(size, every))
        .aggregate(first=ff.First("x"), last=ff.Last("x"))
    )
    for row in result.to_pylist():
        assert (row["first"], row["last"]) == expected(rows, row["window"]["start"], row["window"]["end"])


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (pa.bool_(), [True, False]),
        (pa.float64(), [float("inf"), -0.0]),
        (pa.float32(), [1.5, 2.5]),
        (pa.uint64(), [2**64 - 1, 0]),
        (pa.date32(), [5, -5]),
        (pa.timestamp("ns", "Europe/Berlin"), [1001, 1002]),
        (pa.time64("us"), [1001, 1002]),
        (pa.duration("ns"), [1001, 1002]),
        (pa.binary(), [b"\xff", b""]),
        (pa.list_(pa.int64()), [[1, 2], [3, 4]]),
        (pa.list_(pa.string()), [[], ["a", None]]),
        (pa.struct([("a", pa.int64())]), [{"a": 1}, {"a": None}]),
        (pa.map_(pa.string(), pa.int64()), [[("a", 1)], []]),
        (pa.decimal256(60, 1), ["1.5", "2.5"]),
    ],
    ids=str,
)
def test_every_type(type: pa.DataType, values: list[Any]) -> None:
    """Compared as Arrow has them, to the last nanosecond."""
    column = pa.array(values).cast(type) if pa.types.is_decimal(type) else pa.array(values, type)
    table = pa.table({"t": [1, 0], "x": column})
    result = ff.events(table, time="t").window(ff.sliding(2, 1)).aggregate(first=ff.First("x"), last=ff.Last("x"))
    assert result.schema.field("first").type == type
    middle = result.to_pydict()["window"].index({"start": 0, "end": 2})
    assert result["first"].combine_chunks().slice(middle, 1).equals(column.slice(1, 1))
    assert result["last"].combine_chunks().slice(middle, 1).equals(column.slice(0, 1))


def test_later_parts_win_ties_for_last_and_lose_them_for_first() -> None:
    table = pa.table({"t": [5] * 6, "x": list("abcdef")})
    reader = table.to_reader(max_chunksize=2)
    result = ff.events(reader, time="t").window(ff.tumbling(10)).aggregate(first=ff.First("x"), last=ff.Last("x"))
    assert result.select(["first", "last"]).to_pylist() == [{"first": "a", "last": "f"}]


def test_nan_is_a_value() -> None:
    table = pa.table({"t": [0, 1], "x": [float("nan"), None]})
    result = ff.events(table, time="t").window(ff.tumbling(10)).aggregate(last=ff.Last("x"), n=ff.Count("x"))
    assert str(result["last"].to_pylist()) == "[nan]"
