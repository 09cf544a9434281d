"""Key columns as integer codes, by which rows with equal keys are grouped.

Equal keys have equal codes, in the order of Spark SQL: a null is a key of its own and comes first; all NaN are one key
and come last; -0.0 is 0.0. Structs compare field by field. Groups are found by counting where few are possible, in
tiles of rows that fit the cache, else by sorting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.ranges.item_ranges import ascends, rises
from ...aggregators.states.alike import numbers, ones
from ...aggregators.states.arrays import Index, Ints
from ...aggregators.states.large import is_text, large
from ..tuning import (
    FEW_PLACES,
    KEY_TILE_ROWS,
    MAX_PLACES,
    MAX_SPARSE,
    MIN_SORTED_RUN,
    ORDER_SAMPLE,
    ROWS_PER_GROUP,
    RUNS_SAMPLE,
)
from .plain import fields_of, normalised
from .sorting import dense, differs, few_runs, groups_by_runs, groups_by_sorting, stable_order

MAX_PACKED = 1 << 62
"""Codes of several columns are packed into one integer below this."""

MANY_TEXTS = 1 << 14
"""Different texts from which on pyarrow codes them: a table of fewer stays in the cache."""


def encode(column: pa.Array, ordered: bool) -> tuple[Ints, int]:
    """A code for each value of a normalised column, and how many codes there are.

    ``ordered`` codes compare as the values do. A dictionary is sorted, and without a null.
    """
    if isinstance(column, pa.DictionaryArray):
        return column.indices.to_numpy().astype(np.int64), len(column.dictionary)
    if pa.types.is_struct(column.type):
        valid = column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
        codes, count = pack([(valid, 2), *(encode(each, ordered) for each in fields_of(column))], len(column))
        return (codes, count) if count <= max(MAX_SPARSE, 4 * len(column)) else dense(codes)
    if (close := near(column)) is not None:
        numbers, least, count = close
        return np.subtract(numbers, least, dtype=np.int64), count
    codes, values = dictionary(column.cast(pa.float32()) if pa.types.is_float16(column.type) else column)
    if ordered and len(values) > 1:
        by_value = np.roll(pc.array_sort_indices(values), values.null_count)  # NaN is last, but for a null
        rank = np.empty(len(values), np.int64)
        rank[by_value] = np.arange(len(values))
        codes = rank[codes]
    return codes, len(values)


def near(column: pa.Array) -> tuple[NDArray[Any], int, int] | None:
    """The numbers of a column of integers or times without nulls, the least, and the size of their range, if small."""
    kind = column.type
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        column = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if not pa.types.is_integer(column.type) or kind == pa.uint64() or column.null_count or not len(column):
        return None
    numbers: NDArray[Any] = column.to_numpy()
    limit = max(MAX_SPARSE, 4 * len(numbers))
    greatest = int(numbers.view(f"u{numbers.dtype.itemsize}").max())  # a negative number is a great one here
    if greatest < min(limit, 1 << 8 * numbers.dtype.itemsize - 1):
        least = int(numbers.min()) if numbers[0] == numbers[-1] == greatest else 0  # one number, maybe
        return numbers, least, greatest - least + 1
    least, greatest = edges(numbers)
    return (numbers, least, greatest - least + 1) if greatest - least < limit else None


def with_nulls_below(column: pa.Array) -> tuple[pa.Array, int] | None:
    """A column of integers or times with nulls as integers, and the one below the least, which its nulls are.

    None for other columns, and where there is none below.
    """
    kind = column.type
    if not column.null_count or not (pa.types.is_integer(kind) or pa.types.is_temporal(kind)):
        return None
    if pa.types.is_interval(kind):
        return None
    numbers = column if pa.types.is_integer(kind) else column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    least = pc.min(numbers).as_py()
    if least is None or least == (
        0 if pa.types.is_unsigned_integer(numbers.type) else -1 << numbers.type.bit_width - 1
    ):
        return None
    return numbers.fill_null(least - 1), least - 1


def edges(numbers: NDArray[Any]) -> tuple[int, int]:
    """The least and the greatest of some integers."""
    return int(numbers.min()), int(numbers.max())


def dictionary(column: pa.Array) -> tuple[Ints, pa.Array]:
    """A code for each value of a normalised column, in order of appearance, and the value of each code."""
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), column[:1]
    if pa.types.is_struct(column.type):
        _, first, codes = np.unique(encode(column, ordered=False)[0], return_index=True, return_inverse=True)
        return codes.astype(np.int64, copy=False), column.take(pa.array(first))
    if len(column) >= RUNS_SAMPLE and (runs := few_runs(column)) is not None:
        lengths = np.diff(runs.run_ends.to_numpy(), prepend=0)
        codes, values = dictionary(runs.values)
        return np.repeat(codes, lengths), values
    if (texts := coded_text(column)) is not None:
        return texts[0].astype(np.int64), column.take(pa.array(texts[1]))
    half = pa.types.is_float16(column.type)  # which pyarrow cannot encode
    coded = (column.cast(pa.float32()) if half else column).dictionary_encode(null_encoding="encode")
    values = coded.dictionary
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return codes, values.cast(column.type) if half else values


def coded_text(column: pa.Array) -> tuple[NDArray[np.int32], Ints] | None:
    """A code for each text, in order of appearance, and the first row of each; None where they are many, or null."""
    if not is_text(column.type) or column.null_count or not len(column):
        return None
    _, ends, text = column.buffers()
    kind = np.int32 if large(column.type) != column.type else np.int64
    codes, first = np.empty(len(column), np.int32), np.empty(MANY_TEXTS, np.int64)
    ends = np.frombuffer(ends, kind, len(column) + 1, column.offset * np.dtype(kind).itemsize)
    count = loops.code_text(ends, np.frombuffer(text or b"", np.uint8), codes, first)
    return None if count < 0 else (codes, first[:count])


def pack(codes: Sequence[tuple[Ints, int]], rows: int) -> tuple[Ints, int]:
    """Several columns' codes as one code, in lexicographic order."""
    packed, size = np.zeros(rows, np.int64), 1
    for column, count in codes:
        if size * max(count, 1) > MAX_PACKED:
            packed, size = dense(packed)
            if size * max(count, 1) > MAX_PACKED:
                column, count = dense(column)
        packed = column if size == 1 else packed * count + column
        size *= max(count, 1)
    return packed, size


def key_codes(columns: Sequence[pa.Array], rows: int, ordered: bool) -> tuple[Ints, int]:
    """One code for each row's key; ``ordered`` as in :func:`encode`."""
    return pack([encode(column, ordered) for column in columns], rows)


def match(known: Sequence[pa.Array], keys: Sequence[pa.Array]) -> Ints:
    """The row among different known keys of each of some keys, -1 where it is none of these; columns of one type."""
    both = [normalised(pa.concat_arrays(pair)) for pair in zip(known, keys, strict=True)]
    rows = len(known[0])
    codes, size = key_codes(both, rows + len(keys[0]), ordered=False)
    row_of = np.full(size, -1, np.int64)
    row_of[codes[:rows]] = np.arange(rows)
    found: Ints = row_of[codes[rows:]]
    return found


def span(values: Ints) -> tuple[Ints, int]:
    """Integers as codes from 0, in their order; consecutive only where their range is too wide to pack."""
    if not len(values):
        return values, 1
    least, greatest = edges(values)
    if greatest - least >= MAX_PACKED >> 8:
        return dense(values)
    return values - least, greatest - least + 1


@dataclass(frozen=True)
class Coded:
    """A column of rows as integers.

    Parameters
    ----------
    codes
        One integer for each row.
    least
        The least of them.
    count
        The greatest minus the least, plus one.
    values
        Function from codes minus ``least`` to the column's values.
    of_rows
        The values of all rows, where these are there already.
    """

    codes: NDArray[Any]
    least: int
    count: int
    values: Callable[[Ints], Any]
    of_rows: Any = None

    def at(self, rows: Ints | slice) -> Coded:
        """The codes of some rows, in the range of all codes."""
        return replace(self, codes=self.codes[rows], of_rows=None)

    def values_of_rows(self) -> Any:
        """The value of each row."""
        return self.values(subtract(self.codes, self.least)) if self.of_rows is None else self.of_rows


def code_numbers(codes: Ints, bounds: Sequence[int] | Ints | None = None) -> Coded:
    """A column of integers, at least one; ``bounds`` are the least and the greatest of them, where known."""
    least, greatest = edges(codes) if bounds is None else map(int, bounds)
    if greatest - least < MAX_PACKED >> 8:
        return Coded(codes, least, greatest - least + 1, lambda own: own + least, codes)
    values, inverse = np.unique(codes, return_inverse=True)
    return Coded(inverse, 0, len(values), values.__getitem__)


def code_key(column: pa.Array) -> Coded:
    """A key column: integers and times in a small range as they are, other values by their dictionary."""
    if (close := near(column)) is not None:
        numbers, least, count = close
        kind = numbers.dtype
        return Coded(numbers, least, count, lambda own: pa.array((own + least).astype(kind)).view(column.type), column)
    if (below := with_nulls_below(column)) is not None and (close := near(below[0])) is not None:
        (filled, null), (numbers, least, count) = below, close

        def values_or_null(own: Ints) -> pa.Array:
            found = own + least
            return pa.array(found, filled.type, mask=found == null).view(column.type)

        return Coded(numbers, least, count, values_or_null)
    if not isinstance(column, pa.DictionaryArray):
        codes, values = dictionary(normalised(column))
        return Coded(codes, 0, max(len(values), 1), lambda own: values.take(pa.array(own)))
    values = column.dictionary
    if values.null_count or len(values.unique()) < len(values):
        return code_key(values.take(column.indices))
    if not column.null_count:
        return Coded(column.indices.to_numpy(), 0, max(len(values), 1), lambda own: values.take(pa.array(own)))
    null = len(values)  # a null is a key as any other
    codes = pc.fill_null(column.indices.cast(pa.int64()), null).to_numpy()
    return Coded(codes, 0, null + 1, lambda own: values.take(pa.array(own, mask=own == null)))


def code_ordered(column: pa.Array) -> Coded:
    """A key column as integers that compare as its values do, which are not needed again."""
    if (close := near(column)) is not None:
        return Coded(*close, lambda own: own)
    codes, count = encode(column, ordered=True)
    return Coded(codes, 0, max(count, 1), lambda own: own)


def codes_of_tile(index: Index, columns: Sequence[Coded], tile: slice) -> Index:
    """The codes of all columns in one, for a tile of rows."""
    part = index[tile]
    least = 0
    factor = math.prod(column.count for column in columns)
    for place, column in enumerate(columns):
        factor //= column.count
        least += column.least * factor
        codes = column.codes[tile]
        if not place:
            np.multiply(codes, factor, out=part, dtype=np.int64, casting="unsafe")
        else:
            own = codes if factor == 1 else np.multiply(codes, factor, dtype=np.int64, casting="unsafe")
            np.add(part, own, out=part, dtype=np.int64, casting="unsafe")
    part -= (least + (1 << 63)) % (1 << 64) - (1 << 63)  # int64 wraps: overflows above cancel here
    return part


def packed(columns: Sequence[Coded], rows: int) -> Ints:
    """The codes of all columns in one, which must fit, for all rows."""
    index = np.empty(rows, np.int64) if columns else np.zeros(rows, np.int64)
    for start in range(0, rows, KEY_TILE_ROWS):
        codes_of_tile(index, columns, slice(start, start + KEY_TILE_ROWS))
    return index


def subtract(codes: NDArray[Any], least: int) -> Ints:
    """Codes minus the least, as int64."""
    return cast(Ints, np.subtract(codes, least, dtype=np.int64))


@dataclass(frozen=True)
class Groups:
    """Rows in groups.

    Parameters
    ----------
    index
        The group of each row.
    size
        The number of groups.
    counts
        The number of rows of each group; None where unknown: groups may then be empty.
    values
        The groups' values of each column.
    starts
        The first group of each value of the first column, where each row is a group, sorted by the columns as they
        are given; None where that is not known.
    """

    index: Index
    size: int
    counts: Ints | None
    values: list[Any]
    starts: Index | None = None


def assign(
    frames: Sequence[Coded],
    keys: Sequence[Coded],
    rows: int,
    *,
    counting: bool = True,
    in_place: bool = False,
    by_key: bool = False,
) -> Groups:
    """Group one row or more by equal values in all columns.

    Groups are sorted by frame, then key: events that follow one another in time then add to neighbouring states. Where
    there are too many for that, rows are sorted by key, then frame, as merged partials are.

    Parameters
    ----------
    counting
        Whether every group must have a row. If not, groups may be all possible ones.
    in_place
        Whether the codes of the first column, an array of int64, may be overwritten with the index.
    by_key
        Whether to sort in any case: for events that are in the order of keys, then frames.
    """
    columns = [*frames, *keys]
    size = math.prod(column.count for column in columns)
    alone = columns and rows // ROWS_PER_GROUP < size == columns[0].count
    if alone and rises(columns[0].codes):  # each row is a group
        return Groups(numbers(rows), rows, ones(rows), [each.values_of_rows() for each in columns])
    if by_key or size > max(MAX_SPARSE, rows):
        found = by_sorting([*keys, *frames], rows)
        return replace(found, values=found.values[len(keys) :] + found.values[: len(keys)])
    index = columns[0].codes if in_place else np.empty(rows, np.intp) if columns else np.zeros(rows, np.intp)
    return by_counting(index, columns, size, counting or size > rows // ROWS_PER_GROUP)


def by_counting(index: Index, columns: Sequence[Coded], size: int, counting: bool) -> Groups:
    """The groups of :func:`assign` by counting, where ``size``, the number possible, is small; fills ``index``."""
    counts = np.zeros(size, np.int64) if counting else None
    for start in range(0, len(index), KEY_TILE_ROWS):
        codes = codes_of_tile(index, columns, slice(start, start + KEY_TILE_ROWS))
        if counts is not None:
            np.add.at(counts, codes, 1)
    if counts is None:
        return Groups(index, size, None, values_of(columns, np.arange(size)))
    codes = np.flatnonzero(counts)
    if len(codes) < size:
        places = np.zeros(size, np.intp)
        places[codes] = np.arange(len(codes))
        for start in range(0, len(index), KEY_TILE_ROWS):
            part = index[start : start + KEY_TILE_ROWS]
            part[:] = places[part]
        counts = counts[codes]
    return Groups(index, len(codes), counts, values_of(columns, codes))


def values_of(columns: Sequence[Coded], codes: Ints) -> list[Any]:
    """The values of each column, unpacked from codes of all columns."""
    values: list[Any] = []
    for column in reversed(columns):
        rest = codes // column.count  # which numpy does in much less time than divmod
        values.append(column.values(codes - rest * column.count))
        codes = rest
    return values[::-1]


def by_sorting(columns: Sequence[Coded], rows: int) -> Groups:
    """The groups of :func:`assign` by sorting, for any number of them."""
    if len(columns) == 2 and (starts := starts_if_sorted(columns[0].codes, columns[1].codes)) is not None:
        values = [each.values_of_rows() for each in columns]  # each row is a group
        # The codes of numbers are in their order.
        return Groups(numbers(rows), rows, ones(rows), values, None if columns[0].of_rows is None else starts)
    codes, size = pack([(subtract(column.codes, column.least), column.count) for column in columns], rows)
    if rises(codes):
        return Groups(numbers(rows), rows, ones(rows), [each.values_of_rows() for each in columns])
    if ascends(codes):
        new = differs(codes)
        index, first = np.cumsum(new) - 1, np.flatnonzero(new)
        counts, found = np.diff(first, append=rows), codes[first]
    else:
        index, first, counts, found = groups_by_sorting(codes, size)
    if size == math.prod(column.count for column in columns):
        values = values_of(columns, found)
    else:  # codes were made dense to be packed
        values = [column.values(subtract(column.codes[first], column.least)) for column in columns]
    return Groups(index, len(first), counts, values)


def starts_if_sorted(first: NDArray[Any], second: NDArray[Any]) -> Index | None:
    """Where the values of the first column begin, if rows are sorted by two columns and all differ; else None."""
    fresh = differs(first)
    starts = np.flatnonzero(fresh)
    if not rises(first[starts]):
        return None
    return starts if (fresh[1:] | (second[1:] > second[:-1])).all() else None


class SortedGroups(NamedTuple):
    """Rows in groups that are put in the order of keys, then frames.

    Parameters
    ----------
    group
        The group of each row.
    first
        The first row of each group.
    order
        The groups sorted by key, then frame; None where they are.
    """

    group: Ints
    first: Ints
    order: Ints | None


def sorted_groups(keys: Sequence[Coded], frames: Sequence[Coded], rows: int) -> SortedGroups:
    """Rows of equal keys and frames in groups; codes of keys are in the order of keys."""
    size, of_frames = (math.prod(column.count for column in columns) for columns in ([*keys, *frames], frames))
    if size > MAX_PACKED:
        columns = [(subtract(column.codes, column.least), column.count) for column in (*keys, *frames)]
        return SortedGroups(*grouped(*pack(columns, rows)), None)
    of_keys = size // of_frames
    if of_keys == len(frames) == 1 and rises(frames[0].codes):
        return SortedGroups(each := np.arange(rows), each, None)
    if of_keys == 1 or not by_frame(keys, frames):
        return SortedGroups(*grouped(packed([*keys, *frames], rows), size), None)
    codes = packed([*frames, *keys], rows)
    found = grouped(codes.copy(), size)
    ordered = np.divmod(codes[found[1]], of_keys)
    return SortedGroups(*found, in_order(ordered[1] * of_frames + ordered[0], size))


def by_frame(keys: Sequence[Coded], frames: Sequence[Coded]) -> bool:
    """Whether rows are in the order of frames, and not of keys, as far as the first ones show."""
    some = min(ORDER_SAMPLE, len(frames[0].codes))
    first, key = (packed([each.at(slice(some)) for each in columns], some) for columns in (frames, keys))
    return ascends(first) and not ascends(key)


def in_order(codes: Ints, size: int) -> Ints:
    """The order of different codes below ``size``."""
    if not have_places(size, len(codes)):
        return stable_order(codes, size)
    places: NDArray[Any] = np.full(size, -1, np.int32 if len(codes) < 1 << 31 else np.int64)
    places[codes] = np.arange(len(codes))
    return places[places >= 0].astype(np.intp)


def grouped(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """The group of each row, and the first row of each group: rows of one code, in the order of the codes.

    The codes, from 0 to below ``size``, may be overwritten.
    """
    above = codes[1:] > codes[:-1]
    if above.all():
        return (rows := np.arange(len(codes))), rows
    if have_places(size, len(codes)):
        return in_places(codes, size)
    runs = len(codes) - np.count_nonzero(above)
    if runs * MIN_SORTED_RUN > len(codes):
        return groups_by_sorting(codes, size)[:2]
    return groups_by_runs(codes, [0, *(np.flatnonzero(~above) + 1).tolist(), len(codes)])


def have_places(size: int, rows: int) -> bool:
    """Whether each possible group of some rows has a place in an array."""
    return size < 1 << 31 and size <= max(MAX_PLACES * rows, FEW_PLACES)


def in_places(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """As :func:`grouped`, with a place for each code."""
    numbers = np.zeros(size, np.int32)
    first = np.empty(loops.number_codes(codes, numbers), np.intp)
    loops.number_rows(codes, numbers, first)
    return codes, first
