"""Slid ranges are folds of their own rows: every operation, ranges of every shape, every way, at the cost promised."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff

from ..support.examples import times
from ..support.inner import inner, place_of
from ..support.limits import limits
from ..support.loops import WAYS, by
from ..support.plans import BoundAggregate
from ..support.stages import slide
from ..support.states import Exact
from ..support.toys import Joined
from . import ranges as known
from .ranges import FLOAT, INT, MATRICES, NASTY, PRIME, CountingSum, Ranges, cost, matrices, of_keys, product

EDGES = [2**63 - 1, -(2**63), 2**32, -(2**32), 1, -1, 0, 2**31, 77]


class Folded(NamedTuple):
    """An operation, its states of integers, what a slid state says, its fold, and the ways that it slides by."""

    bound: BoundAggregate
    states: Callable[[list[int]], Any]
    said: Callable[[Any], list[Any]]
    fold: Callable[[list[int]], Any]
    ways: tuple[Any, ...]


def sums(type: pa.DataType, limbs: int) -> Folded:
    def states(values: list[int]) -> Any:
        total = Exact.of(np.array(values, np.int64), limbs)
        return {"total": total, "count": np.ones(len(values), np.int64)}

    def said(slid: Any) -> list[Any]:
        return list(zip(slid["total"].integers(), slid["count"].tolist(), strict=True))

    ways = (None, "deduct", "two-stacks", "deduct or two-stacks", "range tree")
    return Folded(BoundAggregate("t", ff.Sum("x"), [type]), states, said, lambda own: (sum(own), len(own)), ways)


def plain(states: Any) -> list[Any]:
    (column,) = states.values()
    return list(column.tolist())


FOLDED = {
    "matrices": Folded(MATRICES,
        lambda values: {key: np.array(values) % (PRIME - place) for place, key in enumerate("abcd")},
        lambda slid: [list(row) for row in zip(*(slid[key].tolist() for key in "abcd"), strict=True)],
        lambda own: product({key: np.array(own) % (PRIME - place) for place, key in enumerate("abcd")}, 0, len(own)),
        (None, "two-stacks", "range tree")),
    "text of a user's": Folded(BoundAggregate("s", Joined("x"), [pa.string()]),
        lambda values: {"state": np.array([f"{value};" for value in values], object)}, plain,
        lambda own: "".join(f"{value};" for value in own), (None, "two-stacks", "range tree")),
    "sum": sums(INT, 2),
    "sum of decimals": sums(pa.decimal128(38, 0), 4),
    "sum of a user's": Folded(BoundAggregate("t", CountingSum("x"), [INT]),
        lambda values: {"total": np.array(values) >> 8}, plain, lambda own: sum(value >> 8 for value in own),
        (None, "deduct", "two-stacks", "range tree")),
    "most": Folded(BoundAggregate("m", ff.Max("x"), [FLOAT]),
        lambda values: {"value": np.array(values, float), "seen": np.array(values) % 2 == 0},
        lambda slid: list(zip(slid["value"].tolist(), slid["seen"].tolist(), strict=True)),
        lambda own: (max(map(float, own)), any(value % 2 == 0 for value in own)) if own else (-math.inf, False),
        (None, "two-stacks", "range tree")),
    "least": Folded(BoundAggregate("m", ff.Min("x"), [INT]),
        lambda values: {"value": np.array(values), "seen": np.ones(len(values), bool)},
        lambda slid: [value if seen else None
        for value, seen in zip(slid["value"].tolist(), slid["seen"], strict=True)],
        lambda own: min(own, default=None), (None, "two-stacks", "range tree")),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDED)
@times(3)
@given(data=st.data(), rows=st.integers(1, 40), bounds=known.some_bounds(), way=st.sampled_from(WAYS))
def test_slide_is_a_fold(name: str, data: st.DataObject, rows: int, bounds: dict[str, int], way: str) -> None:
    """Also where running states start anew every few rows, and where few rows are many; no state is changed."""
    bound, states_of, said, fold, ways = FOLDED[name]
    values = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-(2**62), 2**62, rows).tolist()
    values = [data.draw(st.sampled_from(EDGES)) if value % 3 else value for value in values]
    low, high = data.draw(known.ranges(rows))
    expected = [fold(values[a:b]) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    states = states_of(values)
    with limits(**bounds), by(way):
        for chosen in ways:
            assert said(slide(bound, states, low, high, chosen)) == expected, chosen
    assert said(states) == said(states_of(values))


def test_the_way_is_chosen_by_the_ranges() -> None:
    """The tree only where sorting does not help, and there are no kernels; explicitly, anywhere."""
    sums, three = FOLDED["sum"], [1, 2, 3]
    with patch.object(*place_of("range tree"), side_effect=inner("range tree")) as tree:
        slide(MATRICES, matrices(3), np.array([2, 0, 1]), np.array([3, 2, 3]))
        slide(sums.bound, sums.states(three), np.array([0, 1, 2]), np.array([3, 2, 2]))
        assert not tree.called
        slide(MATRICES, matrices(3), np.array([0, 1, 2]), np.array([3, 2, 2]))
        slide(sums.bound, sums.states(three), np.array([0, 1, 2]), np.array([1, 3, 3]), "range tree")
    windows = [len(call.args[2]) for call in tree.call_args_list]
    assert windows == [2, 3], "an empty range is the identity, and needs no tree"


# Floats


def check_floats(values: list[float], ranges: Ranges, way: Any, every: int = 1) -> None:
    low, high = ranges
    found = slide(known.FLOATS, known.floats(values), low, high, way)["total"].value()
    for window in range(0, len(low), every):
        known.assert_own_values_only(float(found[window]), values[low[window] : high[window]])


def of_width(rows: int, width: int) -> Ranges:
    return of_keys([rows], [width])


@pytest.mark.parametrize("way", ["deduct", "two-stacks", "range tree"])
@times(4)
@given(
    values=st.lists(st.sampled_from(NASTY) | st.floats(), min_size=1, max_size=40),
    data=st.data(),
    bounds=known.some_bounds(),
)
@example(values=[1e16, 1.0, -1e16, 1.0, 1.0], data=None, bounds={})
@example(values=[1e300, 1.0, 5e-324, 5e-324, 0.1], data=None, bounds={})
@example(values=[1e300, -1e300, 1e284, 1.0, 1.0], data=None, bounds={})
def test_nasty_values_pass_through(way: str, values: list[float], data: Any, bounds: dict[str, int]) -> None:
    """Also where running states start anew every few rows, and where few rows are many."""
    shapes = ("of keys", "forward", "any") if way == "range tree" else ("of keys", "forward", "growing")
    ranges = of_width(len(values), 2) if data is None else data.draw(known.ranges(len(values), shapes))
    with limits(**bounds):
        check_floats(values, ranges, way)


SMALL_AMONG_LARGE = [1e25, 0.1, 0.7, -1e25, 1e-9, 0.3, 1e20, 1e-12] + [0.1 * n for n in range(30)]


def test_doubtful_windows_are_rebuilt() -> None:
    """A pair of floats is too short for 1e-9 below 1e25: those windows, and only those, are slid again."""
    name = "two-stacks after deduct"
    with patch.object(*place_of(name), side_effect=inner(name)) as again:
        check_floats(SMALL_AMONG_LARGE, of_width(len(SMALL_AMONG_LARGE), 2), "deduct")
        assert any(4 in call.args[2].tolist() for call in again.call_args_list)
        again.reset_mock()
        check_floats([0.1 * n for n in range(1, 3000)], of_width(2999, 20), "deduct", every=50)
    assert not again.called, "ordinary values never need it"


# The cost promised: 2 element operations a window by deduct, 3 by two-stacks, however far the windows overlap. And at
# most 2 log2(width) where ranges lie within one another, after one a row

MOST = {"deduct": 2, "two-stacks": 3}


def ranges_of(keys: np.ndarray, ticks: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The windows of `width` ticks, one a tick, that hold any frame: ranges of rows sorted by key and tick."""
    span = int(ticks.max() - ticks.min()) + 2 * width + 2
    # Keys one after the other on one line, further apart than a window.
    line = keys * span + ticks - ticks.min() + width
    starts = np.unique((line[:, None] - np.arange(width)[None, :]).ravel())
    return np.searchsorted(line, starts), np.searchsorted(line, starts + width)


def frames_of(keys: int, rows: int, density: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys, ticks and values of frames: each tick of each key has a frame with this probability."""
    chance = np.random.default_rng(keys * rows)
    each = [np.flatnonzero(chance.random(int(rows / density)) < density) for _ in range(keys)]
    key, ticks = np.repeat(np.arange(keys), [len(ticks) for ticks in each]), np.concatenate(each)
    return key, ticks, chance.integers(-9, 9, len(ticks))


CASES = [
    (width, keys, rows, density)
    for width, (keys, rows), density in itertools.product(
        [1, 2, 7, 60, 1000], [(1, 20_000), (300, 60), (2000, 3)], [1.0, 0.05]
    )
    if keys * rows * width / density <= 3e6  # brute force has a row for each tick of each window
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", ["deduct", "two-stacks"])
@pytest.mark.parametrize(("width", "keys", "rows", "density"), CASES)
def test_operations_a_window(width: int, keys: int, rows: int, density: float, way: Any) -> None:
    key, ticks, values = frames_of(keys, rows, density)
    low, high = ranges_of(key, ticks, width)
    operations, calls = cost(values, low, high, way)
    assert operations <= MOST[way] * len(low)
    shuffled = np.random.default_rng(width).permutation(len(low))
    assert cost(values, low[shuffled], high[shuffled], way) == (operations, calls)


@pytest.mark.parametrize("way", ["deduct", "two-stacks", None])
@pytest.mark.parametrize(
    "lengths", [[200_000], [100_000, 1, 7], [50] * 2000, [300] * 999, [1]], ids=lambda lengths: str(lengths[:3])
)
def test_operations_where_nothing_is_let_go_of(lengths: list[int], way: Any) -> None:
    """Everything so far, for each row of each key: 2 a window, in about twice the root of the rows of a key calls."""
    rows, longest = sum(lengths), max(lengths)
    low = np.repeat(np.cumsum([0, *lengths[:-1]]), lengths)
    operations, calls = cost(np.arange(rows), low, np.arange(rows) + 1, way)
    assert operations <= 2 * rows
    assert calls <= (longest if rows >= 256 * longest else max(64, 2 * longest**0.5))


def test_operations_of_few_windows_that_grow() -> None:
    """A result every hundred rows, and the same again once the end is frozen."""
    high = np.minimum(np.arange(100, 50_000, 100), 30_000)
    operations, _ = cost(np.arange(30_000), 0 * high, high)
    assert operations <= 30_000 + len(high)


# Every kind of windows: 2 or 3 where windows only move forward, O(log n) elsewhere


class CountingMax(CountingSum):
    """A maximum that counts what it combines; it has no inverse."""

    deduct = ff.AggregateOperation.deduct

    def accumulate(self, frames: Any, *columns: Any) -> Any:
        return {"total": frames.max(columns[0])}

    def combine(self, a: Any, b: Any) -> Any:
        self.combined += len(a["total"])
        return {"total": np.maximum(a["total"], b["total"])}

    def create(self) -> Any:
        return {"total": np.iinfo(np.int64).min}


ROWS = 4000
RNG = np.random.default_rng(11)
LOG = 2 * math.log2(ROWS)
BOTH = pytest.mark.parametrize("operation", [CountingSum, CountingMax])


def events(keys: int, until: int = 0) -> ff.Events:
    """Distinct times for each key, so that there is a partial a row; lives of up to ``until`` ticks."""
    time = np.concatenate([np.sort(RNG.choice(8 * ROWS // keys, ROWS // keys, replace=False)) for _ in range(keys)])
    columns = {"t": time, "end": time + 1 + RNG.integers(0, until + 1, ROWS), "x": RNG.integers(-50, 50, ROWS)}
    table = pa.table(columns | {"k": np.repeat(np.arange(keys), ROWS // keys)})
    return ff.events(table, time="t", by="k", until="end" if until else None)


def counted(operation: type[CountingSum], windows: ff.Windowed) -> tuple[int, int]:
    """The element operations of a query, and its results."""
    counting = operation("x")
    result = windows.aggregate(x=counting)
    return counting.operations, len(result)


FORWARD = {
    "sliding": ff.sliding(1000, every=1, empty="emit"), "paired": ff.sliding(997, every=10, empty="emit"),
    "cumulating": ff.cumulating(1000, every=1, empty="emit"), "landmark": ff.landmark(since=0, every=1),
    "running": ff.landmark(), "session": ff.session(5), "last rows": ff.last_rows(100),
    "last rows, every 7": ff.last_rows(100, every=7), "last times": ff.last_rows(100, ties="distinct_time"),
    "around rows": ff.around(rows=(-50, 50)), "around time": ff.around(time=(-400, 300)),
    "count, count": ff.policy(evict=ff.by_count(100)), "time, count": ff.policy(evict=ff.by_time(500)),
    "time, time": ff.policy(evict=ff.by_time(500), trigger=ff.by_time(2)),
    "delta, count, never falling": ff.policy(evict=ff.by_delta("t", 500)),
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("name", FORWARD)
def test_windows_that_move_forward(name: str, operation: type[CountingSum]) -> None:
    for keys in (1, 40):
        operations, windows = counted(operation, events(keys).window(FORWARD[name]))
        # Where there are fewer windows than rows, each row still has to be combined and deducted once.
        assert operations <= (2 if operation is CountingSum else 3) * max(windows, ROWS)


GIVEN = RNG.integers(0, 8 * ROWS, (2, 3000))


@BOTH
def test_windows_in_any_order(operation: type[CountingSum]) -> None:
    anchors = pa.table({"from": GIVEN.min(axis=0), "to": GIVEN.max(axis=0) + 1})
    operations, windows = counted(operation, events(1).window(ff.windows_from(anchors, start="from", end="to")))
    assert operations <= ROWS + LOG * windows
    for delta in (20, 3):
        evict = ff.by_delta("x", delta)
        operations, windows = counted(operation, events(4).window(ff.policy(evict=evict)))
        assert operations <= (2 if operation is CountingSum else LOG) * (windows + 2)


@pytest.mark.parametrize("lives", [10, 100, 3000])
@pytest.mark.parametrize("window", [ff.sliding(16, every=4), ff.snapshot()], ids=["sliding", "snapshot"])
def test_interval_events_however_long(window: Any, lives: int) -> None:
    """A partial a row: they are put together where several start or end in one frame, by one operation each."""
    for operation, most in ((CountingSum, 2), (CountingMax, 2 * math.log2(lives + 20))):
        operations, windows = counted(operation, events(4, lives).window(window))
        assert operations <= 2 * windows + most * ROWS
