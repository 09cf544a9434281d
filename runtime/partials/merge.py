"""Partials of several batches merged: one for each key in each frame, sorted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from ...aggregators.ranges.item_ranges import ascends, rises
from ...aggregators.states.alike import are_zeros
from ...aggregators.states.arrays import Bools, Index, Ints
from ...aggregators.states.large import fitting, one_array
from ...aggregators.states.large import take as take_fitting
from ...aggregators.states.objects import HeldObjects
from ...aggregators.states.ragged import RaggedField, leaves
from ...aggregators.states.rows import take
from ..columns.key_codes import Coded, code_numbers, code_ordered, sorted_groups
from ..columns.sorting import differs
from ..plan.plan import BATCH_RANK, FRAME, UNTIL, Plan
from ..tuning import MIN_CHUNK, MIN_CHUNK_BYTES
from .combine import combine_groups
from .partials import Partials, concat

SAME = 1 << 16
"""The rows of an array of a column of one number."""


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
    chunks = table.column(0).num_chunks
    if chunks > 1 and chunks * MIN_CHUNK > len(table) and chunks * MIN_CHUNK_BYTES > table.nbytes:
        table = table.combine_chunks()
    columns = [one_array(column) for column in table.columns[: len(plan.by)]]
    keys = list(map(code_ordered, columns))
    names = [FRAME] if plan.until is None else [FRAME, UNTIL]
    numbers = [one_array(table.column(name)).to_numpy() for name in names]
    frames = list(map(code_numbers, numbers))
    # One batch from now on, before all that come after it.
    rank, last_rank = (int(table.column(BATCH_RANK)[at].as_py()) for at in (0, -1))
    if in_order_already(keys, frames):  # each a group
        if rank == last_rank:
            return Partials(plan, table, starts_of(keys, slice(None)))
        if table.column(FRAME).num_chunks > 1:  # one array, and not those of batches, too
            table = table.set_column(len(keys), table.schema.field(len(keys)), pa.array(numbers[0]))
        return Partials(plan, of_one_batch(table, rank), starts_of(keys, slice(None)))
    group, first, order = sorted_groups(keys, frames, len(table))
    rows = first if order is None else first[order]
    if len(rows) < len(table) and (some := repeated(plan, group, first)) is not None:
        table = with_combined(plan, table, rows, some[group], some if order is None else some[order], rank)
    elif len(rows) < len(table):
        whole = Partials(plan, table)
        combined = {
            name: combine_groups(bound, whole.state_blocks(name), group, first) for name, bound in plan.states.items()
        }
        if order is not None:
            combined = {name: take(states, order) for name, states in combined.items()}
        frame, *last = (each[rows] for each in numbers)
        merged_keys = [each.take(pa.array(rows)) for each in columns]
        table = Partials.of_states(plan, merged_keys, [frame, np.full(len(rows), rank), *last], combined).table
    else:
        table = of_one_batch(table if ascends(rows) else take_rows(table, rows), rank)
    return Partials(plan, table, starts_of(keys, rows))


def in_order_already(keys: Sequence[Coded], frames: Sequence[Coded]) -> bool:
    """Whether rows are sorted by one column that tells them all apart, the others having one value."""
    several = [each for each in (*keys, *frames) if each.count > 1]
    return len(several) == 1 and rises(several[0].codes)


def of_one_batch(table: pa.Table, rank: int) -> pa.Table:
    """Partials with the rank of one batch: in arrays that are all the same memory."""
    rows, place = len(table), table.schema.get_field_index(BATCH_RANK)
    array = pa.array(np.full(min(rows, SAME), rank, np.int64))
    ranks = pa.chunked_array([*[array] * (rows // SAME), array.slice(0, rows % SAME)], array.type)
    return table.set_column(place, table.schema.field(place), ranks)


def repeated(plan: Plan, group: Ints, first: Ints) -> Bools | None:
    """Which groups have more than one row, where only these are to be combined: few, of states that are lists."""
    kinds = [kind for bound in plan.states.values() for kind in bound.fields.values()]
    held = any(isinstance(leaf, HeldObjects) for kind in kinds for leaf in leaves(kind))
    if held or not any(isinstance(kind, RaggedField) for kind in kinds):
        return None
    sizes = np.bincount(group, minlength=len(first))
    some: Bools = sizes > 1
    return some if 2 * int(sizes[some].sum()) < len(group) else None


def with_combined(plan: Plan, table: pa.Table, rows: Ints, mine: Bools, some: Bools, rank: int) -> pa.Table:
    """Merged partials of which few are combined, the others as they are, where they are if possible.

    Parameters
    ----------
    table
        The partials.
    rows
        The first row of each group, sorted by key and frame.
    mine
        Which rows are of groups with more than one row.
    some
        Which groups have more than one row, in the order of ``rows``.
    rank
        The rank of the batch that all are of from now on.
    """
    combined = merge(Partials(plan, table.filter(pa.array(mine))))
    whole = pa.concat_tables([table, combined.table])
    source = rows.copy()
    source[some] = len(table) + np.arange(len(combined))
    cuts = np.flatnonzero(np.diff(source) != 1) + 1
    if len(cuts) * MIN_CHUNK_BYTES > whole.nbytes:
        return of_one_batch(take_rows(whole, source), rank)
    begins, ends = [0, *cuts.tolist()], [*cuts.tolist(), len(source)]
    parts = [whole.slice(int(source[begin]), end - begin) for begin, end in zip(begins, ends, strict=True)]
    return of_one_batch(pa.concat_tables(parts), rank)


def starts_of(keys: Sequence[Coded], rows: Ints | slice) -> Index:
    """Where keys begin, in rows that are sorted by them, one or more."""
    several = [each.codes[rows] for each in keys if each.count > 1]
    return np.flatnonzero(differs(*several)) if several else np.zeros(1, np.intp)


def in_order_of_batches(table: pa.Table) -> pa.Table:
    """Partials in the order of their batches, those of one batch as they are."""
    ranks = [each.to_numpy() for each in table.column(BATCH_RANK).chunks if len(each)]  # as one they would be copied
    edges = [int(each[at]) for each in ranks for at in (0, -1)]
    if edges == sorted(edges) and all(are_zeros(each) or ascends(each) for each in ranks):
        return table
    return take_rows(table, np.argsort(np.concatenate(ranks), kind="stable"))


def take_rows(table: pa.Table, rows: Ints) -> pa.Table:
    """Different rows of a table in any order; planes without a value, of which there are many, are not copied."""
    index = pa.array(rows)
    columns = [
        each[: len(rows)] if each.null_count == len(each) else fitting(take_fitting(each, index), each.type)
        for each in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)
