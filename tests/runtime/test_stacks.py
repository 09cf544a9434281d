"""Two-stacks side by side: long runs of every make-up against brute force, in order, at no more than three a window."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framefold.runtime.sliding import range_facts, van_herk
from framefold.runtime.sliding.range_facts import runs_by_a_row
from framefold.runtime.sliding.van_herk import side_by_side

from ..support.limits import limit_of, limits
from ..support.loops import WAYS, by
from ..support.plans import BoundAggregate
from ..support.stages import slide
from .test_operation_counts import CountingSum
from .test_slide import MATRICES, matrices, product

Ranges = tuple[np.ndarray, np.ndarray]


def small(blocks: int, joined: int, of_a_run: int) -> AbstractContextManager[None]:
    few = {"run_blocks": blocks, "run_states": joined, "min_run_blocks": of_a_run, "min_lone_blocks": 3}
    return limits(scanned_ranges=7, long_run=1, min_side_by_side=4, many_ranges=4, **few)


def segments_of(
    operation: BoundAggregate, low: np.ndarray, high: np.ndarray, least: int = limit_of("min_side_by_side")
) -> Any:
    return side_by_side(operation, low, high, runs_by_a_row(low, high), least)


def keys(lengths: list[int], widths: list[int]) -> Ranges:
    """For each key all windows of a width, with those at its ends that are narrower."""
    low, high, first = [], [], 0
    for length, width in zip(lengths, widths, strict=True):
        starts = np.arange(-width + 1, length)
        low.append(first + np.maximum(starts, 0))
        high.append(first + np.minimum(starts + width, length))
        first += length
    return np.concatenate(low), np.concatenate(high)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.sampled_from([1, 2, 3, 3, 3, 5, 9])), min_size=1, max_size=5),
    st.integers(1, 9),
    st.integers(1, 40),
    st.integers(1, 3),
)
def test_runs_of_many_lengths_and_widths(of: list[tuple[int, int]], blocks: int, joined: int, of_a_run: int) -> None:
    low, high = keys([length for length, _ in of], [width for _, width in of])
    states = matrices(int(high[-1]))
    counting = CountingSum("x")
    sums = BoundAggregate("t", counting, [pa.int64()])
    with small(blocks, joined, of_a_run):
        found = segments_of(MATRICES, low, high, 4)
        slid = slide(MATRICES, states, low, high)
        counting.operations = 0
        total = slide(sums, {"total": states["a"]}, low, high)["total"]
    for window in range(len(low)):
        assert [int(slid[key][window]) for key in "abcd"] == product(states, int(low[window]), int(high[window]))
    assert np.array_equal(total, [states["a"][a:b].sum() for a, b in zip(low, high, strict=True)])
    assert counting.operations <= 3 * len(low)
    if found is not None:
        inside = (found.window[:, None] + np.arange(found.width)).ravel()
        assert np.array_equal(np.sort(np.concatenate([inside, found.others])), np.arange(len(low)))
        assert set(high[inside] - low[inside]) == {found.width}


@pytest.mark.parametrize(
    ("lengths", "width"), [([200_000], 60), ([200_000], 3000), ([50_000] * 4, 7), ([99_999, 3], 2)]
)
@pytest.mark.parametrize("way", [None, "two-stacks"])
def test_long_runs(lengths: list[int], width: int, way: Any) -> None:
    """As many calls as a window has rows, twice; the bound of three holds, the few windows at the ends included."""
    counting = CountingSum("x")
    bound = BoundAggregate("t", counting, [pa.int64()])
    low, high = keys(lengths, [width] * len(lengths))
    values = np.random.default_rng(width).integers(-9, 9, sum(lengths))
    assert segments_of(bound, low, high) is not None
    counting.operations = counting.calls = 0
    found = slide(bound, {"total": values}, low, high, way)["total"]
    sums = np.concatenate([[0], np.cumsum(values)])
    assert np.array_equal(found, sums[high] - sums[low])
    assert counting.operations <= 3 * len(low)
    assert counting.calls <= 9 * width * -(-len(low) // (width * van_herk.MAX_SEGMENTS))


def test_what_is_left_to_the_general_way() -> None:
    low = np.arange(100_000)
    assert segments_of(MATRICES, low, low + 60) is not None
    assert segments_of(MATRICES, low, low + 1) is None, "nothing to combine"
    assert segments_of(MATRICES, 2 * low, 2 * low + 60) is None, "steps of two rows"
    assert segments_of(MATRICES, low, low + 50_000) is None, "two blocks"
    assert segments_of(MATRICES, low[:1000], low[:1000] + 60) is None, "few windows"


def test_results_that_an_operation_writes_again_are_copied() -> None:
    """A combine that returns the same array each time, changed, and cannot change what it is given."""

    class Reusing(CountingSum):
        buffers: dict[int, np.ndarray] = {}

        def combine(self, a: Any, b: Any) -> Any:
            room = self.buffers.setdefault(len(a["total"]), np.empty_like(a["total"]))
            assert not a["total"].flags.writeable
            assert not b["total"].flags.writeable
            return {"total": np.add(a["total"], b["total"], out=room)}

    bound = BoundAggregate("t", Reusing("x"), [pa.int64()])
    low = np.arange(100_000)
    found = segments_of(bound, low, low + 100)
    assert found is not None
    values = np.random.default_rng(1).integers(-9, 9, 100_100)
    slid = {"total": np.zeros(100_000, np.int64)}
    van_herk.by_stacks_side_by_side(bound, {"total": values}, found, slid)
    sums = np.concatenate([[0], np.cumsum(values)])
    inside = (found.window[:, None] + np.arange(100)).ravel()
    assert np.array_equal(slid["total"][inside], (sums[low + 100] - sums[low])[inside])


def test_long_runs_are_by_themselves() -> None:
    """And short ones beside one another, as long as nothing long is between them."""
    row = np.concatenate([100_000 * run + 3 * np.arange(blocks) for run, blocks in enumerate([2, 1, 9, 12, 2, 2])])
    of = van_herk.SideBySide(row, row, 3, np.empty(0, np.int64))
    with limits(min_lone_blocks=5, run_blocks=8):
        found = [(batch.start, batch.stop) for batch in van_herk._batches(of)]
    assert found == [(0, 3), (3, 11), (11, 12), (12, 20), (20, 24), (24, 28)]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 3), st.integers(1, 5)), min_size=1, max_size=9),
    st.sampled_from(WAYS),
)
def test_runs_by_a_row(of: list[tuple[int, int, int]], way: str) -> None:
    """Where they begin, and what is asked of all their windows, by definition."""
    low = np.concatenate([first + np.arange(length) for first, _, length in of])
    high = np.concatenate([first + width + np.arange(length) for first, width, length in of])
    pairs = list(zip(low.tolist(), high.tolist(), strict=True))
    with limits(scanned_ranges=4, long_run=1), by(way):
        first = runs_by_a_row(low, high)
        assert range_facts.RangeFacts(low, high).none_empty == all(a < b for a, b in pairs)
        assert range_facts.ascending(low, first) == (sorted(low) == low.tolist())
        assert range_facts.ascending(high, first) == range_facts.ascending(high) == (sorted(high) == high.tolist())
    begin = [i for i in range(len(pairs)) if i == 0 or pairs[i] != (pairs[i - 1][0] + 1, pairs[i - 1][1] + 1)]
    assert first.tolist() == begin


@pytest.mark.parametrize("type", ["bool", "int16", "float32", "int64", "datetime64[us]", "complex128", "object"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (8, 16), (30, 7), (7, 30), (100, 33)])
def test_matrices_are_turned(way: str, type: str, shape: tuple[int, int]) -> None:
    """Rows far apart are read or written; nothing between them is."""
    given = np.arange(shape[0] * shape[1]).reshape(shape).astype(type)
    apart = np.zeros((shape[0], shape[1] + 5), type)
    turned = np.zeros((shape[1], shape[0]), type)
    apart[:, 2:-3] = given
    van_herk.transpose(apart[:, 2:-3], turned)
    assert np.array_equal(turned, given.T)
    apart[:] = np.zeros(1, type)
    van_herk.transpose(np.repeat(turned, 2, axis=1)[:, ::2], apart[:, 2:-3])
    assert np.array_equal(apart[:, 2:-3], given)
    assert np.array_equal(apart[:, :2], np.zeros((shape[0], 2), type))
    assert np.array_equal(apart[:, -3:], np.zeros((shape[0], 3), type))


def test_results_whose_elements_do_not_lie_beside_one_another() -> None:
    """Every other element of an array that a combine has made."""

    class Strided(CountingSum):
        def combine(self, a: Any, b: Any) -> Any:
            return {"total": np.repeat(a["total"] + b["total"], 2)[::-2][::-1]}

    low = np.arange(100_000)
    values = np.random.default_rng(1).integers(-9, 9, 100_100)
    found = slide(BoundAggregate("t", Strided("x"), [pa.int64()]), {"total": values}, low, low + 100)["total"]
    sums = np.concatenate([[0], np.cumsum(values)])
    assert np.array_equal(found, (sums[100:] - sums[:-100])[: len(low)])


def test_states_whose_elements_do_not_lie_beside_one_another() -> None:
    """Every other element of an array, as they come from an accumulate."""
    low = np.arange(100_000)
    values = np.random.default_rng(1).integers(-9, 9, 200_200)[::2]
    found = slide(BoundAggregate("t", CountingSum("x"), [pa.int64()]), {"total": values}, low, low + 100)["total"]
    sums = np.concatenate([[0], np.cumsum(values)])
    assert np.array_equal(found, (sums[100:] - sums[:-100])[: len(low)])
