"""Ranges of every type that has them, against Python's own differences."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.numeric import STREAMS, Row, assert_right, close, drawn, exactly, rounded
from ..support.plans import BoundAggregate

DAY = datetime.date(2024, 2, 28)
NOON = datetime.datetime(2024, 3, 30, 12, 0, 0, 5, tzinfo=datetime.UTC)
SECOND = datetime.timedelta(seconds=1)


def spread(rows: list[Row]) -> Any:
    with localcontext(prec=60):
        return max(rows)[0] - min(rows)[0] if rows else None


def of_floats(rows: list[Row]) -> float | None:
    values = [row[0] for row in rows]
    if any(map(math.isnan, values)):
        return math.nan
    if not all(map(math.isfinite, values)):
        return float(max(values) - min(values))
    return rounded(Fraction(max(values)) - Fraction(min(values))) if values else None


@pytest.mark.parametrize("stream", STREAMS)
def test_of_awkward_floats(stream: str) -> None:
    assert_right(ff.Range("x"), {"x": drawn(STREAMS[stream], 60, 5)}, of_floats, close(0.0))


@pytest.mark.parametrize(
    ("type", "values", "result"),
    [
        (pa.int8(), [-128, 127, 0, 5], pa.int64()),
        (pa.uint32(), [0, 2**32 - 1, 7], pa.int64()),
        (pa.int64(), [-(2**62), 2**62 - 1, 0, 4], pa.int64()),
        (pa.uint64(), [0, 2**64 - 1, 2**63], pa.uint64()),
        (pa.decimal128(5, 2), [Decimal("-999.99"), Decimal("999.99"), Decimal("0.01")], pa.decimal128(6, 2)),
        (pa.decimal128(38, 2), [Decimal("1e30"), Decimal("-0.01"), Decimal("0.01")], pa.decimal128(38, 2)),
        (pa.date32(), [DAY, DAY + 5 * 86400 * SECOND, DAY.replace(year=1900)], pa.duration("us")),
        (pa.date64(), [DAY, DAY + 5 * 86400 * SECOND, DAY.replace(year=1900)], pa.duration("us")),
        (pa.timestamp("us", "UTC"), [NOON, NOON + SECOND / 8, NOON - 10**9 * SECOND], pa.duration("us")),
        (pa.timestamp("s", "UTC"), [NOON, NOON + SECOND, NOON - 10**9 * SECOND], pa.duration("us")),
        (pa.duration("ms"), [SECOND, 5 * SECOND, -SECOND / 4], pa.duration("us")),
    ],
    ids=str,
)
def test_types(type: pa.DataType, values: list[Any], result: pa.DataType) -> None:
    assert_right(ff.Range("x"), {"x": drawn(values, 60, 2, type)}, spread, exactly)
    assert BoundAggregate("x", ff.Range("x"), [type]).result == result


def test_narrow_floats_are_subtracted_as_wide_ones() -> None:
    for type in (pa.float16(), pa.float32()):
        events = pa.table({"t": [0, 0], "x": pa.array([1000.0, 2.0**-10]).cast(type)})
        result = ff.events(events, time="t").window(ff.tumbling(1)).aggregate(x=ff.Range("x"))
        assert result["x"].to_pylist() == [1000.0 - 2.0**-10]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([-(2**63), 1]),
        pa.array([Decimal("9" * 38), Decimal("-" + "9" * 38)], pa.decimal128(38, 0)),
        pa.array([-(2**62), 2**62], pa.timestamp("us")),
        pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()),
    ],
    ids=lambda values: str(values.type),
)
def test_too_wide(values: pa.Array) -> None:
    query = ff.events(pa.table({"t": [0, 0], "x": values}), time="t").window(ff.tumbling(1))
    with pytest.raises(ff.SumOverflowError, match="the range of 'x' does not fit"):
        query.aggregate(x=ff.Range("x"))


@pytest.mark.parametrize("type", [pa.string(), pa.bool_(), pa.list_(pa.int64()), pa.time64("us")], ids=str)
def test_needs_differences(type: pa.DataType) -> None:
    with pytest.raises(ff.ColumnError, match="needs a column of numbers, dates, timestamps or durations"):
        ff.Range("x").bind(type)
