"""Arithmetic on pairs of floats, a high one with what rounding lost of it: about 100 bits.

T. J. Dekker, "A floating-point technique for extending the available precision", 1971. Nothing here checks for
overflow: numbers and their products are at most 2**960.
"""

from __future__ import annotations

import numpy as np

from .arrays import Floats

SPLITTER = 2.0**27 + 1
"""Cuts a float into two halves of 26 bits (G. W. Veltkamp, in T. J. Dekker, 1971)."""


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded sums of two columns and, exactly, what rounding lost (D. E. Knuth, TAOCP 2, 4.2.2, theorem B)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def to_odd(rounded: Floats, lost: Floats) -> Floats:
    """Rounded numbers with an odd last bit where rounding lost anything.

    Added to far larger ones they round as the exact numbers would (S. Boldo and G. Melquiond, "Emulation of FMA and
    Correctly Rounded Sums Using Round-to-Odd", 2008).

    >>> to_odd(np.array([1.0, 1.0]), np.array([0.0, 2.0**-60])).tolist()
    [1.0, 1.0000000000000002]
    """
    inexact = lost != 0.0
    if not inexact.any():
        return rounded
    bits = rounded.view(np.int64)
    step = np.where((lost > 0.0) == (rounded > 0.0), 1, -1)
    odd: Floats = np.where(inexact & (bits & 1 == 0), bits + step, bits).view(np.float64)
    return odd


def halves(a: Floats) -> tuple[Floats, Floats]:
    """Floats as sums of two of 26 bits.

    >>> [part.tolist() for part in halves(np.array([2.0**30 + 1]))]
    [[1073741824.0], [1.0]]
    """
    upper = SPLITTER * a
    lower = upper - a
    upper -= lower
    np.subtract(a, upper, out=lower)
    return upper, lower


def add(a: Floats, a_low: Floats, b: Floats, b_low: Floats) -> tuple[Floats, Floats]:
    """The sums of pairs of floats, as pairs; low floats are added without compensation.

    >>> [part.tolist() for part in add(np.array([1e16]), np.array([0.25]), np.array([1.0]), np.array([0.5]))]
    [[1e+16], [1.75]]
    """
    total, low = two_sum(a, b)
    low += a_low
    low += b_low
    return total, low


def product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The rounded products of floats and what the rounding lost.

    >>> [part.tolist() for part in product(np.array([2.0**27 + 1]), np.array([2.0**27 + 1]))]
    [[1.801439877791744e+16], [1.0]]
    """
    rounded = a * b
    a_upper, a_lower = halves(a)
    b_upper, b_lower = (a_upper, a_lower) if a is b else halves(b)
    lost = a_upper * b_upper - rounded
    lost += a_upper * b_lower
    lost += a_lower * b_upper
    lost += a_lower * b_lower
    return rounded, lost


def quotient(a: Floats, a_low: Floats, b: Floats, b_low: Floats | float = 0.0) -> tuple[Floats, Floats]:
    """The quotients of pairs of floats, as pairs.

    >>> quotient(np.array([1.0]), np.array([2.0**-60]), np.array([4.0]))
    (array([0.25]), array([2.16840434e-19]))
    """
    rounded = a / b
    back, lost = product(rounded, b)
    return rounded, ((a - back) - lost + a_low - rounded * b_low) / b


def root(a: Floats, a_low: Floats) -> Floats:
    """The square roots of pairs of floats, as single floats: the rounded root and a step of Newton's.

    >>> root(np.array([2.0, 0.0]), np.zeros(2))
    array([1.41421356, 0.        ])
    """
    rounded = np.sqrt(a)
    back, lost = product(rounded, rounded)
    return rounded + ((a - back) - lost + a_low) / np.where(rounded > 0, 2 * rounded, 1.0)
