"""The reductions of a batch's rows to frames, which ``accumulate`` is written with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import SumOverflowError
from ..numeric.float_sums import largest_of, summed
from ..numeric.grouped import canonical, greatest, least
from ..ranges.ordering import order_of_groups
from ..states.alike import are_numbers, numbers, ones, zeros
from ..states.arrays import Bools, Floats, Index, Ints
from ..states.fields import HUGE, Compensated
from ..states.limbs import Exact

__all__ = ["Frames"]

Values = Any
"""A column of a batch: a numpy array where its type has one, an Arrow array otherwise."""

CHUNK = 1 << 21
"""The number of 32-bit integers that float64 sums without rounding."""


def valid_rows(columns: Sequence[pa.Array]) -> Bools | None:
    """Which rows have no null in any column; None where all are such."""
    nulls = [column for column in columns if column.null_count]
    if not nulls:
        return None
    valid: Bools = np.logical_and.reduce([c.is_valid().to_numpy(zero_copy_only=False) for c in nulls])
    return valid


class Frames:
    """The rows of a batch, each already assigned to a frame.

    Every reduction takes a column of the batch's rows and gives one element a frame::

        row                0    1    2    3    4
        ticks              5   12    3   14    7
        index              0    1    0    1    0    which frame each row is in
        x                1.0  2.0  4.0  8.0  1.0

        frame              0    1                   size = 2
        sum(x)           6.0 10.0
        first(x)         4.0  2.0                   the value at the least tick

    Each frame has at least one row. A row with a null in one of the operation's columns is left out, and so is a frame
    that has no other rows.

    Parameters
    ----------
    index
        Which frame each row is in: integers from 0 to ``size - 1``.
    size
        The number of frames.
    ticks
        The time of each row, int64: microseconds since the epoch, days for dates, or the integer itself.
    order
        What rows are ordered by, int64: their row numbers, where windows are counted in rows; their time where None.
    counts
        The number of rows of each frame, int64; None where unknown. Frames may then be empty, and their states are
        dropped; only operations with ``takes_empty_frames`` get them.

    Examples
    --------
    >>> import framefold as ff
    >>> import numpy as np
    >>> frames = ff.Frames(np.array([0, 1, 0]), 2, np.array([5, 12, 3]))
    >>> frames.sum(np.array([1.0, 2.0, 4.0])), frames.count()
    (array([5., 2.]), array([2, 1]))
    >>> frames.first(np.array([1.0, 2.0, 4.0]))  # in time order
    array([4., 2.])
    """

    def __init__(
        self, index: Index, size: int, ticks: Ints, order: Ints | None = None, counts: Ints | None = None
    ) -> None:
        self.index = index
        self.size = size
        self.ticks = ticks
        self.order = ticks if order is None else order
        if counts is not None:
            self.counts = counts
        self._sums: dict[Any, tuple[Floats, Compensated]] = {}

    def where(self, rows: Bools) -> tuple[Frames, Index]:
        """Some of the rows, in the frames that are left with any, and which of the frames these are."""
        kept = np.flatnonzero(rows)
        if self.are_rows:
            order = None if self.order is self.ticks else self.order[kept]
            return Frames(numbers(len(kept)), len(kept), self.ticks[kept], order, ones(len(kept))), kept
        index = self.index[kept]
        left = np.zeros(self.size, bool)
        left[index] = True
        frames = np.flatnonzero(left)
        if len(frames) < self.size:
            index = (np.cumsum(left) - 1)[index]
        order = None if self.order is self.ticks else self.order[kept]
        return Frames(index, len(frames), self.ticks[kept], order), frames

    def repeated(self, times: Ints) -> Frames:
        """Each row as often as ``times`` says, such as once for each item of a list."""
        index, ticks, order = (np.repeat(each, times) for each in (self.index, self.ticks, self.order))
        return Frames(index, self.size, ticks, order)

    def count(self, values: Values = None) -> Ints:
        """The number of rows of each frame."""
        return self.counts.copy()

    @cached_property
    def are_rows(self) -> bool:
        """Whether each row is a frame by itself, and frames are in the order of rows."""
        return self.size == len(self.index) and are_numbers(self.index)

    @cached_property
    def counts(self) -> Ints:
        """The number of rows of each frame, not to be written to; set where a reduction has counted along the way."""
        return np.bincount(self.index, minlength=self.size)

    def sum(self, values: Values) -> NDArray[Any]:
        """The sum of the values in each frame: int64 for integers and booleans, float64 for floats.

        Raises
        ------
        SumOverflowError
            If the sum of a frame's integers does not fit int64.
        """
        values = np.asarray(values)
        if values.dtype.kind == "f":
            if self.are_rows:
                own: NDArray[Any] = values.astype(np.float64) + 0.0  # no -0.0, as sums begin with 0.0
                return own
            return np.bincount(self.index, weights=values, minlength=self.size)
        total, fits = self.exact_sum(values).int64()
        if not fits.all():
            raise SumOverflowError(f"the sum of one frame's {values.dtype} values does not fit int64")
        return total

    def exact_sum(self, values: Values) -> Exact:
        """The exact sum of integers (two limbs) or of an Arrow array of decimals (four limbs)."""
        if isinstance(values, pa.Array):
            return Exact([self._add_up(limb) for limb in Exact.of_decimals(values).limbs]).carried()
        values = np.asarray(values)
        if values.dtype.kind == "b" or values.dtype.itemsize <= 2:
            return Exact.of(self._add_up(values))
        if values.dtype != np.uint64:
            bound = max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0
            if bound * len(values) < 1 << 53:
                return Exact.of(self._add_up(values))
        return Exact([self._add_up(limb) for limb in Exact.of(values).limbs]).carried()

    def _add_up(self, limb: NDArray[Any]) -> Ints:
        """The sums of integers below 2**32, or whose sum is below 2**53: in float64, exact for a chunk."""
        total = np.zeros(self.size, np.int64)
        for start in range(0, len(limb), CHUNK):
            rows = slice(start, start + CHUNK)
            total += np.bincount(self.index[rows], weights=limb[rows], minlength=self.size).astype(np.int64)
        return total

    def compensated_sum(self, values: Values) -> Compensated:
        """The sum of floats in each frame together with what rounding lost of it.

        The first such sum also counts the rows.
        """
        values = np.asarray(values, dtype=np.float64)
        if values.flags.writeable:
            return self._compensated_sum(values)
        # Cached by address, as outputs often share a column; the column is kept, so that its address stays its own.
        known = (values.__array_interface__["data"][0], values.strides, len(values))
        if known not in self._sums:
            self._sums[known] = (values, self._compensated_sum(values))
        return self._sums[known][1]

    def _compensated_sum(self, values: Floats) -> Compensated:
        largest = largest_of(values)
        if not largest < HUGE:
            return self._sum_with_special_values(values)
        if self.size == len(values) and "counts" in vars(self):  # a row a frame
            placed = values + 0.0  # no -0.0, as sums begin with 0.0
            if not self.are_rows:
                placed[self.index] = placed.copy()
            return Compensated(placed, zeros(self.size).view(np.float64))
        if largest == 0.0:
            return Compensated.of(np.zeros(self.size))
        total, counts = summed(values, self.index, self.size, largest)
        self.counts = counts
        return total

    def _sum_with_special_values(self, values: Floats) -> Compensated:
        """As :meth:`compensated_sum`, where NaN, inf or huge values are among them."""
        each = Compensated.of(values)
        assert each.special_values is not None
        total = self.compensated_sum(each.high)
        *kinds, huge = each.special_values.T
        columns: list[NDArray[Any]] = [np.bincount(self.index, weights=kind, minlength=self.size) for kind in kinds]
        big = self.compensated_sum(huge)
        return Compensated(total.high, total.low, np.column_stack([*columns, big.high])).with_lost(big.low)

    def min(self, values: Values) -> Values:
        """The least value of each frame. NaN is above every other value, as in Spark SQL."""
        return self._chosen(least, values)

    def max(self, values: Values) -> Values:
        """The greatest value of each frame. NaN is above every other value, as in Spark SQL."""
        return self._chosen(greatest, values)

    def _chosen(self, choose: Callable[[Values, Index, int], Values], values: Values) -> Values:
        """The value that is chosen of each frame; of a single row its own."""
        if isinstance(values, np.ndarray) and self.are_rows:
            return canonical(values.copy())
        return choose(values, self.index, self.size)

    @cached_property
    def _sorted(self) -> bool:
        return bool((self.order[1:] >= self.order[:-1]).all())

    @cached_property
    def first_row(self) -> Index:
        """The row of each frame's first event in time; among those of one time the one that came first."""
        return self._edge(least, slice(None, None, -1))

    @cached_property
    def last_row(self) -> Index:
        """The row of each frame's last event in time; among those of one time the one that came last."""
        return self._edge(greatest, slice(None))

    def _edge(self, of_groups: Callable[[Ints, Index, int], Ints], order: slice) -> Index:
        rows = np.arange(len(self.index))
        if self.are_rows:
            return rows
        if not self._sorted:
            rows = np.flatnonzero(self.order == of_groups(self.order, self.index, self.size)[self.index])
        edge = np.empty(self.size, np.intp)
        edge[self.index[rows[order]]] = rows[order]  # where an index repeats, numpy keeps what is assigned last
        return edge

    def first(self, values: Values) -> Values:
        """The value of each frame's first event."""
        return _take(values, self.first_row)

    def last(self, values: Values) -> Values:
        """The value of each frame's last event."""
        return _take(values, self.last_row)

    def mean(self, values: Values) -> Floats:
        """The arithmetic mean of each frame's values."""
        return self.compensated_sum(values).value() / self.count()

    def group(self, values: Values) -> Iterator[Values]:
        """Each frame's values in time order, frame by frame: for whatever has no reduction of its own."""
        return self._parts(self._by_frame(values))

    def group_lists(self, values: Values) -> Iterator[list[Any]]:
        """Each frame's values in time order as :meth:`group` gives them, as lists of Python's values."""
        return self._parts(self._by_frame(values).tolist())

    def _by_frame(self, values: Values) -> Values:
        """Values by frame, then time."""
        if not self._sorted:
            rows = np.lexsort((self.order, self.index))
        elif self.size > len(self.index):
            rows = np.argsort(self.index, kind="stable")
        else:
            rows = order_of_groups(self.index, self.size)
        return _take(values, rows)

    def _parts(self, values: Any) -> Iterator[Any]:
        """The part of each frame of values by frame."""
        ends = np.cumsum(self.count())
        for start, end in zip((ends - self.count()).tolist(), ends.tolist(), strict=True):
            yield values[start:end]


def _take(values: Values, rows: Index) -> Values:
    return values.take(pa.array(rows)) if isinstance(values, pa.Array) else cast(NDArray[Any], values)[rows]
