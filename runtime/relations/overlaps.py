"""Which rows of two relations are valid together: pairs of equal keys whose validities overlap."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ..columns.key_codes import pack, span
from ..columns.sorting import stable_order
from ..columns.ticks import LIMIT, NEVER
from ..windows import Ints


BOTH: tuple[tuple[int, int, Literal["left", "right"]], ...] = ((0, 1, "left"), (1, 0, "right"))


class Validities(NamedTuple):
    """When rows are valid, ``first <= instant < until`` in ticks, and codes of their keys from 0."""

    key: Ints
    first: Ints
    until: Ints

    def at(self, rows: Ints) -> Validities:
        """Those of some rows."""
        return Validities(*(column[rows] for column in self))


def overlapping(left: Validities, right: Validities) -> tuple[Ints, Ints]:
    """The rows of all pairs of equal keys whose validities overlap, each pair once.

    One of the two begins while the other is valid: so the pairs are runs of the rows sorted by key and begin, and cost
    as much as there are of them, however skewed keys are and however long validities.

    Examples
    --------
    >>> one = Validities(np.array([0, 0]), np.array([0, 5]), np.array([3, NEVER]))
    >>> other = Validities(np.array([0, 0]), np.array([2, 3]), np.array([6, 5]))
    >>> [rows.tolist() for rows in overlapping(one, other)]
    [[0, 1], [0, 0]]
    """
    if not len(left.key) or not len(right.key):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    latest = max(int(left.first.max()), int(right.first.max()))
    times = [left.first, right.first, *(np.minimum(each.until, min(latest, NEVER - 1) + 1) for each in (left, right))]
    keys = np.concatenate([left.key, right.key, left.key, right.key])
    packed, size = pack([(keys, int(keys.max()) + 1), span(np.concatenate(times))], len(keys))
    begins, stops = (np.split(half, [len(left.key)]) for half in np.split(packed, 2))
    orders = [stable_order(codes, size) for codes in begins]
    sorted_begins = [codes[order] for codes, order in zip(begins, orders, strict=True)]
    found = []
    for one, other, side in BOTH:  # those that begin at once are of the first half only
        low = np.searchsorted(sorted_begins[other], sorted_begins[one], side)
        high = np.searchsorted(sorted_begins[other], stops[one][orders[one]])
        rows, others = runs(low, np.maximum(high, low))
        pair = (orders[one][rows], orders[other][others])
        found.append(pair if one == 0 else pair[::-1])
    return np.concatenate([found[0][0], found[1][0]]), np.concatenate([found[0][1], found[1][1]])


def runs(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """For each number in ``low[i]`` up to ``high[i]``, all i one after the other: i, and the number."""
    counts = high - low
    rows = np.repeat(np.arange(len(low)), counts)
    return rows, np.arange(len(rows)) + np.repeat(low - (np.cumsum(counts) - counts), counts)


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
    fresh, last = np.ones(len(key), bool), np.ones(len(key), bool)
    fresh[1:] = key[1:] != key[:-1]
    last[:-1] = fresh[1:]
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
    rows, gap = overlapping(left, gaps)
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
