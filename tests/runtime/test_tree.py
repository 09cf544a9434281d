"""The range tree: any ranges in any order, at a logarithm of element operations a range, in a logarithm of calls."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable
from fractions import Fraction
from math import floor, log2
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff
from framefold.runtime.sliding.range_tree import build, by_range_tree, fold, nodes_of

from ..support.plans import BoundAggregate
from ..support.toys import Items
from .test_scan import Text

Ranges = list[tuple[int, int]]


def columns(pairs: Ranges) -> tuple[np.ndarray, np.ndarray]:
    low, high = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    return low, high


def letters(rows: int) -> str:
    return "".join(chr(65 + row) for row in range(rows))


def lines_run(function: Callable[[], Any]) -> int:
    """How many lines of Python a call runs: a loop over rows or ranges would show."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return lines


def most_operations(pairs: Ranges) -> int:
    """One for each row in any range, and 2 log2(width) for each range."""
    rows = {row for low, high in pairs for row in range(low, high)}
    return len(rows) + sum(floor(2 * log2(high - low)) for low, high in pairs)


some_ranges = st.integers(1, 70).flatmap(
    lambda rows: st.tuples(
        st.just(rows),
        st.lists(
            st.tuples(st.integers(0, rows - 1), st.integers(1, rows)).map(
                lambda pair: (pair[0], min(rows, pair[0] + pair[1]))
            ),
            max_size=30,
        ),
    )
)
"""Some rows, and filled ranges of them: nested, equal, apart, in any order."""


@given(some_ranges)
@example((1, [(0, 1)]))
@example((70, [(1, 69), (0, 64), (63, 65), (69, 70), (1, 69)]))
@example((40, [(30, 39), (3, 9)]))  # the rows between them are in no range
def test_any_ranges_in_any_order(case: tuple[int, Ranges]) -> None:
    """Letters are joined in order, and with no more operations than promised."""
    rows, pairs = case
    text, all_letters = Text("x"), letters(rows)
    bound = BoundAggregate("s", text, [pa.string()])
    text.calls = text.combined = 0
    found = by_range_tree(bound, {"text": np.array(list(all_letters), object)}, *columns(pairs))
    assert found["text"].tolist() == [all_letters[low:high] for low, high in pairs]
    assert text.combined <= most_operations(pairs)


def test_every_range_there_is() -> None:
    pairs = [(low, high) for low in range(40) for high in range(low + 1, 41)]
    found = by_range_tree(
        BoundAggregate("s", Text("x"), [pa.string()]), {"text": np.array(list(letters(40)), object)}, *columns(pairs)
    )
    assert found["text"].tolist() == [letters(40)[low:high] for low, high in pairs]


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 9, 1000, 1023, 1024, 1025])
def test_operations_a_range(width: int) -> None:
    """Not only on average: at every place a range of this width may have in the tree."""
    text, rows = Text("x"), width + 2100
    bound = BoundAggregate("s", text, [pa.string()])
    states = {"text": np.full(rows, "", object)}
    tree, levels = build(bound, states, width.bit_length())
    starts = np.arange(0, 2049, max(1, width // 64))
    nodes, counts = nodes_of(starts, starts + width, levels)
    assert counts.max() - 1 <= 2 * log2(width)
    text.combined = 0
    fold(bound, tree, nodes, counts)
    assert text.combined == counts.sum() - len(counts)


def test_calls_grow_with_the_logarithm_only() -> None:
    """Neither rows nor ranges are gone through one by one: lines of Python, and calls of combine."""
    chance = np.random.default_rng(3)
    lines: dict[tuple[int, int], int] = {}
    for rows, ranges in [(1 << 10, 100), (1 << 10, 20_000), (1 << 18, 100), (1 << 18, 20_000)]:
        text = Text("x")
        bound = BoundAggregate("s", text, [pa.string()])
        low, last = np.sort(chance.integers(0, rows, (ranges, 2)), axis=1).T.copy()
        low[0], last[0] = 1, rows - 2  # the most nodes that a range can have
        states = {"text": np.full(rows, "", object)}
        text.calls = 0
        lines[rows, ranges] = lines_run(lambda b=bound, s=states, a=low, z=last: by_range_tree(b, s, a, z + 1))  # type: ignore[misc]
        assert text.calls <= 4 * log2(rows)
    for rows in (1 << 10, 1 << 18):
        assert lines[rows, 20_000] <= 1.1 * lines[rows, 100]
        assert lines[rows, 20_000] <= 300 * log2(rows)


def test_no_ranges() -> None:
    none = np.zeros(0, np.int64)
    found = by_range_tree(BoundAggregate("s", Text("x"), [pa.string()]), {"text": np.array(["a"], object)}, none, none)
    assert len(found["text"]) == 0


def variance(values: list[Any]) -> float | None:
    return float(statistics.variance(map(Fraction, values))) if len(values) > 1 else None


OPERATIONS: dict[str, tuple[Any, pa.DataType, Callable[[list[Any]], Any]]] = {
    "sum": (ff.Sum("x"), pa.int64(), sum),
    "sum of floats": (ff.Sum("x"), pa.float64(), math.fsum),
    "min": (ff.Min("x"), pa.float64(), min),
    "variance": (ff.Variance("x"), pa.float64(), variance),
    "list": (ff.CollectList("x"), pa.int64(), list),
    "distinct": (ff.CountDistinct("x"), pa.int64(), lambda values: len(set(values))),
    "last": (ff.Last("x"), pa.int64(), lambda values: values[-1]),
    "a user's list": (Items("x"), pa.int64(), list),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_all_kinds(name: str) -> None:
    """Frames of three events each, in ranges of all widths and in any order."""
    operation, type, right = OPERATIONS[name]
    bound = BoundAggregate("x", operation, [type])
    chance = np.random.default_rng(len(name))
    frames = 300
    values = pa.array((chance.integers(-400, 400, 3 * frames) / 8).tolist()).cast(type, safe=False)
    states = bound.accumulate(ff.Frames(np.repeat(np.arange(frames), 3), frames, np.arange(3 * frames)), [values])
    ends = np.sort(chance.integers(0, frames, (200, 2)), axis=1)
    low, high = ends[:, 0], ends[:, 1] + 1
    found = bound.finish(by_range_tree(bound, states, low, high)).to_pylist()
    events = values.to_pylist()
    for window, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        expected = right(events[3 * a : 3 * b])
        assert found[window] == (pytest.approx(expected, rel=1e-12) if type == pa.float64() else expected)


def test_states_are_not_changed() -> None:
    states = {"text": np.array(list(letters(9)), object)}
    by_range_tree(BoundAggregate("s", Text("x"), [pa.string()]), states, np.array([3, 0, 8]), np.array([5, 9, 9]))
    assert states["text"].tolist() == list(letters(9))
