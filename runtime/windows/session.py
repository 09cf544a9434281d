"""Session windows: events that follow one another closely."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...aggregators.durations import positive
from ...aggregators.errors import QueryError
from ...aggregators.states.arrays import Bools, Ints
from ..columns.ticks import Duration, TimeColumn, describe, overflow_guard
from ..frames.next_greater import chain
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Coverage, Ranges
from ..frames.windows import Numbering, TypeOf, Windows
from .spec import Spec, Stamp, check_words


@dataclass(frozen=True)
class Session(Spec):
    """Windows of events that follow one another closely; made by :func:`session`."""

    gap: Duration
    merge_touching: bool = False
    longest: Duration | None = None
    stamp: str = "interval"

    def __str__(self) -> str:
        words = f"sessions that end after {self.gap} without an event"
        return words if self.longest is None else f"{words}, or after about {self.longest}"

    def bind(self, time: TimeColumn, type_of: TypeOf) -> Sessions:
        gap = time.length(self.gap, "gap")
        longest = None if self.longest is None else time.length(self.longest, "longest")
        return Sessions(time=time, stamp=self.stamp, gap=gap, merge_touching=self.merge_touching, longest=longest)


def session(
    gap: Duration, *, merge_touching: bool = False, longest: Duration | None = None, stamp: Stamp = "interval"
) -> Session:
    """Windows of events that follow one another closely: ``[first event, last event + gap)``.

    Spark's ``session_window`` joins two events that are exactly the gap apart, and this splits them:
    ``merge_touching=True`` gives its sessions.

    Parameters
    ----------
    gap
        The time without an event after which a session ends, of fixed length: a day is 24 hours.
    merge_touching
        What becomes of two events exactly ``gap`` apart: two sessions that touch (False, as in Hazelcast Jet), or one
        (True, as in Flink, and in Spark's ``session_window``).
    longest
        The time after which a session ends although events keep coming; None for any length. It ends at a multiple of
        that, counted from the epoch in UTC: the second one after its start (the first one, if it follows right on a
        session that was ended like this, or starts at a multiple itself), as in Trill.
    stamp
        As for :func:`sliding`.

    Raises
    ------
    QueryError
        If an argument is none of these; whether durations fit the time column is checked in ``.aggregate``.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 4, 8]})
    >>> result = ff.events(events, time="t").window(ff.session(3)).aggregate(n=ff.Count())
    >>> [(w["window"]["start"], w["window"]["end"], w["n"]) for w in result.to_pylist()]
    [(0, 4, 2), (4, 7, 1), (8, 11, 1)]
    >>> as_spark = ff.events(events, time="t").window(ff.session(3, merge_touching=True)).aggregate(n=ff.Count())
    >>> as_spark["n"].to_pylist()
    [3, 1]
    """
    if not isinstance(merge_touching, bool):
        raise QueryError(f"merge_touching is {merge_touching!r}; expected True or False")
    positive(gap, "gap")
    if longest is not None:
        positive(longest, "longest")
    check_words(stamp=stamp)
    return Session(gap, merge_touching, longest, stamp)


@dataclass(frozen=True, kw_only=True)
class Sessions(Windows):
    """Sessions in ticks of a time column.

    Frames are as long as the gap, so that all events of one are in one session, in whichever task they are. A session
    is a run of frames, the first event of each close enough to the last one before.
    """

    gap: int
    merge_touching: bool
    longest: int | None = None
    window_inputs = frozenset({"first", "last"})
    merging = True

    @property
    def numberings(self) -> tuple[Numbering, ...]:
        """One by the gap; one by ``longest``, at whose multiples sessions may end."""
        return (Numbering(0, self.gap), *(() if self.longest is None else (Numbering(0, self.longest),)))

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        overflow_guard(ticks, 0, self.gap + 2 * (self.longest or 0), self.time)
        frames = ticks // self.gap
        return frames if self.longest is None else frames + ticks // self.longest, None

    def ranges(self, partials: PartialsView) -> Ranges:
        """Every session over partials."""
        first, last = partials.window_inputs["first"], partials.window_inputs["last"]
        begins = np.ones(len(first), bool)
        apart = first[1:] - last[:-1]
        begins[1:] = apart > self.gap if self.merge_touching else apart >= self.gap
        begins[partials.starts] = True
        if self.longest is not None:
            return self._no_longer(partials, begins, self.longest)
        low = np.flatnonzero(begins)
        high = np.append(low[1:], len(first))[: len(low)].astype(np.int64)
        return Ranges(low, high, low, first[low], last[high - 1] + self.gap)

    def _no_longer(self, partials: PartialsView, begins: Bools, longest: int) -> Ranges:
        """Sessions that are ended at multiples of a duration, which no frame straddles.

        Where a session ends depends on where it starts and on whether it follows on one that was ended: from each
        partial there are two possible sessions, and those that happen are reached one from the other.
        """
        first, last = partials.window_inputs["first"], partials.window_inputs["last"]
        count = len(first)
        row = np.repeat(np.arange(count), 2)
        follows = np.tile([False, True], count)
        into = first[row] % longest
        end = first[row] - into + np.where(follows | (into == 0), longest, 2 * longest)
        heads = np.append(np.flatnonzero(begins), count)
        gap = heads[np.searchsorted(heads, row, side="right")]
        cut = np.minimum(partials.locate(partials.key[row], end, first), gap)
        reached = np.flatnonzero(chain(2 * cut + (cut < gap), 2 * partials.starts))
        low, high = row[reached], cut[reached]
        return Ranges(low, high, low, first[low], np.minimum(last[high - 1] + self.gap, end[reached]))

    @property
    def closes_at_end(self) -> bool:
        return not self.merge_touching

    def needs_order(self, alone: bool) -> bool:
        return not alone or self.longest is not None

    def closing_ticks(self, ranges: Ranges | Coverage, view: PartialsView) -> Ints:
        return ranges.end + self.merge_touching

    def closed_after(self, ticks: Ints, forget: int) -> Ints:
        return ticks + self.gap + self.merge_touching

    def open_rows(self, view: PartialsView, watermark: int) -> Bools:
        # Those that longest= ends follow one another: what one begins with depends on where the one before it ended.
        found = replace(self, longest=None).ranges(view)
        return np.repeat(self.closing_ticks(found, view) > watermark, found.high - found.low)

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        """With ``longest``: partials of open sessions, and the last partial of the closed one before each."""
        kept = self.open_rows(view, watermark)
        if self.longest is None or not alone:  # others need these partials as they are
            return kept
        found = self.ranges(view)
        closed = self.closing_ticks(found, view) <= watermark
        next_is_open = np.append(~closed[1:] | (view.key[found.low[1:]] != view.key[found.low[:-1]]), True)
        of_open = np.repeat(~closed, found.high - found.low)
        of_open[found.high[closed & next_is_open] - 1] = True
        return kept & of_open

    def condensed(self, view: PartialsView, watermark: int) -> tuple[str, Ints] | None:
        """With ``longest``, the first tick of the last partial of a session that is over: that of its multiple.

        A session that begins at a multiple of ``longest`` ends at the next one, as those do that follow on one that
        was ended. So with that tick one partial stands for all before it.
        """
        if self.longest is None:
            return None
        found = self.ranges(view)
        closed = self.closing_ticks(found, view) <= watermark
        first: Ints = view.window_inputs["first"].copy()
        first[found.high[closed] - 1] = found.end[closed] - self.longest
        return None if (first == view.window_inputs["first"]).all() else ("first", first)

    def describe(self) -> str:
        touching = "are one" if self.merge_touching else "stay apart"
        gap = describe(self.gap, self.time.type)
        ended = "" if self.longest is None else f", ended after about {describe(self.longest, self.time.type)}"
        return f"sessions, [first event, last event + {gap}); those that touch {touching}{ended}"

    def describe_frames(self) -> str:
        return f"one frame every {describe(self.gap, self.time.type)}, the gap between sessions"
