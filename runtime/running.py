"""Sums that slide as differences of running sums: of integers, which lose nothing, and of floats cut into integers.

Running sums of integers are exact however long they are: they wrap, and so do their differences, back again. A float
is cut into integers of fixed points, as in the long accumulator of U. Kulisch ("Very fast and exact accumulation of
products", 2011), of which a block needs two or three: the grid of the first is such that the largest value of the
block just fits as often as a window has rows; the next one takes up what is left of it. Cutting is adding and
subtracting a large number (S. M. Rump, T. Ogita and S. Oishi, "Accurate floating-point summation", 2008, 3.1); while
that is added, the bits of a float are those of the integer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..aggregators.compensated import BIG, HUGE, Compensated
from .cut import Places, Workspace, taken

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PLANES = 4
"""Into so many integers a float is cut at most: what two floats cannot hold is left by then."""

SURE = 2.0**-64
"""Windows are doubtful where more than this proportion of their sums may have been left."""

ROOM = 50
"""Sums of windows have so many bits: those of a float but one for the sign, one for carries and one for the bias."""

FINEST = -1074
"""The exponent of the least float: there is no finer grid, and need not be."""


def differences(values: NDArray[np.integer], places: Places, work: Workspace, out: NDArray[np.integer]) -> None:
    """The sums of windows over integers; what does not fit them wraps."""
    dtype = values.dtype
    if (values[:64] == values[0]).all() and (values == values[0]).all():
        widths = np.array([places.widest])
        if not (isinstance(places.begin, slice) or isinstance(places.end, slice)):
            widths = places.end - places.begin
        np.multiply(values[:1], widths.astype(dtype), out=out)
        return
    running = work.scratch(dtype, len(values) + 1)
    running[0] = 0
    np.add.accumulate(values, out=running[1:])
    if isinstance(places.begin, slice):
        np.subtract(running[places.end], running[places.begin], out=out)
        return
    taken(running, places.end, out)
    np.subtract(out, taken(running, places.begin, work.column("before", dtype, len(out))), out=out)


def compensated_differences(
    values: Compensated, places: Places, work: Workspace, out: Compensated
) -> NDArray[np.bool_] | None:
    """The sums of windows over floats; and which of them may not be exact, None where all are.

    What is kept apart in ``rare`` goes by :func:`rare_differences`.
    """
    largest, lost = magnitude(values.high), magnitude(values.low)
    if not largest < HUGE or not lost < HUGE:
        return np.ones(places.length, bool)
    if places.widest == 1:
        taken(values.high, places.begin, out.high)
        taken(values.low, places.begin, out.low)
        return None
    sums: list[Floats] = []
    room = [work.floats("first", places.length), out.low]
    left = 0.0
    for plane, grid in cut(values, largest, lost, places.widest, work):
        into = room[len(sums)] if len(sums) < len(room) else np.empty(places.length)
        sums.append(plane.sums(places, work, into))
        left = grid
    add_up(sums, out)
    return np.asarray(left * places.widest > SURE * np.abs(out.high)) if left else None


def magnitude(column: Floats) -> float:
    """The largest magnitude; NaN where one is."""
    return max(float(column.max()), -float(column.min()))


class Plane(NamedTuple):
    """Floats as integers of a fixed point: the bits of each float plus ``adder``, ``copies`` of which are in."""

    bits: Ints
    adder: float
    copies: int

    def sums(self, places: Places, work: Workspace, out: Floats) -> Floats:
        """The sums of windows, exactly."""
        bias = int(np.float64(self.adder).view(np.int64))
        if places.regular:
            left = bias - bias * self.copies * places.widest
        else:
            np.subtract(self.bits, wrapped(bias * self.copies), out=self.bits)
            left = bias
        bits = out.view(np.int64)
        differences(self.bits, places, work, bits)
        np.add(bits, wrapped(left), out=bits)
        return np.subtract(out, self.adder, out=out)


def wrapped(integer: int) -> np.int64:
    """An integer of any size, as sums of 64 bits have it."""
    return np.uint64(integer % (1 << 64)).view(np.int64)


def cut(
    values: Compensated, largest: float, lost: float, widest: int, work: Workspace
) -> Iterator[tuple[Plane, float]]:
    """Floats as planes of integers; with each, the grid below which something is left of them, 0 where nothing is.

    A plane is overwritten by the next one.
    """
    spread = widest.bit_length()
    bits, whole = work.floats("bits", len(values)), work.scratch(np.float64, len(values))
    rest, bound = values.high, largest
    for number in range(PLANES):
        exponent = max(math.frexp(bound)[1] + spread - ROOM, FINEST)
        adder, grid = math.ldexp(1.5, 52 + exponent), math.ldexp(1.0, exponent)
        np.add(rest, adder, out=bits)
        np.subtract(bits, adder, out=whole)
        rest = np.subtract(rest, whole, out=work.floats("rest", len(values)))
        bound, copies = grid / 2, 1
        if lost and number == 0:
            bound += lost
        elif lost and number == 1:
            np.add(values.low, adder, out=whole)
            np.add(bits.view(np.int64), whole.view(np.int64), out=bits.view(np.int64))
            np.subtract(whole, adder, out=whole)
            np.add(rest, np.subtract(values.low, whole, out=whole), out=rest)
            bound, copies = grid, 2
        more = (lost and number == 0) or rest[:64].any() or rest.any()
        yield Plane(bits.view(np.int64), adder, copies), grid if more else 0.0
        if not more:
            return


def add_up(sums: list[Floats], out: Compensated) -> None:
    """Sums of planes as two floats each, from the finest plane on; ``sums`` are used up; the second is ``out.low``.

    Each is a multiple of the unit in the last place of the next, so two subtractions give what rounding lost of a sum
    (T. J. Dekker, 1971; S. Boldo, S. Graillat and J.-M. Muller, "On the robustness of the 2Sum and Fast2Sum
    algorithms", 2017).
    """
    if len(sums) == 1:
        np.copyto(out.high, sums[0])
        out.low[:] = 0.0
        return
    total, lost = sums[-1], None
    for coarser in sums[-2::-1]:
        joined = np.add(coarser, total, out=out.high if coarser is sums[0] else None)
        np.subtract(joined, coarser, out=coarser)
        rest = np.subtract(total, coarser, out=total)
        lost = rest if lost is None else np.add(rest, lost, out=lost)
        total = joined
    assert lost is not None
    if len(sums) == 2:
        return  # lost is out.low
    np.add(total, lost, out=sums[0])
    np.subtract(sums[0], total, out=total)
    np.subtract(lost, total, out=out.low)
    np.copyto(out.high, sums[0])


def rare_differences(rare: Floats, places: Places, work: Workspace, out: Floats) -> NDArray[np.bool_] | None:
    """How many NaN and infinities windows have; and which have huge values, None where none has."""
    if not rare.any():
        out[:] = 0.0
        return None
    huge = np.zeros(places.length, np.int64)
    differences((rare[:, BIG] != 0).astype(np.int64), places, work, huge)
    for column in range(BIG):
        counts = np.empty(places.length, np.int64)
        differences(rare[:, column].astype(np.int64), places, work, counts)
        out[:, column] = counts
    out[:, BIG] = 0.0
    return huge > 0 if huge.any() else None
