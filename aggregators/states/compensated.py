"""Columns of float sums that keep what rounding lost.

One 1e16, NaN or inf would spoil a plain float sum that slides by subtraction. These columns have the rounding error of
every addition in a second float (T. J. Dekker, "A floating-point technique for extending the available precision",
1971; D. E. Knuth, TAOCP 2, 4.2.2, theorem B), and special values, which cannot be subtracted, in columns of their own:
counts of NaN, +inf and -inf, and the sum of huge values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import Floats

HUGE = 2.0**960
"""Values from this magnitude on are special: 2**63 smaller ones can be added up without overflow."""

SHIFT = 128
"""Huge values are kept divided by 2**SHIFT."""

NAN, POSITIVE, NEGATIVE, BIG = range(4)
"""The columns of ``special_values``: the numbers of NaN, +inf and -inf, and the sum of huge values / 2**SHIFT."""


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded sums of two columns and, exactly, what rounding lost (Knuth's TwoSum)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


class Compensated:
    """A column of float sums, each kept as the unevaluated sum of two floats.

    Adds and subtracts like any array; ``value()`` gives plain floats. An operation gets one where its state
    declares a field ``"compensated"``.

    Parameters
    ----------
    high, low
        float64 columns of equal length; ``low`` is what rounding lost of ``high``.
    special_values
        None, or a float64 array of shape (length, 4); its columns are ``NAN`` to ``BIG``.

    Examples
    --------
    >>> big = Compensated.of([1e16]) + Compensated.of([1.0])
    >>> (big - Compensated.of([1e16])).value()
    array([1.])
    >>> (Compensated.of([np.inf]) + Compensated.of([2.0]) - Compensated.of([np.inf])).value()
    array([2.])
    """

    __slots__ = ("high", "low", "special_values")
    __array_ufunc__ = None  # numpy must leave + and - to this class

    def __init__(self, high: Floats, low: Floats, special_values: Floats | None = None) -> None:
        self.high = high
        self.low = low
        self.special_values = special_values

    @classmethod
    def of(cls, values: Any) -> Compensated:
        """A column of the values as they are, nothing lost yet."""
        high = np.asarray(values, dtype=np.float64)
        ordinary = np.abs(high) < HUGE
        if bool(ordinary.all()):
            return cls(high, np.zeros_like(high))
        special = np.zeros((len(high), 4))
        special[:, NAN] = np.isnan(high)
        special[:, POSITIVE] = high == np.inf
        special[:, NEGATIVE] = high == -np.inf
        huge = ~ordinary & np.isfinite(high)
        special[huge, BIG] = np.ldexp(high[huge], -SHIFT)
        return cls(np.where(ordinary, high, 0.0), np.zeros_like(high), special)

    @classmethod
    def concatenate(cls, columns: Sequence[Compensated]) -> Compensated:
        """The columns one after the other."""
        special = None
        if any(column.special_values is not None for column in columns):
            special = np.concatenate(
                [c.special_values if c.special_values is not None else np.zeros((len(c), 4)) for c in columns]
            )
        return cls(np.concatenate([c.high for c in columns]), np.concatenate([c.low for c in columns]), special)

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, rows: Any) -> Compensated:
        return Compensated(
            self.high[rows], self.low[rows], None if self.special_values is None else self.special_values[rows]
        )

    def __neg__(self) -> Compensated:
        return Compensated(-self.high, -self.low, None if self.special_values is None else -self.special_values)

    def __add__(self, other: Compensated) -> Compensated:
        if not isinstance(other, Compensated):
            return NotImplemented
        total, lost = two_sum(self.high, other.high)
        high, low = two_sum(total, lost + (self.low + other.low))
        if self.special_values is None:
            special = other.special_values
        elif other.special_values is None:
            special = self.special_values
        else:
            special = self.special_values + other.special_values
        return Compensated(high, low, special)

    def __sub__(self, other: Compensated) -> Compensated:
        """Take ``other`` out again: counts of NaN and inf go down, they do not change sign."""
        if not isinstance(other, Compensated):
            return NotImplemented
        return self + (-other)

    def value(self, divisor: Any = 1) -> Floats:
        """Each sum, divided by the divisor, as one float; NaN and inf as IEEE 754 adds them up."""
        total: Floats = self.high + self.low
        if np.ndim(divisor) or divisor != 1:
            total /= divisor
        if self.special_values is None:
            return total
        nan, positive, negative, big = (self.special_values[:, column] for column in range(4))
        with np.errstate(over="ignore"):
            shifted = np.ldexp(big / divisor + np.ldexp(total, -SHIFT), SHIFT)
        total = np.where(big != 0, shifted, total)
        total = np.where(positive > 0, np.inf, total)
        total = np.where(negative > 0, -np.inf, total)
        total = np.where((nan > 0) | ((positive > 0) & (negative > 0)), np.nan, total)
        return total

    def magnitude(self) -> Floats:
        """An upper bound of each sum's size as far as later differences are concerned: inf where huge values are in."""
        size = np.abs(self.high)
        return size if self.special_values is None else np.where(self.special_values[:, BIG] != 0, np.inf, size)
