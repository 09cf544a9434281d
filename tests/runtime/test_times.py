"""Durations and time columns as integers; what does not fit is refused in a sentence."""

from __future__ import annotations

import datetime
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
UNITS = {"weeks": 7, "days": 1, "hours": 1, "minutes": 1, "seconds": 1, "milliseconds": 1, "microseconds": 1}
TIMESTAMP, DATE, INTEGER = (TimeColumn("at", type) for type in (pa.timestamp("us"), pa.date32(), pa.int64()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 hour", datetime.timedelta(hours=1)),
        ("1 HOUR", datetime.timedelta(hours=1)),
        ("  90   seconds ", datetime.timedelta(seconds=90)),
        ("interval 500 milliseconds", datetime.timedelta(milliseconds=500)),
        ("INTERVAL 1 day 12 hours", datetime.timedelta(days=1, hours=12)),
        ("1 week -1 day", datetime.timedelta(days=6)),
        ("-5 minutes", datetime.timedelta(minutes=-5)),
        ("- 5 minutes", datetime.timedelta(minutes=-5)),
        ("+5 minutes", datetime.timedelta(minutes=5)),
        ("1.5 hours", datetime.timedelta(minutes=90)),
        ("-0.5 seconds", datetime.timedelta(milliseconds=-500)),
        ("-1.25 ms", datetime.timedelta(microseconds=-1250)),
        ("0.000001 seconds", datetime.timedelta(microseconds=1)),
        ("1h30m", datetime.timedelta(minutes=90)),
        ("-1h30m", datetime.timedelta(minutes=-90)),
        ("-1h+30m", datetime.timedelta(minutes=-30)),
        ("-1 hour 30 minutes", datetime.timedelta(minutes=-30)),
        ("2 d 3 hrs 4 mins 5 secs 6 ms 7 us", datetime.timedelta(2, 5, 6007, hours=3, minutes=4)),
        ("1w", datetime.timedelta(7)),
        ("0 seconds", datetime.timedelta()),
    ],
)
def test_durations(text: str, expected: datetime.timedelta) -> None:
    assert microseconds(text, "size") == expected // datetime.timedelta(microseconds=1)


@given(st.dictionaries(st.sampled_from(sorted(UNITS)), st.integers(-999, 999), min_size=1))
def test_durations_of_several_parts(parts: dict[str, int]) -> None:
    text = " ".join(f"{number} {unit}" for unit, number in parts.items())
    assert microseconds(text, "size") == datetime.timedelta(**parts) // datetime.timedelta(microseconds=1)


@given(st.decimals(-1000, 1000, places=6))
def test_fractions_of_seconds(number: Any) -> None:
    assert microseconds(f"{number:f} seconds", "size") == int(number * SECOND)


NONE = """
hour| 1 |one hour|1 hour and 5|1 hour, 5 minutes|interval|1e3 seconds|1..5 hours|1 fortnight|5 nanoseconds|hour 1
1 hour 5|nan seconds|1:30|P1H|PT|0x1 seconds|1_000 seconds|.5 hours|--5 seconds
"""


@pytest.mark.parametrize("text", ["", " ", *NONE.strip().replace("\n", "|").split("|")])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ff.DurationError, match="size is") as caught:
        microseconds(text, "size")
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["1 month", "2 months", "1 quarter", "1 year", "1 year 2 days"])
def test_calendar_units_have_no_fixed_length(text: str) -> None:
    with pytest.raises(ff.DurationError, match="no fixed length"):
        microseconds(text, "every")


@pytest.mark.parametrize("text", ["0.5 microseconds", "0.0000001 seconds", "1.2345 ms"])
def test_less_than_a_microsecond(text: str) -> None:
    with pytest.raises(ff.DurationError, match="whole number of microseconds"):
        microseconds(text, "size")


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (TIMESTAMP, "1 hour", 3600 * SECOND),
        (TIMESTAMP, datetime.timedelta(days=-1, microseconds=1), -86_400 * SECOND + 1),
        (TIMESTAMP, np.timedelta64(3, "s"), 3 * SECOND),
        (TIMESTAMP, np.timedelta64(2, "D"), 2 * 86_400 * SECOND),
        (DATE, "2 weeks", 14),
        (DATE, "48 hours", 2),
        (DATE, datetime.timedelta(3), 3),
        (INTEGER, 60, 60),
        (INTEGER, np.int32(7), 7),
    ],
)
def test_ticks_of_durations(column: TimeColumn, value: Any, expected: int) -> None:
    assert column.duration(value, "size") == expected


@pytest.mark.parametrize(
    ("column", "value", "found"),
    [
        (TIMESTAMP, 60, "60"),
        (TIMESTAMP, True, "True"),
        (TIMESTAMP, 1.5, "1.5"),
        (TIMESTAMP, None, "None"),
        (TIMESTAMP, np.timedelta64(1500, "ns"), "microseconds"),
        (TIMESTAMP, np.timedelta64(1, "M"), "fixed length|timedelta64"),
        (DATE, "1 hour", "whole days"),
        (DATE, "36 hours", "whole days"),
        (DATE, 7, "7"),
        (INTEGER, "1 hour", "integer"),
        (INTEGER, datetime.timedelta(1), "integer"),
        (INTEGER, 1.0, "1.0"),
        (INTEGER, False, "False"),
    ],
)
def test_durations_that_do_not_fit_the_column(column: TimeColumn, value: Any, found: str) -> None:
    with pytest.raises(ff.DurationError, match=found):
        column.duration(value, "every")


def test_no_offset_fits_every_column() -> None:
    assert [column.duration(0, "offset") for column in (TIMESTAMP, DATE, INTEGER)] == [0, 0, 0]


MOMENTS = [datetime.datetime(1, 1, 1), datetime.datetime(1969, 12, 31, 23, 59, 59), datetime.datetime(2262, 5, 1)]
EPOCH = datetime.datetime(1970, 1, 1)


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+05:30"])
def test_timestamps_of_every_unit_and_zone(unit: str, zone: str | None) -> None:
    """Ticks count from the epoch in UTC, whatever the zone; bounds carry the zone."""
    column = TimeColumn("at", pa.timestamp(unit, zone))
    values = pa.array(MOMENTS, pa.timestamp(unit)).cast(column.type)
    ticks = column.ticks(values)
    assert ticks.tolist() == [(moment - EPOCH) // datetime.timedelta(microseconds=1) for moment in MOMENTS]
    bounds = column.bounds(ticks)
    assert bounds.type == pa.timestamp("us", zone)
    assert bounds.cast(pa.timestamp("us")).to_pylist() == MOMENTS


def test_nanoseconds() -> None:
    column = TimeColumn("at", pa.timestamp("ns"))
    assert column.ticks(pa.array([-1_000, 2_000], pa.timestamp("ns"))).tolist() == [-1, 2]
    for odd in (1, -1, 1_500, 999):
        with pytest.raises(ff.ColumnError, match=r"'at'.*digits below a microsecond"):
            column.ticks(pa.array([0, odd], pa.timestamp("ns")))


def test_dates() -> None:
    days = [datetime.date(1, 1, 1), datetime.date(1970, 1, 2), datetime.date(9999, 12, 31)]
    for type in (pa.date32(), pa.date64()):
        column = TimeColumn("at", type)
        ticks = column.ticks(pa.array(days, type))
        assert ticks.tolist() == [(day - EPOCH.date()).days for day in days]
        assert column.bounds(ticks).to_pylist() == days
        assert column.bound_type == column.bounds(ticks).type == pa.date32()


@pytest.mark.parametrize(
    "type", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
)
def test_integers(type: pa.DataType) -> None:
    column = TimeColumn("at", type)
    assert column.ticks(pa.array([0, 7, 127], type)).tolist() == [0, 7, 127]
    assert column.bounds(np.array([-5])).type == pa.int64()


@pytest.mark.parametrize(
    ("type", "value"), [(pa.uint64(), 2**63), (pa.timestamp("s"), 2**62), (pa.timestamp("ms"), -(2**62))]
)
def test_times_beyond_int64(type: pa.DataType, value: int) -> None:
    with pytest.raises(ff.ColumnError, match=r"'at'.*beyond the range of int64"):
        TimeColumn("at", type).ticks(pa.array([0, value], type))


@pytest.mark.parametrize(
    "type", [pa.string(), pa.float64(), pa.bool_(), pa.time64("us"), pa.duration("s"), pa.list_(pa.int64())]
)
def test_types_that_are_no_times(type: pa.DataType) -> None:
    with pytest.raises(ff.ColumnError, match="'at'"):
        TimeColumn("at", type)


def count(times: pa.Array, window: Any) -> pa.Table:
    return ff.events(pa.table({"at": times}), time="at").window(window).aggregate(n=ff.Count())


@pytest.mark.parametrize("time", [2**63 - 1, 2**63 - 10, -(2**63), -(2**63) + 10])
def test_windows_that_would_leave_int64(time: int) -> None:
    with pytest.raises(ff.ColumnError, match=r"'at'.*beyond the range of int64"):
        count(pa.array([0, time]), ff.sliding(10, 3))


@pytest.mark.parametrize("day", [2**31 - 1, -(2**31)])
def test_windows_that_would_leave_the_range_of_dates(day: int) -> None:
    days = pa.array([day], pa.int32()).view(pa.date32())
    with pytest.raises(ff.ColumnError, match="'at'"):
        count(days, ff.sliding("7 days", "1 day"))


@pytest.mark.parametrize("size", [2**63, 2**70])
def test_sizes_beyond_int64(size: int) -> None:
    """Whether there are events or none."""
    with pytest.raises((ff.ColumnError, ff.DurationError)):
        count(pa.array([0]), ff.tumbling(size))
    with pytest.raises((ff.ColumnError, ff.DurationError)):
        count(pa.array([], pa.int64()), ff.tumbling(size))


@pytest.mark.parametrize(("column", "bits"), [(INTEGER, 63), (TIMESTAMP, 63), (DATE, 31)])
def test_overflow_guard_at_the_border(column: TimeColumn, bits: int) -> None:
    ticks = np.array([-3, 4])
    overflow_guard(ticks, 2**bits - 3, 2**bits - 5, column)
    overflow_guard(ticks[:0], 2**bits, 2**bits, column)
    for before, after in ((2**bits - 2, 0), (0, 2**bits - 4)):
        with pytest.raises(ff.ColumnError, match="beyond the range"):
            overflow_guard(ticks, before, after, column)


def test_nulls() -> None:
    with pytest.raises(ff.NullTimeError, match="'at' is null in 2 of 3 events"):
        INTEGER.ticks(pa.array([None, 1, None]))
    assert drop_null_times(pa.table({"at": [None, 1]}), "at").to_pylist() == [{"at": 1}]


@given(st.integers(0, 10**15))
def test_described_durations_parse_again(ticks: int) -> None:
    words = describe(ticks, pa.timestamp("us"))
    assert words == "0" if not ticks else microseconds(words, "size") == ticks


def test_a_date_is_its_midnight_where_times_have_no_zone() -> None:
    day = datetime.date(2026, 1, 31)
    midnight = datetime.datetime(2026, 1, 31)
    assert TIMESTAMP.instant(day, "since") == TIMESTAMP.instant(midnight, "since") == 1_769_817_600_000_000
    assert DATE.instant(day, "since") == 1_769_817_600 // 86_400
    zoned = TimeColumn("at", pa.timestamp("us", "UTC"))
    for column, value, expected in (
        (zoned, midnight, "expected a time with a zone such as '2026-01-31T09:00Z'"),
        (TIMESTAMP, midnight.replace(tzinfo=datetime.UTC), "expected a time without a zone such as '2026-01-31T09:00'"),
    ):
        with pytest.raises(ff.ColumnError, match=f"^since is .* {expected}$"):
            column.instant(value, "since")
