"""Deviations from sums of integers, and wide integers, against Python's own."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..support.sql import ROW_LIMIT, SMALL_ROW_LIMIT, big_integers, sql_floats, sql_squares
from ..support.states import Deviations

INT64 = st.integers(-(2**63), 2**63 - 1)
WIDE = st.integers(-(2**190), 2**190)


def integer(limbs: list[np.ndarray]) -> int:
    return sum(int(limb[0]) << big_integers.BITS * place for place, limb in enumerate(limbs))


@given(st.dictionaries(st.integers(-17, 143), INT64, min_size=1))
def test_parts_are_added_up(parts: dict[int, int]) -> None:
    """Those that stand below one have no bits there."""
    parts = {at: part >> -at << -at if at < 0 else part for at, part in parts.items()}
    limbs = big_integers.of_parts({at: np.array([part]) for at, part in parts.items()}, 8)
    assert integer(limbs) == sum(Fraction(part) * Fraction(2) ** at for at, part in parts.items())
    assert all(0 <= limb[0] < 1 << big_integers.BITS for limb in limbs[:-1])


@given(WIDE)
def test_an_integer_is_the_nearest_float_and_the_rest(whole: int) -> None:
    limbs = big_integers.carried(
        [np.array([(whole >> big_integers.BITS * place) & big_integers.MASK]) for place in range(6)]
        + [np.array([whole >> 6 * big_integers.BITS])]
    )
    high, low = (float(part[0]) for part in big_integers.floats(limbs))
    assert high == float(whole)
    assert abs(Fraction(high) + Fraction(low) - whole) <= abs(whole) * Fraction(2) ** -104


@given(st.floats(-(2.0**82), 2.0**82).map(lambda value: float(int(value))), INT64)
def test_products(value: float, other: int) -> None:
    limbs = big_integers.of_parts({0: np.array([other])}, 4)
    found = big_integers.product(big_integers.of_floats(np.array([value]), 3), limbs, 7)
    assert integer(big_integers.carried(found)) == int(value) * other


def pieces(most: int, value: float) -> dict[str, int]:
    """What SQL would add up of a value of ordinary size, computed in Python."""
    built = sql_squares.of_rows(pa.float64(), most)
    shifted = value * 2.0 ** sql_floats.first_shift(most)
    known = {"int": int, "shiftright": lambda number, bits: number >> bits, "shifted": shifted}

    def computed(text: str) -> int | float:
        python = re.sub(r"(\d)D\b", r"\1", text.removeprefix("sum")).replace("cast(", "int(")
        return eval(re.sub(r"\{(\w+)\}", r"\1", python.replace(" as bigint", "")), known)  # type: ignore[no-any-return]

    for step in ("square", "lost"):
        known[step] = computed(built.steps[step])
    names = [name for name in built.aggregates if name.startswith(("sum", "squares"))]
    return {name: int(computed(built.aggregates[name])) for name in names}


def values_of_ordinary_size() -> list[float]:
    """Random ones, those at the bounds, and those whose squares have long runs of equal bits."""
    rng = np.random.default_rng(4)
    top, bottom = sql_floats.TOP, sql_floats.TOP - sql_floats.WIDTH
    many = np.ldexp(rng.uniform(1, 2, 300), rng.integers(bottom, top, 300)) * rng.choice([-1, 1], 300)
    ends = [2.0**top, math.nextafter(2.0**top, 0), 2.0**bottom, math.nextafter(2.0**bottom, 0), 0.0]
    runs = [2.0**a + 2.0**b for a in range(bottom, top) for b in range(a - 52, a, 7)]
    runs += [2.0**a - 2.0**b for a in range(bottom + 1, top) for b in range(a - 52, a, 7)]
    return [*many.tolist(), *ends, *runs]


@pytest.mark.parametrize("most", [SMALL_ROW_LIMIT, ROW_LIMIT])
def test_the_integers_of_a_square_are_exact_and_have_room(most: int) -> None:
    for value in values_of_ordinary_size():
        found = pieces(most, value)
        squares = {int(name[7:]): piece for name, piece in found.items() if name.startswith("squares")}
        assert sum(piece << at for at, piece in squares.items()) == (Fraction(value) * 2**sql_squares.SHIFT) ** 2
        assert all(abs(piece) * most < 2**63 for piece in found.values())


@pytest.mark.parametrize("most", [SMALL_ROW_LIMIT, ROW_LIMIT])
def test_the_most_rows_of_values_next_to_one_another(most: int) -> None:
    """Nearly all of what is added up cancels, but nothing that should not."""
    first = [52.1, 2.0**17 + 0.1, -(2.0**18), 2.0**-10, 1e-3 + 2.0**-9]
    rows = [(a, math.nextafter(a, math.inf), most - b, b) for a in first for b in (0, 1, most // 3)]
    planes: dict[str, list[int]] = defaultdict(list)
    for a, b, many, more in rows:
        one, other = pieces(most, a), pieces(most, b)
        for name in one:
            planes[name].append(many * one[name] + more * other[name])
        for name, each in (("count", most), ("rows", most), ("exponent", 0)):
            planes[name].append(each)
    made = Deviations(**sql_squares.read({name: pa.array(column, pa.int64()) for name, column in planes.items()}))
    for place, (a, b, many, more) in enumerate(rows):
        centre = Fraction(float(made.centre[place]))
        assert a <= centre <= b
        for power, high, low in ((1, made.sum, made.sum_low), (2, made.squares, made.squares_low)):
            exact = many * (Fraction(a) - centre) ** power + more * (Fraction(b) - centre) ** power
            found = Fraction(float(high[place])) + Fraction(float(low[place]))
            assert abs(found - exact) <= abs(exact) * Fraction(2) ** -104
    assert not made.squares[::3].any()
    assert not made.level.any()
