"""Cumulating windows: each grows by a step up to its size, then starts anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...aggregators.errors import DurationError, QueryError
from ..columns.ticks import Duration, Instant, TimeColumn, describe, overflow_guard
from ..frames.filling import Filling, filling
from ..frames.window_ranges import Ints, Mask, PartialsView, Ranges, WindowIds, ranges_by_id
from .sliding import Offset, above_zero, offset_ticks
from .spec import Closed, Emit, Empty, Numbering, Pattern, RowOrder, Spec, Stamp, TypeOf, Windows, check_words, samples


@dataclass(frozen=True)
class Cumulating(Spec):
    """Windows that grow up to a size, then start anew; made by :func:`cumulating`."""

    size: Duration
    every: Duration
    offset: Offset = 0
    closed: str = "left"
    empty: str = "skip"
    emit: str = "every"
    stamp: str = "interval"
    min_samples: int = 0
    filling: Filling | None = None
    intervals = "also"

    def __str__(self) -> str:
        words = f"windows that grow by {self.every} up to {self.size}, then start anew"
        return words + (f", offset by {self.offset}" if self.offset else "")

    def bind(self, time: TimeColumn, type_of: TypeOf) -> Cycles:
        size, every = above_zero(time, self.size, "size"), above_zero(time, self.every, "every")
        if size % every:
            raise DurationError(f"size is {self.size!r} and every is {self.every!r}; expected a size in whole steps")
        offset = offset_ticks(time, self.offset) % size
        return Cycles(
            time=time, emit=self.emit, stamp=self.stamp, size=size, every=every, offset=offset, closed=self.closed,
            empty=self.empty, min_samples=self.min_samples,
            fill=None if self.filling is None else self.filling.bind(time, self.closed),
        )  # fmt: skip


def cumulating(
    size: Duration,
    every: Duration | None = None,
    *,
    offset: Offset = 0,
    closed: Closed = "left",
    empty: Empty = "skip",
    fill_from: Instant | None = None,
    fill_to: Instant | None = None,
    fill_keys: Any = None,
    min_samples: int = 0,
    emit: Emit = "every",
    stamp: Stamp = "interval",
) -> Cumulating:
    """Windows that grow by a step up to a size, then start anew: sums since midnight, every hour.

    From each start ``s = offset + k * size`` they are ``[s, s + every)``, ``[s, s + 2 * every)``, and so on up to
    ``[s, s + size)`` (Flink's CUMULATE). Once a key has an event in a cycle, all windows
    that end later in it are given.

    Parameters
    ----------
    size
        A duration of whole steps.
    every
        The step.
    offset, closed, empty, fill_from, fill_to, fill_keys, min_samples, emit, stamp
        As for :func:`sliding`.

    Raises
    ------
    QueryError
        If a word is unknown; the durations are checked in ``.aggregate``.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 5]})
    >>> result = ff.events(events, time="t").window(ff.cumulating(4, every=2)).aggregate(n=ff.Count())
    >>> [(w["window"]["start"], w["window"]["end"], w["n"]) for w in result.to_pylist()]
    [(0, 2, 2), (0, 4, 2), (4, 6, 1), (4, 8, 1)]
    """
    if every is None:
        raise QueryError(f"every= of cumulating({size!r}) is missing; expected the step, or ff.tumbling({size!r})")
    check_words(closed=closed, empty=empty, emit=emit, stamp=stamp)
    fill = filling(empty, emit, fill_from, fill_to, fill_keys)
    return Cumulating(size, every, offset, closed, empty, emit, stamp, samples(min_samples), fill)


@dataclass(frozen=True, kw_only=True)
class Cycles(Windows):
    """Cumulating windows in ticks of a time column: a frame a step."""

    size: int
    every: int
    offset: int
    closed: str
    empty: str

    valid_by = "time"

    def pattern(self, partitioned: bool) -> Pattern:
        return "weak"

    def validity(self, ticks: Ints, starts: Ints) -> tuple[Ints, Ints]:
        """From the next step on, up to the first one of the next cycle."""
        self.frames(ticks)  # checks their range
        at = ticks - self.numberings[0].origin
        first, cycle = (at // width + 1 for width in (self.every, self.size))
        return self.offset + first * self.every, self.offset + cycle * self.size + self.every

    @property
    def valid_for(self) -> int:
        return self.size + self.every + 1

    def validity_sql(self, rows: RowOrder) -> list[dict[str, str]]:
        shift = self.numberings[0].origin - self.offset
        return [
            {
                name: f"{rows.tick} + {width + more - shift} - pmod({rows.tick} - {self.offset + shift}, {width})"
                for name, width, more in (("valid_from", self.every, 0), ("valid_to", self.size, self.every))
            }
        ]

    @property
    def numberings(self) -> tuple[Numbering]:
        """One: a frame a step."""
        return (Numbering(self.offset + (self.closed == "right"), self.every),)

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Mask | None]:
        overflow_guard(ticks, 2 * self.size, 2 * self.size, self.time)
        return (ticks - self.numberings[0].origin) // self.every, None

    def frame_bounds(self, frames: Ints) -> tuple[Ints, Ints]:
        start = frames * self.every + self.numberings[0].origin
        return start, start + self.every

    def window_ids(self, partials: PartialsView) -> WindowIds:
        steps = self.size // self.every
        return WindowIds(partials.frames, (partials.frames // steps + 1) * steps - 1)

    def closed_by(self, tick: int) -> int:
        """The number of the last window that no event from a tick on is in."""
        return (tick - self.numberings[0].origin) // self.every - 1

    def closes_at(self, number: int) -> int:
        """The first tick from which on no event is in a window."""
        return (number + 1) * self.every + self.numberings[0].origin

    @property
    def chunkable(self) -> bool:
        return self.emit == "every"

    def ranges(self, partials: PartialsView) -> Ranges:
        """Every window over partials: window k ends with step k."""
        steps = self.size // self.every
        low, high, row, number = ranges_by_id(
            self.describe(), partials, *(partials.ids or self.window_ids(partials)), self.empty
        )
        start = number // steps * self.size + self.offset
        return Ranges(low, high, row, start, (number + 1) * self.every + self.offset)

    def describe(self) -> str:
        size, every = (describe(ticks, self.time.type) for ticks in (self.size, self.every))
        ends = "[start, end)" if self.closed == "left" else "(start, end]"
        return f"windows that grow by {every} up to {size}, {ends}{self.samples_in_words}"

    def describe_frames(self) -> str:
        return f"one frame every {describe(self.every, self.time.type)}; up to {self.size // self.every} to a window"
