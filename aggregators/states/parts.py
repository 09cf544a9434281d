"""Integer sums of the parts that floats are cut into, put together to pairs of floats."""

from __future__ import annotations

import numpy as np

from .arrays import Floats, Ints
from .double_double import to_odd, two_sum
from .limbs import MASK


def joined(integers: list[Ints], step: int) -> tuple[Floats, Floats]:
    """Sums of integers, in units ``2**step`` apart, as pairs of floats in the first unit: nearest float, what it lacks.

    All integers but the first are of values of up to ``step`` bits and a sign.
    """
    return distilled(in_floats(integers, step), 2)


def in_floats(integers: list[Ints], step: int) -> list[Floats]:
    """Such integers as floats, none of which has bits of another."""
    for place in range(len(integers) - 1, 0, -1):  # all but the first have no more bits than a float
        integers[place - 1] = integers[place - 1] + (integers[place] >> step)
        integers[place] = integers[place] & ((1 << step) - 1)
    first, *others = integers
    parts = [(first & ~MASK).astype(np.float64), (first & MASK).astype(np.float64)]
    return parts + [np.ldexp(each.astype(np.float64), -step * place) for place, each in enumerate(others, 1)]


def distilled(parts: list[Floats], rounds: int) -> tuple[Floats, Floats]:
    """The sums of columns, coarsest first, as pairs of floats.

    As many rounds as columns are enough for whatever cancels (T. Ogita, S. Rump and S. Oishi, "Accurate Sum and Dot
    Product", 2005).
    """
    for _ in range(rounds):
        for place in reversed(range(len(parts) - 1)):
            parts[place], parts[place + 1] = two_sum(parts[place], parts[place + 1])
    rest = parts[-1]
    for part in reversed(parts[2:-1]):
        rest = part + rest
    return two_sum(parts[0], to_odd(*two_sum(parts[1], rest)))
