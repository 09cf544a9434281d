"""Landmark windows: from a fixed point on, up to a fixed point, or between two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...aggregators.durations import positive
from ...aggregators.errors import QueryError
from ...aggregators.states.alike import numbers
from ...aggregators.states.arrays import Bools, Ints
from ..columns.ticks import NEVER, Duration, Instant, TimeColumn, overflow_guard
from ..frames.partials_view import PartialsView, WindowIds
from ..frames.window_ranges import UNTIMED, Coverage, Ranges, ranges_by_id
from ..frames.windows import Pattern, RowOrder, RowsBack, TypeOf, WithValidity
from .calendar import months, moved, zone_of
from .grid import Grid, Offset, check_offset, grid
from .spec import BOUNDS, Bounds, Emit, Spec, Stamp, check_words, one_of


@dataclass(frozen=True)
class Landmark(Spec):
    """Windows that keep every event since a landmark; made by :func:`landmark`."""

    since: Instant | None = None
    until: Instant | None = None
    every: Duration | None = None
    offset: Offset = 0
    closed: str = "left"
    timezone: str | None = None
    emit: str = "every"
    stamp: str = "interval"

    def __str__(self) -> str:
        since = "" if self.since is None else f" since {self.since}"
        until = "" if self.until is None else f" until {self.until}"
        return f"everything{since}{until} so far, " + (f"every {self.every}" if self.every else "for each event")

    def bind(self, time: TimeColumn, type_of: TypeOf) -> LandmarkEvery | LandmarkEach:
        zone = zone_of(time, self.timezone)
        since = None if self.since is None else time.instant(self.since, "since", self.timezone)
        until = None if self.until is None else time.instant(self.until, "until", self.timezone)
        if since is not None and until is not None and since > until:
            raise QueryError(f"since is {self.since!r} and until is {self.until!r}; expected since before until")
        if self.every is None:
            return LandmarkEach(time=time, emit=self.emit, since=since, until=until, closed=self.closed)
        unmoved = months(self.every, "every") is not None or (since is not None and not zone)
        steps = grid(time, self.every, "every", 0 if since is not None else self.offset, self.timezone, since)
        return LandmarkEvery(
            time=time, emit=self.emit, stamp=self.stamp, since=since, until=until, closed=self.closed, steps=steps,
            moved="" if unmoved else moved(time, self.every, self.offset, self.timezone),
        )  # fmt: skip


def landmark(
    since: Instant | None = None,
    until: Instant | None = None,
    every: Duration | None = None,
    *,
    offset: Offset = 0,
    closed: Bounds = "left",
    timezone: str | None = None,
    emit: Emit = "every",
    stamp: Stamp = "interval",
) -> Landmark:
    """Windows that keep every event: everything since a landmark so far.

    Parameters
    ----------
    since
        The lower bound: a datetime, a date, an integer, or an ISO string, as the time column has it. None for
        everything; windows then start with the key's first event.
    until
        The upper bound: the window grows up to it and is frozen afterwards. None for no end.
    every
        The step at which windows end, counted from ``since`` (or from ``offset`` where that is None), up to the key's
        last event. None for a result for each event, stamped with its time ``at``: running aggregates.
    offset
        As for :func:`sliding`, where ``since`` is None.
    timezone
        The zone of dates, and of the days, weeks and months of ``every``; that of the time column where None.
    closed
        Which ends belong to a window: ``"left"``, ``"right"``, ``"both"`` or ``"neither"``. The window of an event
        always has that event.
    emit, stamp
        As for :func:`sliding`.

    Raises
    ------
    QueryError
        If a word is unknown, or a duration none; whether they and times fit the column is checked in ``.aggregate``.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = ff.events(pa.table({"t": [1, 4, 5, 9], "x": [1, 2, 3, 4]}), time="t")
    >>> result = events.window(ff.landmark(since=4, every=2)).aggregate(x=ff.Sum("x"))
    >>> [(w["window"]["start"], w["window"]["end"], w["x"]) for w in result.to_pylist()]
    [(4, 6, 5), (4, 8, 5), (4, 10, 9)]
    >>> events.window(ff.landmark()).aggregate(x=ff.Sum("x")).select(["at", "x"]).to_pydict()
    {'at': [1, 4, 5, 9], 'x': [1, 3, 6, 10]}
    """
    if every is not None:
        positive(every, "every", calendar=True)
    check_offset(offset)
    check_words(emit=emit, stamp=stamp)
    one_of("closed", closed, BOUNDS)
    if every is None and stamp != "interval":
        raise QueryError(
            f"stamp is {stamp!r}, but a result for each event has its time; expected stamp only with every="
        )
    return Landmark(since, until, every, offset, closed, timezone, emit, stamp)


@dataclass(frozen=True, kw_only=True)
class Bounded(WithValidity):
    """Bounds of landmark windows, in ticks."""

    since: int | None
    until: int | None
    window_inputs = frozenset({"first"})
    alone_in_streams = True

    def pattern(self, partitioned: bool) -> Pattern:
        return "monotonic"

    def _validity_since(self, ticks: Ints, since: Ints) -> tuple[Ints, Ints]:
        """The validity of events from ``since`` on, for ever; of none for those out of bounds."""
        outside = np.zeros(len(ticks), bool)
        if self.least is not None:
            outside |= ticks < self.least
        if self.beyond is not None:
            outside |= ticks >= self.beyond
        return np.where(outside, NEVER, since), np.full(len(ticks), NEVER)

    def _validity_since_sql(self, tick: str, since: str) -> list[dict[str, str]]:
        bounds = [] if self.least is None else [f"{tick} >= {self.least}"]
        bounds += [] if self.beyond is None else [f"{tick} < {self.beyond}"]
        inside = " and ".join(bounds) or "true"
        return [{"valid_from": f"case when {inside} then {since} end", "valid_to": "cast(null as bigint)"}]

    @property
    def least(self) -> int | None:
        """The first tick that is in a window."""
        return None if self.since is None else self.since + self.after_start

    @property
    def beyond(self) -> int | None:
        """The first tick that is too late for any window."""
        return None if self.until is None else self.until + self.after_end

    def _inside(self, ticks: Ints) -> Bools | None:
        return None if self.least is None else ticks >= self.least

    def starts_of(self, partials: PartialsView, row: Ints) -> Ints:
        """Where windows start: at the landmark, or with the first event of their key."""
        if self.since is not None:
            return np.full(len(row), self.since, np.int64)
        return partials.window_inputs["first"][partials.starts][partials.key[row]]

    def closed_after(self, ticks: Ints, forget: int) -> Ints:
        return ticks + 1

    def condensed(self, view: PartialsView, watermark: int) -> tuple[str, Ints]:
        """One frame for all partials of a key, so that they are merged to one partial."""
        frames = view.frames.copy()
        past = self._ended(frames, watermark)
        # What comes after until= is in no window, and only says up to when there are windows.
        beyond = 0 if self.beyond is None else view.window_inputs["first"] >= self.beyond
        group = (2 * view.key + beyond)[past]
        last = np.full(2 * len(view.starts), np.iinfo(np.int64).min)
        np.maximum.at(last, group, frames[past])
        frames[past] = last[group]
        return "frame", frames

    def _ended(self, frames: Ints, watermark: int) -> Bools:
        """Which frames take no more events."""
        return np.ones(len(frames), bool)

    def describe(self) -> str:
        parts = [
            f"{word} {self.time.word(tick)}"
            for word, tick in (("since", self.since), ("until", self.until))
            if tick is not None
        ]
        return " ".join(["everything", *parts, "so far"]) + f", closed={self.closed!r}"


@dataclass(frozen=True, kw_only=True)
class LandmarkEvery(Bounded):
    """Landmark windows that end at a constant step: a frame a step, and a new frame where they freeze."""

    steps: Grid

    def validity(self, ticks: Ints, starts: Ints) -> tuple[Ints, Ints]:
        """From the end of its step on."""
        return self._validity_since(ticks, self.steps.begins(self.steps.numbers(ticks - self.after_end) + 1))

    def validity_sql(self, rows: RowOrder) -> list[dict[str, str]] | None:
        at, every, origin = f"({rows.tick} - {self.after_end})", self.steps.every, self.steps.origin
        if self.steps.calendar is not None:
            return None
        return self._validity_since_sql(rows.tick, f"{at} + {every} - pmod({at} - {origin % every}, {every})")

    @property
    def phase(self) -> str:
        return self.steps.phase

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        """The frame of each event, and which events are not before the landmark."""
        overflow_guard(ticks, 2 * self.steps.most_ticks, 2 * self.steps.most_ticks, self.time)
        frames = self.steps.numbers(ticks - self.after_end)
        if self.beyond is not None:
            frames = frames + (ticks >= self.beyond)
        return frames, self._inside(ticks)

    @property
    def chunkable(self) -> bool:
        return self.emit == "every"

    def window_ids(self, partials: PartialsView) -> WindowIds:
        return WindowIds(partials.frames, self._last(partials, partials.frames))

    def _last(self, partials: PartialsView, steps: Ints) -> Ints:
        """The last step at which a window ends with each row; its own where only windows that change are emitted."""
        return steps if self.emit == "on_change" else steps[partials.ends - 1][partials.key]

    def ranges(self, partials: PartialsView) -> Ranges:
        return self._numbered(partials)[0]

    def step_ends(self, steps: Ints) -> Ints:
        """The first tick from which on no event is in some steps."""
        return self.steps.begins(steps + 1) + self.after_end

    def numbers(self, partials: PartialsView) -> tuple[Ints, Ints]:
        """The step at which each of the windows ends, and the step of each row."""
        return self._numbered(partials)[1:]

    def _numbered(self, partials: PartialsView) -> tuple[Ranges, Ints, Ints]:
        steps, frozen = partials.frames, np.zeros(len(partials.frames), bool)
        if self.beyond is not None:
            frozen = steps > self.steps.numbers(np.array([self.beyond - 1 - self.after_end]))[0]
            steps = steps - frozen
        low, high, row, number = ranges_by_id(self.describe(), partials, steps, self._last(partials, steps))
        open_until = partials.ends - np.add.reduceat(frozen, partials.starts) if len(partials.starts) else partials.ends
        key = partials.key[row]
        low, high = partials.starts[key], np.minimum(high, open_until[key])
        end = self.steps.begins(number + 1)
        stop = end if self.until is None else np.minimum(end, self.until)
        found = Ranges(low, high, row, self.starts_of(partials, row), stop, end if self.stamp == "end" else None)
        kept = high > low
        return found.where(kept), number[kept], steps

    def closing_ticks(self, ranges: Ranges | Coverage, view: PartialsView) -> Ints:
        number, steps = self.numbers(view)
        if self.emit == "on_change":  # those that are frozen are left out, but for the first
            number = self.steps.numbers(ranges.end - 1)
        # There are windows up to a key's last event.
        row = view.locate(view.key[ranges.row], number, steps)
        closed: Ints = np.maximum(self.step_ends(number), view.window_inputs["first"][row] + 1)
        return closed

    def closed_after(self, ticks: Ints, forget: int) -> Ints:
        return np.maximum(self.step_ends(self.frames(ticks)[0]), ticks + 1)

    def _ended(self, frames: Ints, watermark: int) -> Bools:
        ended: Bools = self.step_ends(frames) <= watermark
        return ended

    def describe(self) -> str:
        days = f", every {self.steps.length(self.time)}{self.steps.in_zone}" if self.steps.calendar else ""
        return super().describe() + days

    def describe_frames(self) -> str:
        return f"one frame every {self.steps.length(self.time)}"


@dataclass(frozen=True, kw_only=True)
class LandmarkEach(Bounded):
    """Landmark windows for each event: a frame a row."""

    unit = "rows"
    one_for_each = "event"
    stamp: str = "own"

    @property
    def rows_back(self) -> RowsBack | None:
        return RowsBack(None, 0, False) if self.since is self.until is None and self.emit == "every" else None

    def validity(self, ticks: Ints, starts: Ints) -> tuple[Ints, Ints]:
        """From its time on."""
        return self._validity_since(ticks, ticks)

    def validity_sql(self, rows: RowOrder) -> list[dict[str, str]]:
        return self._validity_since_sql(rows.tick, rows.tick)

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        """The frame of each event, and which events are not before the landmark."""
        return super().frames(ticks, ranks)[0], self._inside(ticks)

    def ranges(self, partials: PartialsView) -> Ranges:
        at = partials.window_inputs["first"]
        low, high, _ = partials.around(-len(at), 0)
        row = numbers(len(at))
        if self.beyond is not None and len(row):
            opened = np.add.reduceat((at < self.beyond).astype(np.int64), partials.starts) + partials.starts
            high = np.minimum(high, opened[partials.key])
        found = Ranges(low, high, row, UNTIMED, UNTIMED)
        if not partials.untimed:
            end = at if self.until is None else np.minimum(at, self.until)
            start = partials.of_keys(at[partials.starts]) if self.since is None else self.starts_of(partials, row)
            found = found._replace(start=start, end=end, at=at)
        return found if self.beyond is None else found.where(found.high > found.low)
