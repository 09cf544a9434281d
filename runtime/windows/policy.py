"""Windows by eviction with triggers, as IBM Streams' SPL has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.contract.column_expressions import unquoted
from ...aggregators.contract.numeric_columns import is_number
from ...aggregators.durations import positive
from ...aggregators.errors import ColumnError, DurationError, QueryError
from ...aggregators.states.arrays import Bools, Ints
from ..columns.ticks import Duration, Instant, TimeColumn, describe, overflow_guard
from ..frames.next_greater import chain, first_above
from ..frames.partials_view import PartialsView, of_column
from ..frames.window_ranges import MAX_WINDOWS, Coverage, Ranges
from ..frames.windows import TypeOf, Windows
from ..frames.words import describe_gaps, rows_in_words
from .calendar import moved
from .grid import Grid, grid
from .spec import Emit, Empty, Gaps, MinFill, Spec, check_words, samples, whole


@dataclass(frozen=True)
class Rule:
    """When rows are evicted, or results triggered; made by :func:`by_count`, :func:`by_time` and :func:`by_delta`."""

    kind: str
    by: Any
    column: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}({self.column + ', ' if self.column is not None else ''}{self.by})"

    def bind(self, time: TimeColumn, type_of: TypeOf) -> Any:
        """The rule's amount in rows, ticks, or the column's own units."""
        if self.kind == "count":
            return self.by
        if self.kind == "time":
            return time.length(self.by, "by_time()")
        assert self.column is not None
        kind = type_of(self.column, "by_delta()")
        if pa.types.is_temporal(kind):
            ticks = TimeColumn(self.column, kind).duration(self.by, "by_delta()")
            if ticks < 0:
                raise DurationError(f"by_delta() is {self.by!r}; expected a duration of 0 or more")
            return ticks
        if not is_number(kind):
            raise ColumnError(
                f"by_delta() names {self.column!r}, which is {kind}; expected a column of numbers or of times"
            )
        if isinstance(self.by, bool) or not isinstance(self.by, (int, float, np.number)) or not self.by >= 0:
            raise ColumnError(
                f"by_delta() is {self.by!r}, but {self.column!r} is {kind}; expected a number of 0 or more"
            )
        return self.by


def by_count(n: int) -> Rule:
    """Evict all but the last n rows; trigger after every n rows.

    >>> str(by_count(4))
    'count(4)'
    """
    return Rule("count", whole("by_count()", n, 1))


def by_time(duration: Duration) -> Rule:
    """Evict rows older than a duration (one exactly as old stays); trigger at every multiple of it.

    >>> str(by_time("5 seconds"))
    'time(5 seconds)'
    """
    positive(duration, "by_time()")
    return Rule("time", duration)


def by_delta(column: str, delta: Any) -> Rule:
    """Evict rows whose value is more than delta below the newest; trigger at values more than delta above the last.

    For a column of numbers, delta is a number; for one of times, a duration.

    >>> str(by_delta("temperature", 1.5))
    'delta(temperature, 1.5)'
    """
    if not isinstance(column, str):
        raise QueryError(f"by_delta() is given {column!r}; expected the name of a column")
    return Rule("delta", delta, unquoted(column))


@dataclass(frozen=True)
class Policy(Spec):
    """Windows by an eviction and a trigger policy; made by :func:`policy`."""

    evict: Rule
    trigger: Rule
    min_fill: str = "partial"
    until: Instant | None = None
    empty: str = "skip"
    emit: str = "every"
    gaps: str = field(default="warn", compare=False)

    def __str__(self) -> str:
        return f"evict {self.evict}, trigger {self.trigger}"

    columns: tuple[str, ...] = field(default=(), compare=False, repr=False)
    min_samples: int = 0

    def bind(self, time: TimeColumn, type_of: TypeOf) -> Triggered:
        until = None if self.until is None else time.instant(self.until, "until")
        kind = DeltaEvicted if self.evict.kind == "delta" else Triggered
        timed = self.trigger.kind == "time"
        return kind(
            time=time, emit=self.emit, gaps=self.gaps, columns=self.columns, evict=self.evict, trigger=self.trigger,
            evict_by=self.evict.bind(time, type_of), trigger_by=self.trigger.bind(time, type_of),
            min_fill=self.min_fill, until=until, empty=self.empty, min_samples=self.min_samples,
            periods=grid(time, self.trigger.by, "by_time()") if timed else Grid(1),
            moved=moved(time, self.trigger.by, 0, None) if timed else "",
        )  # fmt: skip


def policy(
    evict: Rule,
    trigger: Rule | None = None,
    *,
    min_fill: MinFill = "partial",
    min_samples: int = 0,
    until: Instant | None = None,
    empty: Empty = "skip",
    emit: Emit = "every",
    gaps: Gaps = "warn",
) -> Policy:
    """Windows by an eviction and a trigger policy: count, time or delta, all nine combinations (IBM Streams' SPL).

    Each key has a window of its own, which its rows enter in the order of their time, then of the columns that
    ``ff.events(ties=)`` names, then as they came. Results have the time ``at`` of their trigger, and as ``window`` the
    times of its first and last row.

    Parameters
    ----------
    evict
        Which rows leave: :func:`by_count`, all but the last n rows; :func:`by_time`, rows older than a duration;
        :func:`by_delta`, rows whose value is more than delta below that of the row that comes in.
    trigger
        When there is a result; ``by_count(1)``, for each row, where None. A count trigger comes after its row is in. A
        delta trigger comes before: when a value is more than delta above that of the last row that triggered (the
        first row only sets the reference). A time trigger comes at every multiple of its duration, from the first one
        after the key's first row up to its last row's time, whether rows came or not.
    min_fill
        ``"full"`` leaves out triggers before the window was full: before n rows came, or before the first eviction by
        delta (SPL's Aggregate operator).
    until
        Up to when a time trigger goes on, instead of the key's last row.
    empty
        ``"emit"`` gives time triggers of an empty window too.
    min_samples, emit, gaps
        As for :func:`sliding`; gaps are seen where both policies count, or both are of time.

    Raises
    ------
    QueryError
        If a policy is none of these.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = ff.events(pa.table({"t": [0, 1, 2, 3], "x": [16.0, 16.4, 17.1, 17.6]}), time="t")
    >>> near = ff.policy(evict=ff.by_delta("x", 1.5))
    >>> events.window(near).aggregate(x=ff.CollectList("x"))["x"].to_pylist()
    [[16.0], [16.0, 16.4], [16.0, 16.4, 17.1], [16.4, 17.1, 17.6]]
    """
    trigger = by_count(1) if trigger is None else trigger
    for argument, rule in (("evict", evict), ("trigger", trigger)):
        if not isinstance(rule, Rule):
            raise QueryError(
                f"{argument} is {rule!r}; expected ff.by_count(n), ff.by_time(t) or ff.by_delta(column, d)"
            )
    check_words(min_fill=min_fill, empty=empty, emit=emit, gaps=gaps)
    if trigger.kind != "time":
        for argument, given, default in (("until", until, None), ("empty", empty, "skip")):
            if given != default:
                raise QueryError(
                    f"{argument} is {given!r} with the trigger {trigger}; expected it only with ff.by_time(t)"
                )
    columns = tuple(dict.fromkeys(rule.column for rule in (evict, trigger) if rule.column is not None))
    least = samples(min_samples)
    return Policy(evict, trigger, min_fill, until, empty, emit, gaps, columns, least)


class Triggers(NamedTuple):
    """The triggers of all keys: the row before which each comes, its time, and the number of its key."""

    row: Ints
    at: Ints
    key: Ints

    def where(self, rows: Any) -> Triggers:
        """Some of the triggers."""
        return Triggers(*(column[rows] for column in self))

    def rows(self, partials: PartialsView) -> Ints:
        """The last row before each, which is that of a trigger by count; a key's first where none is before."""
        rows: Ints = np.maximum(self.row - 1, partials.starts[self.key])
        return rows


@dataclass(frozen=True, kw_only=True)
class Triggered(Windows):
    """SPL windows over the rows of each key: a frame a row."""

    evict: Rule
    trigger: Rule
    evict_by: Any = field(repr=False)
    trigger_by: Any = field(repr=False)
    periods: Grid
    min_fill: str
    until: int | None
    unit = "rows"
    window_inputs = frozenset({"first"})
    alone_in_streams = True
    stamp: str = "own"
    closed: str = "both"

    @property
    def one_for_each(self) -> Literal["event"] | None:  # type: ignore[override]
        return "event" if self.trigger.kind == "count" and self.trigger_by == 1 else None

    @property
    def named(self) -> str:
        return f"windows that {self.describe()}"

    @property
    def left_out(self) -> str | None:
        """The share of rows, or of time, in no window, in words; None where that depends on the events."""
        if self.evict.kind != self.trigger.kind or self.evict.kind == "delta":
            return None
        if self.evict.kind == "count":
            return describe_gaps(self.evict_by, self.trigger_by, rows_in_words)
        ticks = 0 if pa.types.is_timestamp(self.time.type) else 1  # a row exactly as old as evicted ones stays
        return describe_gaps(self.evict_by + ticks, self.trigger_by, lambda it: describe(it, self.time.type))

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        if self.evict.kind == "time":
            overflow_guard(ticks, self.evict_by, 1, self.time)
        return super().frames(ticks, ranks)

    def ranges(self, partials: PartialsView) -> Ranges | Coverage:
        triggers = self._triggers(partials)
        begin = partials.starts[triggers.key]
        if self.evict.kind == "count":
            low = np.maximum(triggers.row - self.evict_by, begin)
            if self.min_fill == "full":
                kept = triggers.row - begin >= self.evict_by
                triggers, low = triggers.where(kept), low[kept]
        else:
            low = partials.locate(triggers.key, triggers.at - self.evict_by, partials.window_inputs["first"])
        return self._ranges(partials, triggers, low)

    def _ranges(self, partials: PartialsView, triggers: Triggers, low: Ints) -> Ranges:
        high = triggers.row
        low = np.minimum(low, high)
        kept = np.flatnonzero(high > low) if self.empty == "skip" else np.arange(len(low))
        low, high, at = low[kept], high[kept], triggers.at[kept]
        ticks = partials.window_inputs["first"]
        filled = high > low
        start = np.where(filled, ticks[np.minimum(low, len(ticks) - 1)], at) if len(ticks) else at
        end = np.where(filled, ticks[high - 1], at) if len(ticks) else at
        return Ranges(low, high, triggers.rows(partials)[kept], start, end, at)

    def _triggers(self, partials: PartialsView) -> Triggers:
        ticks = partials.window_inputs["first"]
        rows = np.arange(len(ticks))
        if self.trigger.kind == "count":
            # Of a stream, the first rows may be forgotten: it knows their numbers.
            number = partials.window_inputs.get("rank", rows - partials.starts[partials.key])
            rows = rows[(number + 1) % self.trigger_by == 0]
            return Triggers(rows + 1, ticks[rows], partials.key[rows])
        if self.trigger.kind == "delta":
            following = first_above(self.values(partials, self.trigger), partials.starts, self.trigger_by)
            reached = chain(following, partials.starts)
            reached[partials.starts] = False  # the first row is only a reference
            rows = np.flatnonzero(reached)
            return Triggers(rows, ticks[rows], partials.key[rows])
        first = self.periods.numbers(ticks[partials.starts]) + 1
        last = ticks[partials.ends - 1] if self.until is None else np.full(len(first), self.until, np.int64)
        count = np.maximum(self.periods.numbers(last) - first + 1, 0)
        if float(count.astype(np.float64).sum()) > MAX_WINDOWS:
            raise QueryError(
                f"the trigger {self.trigger} fires {float(count.astype(np.float64).sum()):.2g} times, more than one "
                "process can hold; expected a longer duration"
            )
        key = np.repeat(np.arange(len(first)), count)
        at = self.periods.begins(first[key] + np.arange(len(key)) - np.repeat(np.cumsum(count) - count, count))
        return Triggers(partials.locate(key, at + 1, ticks), at, key)

    def values(self, partials: PartialsView, rule: Rule) -> NDArray[Any]:
        """The values of the column of a rule by delta, one a row."""
        assert rule.column is not None
        return partials.window_inputs[of_column(rule.column)]

    def describe(self) -> str:
        kind = self.time.type
        evict, trigger = (
            f"time({describe(by, kind)})" if rule.kind == "time" else str(rule)
            for rule, by in ((self.evict, self.evict_by), (self.trigger, self.trigger_by))
        )
        return f"evict {evict}, trigger {trigger}{self.samples_in_words}"

    def closing_ticks(self, ranges: Ranges | Coverage, view: PartialsView) -> Ints:
        assert ranges.at is not None
        if self.trigger.kind != "time" or self.until is not None:
            return ranges.at + 1
        # A time trigger comes if a later row does, whenever.
        ticks = view.window_inputs["first"]
        after: Ints = ticks[view.locate(view.key[ranges.row], ranges.at, ticks)] + 1
        return after

    def closed_after(self, ticks: Ints, forget: int) -> Ints:
        if self.trigger.kind != "time" or self.until is None:
            return ticks + 1
        return np.maximum(ticks, self.until) + 1

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        """Partials that could be in a window to come, each key's last one, and from there on all triggers by delta."""
        kept = self._within_reach(view, watermark)
        kept[view.ends - 1] = True
        if self.trigger.kind == "delta":
            following = first_above(self.values(view, self.trigger), view.starts, self.trigger_by)
            reached = chain(following, view.starts)
            rows = np.flatnonzero(reached)
            # From the last one before any row that is needed: the next ones are found from there.
            begin = rows[np.searchsorted(rows, view.first_of(kept), side="right") - 1]
            return kept | (reached & (np.arange(len(kept)) >= begin[view.key]))
        if self.trigger.kind == "time" and self.emit == "on_change":  # the next window is compared with it
            return kept | self._last_window(view, watermark)
        return kept

    def _within_reach(self, view: PartialsView, watermark: int) -> Bools:
        """The rows that eviction leaves for windows to come."""
        if self.evict.kind == "count":
            return view.from_place(view.ends - self.evict_by - view.starts)
        # A time trigger after the last row comes if a later row does, and then it is of that time.
        keys, ticks = np.arange(len(view.starts)), view.window_inputs["first"]
        late = self.trigger.kind == "time" and self.until is None
        next_trigger = ticks[view.ends - 1] if late else np.full(len(keys), watermark)
        return view.from_place(view.locate(keys, next_trigger - self.evict_by, ticks) - view.starts)

    def _last_window(self, view: PartialsView, watermark: int) -> Bools:
        """For each key the rows from its last window on that a trigger by time has closed, and the row before it."""
        keys, ticks = np.arange(len(view.starts)), view.window_inputs["first"]
        end = ticks[view.ends - 1] if self.until is None else np.full(len(keys), min(watermark - 1, self.until))
        at = self.periods.begins(self.periods.numbers(end))
        low = np.minimum(self._begins(view, at), view.locate(keys, at, ticks) - 1)
        return view.from_place(low - view.starts)

    def _begins(self, view: PartialsView, at: Ints) -> Ints:
        """The first row of the window of each key at a time."""
        keys, ticks = np.arange(len(view.starts)), view.window_inputs["first"]
        if self.evict.kind == "time":
            return view.locate(keys, at - self.evict_by, ticks)
        begins: Ints = view.locate(keys, at + 1, ticks) - self.evict_by
        return begins


@dataclass(frozen=True, kw_only=True)
class DeltaEvicted(Triggered):
    """SPL windows with delta eviction, which may take a row from the midst of others.

    Each row is in from its arrival to that of the first row too far above it.
    """

    runs = True

    def ranges(self, partials: PartialsView) -> Ranges | Coverage:
        triggers = self._triggers(partials)
        until = self._evicted_by(partials)
        if self.min_fill == "full" and len(partials.starts):
            full = np.minimum.reduceat(until, partials.starts)
            triggers = triggers.where(triggers.row > full[triggers.key])
        longest = np.maximum.accumulate(until)
        low = np.searchsorted(longest, triggers.row)  # the first row that is still in
        if (longest == until).all():
            return self._ranges(partials, triggers, np.maximum(low, partials.starts[triggers.key]))
        filled = triggers.row > partials.starts[triggers.key]
        triggers, low = triggers.where(filled), low[filled]
        # Triggers of one key come in the order of their rows, and keys one after the other.
        first = np.searchsorted(triggers.row, np.arange(len(until)) + 1)
        last = np.searchsorted(triggers.row, until, side="right") - 1
        ticks = partials.window_inputs["first"]
        start, end = ticks[low], ticks[triggers.row - 1]
        return Coverage(first, last, triggers.rows(partials), start, end, triggers.at)

    def why_no_stream(self, alone: bool) -> str | None:
        if self.min_fill == "full":
            return "min_fill='full' depends on the first eviction of each key, however long ago it was"
        return super().why_no_stream(alone)

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        kept = super().needed_rows(view, watermark, alone)
        if self.trigger.kind == "delta" or (self.trigger.kind == "time" and self.emit == "on_change"):
            return kept | chain(self._evicted_by(view), view.starts, np.flatnonzero(kept))  # and what evicts them
        return kept

    def _evicted_by(self, view: PartialsView) -> Ints:
        """For each row the one that evicts it; the row after its key's last where none does."""
        return first_above(self.values(view, self.evict), view.starts, self.evict_by)

    def _within_reach(self, view: PartialsView, watermark: int) -> Bools:
        still: Bools = self._evicted_by(view) == view.ends[view.key]
        return still

    def _begins(self, view: PartialsView, at: Ints) -> Ints:
        """A row that has left since then has left as a new row came, so the next window is another one."""
        return view.locate(np.arange(len(view.starts)), at + 1, view.window_inputs["first"])
