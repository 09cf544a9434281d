"""Rows put in order by packed codes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators import loops
from ...aggregators.ranges.ordering import order_of_groups as counted_order
from ...aggregators.states.arrays import Bools, Index, Ints
from ..tuning import LONG_RUN_OF_TEXT, MAX_COUNTED, MAX_RADIX_CODES, MIN_RADIX_ROWS, MIN_SORTED_RUN, RUNS_SAMPLE


def differs(*columns: Ints) -> Bools:
    """Which rows differ in a column from the row before; the first one does.

    Examples
    --------
    >>> differs(np.array([1, 1, 1, 2]), np.array([5, 5, 6, 6])).tolist()
    [True, False, True, True]
    """
    fresh = np.ones(len(columns[0]), bool)
    first, *others = columns
    np.not_equal(first[1:], first[:-1], out=fresh[1:])
    for column in others:
        fresh[1:] |= column[1:] != column[:-1]
    return fresh


def stable_order(codes: Ints, size: int) -> Index:
    """The stable order of codes from 0 to below ``size``.

    Few possible codes are counted. Else, where both fit 63 bits, codes and row numbers are packed and sorted as
    integers: that is faster than an argsort.
    """
    if size <= min(MAX_COUNTED, len(codes)):
        return counted_order(codes, size)
    bits = max(len(codes) - 1, 1).bit_length()
    if size << bits > 1 << 63:
        return np.argsort(codes, kind="stable")
    both = sorted_with_rows(codes, size, bits)
    both &= (1 << bits) - 1
    return both


def sorted_with_rows(codes: Ints, size: int, bits: int) -> Ints:
    """Codes below ``size``, sorted, the row of each in the ``bits`` bits below it."""
    both = codes << bits
    both |= np.arange(len(codes))
    runs = 1 + np.count_nonzero(both[1:] < both[:-1])
    if runs * MIN_SORTED_RUN <= len(codes):
        both.sort(kind="stable")
    elif len(codes) >= MIN_RADIX_ROWS and size <= MAX_RADIX_CODES:
        loops.sort_by_bits(both, np.empty_like(both), bits, bits + (size - 1).bit_length())
    else:
        both.sort()
    return both


def groups_by_sorting(codes: Ints, size: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The group of each row, of equal codes below ``size``; the first row, number of rows and code of each group."""
    bits = max(len(codes) - 1, 1).bit_length()
    if size << bits > 1 << 63:
        values, codes = np.unique(codes, return_inverse=True)
        group, first, counts, found = groups_by_sorting(codes, len(values))
        return group, first, counts, values[found]
    group, first, counts = np.empty((3, len(codes)), np.int64)
    both = sorted_with_rows(codes, size, bits)
    groups = loops.group_sorted(both, bits, group, first, counts)
    return group, first[:groups], counts[:groups], both[:groups]


def groups_by_runs(codes: Ints, edges: Sequence[int]) -> tuple[Ints, Ints]:
    """The group of each row and the first row of each group, for codes that ascend between every two edges.

    The codes are overwritten.
    """
    runs = [codes[start:end] for start, end in itertools.pairwise(edges)]
    values = runs
    while len(values) > 1:  # neighbours, then neighbours of these, and so on
        values = [united(*values[at : at + 2]) for at in range(0, len(values), 2)]
    first = np.empty(len(values[0]), np.intp)
    for start, run in zip(reversed(edges[:-1]), reversed(runs), strict=True):  # the first of equal ones comes last
        loops.number_ascending(run, values[0], start, first)
    return codes, first


def united(left: Ints, right: Ints | None = None) -> Ints:
    """The codes in either of two ascending arrays, ascending."""
    if right is None:
        return left
    both = np.empty(len(left) + len(right), np.int64)
    return both[: loops.unite(left, right, both)]


def dense(codes: Ints) -> tuple[Ints, int]:
    """Consecutive codes in the same order, and their number."""
    values, inverse = np.unique(codes, return_inverse=True)
    return inverse.astype(np.int64, copy=False), len(values)


def few_runs(column: pa.Array) -> pa.Array | None:
    """A column of text in runs of equal values, where these are long, as in sorted rows; None otherwise."""
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if not text:
        return None
    for some in (column[:RUNS_SAMPLE], column):
        runs = pc.run_end_encode(some)
        if len(runs.values) * LONG_RUN_OF_TEXT > len(some):
            return None
    return runs
