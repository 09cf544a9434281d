"""Variance and StdDev against exact fractions and numpy's two passes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff

from ..oracles.exact import about_mean
from ..support import stages
from ..support.plans import BoundAggregate, bind

Maker = Callable[[np.random.Generator, int], np.ndarray]


def windows(values: list[Any], width: int, type: pa.DataType | None = None, **outputs: Any) -> dict[str, list[Any]]:
    """Outputs over windows of the last `width` values."""
    table = pa.table({"t": np.arange(len(values)), "x": pa.array(values, type or pa.float64())})
    result = ff.events(table, time="t").window(ff.sliding(width, 1)).aggregate(**outputs)
    return {name: result[name].to_pylist()[: len(values)] for name in outputs}


def exact_variance(values: list[float], ddof: int) -> Fraction | None:
    if len(values) <= ddof:
        return None
    away, unit = about_mean(values)
    return sum(each * each for each in away) * unit**2 / (len(values) - ddof)


def two_passes(values: list[float], ddof: int) -> float:
    """How far numpy's two passes are off, at the least."""
    exact = exact_variance(values, ddof)
    assert exact is not None
    return float(abs(Fraction(float(np.var(values, ddof=ddof))) - exact))


values_of_all_sizes = st.one_of(
    st.floats(-1e6, 1e6), st.integers(0, 9).map(lambda n: 1e9 + n), st.sampled_from([1e16, 1e16 + 2, -1e12, 0.0, 1e-9])
)


@given(st.lists(values_of_all_sizes, min_size=1, max_size=12), st.integers(1, 5), st.integers(0, 2))
@example([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16], 4, 1)
@example([1e16, 1.0, 1.0, 1.0, 1.0], 2, 1)
def test_as_good_as_two_passes(values: list[float], width: int, ddof: int) -> None:
    found = windows(values, width, v=ff.Variance("x", ddof=ddof), s=ff.StdDev("x", ddof=ddof))
    for place, (variance, deviation) in enumerate(zip(found["v"], found["s"], strict=True)):
        own = values[max(0, place - width + 1) : place + 1]
        exact = exact_variance(own, ddof)
        if exact is None:
            assert variance is None
            assert deviation is None
            continue
        assert variance >= 0
        magnitude = max(abs(value) for value in own) * 2**-52
        slack = 8 * len(own) * (float(exact) * 2**-52 + magnitude**2) + two_passes(own, ddof)
        assert abs(float(Fraction(variance) - exact)) <= slack + 1e-300
        assert deviation == pytest.approx(math.sqrt(variance), rel=1e-15)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, 1e12, -1e15])
@pytest.mark.parametrize("width", [2, 50])
def test_far_from_zero(offset: float, width: int) -> None:
    """Sums of squares lose every digit of this."""
    chance = np.random.default_rng(1)
    values = (offset + chance.integers(0, 8, 400)).tolist()
    found = windows(values, width, v=ff.Variance("x"))["v"]
    for place in range(1, 400):
        own = values[max(0, place - width + 1) : place + 1]
        assert found[place] == pytest.approx(float(exact_variance(own, 1) or 0), rel=1e-9, abs=1e-12)


def test_equal_values_have_no_variance() -> None:
    for value in (0.1, 1e16, 1e300, -5e-324):
        assert set(windows([value] * 30, 7, v=ff.Variance("x", ddof=0))["v"]) == {0.0}


def test_what_passed_through_leaves_nothing_behind() -> None:
    for nasty in (1e16, 1e200, math.nan, math.inf, -math.inf, 1.7e308):
        found = windows([1.0, 3.0, nasty, 1.0, 3.0, 5.0], 2, v=ff.Variance("x"))["v"]
        assert [found[1], found[4], found[5]] == [2.0, 2.0, 2.0]
        if not math.isfinite(nasty):
            assert math.isnan(found[2])
            assert math.isnan(found[3])


@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_too_few_values_are_null(ddof: int) -> None:
    found = windows([1.0, None, None, 4.0, 5.0], 2, v=ff.Variance("x", ddof=ddof), n=ff.Count("x"))
    assert [variance is None for variance in found["v"]] == [count <= ddof for count in found["n"]]


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (pa.int64(), [2**62, 2**62 + 2**20, 3]),
        (pa.uint8(), [1, 2, 255]),
        (pa.float32(), [1.5, 2.5, 8.0]),
        (pa.decimal128(10, 2), [Decimal("1.25"), Decimal("-3.5"), Decimal("9")]),
    ],
    ids=str,
)
def test_every_type_of_number(type: pa.DataType, values: list[Any]) -> None:
    found = windows(values, 3, type, v=ff.Variance("x", ddof=0))["v"][2]
    assert found == pytest.approx(float(np.var(np.array([float(value) for value in values]))), rel=1e-14)


def test_the_largest_floats() -> None:
    """Their squares do not fit: infinite, as numpy has it, and never NaN or negative; the deviation fits."""
    assert windows([1.7e308, -1.7e308], 2, v=ff.Variance("x"))["v"][1] == math.inf
    assert windows([1.7e308, -1.7e308], 2, s=ff.StdDev("x", ddof=0))["s"][1] == 1.7e308
    assert windows([1e-200, -1e-200], 2, v=ff.Variance("x"))["v"][1] == 0.0
    assert windows([1e-200, -1e-200], 2, s=ff.StdDev("x", ddof=0))["s"][1] == 1e-200


def middles(found: float) -> list[Fraction]:
    """The middles between a float that is not negative and those next to it, where inf is what follows the largest."""
    near = (max(math.nextafter(found, -math.inf), 0.0), found, math.nextafter(found, math.inf))
    below, here, above = (Fraction(2) ** 1024 if math.isinf(value) else Fraction(value) for value in near)
    return [(below + here) / 2, (here + above) / 2 if math.isfinite(found) else Fraction(2) ** 4096]


def is_nearest(found: float, exact: Fraction) -> bool:
    """Whether no other float is nearer."""
    low, high = middles(found)
    return low <= exact <= high


def is_nearest_root(found: float, square: Fraction) -> bool:
    """Whether no other float is nearer to the square root."""
    low, high = middles(found)
    return low**2 <= square <= high**2


def floats_of_sizes(low: int, high: int) -> Maker:
    return lambda chance, n: np.ldexp(
        chance.choice([-1.0, 1.0], n) * chance.uniform(1, 2, n), chance.integers(low, high, n)
    )


STREAMS: dict[str, Maker] = {
    "usual": lambda chance, n: chance.normal(50, 10, n),
    "near 1e9, a thousandth apart": lambda chance, n: 1e9 + 1e-3 * chance.integers(0, 9, n),
    "one unit in the last place apart": lambda chance, n: 0.1 + math.ulp(0.1) * chance.integers(0, 3, n),
    "1e16 among ones": lambda chance, n: np.where(chance.random(n) < 0.02, 1e16, chance.normal(1, 1, n)),
    "1e300 among ones": lambda chance, n: np.where(chance.random(n) < 0.05, 1e300, chance.normal(1, 1, n)),
    "1e-200 among zeros": lambda chance, n: np.where(chance.random(n) < 0.5, 1e-200, 0.0),
    "1e-200": lambda chance, n: chance.normal(0, 1e-200, n),
    "the largest": lambda chance, n: chance.choice([1.0, -1.0, 0.9], n) * 1.7976931348623157e308,
    "near 1e300": lambda chance, n: 1e300 + math.ulp(1e300) * chance.integers(0, 4, n),
    "the tiniest": lambda chance, n: 5e-324 * chance.integers(-5, 6, n),
    "all sizes": floats_of_sizes(-1074, 1023),
    "many sizes": floats_of_sizes(-60, 60),
    "about 2^420": floats_of_sizes(415, 425),
    "about 2^-420": floats_of_sizes(-425, -415),
}


@pytest.mark.parametrize(("size", "every", "parts"), [(12, 1, 1), (60, 20, 5), (300, 100, 3)])
@pytest.mark.parametrize("name", STREAMS)
def test_correctly_rounded(name: str, size: int, every: int, parts: int) -> None:
    """Frames of one row and of many, in batches of any order."""
    chance = np.random.default_rng(len(name))
    values = STREAMS[name](chance, 300)
    table = pa.table({"t": np.arange(300), "x": values})
    outputs = {"v": ff.Variance("x"), "v0": ff.Variance("x", ddof=0), "s": ff.StdDev("x")}
    query = bind(table.schema, time="t", by=[], window=ff.sliding(size, every), outputs=outputs)
    batches = np.array_split(chance.permutation(300), parts)
    partials = [stages.accumulate(query, table.take(pa.array(rows)), part) for part, rows in enumerate(batches)]
    for row in stages.results(query, pa.concat_tables(partials)).to_pylist():
        own = values[max(row["window"]["start"], 0) : row["window"]["end"]].tolist()
        assert is_nearest(row["v0"], exact_variance(own, 0) or Fraction(0)), own
        if len(own) > 1:
            assert is_nearest(row["v"], exact_variance(own, 1) or Fraction(0)), own
            assert is_nearest_root(row["s"], exact_variance(own, 1) or Fraction(0)), own


@pytest.mark.parametrize("doublings", [3, 25, 26, 27, 33])
def test_more_values_than_half_a_float_can_count(doublings: int) -> None:
    """So many copies of a few values, whose variance is that of one copy but for the divisor."""
    bound = BoundAggregate("x", ff.Variance("x"), [pa.float64()])
    few, other = [0.1, 0.7, 12.3, 1e5 / 3], [7.3, 1e5 / 7]

    def copies(values: list[float]) -> Any:
        frame = ff.Frames(np.zeros(len(values), np.intp), 1, np.arange(len(values)))
        state = bound.accumulate(frame, [pa.array(values)])
        for _ in range(doublings):
            state = bound.combine(state, state)
        return state

    found = bound.finish(bound.combine(copies(few), copies(other)))[0].as_py()
    one, count = exact_variance(few + other, 0), 6 * 2**doublings
    assert one is not None
    assert is_nearest(found, one * count / (count - 1))


@pytest.mark.parametrize("value", [1e300, 1e9, 1e-300, 0.0])
def test_an_empty_side_does_no_harm(value: float) -> None:
    """Its centre of 0 may be far from all values, which must not be added up about it."""
    bound = BoundAggregate("x", ff.StdDev("x"), [pa.float64()])
    state = bound.accumulate(ff.Frames(np.array([0, 0]), 1, np.arange(2)), [pa.array([value, value * 1.5])])
    for a, b in itertools.permutations([state, bound.identity]):
        assert bound.finish(bound.combine(a, b)) == bound.finish(state)
    assert bound.finish(bound.combine(bound.identity, bound.identity)).to_pylist() == [None]


@pytest.mark.parametrize("ddof", [-1, 1.0, "1", None, True, False])
def test_wrong_ddof(ddof: Any) -> None:
    with pytest.raises(ff.QueryError, match="ddof="):
        ff.Variance("x", ddof=ddof)


@pytest.mark.parametrize("operation", [ff.Variance, ff.StdDev])
def test_only_numbers(operation: Any) -> None:
    with pytest.raises(ff.ColumnError, match="numbers"):
        windows(["a"], 1, pa.string(), v=operation("x"))
