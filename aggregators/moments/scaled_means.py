"""Means in two floats, with deviations from them in units of a power of 2.

With two floats, values near 1e9 that differ by 1e-3 keep all their digits; in their unit, fourth powers of deviations
neither overflow nor vanish. Values are halved first, so that no difference overflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.frames import Frames
from ..contract.operation import State
from ..states.arrays import Floats, Ints
from ..states.double_double import two_sum

NO_EXPONENT = -1100
"""The exponent of no deviation at all: below those of all floats."""


@dataclass(frozen=True)
class Centre:
    """The means of a column of states.

    Attributes
    ----------
    count
        The number of values of a state.
    mean, low
        Half of their mean, and what rounding lost of it.
    exponent
        The unit of their deviations (of halves from the halved mean): ``2**exponent``.
    """

    count: Ints
    mean: Floats
    low: Floats
    exponent: Ints

    @classmethod
    def of(cls, frames: Frames, values: Floats) -> tuple[Centre, Floats]:
        """The means of each frame's values, and the deviation of each row from its frame's, in the frame's unit."""
        half = values * 0.5
        count = frames.count()
        if frames.are_rows and np.isfinite(half).all():
            none = np.zeros(frames.size)
            return cls(count, half + 0.0, none, np.full(frames.size, NO_EXPONENT)), none
        mean = frames.compensated_sum(half).value(divisor=count)
        deviation = half - mean[frames.index]
        exponent = exponent_of(frames.max(np.abs(deviation)))
        deviation = np.ldexp(deviation, -exponent[frames.index])
        low = frames.sum(deviation) / count
        deviation = deviation - low[frames.index]
        return cls(count, *two_sum(mean, np.ldexp(low, exponent)), exponent), deviation

    @classmethod
    def read(cls, a: State, prefix: str = "") -> Centre:
        """The means in the fields of states."""
        return cls(a["count"], *(a[prefix + name] for name in ("mean", "low", "exponent")))

    def fields(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """The means as fields of states."""
        named = {"mean": self.mean, "low": self.low, "exponent": self.exponent}
        return {"count": self.count, **{prefix + name: column for name, column in named.items()}}

    def join(self, other: Centre) -> Joined:
        """The means of both states' values (T. Chan, G. Golub and R. LeVeque, 1979).

        What the difference of means lacks by rounding is a 2**-53 of itself, so it never shows in deviations.
        """
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        both = (self.count > 0) & (other.count > 0)
        delta = np.where(both, (other.mean - self.mean) + (other.low - self.low), 0.0)
        mean, lost = two_sum(self.mean, delta * share)
        mean, low = two_sum(mean, self.low + lost)
        mean, low = np.where(self.count > 0, mean, other.mean), np.where(self.count > 0, low, other.low)
        exponent = np.maximum(np.maximum(self.exponent, other.exponent), exponent_of(delta))
        return Joined(
            Centre(count, mean, low, exponent),
            np.ldexp(delta, -exponent),
            share,
            self.exponent - exponent,
            other.exponent - exponent,
        )


@dataclass(frozen=True)
class Joined:
    """The means of joined states, and what joins their moments.

    Attributes
    ----------
    centre
        The joined means.
    delta
        The right mean less the left one, in the joined unit; 0 where a state is empty.
    share
        The right state's share of the values.
    a_shift, b_shift
        By which power of 2 deviations of the left and the right states are multiplied to be in the joined unit.
    """

    centre: Centre
    delta: Floats
    share: Floats
    a_shift: Ints
    b_shift: Ints


def exponent_of(sizes: Floats) -> Ints:
    """The exponents with ``2**(exponent - 1) <= |size| < 2**exponent``; NO_EXPONENT for 0, NaN and inf.

    >>> exponent_of(np.array([1.0, -0.3, 0.0]))
    array([    1,    -1, -1100])
    """
    exponent = np.frexp(sizes)[1].astype(np.int64)
    return np.where(np.isfinite(sizes) & (sizes != 0), exponent, NO_EXPONENT)
