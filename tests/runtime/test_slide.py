"""Slid ranges are folds of their own rows: every operation, ranges of every shape, every way."""

from __future__ import annotations

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
from .ranges import FLOAT, INT, MATRICES, NASTY, PRIME, CountingSum, Ranges, matrices, of_keys, product

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
