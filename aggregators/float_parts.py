"""Sums of floats without an error, by a database whose own sums of floats round.

Each value is cut at fixed bit positions into parts whose sums no float64 has to round, however many rows there are (up
to 2**30, or with a cut less 2**22) and in whatever order they come: J. Demmel and H. D. Nguyen, "Fast Reproducible
Floating-Point Summation", 2013. That takes a bound on the values. Those that are of no ordinary size are put apart, in
groups of their own, and are brought to ordinary size by a power of two there; so every group is exact, and what cannot
be added up is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .compensated import BIG, HUGE, NAN, NEGATIVE, POSITIVE, SHIFT, Compensated, two_sum
from .in_sql import FEW_ROWS, MOST_ROWS, InSql, Planes
from .operation import State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOP = 24
"""Values below 2**TOP are ordinary, ..."""
WIDTH = 41
"""... if they are at least 2**(TOP - WIDTH). A sum of parts has room for 2 bits more than that."""
CUTS = {FEW_ROWS: 2, MOST_ROWS: 3}
"""How often a value is cut so that parts and what is left have 53 bits of WIDTH + 2 exponents, of so many rows."""

HUGE_EXPONENT = int(np.log2(HUGE)) + WIDTH - TOP
"""What the least huge values are divided by, as an exponent. Lesser values have lesser exponents."""
NO_NUMBER = 1100
"""Of these and greater exponents are NaN, inf and -inf, in the order of the columns of ``Compensated.rare``."""


def cuts(rows: int) -> list[float]:
    """What is added to and taken from a value to cut it, largest first.

    The parts are multiples of 2**(exponent - 52), and so many of them stay below 2**(exponent + 1). What is left is
    half a multiple at most.
    """
    found, top = [], TOP + 1
    for _ in range(CUTS[rows]):
        exponent = top + rows.bit_length() - 2
        found.append(float(np.ldexp(1.5, exponent)))
        top = exponent - 52 - 1
    return found


def literal(value: float) -> str:
    """A float in SQL."""
    return f"{value!r}D"


def exponents(value: str) -> str:
    """The power of two that a value is divided by to be of ordinary size; most often 0.

    A logarithm may be rounded up or down to the next integer: the parts have room for twice and half as much.
    """
    size, log = f"abs({value})", f"log2(abs({value}))"
    least, most = literal(2.0 ** (TOP - WIDTH)), literal(2.0**TOP)
    huge = f"{HUGE_EXPONENT} + {WIDTH} * greatest(0, cast(floor(({log} - {int(np.log2(HUGE))}) / {WIDTH}) as int))"
    return (
        f"case when {size} >= {least} and {size} < {most} then 0 when {value} is null or {value} = 0 then 0 "
        f"when isnan({value}) then {NO_NUMBER + NAN} "
        f"when {size} = double('infinity') then if({value} > 0, {NO_NUMBER + POSITIVE}, {NO_NUMBER + NEGATIVE}) "
        f"when {size} >= {literal(HUGE)} then {huge} "
        f"else {WIDTH} * (cast(floor(({log} - {TOP}) / {WIDTH}) as int) + 1) end"
    )


def in_sql(type: pa.DataType, read: Callable[[Planes], State], **more: str) -> InSql:
    """How states with the sum of a column ``{0}`` are built, next to other aggregates."""
    steps, sums = in_parts(type, MOST_ROWS)
    few = InSql({**in_parts(type, FEW_ROWS)[1], **more}, read, steps, ("exponent",))
    return InSql({**sums, **more}, read, steps, ("exponent",), few)


def in_parts(type: pa.DataType, rows: int) -> tuple[dict[str, str], dict[str, str]]:
    """The steps before a column is cut, and the sums of its parts."""
    value = "{0}" if type == pa.float64() else "cast({0} as double)"
    half = "cast({exponent} div 2 as int)"
    # In two steps: no float is large enough to make the least one ordinary.
    scaled = f"{value} * power(2D, -{half}) * power(2D, {half} - {{exponent}})"
    ordinary = f"case when {{exponent}} = 0 then {value} when {{exponent}} >= {NO_NUMBER} then 0D else {scaled} end"
    # The parts stand for themselves wherever they are needed: Spark computes what it finds twice once, and looks for
    # it faster than it goes through another projection.
    sums, rest = {}, "{ordinary}"
    for place, cut in enumerate(map(literal, cuts(rows))):
        part = f"(({rest} + {cut}) - {cut})"
        sums[f"sum{place}"] = f"sum({part})"
        rest = f"({rest} - {part})"
    sums |= {f"sum{CUTS[rows]}": f"sum({rest})", "rows": "count(*)"}
    return {"exponent": exponents(value), "ordinary": ordinary}, sums


class FloatSums(NamedTuple):
    """What has come of a column: its sums, and where there were any values."""

    sums: Compensated
    known: NDArray[np.bool_]


def read(planes: Planes) -> FloatSums:
    """The sums of the sums of parts."""
    known = planes["sum0"].is_valid().to_numpy(zero_copy_only=False)
    parts = sorted(name for name in planes if name.startswith("sum"))
    high, low = joined([planes[name].fill_null(0.0).to_numpy() for name in parts])
    exponent = planes["exponent"].to_numpy().astype(np.int64)
    if not exponent.any():
        return FloatSums(Compensated(high, low), known)
    rare = np.zeros((len(high), 4))
    huge = (exponent >= HUGE_EXPONENT) & (exponent < NO_NUMBER)
    rare[huge, BIG] = np.ldexp(high[huge], exponent[huge] - SHIFT)
    for kind in (NAN, POSITIVE, NEGATIVE):
        rows = exponent == NO_NUMBER + kind
        rare[rows, kind] = planes["rows"].to_numpy()[rows]
    exponent = np.where(huge | (exponent >= NO_NUMBER), 0, exponent)
    ordinary = np.where(huge, 0.0, 1.0)
    sums = Compensated(np.ldexp(high * ordinary, exponent), np.ldexp(low * ordinary, exponent))
    return FloatSums(Compensated(sums.high, sums.low, rare if rare.any() else None), known)


def joined(parts: list[Floats]) -> tuple[Floats, Floats]:
    """Columns of floats, largest first, as their sum in two floats: the nearest float, and what it lacks."""
    for _ in range(2):
        for place in reversed(range(len(parts) - 1)):
            parts[place], parts[place + 1] = two_sum(parts[place], parts[place + 1])
    low = parts[-1]
    for part in reversed(parts[1:-1]):
        low = part + low
    return two_sum(parts[0], low)
