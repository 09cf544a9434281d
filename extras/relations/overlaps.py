"""Which rows of two relations are valid together: pairs of equal keys whose validities overlap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...aggregators.errors import QueryError
from ...aggregators.states.arrays import Ints
from ...runtime.columns.key_codes import pack, span
from ...runtime.columns.sorting import differs, stable_order
from ...runtime.columns.ticks import LIMIT, NEVER
from ...runtime.frames.window_ranges import MAX_WINDOWS

EXPECTED = "expected fewer pairs that are valid together in join(): more columns in on=, or shorter validities"
"""What a join of too many pairs should be."""


class Validities(NamedTuple):
    """When rows are valid, ``first <= instant < until`` in ticks, and codes of their keys from 0."""

    key: Ints
    first: Ints
    until: Ints

    def at(self, rows: Ints) -> Validities:
        """The validities of some rows."""
        return Validities(*(column[rows] for column in self))


class InOrder(NamedTuple):
    """Two sides of a join in the order of keys, then begins: the order of each, and codes of its begins and ends."""

    orders: tuple[Ints, Ints]
    begins: tuple[Ints, Ints]
    ends: tuple[Ints, Ints]


def in_order(left: Validities, right: Validities) -> InOrder:
    """Both sides in order; codes are of key and tick, so that those of both sides compare."""
    firsts = np.concatenate([left.first, right.first])
    latest = min(int(firsts.max(initial=-LIMIT)), NEVER - 1)
    times = [firsts, *(np.minimum(each.until, latest + 1) for each in (left, right))]
    keys = np.concatenate([left.key, right.key, left.key, right.key])
    count = int(keys.max(initial=0)) + 1
    packed, _ = pack([(keys, count), span(np.concatenate(times))], len(keys))
    begins, ends = (np.split(half, [len(left.key)]) for half in np.split(packed, 2))
    one, other = (by_key_and_begin(each, count) for each in (left, right))
    return InOrder((one, other), (begins[0][one], begins[1][other]), (ends[0][one], ends[1][other]))


def by_key_and_begin(rows: Validities, keys: int) -> Ints:
    """The order of rows by key, then begin; rows that come in the order of time are only sorted by key."""
    if (rows.first[1:] >= rows.first[:-1]).all():
        return stable_order(rows.key, keys)
    by_time = np.argsort(rows.first, kind="stable")
    return by_time[stable_order(rows.key[by_time], keys)]


def overlapping(sides: InOrder) -> tuple[Ints, Ints]:
    """The rows of all pairs of equal keys whose validities overlap, by their places in order, each pair once.

    One of the two begins while the other is valid: so the pairs are runs of the rows in order, and cost as much as
    there are of them, however skewed keys are and however long validities.

    Examples
    --------
    >>> one = Validities(np.array([0, 0]), np.array([0, 5]), np.array([3, NEVER]))
    >>> other = Validities(np.array([0, 0]), np.array([2, 3]), np.array([6, 5]))
    >>> [rows.tolist() for rows in overlapping(in_order(one, other))]
    [[0, 1], [0, 0]]
    """
    (left, right), (left_end, right_end) = sides.begins, sides.ends
    low = np.searchsorted(right, left)
    # How many of the left begin by each of the right: so those that begin at once are there only once.
    behind = np.cumsum(np.bincount(low, minlength=len(right) + 1))[:-1]
    one, others = runs_up_to(right, low, left_end)
    mine, ours = runs_up_to(left, behind, right_end)
    return np.concatenate([one, ours]), np.concatenate([others, mine])


def runs_up_to(begins: Ints, low: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """The :func:`runs` of begins in order, each from a number on, that are before an end."""
    some = np.flatnonzero(low < len(begins))
    some = some[begins[low[some]] < ends[some]]
    rows, numbers = runs(low[some], np.searchsorted(begins, ends[some]))
    return some[rows], numbers


def runs(low: Ints, high: Ints, expected: str = EXPECTED) -> tuple[Ints, Ints]:
    """For each number in ``low[i]`` up to ``high[i]``, all i one after the other: i, and the number.

    Raises
    ------
    QueryError
        If they are too many for one process; ``expected`` says what to do.
    """
    counts = np.maximum(high - low, 0)
    if (total := float(counts.astype(np.float64).sum())) > MAX_WINDOWS:
        raise QueryError(f"{len(low)} rows become {total:.2g}, more than one process can hold; {expected}")
    rows = np.repeat(np.arange(len(low)), counts)
    numbers = np.arange(len(rows))
    numbers += (low - (np.cumsum(counts) - counts))[rows]
    return rows, numbers


def uncovered(left: Validities, right: Validities) -> tuple[Ints, Ints, Ints]:
    """What is left of validities where no row of equal key is valid: the row, from, until.

    Examples
    --------
    >>> one, other = Validities(*np.array([[0], [0], [9]])), Validities(*np.array([[0, 0], [2, 3], [4, 5]]))
    >>> [column.tolist() for column in uncovered(one, other)]
    [[0, 0], [0, 5], [2, 9]]
    """
    order = np.lexsort((right.first, right.key))
    key, first, until = right.at(order)
    (numbers, size), keys = span(until), int(key.max(initial=0)) + 1
    reached, _ = pack([(key, keys), (numbers, size)], len(key))
    best = np.maximum.accumulate(reached)
    reach = until[np.maximum.accumulate(np.where(reached == best, np.arange(len(key)), 0))]  # of the key up to here
    fresh = differs(key)
    last = np.roll(fresh, -1)
    within = np.flatnonzero(~fresh & (first > np.roll(reach, 1)))
    least = int(left.first.min(initial=LIMIT - 1))
    absent = np.setdiff1d(left.key, key)
    heads, tails = np.flatnonzero(fresh), np.flatnonzero(last & (reach < NEVER))
    gaps = Validities(
        np.concatenate([key[within], key[heads], key[tails], absent]),
        np.concatenate([reach[within - 1], np.full(len(heads), least), reach[tails], np.full(len(absent), least)]),
        np.concatenate([first[within], first[heads], np.full(len(tails) + len(absent), NEVER)]),
    )
    gaps = gaps.at(np.flatnonzero(gaps.first < gaps.until))
    sides = in_order(left, gaps)
    rows, gap = (order[places] for order, places in zip(sides.orders, overlapping(sides), strict=True))
    return rows, np.maximum(left.first[rows], gaps.first[gap]), np.minimum(left.until[rows], gaps.until[gap])


def last_before(key: Ints, at: Ints, of_key: Ints, of_at: Ints) -> Ints:
    """For each row the last row of the other side with its key, at its time or before; -1 where there is none."""
    if not len(of_key):
        return np.full(len(key), -1)
    keys = np.concatenate([key, of_key])
    packed, size = pack([(keys, int(keys.max(initial=0)) + 1), span(np.concatenate([at, of_at]))], len(keys))
    rows, others = np.split(packed, [len(key)])
    order = stable_order(others, size)
    found = order[np.maximum(np.searchsorted(others[order], rows, "right") - 1, 0)]
    return np.where((of_key[found] == key) & (of_at[found] <= at), found, -1)
