"""The axis of a plan: time, or the rows of each key, cut into frames that all its windows share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from ...aggregators.errors import ColumnError
from ..frames.partials_view import Mask, WindowIds
from ..windows import Coverage, Ints, PartialsView, Ranges, Windows
from ..windows.from_table import Anchored


@dataclass(frozen=True)
class Axis:
    """The windows of a plan on one axis.

    One kind of windows cuts it by itself. Several cut it together wherever any of them does: the number of a shared
    frame is the sum of the numbers that each of them gives, which changes exactly where one of these does, because none
    ever falls. Each finds its own frames again by the first event of every partial.
    """

    windows: tuple[Windows, ...]
    intervals: bool = False
    in_order: bool = False

    @property
    def each_row(self) -> bool:
        """Whether every row is a frame: interval events overlap, and may have to be combined in their order."""
        return self.intervals and self.in_order

    @property
    def unit(self) -> str:
        """What frames are cut from: ``"rows"`` as soon as some windows are counted in rows, else ``"time"``."""
        return "rows" if self.each_row or any(each.unit == "rows" for each in self.windows) else "time"

    @cached_property
    def window_inputs(self) -> tuple[str, ...]:
        """What must be known of every partial."""
        window_inputs = {name for each in self.windows for name in each.window_inputs}
        if len(self.windows) > 1:
            window_inputs |= {"first", *(["rank"] if self.unit == "rows" else [])}
        if self.intervals:
            window_inputs |= {"first", "until"}
        return tuple(sorted(window_inputs))

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that windows are made by."""
        return tuple(dict.fromkeys(column for each in self.windows for column in each.columns))

    @property
    def block(self) -> tuple[int, int] | None:
        """(origin, width) in ticks: no frame straddles two of ``(ticks - origin) // width``; None: unknown."""
        return next((each.block for each in self.windows if each.block is not None), None)

    @property
    def row_span(self) -> tuple[int, int] | None:
        """(lookback, lookahead): how many rows before and after its own a window takes in; None: any number."""
        spans = [each.row_span for each in self.windows if each.row_span is not None]
        if len(spans) < len(self.windows):
            return None
        return max(before for before, _ in spans), max(after for _, after in spans)

    @property
    def stamped(self) -> bool:
        """Whether results of any of the windows have a time ``at``."""
        return any(each.stamped for each in self.windows)

    def frames(self, ticks: Ints, ranks: Ints | None) -> tuple[Ints, Mask | None]:
        """The frame of each event, and which events are in any window (None: all)."""
        if self.each_row:
            assert ranks is not None
            return ranks, None
        frames, inside = self.windows[0].frames(ticks, ranks)
        for each in self.windows[1:]:
            more, also = each.frames(ticks, ranks)
            if len(frames) and max(map(abs, _ends(frames))) + max(map(abs, _ends(more))) >= 1 << 62:
                raise ColumnError(
                    f"the times {each.time.name!r} are too large for several windows in one pass; expected times "
                    "nearer to zero, or a query for each"
                )
            frames = frames + more
            inside = None if inside is None or also is None else inside | also
        return frames, inside

    def frames_unchecked(self, ticks: Ints) -> Ints:
        """The frames of times between two whose frames are known."""
        return self.windows[0].frames_unchecked(ticks) if len(self.windows) == 1 else self.frames(ticks, None)[0]

    def views(self, view: PartialsView) -> list[PartialsView]:
        """Partials as each kind of windows sees them: in its own frames, the windows of each row numbered."""
        if self.intervals:
            return [view for _ in self.windows]
        views = [view]
        if len(self.windows) > 1:
            inputs = view.window_inputs
            views = []
            for each in self.windows:
                frames, inside = each.frames(inputs["first"], inputs.get("rank"))
                if "rows" in inputs and not isinstance(each, Anchored):  # partials without events are for those only
                    inside = inputs["rows"] > 0 if inside is None else inside & (inputs["rows"] > 0)
                views.append(replace(view, frames=frames, inside=None if inside is None or inside.all() else inside))
        return [replace(own, ids=each.window_ids(own)) for each, own in zip(self.windows, views, strict=True)]

    def ranges(self, number: int, view: PartialsView) -> Ranges | Coverage:
        """The windows of one kind over its view of partials; those of some numbers, if it has such."""
        windows = self.windows[number]
        if view.inside is None or view.inside.all():
            return windows.ranges(view)
        # Partials that are in no window of this kind must not be in the midst of one.
        rows = np.flatnonzero(view.inside)
        key = view.key[rows]
        anew = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])[: len(key)])
        found = windows.ranges(
            PartialsView(
                view.frames[rows],
                anew,
                {name: values[rows] for name, values in view.window_inputs.items()},
                tuple(column.take(pa.array(key[anew])) for column in view.keys),
                view.within,
                None,
                None if view.ids is None else WindowIds(view.ids.first[rows], view.ids.last[rows]),
            )
        )
        if isinstance(found, Coverage):
            first, last = np.ones(len(view.frames), np.int64), np.zeros(len(view.frames), np.int64)
            first[rows], last[rows] = found.first, found.last
            return found._replace(first=first, last=last, row=rows[found.row])
        rows = np.append(rows, len(view.frames))
        filled = found.high > found.low
        low = rows[found.low]
        high = np.where(filled, rows[found.high - 1] + 1, low)
        return found._replace(low=low, high=high, row=rows[found.row])

    def describe_frames(self) -> str:
        """How the axis is cut, in words."""
        if len(self.windows) == 1:
            return self.windows[0].describe_frames()
        cuts = "; ".join(dict.fromkeys(each.describe_frames() for each in self.windows))
        return f"cut wherever any of {len(self.windows)} kinds of windows is, and shared by them: {cuts}"


def _ends(values: Ints) -> tuple[int, int]:
    return int(values.min()), int(values.max())
