"""States of lifetimes clipped to a frame or a window.

They are the states of the operations of :mod:`framefold.aggregators.intervals.time_weighted`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..contract.aggregate import TypedOperation
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import in_pairs
from ..contract.operation import AggregateOperation, State, Sums
from ..errors import SumOverflowError
from ..states.arrays import Ints
from ..states.double_double import product, two_sum
from ..states.fields import BIG, SHIFT, Compensated
from ..states.limbs import BITS, MASK, Exact

LARGE = 2.0**896
"""Values from this magnitude on are special: their products with ticks might be huge."""


class ClippedTicks(TypedOperation, Sums):
    """The sum of clipped lifetimes."""

    state = {"ticks": "exact"}

    def __init__(self, spec: AggregateOperation) -> None:
        super().__init__(spec)
        self.result = spec.result

    def of(self, frames: Frames, columns: tuple[Values, ...], ticks: Ints) -> State:
        """The states of groups of events, by the ticks that each event lives."""
        return {"ticks": frames.exact_sum(ticks)}

    def over_ticks(self, a: State, ticks: Ints) -> State:
        """The states of events that live for ``ticks``, given those of one tick."""
        count, _ = a["ticks"].int64()
        return {"ticks": Exact([count * (ticks & MASK), count * (ticks >> BITS)]).carried()}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        raise AssertionError("states of lifetimes are made by of()")

    def finish(self, a: State) -> Any:
        ticks, fits = a["ticks"].int64()
        if not fits.all():
            raise SumOverflowError(
                f"the total of lifetimes for {self!r} does not fit {self.result} in {np.count_nonzero(~fits)} of "
                f"{len(fits)} windows; expected fewer or shorter ones"
            )
        return pa.array(ticks).view(self.result)


class ClippedMean(ClippedTicks):
    """The integral of a column over clipped lifetimes, and the sum of these."""

    state = {"total": "compensated", "ticks": "exact"}

    def of(self, frames: Frames, columns: tuple[Values, ...], ticks: Ints) -> State:
        return {
            "total": sum_of_pairs(frames, times_ticks(in_pairs(columns[0]), ticks)),
            **super().of(frames, columns, ticks),
        }

    def over_ticks(self, a: State, ticks: Ints) -> State:
        return {"total": times_ticks(a["total"], ticks), **super().over_ticks(a, ticks)}

    def finish(self, a: State) -> Any:
        ticks = a["ticks"].floats()
        mean = a["total"].value(divisor=np.maximum(ticks, 1.0))
        return pa.array(mean, mask=ticks == 0)


def times_ticks(values: Compensated, ticks: Ints) -> Compensated:
    """Sums times ticks, with what rounding loses of it (T. J. Dekker, 1971)."""
    factor = in_pairs(ticks)
    large = ~(np.abs(values.high) < LARGE)
    high, low = np.where(large, 0.0, values.high), np.where(large, 0.0, values.low)
    rounded, lost = product(high, factor.high)
    total, lost = two_sum(rounded, lost + (high * factor.low + low * factor.high))
    if values.special_values is None and not large.any():
        return Compensated(total, lost)
    special = (
        np.zeros((len(ticks), 4)) if values.special_values is None else values.special_values * (ticks != 0)[:, None]
    )
    special[:, BIG] = (special[:, BIG] + np.ldexp(np.where(large, values.high, 0.0), -SHIFT)) * factor.high
    return Compensated(total, lost, special)


def sum_of_pairs(frames: Frames, values: Compensated) -> Compensated:
    """The sums of frames' rows, each of which is the sum of two floats."""
    rest = frames.compensated_sum(values.low)
    total = frames.compensated_sum(values.high) + rest
    if values.special_values is None:
        return total
    special = [np.bincount(frames.index, weights=column, minlength=frames.size) for column in values.special_values.T]
    return Compensated(total.high, total.low, np.column_stack(special))
