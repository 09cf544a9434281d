"""Partials of several batches merged: one for each key in each frame, sorted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Index, Ints
from ...aggregators.states.large import fitting
from ...aggregators.states.large import take as take_fitting
from ...aggregators.states.rows import take
from ..columns.groups import sorted_groups
from ..columns.key_codes import Coded, code_numbers, code_ordered, one_array
from ..plan.plan import BATCH_RANK, FRAME, UNTIL
from .combine import combine_groups
from .partials import Partials, concat

MIN_CHUNK = 1 << 12
"""Rows of a chunk, on average, from which on states are joined where they are, and not put into one chunk before."""


def merge(partials: Partials | Iterable[Partials]) -> Partials:
    """Partials sorted by key and frame with one row each, and the first row of each key; merged ones are unchanged.

    Those of one (key, frame), and of interval events with one last frame, are combined in the order of their batches,
    so that the result does not depend on the order in which tasks finish.
    """
    partials = partials if isinstance(partials, Partials) else concat(partials)
    if partials.starts is not None:
        return partials
    plan = partials.plan
    table = in_order_of_batches(partials.table.select(plan.partials_schema.names))
    if not len(table):
        return Partials(plan, table, np.empty(0, np.intp))
    if table.column(0).num_chunks * MIN_CHUNK > len(table):
        table = table.combine_chunks()
    columns = [one_array(table.column(name)) for name in plan.keys]
    keys = list(map(code_ordered, columns))
    names = [FRAME] if plan.until is None else [FRAME, UNTIL]
    numbers = [one_array(table.column(name)).to_numpy() for name in names]
    frames = list(map(code_numbers, numbers))
    group, first, order = sorted_groups(keys, frames, len(table))
    rows = first if order is None else first[order]
    # One batch from now on, before all that come after it.
    rank = np.full(len(rows), one_array(table.column(BATCH_RANK).slice(0, 1)).to_numpy()[0])
    if len(rows) < len(table):
        whole = Partials(plan, table)
        combined = {
            name: combine_groups(bound, whole.state_blocks(name), group, first) for name, bound in plan.states.items()
        }
        if order is not None:
            combined = {name: take(states, order) for name, states in combined.items()}
        frame, *last = (each[rows] for each in numbers)
        merged_keys = [each.take(pa.array(rows)) for each in columns]
        table = Partials.of_states(plan, merged_keys, [frame, rank, *last], combined).table
    else:
        table = take_rows(table, rows) if (rows[1:] < rows[:-1]).any() else table
        table = table.set_column(len(keys) + 1, table.schema.field(len(keys) + 1), pa.array(rank))
    return Partials(plan, table, starts_of(keys, rows))


def starts_of(keys: Sequence[Coded], rows: Ints) -> Index:
    """Where keys begin, in rows that are sorted by them."""
    new = np.arange(len(rows)) == 0
    for each in keys:
        codes = each.codes[rows]
        new[1:] |= codes[1:] != codes[:-1]
    return np.flatnonzero(new)


def in_order_of_batches(table: pa.Table) -> pa.Table:
    """Partials in the order of their batches, those of one batch as they are."""
    ranks = one_array(table.column(BATCH_RANK)).to_numpy()
    return take_rows(table, np.argsort(ranks, kind="stable")) if (ranks[1:] < ranks[:-1]).any() else table


def take_rows(table: pa.Table, rows: Ints) -> pa.Table:
    """All rows of a table in another order; planes without a value, of which there are many, as they are."""
    index = pa.array(rows)
    columns = [
        each if each.null_count == len(each) else fitting(take_fitting(each, index), each.type)
        for each in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)
