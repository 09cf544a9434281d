"""The number at a share of the way between two values, correctly rounded where these are integers or decimals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..contract.numeric_columns import is_decimal
from ..states.arrays import Floats, Ints
from ..states.limbs import Exact


def between(low: pa.Array, high: pa.Array, rest: Ints, denominator: int) -> pa.Array:
    """The values ``rest / denominator`` of the way from ``low`` to ``high``, as float64.

    Of durations, they are durations of the same unit, rounded towards 0, as those of Spark, pandas and Polars are.

    Parameters
    ----------
    low, high
        Columns of numbers or of durations, of one type, without nulls.
    rest, denominator
        Shares: integers from 0 to below the denominator, which is 10**9 at most.

    Examples
    --------
    >>> between(pa.array([2**53 + 1]), pa.array([2**53 + 2]), np.array([1]), 2).to_pylist()
    [9007199254740994.0]
    """
    if pa.types.is_floating(low.type):
        x, y = (each.to_numpy().astype(np.float64, copy=False) for each in (low, high))
        share = rest / denominator
        with np.errstate(invalid="ignore"):  # inf * 0, of shares of nothing
            mean: Floats = x * (1 - share)
            mean += y * share
        np.copyto(mean, x, where=(rest == 0) | (x == y))
        return pa.array(mean)
    x, y = _exact(low), _exact(high)
    weighted = Exact([a * (denominator - rest) + b * rest for a, b in zip(x.limbs, y.limbs, strict=True)])
    if pa.types.is_duration(low.type):
        return pa.array(weighted.divided(np.full(len(low), denominator), truncated=True).int64()[0]).view(low.type)
    scale = low.type.scale if is_decimal(low.type) else 0
    return pa.array(weighted.quotients(denominator * 10 ** max(scale, 0)) * 10.0 ** max(-scale, 0))


def _exact(values: pa.Array) -> Exact:
    """Integers, the unscaled integers of decimals, or the ticks of durations."""
    if is_decimal(values.type):
        return Exact.of_decimals(values.cast(pa.decimal128(values.type.precision, values.type.scale)))
    return Exact.of((values.view(pa.int64()) if pa.types.is_duration(values.type) else values).to_numpy()).carried()
