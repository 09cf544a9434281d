"""Times as int64 ticks.

A tick is a microsecond since the epoch in UTC for timestamps, a day for dates, and 1 for integers.
"""

from __future__ import annotations

import datetime
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.durations import MICROSECONDS, Length, fixed
from ...aggregators.durations import Duration as Duration
from ...aggregators.durations import microseconds as microseconds
from ...aggregators.errors import ColumnError, DurationError, NullTimeError, QueryError
from ...aggregators.states.arrays import Ints
from .plain import plain_type

Instant = datetime.datetime | datetime.date | int | str
"""A point in time as a user writes it: as the time column has it, or as an ISO string."""

DAY = MICROSECONDS["day"]
OF_SECONDS = "time=F.timestamp_seconds('t') on Spark, else time=pc.field('t').cast(pa.timestamp('s'))"
"""How integers that count seconds since 1970 become times."""
OF_TEXT = "time=F.to_timestamp('t') on Spark, else time=pc.field('t').cast(pa.timestamp('us'))"
"""How text becomes times."""
LIMIT = 1 << 63
NEVER = LIMIT - 1
"""The tick at which events end that have a null for it: later than all others."""


@dataclass(frozen=True)
class TimeColumn:
    """The time column of a query: its name and Arrow type, and the argument that names it, for messages.

    Raises
    ------
    ColumnError
        If the type is neither a timestamp nor a date nor an integer.
    """

    name: str
    type: pa.DataType
    argument: str = field(default="time=", compare=False, repr=False)

    def __post_init__(self) -> None:
        if not (pa.types.is_timestamp(self.type) or pa.types.is_date(self.type) or pa.types.is_integer(self.type)):
            text = plain_type(self.type) in (pa.string(), pa.large_string())
            hint = f"; parse it into a timestamp first: {with_name(OF_TEXT, self.name)}" if text else ""
            raise ColumnError(
                f"{self.argument} needs a column of timestamps, dates or integers; {self.name!r} is {self.type}{hint}"
            )

    @property
    def kind(self) -> str:
        """The kind of its type, for messages."""
        if pa.types.is_integer(self.type):
            return f"an integer column ({self.type})"
        return f"a date column ({self.type})" if pa.types.is_date(self.type) else f"a timestamp column ({self.type})"

    @property
    def bound_type(self) -> pa.DataType:
        """The type of the bounds of windows: int64, date32, or timestamps in microseconds with the column's zone."""
        if pa.types.is_integer(self.type):
            return pa.int64()
        return pa.date32() if pa.types.is_date(self.type) else pa.timestamp("us", tz=self.type.tz)

    def compares_with(self, other: TimeColumn) -> bool:
        """Whether ticks of both mean the same: those of times in any two zones do."""
        one, two = self.bound_type, other.bound_type
        return one == two or all(pa.types.is_timestamp(each) and each.tz is not None for each in (one, two))

    def duration(self, value: Duration, argument: str) -> int:
        """The ticks of a duration; DurationError where it does not parse or does not fit the column."""
        found = fixed(value, argument)
        if pa.types.is_integer(self.type):
            if isinstance(found, Length):
                raise DurationError(
                    f"{argument} is {value!r}, but the time {self.name!r} is {self.kind}; expected an integer "
                    f"such as 60, or times: {with_name(OF_SECONDS, self.name)}"
                )
            return found
        if not isinstance(found, Length):
            if value == 0 and argument == "offset":
                return 0
            raise DurationError(
                f"{argument} is {value!r}, but the time {self.name!r} is {self.kind}; expected a duration such "
                f"as {'7 days' if pa.types.is_date(self.type) else '1 hour'!r}"
            )
        micros = found.microseconds
        if not pa.types.is_date(self.type):
            return micros
        days, rest = divmod(micros, DAY)
        if rest:
            raise DurationError(
                f"{argument} is {str(value)!r}, but the time {self.name!r} is {self.kind}; expected whole days, "
                "such as '7 days'"
            )
        return days

    def length(self, value: Duration, argument: str) -> int:
        """The ticks of a duration; DurationError unless it is above zero and fits int64."""
        ticks = self.duration(value, argument)
        if ticks <= 0:
            raise DurationError(f"{argument} is {value!r}; expected a duration above zero")
        if ticks >= LIMIT:
            raise DurationError(f"{argument} is {value!r}; expected a duration that fits int64")
        return ticks

    def instant(self, value: Instant, argument: str, zone: str | None = None) -> int:
        """The tick of a point in time; ColumnError where it is not one of this column's.

        A date is its beginning, in a zone, or else in that of the column; a time without a zone is in one that is said.
        """
        found: Any = value
        if isinstance(value, str) and not pa.types.is_integer(self.type):
            found = parsed(value)
            if isinstance(found, datetime.datetime) and found.time() == datetime.time() and pa.types.is_date(self.type):
                found = found.date()
        if pa.types.is_integer(self.type):
            expected = "an integer"
            if isinstance(found, (int, np.integer)) and not isinstance(found, bool):
                if abs(int(found)) >= LIMIT:
                    raise ColumnError(f"{argument} is {value!r}; expected an integer that fits int64")
                return int(found)
        elif pa.types.is_date(self.type):
            expected = "a date such as '2026-01-31'"
            if isinstance(found, datetime.date) and not isinstance(found, datetime.datetime):
                return found.toordinal() - datetime.date(1970, 1, 1).toordinal()
        else:
            zoned = self.type.tz is not None
            expected = f"a time with{'' if zoned else 'out'} a zone such as '2026-01-31T09:00{'Z' * zoned}'"
            day = isinstance(found, datetime.date) and not isinstance(found, datetime.datetime)
            if day or (zone is not None and isinstance(found, datetime.datetime) and found.utcoffset() is None):
                local = pa.array(
                    [datetime.datetime.combine(found, datetime.time()) if day else found], pa.timestamp("us")
                )
                if zoned:
                    kind = {"ambiguous": "earliest", "nonexistent": "latest"}
                    local = pc.assume_timezone(local, zone or self.type.tz, **kind)
                return int(local.view(pa.int64())[0].as_py())
            if isinstance(found, datetime.datetime) and (found.utcoffset() is not None) == zoned:
                epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC if zoned else None)
                return (found - epoch) // datetime.timedelta(microseconds=1)
        raise ColumnError(f"{argument} is {value!r}, but the time {self.name!r} is {self.kind}; expected {expected}")

    def word(self, tick: int) -> str:
        """A tick as a point in time, in words."""
        return str(self.bounds(np.array([tick], np.int64))[0])

    def ticks(self, column: pa.Array) -> Ints:
        """The ticks of a column of events.

        Raises
        ------
        NullTimeError
            If an event has no time.
        ColumnError
            If a time does not fit: beyond int64, or with digits below a microsecond.
        """
        if column.null_count:
            raise NullTimeError(null_times(self.name, column.null_count, len(column), self.argument))
        try:
            if pa.types.is_integer(self.type):
                whole = column if self.type == pa.int64() else column.cast(pa.int64())
            elif pa.types.is_date(self.type):
                whole = column.cast(pa.date32()).view(pa.int32()).cast(pa.int64())
            else:
                whole = column.cast(pa.timestamp("us", tz=self.type.tz)).view(pa.int64())
        except pa.ArrowInvalid as error:
            if pa.types.is_date64(self.type):
                raise ColumnError(
                    f"the time {self.name!r} ({self.type}) has dates with a time of day; expected whole days, or a "
                    "column of timestamps: cast it to one first"
                ) from error
            if getattr(column.type, "unit", "") == "ns" and pc.max(column.view(pa.int64())).as_py() == NEVER:
                raise ColumnError(
                    f"the time {self.name!r} ({self.type}) has pd.Timestamp.max, which has digits below a microsecond; "
                    "expected a null where an end is open, or whole microseconds"
                ) from error
            found = "digits below a microsecond" if "lose data" in str(error) else "values beyond the range of int64"
            raise ColumnError(
                f"the time {self.name!r} ({self.type}) has {found}; expected whole microseconds (or integers) "
                "that fit int64: "
                "round or cast it first"
            ) from error
        return cast(Ints, whole.to_numpy(zero_copy_only=False))

    def ticks_or_never(self, column: pa.Array) -> Ints:
        """The ticks of a column in which a null is :data:`NEVER`."""
        if not column.null_count:
            return self.ticks(column)
        zero = pa.scalar(0, pa.int32() if column.type.bit_width == 32 else pa.int64()).cast(column.type)
        never = column.is_null().to_numpy(zero_copy_only=False)
        return np.where(never, NEVER, self.ticks(column.fill_null(zero)))

    def bounds(self, ticks: Ints, never: bool = False) -> pa.Array:
        """Ticks as bounds of windows; ``never`` says whether some may be :data:`NEVER`, which is null."""
        column = pa.array(ticks, pa.int64(), mask=ticks == NEVER if never else None)
        if pa.types.is_integer(self.type):
            return column
        if not pa.types.is_date(self.type):
            return column.view(self.bound_type)
        return column.cast(pa.int32()).view(pa.date32())


def parsed(text: str) -> datetime.datetime | datetime.date | str:
    """An ISO string as a date, or as a date with a time of day; as it is where it is neither."""
    for kind in (datetime.date, datetime.datetime):
        with suppress(ValueError):
            return kind.fromisoformat(text)
    return text


def with_name(how: str, name: str) -> str:
    """:data:`OF_SECONDS` or :data:`OF_TEXT` of a column."""
    return how.replace("'t'", repr(name))


def ticks_since_epoch(time: TimeColumn, moment: datetime.datetime) -> int:
    """The tick of an offset that is a time in UTC, at which some window starts."""
    if not pa.types.is_timestamp(time.type):
        raise DurationError(
            f"offset is {moment!r}, but the time {time.name!r} is {time.kind}; expected a duration since the epoch"
        )
    if moment.utcoffset() != datetime.timedelta(0):
        raise QueryError(f"offset is {moment!r}, which is not in UTC; expected a time in UTC, or a duration")
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1)


def null_times(name: str, nulls: int, events: int | None = None, argument: str = "time=") -> str:
    """The sentence for events without a time."""
    of = "" if events is None else f" of {events}"
    if argument != "time=":
        return f"{argument} names {name!r}, which is null in {nulls}{of} rows; expected an instant for every row"
    return (
        f"the time {name!r} is null in {nulls}{of} events; expected a time for every event: "
        "null_time='drop' leaves them out"
    )


def drop_null_times(table: pa.Table, name: str) -> pa.Table:
    """The events that have a time."""
    column = table.column(name)
    return table.filter(pc.is_valid(column)) if column.null_count else table


def ends_of(time: TimeColumn, until: TimeColumn, ticks: Ints, column: pa.Array, why_not: str | None = None) -> Ints:
    """The ends of interval events, :data:`NEVER` for a null; ColumnError where one is not after the start.

    ``why_not`` says why none may be null, in words; None where they may.
    """
    if column.null_count and why_not is not None:
        raise ColumnError(
            f"the end {until.name!r} is null in {column.null_count} of {len(column)} events, which never end, and "
            f"{why_not}; expected an end for each, or longest="
        )
    ends = until.ticks_or_never(column)
    wrong = np.flatnonzero(ends <= ticks)
    if len(wrong):
        row = int(wrong[0])
        raise ColumnError(
            f"{len(wrong)} of {len(column)} events end no later than they start, the first from "
            f"{time.word(int(ticks[row]))} to {time.word(int(ends[row]))}; expected {until.name!r} after {time.name!r}"
        )
    return ends


def overflow_guard(ticks: Ints, before: int, after: int, time: TimeColumn) -> None:
    """ColumnError where windows that reach some ticks before and after their events leave the range of their bounds."""
    if not len(ticks):
        return
    least, greatest = int(ticks.min()) - before, int(ticks.max()) + after
    limit = 1 << 31 if pa.types.is_date(time.type) else LIMIT
    if least < -limit or greatest >= limit:
        raise ColumnError(
            f"a window around the time {time.name!r} would start at {least} or end at {greatest}, beyond the range "
            f"of {time.bound_type}; expected times further from its ends"
        )


def describe(ticks: int, type: pa.DataType) -> str:
    """Ticks in words, for explanations.

    >>> describe(5_400_000_000, pa.timestamp("us")), describe(7, pa.date32()), describe(60, pa.int64())
    ('1 hour 30 minutes', '7 days', '60')
    """
    if pa.types.is_integer(type):
        return str(ticks)
    left = ticks * DAY if pa.types.is_date(type) else ticks
    words = []
    for unit in sorted(MICROSECONDS.keys() - {"week"}, key=MICROSECONDS.__getitem__, reverse=True):
        count, left = divmod(left, MICROSECONDS[unit])
        if count:
            words.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(words) or "0"
