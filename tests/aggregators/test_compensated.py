"""Compensated sums against exact fractions: what passed through leaves nothing behind."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff

from ..oracles.by_definition import rounded, sum_verdict
from ..support.states import HUGE, Compensated, CompensatedField, two_sum

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
