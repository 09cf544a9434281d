"""Equality of results up to rounding, estimated by the effect of rounding the input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ..contract.lists import is_list
from ..contract.numeric_columns import floats, is_number

TOLERANCE = 1e-9
"""The share of the largest result by which floats may differ."""

LAST = 2.0**-48
"""Floats may differ by the effect of a relative change of the input by this: its 48th of 53 bits."""

NUDGE = 2.0**-44
"""The change of inputs, relative to the largest, by which that is estimated; above the errors of rounding."""


def close(a: Any, b: Any, size: float | None, nearby: Sequence[tuple[float, Any]] = ()) -> bool:
    """Whether results are equal, floats up to rounding.

    Where values cancel (a skewness, a covariance near 0), the size of results does not bound their rounding error. The
    effect of small changes of the input does: a *backward stable* algorithm gives the exact result of nearly the given
    input (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2002, 1.5), with a value or the weight of a
    row slightly changed. The effect is estimated by trial (D. S. Parker, "Monte Carlo Arithmetic", 1997).

    Parameters
    ----------
    a, b
        Results as Python values, however nested.
    size
        The size of the largest result; None where floats must be equal to the last digit.
    nearby
        Values of ``b`` for changed input, each after the share of the change by which ``a`` and ``b`` may differ.

    Examples
    --------
    >>> close([1.0, None], [1.0 + 1e-12, None], 0.0), close(1e-12, 2e-12, 0.0), close(1e-12, 2e-12, 1.0)
    (True, False, True)
    >>> close(1e-12, 2e-12, 0.0, [(0.125, 2e-11)])
    True
    """
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        lists = [(share, it) for share, it in nearby if isinstance(it, (list, tuple)) and len(it) == len(b)]
        return len(a) == len(b) and all(
            close(x, y, size, [(share, it[i]) for share, it in lists])
            for i, (x, y) in enumerate(zip(a, b, strict=True))
        )
    if isinstance(a, dict) and isinstance(b, dict):
        dicts = [(share, it) for share, it in nearby if isinstance(it, dict) and it.keys() == b.keys()]
        return a.keys() == b.keys() and all(
            close(a[key], b[key], size, [(share, it[key]) for share, it in dicts]) for key in a
        )
    if isinstance(a, float) and isinstance(b, float):
        if a == b or (a != a and b != b):
            return True
        if size is None or a != a or b != b:
            return False
        slack = max((share * abs(it - b) for share, it in nearby if isinstance(it, float) and it == it), default=0.0)
        x, y = _halved(a), _halved(b)
        return math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=max(TOLERANCE * size, slack) / 2)
    return bool(a == b)


def size_of(value: Any) -> float:
    """The largest magnitude of the floats in a result; 0 without any."""
    if isinstance(value, (list, tuple)):
        return max(map(size_of, value), default=0.0)
    if isinstance(value, dict):
        return max(map(size_of, value.values()), default=0.0)
    return abs(value) if isinstance(value, float) and math.isfinite(value) else 0.0


def nudge(column: pa.Array, seed: int) -> pa.Array | None:
    """A column's numbers as floats, each changed by up to ``NUDGE`` of the largest of them; None if it has none.

    Signs stay as they are, and so do 0, NaN and inf.

    >>> nudge(pa.array([3, 5, 3]), seed=1).to_pylist() == nudge(pa.array([3, 5, 3]), seed=2).to_pylist()
    False
    """
    if is_list(column.type) or pa.types.is_map(column.type):
        items = nudge(column.items if pa.types.is_map(column.type) else column.values, seed)
        return None if items is None else _with_items(column, items)
    if not is_number(column.type):
        return None
    values = floats(column.fill_null(0))
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0)
    by = np.random.default_rng(seed).uniform(-NUDGE, NUDGE, len(values)) * sizes.max(initial=0.0)
    changed = np.copysign(np.clip(np.abs(sizes + by), 0.0, np.finfo(np.float64).max), values)
    return pa.array(np.where(sizes > 0, changed, values), mask=column.is_null().to_numpy(zero_copy_only=False))


def _with_items(column: pa.Array, items: pa.Array) -> pa.Array:
    """A column of lists or maps with other items."""
    if pa.types.is_map(column.type):
        return pa.MapArray.from_arrays(column.offsets, column.keys, items)
    if pa.types.is_fixed_size_list(column.type):
        return pa.FixedSizeListArray.from_arrays(items, column.type.list_size)
    return (pa.LargeListArray if pa.types.is_large_list(column.type) else pa.ListArray).from_arrays(
        column.offsets, items
    )


def _halved(value: float) -> float:
    """Half of a number, with inf as the successor of the largest float: rounding may turn one into the other."""
    return math.copysign(2.0**1023, value) if math.isinf(value) else value / 2
