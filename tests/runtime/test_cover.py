"""States of windows from runs of windows, by every way, against the rows that each window's own definition gives it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff

from ..oracles.operations import Ledger
from ..support.examples import times
from ..support.inner import inner, place_of
from ..support.limits import limit_of, limits
from ..support.plans import BoundAggregate
from ..support.stages import cover, way_of
from ..support.toys import Joined
from .ranges import FLOATS as FLOAT_SUM
from .ranges import NASTY, CountingSum, assert_own_values_only

WAYS = ("deduct", "tree", "copies")


class Runs(NamedTuple):
    """Runs of windows, sorted by their first windows, and how many windows there are."""

    first: np.ndarray
    last: np.ndarray
    windows: int

    def own(self, values: list[Any]) -> list[list[Any]]:
        """The values of each window, in the order of rows."""
        windows: list[list[Any]] = [[] for _ in range(self.windows)]
        for value, first, last in zip(values, self.first.tolist(), self.last.tolist(), strict=True):
            for window in range(first, last + 1):
                windows[window].append(value)
        return windows


@st.composite
def runs(draw: st.DrawFn, most: int = 30) -> Runs:
    """Runs over the windows of some keys: short ones, long ones, equal ones; windows that none takes in."""
    sizes = draw(st.lists(st.integers(1, 24), max_size=4))
    pairs = []
    for _ in range(draw(st.integers(0, most)) if sizes else 0):
        key = draw(st.integers(0, len(sizes) - 1))
        start = sum(sizes[:key])
        first = draw(st.integers(0, sizes[key] - 1))
        pairs.append((start + first, start + draw(st.integers(first, sizes[key] - 1))))
    pairs.sort(key=lambda pair: pair[0])
    first, last = (np.array([pair[end] for pair in pairs], np.int64) for end in (0, 1))
    return Runs(first, last, sum(sizes))


def random_runs(seed: int, rows: int, windows: int, longest: int) -> Runs:
    chance = np.random.default_rng(seed)
    first = np.sort(chance.integers(0, windows, rows))
    return Runs(first, np.minimum(first + chance.integers(0, longest, rows), windows - 1), windows)


def states_of(bound: BoundAggregate, values: list[Any]) -> Any:
    """One state for each value."""
    rows = np.arange(len(values))
    if not len(rows):
        return {key: column[:0] for key, column in bound.identity.items()}
    return bound.accumulate(ff.Frames(rows, len(rows), rows), [pa.array(values, type) for type in bound.types])


def covered(bound: BoundAggregate, values: list[Any], over: Runs, way: Any = None) -> list[Any]:
    states = cover(bound, states_of(bound, values), over.first, over.last, over.windows, way)
    result: list[Any] = bound.finish(states).to_pylist()
    return result


class Bag(ff.PythonOperation):
    """A multiset as a user may write it: what is not in it cannot be taken out."""

    result = "list<int64>"
    commutative = True
    exact_deduct = True

    def create(self) -> tuple[int, ...]:
        return ()

    def accumulate(self, state: tuple[int, ...], value: int) -> tuple[int, ...]:
        return tuple(sorted((*state, value)))

    def combine(self, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(a + b))

    def deduct(self, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
        left = list(a)
        for value in b:
            left.remove(value)  # a ValueError where it is not there
        return tuple(left)

    def finish(self, state: tuple[int, ...]) -> list[int]:
        return list(state)


def some(function: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    return lambda own: function(own) if own else None


def variance(own: list[Any]) -> Any:
    return float(statistics.variance(map(Fraction, own))) if len(own) > 1 else None


INTS, FLOATS = st.integers(-5, 5), st.sampled_from([0.5, -0.5, 3.0, 1.25, -2.0])
DECIMALS = st.integers(-500, 500).map(lambda n: Decimal(n).scaleb(-2))
CASES: list[tuple[Any, pa.DataType, st.SearchStrategy[Any], Callable[[list[Any]], Any], str]] = [
    (ff.Count(), pa.int64(), INTS, len, "deduct"),
    (ff.Sum("x"), pa.int64(), st.integers(-(2**62), 2**62).map(lambda n: n // 64), some(sum), "deduct"),
    (ff.Sum("x"), pa.float64(), FLOATS, some(sum), "deduct"),
    (ff.Sum("x"), pa.decimal128(6, 2), DECIMALS, some(sum), "deduct"),
    (ff.Average("x"), pa.float64(), FLOATS, some(lambda own: float(sum(map(Fraction, own)) / len(own))), "deduct"),
    (ff.BitXor("x"), pa.int64(), INTS, some(lambda own: int(np.bitwise_xor.reduce(own))), "deduct"),
    (ff.Histogram("x", [-5, 0, 5]), pa.int64(), INTS, lambda own: [sum(x < 0 for x in own), sum(x >= 0 for x in own)],
     "deduct"),
    (Ledger("x"), pa.int64(), INTS, some(sum), "deduct"),
    (Bag("x"), pa.int64(), INTS, sorted, "deduct"),
    (ff.Min("x"), pa.int64(), INTS, some(min), "tree"),
    (ff.Max("x"), pa.string(), st.sampled_from("abc"), some(max), "tree"),
    (ff.Variance("x"), pa.float64(), FLOATS, variance, "tree"),
    (ff.CountDistinct("x"), pa.int64(), INTS, lambda own: len(set(own)), "tree"),
    (ff.Median("x"), pa.int64(), INTS, some(statistics.median), "tree"),
    (ff.CollectList("x"), pa.int64(), INTS, list, ""),
    (Joined("x"), pa.string(), st.sampled_from("abc"), "".join, "copies"),
]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("operation", "type", "values", "right", "way"), CASES, ids=lambda case: str(case)[:24])
@times(2)
@given(data=st.data(), over=runs(), steps=st.integers(1, 4))
def test_operations(
    operation: Any, type: pa.DataType, values: Any, right: Any, way: str, data: st.DataObject, over: Runs, steps: int
) -> None:
    """Also with running states that start anew every few steps, and copies of a few windows at a time."""
    bound = BoundAggregate("x", operation, [type] * len(operation.columns))
    column = data.draw(st.lists(values, min_size=len(over.first), max_size=len(over.first)))
    states = states_of(bound if bound.columns else BoundAggregate("x", ff.Count("x"), [type]), column)
    expected = [right(own) for own in over.own(column)]
    close = isinstance(operation, ff.Variance)
    chosen = {"deduct": WAYS, "tree": WAYS[1:], "copies": WAYS[2:], "": ()}[way]
    with limits(**data.draw(st.sampled_from([{}, {"restart_steps": steps, "copied_rows": steps}]))):
        for by in (None, *chosen):
            results = bound.finish(cover(bound, states, over.first, over.last, over.windows, by)).to_pylist()
            assert results == [pytest.approx(each, 1e-12, 1e-12) if close and each else each for each in expected], by
    assert way_of(bound) == (way or way_of(bound))


# Operations


def counted(over: Runs, way: Any) -> CountingSum:
    """The operation after a cover, whose result is checked by differences of cumulated sums."""
    operation = CountingSum("x")
    bound = BoundAggregate("x", operation, [pa.int64()])
    operation.restart()
    values = np.random.default_rng(1).integers(-9, 9, len(over.first))
    states = cover(bound, {"total": values}, over.first, over.last, over.windows, way)
    change = np.zeros(over.windows + 1, np.int64)
    np.add.at(change, over.first, values)
    np.subtract.at(change, over.last + 1, values)
    assert np.array_equal(np.asarray(states["total"]), np.cumsum(change)[:-1])
    return operation


def beyond(operation: CountingSum, over: Runs) -> int:
    """The operations beside one state for each window at which runs begin and each after which runs end."""
    rows, begin, end = len(over.first), len(set(over.first.tolist())), len(set(over.last.tolist()))
    return operation.operations - (rows - begin) - (rows - end)


@pytest.mark.parametrize(
    ("rows", "windows", "longest"),
    [(1000, 1000, 1), (1000, 1000, 2), (1000, 1000, 60), (1000, 1000, 1000), (30_000, 1000, 700), (500, 1500, 1400),
     (100, 1500, 10), (30_000, 100, 100), (1000, 1_000_000, 900_000)],
)  # fmt: skip
def test_operations_a_window(rows: int, windows: int, longest: int) -> None:
    """By deduct 2 a window however long runs are; by the tree a logarithm of a run's windows."""
    over = random_runs(2, rows, windows, longest)
    operation = counted(over, "deduct")
    assert beyond(operation, over) <= 2 * windows
    assert operation.deducted <= windows
    operation, lengths = counted(over, "tree"), over.last - over.first + 1
    assert operation.combined <= np.maximum(1, 2 * np.ceil(np.log2(lengths))).sum() + 2 * windows
    assert operation.calls <= (math.ceil(math.log2(windows)) + 2) * (math.ceil(math.log2(2 * rows)) + 2)


@pytest.mark.parametrize("longest", [2, 60, 3000, 40_000])
def test_operations_of_a_long_line_by_deduct(longest: int) -> None:
    """Where running states are started anew, each row that lives on there costs 2 more at most; and calls are few."""
    over, restart = random_runs(3, 40_000, 40_000, longest), limit_of("restart_steps")
    operation = counted(over, "deduct")
    operations = beyond(operation, over) - 2 * over.windows
    assert operations <= 2 * np.count_nonzero(over.last - over.first >= 1)
    if longest <= 60:  # one event a window lives for half of `longest` on average
        assert operations <= 2 * 40_000 / restart * longest
    assert operation.calls <= 2 * 3 * restart + 2 * 40_000 // restart + 100


# Floats


def check_floats(values: list[float], over: Runs, way: Any = None, every: int = 1) -> None:
    results = covered(FLOAT_SUM, values, over, way)
    for window, own in list(enumerate(over.own(values)))[::every]:
        if own:
            assert_own_values_only(results[window], own)
        else:
            assert results[window] is None


@times(4)
@given(over=runs(), data=st.data(), steps=st.integers(1, 4))
@example(over=Runs(np.array([0, 0, 1]), np.array([0, 2, 2]), 3), data=[1e300, 1.0, 1e-9], steps=1)
@example(over=Runs(np.array([0, 0, 0]), np.array([1, 1, 3]), 4), data=[1e40, 1e20, 1e-9], steps=9)
def test_nasty_values_pass_through(over: Runs, data: Any, steps: int) -> None:
    """What has ended leaves nothing behind, by any way, however often running states start anew; states stay."""
    size, floats = len(over.first), st.sampled_from(NASTY) | st.floats()
    values = data if isinstance(data, list) else data.draw(st.lists(floats, min_size=size, max_size=size))
    with limits(restart_steps=steps):
        for way in WAYS:
            check_floats(values, over, way)
    states = states_of(FLOAT_SUM, values)
    for way in WAYS:
        cover(FLOAT_SUM, states, over.first, over.last, over.windows, way)  # type: ignore[arg-type]
    assert np.array_equal(states["total"].value(), values, equal_nan=True)


def test_what_is_lost_is_carried_on_to_where_running_states_start_anew() -> None:
    """1e25 takes digits of pi * 1e4 with it, which 1e14 hides at the window where a part begins, but not until its end.

    Every window has an event of its own, so that all 4,000 are steps, and parts begin at 571, 1142, ...
    """
    first = np.concatenate([[0, 0, 0], np.arange(4000)])
    last = np.concatenate([[900, 1500, 3999], np.minimum(np.arange(4000) + 1, 3999)])
    case = [1e25, 1e14, math.pi * 1e4, *[1e-3 * (n % 7) for n in range(4000)]], Runs(first, last, 4000)

    def forgetful(operation: Any, running: Any, states: Any, parts: Any, before: Any, moves: Any) -> Any:
        return lost(operation, running, states, parts, {"total": np.zeros(len(parts.begins))}, moves)

    lost = inner("what a deduct has lost")
    with patch.object(*place_of("what a deduct has lost"), forgetful), pytest.raises(AssertionError):
        check_floats(*case)
    check_floats(*case)


def test_doubtful_windows_are_few() -> None:
    """Ordinary values never need the tree; after a huge one it stops at the next fresh start."""
    over, name = random_runs(6, 20_000, 20_000, 50), "tree after a sweep"
    values = [0.1 * (n % 1000 + 1) for n in range(20_000)]
    with patch.object(*place_of(name), side_effect=inner(name)) as again:
        check_floats(values, over, every=197)
        assert not again.called
        values[10_000] = 1e300
        check_floats(values, over, every=197)
    assert 0 < sum(call.args[4] for call in again.call_args_list) < 3 * 3 * limit_of("restart_steps")
