"""A shard of a stream: the partials of some keys, which slide together and are kept as long as a window needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from ..frames.window_ranges import Mask, Ranges
from ..partials.merge import Partials, merge, window_inputs_of
from ..plan.plan import Plan, partials_schema
from ..plan.window_inputs import window_input
from ..results.finish import results, views_of
from ..windows import Ints, PartialsView
from ..windows.cumulating import Cycles
from ..windows.session import Sessions
from ..windows.sliding import TickSteps

BLOCK = 16
"""The frames whose partials are stored together: what a batch touches is read and written in blocks."""

FIRST = -(1 << 62)
"""Below the number of any window."""


class Store(Protocol):
    """Where a shard keeps its partials: tables by the number of their block."""

    def blocks(self) -> Iterable[int]:
        """The numbers of all blocks."""

    def get(self, block: int) -> pa.Table | None:
        """The partials of a block; None where there are none."""

    def put(self, block: int, table: pa.Table) -> None:
        """Store the partials of a block, in place of those it has."""

    def remove(self, block: int) -> None:
        """Forget a block, if there is one of this number."""


def counted(plan: Plan) -> Plan:
    """A plan whose partials have the number of their events, so that dropped ones can be counted."""
    inputs = plan.window_inputs | {"#rows": window_input("rows")}
    keys = [plan.partials_schema.field(at) for at in range(len(plan.by))]
    schema = partials_schema(keys, inputs | plan.outputs, plan.until is not None)
    return replace(plan, window_inputs=inputs, partials_schema=schema)


def why_not(plan: Plan) -> str | None:
    """Why windows or operations cannot be kept by shards, in words; None where they can be."""
    if len(plan.axis.windows) > 1:
        return "there are several kinds of windows in one pass"
    if plan.until is not None:
        return "events have an end"
    if plan.ordered:
        return "the order of events matters to an operation, or ties= is given"
    (windows,) = plan.axis.windows
    if not isinstance(windows, (TickSteps, Cycles, Sessions)):
        return f"the windows are {windows.describe()}"
    if getattr(windows, "empty", "skip") != "skip":
        return "empty='emit' asks for windows without an event"
    if getattr(windows, "min_fill", "partial") != "partial":
        return "min_fill='full' depends on the first event of each key, however long ago it was"
    if windows.emit != "every":
        return "emit='on_change' compares each window with the one before it"
    if isinstance(windows, Sessions) and windows.longest is not None:
        return "sessions with longest= depend on those before them"
    return None


@dataclass
class Shard:
    """The partials of some keys.

    Parameters
    ----------
    plan
        What is computed: :func:`counted`, and :func:`why_not` has no reason against it.
    store
        Where its partials are.
    watermark
        The tick up to which windows are closed: no event from it on is in one of them.
    due
        A tick at which no window has closed that is still open, as late as is known; None where no partials are held.
    """

    plan: Plan
    store: Store
    watermark: int = FIRST
    due: int | None = None

    @property
    def numbered(self) -> TickSteps | Cycles | None:
        """The windows, if they are numbered; None where they are sessions."""
        (windows,) = self.plan.axis.windows
        return windows if isinstance(windows, (TickSteps, Cycles)) else None

    def advance(self, watermark: int) -> Iterator[pa.Table]:
        """The results of the windows that a watermark closes; what only they needed is forgotten.

        A watermark that is not beyond the one before changes nothing.
        """
        if watermark <= self.watermark:
            return
        before, self.watermark = self.watermark, watermark
        if self.due is None or watermark < self.due:
            return
        held = self._merged(self.store.blocks())
        kept = self._open(held)
        if (windows := self.numbered) is None:
            yield from results(self.plan, self._where(held, ~kept))
        else:
            first = FIRST if before == FIRST else windows.closed_by(before) + 1
            yield from results(self.plan, held, within=(first, windows.closed_by(watermark)))
        left = self._where(held, kept)
        self._write(left, blocks_of(held.frames()[~kept]))
        self.due = self._first_due(left)

    def add(self, partials: Partials) -> int:
        """Keep the partials of new events, but for those whose windows are all closed; how many events those have."""
        new = merge(self.plan, partials)
        late = not self._open(new).all()
        touched = blocks_of(new.frames())
        # An event whose own session has closed may be in one that has not.
        of_all = late and self.numbered is None
        before = self._merged({*self.store.blocks(), *touched} if of_all else touched)
        after = merge(self.plan, [before, replace(new, starts=None)])
        if late:
            after = self._where(after, self._open(after))
        self._write(after, touched)
        self.due = min((due for due in (self.due, self._first_due(after)) if due is not None), default=None)
        return self._events(before) + self._events(new) - self._events(after)

    def _open(self, merged: Partials) -> Mask:
        """Which partials are in a window that the watermark has not closed."""
        (view,) = views_of(self.plan, merged)
        if (windows := self.numbered) is not None:
            return windows.window_ids(view).last > windows.closed_by(self.watermark)
        sessions = self._sessions(view)
        return np.repeat(sessions.end, sessions.high - sessions.low) > self.watermark

    def _first_due(self, merged: Partials) -> int | None:
        """The tick at which the first window of some partials closes that has not; None where there are none."""
        if not len(merged):
            return None
        (view,) = views_of(self.plan, merged)
        if (windows := self.numbered) is not None:
            first = int(windows.window_ids(view).first.min())
            return windows.closes_at(max(first, windows.closed_by(self.watermark) + 1))
        return int(self._sessions(view).end.min())

    def _sessions(self, view: PartialsView) -> Ranges:
        """The sessions of partials, open or closed: each partial is in one."""
        found = self.plan.axis.windows[0].ranges(view)
        assert isinstance(found, Ranges)
        return found

    def _where(self, merged: Partials, kept: Mask) -> Partials:
        """Some of merged partials."""
        return merged if kept.all() else merge(self.plan, Partials(merged.table.filter(pa.array(kept))))

    def _events(self, merged: Partials) -> int:
        """The number of events in some partials."""
        return int(window_inputs_of(self.plan, merged)["rows"].sum())

    def _merged(self, blocks: Iterable[int]) -> Partials:
        """The partials of some blocks."""
        tables = [table for block in sorted(blocks) if (table := self.store.get(block)) is not None]
        return merge(self.plan, Partials(pa.concat_tables([self.plan.partials_schema.empty_table(), *tables])))

    def _write(self, merged: Partials, blocks: Iterable[int]) -> None:
        """Store what merged partials have of some blocks."""
        of = merged.frames() // BLOCK
        for block in blocks:
            table = merged.table.filter(pa.array(of == block))
            if len(table):
                self.store.put(block, table)
            else:
                self.store.remove(block)


def blocks_of(frames: Ints) -> list[int]:
    """The blocks that some frames are in."""
    found: list[int] = np.unique(frames // BLOCK).tolist()
    return found
