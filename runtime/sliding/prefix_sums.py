"""Sums that slide as differences of running sums: of integers, which lose nothing, and of floats cut into integers.

Running sums of integers are exact however long they are: they wrap, and so do their differences, back again. A float
is cut into integers of fixed points, as in the long accumulator of U. Kulisch ("Very fast and exact accumulation of
products", 2011), of which a block needs two or three: the grid of the first is such that the largest value of the
block just fits as often as a window has rows; the next one takes up what is left of it. Cutting is adding and
subtracting a large number (S. M. Rump, T. Ogita and S. Oishi, "Accurate floating-point summation", 2008, 3.1); while
that is added, the bits of a float are those of the integer. Compiled loops do in one pass what numpy takes several
for, to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aggregators.states.compensated import BIG, HUGE, Compensated
from .native import loops
from .range_blocks import Places, Workspace, taken

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PLANES = 4
"""Into so many integers a float is cut at most: what two floats cannot hold is left by then."""

SURE = 2.0**-64
"""Windows are doubtful where more than this proportion of their sums may have been left."""

LIKELY = 2.0**-76
"""Of no more than this proportion of sums, what is left hardly ever matters in how they are rounded."""

ROOM = 50
"""Sums of windows have so many bits: those of a float but one for the sign, one for carries and one for the bias."""

FINEST = -1074
"""The exponent of the least float: there is no finer grid, and need not be."""


def differences(values: NDArray[np.integer], places: Places, work: Workspace, out: NDArray[np.integer]) -> None:
    """The sums of windows over integers; what does not fit them wraps."""
    dtype = values.dtype
    if (values[:64] == values[0]).all() and (values == values[0]).all():
        if isinstance(places.begin, slice) or isinstance(places.end, slice):
            out.fill((values[:1] * np.array(places.widest).astype(dtype))[0])
        else:
            np.multiply(values[:1], (places.end - places.begin).astype(dtype), out=out)
        return
    if loops is not None and places.every_row and dtype == np.int64:
        loops.window_sums(np.ascontiguousarray(values), places.widest, out)
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

    Special values go by :func:`special_differences`. Where ``out.low`` cannot be written, the sums are rounded.
    """
    least, most, lost = float(values.high.min()), float(values.high.max()), magnitude(values.low)
    largest = max(-least, most)
    if not largest < HUGE or not lost < HUGE:
        return np.ones(places.length, bool)
    if least > 0 and places.every_row and in_two_planes(values, least, most, lost, places.widest, work, out):
        return None
    if loops is not None and in_three_planes(values, largest, lost, places, out):
        return None
    if not out.low.flags.writeable:  # asked for rounded
        pair = Compensated(out.high, work.floats("low", places.length))
        doubtful = in_planes(values, largest, lost, places, work, pair)
        np.add(pair.high, pair.low, out=out.high)
        return doubtful
    return in_planes(values, largest, lost, places, work, out)


def in_two_planes(
    values: Compensated, least: float, most: float, lost: float, width: int, work: Workspace, out: Compensated
) -> bool:
    """The sums of all windows of a width over positive values in two planes; whether they are surely rounded correctly.

    They are if nothing is left of the values, or if what is left cannot change how any sum is rounded (A. Ziv, "Fast
    evaluation of elementary mathematical functions with correctly rounded last bit", 1991).
    """
    spread, length = width.bit_length(), len(out)
    first, grid = _adder(most, spread)
    second, finest = _adder(grid / 2 + lost, spread)
    if finest > math.ulp(least):  # something may be left of the high floats
        return False
    if loops is not None:
        left = finest * width if finest <= LIKELY * least else 0.0
        high, low = np.ascontiguousarray(values.high), np.ascontiguousarray(values.low)
        sure: bool = loops.two_plane_sums(high, low, width, first, second, left, out.high, written(out.low))
        return sure
    coarse, fine, rest = (work.floats(name, len(values)) for name in ("coarse", "bits", "rest"))
    np.add(values.high, first, out=coarse)
    np.subtract(coarse, first, out=fine)
    np.subtract(values.high, fine, out=rest)
    np.add(rest, second, out=rest)
    np.add(rest, values.low, out=fine)
    exact = not lost
    if lost and (fine[:64] - rest[:64] == values.low[:64]).all():
        exact = np.array_equal(np.subtract(fine, rest, out=rest), values.low)
    if not exact and finest > LIKELY * least:
        return False
    upper = _slid(coarse, width, first, work.floats("first", length))
    lower = _slid(fine, width, second, work.floats("second", length))
    np.add(upper, lower, out=out.high)
    if not exact:
        left = finest * width
        above = np.add(upper, np.add(lower, left, out=rest[:length]), out=rest[:length])
        below = np.add(upper, np.subtract(lower, left, out=fine[:length]), out=fine[:length])
        if not np.array_equal(above, below):
            return False
    if out.low.flags.writeable:
        # As in `add_up`.
        np.subtract(out.high, upper, out=upper)
        np.subtract(lower, upper, out=out.low)
    return True


def _adder(bound: float, spread: int) -> tuple[float, float]:
    """What cuts values up to a bound, of which so many bits of them are added up, and the grid it cuts them to."""
    exponent = max(math.frexp(bound)[1] + spread - ROOM, FINEST)
    return math.ldexp(1.5, 52 + exponent), math.ldexp(1.0, exponent)


def _slid(plane: Floats, width: int, adder: float, out: Floats) -> Floats:
    """The sums of all windows of a width over floats plus ``adder``, without it: each from the one before it."""
    bits, sums = plane.view(np.int64), out.view(np.int64)
    bias = int(np.float64(adder).view(np.int64)) * (width - 1)
    sums[0] = wrapped(int(bits[:width].sum()) - bias)
    np.subtract(bits[width:], bits[: len(bits) - width], out=sums[1:])
    np.add.accumulate(sums, out=sums)
    return np.subtract(out, adder, out=out)


def in_three_planes(values: Compensated, largest: float, lost: float, places: Places, out: Compensated) -> bool:
    """The sums of windows over values of any kind by the compiled loop; whether three planes hold all of them."""
    assert loops is not None
    spread = places.widest.bit_length()
    first, coarse = _adder(largest, spread)
    second, fine = _adder(coarse / 2 + lost, spread)
    third, _ = _adder(fine if lost else fine / 2, spread)
    high, low = np.ascontiguousarray(values.high), np.ascontiguousarray(values.low)
    adders, low_out = (first, second, third), written(out.low)
    whole: bool
    if places.every_row:
        whole = loops.three_plane_sums(high, low, places.widest, adders, out.high, low_out)
    else:
        ranges = map(np.ascontiguousarray, places.ranges())
        whole = loops.three_plane_sums_of(high, low, *ranges, adders, out.high, low_out)
    return whole


def written(column: Floats) -> Floats | None:
    """The column, None if it cannot be written."""
    return column if column.flags.writeable else None


def in_planes(
    values: Compensated, largest: float, lost: float, places: Places, work: Workspace, out: Compensated
) -> NDArray[np.bool_] | None:
    """The sums of windows over values of any kind, in as many planes as it takes; which of them may not be exact."""
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


class FixedPoint(NamedTuple):
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
) -> Iterator[tuple[FixedPoint, float]]:
    """Floats as planes of integers; with each, the grid below which something is left of them, 0 where nothing is.

    A plane is overwritten by the next one.
    """
    spread = widest.bit_length()
    bits, whole = work.floats("bits", len(values)), work.scratch(np.float64, len(values))
    rest, bound = values.high, largest
    for number in range(PLANES):
        adder, grid = _adder(bound, spread)
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
        yield FixedPoint(bits.view(np.int64), adder, copies), grid if more else 0.0
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


def special_differences(special: Floats, places: Places, work: Workspace, out: Floats) -> NDArray[np.bool_] | None:
    """How many NaN and infinities windows have; and which have huge values, None where none has."""
    if not special.any():
        out[:] = 0.0
        return None
    huge = np.zeros(places.length, np.int64)
    differences((special[:, BIG] != 0).astype(np.int64), places, work, huge)
    for column in range(BIG):
        counts = np.empty(places.length, np.int64)
        differences(special[:, column].astype(np.int64), places, work, counts)
        out[:, column] = counts
    out[:, BIG] = 0.0
    return huge > 0 if huge.any() else None
