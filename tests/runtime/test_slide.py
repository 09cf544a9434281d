"""Sliding over any ranges that move forward, against combining each window's own rows one by one."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff

from ..support.inner import inner, place_of
from ..support.limits import limit_of, limits
from ..support.plans import BoundAggregate
from ..support.stages import slide
from ..support.states import Compensated
from ..support.toys import Joined

PRIME = 10_007
INT, FLOAT = pa.int64(), pa.float64()
Ranges = tuple[np.ndarray, np.ndarray]


class Matrices(ff.AggregateOperation):
    """Products of 2 by 2 matrices modulo a prime: associative, and the order of factors matters."""

    state = dict.fromkeys("abcd", "int64")
    commutative = False
    result = "int64"

    def create(self) -> Any:
        return {"a": 1, "b": 0, "c": 0, "d": 1}

    def accumulate(self, frames: Any, x: Any) -> Any:
        raise NotImplementedError

    def combine(self, p: Any, q: Any) -> Any:
        return {
            "a": (p["a"] * q["a"] + p["b"] * q["c"]) % PRIME,
            "b": (p["a"] * q["b"] + p["b"] * q["d"]) % PRIME,
            "c": (p["c"] * q["a"] + p["d"] * q["c"]) % PRIME,
            "d": (p["c"] * q["b"] + p["d"] * q["d"]) % PRIME,
        }

    def finish(self, a: Any) -> Any:
        return a["a"]


MATRICES = BoundAggregate("m", Matrices("x"), [INT])
JOINED = BoundAggregate("s", Joined("x"), [pa.string()])
SUM = BoundAggregate("t", ff.Sum("x"), [INT])
FLOATS = BoundAggregate("f", ff.Sum("x"), [FLOAT])


def matrices(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(seed)
    return {key: chance.integers(0, PRIME, rows) for key in "abcd"}


def product(states: Any, low: int, high: int) -> list[int]:
    a, b, c, d = 1, 0, 0, 1
    for p, q, r, s in zip(*(states[key][low:high].tolist() for key in "abcd"), strict=True):
        a, b, c, d = a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s
        a, b, c, d = a % PRIME, b % PRIME, c % PRIME, d % PRIME
    return [a, b, c, d]


def ints(values: Any) -> Any:
    array = np.array(values, np.int64)
    return {"total": SUM.fields["total"].column(array), "count": np.ones(len(array), np.int64)}


def floats(values: Any) -> Any:
    array = np.array(values, np.float64)
    return {"total": Compensated.of(array), "frames": np.ones(len(array), np.int64)}


def check(states: Any, ranges: Ranges, every: int = 1) -> None:
    """Matrices by two-stacks, integers by either way."""
    low, high = ranges
    slid = slide(MATRICES, states, low, high)
    assert len(slid["a"]) == len(low)
    for window in range(0, len(low), every):
        found = [int(slid[key][window]) for key in "abcd"]
        assert found == product(states, int(low[window]), int(high[window])), (window, low[window], high[window])
    sums = np.concatenate([[0], np.cumsum(states["a"])])
    for way in ("deduct", "two-stacks"):
        found = slide(SUM, ints(states["a"]), low, high, way)  # type: ignore[arg-type]
        assert found["total"].integers() == (sums[high] - sums[low]).tolist()
        assert np.array_equal(found["count"], high - low)


@st.composite
def forward(draw: st.DrawFn, most: int = 40) -> tuple[int, Ranges]:
    """Ranges over some rows whose ends move forward, at any pace: gaps, empty ranges, repeats, jumps."""
    rows = draw(st.integers(1, most))
    ends = st.integers(0, rows)
    low = sorted(draw(st.lists(ends, max_size=most)))
    high = sorted(draw(st.lists(ends, min_size=len(low), max_size=len(low))))
    high = [max(pair) for pair in zip(low, high, strict=True)]
    return rows, (np.array(low, np.int64), np.array(high, np.int64))


@given(forward(), st.integers(0, 9))
@example((1, (np.array([0]), np.array([1]))), 0)
@example((3, (np.array([0, 0, 3]), np.array([0, 3, 3]))), 0)
@example((1, (np.array([], np.int64), np.array([], np.int64))), 0)
def test_any_ranges_that_move_forward(case: tuple[int, Ranges], seed: int) -> None:
    rows, ranges = case
    check(matrices(rows, seed), ranges)


@given(forward(), st.integers(1, 5))
def test_runs_that_are_cut_early(case: tuple[int, Ranges], steps: int) -> None:
    """With running states that start anew every few rows; and as many runs as there can be."""
    rows, ranges = case
    with limits(restart_rows=steps):
        check(matrices(rows), ranges)


@given(forward(), st.integers(1, 5))
def test_runs_and_blocks_some_at_a_time(case: tuple[int, Ranges], side_by_side: int) -> None:
    rows, ranges = case
    with limits(scanned_groups=side_by_side):
        check(matrices(rows), ranges)


@given(forward(25))
def test_strings_keep_their_order(case: tuple[int, Ranges]) -> None:
    rows, (low, high) = case
    text = "".join(chr(97 + row % 26) for row in range(rows))
    slid = slide(JOINED, {"state": np.array(list(text), object)}, low, high)
    assert slid["state"].tolist() == [text[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True)]


@pytest.mark.parametrize("width", [1, 2, 60, 5000])
def test_one_long_run(width: int) -> None:
    """More than three times the rows after which running states start anew."""
    rows = 3 * limit_of("restart_rows") + 77
    starts = np.arange(-width + 1, rows)
    low, high = np.maximum(starts, 0), np.minimum(starts + width, rows)
    check(matrices(rows), (low, high), every=max(1, width // 2, rows // 30))


def test_many_runs_of_all_widths() -> None:
    chance = np.random.default_rng(1)
    lengths = chance.integers(1, 9, 3000)
    edges = np.cumsum(lengths)
    low = np.concatenate([np.repeat(end - length, length) for end, length in zip(edges, lengths, strict=True)])
    high = np.concatenate([np.arange(end - length, end) + 1 for end, length in zip(edges, lengths, strict=True)])
    check(matrices(int(edges[-1])), (low, high), every=101)


def test_widths_that_change_in_one_run() -> None:
    """Wide windows where rows are dense, narrow ones where they are sparse, all chained."""
    chance = np.random.default_rng(2)
    low = np.sort(chance.integers(0, 9000, 4000))
    high = np.maximum.accumulate(low + np.where(low < 3000, 700, 1 + chance.integers(0, 4, 4000)))
    check(matrices(10_000), (low, np.minimum(high, 10_000)), every=57)


WITHIN = [([1, 0], [2, 3]), ([0, 0, 2], [3, 2, 2]), ([0, 2, 1, 0], [1, 3, 2, 3])]


@pytest.mark.parametrize("way", ["deduct", "two-stacks"])
@pytest.mark.parametrize(("low", "high"), WITHIN)
def test_ranges_within_one_another_slide_by_the_tree(low: list[int], high: list[int], way: Any) -> None:
    low, high = [1, *low], [2, *high]  # inside the widest, whatever the order
    found = slide(SUM, ints([1, 2, 3]), np.array(low), np.array(high), way)["total"].integers()
    assert found == [sum([1, 2, 3][a:b]) for a, b in zip(low, high, strict=True)]


@st.composite
def any_ranges(draw: st.DrawFn, most: int = 26) -> tuple[int, Ranges]:
    """Ranges over some rows in any order: empty ones, nested ones, the same ones again."""
    rows = draw(st.integers(1, most))
    ends = st.tuples(st.integers(0, rows), st.integers(0, rows)).map(sorted)
    pairs = draw(st.lists(ends, max_size=most))
    return rows, (np.array([low for low, _ in pairs], np.int64), np.array([high for _, high in pairs], np.int64))


@given(any_ranges())
@example((3, (np.array([0, 1]), np.array([3, 2]))))
@example((9, (np.array([4, 0, 2, 2, 9]), np.array([6, 1, 2, 5, 9]))))
def test_any_ranges_in_any_order(case: tuple[int, Ranges]) -> None:
    """Those that can be sorted, and those that cannot."""
    rows, (low, high) = case
    text = "".join(chr(97 + row % 26) for row in range(rows))
    states, expected = {"state": np.array(list(text), object)}, [text[a:b] for a, b in zip(low, high, strict=True)]
    assert slide(JOINED, states, low, high)["state"].tolist() == expected
    assert slide(JOINED, states, low, high, "range tree")["state"].tolist() == expected
    values = np.arange(rows) ** 3
    found = slide(SUM, ints(values), low, high)
    assert found["total"].integers() == [int(values[a:b].sum()) for a, b in zip(low, high, strict=True)]
    assert np.array_equal(found["count"], high - low)


@given(forward(), st.randoms())
def test_ranges_that_can_be_sorted_slide_by_either_way(case: tuple[int, Ranges], shuffle: Any) -> None:
    rows, (low, high) = case
    order = list(range(len(low)))
    shuffle.shuffle(order)
    with patch.object(*place_of("range tree"), None):
        check(matrices(rows), (low[order], high[order]))


def test_the_way_is_chosen_by_the_ranges() -> None:
    """The tree only where sorting does not help, and there are no kernels; explicitly, anywhere."""
    called = []

    def watched(operation: Any, states: Any, low: np.ndarray, high: np.ndarray) -> Any:
        called.append(len(low))
        return by_range_tree(operation, states, low, high)

    by_range_tree = inner("range tree")
    with patch.object(*place_of("range tree"), watched):
        slide(MATRICES, matrices(3), np.array([2, 0, 1]), np.array([3, 2, 3]))
        slide(SUM, ints([1, 2, 3]), np.array([0, 1, 2]), np.array([3, 2, 2]))
        assert called == []
        slide(MATRICES, matrices(3), np.array([0, 1, 2]), np.array([3, 2, 2]))
        assert called == [2], "an empty range is the identity, and needs no tree"
        slide(SUM, ints([1, 2, 3]), np.array([0, 1, 2]), np.array([1, 3, 3]), "range tree")
        assert called == [2, 3]


@given(forward(), st.integers(0, 8))
def test_growing_runs_in_two_levels(case: tuple[int, Ranges], few: int) -> None:
    """Runs with one beginning, however short, among runs whose beginnings move."""
    rows, (low, high) = case
    low = low // 7 * 7
    with limits(short_block=few):
        check(matrices(rows), (low, np.maximum(low, high)))
        growing = np.zeros_like(low)
        check(matrices(rows), (growing, high))


def test_growing_runs_among_others() -> None:
    """A landmark of 3000 rows, windows that slide, and a landmark again: a run each."""
    rows = np.arange(3000)
    low = np.concatenate([0 * rows, 3000 + np.maximum(rows - 9, 0), 0 * rows + 6000])
    high = np.concatenate([rows + 1, 3001 + rows, 6001 + rows])
    check(matrices(9000), (low, high), every=331)


def test_states_are_not_changed() -> None:
    states = matrices(50)
    before = {key: column.copy() for key, column in states.items()}
    check(states, (np.arange(40), np.arange(40) + 10))
    assert all(np.array_equal(states[key], before[key]) for key in "abcd")


NASTY = [1e16, -1e16, 1e300, -1e300, 1e308, -1e308, math.nan, math.inf, -math.inf, 5e-324, -0.0, 0.1, 1.0, -1.0, 3.0]


def assert_own_values_only(got: float, own: list[float]) -> None:
    """Never worse than adding up the window's own values."""
    if any(map(math.isnan, own)) or {math.inf, -math.inf} <= set(own):
        assert math.isnan(got)
    elif math.inf in own or -math.inf in own:
        assert got == (math.inf if math.inf in own else -math.inf)
    else:
        exact, size = sum(map(Fraction, own)), sum(abs(Fraction(value)) for value in own)
        if math.isinf(got):
            assert size >= Fraction(2) ** 1023
        else:
            assert abs(Fraction(got) - exact) <= size * Fraction(len(own), 2**53), (got, own)


def check_floats(values: list[float], ranges: Ranges, way: Any, every: int = 1) -> None:
    low, high = ranges
    found = slide(FLOATS, floats(values), low, high, way)["total"].value()
    for window in range(0, len(low), every):
        assert_own_values_only(float(found[window]), values[low[window] : high[window]])


def of_width(rows: int, width: int) -> Ranges:
    starts = np.arange(-width + 1, rows)
    return np.maximum(starts, 0), np.minimum(starts + width, rows)


@pytest.mark.parametrize("way", ["deduct", "two-stacks"])
@given(values=st.lists(st.sampled_from(NASTY), min_size=1, max_size=40), width=st.integers(1, 12))
@example(values=[1e16, 1.0, -1e16, 1.0, 1.0], width=2)
@example(values=[1e300, 1.0, 5e-324, 5e-324, 0.1], width=2)
@example(values=[1e300, -1e300, 1e284, 1.0, 1.0], width=2)
def test_nasty_values_pass_through(way: str, values: list[float], width: int) -> None:
    check_floats(values, of_width(len(values), width), way)


@pytest.mark.parametrize("way", ["deduct", "two-stacks"])
@given(values=st.lists(st.floats(), min_size=1, max_size=30), case=st.data())
def test_any_floats_in_any_ranges(way: str, values: list[float], case: st.DataObject) -> None:
    low = sorted(case.draw(st.lists(st.integers(0, len(values)), max_size=20)))
    high = sorted(case.draw(st.lists(st.integers(0, len(values)), min_size=len(low), max_size=len(low))))
    ranges = np.array(low, np.int64), np.maximum(np.array(low, np.int64), np.array(high, np.int64))
    check_floats(values, ranges, way)


SMALL_AMONG_LARGE = [1e25, 0.1, 0.7, -1e25, 1e-9, 0.3, 1e20, 1e-12] + [0.1 * n for n in range(30)]


def test_doubtful_windows_are_rebuilt() -> None:
    """A pair of floats is too short for 1e-9 below 1e25: those windows, and only those, are slid again."""
    again = []

    def watched(operation: Any, states: Any, low: np.ndarray, high: np.ndarray) -> Any:
        again.extend(low.tolist())
        return by_two_stacks(operation, states, low, high)

    by_two_stacks = inner("two-stacks after deduct")
    with patch.object(*place_of("two-stacks after deduct"), watched):
        check_floats(SMALL_AMONG_LARGE, of_width(len(SMALL_AMONG_LARGE), 2), "deduct")
        assert 4 in again
        again.clear()
        check_floats([0.1 * n for n in range(1, 3000)], of_width(2999, 20), "deduct", every=50)
    assert not again, "ordinary values never need it"


def test_without_the_rebuild_they_would_be_wrong() -> None:
    never = patch.object(
        *place_of("doubtful windows"), lambda operation, running, run, difference: np.zeros(len(run), bool)
    )
    with never, pytest.raises(AssertionError):
        check_floats([1e40, 0.1, 0.2, 0.3], of_width(4, 2), "deduct")


def test_a_million_slides() -> None:
    """Values of all sizes, some of them huge: sampled windows against exact fractions."""
    chance = np.random.default_rng(4)
    values = chance.normal(0, 1, 1_000_000) * 10.0 ** chance.integers(-8, 9, 1_000_000)
    values[chance.integers(0, len(values), 50)] = chance.choice([1e30, -1e30, 1e300, np.nan, np.inf], 50)
    listed = values.tolist()
    low, high = of_width(len(values), 20)
    found = slide(FLOATS, floats(values), low, high, "deduct")["total"].value()
    near = np.flatnonzero(~(np.abs(values) < 1e20))
    windows = np.unique(np.concatenate([near, near + 20, near + 30, chance.integers(0, len(values), 1000)]))
    for window in windows[windows < len(low)].tolist():
        assert_own_values_only(float(found[window]), listed[low[window] : high[window]])


def test_the_expected_product_itself() -> None:
    """Once more by another road."""
    states = matrices(9)
    factors = [np.array([[a, b], [c, d]]) for a, b, c, d in zip(*(states[key] for key in "abcd"), strict=True)]
    assert reduce(lambda p, q: p @ q % PRIME, factors).ravel().tolist() == product(states, 0, 9)
