"""Partials of several batches to one partial for each (key, frame)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.rows import replace_in_place, take
from ..columns.key_codes import key_codes, one_array, pack, span, stable_order
from ..plan.plan import BATCH_RANK, FRAME, UNTIL, Plan
from .partials import Partials, concat, of_states, states_of

MERGED_GROUPS = 1 << 18
"""(key, frame)s that are combined at a time: the memory of their states is used again for the next ones."""


def merge(plan: Plan, partials: Partials | Iterable[Partials]) -> Partials:
    """Partials sorted by key and frame with one row each, and the first row of each key; what is merged stays as it is.

    Those of one (key, frame), and of interval events with one last frame, are combined pairwise in the order of their
    batches, so that the result does not depend on the order in which tasks finish.
    """
    partials = partials if isinstance(partials, Partials) else concat(partials)
    if partials.starts is not None:
        return partials
    table = partials.table.select(plan.partials_schema.names)
    codes, count = key_codes([one_array(table.column(name)) for name in plan.keys], len(table), ordered=True)
    names = [FRAME, BATCH_RANK] if plan.until is None else [FRAME, BATCH_RANK, UNTIL]
    frames, ranks, *until = numbers = [one_array(table.column(name)).to_numpy() for name in names]
    packed, size = pack([(codes, count), *map(span, [frames, *until])], len(table))
    if (ranks[1:] < ranks[:-1]).any():
        by_rank = np.argsort(ranks, kind="stable")
        order = by_rank[stable_order(packed[by_rank], size)]
    else:
        order = stable_order(packed, size)
    packed, codes = packed[order], codes[order]
    first = np.concatenate([[True], packed[1:] != packed[:-1]])[: len(table)]
    if first.all():
        if (order[1:] < order[:-1]).any():
            table = table.take(pa.array(order))
    else:
        groups = np.flatnonzero(first)
        ends = np.append(groups, len(order))
        states = {name: states_of(plan, Partials(table), name) for name in plan.states}
        keys = [one_array(table.column(name)) for name in plan.keys]
        merged = []
        for at in range(0, len(groups), MERGED_GROUPS):
            starts = groups[at : at + MERGED_GROUPS] - groups[at]
            some = order[groups[at] : ends[at + len(starts)]]
            rows = some[starts]
            combined = {name: combine_groups(bound, states[name], some, starts) for name, bound in plan.states.items()}
            taken = [key.take(pa.array(rows)) for key in keys]
            merged.append(of_states(plan, taken, [column[rows] for column in numbers], combined))
        table, codes = concat(merged).table, codes[groups]
    return Partials(table, np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)]))


def combine_groups(bound: BoundAggregate, states: State, order: NDArray[np.intp], starts: NDArray[np.intp]) -> State:
    """One state for each group of rows: neighbours are combined, then neighbours of these, and so on.

    Parameters
    ----------
    bound
        What combines.
    states
        One state a row.
    order
        The rows, group by group, shape (rows,).
    starts
        Where each group begins in ``order``, shape (groups,).
    """
    sizes = np.diff(np.append(starts, len(order)))
    result = take(states, order[starts])
    several = np.flatnonzero(sizes > 1)
    lengths = sizes[several]
    group_of = np.repeat(np.arange(len(several)), lengths)
    place = np.arange(len(group_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    states = take(states, order[starts[several][group_of] + place])
    while len(place) > len(several):
        kept = np.flatnonzero(place % 2 == 0)
        group_of, place = group_of[kept], place[kept]
        paired = place + 1 < lengths[group_of]
        left = kept[paired]
        combined = bound.combine(take(states, left), take(states, left + 1))
        states = combined if paired.all() else replace_in_place(take(states, kept), np.flatnonzero(paired), combined)
        place = place // 2
        lengths = (lengths + 1) // 2
    return replace_in_place(result, several, states)
