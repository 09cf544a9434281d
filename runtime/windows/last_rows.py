"""Windows of the last n rows, or times, of each key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...aggregators.errors import QueryError
from ...aggregators.states.alike import numbers
from ...aggregators.states.arrays import Bools, Ints
from ..columns.sorting import differs
from ..columns.ticks import NEVER, TimeColumn, overflow_guard
from ..frames.partials_view import PartialsView
from ..frames.steps import Steps
from ..frames.window_ranges import UNTIMED, Coverage, Ranges
from ..frames.windows import Pattern, RowOrder, RowsBack, TypeOf, WithValidity
from ..frames.words import describe_gaps, describe_steps, rows_in_words
from .spec import Emit, Gaps, MinFill, Spec, check_words, one_of, samples, whole

TIES = {
    "arrival": "for rows in their order",
    "distinct_time": "for n times with all their rows",
    "strict": "for whole times with at most n rows together",
}


@dataclass(frozen=True)
class LastRows(Spec):
    """The last n rows of each key; made by :func:`last_rows`."""

    n: int
    every: int = 1
    ties: str = "arrival"
    min_fill: str = "partial"
    emit: str = "every"
    gaps: str = field(default="warn", compare=False)
    min_samples: int = 0

    def __str__(self) -> str:
        what = "times" if self.ties == "distinct_time" else "rows"
        return f"the last {self.n} {what}" + ("" if self.every == 1 else f", every {self.every}")

    def bind(self, time: TimeColumn, type_of: TypeOf) -> RowSteps | TimeCounts:
        if self.ties != "arrival":
            return TimeCounts(
                time=time, emit=self.emit, gaps=self.gaps, n=self.n, every=self.every, ties=self.ties,
                min_fill=self.min_fill, min_samples=self.min_samples,
            )  # fmt: skip
        steps = Steps(self.n, self.every, -self.n % self.every)
        kind = EachRow if self.every == 1 else RowSteps
        return kind(
            time=time, emit=self.emit, gaps=self.gaps, steps=steps, min_fill=self.min_fill, min_samples=self.min_samples
        )


def last_rows(
    n: int,
    every: int = 1,
    *,
    ties: Literal["arrival", "distinct_time", "strict"] = "arrival",
    min_fill: MinFill = "partial",
    min_samples: int = 0,
    emit: Emit = "every",
    gaps: Gaps = "warn",
) -> LastRows:
    """The last n rows: of each key, or of everything where there is none.

    Rows are in the order of their time, then of the columns that ``ff.events(ties=)`` names, then as they came. Results
    have the time ``at`` of the row that completes them, and the times of their first and last row as ``window``.

    Parameters
    ----------
    n
        The number of rows.
    every
        The number of rows from one result to the next. Above ``n``, rows are left out, with a
        :class:`~framefold.GapsWarning`.
    ties
        What counts where several events have one time: ``"arrival"``, each row; ``"distinct_time"``, each time, with
        all its rows (StreamInsight's count windows), ``window`` then being ``[first time, last time + 1 tick)``;
        ``"strict"``, rows, but only whole times: a time that would make it more than n rows is left out (Patroumpas and
        Sellis). The last two give a result for each time.
    min_fill
        ``"full"`` leaves out the windows at the start that have fewer rows (or times).
    min_samples, emit, gaps
        As for :func:`sliding`.

    Raises
    ------
    QueryError
        If a number is not above zero, a word unknown, or ``min_samples`` more rows than a window has.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = ff.events(pa.table({"t": [1, 2, 2, 5], "x": [1, 2, 3, 4]}), time="t")
    >>> events.window(ff.last_rows(2)).aggregate(x=ff.Sum("x")).select(["at", "x"]).to_pydict()
    {'at': [1, 2, 2, 5], 'x': [1, 3, 5, 7]}
    """
    n, every = whole("n", n, 1), whole("every", every, 1)
    one_of("ties", ties, TIES)
    check_words(min_fill=min_fill, emit=emit, gaps=gaps)
    most = None if ties == "distinct_time" else n
    return LastRows(n, every, ties, min_fill, emit, gaps, samples(min_samples, most))


def completing(ticks: Ints, starts: Ints, n: int, every: int) -> tuple[Ints, Ints]:
    """The times of the rows that complete the first window with each row and the first without it; else NEVER."""
    ends = np.append(starts[1:], len(ticks))[: len(starts)]
    begin, end = (np.repeat(each, ends - starts) for each in (starts, ends))
    times, place = np.append(ticks, NEVER), np.arange(len(ticks)) - begin
    rows = (begin + ((place + ahead) // every + 1) * every - 1 for ahead in (0, n))
    first, beyond = (times[np.where(row < end, row, len(ticks))] for row in rows)
    return first, beyond


def completing_sql(rows: RowOrder, over: str, n: int, every: int) -> dict[str, str]:
    """The same in SQL, of rows or times numbered by ``#place`` from 0."""
    done = f"min(case when pmod(`#place` + 1, {every}) = 0 then {rows.tick} end) over ({over} between"
    return {
        "valid_from": f"{done} current row and {every - 1} following)",
        "valid_to": f"{done} {n} following and {n + every - 1} following)",
    }


@dataclass(frozen=True, kw_only=True)
class LastOfKey(WithValidity):
    """Windows of the last rows, or times, of each key: more of them push events out."""

    valid_by = "rows"
    counts_rows = True
    closed: str = "both"

    def closed_after(self, ticks: Ints, forget: int) -> Ints:
        return ticks + 1

    def pattern(self, partitioned: bool) -> Pattern:
        """Keys push their rows out by themselves, so that all together leave in no order."""
        return "weak" if partitioned else "weakest"


@dataclass(frozen=True, kw_only=True)
class RowSteps(LastOfKey):
    """The last n rows of each key, at a constant step of rows."""

    steps: Steps
    min_fill: str
    unit = "rows"
    window_inputs = frozenset({"rank", "rows", "first", "last"})
    stamp: str = "own"

    @property
    def row_span(self) -> tuple[int, int]:
        return self.steps.size - 1, 0

    @property
    def step(self) -> int:
        """Frames never straddle a multiple of this many rows."""
        return self.steps.every

    @property
    def left_out(self) -> str | None:
        """The share of rows in no window, in words."""
        return describe_gaps(self.steps.size, self.steps.every, rows_in_words)

    def validity(self, ticks: Ints, starts: Ints) -> tuple[Ints, Ints]:
        """From the row that completes the first window with an event up to the one that does the first without it."""
        return completing(ticks, starts, self.steps.size, self.steps.every)

    def validity_sql(self, rows: RowOrder) -> list[dict[str, str]]:
        number = {"#place": f"row_number() over ({rows.over}) - 1"}
        return [number, completing_sql(rows, f"{rows.over} rows", self.steps.size, self.steps.every)]

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        assert ranks is not None
        return self.steps.frames(ranks)[0], None

    def ranges(self, partials: PartialsView) -> Ranges:
        """Every window over partials that is complete at its end."""
        found = self.steps.ranges_by_id(self.describe(), partials, "skip", "partial")
        start, end = self.steps.bounds(found.number)
        last = partials.ends - 1
        rows = (partials.window_inputs["rank"][last] + partials.window_inputs["rows"][last])[partials.key[found.row]]
        kept = end <= rows
        if self.min_fill == "full":
            kept &= start >= 0
        low, high, _, _ = found.where(kept)
        at = partials.window_inputs["last"][high - 1]
        return Ranges(low, high, high - 1, partials.window_inputs["first"][low], at, at)

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        rank, rows = view.window_inputs["rank"], view.window_inputs["rows"]
        total = (rank + rows)[view.ends - 1][view.key]
        kept: Bools = rank + rows > total - self.steps.size - self.steps.every
        return kept

    def describe(self) -> str:
        every = "" if self.steps.every == 1 else f" every {self.steps.every}"
        return f"the last {self.steps.size} rows{every}{self.samples_in_words}"

    def describe_frames(self) -> str:
        return describe_steps(self.steps, rows_in_words)


@dataclass(frozen=True, kw_only=True)
class EachRow(RowSteps):
    """The last n rows at each row of a key: each is a frame, by its number, with one time."""

    window_inputs = frozenset({"first"})
    one_for_each = "event"

    frames = LastOfKey.frames

    @property
    def rows_back(self) -> RowsBack | None:
        return RowsBack(self.steps.size - 1, 0, self.min_fill == "full") if self.emit == "every" else None

    def validity_sql(self, rows: RowOrder) -> list[dict[str, str]]:
        return [{"valid_from": rows.tick, "valid_to": f"lead({rows.tick}, {self.steps.size}) over ({rows.over})"}]

    def ranges(self, partials: PartialsView) -> Ranges:
        low, high, _ = partials.around(1 - self.steps.size, 0)
        found = Ranges(low, high, numbers(len(low)), UNTIMED, UNTIMED)
        if not partials.untimed:
            at = partials.window_inputs["first"]
            found = found._replace(start=at[low], end=at, at=at)
        if self.min_fill == "full":
            found = found.where(np.flatnonzero(partials.frames >= self.steps.size - 1))
        return found


@dataclass(frozen=True, kw_only=True)
class TimeCounts(LastOfKey):
    """The last n times, or the last whole times with at most n rows: a frame a time."""

    n: int
    every: int
    ties: str
    min_fill: str
    window_inputs = frozenset({"rows"})
    stamp: str = "own"
    block = (0, 1)
    alone_in_streams = True

    @property
    def one_for_each(self) -> Literal["event"] | None:  # type: ignore[override]
        return "event" if self.every == 1 else None

    @property
    def left_out(self) -> str | None:
        """The share of times in no window, in words; a lower bound where windows count rows."""
        times = describe_gaps(self.n, self.every, lambda times: f"{times} time{'' if times == 1 else 's'}")
        return f"at least {times}" if times and self.ties == "strict" else times

    def validity(self, ticks: Ints, starts: Ints) -> tuple[Ints, Ints]:
        """From the time that completes the first window with an event up to the one that does the first without it.

        QueryError for ``ties="strict"`` and a step above 1, where that depends on how many rows the steps have.
        """
        self._check_step()
        fresh = differs(ticks)
        fresh[starts] = True
        first, own = np.flatnonzero(fresh), np.cumsum(fresh) - 1  # the first row of each time, the time of each row
        if self.ties == "strict":  # a time is out when the rows from its first one on are more than n
            _, leave = completing(ticks, starts, self.n, 1)
            return ticks, leave[first][own]
        since, until = completing(ticks[first], np.searchsorted(first, starts), self.n, self.every)
        return since[own], until[own]

    def validity_sql(self, rows: RowOrder) -> list[dict[str, str]]:
        self._check_step()
        if self.ties == "strict":
            same = ", ".join(filter(None, (rows.keys, rows.tick)))
            place = {"#place": f"lead({rows.tick}, {self.n}) over ({rows.over})"}
            return [place, {"valid_from": rows.tick, "valid_to": f"min(`#place`) over (partition by {same})"}]
        place = {"#place": f"dense_rank() over ({rows.by_key} order by {rows.tick}) - 1"}
        return [place, completing_sql(rows, f"{rows.by_key} order by `#place` range", self.n, self.every)]

    def _check_step(self) -> None:
        if self.ties == "strict" and self.every > 1:
            raise QueryError(f"a relation of {self.named} has ties='strict' and every={self.every}; expected every=1")

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        overflow_guard(ticks, 0, 1, self.time)
        return ticks, None

    def ranges(self, partials: PartialsView) -> Ranges:
        times = partials.frames
        fresh = differs(times)
        fresh[partials.starts] = True
        first = np.flatnonzero(fresh)  # the first row of each time
        edges = np.append(first, len(times))
        key = partials.key[first]
        begins = np.searchsorted(first, partials.starts)
        place = np.arange(len(first)) - begins[key]  # the ordinal of the time in its key
        if self.ties == "distinct_time":
            low = np.maximum(place - self.n + 1, 0) + begins[key]
            full = place >= self.n - 1
        else:
            rows = np.concatenate([[0], np.cumsum(partials.window_inputs["rows"])])[edges]
            low = np.maximum(np.searchsorted(rows[:-1], rows[1:] - self.n), begins[key])
            full = rows[1:] - rows[low] == self.n
        wanted = ((place + 1) % self.every == 0) & (low <= np.arange(len(first)))
        if self.min_fill == "full":
            wanted &= full
        ends = np.flatnonzero(wanted)
        low, high = first[low[ends]], edges[ends + 1]
        at = times[first[ends]]
        return Ranges(low, high, first[ends], times[low], at + (self.ties == "distinct_time"), at)

    def why_no_stream(self, alone: bool) -> str | None:
        return super().why_no_stream(alone or self.every == 1)

    def closing_ticks(self, ranges: Ranges | Coverage, view: PartialsView) -> Ints:
        """After its last row, which has to have its place among those of its time."""
        assert ranges.at is not None
        return ranges.at + 1

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        gone = (view.ends - view.starts - self.n - 1).clip(0)
        return view.from_place(gone // self.every * self.every)

    def describe(self) -> str:
        every = "" if self.every == 1 else f" every {self.every}"
        if self.ties == "distinct_time":
            return f"the last {self.n} times with all their rows{every}{self.samples_in_words}"
        return f"the last {self.n} rows, of whole times only{every}{self.samples_in_words}"
