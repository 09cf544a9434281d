"""Sums of floats and of wide integers against exact fractions, Python's integers and the decimal module."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff

from ..oracles.by_definition import rounded, sum_verdict
from ..support.states import HUGE, Compensated, CompensatedField, Exact, ExactField, two_sum

ordinary = st.floats(-1e280, 1e280)
"""Any two of these, and their sum's rounding error, are floats; subnormal ones included."""

awkward = st.one_of(
    ordinary,
    st.integers(-9, 9).map(float),
    st.sampled_from([1e16, -1e16, 1e300, -1e300, 1e308, -1e308, math.nan, math.inf, -math.inf, 5e-324, -0.0]),
)


def column(*values: float) -> Compensated:
    return Compensated.of(np.array(values, np.float64))


def total(values: list[float]) -> Compensated:
    """The values added one after the other, from the left."""
    so_far = column(0.0)
    for value in values:
        so_far = so_far + column(value)
    return so_far


@given(ordinary, ordinary)
@example(5e-324, 5e-324)
@example(1e16, 1.0)
def test_two_sum_loses_nothing(a: float, b: float) -> None:
    high, low = two_sum(np.array([a]), np.array([b]))
    assert Fraction(float(high[0])) + Fraction(float(low[0])) == Fraction(a) + Fraction(b)


@given(st.lists(awkward, max_size=12))
@example([1e16, 1.0, -1e16])
@example([1e308, 1e308, -1e308])
@example([math.inf, -math.inf])
def test_adding_up(values: list[float]) -> None:
    assert sum_verdict(float(total(values).value()[0]), values) is None


@given(st.lists(st.floats(1e288, 1e308).flatmap(lambda size: st.sampled_from([size, -size])), min_size=1, max_size=9))
@example([1e300, 1.1e300, -1e300])
@example([1.5e308, 1.5e308, 3e289])
def test_huge_sums_are_correctly_rounded_in_any_order(values: list[float]) -> None:
    exact = sum(map(Fraction, values), Fraction())
    for order in (values, sorted(values), values[::-1]):
        assert total(order).value()[0] == rounded(exact)
        assert total(order).value(divisor=1 << 9)[0] == rounded(exact / (1 << 9))
        events = ff.events(pa.table({"t": range(len(order)), "x": order}), time="t")
        for width in (1, 4):
            windows = events.window(ff.landmark(0, every=width)).aggregate(s=ff.Sum("x"))
            assert windows["s"].to_pylist()[-1] == rounded(exact)  # frames of one row, and of several


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_ordinary_sums_are_correctly_rounded(values: list[float]) -> None:
    """Two floats hold more than twice the digits: where nothing cancels, that is as good as fsum."""
    positive = [abs(value) for value in values]
    assert float(total(positive).value()[0]) == pytest.approx(math.fsum(positive), rel=2**-52, abs=0)


@given(st.lists(awkward, max_size=6), st.lists(awkward, max_size=6))
def test_nan_and_infinities_are_taken_out_again(passed: list[float], rest: list[float]) -> None:
    gone = [value for value in passed if not math.isfinite(value)]
    got = (total(gone + rest) - total(gone)).value()[0]
    assert sum_verdict(float(got), rest) is None


THROUGH = [1e16, -1e16, 1e30, math.nan, math.inf, -math.inf, 1e300, 5e-324]


@pytest.mark.parametrize(
    ("added", "taken_off", "left"),
    [
        *(([value, left], [value], left) for value in THROUGH for left in (1.0, -2.0, 0.1, 0.0)),
        ([1e16, 1e-7, 1.0, -1e16], [1.0], 1e-7),
        ([1e16, 1.0, 1e16, 1.0], [2e16], 2.0),
        ([1e16, 1.0], [1e16, 3.0], -2.0),
        ([5e-324] * 3, [], 1.5e-323),
        ([1.7e308, 1.7e308, -1.7e308], [], 1.7e308),  # plain addition gives inf
        ([1.7e308, 1.7e308], [], math.inf),
    ],
)
def test_what_passed_through_leaves_nothing_behind(added: list[float], taken_off: list[float], left: float) -> None:
    found = float((total(added) - total(taken_off)).value()[0])
    assert found == left or (left == 1e-7 and found == pytest.approx(1e-7, rel=1e-9))


def test_zeros_add_up_as_in_python_and_sql() -> None:
    assert math.copysign(1, total([-0.0]).value()[0]) == 1


def test_huge_values_are_kept_apart() -> None:
    assert column(1e300).special_values is not None
    assert column(np.nextafter(HUGE, 0)).special_values is None
    assert total([1.5e308, 1.5e308, 1.5e308]).value(divisor=np.array([3]))[0] == 1.5e308


def test_magnitude_covers_every_sum() -> None:
    sums = Compensated.concatenate([column(3.0, -4.0), column(1e300), column(math.nan)])
    assert sums.magnitude().tolist() == [3.0, 4.0, math.inf, 0.0]


def test_rows_and_columns_keep_what_is_apart() -> None:
    joined = Compensated.concatenate([column(1.0, 2.0), column(math.nan, 1e300)])
    assert len(joined) == 4
    assert str(joined.value().tolist()) == "[1.0, 2.0, nan, 1e+300]"
    assert joined[np.array([3, 0])].value().tolist() == [1e300, 1.0]
    assert joined[1:3].special_values is not None
    assert (-joined[slice(3, 4)]).value().tolist() == [-1e300]


def test_other_things_are_not_added() -> None:
    for call in (lambda: column(1.0) + np.array([1.0]), lambda: np.array([1.0]) - column(1.0)):
        with pytest.raises(TypeError):
            call()


@given(st.lists(awkward, min_size=1, max_size=8))
def test_travels_to_the_last_bit(values: list[float]) -> None:
    sums = Compensated.concatenate([total(values[: stop + 1]) for stop in range(len(values))])
    back = CompensatedField().from_arrow(CompensatedField().to_arrow(sums))
    assert back.high.tobytes() == sums.high.tobytes()
    assert back.low.tobytes() == sums.low.tobytes()
    assert np.array_equal(back.value(), sums.value(), equal_nan=True)


# Wide integers

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
    assert Exact.of_decimals(column.slice(1)).integers() == values[1:]
    assert fits.all()
    assert column.to_pylist() == [Decimal(value).scaleb(-scale, DIGITS) for value in values]


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
