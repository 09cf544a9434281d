"""Events that are held back until the watermark has passed them, where the order of single events matters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Ints
from ...aggregators.states.categories import Categories
from ...aggregators.states.large import one_array
from ...aggregators.states.nested import with_inner
from ..accumulate.time_order import sorted_events
from ..columns.key_codes import key_codes
from ..columns.plain import normalised, plain
from ..partials.partials import Partials
from ..plan.plan import Plan
from .pages import Store, read

SERIES = 1 << 24
"""Pages of events of one time are numbered in a row, this many at the most."""


@dataclass
class HeldEvents:
    """The events of a shard that have yet to be put in their order.

    Parameters
    ----------
    plan
        What is computed.
    store
        Where they are, as they came: a page for each micro-batch and each ``width`` of time.
    width
        How much time a page has, in ticks.
    series
        The number of the last micro-batch that had events.
    due
        A tick up to which all of them come later; None where there are none.
    """

    plan: Plan
    store: Store
    width: int
    series: int = 0
    due: int | None = None

    def add(self, events: pa.Table, watermark: int) -> int:
        """Hold new events back; those that a watermark has passed are dropped, and their number is returned."""
        ticks = ticks_of(self.plan, events)
        early = ticks >= watermark
        if not early.all():
            events, ticks = events.filter(pa.array(early)), ticks[early]
        if len(ticks):
            self.series = (self.series + 1) % SERIES
            of = ticks // self.width
            for number in np.unique(of).tolist():
                self.store.put(number * SERIES + self.series, events.filter(pa.array(of == number)))
            first = int(ticks.min()) + 1
            self.due = first if self.due is None else min(self.due, first)
        return int(np.count_nonzero(~early))

    def all(self) -> pa.Table | None:
        """All held events in order of arrival; None if there are none."""
        found = [*self._read(self.store.pages())]
        return pa.concat_tables(found) if found else None

    def _read(self, pages: Iterable[int]) -> Iterator[pa.Table]:
        """The events of pages, in the types in which they came: texts may be dictionaries."""
        return read(self.store, pages, self.plan.events_schema, (self.plan.time,), kind=values_of)

    def released(self, watermark: int) -> pa.Table | None:
        """Remove and return the events that a watermark has passed, in order of arrival; None if there are none."""
        found, waiting = [], []
        for page in sorted(self.store.pages()):
            begin = page // SERIES * self.width
            if begin >= watermark:
                waiting.append(begin + 1)
                continue
            (events,) = self._read([page])
            ticks = ticks_of(self.plan, events)
            past = ticks < watermark
            found.append(events.filter(pa.array(past)))
            if past.all():
                self.store.remove(page)
            else:
                self.store.put(page, events.filter(pa.array(~past)))
                waiting.append(int(ticks[~past].min()) + 1)
        self.due = min(waiting, default=None)
        some = [each for each in found if len(each)]
        return pa.concat_tables(some) if some else None


def values_of(type: pa.DataType) -> pa.DataType:
    """A type with that of their values in the place of dictionaries and categories."""
    if isinstance(type, Categories):
        return type.values.type
    return type.value_type if pa.types.is_dictionary(type) else with_inner(type, values_of)


def ticks_of(plan: Plan, events: pa.Table) -> Ints:
    """The times of events in ticks."""
    return plan.times.ticks(plain(events.column(plan.time), plan.times.type))


def keys_of(plan: Plan, events: pa.Table) -> list[pa.Array]:
    """The key columns of events, a value a row."""
    types = plan.input_schema
    return [normalised(plain(events.column(name), types.field(name).type)) for name in plan.by]


def in_order(events: pa.Table, before: Partials) -> pa.Table:
    """Events by key, time, ties and arrival, numbered from the last row of their key on in partials of earlier ones."""
    plan = before.plan
    found = sorted_events(plan, events)
    assert before.starts is not None
    if not plan.in_rows or not len(before.starts):
        return found
    inputs = before.window_inputs()
    last = np.append(before.starts[1:], len(before)) - 1
    count = of_their_keys(found, before, (inputs["rank"] + inputs["rows"])[last], 0)
    ranks = one_array(found.column(plan.rank)).to_numpy() + count
    return found.set_column(found.column_names.index(plan.rank), plan.rank, pa.array(ranks))


def of_their_keys(events: pa.Table, before: Partials, values: Ints, missing: int) -> Ints:
    """For each event the value of its key, of one value for each key of merged partials; ``missing`` for other keys."""
    assert before.starts is not None
    first = pa.array(before.starts)
    pairs = zip(before.keys, keys_of(before.plan, events), strict=True)
    columns = [pa.concat_arrays([mine.take(first), theirs]) for mine, theirs in pairs]
    codes, size = key_codes(columns, len(first) + len(events), ordered=False)
    found = np.full(max(size, 1), missing, np.int64)
    found[codes[: len(first)]] = values
    return found[codes[len(first) :]]
