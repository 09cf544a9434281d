"""Window sums as differences of running sums.

Why: faster than two-stacks (:mod:`framefold.runtime.sliding.van_herk`), and each sum is exact.

Running sums of integers are exact modulo 2**64, and so are their differences. Floats are split into planes of fixed
point, as in the long accumulator of U. Kulisch ("Very fast and exact accumulation of products", 2011). A tile needs
two or three: the first has the upper bits of its values, few enough for exact sums of a window's rows, the next ones
the rest. Splitting is adding and subtracting a large number (S. M. Rump, T. Ogita and S. Oishi, "Accurate
floating-point summation", 2008, 3.1); with that number added, the bits of a float are those of the integer. A compiled
loop (``plane_sums``) does three planes in one pass, with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.numeric.float_sums import largest_of
from ...aggregators.states.alike import are_ones, are_zeros
from ...aggregators.states.arrays import Bools, Floats, Ints
from ...aggregators.states.double_double import to_odd, two_sum
from ...aggregators.states.fields import BIG, HUGE, Compensated
from ..tuning import MAX_PLANES
from .tiles import Tile, Workspace, copy_rows

MAX_LEFT_OUT = 2.0**-100
"""Windows are doubtful where a larger share of their sum may be left after the last plane."""

SUM_BITS = 50
"""The bits of a plane's window sums: those of a float but for sign, carry and bias."""

MIN_EXPONENT = -1074
"""The exponent of the least float, below which no plane is needed."""


def int_sums(values: NDArray[np.integer], tile: Tile, work: Workspace, out: NDArray[np.integer]) -> None:
    """The sums of a tile's windows over integers (rows,), modulo their range, into ``out`` (windows,)."""
    dtype = values.dtype
    if (values[:64] == values[0]).all() and (are_ones(values) or (values == values[0]).all()):
        if tile.step:
            out.fill((values[:1] * np.array(tile.widest).astype(dtype))[0])
            return
        low, high = tile.ranges()
        np.subtract(high, low, out=out, casting="unsafe")
        if values[0] != 1:
            np.multiply(values[:1], out, out=out)
        return
    if tile.step == 1 and dtype == np.int64:
        loops.window_sums(np.ascontiguousarray(values), tile.widest, out)
        return
    if not tile.step and dtype == np.int64:
        loops.range_sums(np.ascontiguousarray(values), *map(np.ascontiguousarray, tile.ranges()), out)
        return
    running = work.column("running", len(values) + 1, dtype)
    running[0] = 0
    np.add.accumulate(values, out=running[1:])
    copy_rows(running, tile.high, out)
    before = running[tile.low] if tile.step else copy_rows(running, tile.low, work.column("before", len(out), dtype))
    np.subtract(out, before, out=out)


def float_sums(values: Compensated, tile: Tile, work: Workspace, out: Compensated) -> Bools | None:
    """The sums of a tile's windows over pairs of floats (rows,), into ``out`` (windows,).

    Returns
    -------
    Which windows must be summed in another way, shape (windows,); None where none must. Where ``out.low`` is read-only,
    sums are rounded to one float.
    """
    doubtful = _ordinary_sums(values, tile, work, out)
    if values.special_values is None:
        return doubtful
    assert out.special_values is not None
    huge = _special_sums(values.special_values, tile, work, out.special_values)
    return doubtful if huge is None else huge if doubtful is None else doubtful | huge


def _ordinary_sums(values: Compensated, tile: Tile, work: Workspace, out: Compensated) -> Bools | None:
    largest = largest_of(values.high)
    largest_low = 0.0 if are_zeros(values.low) else largest_of(values.low)
    if not (largest < HUGE and largest_low < HUGE):
        return np.ones(tile.length, bool)
    adders = three_adders(largest, largest_low, tile.widest)
    ranges = (None, None) if tile.step == 1 else map(np.ascontiguousarray, tile.ranges())
    lost = out.low if out.low.flags.writeable else None
    high, low = np.ascontiguousarray(values.high), np.ascontiguousarray(values.low)
    if loops.plane_sums(high, low, tile.widest, *ranges, adders, out.high, lost):
        return None
    pair = Compensated(out.high, work.column("low", tile.length)) if lost is None else out
    left = _by_planes(values, largest, largest_low, tile, work, pair)
    if left is None:
        left = _by_planes(values, largest, 0.0, tile, work, pair)
        lows = Compensated(*np.empty((2, tile.length)))
        more = _by_planes(Compensated(values.low, values.low), largest_low, 0.0, tile, work, lows)
        assert left is not None
        assert more is not None
        left += more
        total = pair + lows
        np.copyto(pair.high, total.high)
        np.copyto(pair.low, total.low)
    doubtful = np.asarray(left * tile.widest > MAX_LEFT_OUT * np.abs(pair.high)) if left else None
    if lost is None:
        np.add(pair.high, pair.low, out=out.high)
    return doubtful


def _adder(bound: float, widest: int) -> tuple[float, float]:
    """The number that splits a plane off values up to ``bound``, for sums of ``widest`` rows; and the plane's unit."""
    exponent = max(math.frexp(bound)[1] + widest.bit_length() - SUM_BITS, MIN_EXPONENT)
    return math.ldexp(1.5, 52 + exponent), math.ldexp(1.0, exponent)


def three_adders(largest: float, largest_low: float, widest: int) -> tuple[float, float, float]:
    """The numbers by which the compiled loop splits values; as :func:`_split` does."""
    first, coarse = _adder(largest, widest)
    second, fine = _adder(coarse / 2 + largest_low, widest)
    return first, second, _adder(fine if largest_low else fine / 2, widest)[0]


def _by_planes(
    values: Compensated, largest: float, largest_low: float, tile: Tile, work: Workspace, out: Compensated
) -> float | None:
    """The sums of a tile's windows by planes; low floats are left out where ``largest_low`` is 0.

    Returns
    -------
    A bound of what is left of a value, 0 for nothing; None, with unspecified sums, where the rest of a high and of a
    low float are no float together.
    """
    if tile.widest == 1:
        copy_rows(values.high, tile.low, out.high)
        if largest_low:
            copy_rows(values.low, tile.low, out.low)
        else:
            out.low[:] = 0.0
        return 0.0
    sums: list[Floats] = []
    targets = [work.column("first", tile.length), out.low]
    left = 0.0
    for plane, unit in _split(values, largest, largest_low, tile.widest, work):
        if plane is None:
            return None
        left = unit
        sums.append(plane.sums(tile, work, targets[len(sums)] if len(sums) < 2 else np.empty(tile.length)))
    _add_up(sums, out)
    return left


class FixedPoint(NamedTuple):
    """Floats as integers of a fixed point: the bits of each float plus ``copies`` times ``adder``."""

    bits: Ints
    adder: float
    copies: int

    def sums(self, tile: Tile, work: Workspace, out: Floats) -> Floats:
        """The exact sums of a tile's windows, into ``out``; may change ``bits``."""
        bias = int(np.float64(self.adder).view(np.int64))
        left = bias
        if tile.step:
            left -= bias * self.copies * tile.widest
        else:
            np.subtract(self.bits, _modulo_64(bias * self.copies), out=self.bits)
        bits = out.view(np.int64)
        int_sums(self.bits, tile, work, bits)
        np.add(bits, _modulo_64(left), out=bits)
        return np.subtract(out, self.adder, out=out)


def _modulo_64(integer: int) -> np.int64:
    """An integer of any size modulo 2**64."""
    return np.uint64(integer % (1 << 64)).view(np.int64)


def _split(
    values: Compensated, largest: float, largest_low: float, widest: int, work: Workspace
) -> Iterator[tuple[FixedPoint | None, float]]:
    """The planes of floats, each valid until the next; with each, a bound of what is left of a value, 0 for nothing.

    None where what is left of a high and of a low float are no float together.
    """
    bits, whole = work.column("bits", len(values)), work.column("whole", len(values))
    rest, bound = values.high, largest
    for number in range(MAX_PLANES):
        adder, unit = _adder(bound, widest)
        np.add(rest, adder, out=bits)
        np.subtract(bits, adder, out=whole)
        rest = np.subtract(rest, whole, out=work.column("rest", len(values)))
        bound, copies = unit / 2, 1
        if largest_low and number == 0:
            bound += largest_low
        elif largest_low and number == 1:
            np.add(values.low, adder, out=whole)
            np.add(bits.view(np.int64), whole.view(np.int64), out=bits.view(np.int64))
            np.subtract(whole, adder, out=whole)
            rest, lost = two_sum(rest, np.subtract(values.low, whole, out=whole))
            if lost.any():
                yield None, unit
            bound, copies = unit, 2
        more = (largest_low and number == 0) or rest[:64].any() or rest.any()
        yield FixedPoint(bits.view(np.int64), adder, copies), unit if more else 0.0
        if not more:
            return


def _add_up(sums: list[Floats], out: Compensated) -> None:
    """The sums of planes, coarsest first, as two floats each; overwrites ``sums``, of which the second is ``out.low``.

    Each is a multiple of the unit in the last place of the next, so two subtractions give what rounding lost of a sum
    (T. J. Dekker, 1971; S. Boldo, S. Graillat and J.-M. Muller, "On the robustness of the 2Sum and Fast2Sum
    algorithms", 2017). These are added up so that what they lack cannot round the sum the wrong way.
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
        lost = rest if lost is None else to_odd(*two_sum(rest, lost))
        total = joined
    assert lost is not None
    if len(sums) == 2:
        return  # lost is out.low
    np.add(total, lost, out=sums[0])
    np.subtract(sums[0], total, out=total)
    np.subtract(lost, total, out=out.low)
    np.copyto(out.high, sums[0])


def _special_sums(special: Floats, tile: Tile, work: Workspace, out: Floats) -> Bools | None:
    """The numbers of NaN and infinities in windows; and which windows have huge values, None where none has."""
    out[:] = 0.0
    if not special.any():
        return None
    counts = np.empty(tile.length, np.int64)
    for column in range(BIG):
        int_sums(special[:, column].astype(np.int64), tile, work, counts)
        out[:, column] = counts
    int_sums((special[:, BIG] != 0).astype(np.int64), tile, work, counts)
    return counts > 0 if counts.any() else None
