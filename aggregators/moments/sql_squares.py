"""Sums of squares of floats without an error, by a database: next to those of the values, in integers as well.

A value of ordinary size is a multiple of ``2**-SHIFT`` of no more than 82 bits, which
:mod:`framefold.aggregators.sums.sql_floats` cuts in two. Its square is a float and what rounding lost of it (T. J.
Dekker,
1971), and both are cut at every 41st bit: what they have between two cuts is no longer than that, and goes into one
integer. Of the sums of these come the deviations from a centre exactly, however far from 0 the values are, and however
near to one another.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from ..contract.operation import State
from ..contract.sql_spec import ROW_LIMIT, SMALL_ROW_LIMIT, Planes, SqlSpec
from ..states import big_integers
from ..states.arrays import Floats, Ints
from ..states.double_double import SPLITTER, quotient
from ..states.rows import join
from ..sums import sql_floats
from ..tuning import SQUARE_STATES
from .deviations import UNIT, Deviations

STEP = sql_floats.bits(SMALL_ROW_LIMIT)
"""Bits of the parts of a square."""
HALF = 20
"""Where each part is cut once more, if there may be more rows than ``SMALL_ROW_LIMIT``."""
SHIFT = sql_floats.first_shift(SMALL_ROW_LIMIT) + STEP

PLAIN = 300
"""The squares of deviations need no level of their own if values are divided by no more than ``2**PLAIN``."""


def sql_spec(type: pa.DataType) -> SqlSpec:
    """How states with the count of a column ``{0}``, its sum and that of its squares are accumulated."""
    small, most = (of_rows(type, rows) for rows in (SMALL_ROW_LIMIT, ROW_LIMIT))
    return replace(most, small_count_variant=small)


def of_rows(type: pa.DataType, rows: int) -> SqlSpec:
    """The spec for at most ``rows`` rows of a key and frame."""
    steps, sums = sql_floats.in_integers(type, rows)
    # Nothing nullable: Spark would check each later step for null. The number of values is counted by itself.
    steps["shifted"] = f"coalesce({steps['shifted']}, 0D)"
    more = sql_floats.power(sql_floats.first_shift(SMALL_ROW_LIMIT) - sql_floats.first_shift(rows))
    square, lost = squared("{shifted}" if rows == SMALL_ROW_LIMIT else f"({{shifted}} * {more})")
    steps |= {"square": square, "lost": lost}
    squares = {}
    for place, text in enumerate(cut("{square}", "{lost}")):
        if rows == SMALL_ROW_LIMIT:
            squares[STEP * place] = text
        else:
            squares[STEP * place] = f"{text} & {(1 << HALF) - 1}"
            squares[STEP * place + HALF] = f"shiftright({text}, {HALF})"
    sums |= {f"squares{position}": f"sum({text})" for position, text in squares.items()}
    return SqlSpec({**sums, "count": "count({0})"}, read, steps, ("exponent",))


def rounded(value: str, exponent: int) -> str:
    """A float rounded to a multiple of ``2**exponent``, by adding one so large that it has no smaller bits."""
    large = sql_floats.literal(1.5 * 2.0 ** (52 + exponent))
    return f"({value} + {large} - {large})"


def squared(value: str) -> tuple[str, str]:
    """The square of a value, and what rounding lost of it."""
    large = f"({value} * {sql_floats.literal(SPLITTER)})"
    upper = f"({large} - ({large} - {value}))"
    lower = f"({value} - {upper})"
    square = f"({value} * {value})"
    return square, f"({upper} * {upper} - {square} + 2D * {upper} * {lower} + {lower} * {lower})"


def cut(square: str, lost: str) -> list[str]:
    """The square of a value, in integers of no more than ``STEP`` bits and a sign, the last ones first.

    The value is a multiple of ``2**-STEP`` below ``2**STEP``.
    """
    texts = []
    for place in (3, 2, 1):
        at = STEP * (place - 2)
        first, second = rounded(square, at), rounded(lost, at)
        texts.append((at, f"({first} + {second})" if place < 3 else first))
        square = f"({square} - {first})"
        lost = f"({lost} - {second})" if place < 3 else lost
    texts.append((-2 * STEP, f"({square} + {lost})"))
    return [f"cast({text} * {sql_floats.power(-at)} as bigint)" for at, text in reversed(texts)]


def read(planes: Planes) -> State:
    """The states of the deviations that are in sums of integers."""
    columns = {name: column.fill_null(0).to_numpy().astype(np.int64, copy=False) for name, column in planes.items()}
    chunks = [
        of_chunk({name: column[start : start + SQUARE_STATES] for name, column in columns.items()})
        for start in range(0, max(len(columns["count"]), 1), SQUARE_STATES)
    ]
    return join([chunk.fields() for chunk in chunks])


def of_chunk(columns: dict[str, Ints]) -> Deviations:
    """The deviations of some states, about a centre ``c`` in integers: ``t = s - n * c`` and ``S - c * (s + t)``."""
    count, exponent = columns["count"], columns["exponent"]
    sums = big_integers.of_parts(positions(columns), 4)
    squares = big_integers.of_parts(
        {int(name[7:]): of for name, of in columns.items() if name.startswith("squares")}, 7
    )
    number = np.maximum(count, 1).astype(np.float64)
    mean, low = quotient(*big_integers.floats(sums), number)
    # On the grid of the values, for tiny ones that of all floats.
    centre = scaled(np.rint(mean + low), exponent - SHIFT)
    about = big_integers.of_floats(scaled(centre, SHIFT - exponent), 3)
    moved = [limb - count * each for limb, each in zip(sums, [*about, np.zeros_like(count)], strict=True)]
    moved = big_integers.carried(moved)
    both = big_integers.carried([limb + each for limb, each in zip(sums, moved, strict=True)])
    squares = [limb - each for limb, each in zip(squares, big_integers.product(about, both, 7), strict=True)]
    squares = big_integers.carried(squares)
    level = (exponent > PLAIN).astype(np.int8) - (exponent < -PLAIN)
    unit = exponent - UNIT * level.astype(np.int64) - SHIFT
    total, total_low = (scaled(each, unit) for each in big_integers.floats(moved))
    high, low = (scaled(each, 2 * unit) for each in big_integers.floats(squares))
    high = np.where(exponent >= sql_floats.NO_NUMBER, np.nan, high)
    return Deviations(count, centre, total, total_low, high, low, np.where(high == 0, 0, level).astype(np.int8))


def scaled(values: Floats, exponent: Ints) -> Floats:
    """Floats times powers of two, which most often are all the same."""
    same = int(exponent[0]) if len(exponent) and (exponent == exponent[0]).all() else None
    return np.ldexp(values, exponent) if same is None or abs(same) > 1000 else values * 2.0**same


def positions(columns: dict[str, Ints]) -> dict[int, Ints]:
    """The sums of integers of values by the power of two they are to be multiplied by."""
    sums = [columns[name] for name in sorted(columns) if name.startswith("sum")]
    rows = next(rows for rows, many in sql_floats.INTEGERS.items() if many == len(sums))
    first, step = SHIFT - sql_floats.first_shift(rows), sql_floats.bits(rows)
    return {first - step * place: column for place, column in enumerate(sums)}
