"""What the compiled loops do, by numpy: functions of the same names, on the same arguments, to the same bits.

The docstrings of the loops (``rows.pyx``, ``ranges.pyx`` and ``windows.pyx``) say what each does. Some do nothing here
but say that they cannot, as their twins may: their callers then go the general way. What only sweeps in one pass, row
by row, has no twin: its callers choose another algorithm by :data:`framefold.aggregators.loops.compiled`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..states.arrays import Floats, Index, Ints
from ..states.limbs import joined
from ..tuning import CACHED_ROWS

MOST = np.iinfo(np.int64).max
NAN_KEY = np.int64(MOST)


def add_parts(values: Floats, index: Index, first: float, second: float, sums: Ints) -> bool:
    counts, *totals = np.zeros((3, len(sums)), np.int64)  # contiguous, which numpy is fast with
    nothing_left = True
    for start in range(0, len(values), CACHED_ROWS):
        rows = slice(start, start + CACHED_ROWS)
        rest, groups = values[rows], index[rows]
        np.add.at(counts, groups, 1)
        for adder, total in zip((first, second), totals, strict=True):
            moved = rest + adder
            np.add.at(total, groups, moved.view(np.int64))
            moved -= adder
            rest = rest - moved
        nothing_left = nothing_left and not rest.any()
    sums[:] += np.column_stack([counts, *totals])
    return nothing_left


def left_of_parts(values: Floats, index: Index, first: float, second: float, rest: Floats, group: Index) -> int:
    left = values
    for adder in (first, second):
        left = left - ((left + adder) - adder)
    kept = np.flatnonzero(left)
    rest[: len(kept)], group[: len(kept)] = left[kept], index[kept]
    return len(kept)


def join_parts(sums: Ints, first: float, second: float, step: int, unit: float, high: Floats, low: Floats) -> None:
    adders = np.array([first, second]).view(np.int64)
    integers = [total - adder * sums[:, 0] for total, adder in zip(sums.T[1:], adders, strict=True)]
    for found, part in zip((high, low), joined(integers, step), strict=True):
        np.multiply(part, unit, out=found)


def add_integers(values: Ints, index: Index, sums: Ints) -> None:
    np.add.at(sums, index, values)


def number_codes(codes: Ints, places: NDArray[np.int32]) -> int:
    places[codes] = 1
    used = np.cumsum(places, dtype=np.int32)
    count = int(used[-1]) if len(used) else 0
    np.subtract(used, places, out=places)
    return count


def number_rows(codes: Ints, places: NDArray[np.int32], first: Index) -> None:
    codes[:] = places[codes]
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # where a number repeats, numpy keeps what is assigned last


def unite(left: Ints, right: Ints, both: Ints) -> int:
    found = np.union1d(left, right)
    both[: len(found)] = found
    return len(found)


def number_ascending(codes: Ints, values: Ints, start: int, first: Index) -> None:
    codes[:] = np.searchsorted(values, codes)
    first[codes] = np.arange(start, start + len(codes))


def order_codes(codes: Ints, places: Ints, order: Index) -> None:
    order[:] = np.argsort(codes, kind="stable")


def sort_by_bits(values: Ints, other: Ints, low: int, high: int) -> None:
    keys = (values >> low) & ((1 << (high - low)) - 1)
    values[:] = values[np.argsort(keys, kind="stable")]


def group_sorted(both: Ints, bits: int, group: Index, first: Index, counts: Ints) -> int:
    rows, codes = both & ((1 << bits) - 1), both >> bits
    new = np.ones(len(codes), bool)
    np.not_equal(codes[1:], codes[:-1], out=new[1:])
    group[rows] = np.cumsum(new) - 1
    starts = np.flatnonzero(new)
    found = slice(len(starts))
    first[found], counts[found], both[found] = rows[starts], np.diff(starts, append=len(codes)), codes[starts]
    return len(starts)


def entering(first: Ints, last: Ints, starts: Ints, all: bool) -> Ints:
    """The first window that contains a row but not the row before it in its key; above ``last`` if none.

    With ``all``, windows between two rows, which contain neither, belong to the later one.
    """
    begin = np.empty_like(last)
    begin[1:] = last[:-1] + 1
    begin[starts] = first[starts]
    if not all:
        np.maximum(begin, first, out=begin)
    return begin


def count_windows(first: Ints, last: Ints, starts: Ints, all: bool, least: int, most: int) -> tuple[float, bool]:
    begin = np.maximum(entering(first, last, starts, all), least)
    upper = np.minimum(last, most)
    counts = upper.astype(np.float64) - begin  # not exact
    exact = np.abs(counts) < 2.0**62  # int64 does not wrap
    counts[exact] = (upper - begin)[exact] + 1
    return float(np.maximum(counts, 0.0, out=counts).sum()), bool((first <= last).all())


def ranges_of_windows(
    first: Ints, last: Ints, starts: Ints, all: bool, least: int, most: int, high: Ints, row: Ints, number: Ints
) -> None:
    begin, rows = np.maximum(entering(first, last, starts, all), least), len(first)
    ends = np.append(starts[1:], rows) - 1
    stop = np.empty_like(last)  # the window after the last one that a row leaves
    stop[:-1] = first[1:]
    stop[ends] = last[ends] + 1
    stop = np.minimum(stop if all else np.minimum(stop, last + 1), most + 1 if most < MOST else most)
    brings = np.maximum(np.minimum(last, most) + 1 - begin, 0)
    row[:] = np.repeat(np.arange(rows), brings)
    high[:] = np.repeat(np.arange(1, rows + 1), np.maximum(stop - np.maximum(first, least), 0))
    number[:] = np.arange(len(row)) - np.repeat(np.cumsum(brings) - brings - begin, brings)


def reach(values: Ints, starts: Ints, distance: int, found: Ints) -> None:
    rows = len(values)
    runs = np.repeat(np.arange(len(starts)), np.diff(starts, append=rows))
    # Values and what is looked for in one order, what is looked for first: each is then behind all that are below it.
    order = np.lexsort((np.repeat([1, 0], rows), np.append(values, values + distance), np.append(runs, runs)))
    sought = order >= rows
    found[order[sought] - rows] = np.cumsum(~sought)[sought]


def number_runs(starts: Ints, found: Ints) -> None:
    found[:] = np.arange(len(found)) - np.repeat(starts, np.diff(starts, append=len(found)))


def rows_around(starts: Ints, first: int, last: int, low: Ints, high: Ints) -> bool:
    row, lengths = np.arange(len(low)), np.diff(starts, append=len(low))
    start, end = np.repeat(starts, lengths), np.repeat(starts + lengths, lengths)
    np.clip(row + max(first, -len(low)), start, end, out=low)
    np.clip(row + min(last + 1, len(low)), start, end, out=high)
    return first <= 0 <= last


def add_deviations(values: Floats, index: Index, cut: float, sums: Floats) -> None:
    made = np.zeros((6, len(sums)))  # contiguous, which numpy is fast with
    part = values + cut
    part -= cut
    made[1, index[::-1]] = part[::-1]  # where an index repeats, numpy keeps what is assigned last
    for start in range(0, len(values), CACHED_ROWS):
        rows = slice(start, start + CACHED_ROWS)
        groups, rest = index[rows], values[rows] - part[rows]
        high = part[rows] - made[1][groups]
        columns = (1.0, high, rest, high * high, (high + high + rest) * rest)
        for total, column in zip((made[0], *made[2:]), columns, strict=True):
            np.add.at(total, groups, column)
    sums[:] = made.T


def take_extremes(values: NDArray[Any], index: Index, least: bool, found: NDArray[Any]) -> None:
    with np.errstate(invalid="ignore"):  # a NaN is a value
        (np.fmin if least else np.maximum).at(found, index, values)


def join_groups_of_deviations(columns: Any, index: Index, made: Any, ordinary: float) -> bool:
    return False


def code_text(ends: Ints, text: NDArray[np.uint8], codes: NDArray[np.int32], first: Ints) -> int:
    return -1


def count_codes(codes: NDArray[Any], counts: Ints) -> None:
    counts += np.bincount(codes, minlength=len(counts))


def put_words(values: NDArray[Any], place: Ints, found: NDArray[Any]) -> None:
    found[place] = values


def take_words(values: NDArray[Any], rows: Ints, found: NDArray[Any]) -> int:
    found[:] = np.append(values, values.dtype.type(0))[rows]
    return int(np.count_nonzero(rows < 0))


def take_bits(bits: NDArray[np.uint8] | None, offset: int, rows: Ints, found: NDArray[np.uint8]) -> None:
    valid = rows >= 0
    if bits is not None:
        valid[valid] = np.unpackbits(bits, bitorder="little")[offset + rows[valid]]
    found[:] = np.packbits(valid, bitorder="little")


def place_codes(codes: NDArray[Any], free: Ints, place: Ints) -> None:
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    place[order] = free[ordered] + np.arange(len(codes)) - np.searchsorted(ordered, ordered)
    free += np.bincount(codes, minlength=len(free))


def sums_about(columns: Any, single: bool, codes: Any, made: Any, exponents: Ints, ordinary: float) -> bool:
    return False


def variances(columns: Any, ddof: float, high: Floats, low: Floats) -> bool:
    return False


def multiply_pairs(a: Any, b: Any, high: Floats, low: Floats) -> bool:
    return False


def about_means(total: Any, a: Any, b: Any, count: Floats, found: Floats) -> bool:
    return False


def roots(high: Floats, low: Floats, found: Floats) -> bool:
    return False


def items_of_ranges(values: NDArray[Any], edges: Ints, last: bool, offsets: Ints, found: NDArray[Any]) -> None:
    lengths = np.diff(offsets)
    begin = edges - lengths if last else edges
    np.take(values, np.arange(offsets[-1]) + np.repeat(begin - offsets[:-1], lengths), out=found)


def keys_of_floats(values: Floats, keys: Ints) -> None:
    bits = (values + 0.0).view(np.int64)
    keys[:] = np.where(np.isnan(values), NAN_KEY, bits ^ ((bits >> np.int64(63)) & NAN_KEY))


def floats_of_keys(keys: Ints, values: Floats) -> None:
    np.add((keys ^ ((keys >> np.int64(63)) & NAN_KEY)).view(np.float64), 0.0, out=values)
    values[np.isnan(values)] = np.nan


def order_values(values: Ints, order: Index) -> None:
    order[:] = np.argsort(values, kind="stable")


def code_groups(values: Ints, starts: Ints, distinct: bool, code: NDArray[np.int32], first: Index, order: Index) -> int:
    group = np.zeros(len(values), np.int64)
    group[starts[1:]] = 1
    group = np.cumsum(group)
    order[:] = np.argsort(values, kind="stable")
    if len(starts) > 1:
        order[:] = order[np.argsort(group[order], kind="stable")]
    fresh = np.ones(len(order), bool)
    if distinct:
        ordered, groups = values[order], group[order]
        fresh[1:] = (ordered[1:] != ordered[:-1]) | (groups[1:] != groups[:-1])
    code[order] = np.cumsum(fresh) - 1
    count = int(np.count_nonzero(fresh))
    first[:count] = order[fresh]
    return count


def interpolate(
    values: Floats, low: NDArray[np.int32], high: NDArray[np.int32], rest: Ints, denominator: int, found: Floats
) -> None:
    x, y, share = values[low], values[high], rest / denominator
    with np.errstate(invalid="ignore"):  # inf * 0, of shares of nothing
        np.add(x * (1 - share), y * share, out=found)
    np.copyto(found, x, where=(rest == 0) | (x == y))


def transpose(source: NDArray[Any], target: NDArray[Any]) -> None:
    np.copyto(target, source.T)


def window_sums(values: Ints, width: int, sums: Ints) -> None:
    running = np.concatenate([[0], np.cumsum(values)])
    np.subtract(running[width:], running[:-width], out=sums)


def range_sums(values: Ints, begin: Ints, end: Ints, sums: Ints) -> None:
    running = np.concatenate([[0], np.cumsum(values)])
    np.subtract(running[end], running[begin], out=sums)


def decayed_means(columns: Any, decay: Floats, begin: Ints, end: Ints, made: Any) -> bool:
    return False


def begin_runs(low: Ints, high: Ints, first: Ints) -> int:
    found = np.flatnonzero((np.diff(low) != 1) | (np.diff(high) != 1)) + 1
    first[: len(found)] = found
    return len(found)


def plane_sums(
    high: Floats, low: Floats, width: int, begin: Any, end: Any, adders: Any, sums: Floats, lost: Any
) -> bool:
    return False
