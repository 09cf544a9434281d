"""Columns of integers of a few hundred bits, for sums of squares of which most may cancel.

An integer is in int64 columns of 28 bits each, low limbs first, so that products and sums of them fit 64 bits (R. Brent
and P. Zimmermann, "Modern Computer Arithmetic", 1.2 and 1.3). Carried: all limbs but the last are in ``[0, 2**28)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from .arrays import Floats, Ints
from .limbs import carried as limbs_carried
from .limbs import pairs

BITS = 28
MASK = (1 << BITS) - 1


carried = partial(limbs_carried, bits=BITS)
floats = partial(pairs, bits=BITS)


def of_parts(parts: Mapping[int, Ints], limbs: int) -> list[Ints]:
    """The sums of ``part * 2**position``, carried; bits below one are dropped.

    >>> [limb.tolist() for limb in of_parts({0: np.array([7]), 27: np.array([3])}, 2)]
    [[134217735], [1]]
    """
    found = [np.zeros_like(next(iter(parts.values()))) for _ in range(limbs)]
    for position, part in parts.items():
        place, within = divmod(max(position, 0), BITS)
        rest = part >> max(-position, 0)
        found[place] += (rest & (MASK >> within)) << within
        rest = rest >> (BITS - within)
        while place + 2 < limbs:
            place += 1
            found[place] += rest & MASK
            rest = rest >> BITS
        found[place + 1] += rest
    return carried(found)


def of_floats(values: Floats, limbs: int) -> list[Ints]:
    """Floats without a fraction as integers; all limbs have the sign of the float."""
    found = []
    for place in reversed(range(limbs)):
        limb = np.trunc(values * 2.0 ** (-BITS * place))
        values = values - limb * 2.0 ** (BITS * place)
        found.append(limb.astype(np.int64))
    return found[::-1]


def product(a: Sequence[Ints], b: Sequence[Ints], limbs: int) -> list[Ints]:
    """The products of carried integers, in a number of limbs, not carried."""
    found = [np.zeros_like(a[0]) for _ in range(limbs)]
    for place, left in enumerate(a):
        for other, right in enumerate(b):
            found[place + other] += left * right
    return found
