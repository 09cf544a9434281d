"""Windows with numbers, on a grid of times: sliding, tumbling, calendar units, cumulating; and landmarks, sessions.

Business days are objects with ``count``, ``weekmask`` and ``holidays``.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from .windows_rows import Brute, Row, Window, changes, each_key, holds, overlaps, stamped

Bounds = Callable[[int], tuple[int, int]]
EPOCH = dt.datetime(1970, 1, 1)
MONTHS = {"month": 1, "quarter": 3, "year": 12}
MICROSECOND, DAY = dt.timedelta(microseconds=1), dt.timedelta(days=1)


def numbered(
    bounds: Bounds,
    near: Callable[[int], range],
    *,
    closed: str = "left",
    empty: str = "skip",
    min_fill: str = "partial",
    emit: str = "every",
    stamp: str = "interval",
) -> Brute:
    """Windows that are there whatever the events are: number k has these bounds.

    `near` gives numbers among which are all windows that take in a tick. D4: empty ones are left out, or each key
    gets all from that of its first event to that of its last.
    """

    def of_key(rows: Sequence[Row], own: list[int]) -> list[Window]:
        members: dict[int, list[int]] = {}
        for number in own:
            row = rows[number]
            for k in range(near(row.time).start, near(row.last).stop):
                start, end = bounds(k)
                if overlaps(closed, start, row, end):
                    members.setdefault(k, []).append(number)
        numbers: Iterable[int] = sorted(members)
        if empty == "emit" and members:
            numbers = range(min(members), max(members) + 1)
        if min_fill == "full":
            [step] = [k for k in near(rows[own[0]].time) if in_step(k, rows[own[0]].time)]
            numbers = [k for k in numbers if bounds(k)[0] >= bounds(step)[0]]
        windows = [Window(None, *bounds(k), tuple(members.get(k, ()))) for k in numbers]
        return stamped(changes(windows, emit), stamp)

    def in_step(k: int, time: int) -> bool:
        return holds(closed, bounds(k)[0], time, bounds(k + 1)[0])

    return each_key(of_key)


def sliding(
    size: Any,
    every: Any,
    *,
    offset: Any = 0,
    timezone: str | None = None,
    dates: bool = False,
    **rest: str,
) -> Brute:
    """R15, R26: [offset + k every, offset + k every + size) for all k, fixed by the clock and not by events."""
    if isinstance(size, str):
        return numbered(*calendar(size, str(every), str(offset or ""), timezone, DAY if dates else MICROSECOND), **rest)
    if not isinstance(size, int):
        begins, number = business(size, offset, timezone, DAY if dates else MICROSECOND)
        length, step = size.count, every.count
        return numbered(
            lambda k: (begins(k * step), begins(k * step + length)),
            lambda time: range((number(time) - length - 3) // step, (number(time) + 3) // step + 1),
            **rest,
        )

    def bounds(k: int) -> tuple[int, int]:
        return offset + k * every, offset + k * every + size

    def near(time: int) -> range:
        return range((time - offset - size) // every - 1, (time - offset) // every + 2)

    return numbered(bounds, near, **rest)


def tumbling(size: Any, **rest: Any) -> Brute:
    """R15: size and step are one."""
    return sliding(size, size, **rest)


def business(
    of: Any, offset: Any, timezone: str | None, tick: dt.timedelta
) -> tuple[Callable[[int], int], Callable[[int], int]]:
    """When each business day begins, by its number, and about the number of that of an instant: found day by day.

    Numbers begin in the week from Monday 1969-12-29 on, after the longest break of a week. An offset is business
    days, or hours.
    """
    every_day = np.arange(-2000, 20000)
    worked = np.is_busday(every_day.astype("datetime64[D]"), weekmask=of.weekmask, holidays=list(of.holidays))
    days = every_day[worked].tolist()
    week = "".join(str(int(name in of.weekmask)) for name in ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
    turned = [week[day:] + week[:day] for day in range(7)]
    monday = max(range(7), key=lambda day: (turned[day][0], len(turned[day]) - len(turned[day].rstrip("0"))))
    shift = parse(offset or "")[1] if isinstance(offset, int | str) else dt.timedelta()
    zero = bisect_left(days, monday - 3) + (0 if isinstance(offset, int | str) else offset.count)

    def begins(number: int) -> int:
        return shown(EPOCH + days[zero + number] * DAY + shift, timezone, tick)

    return begins, lambda time: bisect_right(days, (time * tick).days) - zero


def parse(duration: str) -> tuple[int, dt.timedelta]:
    """ "2 months" as (2, nothing), "9 hours" as (0, nine hours), "" as (0, nothing)."""
    months, rest = 0, dt.timedelta()
    words = duration.split()
    for count, unit in zip(words[::2], words[1::2], strict=True):
        name = unit.removesuffix("s")
        if name in MONTHS:
            months += int(count) * MONTHS[name]
        else:
            rest += dt.timedelta(**{f"{name}s": int(count)})
    return months, rest


def month_on(months: int, shift: dt.timedelta) -> dt.datetime:
    """So much after the beginning of a month since 1970, but on the last day of a shorter month."""
    year, month = 1970 + months // 12, months % 12 + 1
    return dt.datetime(year, month, 1) + shift - max(shift.days + 1 - monthrange(year, month)[1], 0) * DAY


def shown(wall: dt.datetime, timezone: str | None, tick: dt.timedelta) -> int:
    """The instant at which a wall clock shows this; a time shown twice is its first showing."""
    instant = wall.replace(tzinfo=ZoneInfo(timezone or "UTC"), fold=0).astimezone(dt.UTC).replace(tzinfo=None)
    return (instant - EPOCH) // tick


def calendar(
    size: str, every: str, offset: str, timezone: str | None, tick: dt.timedelta
) -> tuple[Bounds, Callable[[int], range]]:
    """Windows of months or days by a wall clock: from 1970-01-01, of weeks from Monday 1969-12-29."""
    months, days = parse(size)[0], parse(size)[1].days
    step_months, step_days = parse(every)[0], parse(every)[1].days
    shift_months, shift = parse(offset)
    origin = EPOCH - dt.timedelta(days=3 if "week" in every else 0)

    def tick_of(months: int, days: int) -> int:
        wall = month_on(months + shift_months, shift) if step_months else origin + dt.timedelta(days=days) + shift
        return shown(wall, timezone, tick)

    def bounds(k: int) -> tuple[int, int]:
        if months and step_days:  # it ends on a day, and begins on that of an earlier month
            end = origin + dt.timedelta(days=k * step_days) + shift
            ahead, since = (end.year - 1970) * 12 + end.month - 1 - months, end - end.replace(day=1, hour=0)
            return shown(month_on(ahead, since), timezone, tick), shown(end, timezone, tick)
        return tick_of(k * step_months, k * step_days), tick_of(k * step_months + months, k * step_days + days)

    def near(time: int) -> range:
        day = EPOCH + time * tick
        if months and step_days:
            first, slack = (day - EPOCH - shift).days, 10
            return range((first - slack) // step_days, (first + 31 * months + slack) // step_days + 1)
        if step_months:
            index, length, step, by = (day.year - 1970) * 12 + day.month - 1, months, step_months, shift_months
        else:
            index, length, step, by = (day - EPOCH).days, days, step_days, shift.days
        slack = 10 + (0 if step_months else 31 * abs(shift_months))  # generous: zones, the origin
        return range((index - length - by - slack) // step, (index - by + slack) // step + 1)

    return bounds, near


def cumulating(
    size: Any,
    every: Any,
    *,
    offset: Any = 0,
    timezone: str | None = None,
    dates: bool = False,
    **rest: str,
) -> Brute:
    """[c, c + every), [c, c + 2 every), .. [c, c + size), then anew from c + size, as Flink's cumulate has it."""
    if isinstance(size, str):
        tick = DAY if dates else MICROSECOND
        return to_date(size, every, str(offset or ""), timezone, tick, **rest)
    if not isinstance(size, int):
        begins, number = business(size, offset, timezone, DAY if dates else MICROSECOND)
        length, step = size.count, every.count
        in_cycle = length // step
        return numbered(
            lambda k: (begins(k // in_cycle * length), begins(k // in_cycle * length + (k % in_cycle + 1) * step)),
            lambda time: range(
                ((number(time) - 3) // length - 1) * in_cycle, ((number(time) + 3) // length + 2) * in_cycle
            ),
            **rest,
        )
    steps = size // every

    def bounds(k: int) -> tuple[int, int]:
        start = offset + k // steps * size
        return start, start + (k % steps + 1) * every

    def near(time: int) -> range:
        cycle = (time - offset) // size
        return range((cycle - 1) * steps, (cycle + 2) * steps)

    return numbered(bounds, near, **rest)


def to_date(
    size: str, every: Any, offset: str, timezone: str | None, tick: dt.timedelta, *, closed: str = "left",
    empty: str = "skip", emit: str = "every", stamp: str = "interval",
) -> Brute:  # fmt: skip
    """Months or years that grow by days or months of a wall clock, the last step as far as the cycle goes.

    Cycles that grow by business days do so where business days begin, counted from the one that begins a cycle, or
    had begun before it.
    """
    cycle, near = calendar(size, size, offset, timezone, tick)
    months, days = (parse(every)[0], parse(every)[1].days) if isinstance(every, str) else (0, 0)
    (ahead, shift), length = parse(offset), parse(size)[0]

    def ends(k: int) -> Iterator[int]:
        if not isinstance(every, str):
            begins, about = business(every, f"{shift.seconds // 3600} hours", timezone, tick)
            start, end = cycle(k)
            number = max(n for n in range(about(start) - 3, about(start) + 4) if begins(n) <= start) + every.count
            while begins(number) < end:
                yield begins(number)
                number += every.count
            yield end
            return
        month = ahead + k * length
        for step in range(1, 32 * length):
            wall = month_on(month + step * months, shift) + step * days * DAY
            yield min(shown(wall, timezone, tick), cycle(k)[1])
            if shown(wall, timezone, tick) >= cycle(k)[1]:
                return

    def of_key(rows: Sequence[Row], own: list[int]) -> list[Window]:
        windows = [
            Window(None, start, end, tuple(n for n in own if holds(closed, start, rows[n].time, end)))
            for k in range(near(rows[own[0]].time).start, near(rows[own[-1]].time).stop)
            for start in cycle(k)[:1]
            for end in ends(k)
        ]
        filled = [number for number, window in enumerate(windows) if window.rows]
        windows = windows[filled[0] : filled[-1] + 1]
        return stamped(changes((w for w in windows if w.rows or empty == "emit"), emit), stamp)

    return each_key(of_key)


def landmark(
    since: int | None = None,
    until: int | None = None,
    every: int | None = None,
    *,
    offset: int = 0,
    closed: str = "left",
    emit: str = "every",
    stamp: str = "interval",
) -> Brute:
    """R56: nothing before `since`, then all from there on; at `until` it is frozen."""

    def begun(time: int) -> bool:
        return since is None or holds(closed, since, time, time + 1)

    def not_over(time: int, end: int) -> bool:
        return time <= end if closed in ("right", "both") else time < end

    def at_steps(rows: Sequence[Row], own: list[int]) -> Iterator[Window]:
        """R51 with a lower bound that stays: one window at each end of a step, from the first event's to the last's."""
        assert every is not None
        counted = [number for number in own if begun(rows[number].time)]
        if not counted:
            return
        first, last = rows[counted[0]].time, rows[counted[-1]].time
        origin = offset if since is None else since
        end = origin + (first - origin) // every * every - every
        while not not_over(first, end):
            end += every
        while True:
            stop = end if until is None else min(end, until)
            members = tuple(number for number in counted if not_over(rows[number].time, stop))
            if members:
                start = first if since is None else since
                # R62: a result is stamped with the time of its evaluation, also where its window is frozen.
                at = {"interval": None, "start": start, "end": end}[stamp]
                yield Window(None, start, stop, members, at)
            if not_over(last, end):
                return
            end += every

    def at_events(rows: Sequence[Row], own: list[int]) -> Iterator[Window]:
        """R46: one running value an event, in row order, over the events so far."""
        counted = [number for number in own if begun(rows[number].time)]
        for position, number in enumerate(counted):
            time = rows[number].time
            members = [n for n in counted[: position + 1] if until is None or not_over(rows[n].time, until)]
            if members:
                start = rows[counted[0]].time if since is None else since
                yield Window(None, start, time if until is None else min(time, until), tuple(members), time)

    if every is None:
        return each_key(lambda rows, own: changes(at_events(rows, own), emit))
    return each_key(lambda rows, own: changes(at_steps(rows, own), emit))


def session(gap: int, *, merge_touching: bool = False, stamp: str = "interval") -> Brute:
    """Choice 8: [first, last + gap); two that only touch stay apart unless asked otherwise."""

    def of_key(rows: Sequence[Row], own: list[int]) -> list[Window]:
        sessions: list[list[int]] = []
        for number in own:
            pause = rows[number].time - rows[sessions[-1][-1]].time if sessions else None
            if pause is None or pause > gap or (pause == gap and not merge_touching):
                sessions.append([])
            sessions[-1].append(number)
        windows = [Window(None, rows[s[0]].time, rows[s[-1]].time + gap, tuple(s)) for s in sessions]
        return stamped(windows, stamp)

    return each_key(of_key)
