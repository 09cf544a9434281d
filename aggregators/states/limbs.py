"""Columns of integers wider than 64 bits, for sums that must neither wrap nor round.

An integer is kept in limbs of 32 bits, each in an int64 column, so that two billion of them can be added or
subtracted limb by limb before a carry is due (delayed carries, as in R. Brent and P. Zimmermann, "Modern Computer
Arithmetic", 1.2). Two limbs hold sums of 64-bit integers, four those of 128-bit decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .arrays import Bools, Floats, Ints
from .double_double import quotient, to_odd, two_sum

BITS = 32
MASK = np.int64((1 << BITS) - 1)


class Exact:
    """A column of wide integers: ``sum(limbs[i] * 2**(32 * i))``.

    Adds and subtracts like any array. An operation gets one where its state declares a field ``"exact"``.

    Examples
    --------
    >>> total = Exact.of(np.array([2**62])) + Exact.of(np.array([2**62]))
    >>> total.integers()
    [9223372036854775808]
    >>> (total - Exact.of(np.array([2**62]))).int64()
    (array([4611686018427387904]), array([ True]))
    """

    __slots__ = ("limbs",)
    __array_ufunc__ = None  # numpy must leave + and - to this class

    def __init__(self, limbs: Sequence[Ints]) -> None:
        self.limbs = tuple(limbs)

    @classmethod
    def of(cls, values: NDArray[Any], limbs: int = 2) -> Exact:
        """The integers of an array of any integer type."""
        if values.dtype == np.uint64:
            low, high = (values & np.uint64(MASK)).astype(np.int64), (values >> np.uint64(BITS)).astype(np.int64)
        else:
            wide = values.astype(np.int64, copy=False)
            low, high = wide & MASK, wide >> BITS
        return cls([low, high]).widen(limbs)

    @classmethod
    def of_decimals(cls, values: pa.Array) -> Exact:
        """The unscaled integers of a decimal128 array without nulls, in four limbs."""
        words = np.frombuffer(values.buffers()[1], dtype=np.int64)[2 * values.offset :][: 2 * len(values)]
        low, high = words[0::2], words[1::2]
        return cls([low & MASK, (low >> BITS) & MASK, high & MASK, high >> BITS])

    @classmethod
    def concatenate(cls, columns: Sequence[Exact]) -> Exact:
        """The columns one after the other."""
        return cls([np.concatenate(limbs) for limbs in zip(*(column.limbs for column in columns), strict=True)])

    def __len__(self) -> int:
        return len(self.limbs[0])

    def __getitem__(self, rows: Any) -> Exact:
        return Exact([limb[rows] for limb in self.limbs])

    def __add__(self, other: Exact) -> Exact:
        if not isinstance(other, Exact):
            return NotImplemented
        return Exact([a + b for a, b in zip(self.limbs, other.limbs, strict=True)])

    def __sub__(self, other: Exact) -> Exact:
        if not isinstance(other, Exact):
            return NotImplemented
        return Exact([a - b for a, b in zip(self.limbs, other.limbs, strict=True)])

    def widen(self, limbs: int) -> Exact:
        """The same integers in more limbs."""
        return Exact([*self.limbs, *(np.zeros(len(self), np.int64) for _ in range(limbs - len(self.limbs)))])

    def carried(self) -> Exact:
        """The same integers with all limbs but the last in [0, 2**32)."""
        return Exact(carried(self.limbs))

    def int64(self) -> tuple[Ints, Bools]:
        """The integers of two limbs as int64, and where they fit."""
        low, high = self.limbs
        carried = high + (low >> BITS)
        return low + (high << BITS), (carried >= -(1 << 31)) & (carried < 1 << 31)  # wraps like the integers that fit

    def uint64(self) -> tuple[NDArray[np.uint64], Bools]:
        """The integers of two limbs as uint64, and where they fit."""
        low, high = self.carried().limbs
        fits = (high >= 0) & (high < (1 << 32))
        return (high.astype(np.uint64) << np.uint64(BITS)) | low.astype(np.uint64), fits

    def floats(self) -> Floats:
        """The integers as float64; those beyond 2**53 are off by at most an ulp for each limb."""
        total = np.zeros(len(self))
        for i, limb in reversed(list(enumerate(self.carried().limbs))):
            total += limb * 2.0 ** (BITS * i)
        return total

    def pairs(self) -> tuple[Floats, Floats]:
        """The integers as the nearest float64, and what these lack."""
        return pairs(self.widen(len(self.limbs) + 1).carried().limbs)

    def quotients(self, divisor: Ints | int) -> Floats:
        """The integers divided by positive integers, as the nearest float64.

        >>> Exact.of(np.array([2**54 + 3])).quotients(2).tolist()
        [9007199254740994.0]
        """
        if isinstance(divisor, int):
            lacks, rounded = float(divisor - int(float(divisor))), np.full(len(self), float(divisor))
        else:
            lacks, rounded = 0.0, divisor.astype(np.float64)
        whole, rest = quotient(*self.pairs(), rounded, lacks)
        total: Floats = whole + rest
        return total

    def integers(self) -> list[int]:
        """The integers as Python has them, one by one."""
        columns = [limb.tolist() for limb in self.limbs]
        return [sum(limb << (BITS * i) for i, limb in enumerate(limbs)) for limbs in zip(*columns, strict=True)]

    def decimals(self, type: pa.Decimal128Type) -> tuple[pa.Array, Bools]:
        """The integers as unscaled decimals of a type, and where they fit its precision."""
        a, b, c, d = self.carried().limbs
        words = np.empty(2 * len(self), np.int64)
        words[0::2] = (b << BITS) | a
        words[1::2] = (d << BITS) | c
        column = pa.Array.from_buffers(type, len(self), [None, pa.py_buffer(words)])
        bound = 10**type.precision
        fits = np.abs(self.floats()) < float(bound) * (1 - 1e-9)
        near = np.flatnonzero(~fits)
        fits[near] = [abs(integer) < bound for integer in self[near].integers()]
        return column, fits

    def times(self, factor: int) -> Exact:
        """The integers times a small positive factor (below 2**20)."""
        return Exact([limb * factor for limb in self.carried().limbs]).carried()

    def divided(self, counts: Ints, *, truncated: bool = False) -> Exact:
        """The integers divided by positive counts below 2**31, rounded half away from zero, as SQL rounds.

        Towards zero where ``truncated``.
        """
        negative = self.carried().limbs[-1] < 0
        size = Exact([np.where(negative, -limb, limb) for limb in self.limbs]).carried()
        limbs = list(size.limbs)
        rest = np.zeros(len(self), np.int64)
        for i in reversed(range(len(limbs))):
            part = (rest << BITS) | limbs[i]
            limbs[i], rest = part // counts, part % counts
        limbs[0] = limbs[0] + (2 * rest >= counts) * (not truncated)
        return Exact([np.where(negative, -limb, limb) for limb in limbs])


def carried(limbs: Sequence[Ints], bits: int = BITS) -> list[Ints]:
    """Integers in limbs of some bits with all limbs but the last in [0, 2**bits).

    >>> [limb.tolist() for limb in carried([np.array([-1]), np.array([0])], bits=28)]
    [[268435455], [-1]]
    """
    found = list(limbs)
    for at in range(len(found) - 1):
        carry = found[at] >> bits
        found[at] = found[at] & ((1 << bits) - 1)
        found[at + 1] = found[at + 1] + carry
    return found


def pairs(limbs: Sequence[Ints], bits: int = BITS, exponent: int = 0) -> tuple[Floats, Floats]:
    """Carried integers times ``2**exponent`` as the nearest float64, and what these lack."""
    high, low = np.zeros((2, len(limbs[0])))
    for at in reversed(range(len(limbs))):
        high, lost = two_sum(high, np.ldexp(limbs[at].astype(np.float64), bits * at + exponent))
        low = low + lost
    return two_sum(high, low)


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


@dataclass(frozen=True)
class ExactField:
    """An :class:`Exact` column of a fixed number of limbs."""

    limbs: int
    exact = True
    pickles = False

    @property
    def planes(self) -> dict[str, pa.DataType]:
        return {f"limb{i}": pa.int64() for i in range(self.limbs)}

    def full(self, value: Any, length: int) -> Exact:
        return Exact.of(np.full(length, value, np.int64), self.limbs)

    def column(self, values: Any) -> Exact:
        if isinstance(values, Exact):
            return values
        array = np.asarray(values)
        if array.dtype.kind not in "biu":
            raise TypeError(f"values of type {array.dtype}")
        return Exact.of(array, self.limbs)

    def to_arrow(self, column: Any) -> list[pa.Array]:
        return [pa.array(limb) for limb in column.carried().limbs]

    def from_arrow(self, planes: Sequence[pa.Array]) -> Exact:
        return Exact([plane.to_numpy(zero_copy_only=False) for plane in planes])

    def of_pickles(self, change: object) -> ExactField:
        return self
