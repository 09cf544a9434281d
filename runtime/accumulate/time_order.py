"""Events in the order of their keys, then of their times; numbered where windows are counted in rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ...aggregators.ranges.item_ranges import ascends
from ...aggregators.states.arrays import Index, Ints
from ...aggregators.states.large import take
from ..columns.key_codes import encode, key_codes, key_column, normalised, pack, plain, span
from ..columns.sorting import differs, stable_order
from ..plan.plan import Plan
from ..tuning import KEYS_ROWS, MAX_SPARSE


def sorted_events(plan: Plan, events: pa.Table, *, dictionaries: bool = False) -> pa.Table:
    """Events by key, then time, ties and input order; with row numbers where windows are counted in rows.

    Parameters
    ----------
    plan
        What is computed.
    events
        With a time each.
    dictionaries
        Whether keys that are text may come with a dictionary, so that nobody makes one anew.
    """
    of_keys = key_columns(plan, events)
    for name, column in of_keys.items():
        if dictionaries and isinstance(column, pa.DictionaryArray):
            events = events.set_column(events.schema.get_field_index(name), name, column)
    order, counts = by_key(plan, events, of_keys)
    events = taken(events, order)
    return events.append_column(plan.rank, pa.array(ranks_of(counts))) if plan.in_rows else events


def key_columns(plan: Plan, events: pa.Table) -> dict[str, pa.Array]:
    """The key columns of events, with a dictionary where :func:`with_dictionary` gives one."""
    return {name: with_dictionary(events, name, plan.input_schema.field(name).type) for name in plan.by}


def by_key(plan: Plan, events: pa.Table, of_keys: dict[str, pa.Array]) -> tuple[Index | None, Ints]:
    """The order of events by key, time, ties and input order (None: as they are), and how many each key has."""
    types = plan.input_schema
    columns = {name: plain(events.column(name), types.field(name).type) for name in (plan.time, *plan.ties)}
    ties = [encode(normalised(columns[name]), ordered=True) for name in plan.ties]
    times = pack([span(plan.times.ticks(columns[plan.time])), *ties], len(events))
    codes, size = key_codes([normalised(column) for column in of_keys.values()], len(events), ordered=True)
    order = ordered(codes, size, *times)
    if size <= max(MAX_SPARSE, len(codes)):
        counts = np.bincount(codes, minlength=size)
        return order, counts[counts > 0]
    first = np.flatnonzero(differs(codes if order is None else codes[order]))
    return order, np.diff(first, append=len(codes))


def taken(events: pa.Table, order: Index | None) -> pa.Table:
    """Some of the events, in an order; None: as they are."""
    if order is None:
        return events
    rows = pa.array(order)
    return pa.table([take(column, rows) for column in events.columns], names=events.schema.names)


def ranks_of(counts: Ints) -> Ints:
    """The number of each row in its key, from how many rows the keys have."""
    ends = np.cumsum(counts)
    ranks: Ints = np.arange(ends[-1] if len(ends) else 0)
    return ranks - np.repeat(ends - counts, counts) if len(counts) > 1 else ranks


class WholeKeys:
    """Events of some keys at a time, sorted.

    Parameters
    ----------
    plan
        Of :func:`~framefold.runtime.plan.plan.with_keys_numbered`: its only key is their number.
    events
        In any order.
    order, counts
        Of :func:`by_key`.
    """

    def __init__(self, plan: Plan, events: pa.Table, order: Index | None, counts: Ints) -> None:
        self.plan, self.order, self.ends = plan, order, np.cumsum(counts)
        self.columns = events.select([name for name in plan.columns if name not in plan.by])
        self.keys = np.repeat(np.arange(len(counts)), counts)
        self.ranks = ranks_of(counts) if plan.in_rows else None

    def parts(self) -> Iterator[slice]:
        """The rows of some keys at a time: about :data:`KEYS_ROWS`."""
        cuts = self.ends[np.flatnonzero(np.diff(self.ends // KEYS_ROWS, prepend=0))].tolist()
        for start, end in itertools.pairwise(dict.fromkeys([0, *cuts, len(self.keys)])):
            yield slice(start, end)

    def events(self, rows: slice) -> pa.Table:
        """The events of some rows."""
        found = self.columns[rows] if self.order is None else taken(self.columns, self.order[rows])
        found = found.add_column(0, self.plan.by[0], pa.array(self.keys[rows]))
        return found if self.ranks is None else found.append_column(self.plan.rank, pa.array(self.ranks[rows]))


def with_dictionary(events: pa.Table, name: str, type: pa.DataType) -> pa.Array:
    """A key column with a sorted dictionary where it is text without a null, or has a dictionary; else as it is."""
    found = key_column(events, name, type)
    if pa.types.is_string(found.type) or pa.types.is_large_string(found.type):
        found = found.dictionary_encode()
    if not isinstance(found, pa.DictionaryArray):
        return found
    if found.null_count or found.dictionary.null_count:
        return plain(events.column(name), type)
    ranks, count = encode(found.dictionary, ordered=True)
    first = np.zeros(count, np.int64)
    first[ranks] = np.arange(len(ranks))
    codes = ranks.astype(np.int32)[found.indices.to_numpy()]
    return pa.DictionaryArray.from_arrays(codes, found.dictionary.take(pa.array(first)))


def ordered(keys: Ints, key_size: int, times: Ints, time_size: int) -> Index | None:
    """The stable order of rows by two columns of codes from 0 to below their sizes; None: as they are."""
    if ascends(times):
        return None if ascends(keys) else stable_order(keys, key_size)
    by_time = stable_order(times, time_size)
    return by_time[stable_order(keys[by_time], key_size)]
