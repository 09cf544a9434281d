"""The first later value that is further above, and chains, against walking along them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from framefold.runtime.frames.next_greater import chain, first_above

from ..support.examples import times
from .ranges import lines_run

LEAST, MOST = -(2**63), 2**63 - 1

integers = st.one_of(st.integers(-5, 5), st.sampled_from([LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST]))
floats = st.one_of(
    st.integers(-5, 5).map(float), st.sampled_from([math.nan, math.inf, -math.inf, 0.1, 0.3, 1e16, -0.0]), st.floats()
)
margins = st.one_of(st.integers(0, 4), st.sampled_from([0.5, 2.9999, 0.2, MOST, 2**64 - 2, 2**64 - 1, 2**70, math.inf]))


def is_above(later: Any, earlier: Any, margin: Any) -> bool:
    if math.isnan(later) or math.isnan(earlier):
        return math.isnan(later) and not math.isnan(earlier)
    return bool(later - earlier > margin)


def ends_of(starts: list[int], rows: int) -> list[int]:
    return [min([start for start in starts if start > row], default=rows) for row in range(rows)]


def brute(values: list[Any], starts: list[int], margin: Any) -> list[int]:
    return [
        next((later for later in range(row + 1, end) if is_above(values[later], values[row], margin)), end)
        for row, end in enumerate(ends_of(starts, len(values)))
    ]


def walk(following: list[int], starts: list[int]) -> list[bool]:
    reached, ends = [False] * len(following), ends_of(starts, len(following))
    for start in starts:
        row = start
        while row < ends[start]:
            reached[row] = True
            row = following[row]
    return reached


def check(values: np.ndarray, starts: list[int], margin: Any) -> None:
    """Both agree with walking, and leave their input as it is."""
    before, keys = values.copy(), np.array(starts, np.int64)
    above = first_above(values, keys, margin)
    assert above.tolist() == brute(values.tolist(), starts, margin)
    assert chain(above, keys).tolist() == walk(above.tolist(), starts)
    assert np.array_equal(values, before, equal_nan=values.dtype.kind == "f")
    assert keys.tolist() == starts


@times(6)
@given(st.one_of(st.lists(integers, max_size=40), st.lists(floats, max_size=40)), st.integers(0, 2**40), margins)
@example([LEAST, MOST, LEAST, MOST], 0, 0)
@example([LEAST, MOST], 0, 2**64 - 2)
@example([math.nan, math.nan, math.inf, math.nan], 0, math.inf)
@example([-math.inf, -math.inf, 0.0, math.inf, math.inf], 0, 0)
@example([0.1, 0.3, 0.30000000000000004], 0, 0.2)  # 0.3 - 0.1 is below 0.2 in floats
def test_first_above_by_looking(values: list[Any], bits: int, margin: Any) -> None:
    starts = [row for row in range(len(values)) if row == 0 or (bits >> 20 & bits) >> row & 1]
    column = np.array(values, np.float64 if any(isinstance(value, float) for value in values) else np.int64)
    check(column, starts, margin)


@pytest.mark.parametrize("rows", [1, 2, 255, 256, 257, 700])
def test_longer_columns(rows: int) -> None:
    chance, steps = np.random.default_rng(rows), np.arange(rows)
    walked, noise = np.cumsum(chance.normal(0, 1, rows)), chance.normal(0, 1, rows)
    for values in (walked, noise, -steps, steps, 0 * steps, -steps % 37 - steps // 37):
        for keys in (1, 7):
            check(values, np.unique(np.append(0, chance.integers(0, rows, keys - 1))).tolist(), 2)
        check(values, [0], 0.5)


@given(st.lists(st.integers(1, 50), max_size=50), st.integers(0, 2**50))
@example([1] * 33, 0)
@example([50] * 5, 0)
def test_chain_by_walking(steps: list[int], bits: int) -> None:
    starts = [row for row in range(len(steps)) if row == 0 or (bits >> 25 & bits) >> row & 1]
    ends = ends_of(starts, len(steps))
    following = [min(row + step, ends[row]) for row, step in enumerate(steps)]
    assert chain(np.array(following, np.int64), np.array(starts, np.int64)).tolist() == walk(following, starts)


@pytest.mark.parametrize("keys", [1, 1000])
def test_both_in_a_logarithm_of_steps(keys: int) -> None:
    """A column that is ever more above, and one that never is: no loop over rows shows."""
    for bits in (11, 17):
        rows = 1 << bits
        starts = np.arange(0, rows, rows // keys)
        for values in (np.arange(rows), -np.arange(rows), np.random.default_rng(1).integers(0, 100, rows)):
            above: list[Any] = []
            looked = lines_run(lambda v=values, f=above, s=starts: f.append(first_above(v, s, 3)))  # type: ignore[misc]
            walked = lines_run(lambda f=above, s=starts: chain(f[0], s))  # type: ignore[misc]
            assert looked <= 90 * bits
            assert walked <= 20 * bits
