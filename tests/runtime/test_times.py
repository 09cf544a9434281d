"""Durations and time columns as integers; what does not fit is refused in a sentence."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.runtime.columns.ticks import describe, drop_null_times, microseconds, overflow_guard

from ..support.windows import TimeColumn

SECOND = 1_000_000
UNITS = ["weeks", "days", "hours", "minutes", "seconds", "milliseconds", "microseconds"]
TIMESTAMP, DATE, INTEGER = (TimeColumn("at", type) for type in (pa.timestamp("us"), pa.date32(), pa.int64()))
DURATIONS = {
    "1 hour": 3600, "1 HOUR": 3600, "  90   seconds ": 90, "interval 500 milliseconds": 0.5, "1 week -1 day": 518_400,
    "INTERVAL 1 day 12 hours": 129_600, "-5 minutes": -300, "- 5 minutes": -300, "+5 minutes": 300, "1.5 hours": 5400,
    "-0.5 seconds": -0.5, "-1.25 ms": -0.00125, "0.000001 seconds": 1e-6, "1h30m": 5400, "-1h30m": -5400,
    "-1h+30m": -1800, "-1 hour 30 minutes": -1800, "1w": 604_800, "0 seconds": 0,
    "2 d 3 hrs 4 mins 5 secs 6 ms 7 us": 183_845.006007,
}  # fmt: skip


def test_durations() -> None:
    assert {text: microseconds(text, "size") for text in DURATIONS} == {
        text: round(seconds * SECOND) for text, seconds in DURATIONS.items()
    }


@given(st.dictionaries(st.sampled_from(UNITS), st.integers(-999, 999), min_size=1), st.decimals(-1000, 1000, places=6))
def test_durations_of_several_parts(parts: dict[str, int], number: Any) -> None:
    text = " ".join(f"{number} {unit}" for unit, number in parts.items())
    assert microseconds(text, "size") == dt.timedelta(**parts) // dt.timedelta(microseconds=1)
    assert microseconds(f"{number:f} seconds", "size") == int(number * SECOND)


@given(st.integers(0, 10**15))
def test_described_durations_parse_again(ticks: int) -> None:
    words = describe(ticks, pa.timestamp("us"))
    assert words == "0" if not ticks else microseconds(words, "size") == ticks


NONE = """
| |hour| 1 |one hour|1 hour and 5|1 hour, 5 minutes|interval|1e3 seconds|1..5 hours|1 fortnight|5 nanoseconds|hour 1
1 hour 5|nan seconds|1:30|P1H|PT|0x1 seconds|1_000 seconds|.5 hours|--5 seconds
"""


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (NONE.strip("\n").replace("\n", "|").split("|"), "size is"),
        (["1 month", "2 months", "1 quarter", "1 year", "1 year 2 days"], "no fixed length"),
        (["0.5 microseconds", "0.0000001 seconds", "1.2345 ms"], "whole number of microseconds"),
    ],
)
def test_what_is_no_duration(texts: list[str], said: str) -> None:
    for text in texts:
        with pytest.raises(ff.DurationError, match=said) as caught:
            microseconds(text, "size")
        assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (TIMESTAMP, "1 hour", 3600 * SECOND),
        (TIMESTAMP, dt.timedelta(days=-1, microseconds=1), -86_400 * SECOND + 1),
        (TIMESTAMP, np.timedelta64(3, "s"), 3 * SECOND), (TIMESTAMP, np.timedelta64(2, "D"), 2 * 86_400 * SECOND),
        (TIMESTAMP, 60, "60"), (TIMESTAMP, True, "True"), (TIMESTAMP, 1.5, "1.5"), (TIMESTAMP, None, "None"),
        (TIMESTAMP, np.timedelta64(1500, "ns"), "microseconds"),
        (TIMESTAMP, np.timedelta64(1, "M"), "fixed length|timedelta64"), (DATE, "2 weeks", 14), (DATE, "48 hours", 2),
        (DATE, dt.timedelta(3), 3), (DATE, "1 hour", "whole days"), (DATE, "36 hours", "whole days"), (DATE, 7, "7"),
        (INTEGER, 60, 60), (INTEGER, np.int32(7), 7), (INTEGER, "1 hour", "integer"),
        (INTEGER, dt.timedelta(1), "integer"), (INTEGER, 1.0, "1.0"), (INTEGER, False, "False"),
    ],
)  # fmt: skip
def test_durations_in_ticks_of_a_column(column: TimeColumn, value: Any, expected: int | str) -> None:
    """Or the sentence in which one is refused that does not fit the column."""
    assert column.duration(0, "offset") == 0
    if isinstance(expected, int):
        assert column.duration(value, "size") == expected
        return
    with pytest.raises(ff.DurationError, match=expected):
        column.duration(value, "every")


MOMENTS = [dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59), dt.datetime(2262, 5, 1)]
EPOCH = dt.datetime(1970, 1, 1)


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_timestamps_of_every_unit_and_zone(unit: str) -> None:
    """Ticks count from the epoch in UTC, whatever the zone; bounds carry the zone."""
    for zone in (None, "UTC", "Europe/Berlin", "+05:30"):
        column = TimeColumn("at", pa.timestamp(unit, zone))
        ticks = column.ticks(pa.array(MOMENTS, pa.timestamp(unit)).cast(column.type))
        assert ticks.tolist() == [(moment - EPOCH) // dt.timedelta(microseconds=1) for moment in MOMENTS]
        bounds = column.bounds(ticks)
        assert bounds.type == pa.timestamp("us", zone)
        assert bounds.cast(pa.timestamp("us")).to_pylist() == MOMENTS


def test_nanoseconds() -> None:
    column = TimeColumn("at", pa.timestamp("ns"))
    assert column.ticks(pa.array([-1_000, 2_000], pa.timestamp("ns"))).tolist() == [-1, 2]
    for odd in (1, -1, 1_500, 999):
        with pytest.raises(ff.ColumnError, match=r"'at'.*digits below a microsecond"):
            column.ticks(pa.array([0, odd], pa.timestamp("ns")))


def test_dates_and_integers() -> None:
    days = [dt.date(1, 1, 1), dt.date(1970, 1, 2), dt.date(9999, 12, 31)]
    for type in (pa.date32(), pa.date64()):
        column = TimeColumn("at", type)
        ticks = column.ticks(pa.array(days, type))
        assert ticks.tolist() == [(day - EPOCH.date()).days for day in days]
        assert column.bounds(ticks).to_pylist() == days
        assert column.bound_type == column.bounds(ticks).type == pa.date32()
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        column = TimeColumn("at", getattr(pa, name)())
        assert column.ticks(pa.array([0, 7, 127], column.type)).tolist() == [0, 7, 127]
        assert column.bounds(np.array([-5])).type == pa.int64()


def test_nulls() -> None:
    with pytest.raises(ff.NullTimeError, match="'at' is null in 2 of 3 events"):
        INTEGER.ticks(pa.array([None, 1, None]))
    assert drop_null_times(pa.table({"at": [None, 1]}), "at").to_pylist() == [{"at": 1}]


@pytest.mark.parametrize(
    "type", [pa.string(), pa.float64(), pa.bool_(), pa.time64("us"), pa.duration("s"), pa.list_(pa.int64())]
)
def test_types_that_are_no_times(type: pa.DataType) -> None:
    with pytest.raises(ff.ColumnError, match="'at'"):
        TimeColumn("at", type)


def count(times: pa.Array, window: Any) -> pa.Table:
    return ff.events(pa.table({"at": times}), time="at").window(window).aggregate(n=ff.Count())


def test_what_is_beyond_the_range() -> None:
    """Times, windows of times, sizes; whether there are events or none."""
    said = r"'at'.*beyond the range of int64"
    for type, value in ((pa.uint64(), 2**63), (pa.timestamp("s"), 2**62), (pa.timestamp("ms"), -(2**62))):
        with pytest.raises(ff.ColumnError, match=said):
            TimeColumn("at", type).ticks(pa.array([0, value], type))
    for time in (2**63 - 1, 2**63 - 10, -(2**63), -(2**63) + 10):
        with pytest.raises(ff.ColumnError, match=said):
            count(pa.array([0, time]), ff.sliding(10, 3))
    for day in (2**31 - 1, -(2**31)):
        with pytest.raises(ff.ColumnError, match="'at'"):
            count(pa.array([day], pa.int32()).view(pa.date32()), ff.sliding("7 days", "1 day"))
    for size in (2**63, 2**70):
        for times in ([0], []):
            with pytest.raises((ff.ColumnError, ff.DurationError)):
                count(pa.array(times, pa.int64()), ff.tumbling(size))


@pytest.mark.parametrize(("column", "bits"), [(INTEGER, 63), (TIMESTAMP, 63), (DATE, 31)])
def test_overflow_guard_at_the_border(column: TimeColumn, bits: int) -> None:
    ticks = np.array([-3, 4])
    overflow_guard(ticks, 2**bits - 3, 2**bits - 5, column)
    overflow_guard(ticks[:0], 2**bits, 2**bits, column)
    for before, after in ((2**bits - 2, 0), (0, 2**bits - 4)):
        with pytest.raises(ff.ColumnError, match="beyond the range"):
            overflow_guard(ticks, before, after, column)


def test_a_date_is_its_midnight_where_times_have_no_zone() -> None:
    day, midnight = dt.date(2026, 1, 31), dt.datetime(2026, 1, 31)
    assert TIMESTAMP.instant(day, "since") == TIMESTAMP.instant(midnight, "since") == 1_769_817_600 * SECOND
    assert DATE.instant(day, "since") == 1_769_817_600 // 86_400
    zoned = TimeColumn("at", pa.timestamp("us", "UTC"))
    for column, value, expected in (
        (zoned, midnight, "expected a time with a zone such as '2026-01-31T09:00Z'"),
        (TIMESTAMP, midnight.replace(tzinfo=dt.UTC), "expected a time without a zone such as '2026-01-31T09:00'"),
    ):
        with pytest.raises(ff.ColumnError, match=f"^since is .* {expected}$"):
            column.instant(value, "since")
