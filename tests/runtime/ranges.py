"""Ranges of rows, and operations whose folds over them are known, for tests of sliding."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import framefold as ff

from ..oracles.by_definition import exact_sum, same, sizes, slack
from ..support.plans import BoundAggregate
from ..support.stages import slide
from ..support.states import Compensated

INT, FLOAT = pa.int64(), pa.float64()
PRIME = 10_007
Ranges = tuple[np.ndarray, np.ndarray]
"""The first rows of ranges, and the rows after their last ones."""


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


class CountingSum(ff.AggregateOperation):
    """A sum that counts the states that it combines or deducts, its calls, and the rows that it accumulates."""

    state = {"total": "int64"}
    commutative = True
    result = "int64"
    try_laws = False  # what a trial combines is not counted

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.restart()

    def restart(self) -> None:
        self.combined = self.deducted = self.calls = self.rows = 0

    @property
    def operations(self) -> int:
        return self.combined + self.deducted

    def accumulate(self, frames: Any, *columns: Any) -> Any:
        self.rows += len(columns[0])
        return {"total": frames.sum(columns[0])}

    def combine(self, a: Any, b: Any) -> Any:
        self.combined += len(a["total"])
        self.calls += 1
        return {"total": a["total"] + b["total"]}

    def deduct(self, a: Any, b: Any) -> Any:
        self.deducted += len(a["total"])
        self.calls += 1
        return {"total": a["total"] - b["total"]}

    def finish(self, a: Any) -> Any:
        return a["total"]


class Text(CountingSum):
    """Concatenation, which counts its work."""

    state = {"total": "object"}
    commutative = False
    result = "string"
    deduct = ff.AggregateOperation.deduct

    def create(self) -> Any:
        return {"total": ""}


def cost(values: Any, low: Any, high: Any, way: Any = None, of: Any = CountingSum) -> tuple[int, int]:
    """Element operations and calls of a slide, the sums of which are looked at as well."""
    counting = of("x")
    bound = BoundAggregate("x", counting, [INT])
    counting.restart()
    slid = slide(bound, {"total": values}, low, high, way)
    sums = np.concatenate([[0], np.cumsum(values)])
    assert np.array_equal(np.asarray(slid["total"]), sums[high] - sums[low])
    return counting.operations, counting.calls


MATRICES = BoundAggregate("m", Matrices("x"), [INT])
FLOATS = BoundAggregate("f", ff.Sum("x"), [FLOAT])


def texts() -> tuple[Text, BoundAggregate]:
    """A concatenation that has counted nothing yet, by itself and bound."""
    text = Text("x")
    bound = BoundAggregate("s", text, [pa.string()])
    text.restart()
    return text, bound


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


def letters(rows: int) -> Any:
    """A state of one letter for each row."""
    return {"total": np.array([chr(65 + row) for row in range(rows)], object)}


def matrices(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(seed)
    return {key: chance.integers(0, PRIME, rows) for key in "abcd"}


def product(states: Any, low: int, high: int) -> list[int]:
    """The product of the matrices of a range."""
    a, b, c, d = 1, 0, 0, 1
    for p, q, r, s in zip(*(states[key][low:high].tolist() for key in "abcd"), strict=True):
        a, b, c, d = a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s
        a, b, c, d = a % PRIME, b % PRIME, c % PRIME, d % PRIME
    return [a, b, c, d]


def floats(high: Any, low: Any = None) -> Any:
    """States of sums of floats: values, and what is below their last digits."""
    column = Compensated.of(np.array(high, np.float64))
    if low is not None:
        column += Compensated.of(np.array(low, np.float64))
    return {"total": column, "frames": np.ones(len(column), np.int64)}


NASTY = [1e16, -1e16, 1e300, -1e300, 1e308, -1e308, math.nan, math.inf, -math.inf, 5e-324, -0.0, 0.1, 1.0, -1.0, 3.0]
TAME = [1e16, -1e16, 0.1, 1.0, -1.0, 1e-9, 3e7, -0.7, 0.0]


def assert_own_values_only(got: float, own: list[float]) -> None:
    """Never worse than adding up the window's own values."""
    exact = exact_sum(own or [0.0])
    if not isinstance(exact, Fraction):
        assert same(got, exact) is None
    elif math.isinf(got):
        assert sizes(own) >= Fraction(2) ** 1023
    else:
        assert abs(Fraction(got) - exact) <= slack(own), (got, own)


def regular(rows: int, width: int, step: int = 1) -> Ranges:
    """Full ranges of one width, a step apart."""
    low = np.arange(0, max(rows - width, 0) + 1, step)
    return low, np.minimum(low + width, rows)


def of_keys(lengths: list[int], widths: list[int]) -> Ranges:
    """For each key all ranges of a width, with those at its ends that are narrower."""
    low, high, first = [], [], 0
    for length, width in zip(lengths, widths, strict=True):
        starts = np.arange(-width + 1, length)
        low.append(first + np.maximum(starts, 0))
        high.append(first + np.minimum(starts + width, length))
        first += length
    return np.concatenate(low), np.concatenate(high)


SHAPES = ("regular", "of keys", "forward", "growing", "any", "any", "shuffled")


@st.composite
def ranges(draw: st.DrawFn, rows: int, shapes: tuple[str, ...] = SHAPES) -> Ranges:
    """Ranges of rows: alike, or with any ends that ascend, or in any order, equal, nested and empty."""
    shape, ends = draw(st.sampled_from(shapes)), st.integers(0, rows)
    if shape == "regular":
        return regular(rows, draw(st.integers(1, rows)), draw(st.integers(1, 4)))
    if shape == "of keys":
        cuts = sorted({0, rows, *draw(st.lists(ends, max_size=4))})
        widths = draw(st.lists(st.sampled_from([1, 2, 3, 3, 5, 9]), min_size=len(cuts) - 1, max_size=len(cuts) - 1))
        return of_keys(np.diff(cuts).tolist(), widths)
    if shape == "any":
        pairs = draw(st.lists(st.tuples(ends, ends).map(sorted), max_size=40))
        return np.array([low for low, _ in pairs], np.int64), np.array([high for _, high in pairs], np.int64)
    low = np.array(sorted(draw(st.lists(ends, max_size=40))), np.int64)
    high = np.array(sorted(draw(st.lists(ends, min_size=len(low), max_size=len(low)))), np.int64)
    if shape == "growing":
        low = low // 7 * 7 * draw(st.integers(0, 1))
    high = np.maximum(low, high)
    order = np.array(draw(st.permutations(range(len(low)))) if shape == "shuffled" else range(len(low)), np.int64)
    return low[order], high[order]


def filled(low: np.ndarray, high: np.ndarray) -> Ranges:
    """The ranges that are not empty."""
    return low[low < high], high[low < high]


def some_bounds(of_stacks: bool = True) -> st.SearchStrategy[dict[str, int]]:
    """Limits so low that few rows take the ways that many take, or those that are."""
    windows = st.integers(1, 9)
    blocks = {"block_windows": windows, "block_rows": st.integers(1, 20)}
    few = {"restart_rows": st.integers(1, 5), "scanned_groups": st.integers(1, 5), "short_block": st.integers(0, 8)}
    stacks = {"run_blocks": windows, "run_states": st.integers(1, 40), "min_run_blocks": st.integers(1, 3)}
    always = {"min_lone_blocks": 3, "scanned_ranges": 7, "long_run": 1, "min_side_by_side": 4, "many_ranges": 4}
    drawn = st.fixed_dictionaries(blocks | (few | stacks if of_stacks else {}))
    return st.one_of(
        st.just({}),
        *[drawn.map(lambda low: low | {"regular_run": low["block_windows"] // 2 + 1} | (always if of_stacks else {}))]
        * 3,
    )
