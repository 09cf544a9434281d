"""A shard of a stream: the partials of some keys, which slide together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Bools, Ints
from ..accumulate.accumulate import accumulate
from ..columns.ticks import NEVER
from ..frames.numbered import NumberedWindows
from ..partials.merge import merge
from ..partials.partials import Partials
from ..plan.plan import BATCH_RANK, Plan
from ..results.chunks import views_of
from ..results.finish import results
from .given_windows import FIRST, ChangedWithin, ClosingWithin
from .held_events import HeldEvents, in_order
from .key_life import first_forgotten, forgotten, in_lives, last_lives, living_on, of_first_lives
from .late_events import among
from .pages import FRAMES, NOWHERE, Store, cut, distinct, owners, read
from .retention import condensed, first_closing, in_gaps, needed_partials, untouched


@dataclass
class Shard:
    """The partials of some keys.

    Parameters
    ----------
    plan
        What is computed: from :func:`~framefold.runtime.streams.scope.counted`, with nothing that ``why_not`` refuses.
    store
        Where its partials are.
    held
        The events that are held back until the watermark has passed them; None where partials come instead.
    forget
        How long after its last event a key is kept that no open window needs, in ticks; None: for ever, where the
        windows to come depend on earlier ones.
    watermark
        The tick up to which windows are closed: no event from it on is in one of them.
    due
        Earliest watermark at which this shard has work: calls before it return at once; None where nothing is held.
    released
        How often events were released, by which the order of their batches is known.
    lateness
        How long after they have closed windows take late events, in ticks: :meth:`revised` gives them again.
    gone
        The tick up to which windows take no more events, ``lateness`` before the watermark; it never goes back.
    drop_partial
        Whether an event is dropped where any window of its own has closed, and not only where all have.
    """

    plan: Plan
    store: Store
    held: HeldEvents | None = None
    forget: int | None = None
    watermark: int = FIRST
    due: int | None = None
    released: int = 0
    lateness: int = 0
    gone: int = FIRST
    drop_partial: bool = False

    def advance(self, watermark: int, *, silent: bool = False) -> Iterator[pa.Table]:
        """The results of the windows that a watermark closes, unless ``silent``; what only they needed is forgotten.

        A watermark that is not beyond the one before closes nothing. With a shorter lateness than before, windows
        take no more events from now on.
        """
        self.gone = max(self.gone, watermark - self.lateness)
        if watermark <= self.watermark:
            return
        before, self.watermark = self.watermark, watermark
        if self.due is None or watermark < self.due:
            return
        stored, changed = self.stored(), set[int]()
        if self.held is not None and (events := self.held.released(watermark)) is not None:
            stored, changed = self._with_events(stored, events)
            self.released += 1
        if not silent:
            yield from self._results(stored, before, watermark)
        if stored.plan is not self.plan:
            stored, gone = last_lives(self.plan, stored)
            changed |= self._pages_of(gone)
        left, emptied = self._left(stored)
        self._write(left, changed | emptied)
        self.due = None if self.held is None else self.held.due
        self._wake_for(left)

    def stored(self) -> Partials:
        """All partials that are stored, merged."""
        return self._merged(self.store.pages())

    def early(self) -> Iterator[pa.Table]:
        """The results that open windows have by now."""
        stored = self.stored()
        if self.held is not None and (events := self.held.all()) is not None:
            stored, _ = self._with_events(stored, events)
        yield from self._results(stored, self.watermark, NEVER)

    def _results(self, stored: Partials, after: int, until: int) -> Iterator[pa.Table]:
        """The results of the windows that close within two ticks, of partials with the lives of keys or without."""
        plan = stored.plan
        stored = living_on(stored, until, self.forget) if until < NEVER else stored
        for found in results(stored, wanted=ClosingWithin(plan, after, until, self.forget)):
            yield found if plan is self.plan else found.remove_column(len(plan.by) - 1)

    def revised(self, new: Partials) -> Iterator[pa.Table]:
        """New results of the closed windows that some partials, already added, have changed."""
        if not self.lateness or self.gone == self.watermark:
            return
        new = merge(new)
        (windows,) = self.plan.axis.windows
        assert isinstance(windows, NumberedWindows)
        first = windows.window_ids(views_of(new)[0]).first
        if not (first <= windows.closed_by(self.watermark)).any():
            return
        stored = self.stored()
        yield from results(stored, wanted=ChangedWithin(self.plan, self.gone, self.watermark, changed=new))

    def add(self, partials: Partials) -> Partials:
        """Store the partials of new events; returns the late ones, whose windows are all closed, and are not stored."""
        new = merge(partials)
        if self.plan.until is not None:
            new = new.where(~in_gaps(self.plan, views_of(new)))
        fresh = self._open(new)
        if self.drop_partial:
            fresh &= untouched(self.plan, views_of(new), self.gone)
        touched = self._pages_of(new.frames)
        if not self.plan.axis.windows[0].merging or fresh.all():
            after = self._both(self._merged(touched), new.where(fresh))
            late = ~fresh
        else:  # an event whose own window has closed may be in one that has not
            touched |= set(self.store.pages())
            after = self._both(self._merged(touched), new)
            kept = self._open(after)
            late = among(new, after.where(~kept))
            after = after.where(kept)
        self._write(after, touched)
        self._wake_for(after)
        return new.where(late)

    def import_state(self, partials: Partials, watermark: int, gone: int) -> None:
        """Store the partials of another query's shards, whose windows are closed up to a tick, and were given by it.

        Parameters
        ----------
        partials
            Of the keys of this shard, which has none yet.
        watermark, gone
            The ticks up to which windows are closed, and take no more events.
        """
        self.add(partials)
        self.gone = max(self.gone, gone)
        for _ in self.advance(watermark, silent=True):
            pass

    def go_on_from(self, partials: Partials) -> None:
        """Store the partials of a history, where events are held back: all of these come later."""
        after = self._both(Partials.none(self.plan), merge(partials))
        self._write(after, set())
        self._wake_for(after)

    def _both(self, stored: Partials, new: Partials) -> Partials:
        """Merge stored partials with new ones, which come later in order whatever their batch rank."""
        at = stored.table.column_names.index(BATCH_RANK)
        field = stored.table.schema.field(at)
        tables = [each.table.set_column(at, field, pa.array(np.zeros(len(each), np.int64))) for each in (stored, new)]
        return merge(Partials(self.plan, each) for each in tables)

    def hold(self, events: pa.Table) -> int:
        """Hold new events back; those that the watermark has passed are dropped, and their number is returned."""
        assert self.held is not None
        late = self.held.add(events, self.watermark)
        self.due = earliest(self.due, self.held.due)
        return late

    def _with_events(self, stored: Partials, events: pa.Table) -> tuple[Partials, set[int]]:
        """Merge stored partials with those of released events, which come later; also the stored pages that change.

        They are of the plan that comes first, in which keys have lives where an event begins a later one.
        """
        plan, events, before = self.plan, in_order(events, stored), stored.unmerged()
        if self.forget is not None and (alive := in_lives(events, stored, self.forget)) is not None:
            plan, events = alive
            before = of_first_lives(plan, stored)
        found = accumulate(plan, events, self.released + 1)
        return merge([before, found]), self._pages_of(found.frames)

    def _open(self, merged: Partials) -> Bools:
        """Mask of partials in a window that still takes events."""
        return needed_partials(self.plan, views_of(merged), self.gone, opened=True)

    def _left(self, stored: Partials) -> tuple[Partials, set[int]]:
        """The partials to keep after the results of closed windows were given; also the stored pages that change."""
        views = views_of(stored)
        kept = needed_partials(self.plan, views, self.gone)
        if any(each.counts_rows for each in self.plan.axis.windows) and len(kept):
            kept = np.arange(len(kept)) >= views[0].first_of(kept)[views[0].key]
        if self.forget is not None and len(kept):  # up to when a key is known depends on its last event
            kept[views[0].ends - 1] |= np.logical_or.reduceat(kept, views[0].starts)
        kept &= ~forgotten(self.plan, views[0], self.watermark, self.forget)
        changed = condensed(self.plan, views[0], self.watermark)
        if changed is None:
            return stored.where(kept), self._pages_of(stored.frames[~kept])
        name, values = changed
        at = stored.table.schema.get_field_index(name)
        table = stored.table.set_column(at, stored.table.schema.field(at), pa.array(values))
        left = merge(Partials(self.plan, table.filter(pa.array(kept))))
        return left, self._pages_of(stored.frames) | self._pages_of(left.frames)

    def _wake_for(self, merged: Partials) -> None:
        """Move :attr:`due` to where a window of some partials closes or a key is forgotten, if that is earlier."""
        views = views_of(merged)
        closing = first_closing(self.plan, views, self.watermark)
        if self.lateness and (going := first_closing(self.plan, views, self.gone)) is not None:
            self.due = earliest(self.due, going + self.lateness)
        self.due = earliest(self.due, closing, first_forgotten(self.plan, views[0], self.watermark, self.forget))

    def _merged(self, pages: Iterable[int]) -> Partials:
        """Read and merge some pages."""
        schema, full = self.plan.partials_schema, self.plan.full_columns
        tables = (table.cast(schema) for table in read(self.store, pages, schema, full))
        return merge(Partials(self.plan, pa.concat_tables([schema.empty_table(), *tables])))

    def _write(self, merged: Partials, pages: set[int]) -> None:
        """Rewrite some pages from merged partials; frames that are in no page yet get one."""
        numbers, place, counts = distinct(self._numbers(merged.frames))
        owned = owners(numbers, self.store.pages())
        touched = np.isin(owned, [NOWHERE, *pages])
        of = np.full(len(numbers), NOWHERE)
        of[touched] = cut(numbers[touched], counts[touched], owned[touched])
        written = set(of.tolist()) - {NOWHERE}
        for page in pages - written:
            self.store.remove(page)
        rows = of[place]
        for page in written:
            self.store.put(page, merged.table.filter(pa.array(rows == page)))

    def _numbers(self, frames: Ints) -> Ints:
        """The page number of each frame: ``frame // FRAMES``, or 0 if frames are rows, whose numbers are of a key."""
        return np.zeros_like(frames) if self.plan.in_rows else frames // FRAMES

    def _pages_of(self, frames: Ints) -> set[int]:
        """The stored pages that some frames are in."""
        return set(owners(distinct(self._numbers(frames))[0], self.store.pages()).tolist()) - {NOWHERE}


def events_in(some: Partials) -> int:
    """The number of events in some partials."""
    return int(some.window_inputs()["rows"].sum())


def earliest(*ticks: int | None) -> int | None:
    """The least tick that is not None; None if all are."""
    return min((tick for tick in ticks if tick is not None), default=None)
