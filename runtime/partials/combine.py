"""The states of groups of partials combined, by compiled loops or numpy where these join all fields, else by pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.contract.bound import BoundAggregate, length
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Ints
from ...aggregators.states.fields import BIG, IDEMPOTENT, Column, Compensated
from ...aggregators.states.limbs import Exact
from ...aggregators.states.rows import concatenate, join, replace_in_place, take
from ..columns.sorting import stable_order

AS_BYTES = {
    np.logical_and: np.minimum, np.minimum: np.minimum, np.fmin: np.minimum, np.bitwise_and: np.minimum,
    np.logical_or: np.maximum, np.maximum: np.maximum, np.fmax: np.maximum, np.bitwise_or: np.maximum,
}  # fmt: skip
"""What does to booleans as bytes what functions do to booleans: some ``ufunc.at`` is slow on booleans."""


def combine_groups(bound: BoundAggregate, blocks: Iterable[State], group: Ints, first: Ints) -> State:
    """The states of each group of rows combined, in the order of the rows.

    Parameters
    ----------
    bound
        What combines.
    blocks
        One state a row: those of the first rows, those of the next ones, and so on.
    group
        The group of each row, shape (rows,).
    first
        The first row of each group, shape (groups,).
    """
    groups, blocks = len(first), list(blocks)
    parts = np.split(group, np.cumsum([length(each) for each in blocks])[:-1])
    if (found := bound.combine_groups(zip(blocks, parts, strict=True), groups)) is not None:
        return found
    # Pairs of floats one after the other are a loop of rows, which numpy has not: it joins neighbours.
    if not bound.has_kernels or (bound.compensated and not loops.compiled):
        return combine_pairwise(bound, blocks, group, groups)
    made: dict[str, Column] = {}
    for key in bound.fields:
        function, columns = bound.ufuncs[key], [states[key] for states in blocks]
        if function in IDEMPOTENT:
            made[key] = extremes_of_groups(function, cast(NDArray[Any], concatenate(columns)), group, first)
        else:
            made[key] = sums_of_groups(list(zip(columns, parts, strict=True)), groups)
    return made


def extremes_of_groups(function: np.ufunc, column: NDArray[Any], group: Ints, first: Ints) -> NDArray[Any]:
    """The values of a field in each group of rows joined by an idempotent function, given each group's first row."""
    if column.dtype == bool and function in AS_BYTES:
        return extremes_of_groups(AS_BYTES[function], column.view(np.uint8), group, first).view(bool)
    found = column[first]
    with np.errstate(invalid="ignore"):
        function.at(found, group, column)
    return found


def sums_of_groups(blocks: Sequence[tuple[Column, Ints]], groups: int) -> Column:
    """The sums of a field that is summed in each group of rows, in the order of the rows."""
    kind = blocks[0][0]
    if isinstance(kind, Compensated):
        return sums_of_pairs(cast("Sequence[tuple[Compensated, Ints]]", blocks), groups)
    if isinstance(kind, Exact):
        limbs = [[(cast(Exact, column).limbs[at], group) for column, group in blocks] for at in range(len(kind.limbs))]
        return Exact([cast(Ints, sums_of_groups(each, groups)) for each in limbs])
    summed = np.zeros(groups, cast(NDArray[Any], kind).dtype)
    for column, group in blocks:
        if summed.dtype == np.int64:
            loops.add_integers(np.ascontiguousarray(column), group, summed)
        else:
            np.add.at(summed, group, cast(NDArray[Any], column))
    return summed


def sums_of_pairs(blocks: Sequence[tuple[Compensated, Ints]], groups: int) -> Compensated:
    """The sums of compensated floats in each group of rows, in the order of the rows."""
    sums, lows, big, lost = np.zeros((4, groups))
    special = None
    for column, group in blocks:
        loops.add_pairs(np.ascontiguousarray(column.high), np.ascontiguousarray(column.low), group, sums, lows)
        if column.special_values is not None:
            special = np.zeros((groups, column.special_values.shape[1])) if special is None else special
            np.add.at(special[:, :BIG], group, column.special_values[:, :BIG])
            huge = np.ascontiguousarray(column.special_values[:, BIG])
            loops.add_pairs(huge, np.zeros(len(huge)), group, big, lost)
    if special is None:
        return Compensated(sums, lows)
    special[:, BIG] = big
    return Compensated(sums, lows, special).with_lost(lost)


def combine_pairwise(bound: BoundAggregate, blocks: Sequence[State], group: Ints, groups: int) -> State:
    """As `combine_groups`: neighbours are combined, then neighbours of these, and so on."""
    states = join(list(blocks))
    order = stable_order(group, groups)
    sizes = np.bincount(group, minlength=groups)
    starts = np.cumsum(sizes) - sizes
    several = np.flatnonzero(sizes > 1)
    single = None if len(several) == groups else take(states, order[starts])
    lengths = sizes[several]
    group_of = np.repeat(np.arange(len(several)), lengths)
    place = np.arange(len(group_of)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    states = take(states, order[starts[several][group_of] + place])
    del order, sizes, starts  # as large as the states of some operations
    while len(place) > len(several):
        kept = np.flatnonzero(place % 2 == 0)
        group_of, place = group_of[kept], place[kept]
        paired = place + 1 < lengths[group_of]
        left = kept[paired]
        combined = bound.combine(take(states, left), take(states, left + 1))
        states = combined if paired.all() else replace_in_place(take(states, kept), np.flatnonzero(paired), combined)
        place = place // 2
        lengths = (lengths + 1) // 2
    return states if single is None else replace_in_place(single, several, states)
