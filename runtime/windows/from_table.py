"""Windows from another data set: one for each of its rows, of any width, in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from ...aggregators.errors import ColumnError, QueryError
from ...aggregators.states.arrays import Bools, Ints
from ..columns.key_codes import match
from ..columns.plain import normalised, plain, plain_type
from ..columns.ticks import NEVER, TimeColumn
from ..frames.partials_view import GivenRows, PartialsView
from ..frames.window_ranges import MAX_WINDOWS, UNTIMED, Coverage, Ranges
from ..frames.windows import TypeOf, Windows
from .spec import Spec


@dataclass(frozen=True, eq=False)
class FromAnchors(Spec):
    """One window for each row of another data set; made by ``framefold.windows_from``."""

    of_durations = False
    anchors: pa.Table
    start: str
    end: str
    by: tuple[str, ...]
    at: str
    obsolete: str | None
    closed: str
    empty: str
    rows: Callable[[], pa.Table]
    """Gives the other data set with all its columns."""
    edges: Ints | None = None
    """Where the axis is cut for several such specs, in ticks."""
    by_tick: bool = False
    """Whether it is cut at every tick between these."""
    size: str = ""
    """How far windows of one of these specs reach back, in words."""

    def __str__(self) -> str:
        return f"{len(self.anchors)} windows from another data set, {self.start} to {self.end}"

    def bind(self, time: TimeColumn, type_of: TypeOf) -> Anchored:
        """The windows on a time column, in its ticks.

        Raises
        ------
        ColumnError, QueryError
            If a bound is null or of another type than the time, or a window ends before it starts.
        """
        ticks = {name: self._ticks(time, name) for name in dict.fromkeys((self.end, self.start, self.at))}
        start, end, at = ticks[self.start], ticks[self.end], ticks[self.at]
        backwards = np.flatnonzero(end < start)
        if len(backwards):
            row = int(backwards[0])
            raise QueryError(
                f"windows_from() has {len(backwards)} windows that end before they start, the first from "
                f"{time.word(int(start[row]))} to {time.word(int(end[row]))}; expected no end before a start"
            )
        if self.obsolete is not None:
            self._check_obsolete(self._ticks(time, self.obsolete), start)
        keys = [
            normalised(plain(self.anchors.column(name), plain_type(self.anchors.column(name).type))) for name in self.by
        ]
        names = tuple(self._word(name, "key") for name in self.by)
        return Anchored(
            time=time, keys=tuple(keys), key_names=names, start=start, end=end, at=at, closed=self.closed,
            empty=self.empty, edges=self.edges, by_tick=self.by_tick, size=self.size,
        )  # fmt: skip

    def _word(self, name: str, what: str = "") -> str:
        """A column as a message names it: by what a user wrote."""
        if self.edges is not None:
            return f"the {what or 'column'} {name!r} of lookback(at=)"
        return f"the anchors' {what} {name!r}" if what else f"the anchors' {name!r}"

    def _ticks(self, time: TimeColumn, name: str) -> Ints:
        column = self.anchors.column(name)
        kind = plain_type(column.type)
        found = TimeColumn(name, kind)
        zones = [type.tz is not None for type in (kind, time.type) if pa.types.is_timestamp(type)]
        same = [pa.types.is_timestamp, pa.types.is_date, pa.types.is_integer]
        if not any(test(kind) and test(time.type) for test in same) or len(set(zones)) > 1:
            raise ColumnError(
                f"{self._word(name)} is {kind}, and the time {time.name!r} is {time.kind}; expected one type"
            )
        if column.null_count:
            raise ColumnError(
                f"the anchors' {name!r} is null in {column.null_count} rows; expected a time in every row, as "
                "null_time= is of events only"
            )
        return found.ticks(plain(column, kind))

    def _check_obsolete(self, obsolete: Ints, start: Ints) -> None:
        """QueryError where ``obsolete`` falls, or a window starts before its value in the row before (rule R44)."""
        back = np.flatnonzero(obsolete[1:] < obsolete[:-1])
        if len(back):
            raise QueryError(
                f"the anchors' {self.obsolete!r} falls in row {int(back[0]) + 1}; expected it never to fall"
            )
        early = np.flatnonzero(start[1:] < obsolete[:-1])
        if len(early):
            raise QueryError(
                f"the window of the anchors' row {int(early[0]) + 1} starts before {self.obsolete!r} of the row before "
                "it; expected windows that do not reach back beyond it"
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Anchored(Windows):
    """Given windows in ticks: the axis is cut wherever any of them starts or ends, or by the edges of several kinds."""

    keys: tuple[pa.Array, ...]
    key_names: tuple[str, ...]
    start: Ints
    end: Ints
    at: Ints
    edges: Ints | None = None
    by_tick: bool = False
    size: str = ""
    without_key: Bools | None = None
    """Which windows have a null in their key, which is equal to no key: they have no events."""
    window_inputs = frozenset({"rows"})
    stamp: str = "own"
    forward = False
    given = True
    one_for_each = "label"

    def keys_of_their_own(self, types: list[pa.DataType]) -> list[pa.Array] | None:
        """The anchors' keys, or the only one where events have none."""
        if not types:
            return []
        return list(self.keys) if self.keys else None

    @property
    def anchor_keys(self) -> Sequence[tuple[str, pa.Array]]:
        return list(zip(self.key_names, self.keys, strict=True)) if self.keys else ()

    def with_anchor_keys(self, keys: tuple[pa.Array, ...]) -> Windows:
        nulls = [key.is_null().to_numpy(zero_copy_only=False) for key in keys if key.null_count]
        return replace(self, keys=keys, without_key=np.logical_or.reduce(nulls) if nulls else None)

    def of_anchors(self, rows: Ints, keys: pa.Array, ticks: tuple[int, int]) -> Windows | None:
        if not self.by_tick or self.edges is None:
            return None
        edges = np.array([min(ticks[0], self.edges[0]), max(ticks[1] + 1, self.edges[-1])])
        start, end = self.start[rows], self.end[rows]
        at = end if self.at is self.end else self.at[rows]
        without_key = None if self.without_key is None else self.without_key[rows]
        return replace(
            self, keys=(keys,), key_names=("key",), edges=edges, start=start, end=end, at=at, without_key=without_key
        )

    @property
    def anchor_ticks(self) -> tuple[Ints, Ints] | None:
        return self._ticks if self.keys and self.emits_empty else None

    @property
    def anchor_frames(self) -> tuple[Ints, Ints] | None:
        return self._edges[1:]

    @cached_property
    def _ticks(self) -> tuple[Ints, Ints]:
        """The first tick of each window, and the first one after it."""
        begin = self.start + self.after_start
        stop = np.maximum(self.end + self.after_end, begin)
        return begin, stop if self.without_key is None else np.where(self.without_key, begin, stop)

    @cached_property
    def _edges(self) -> tuple[Ints, Ints, Ints]:
        """The sorted bounds of windows, and the places among them of each window's start and end."""
        begin, stop = self._ticks
        edges = np.unique(np.concatenate([begin, stop])) if self.edges is None else self.edges
        if self.by_tick:
            return edges, begin, stop
        return edges, np.searchsorted(edges, begin), np.searchsorted(edges, stop)

    @property
    def before_all(self) -> int:
        return int(self._edges[0][0]) - 1 if self.by_tick else -1

    def cuts_as(self, other: Windows) -> bool:
        if not isinstance(other, Anchored) or self.edges is None or other.edges is None:
            return False
        return self.by_tick == other.by_tick and np.array_equal(self.edges, other.edges)

    def same_rows(self, other: Windows) -> bool:
        if not (isinstance(other, Anchored) and self.keys and len(self.keys) == len(other.keys)):
            return False
        same = all(one.equals(two) for one, two in zip(self.keys, other.keys, strict=True))
        return same and np.array_equal(self.at, other.at)

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        """The frame of each event, and which events are between the first bound and the last (None: all)."""
        edges = self._edges[0]
        if self.by_tick:
            return ticks, (ticks >= edges[0]) & (ticks < edges[-1])
        frames = np.searchsorted(edges, ticks, side="right") - 1
        # Where every window is for every key, the keys of all events matter.
        return frames, (frames >= 0) & (frames < len(edges) - 1) if self.keys else None

    def rows_given(self, view: PartialsView) -> GivenRows | None:
        """The anchors of each key, in the order of their times; None where every one is for every key."""
        return self._by_key(view) if self.keys else None

    def _by_key(self, view: PartialsView) -> GivenRows:
        key, anchor = self._pairs(view)
        at = self.at[anchor]
        if ((key[1:] > key[:-1]) | (key[1:] == key[:-1]) & (at[1:] >= at[:-1])).all():
            return GivenRows(anchor, np.bincount(key, minlength=len(view.starts)))
        order = np.lexsort((anchor, at, key))
        return GivenRows(anchor[order], np.bincount(key, minlength=len(view.starts)))

    def ranges(self, partials: PartialsView) -> Ranges:
        """Every window over partials, sorted by key and the time it is stamped with."""
        _, begin, stop = self._edges
        partials = partials if partials.given is not None else replace(partials, given=self._by_key(partials))
        assert partials.given is not None
        key, anchor = partials.key_given, partials.given.number
        low, high = partials.locate(key, begin[anchor]), partials.locate_again(key, stop[anchor])
        found = Ranges(low, high, partials.starts[key], UNTIMED, UNTIMED, None, anchor)
        if not partials.untimed:
            found = found._replace(start=self.start[anchor], end=self.end[anchor], at=self.at[anchor])
        if self.emits_empty:
            return found
        rows = np.concatenate([[0], np.cumsum(partials.window_inputs["rows"])])
        return found.where(rows[high] > rows[low])

    def _pairs(self, partials: PartialsView) -> tuple[Ints, Ints]:
        """The number of the key and that of the anchor of each window."""
        keys, anchors = len(partials.starts), len(self.start)
        if not self.keys:
            if keys * anchors > MAX_WINDOWS:
                raise QueryError(
                    f"{anchors} anchors for each of {keys} keys are too many; expected anchors by key (by=)"
                )
            some = np.arange(keys)
            if partials.keys and keys:  # other windows may bring keys without an event
                some = some[np.add.reduceat(partials.window_inputs["rows"], partials.starts) > 0]
            return np.repeat(some, anchors), np.tile(np.arange(anchors), len(some))
        key = match(partials.keys, self.keys)
        found = np.flatnonzero(key >= 0)
        return key[found], found

    @property
    def stream_inputs(self) -> frozenset[str]:
        return super().stream_inputs | {"first"}

    def why_no_stream(self, alone: bool) -> str | None:
        if self.keys and self.emits_empty:
            return "windows of given keys are given without an event, too; expected empty='skip'"
        return None

    def needs_order(self, alone: bool) -> bool:
        return not self.keys

    def closing_ticks(self, ranges: Ranges | Coverage, view: PartialsView) -> Ints:
        # Windows of every key are those of a key that has not come yet, too.
        first = view.window_inputs["first"][view.starts[view.key[ranges.row]]]
        closed: Ints = np.maximum(ranges.end + self.after_end, first + 1)
        return closed

    def closed_after(self, ticks: Ints, forget: int) -> Ints:
        """Never, where all of them would be given once more to a key that is forgotten, or are its own."""
        if self.keys or self.emits_empty:
            return super().closed_after(ticks, forget)
        return np.maximum(ticks + 1, int(self.end.max(initial=-NEVER) + self.after_end))

    def open_rows(self, view: PartialsView, watermark: int) -> Bools:
        """Partials in a window that has not closed, or in no window: these are not late."""
        found, rows = self.ranges(view), len(view.frames)
        still = self.closing_ticks(found, view) > watermark
        return found.where(still).covered(rows) | ~found.where(~still).covered(rows)

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        kept = self.open_rows(view, watermark)
        if not self.keys:
            kept[view.starts] = True  # all windows are those of this key, too, and it has had those that have closed
        return kept

    def describe(self) -> str:
        which = "of its key" if self.keys else "of every key"
        given = f"{self.size} before each of {len(self.at)} times" if self.size else f"{len(self.start)} given windows"
        return f"{given} {which}, closed={self.closed!r}"

    def describe_frames(self) -> str:
        if self.by_tick:
            return super().describe_frames()
        return f"{max(len(self._edges[0]) - 1, 0)} frames between the bounds of the given windows"
