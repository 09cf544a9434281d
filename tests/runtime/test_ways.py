"""Scans, two-stacks side by side and the range tree by themselves: folds in order, in the operations promised."""

from __future__ import annotations

from math import floor, log2
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from framefold.runtime.sliding import range_facts, van_herk
from framefold.runtime.sliding.range_facts import runs_by_a_row
from framefold.runtime.sliding.range_tree import build, by_range_tree, fold, nodes_of
from framefold.runtime.sliding.scan import Scan, beginnings
from framefold.runtime.sliding.van_herk import side_by_side

from ..support.limits import limit_of, limits
from ..support.loops import WAYS, by
from ..support.plans import BoundAggregate
from ..support.stages import slide
from .ranges import (
    MATRICES,
    CountingSum,
    Ranges,
    cost,
    filled,
    letters,
    lines_run,
    matrices,
    of_keys,
    product,
    ranges,
    texts,
)

# Scans: the states of every beginning or end of many blocks at once, at one combine a row

BLOCKS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 8)), max_size=8)
"""Where blocks start, and how many rows they have; they may overlap and come in any order."""


@pytest.mark.parametrize("backwards", [False, True])
@given(of=BLOCKS, few=st.integers(0, 5))
@example(of=[], few=0)
def test_every_beginning_and_every_end(backwards: bool, of: list[tuple[int, int]], few: int) -> None:
    """In one level, and in two with pieces of different sizes, by the operations and calls promised."""
    (text, bound), column = texts(), letters(28)
    starts, lengths = (np.array([pair[i] for pair in of], np.int64) for i in (0, 1))
    scan = Scan(bound, column, starts, lengths, backwards)
    once, longest = sum(length - 1 for _, length in of), max((length for _, length in of), default=1)
    assert (text.combined, text.calls) == (once, longest - 1)
    parts = [(block, rows) for block, (_, length) in enumerate(of) for rows in range(1, length + 1)][::-1]
    block, rows = (np.array([pair[i] for pair in parts], np.int64) for i in (0, 1))
    text.restart()
    with limits(short_block=few):
        in_two = beginnings(bound, column, starts, lengths, block, rows, backwards)
    whole = ["".join(column["total"][start : start + length]) for start, length in of]
    expected = [whole[b][-n:] if backwards else whole[b][:n] for b, n in parts]
    assert in_two["total"].tolist() == expected
    assert scan.states["total"][scan.position(block, rows)].tolist() == expected
    assert text.combined <= once + sum(n > 1 for _, n in parts)
    assert text.calls <= max(few, 2 * longest**0.5)


# Two-stacks side by side: long runs, at no more than three a window


def segments_of(operation: BoundAggregate, ranges: Ranges, least: int = limit_of("min_side_by_side")) -> Any:
    return side_by_side(operation, *ranges, runs_by_a_row(*ranges), least)


@given(
    st.lists(st.tuples(st.integers(1, 60), st.sampled_from([1, 2, 3, 3, 3, 5, 9])), min_size=1, max_size=5),
    *(st.integers(1, 9), st.integers(1, 40), st.integers(1, 3)),
)
@example([(9, 3), (7, 3), (9, 3), (20, 3), (8, 3)], 9, 40, 1)  # short runs slide beside one another
def test_runs_of_many_lengths_and_widths(of: list[tuple[int, int]], blocks: int, joined: int, of_a_run: int) -> None:
    low, high = of_keys(*map(list, zip(*of, strict=True)))  # type: ignore[arg-type]
    few = {"run_blocks": blocks, "run_states": joined, "min_run_blocks": of_a_run, "min_lone_blocks": 3}
    with limits(scanned_ranges=7, long_run=1, min_side_by_side=4, many_ranges=4, **few):
        segments, states = segments_of(MATRICES, (low, high), 4), matrices(int(high[-1]))
        operations, _ = cost(states["a"], low, high)
        slid = slide(MATRICES, states, low, high)
    for window, rows in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        assert [int(slid[key][window]) for key in "abcd"] == product(states, *rows)
    assert operations <= 3 * len(low)
    if segments is not None:
        inside = (segments.window[:, None] + np.arange(segments.width)).ravel()
        assert np.array_equal(np.sort(np.concatenate([inside, segments.others])), np.arange(len(low)))
        assert set(high[inside] - low[inside]) == {segments.width}


class Reusing(CountingSum):
    """Returns the same array each time, changed, and cannot change what it gets."""

    buffers: dict[int, np.ndarray] = {}

    def combine(self, a: Any, b: Any) -> Any:
        room = self.buffers.setdefault(len(a["total"]), np.empty_like(a["total"]))
        assert not a["total"].flags.writeable
        assert not b["total"].flags.writeable
        return {"total": np.add(a["total"], b["total"], out=room)}


class Strided(CountingSum):
    """Returns every other element of an array."""

    def combine(self, a: Any, b: Any) -> Any:
        return {"total": np.repeat(a["total"] + b["total"], 2)[::-2][::-1]}


def test_what_an_operation_may_do_with_arrays() -> None:
    """Results that are written again are copied; results and states need not lie beside one another."""
    low = np.arange(100_000)
    values = np.random.default_rng(1).integers(-9, 9, 200_200)[::2]
    sums = np.concatenate([[0], np.cumsum(values)])[[low, low + 100]]
    for operation in (Strided, CountingSum):
        cost(values, low, low + 100, of=operation)
    bound = BoundAggregate("t", Reusing("x"), [pa.int64()])
    segments, slid = segments_of(bound, (low, low + 100)), np.zeros(100_000, np.int64)
    van_herk.by_stacks_side_by_side(bound, {"total": values.copy()}, segments, {"total": slid})
    inside = (segments.window[:, None] + np.arange(100)).ravel()
    assert np.array_equal(slid[inside], (sums[1] - sums[0])[inside])


@pytest.mark.parametrize(
    ("lengths", "width"), [([200_000], 60), ([200_000], 3000), ([50_000] * 4, 7), ([99_999, 3], 2)]
)
@pytest.mark.parametrize("way", [None, "two-stacks"])
def test_long_runs(lengths: list[int], width: int, way: Any) -> None:
    """As many calls as a window has rows, twice; the bound of three holds, the few windows at the ends included."""
    low, high = of_keys(lengths, [width] * len(lengths))
    assert segments_of(MATRICES, (low, high)) is not None
    operations, calls = cost(np.random.default_rng(width).integers(-9, 9, sum(lengths)), low, high, way)
    assert operations <= 3 * len(low)
    assert calls <= 9 * width * -(-len(low) // (width * van_herk.MAX_SEGMENTS))


def test_what_is_left_to_the_general_way() -> None:
    """And long runs are by themselves: short ones beside one another, as long as nothing long is between them."""
    low = np.arange(100_000)
    assert segments_of(MATRICES, (low, low + 60)) is not None
    assert segments_of(MATRICES, (low, low + 1)) is None, "nothing to combine"
    assert segments_of(MATRICES, (2 * low, 2 * low + 60)) is None, "steps of two rows"
    assert segments_of(MATRICES, (low, low + 50_000)) is None, "two blocks"
    assert segments_of(MATRICES, (low[:1000], low[:1000] + 60)) is None, "few windows"
    row = np.concatenate([100_000 * run + 3 * np.arange(blocks) for run, blocks in enumerate([2, 1, 9, 12, 2, 2])])
    of = van_herk.SideBySide(row, row, 3, np.empty(0, np.int64))
    with limits(min_lone_blocks=5, run_blocks=8):
        batches = [(batch.start, batch.stop) for batch in van_herk._batches(of)]
    assert batches == [(0, 3), (3, 11), (11, 12), (12, 20), (20, 24), (24, 28)]


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
def test_matrices_are_turned(way: str, type: str) -> None:
    """Rows far apart are read or written; nothing between them is."""
    for shape in [(1, 1), (1, 9), (9, 1), (8, 16), (30, 7), (7, 30), (100, 33)]:
        matrix = np.arange(shape[0] * shape[1]).reshape(shape).astype(type)
        apart = np.zeros((shape[0], shape[1] + 5), type)
        turned = np.zeros((shape[1], shape[0]), type)
        apart[:, 2:-3] = matrix
        van_herk.transpose(apart[:, 2:-3], turned)
        assert np.array_equal(turned, matrix.T)
        apart[:] = np.zeros(1, type)
        van_herk.transpose(np.repeat(turned, 2, axis=1)[:, ::2], apart[:, 2:-3])
        expected = np.zeros_like(apart)
        expected[:, 2:-3] = matrix
        assert np.array_equal(apart, expected)


# The range tree: a logarithm of element operations a range, in a logarithm of calls


@given(st.integers(1, 70), st.data())
@example(70, [(1, 69), (0, 64), (63, 65), (69, 70), (1, 69)])
@example(40, [(30, 39), (3, 9)])  # the rows between them are in no range
@example(40, [(low, high) for low in range(40) for high in range(low + 1, 41)])
@example(1, [])
def test_any_ranges_in_any_order(rows: int, data: Any) -> None:
    """Letters are joined in order: one operation for each row in any range, and 2 log2(width) for each range."""
    drawn = data.draw(ranges(rows, ("any", "shuffled"))) if isinstance(data, st.DataObject) else np.array(data).T
    low, high = filled(*drawn) if len(drawn) else np.zeros((2, 0), np.int64)
    text, bound = texts()
    states = letters(rows)
    tree = by_range_tree(bound, states, low.copy(), high.copy())
    assert tree["total"].tolist() == ["".join(letters(rows)["total"][a:b]) for a, b in zip(low, high, strict=True)]
    inside = {row for a, b in zip(low, high, strict=True) for row in range(a, b)}
    assert text.combined <= len(inside) + sum(floor(2 * log2(width)) for width in high - low)
    assert states["total"].tolist() == letters(rows)["total"].tolist()


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 9, 1000, 1023, 1024, 1025])
def test_operations_a_range(width: int) -> None:
    """Not only on average: at every place a range of this width may have in the tree."""
    text, bound = texts()
    tree, levels = build(bound, {"total": np.full(width + 2100, "", object)}, width.bit_length())
    starts = np.arange(0, 2049, max(1, width // 64))
    nodes, counts = nodes_of(starts, starts + width, levels)
    assert counts.max() - 1 <= 2 * log2(width)
    text.restart()
    fold(bound, tree, nodes, counts)
    assert text.combined == counts.sum() - len(counts)


def test_calls_grow_with_the_logarithm_only() -> None:
    """Neither rows nor ranges are gone through one by one: lines of Python, and calls of combine."""
    chance = np.random.default_rng(3)
    lines: dict[tuple[int, int], int] = {}
    for rows, count in [(1 << 10, 100), (1 << 10, 20_000), (1 << 17, 100), (1 << 17, 20_000)]:
        text, bound = texts()
        low, last = np.sort(chance.integers(0, rows, (count, 2)), axis=1).T.copy()
        low[0], last[0] = 1, rows - 2  # the most nodes that a range can have
        states = {"total": np.full(rows, "", object)}
        lines[rows, count] = lines_run(lambda b=bound, s=states, a=low, z=last: by_range_tree(b, s, a, z + 1))  # type: ignore[misc]
        assert text.calls <= 4 * log2(rows)
    for rows in (1 << 10, 1 << 17):
        assert lines[rows, 20_000] <= 1.1 * lines[rows, 100]
        assert lines[rows, 20_000] <= 300 * log2(rows)
