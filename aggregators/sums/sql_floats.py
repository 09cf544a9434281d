"""Sums of floats without an error, by a database whose own sums of floats round.

Each value is cut at fixed bit positions into 64-bit integers, which are summed (J. Demmel and H. D. Nguyen, "Fast
Reproducible Floating-Point Summation", 2013). Sums of up to 2**30 rows fit 64 bits; of up to 2**22, with one integer
less. Huge and tiny values are scaled by a power of two in subgroups of their own; NaN and inf are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ..contract.operation import State
from ..contract.sql_spec import ROW_LIMIT, SMALL_ROW_LIMIT, Planes, SqlSpec
from ..states.arrays import Bools
from ..states.fields import BIG, HUGE, NAN, NEGATIVE, POSITIVE, SHIFT, Compensated
from ..states.limbs import joined

TOP = 18
"""Values below 2**TOP are ordinary, ..."""
WIDTH = 28
"""... if they are at least 2**(TOP - WIDTH). The integers have room for a bit more at either end."""
INTEGERS = {SMALL_ROW_LIMIT: 2, ROW_LIMIT: 3}
"""The number of integers that a value is cut into, by the limit of rows."""

HUGE_EXPONENT = int(np.log2(HUGE)) + WIDTH - TOP
"""The exponent of the divisor of the least huge values; smaller values have smaller exponents."""
NO_NUMBER = 1100
"""The exponents from here on stand for NaN, inf and -inf, in the order of ``Compensated.special_values``."""


def bits(rows: int) -> int:
    """The bits of integers, without the sign, so that sums of ``rows`` fit 64 bits."""
    return 64 - rows.bit_length()


def first_shift(rows: int) -> int:
    """The power of two by which a value is multiplied before the first integer is cut off."""
    return bits(rows) - (TOP + 1)


def literal(value: float) -> str:
    """A float in SQL."""
    return f"{value!r}D"


def power(exponent: int) -> str:
    """A power of two in SQL."""
    return literal(2.0**exponent)


def exponents(value: str) -> str:
    """The power of two that a value is divided by to be of ordinary size; most often 0.

    A multiple of WIDTH, but of huge values. A logarithm, which is slow, is taken of values far from ordinary only; it
    may be rounded up or down.
    """
    size, top, bottom = f"abs({value})", TOP, TOP - WIDTH
    huge = int(np.log2(HUGE))
    return (
        f"case when {size} >= {power(bottom)} and {size} < {power(top)} then 0 "
        f"when {size} >= {power(top)} and {size} < {power(top + WIDTH)} then {WIDTH} "
        f"when {size} >= {power(bottom - WIDTH)} and {size} < {power(bottom)} then -{WIDTH} "
        f"when {size} < {power(huge)} then if({value} = 0, 0, {WIDTH} * ceil((log2({size}) - {TOP}) / {WIDTH})) "
        f"when {size} < double('infinity') then {HUGE_EXPONENT} + "
        f"if({size} < {power(huge + WIDTH)}, 0, if({size} < {power(huge + 2 * WIDTH)}, {WIDTH}, {2 * WIDTH})) "
        f"when isnan({value}) then {NO_NUMBER + NAN} when {value} > 0 then {NO_NUMBER + POSITIVE} "
        f"when {value} < 0 then {NO_NUMBER + NEGATIVE} else 0 end"
    )


def sql_spec(type: pa.DataType, read: Callable[[Planes], State], **more: str) -> SqlSpec:
    """How states with the sum of a column ``{0}`` are accumulated, next to other aggregates."""
    small, most = (
        SqlSpec({**sums, **more}, read, steps, ("exponent",))
        for steps, sums in (in_integers(type, rows) for rows in (SMALL_ROW_LIMIT, ROW_LIMIT))
    )
    return replace(most, small_count_variant=small)


def in_integers(type: pa.DataType, rows: int) -> tuple[dict[str, str], dict[str, str]]:
    """The steps before a column is cut, and the sums of the integers."""
    value = "{0}" if type == pa.float64() else "cast({0} as double)"
    shift = first_shift(rows)
    # In two steps: no float is large enough to make the least one ordinary.
    half = f"power(2D, ({shift} - {{exponent}}) / 2)"
    shifted = (
        f"case when {{exponent}} = 0 then {value} * {power(shift)} "
        f"when {{exponent}} = {WIDTH} then {value} * {power(shift - WIDTH)} "
        f"when {{exponent}} = -{WIDTH} then {value} * {power(shift + WIDTH)} "
        f"when {{exponent}} >= {NO_NUMBER} then 0D else {value} * {half} * {half} end"
    )
    # The integers are repeated wherever they are needed: Spark eliminates common subexpressions, which is faster than
    # another projection.
    sums, rest = {}, "{shifted}"
    for place in range(INTEGERS[rows]):
        integer = f"cast({rest} as bigint)"
        sums[f"sum{place}"] = f"sum({integer})"
        rest = f"({rest} - {integer}) * {power(bits(rows))}"
    return {"exponent": exponents(value), "shifted": shifted}, {**sums, "rows": "count(*)"}


def read(planes: Planes) -> tuple[Compensated, Bools]:
    """The sums of a column, of the sums of integers, and where there were any values."""
    known = planes["sum0"].is_valid().to_numpy(zero_copy_only=False)
    integers = [planes[name].fill_null(0).to_numpy() for name in sorted(planes) if name.startswith("sum")]
    rows = next(rows for rows, many in INTEGERS.items() if many == len(integers))
    unit = 2.0 ** -first_shift(rows)
    high, low = (part * unit for part in joined(integers, bits(rows)))
    exponent = planes["exponent"].to_numpy().astype(np.int64)
    if not exponent.any():
        return Compensated(high, low), known
    special = np.zeros((len(high), 4))
    huge = (exponent >= HUGE_EXPONENT) & (exponent < NO_NUMBER)
    special[huge, BIG] = np.ldexp(high[huge], exponent[huge] - SHIFT)
    high, low = np.where(huge, low, high), np.where(huge, 0.0, low)
    for kind in (NAN, POSITIVE, NEGATIVE):
        rows = exponent == NO_NUMBER + kind
        special[rows, kind] = planes["rows"].to_numpy()[rows]
    exponent = np.where(exponent >= NO_NUMBER, 0, exponent)
    sums = Compensated(np.ldexp(high, exponent), np.ldexp(low, exponent))
    return Compensated(sums.high, sums.low, special if special.any() else None), known
