"""Wide integers against Python's own, and the decimal module."""

from __future__ import annotations

import decimal
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ..support.states import Exact, ExactField

MIN, MAX, UMAX = -(2**63), 2**63 - 1, 2**64 - 1
signed, unsigned = st.integers(MIN, MAX), st.integers(0, UMAX)
wide = st.integers(-(10**38) + 1, 10**38 - 1)
DIGITS = decimal.Context(prec=120)


def of(*values: int) -> Exact:
    return Exact.of(np.array(values, np.int64))


def of_decimals(*values: int, scale: int = 0) -> Exact:
    unscaled = [Decimal(value).scaleb(-scale, DIGITS) for value in values]
    return Exact.of_decimals(pa.array(unscaled, pa.decimal128(38, scale)))


@given(st.lists(st.tuples(signed, signed), min_size=1, max_size=5))
@example([(MAX, MAX), (MIN, MIN), (MIN, MAX), (0, MIN)])
def test_sums_and_differences(pairs: list[tuple[int, int]]) -> None:
    a, b = of(*[a for a, _ in pairs]), of(*[b for _, b in pairs])
    assert (a + b).integers() == [x + y for x, y in pairs]
    assert (a - b).integers() == [x - y for x, y in pairs]
    assert (a - b).carried().integers() == [x - y for x, y in pairs]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_every_integer_type_at_its_borders(dtype: str) -> None:
    borders = [False, True] if dtype == "bool" else [np.iinfo(dtype).min, 0, 1, np.iinfo(dtype).max]
    assert Exact.of(np.array(borders, dtype)).integers() == [int(border) for border in borders]


@pytest.mark.parametrize(
    ("dtype", "parts", "fits"),
    [
        *((np.int64, parts, True) for parts in ((MAX, 0), (MIN, 0), (MAX, 1, -1), (MIN, MAX))),
        *((np.int64, parts, False) for parts in ((MAX, 1), (MIN, -1))),
        *((np.uint64, parts, True) for parts in ((UMAX, 0), (0, 0))),
        (np.uint64, (UMAX, 1), False),
    ],
)
def test_overflow_is_seen_at_the_border(dtype: type, parts: tuple[int, ...], fits: bool) -> None:
    total = of(0)
    for part in parts:
        total = total + Exact.of(np.array([part], dtype))
    value, found = total.int64() if dtype is np.int64 else total.uint64()
    assert found.tolist() == [fits]
    assert not fits or value.tolist() == [sum(parts)]
    assert (of(0) - of(1)).uint64()[1].tolist() == [False]


@given(st.lists(wide, min_size=1, max_size=5), st.integers(0, 38))
@example([10**38 - 1, 1 - 10**38, 0, -1], 38)
def test_decimals_there_and_back(values: list[int], scale: int) -> None:
    exact = of_decimals(*values, scale=scale)
    assert exact.integers() == values
    column, fits = exact.decimals(pa.decimal128(38, scale))
    column.validate(full=True)
    assert fits.all()
    assert column.to_pylist() == [Decimal(value).scaleb(-scale, DIGITS) for value in values]


def test_a_slice_of_decimals() -> None:
    column = pa.array([Decimal(n) for n in range(9)], pa.decimal128(38, 0)).slice(3, 4)
    assert Exact.of_decimals(column).integers() == [3, 4, 5, 6]


@given(st.lists(wide, min_size=2, max_size=40), st.integers(1, 38))
def test_whether_a_decimal_sum_fits(values: list[int], precision: int) -> None:
    total = of_decimals(values[0])
    for value in values[1:]:
        total = total + of_decimals(value)
    assert total.carried().integers() == [sum(values)]
    _, fits = total.decimals(pa.decimal128(precision, 0))
    assert fits.tolist() == [abs(sum(values)) < 10**precision]


@pytest.mark.parametrize("precision", [1, 9, 18, 19, 37, 38])
@pytest.mark.parametrize("sign", [-1, 1])
def test_precision_at_the_border(precision: int, sign: int) -> None:
    most = 10**precision - 1
    within, beyond = of_decimals(sign * most), of_decimals(sign * most) + of_decimals(sign)
    assert within.decimals(pa.decimal128(precision, 0))[1].tolist() == [True]
    assert beyond.decimals(pa.decimal128(precision, 0))[1].tolist() == [False]


@given(st.lists(st.tuples(wide, st.integers(1, 2**31 - 1)), min_size=1, max_size=5))
@example([(5, 2), (-5, 2), (7, 2), (-7, 2), (1, 3), (-2, 3), (0, 1), (10**38 - 1, 2)])
def test_division_rounds_half_away_from_zero(pairs: list[tuple[int, int]]) -> None:
    quotients = of_decimals(*[n for n, _ in pairs]).divided(np.array([count for _, count in pairs]))
    for got, (number, count) in zip(quotients.integers(), pairs, strict=True):
        exact = DIGITS.divide(Decimal(number), Decimal(count))
        assert got == int(exact.quantize(Decimal(1), rounding=decimal.ROUND_HALF_UP, context=DIGITS))


@given(st.lists(wide, min_size=1, max_size=5), st.integers(0, 2**20 - 1))
def test_times(values: list[int], factor: int) -> None:
    assert of_decimals(*values).times(factor).integers() == [value * factor for value in values]


@given(st.lists(st.tuples(signed, signed), min_size=1, max_size=5))
@example([(MAX, MAX), (-1, 0), (2**53, 1), (-(2**53), -1)])
def test_floats_of_two_limbs_are_off_by_an_ulp_at_most(pairs: list[tuple[int, int]]) -> None:
    floats = (of(*[a for a, _ in pairs]) + of(*[b for _, b in pairs])).floats()
    for got, (a, b) in zip(floats.tolist(), pairs, strict=True):
        assert abs(int(got) - (a + b)) <= max(abs(a + b) / 2**52, 0)


def test_two_billion_sums_before_a_carry() -> None:
    """Limbs may grow by 31 bits: doubling 30 times over adds up 2**30 of the largest values."""
    total = of(MAX, MIN)
    for _ in range(30):
        total = total + total
    assert total.carried().integers() == [MAX << 30, MIN << 30]


@given(st.lists(signed, min_size=1, max_size=6), st.sampled_from([2, 4]))
def test_travels(values: list[int], limbs: int) -> None:
    field = ExactField(limbs)
    total = field.column(np.array(values)) - field.column(np.array(values[::-1]))
    assert field.from_arrow(field.to_arrow(total)).integers() == [
        a - b for a, b in zip(values, values[::-1], strict=True)
    ]


def test_rows_and_other_things() -> None:
    joined = Exact.concatenate([of(1, 2), of(MAX)])
    assert joined[np.array([2, 0])].integers() == [MAX, 1]
    assert len(joined[1:]) == 2
    for call in (lambda: joined + np.array([1, 2, 3]), lambda: np.array([1, 2, 3]) - joined):
        with pytest.raises(TypeError):
            call()
