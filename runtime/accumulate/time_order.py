"""Events in the order of their keys, then of their times; numbered where windows are counted in rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...aggregators.ranges.item_ranges import ascends
from ...aggregators.states.arrays import Index, Ints
from ...aggregators.states.large import take
from ..columns.key_codes import encode, key_codes, key_column, normalised, pack, plain, span
from ..columns.sorting import differs, stable_order
from ..plan.plan import Plan


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
    types = plan.input_schema
    columns = {name: plain(events.column(name), types.field(name).type) for name in (plan.time, *plan.ties)}
    ties = [encode(normalised(columns[name]), ordered=True) for name in plan.ties]
    times = pack([span(plan.times.ticks(columns[plan.time])), *ties], len(events))
    of_keys = {name: with_dictionary(events, name, types.field(name).type) for name in plan.by}
    keys = key_codes([normalised(column) for column in of_keys.values()], len(events), ordered=True)
    for name, column in of_keys.items():
        if dictionaries and isinstance(column, pa.DictionaryArray):
            events = events.set_column(events.schema.get_field_index(name), name, column)
    order = ordered(*keys, *times)
    if order is not None:
        rows = pa.array(order)
        taken = [take(column, rows) for column in events.columns]
        events = pa.table(taken, names=events.schema.names)
    if plan.in_rows:
        codes = keys[0] if order is None else keys[0][order]
        ranks = np.arange(len(codes))
        if keys[1] > 1:
            first = np.flatnonzero(differs(codes))
            ranks -= np.repeat(first, np.diff(np.append(first, len(codes))))
        events = events.append_column(plan.rank, pa.array(ranks))
    return events


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
