"""The second central moment: Variance, StdDev."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .. import loops
from ..contract.aggregate import StateRanges
from ..contract.bound import BoundAggregate
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import floats, is_decimal
from ..contract.operation import OfNumbers, State
from ..contract.sql_spec import SqlSpec
from ..errors import QueryError
from ..states.arrays import Bools, Floats, Index
from ..states.double_double import root
from . import sql_squares
from .deviations import UNIT, Deviations
from .sliding_deviations import MIN_VARIANCE, SUMS, about_centres, all_equal, of_codes, of_ranges

__all__ = ["StdDev", "Variance"]


class Variance(OfNumbers):
    """The variance of a column of numbers; null where a window has not more than ``ddof`` of them.

    Nearly always rounded correctly: deviations and their squares are summed in two floats each (T. Chan, G. Golub and
    R. LeVeque, "Algorithms for Computing the Sample Variance", 1983; see
    :mod:`framefold.aggregators.moments.deviations`). Never negative; inf where it is too large for a float. NaN where a
    window has a NaN or an infinite value. Windows that move forward slide by running sums, see
    :mod:`framefold.aggregators.moments.sliding_deviations`; there is no deduct, so others slide by two-stacks.

    Parameters
    ----------
    column
        Integers, floats or decimals.
    ddof
        What is subtracted from the count in the divisor: 1 for the sample variance, 0 for the population's.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [1e9 + 1, 1e9 + 2, 1e9 + 3]})
    >>> ff.events(events, time="t").window(ff.tumbling(3)).aggregate(v=ff.Variance("x"))["v"].to_pylist()
    [1.0]
    """

    state = {
        "count": "int64",
        "centre": "float64",
        "sum": "float64",
        "sum_low": "float64",
        "squares": "float64",
        "squares_low": "float64",
        "level": "int8",
    }
    takes_empty_frames = True
    result_parameters = ("ddof",)

    def __init__(self, column: ColumnLike, *, ddof: int = 1) -> None:
        super().__init__(column)
        if not isinstance(ddof, int) or isinstance(ddof, bool) or ddof < 0:
            raise QueryError(f"ddof= of {self!r} is {ddof!r}; expected an integer of 0 or more")
        self.ddof = ddof

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return Deviations.of(frames, floats(columns[0])).fields()

    def sql_spec(self, *types: pa.DataType) -> SqlSpec | None:
        # Spark makes floats of decimals in another way than Arrow.
        return None if is_decimal(types[0]) else sql_squares.sql_spec(types[0])

    def combine(self, a: State, b: State) -> State:
        return Deviations(**a).join(Deviations(**b)).fields()

    def combine_groups(self, blocks: Iterable[tuple[State, Index]], groups: int) -> State | None:
        joined = Deviations.join_groups(((Deviations(**states), group) for states, group in blocks), groups)
        return None if joined is None else joined.fields()

    def finish(self, a: State) -> Any:
        states = Deviations(**a)
        return pa.array(self.result_of(states), mask=states.count <= self.ddof)

    by_joining = False
    range_cost = "constant"
    answers_nested = False

    def has(self, method: str) -> bool:
        return not (self.by_joining and method == "finish_ranges") and super().has(method)

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        found = of_ranges(Deviations(**a), ranges)
        if found is None:
            return None
        sums, unit = found
        result, none, rows = self.of_sums(sums, unit)
        if rows.size and (equal := all_equal(Deviations(**a), ranges.low[rows], ranges.high[rows])).any():
            result[rows[equal]] = 0.0
            rows = rows[~equal]
        if rows.size:
            result[rows] = ranges.finish_others(self.joined, a, ranges.low[rows], ranges.high[rows]).to_numpy()
        return pa.array(result, mask=none)

    centred = SUMS

    @property
    def joined(self) -> BoundAggregate:
        return BoundAggregate("joined", self.changed(by_joining=True), [pa.float64()])

    def about_codes(self, a: State, codes: NDArray[np.int32], size: int) -> tuple[State, Floats] | None:
        return of_codes(Deviations(**a), codes, size)

    def finish_centred(self, sums: State, unit: Floats) -> tuple[Floats, Bools, Index]:
        total, squares = sums["sum"], sums["squares"]
        made = about_centres(sums["count"], total.high, total.low, squares.high, squares.low)
        return self.of_sums(made, unit)

    def of_sums(self, sums: Deviations, unit: Floats) -> tuple[Floats, Bools, Index]:
        """The results of sums in a unit, which are null, and which have too few bits."""
        high, low = sums.variance(self.ddof)
        result = self.of_variance(high, low)
        result *= unit if self.power == 1 else unit * unit
        none = sums.count <= self.ddof
        few = high < MIN_VARIANCE  # the less, the fewer bits it has
        return result, none, np.flatnonzero(few & ~none)

    power = 2
    """Of the values, as which results grow."""

    def of_variance(self, high: Floats, low: Floats) -> Floats:
        """The results of variances in pairs of floats."""
        return high + low

    def result_of(self, states: Deviations) -> Floats:
        """The results of states; any where there are not more than ``ddof`` values."""
        return in_units(self.of_variance(*states.variance(self.ddof)), states.level, self.power)


class StdDev(Variance):
    """The standard deviation of a column of numbers: the square root of its :class:`Variance`.

    The root of the unrounded variance, rounded once. Values whose squares no float can hold, such as 1e300, do no harm.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1], "x": [1.0, 3.0]})
    >>> ff.events(events, time="t").window(ff.tumbling(2)).aggregate(s=ff.StdDev("x", ddof=0))["s"].to_pylist()
    [1.0]
    """

    power = 1

    def of_variance(self, high: Floats, low: Floats) -> Floats:
        found = np.empty(len(high))
        return found if loops.roots(high, low, found) else root(high, low)


def in_units(values: Floats, level: NDArray[np.int8], power: int) -> Floats:
    """Values times ``2**(UNIT * level)`` to a power; inf where that is too large for a float64."""
    return np.ldexp(values, power * UNIT * level.astype(np.int64)) if level.any() else values
