"""The first later value above, against looking for it row by row; and chains, against walking along them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from framefold.runtime.frames.next_greater import chain, first_above

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


def cut(rows: int, bits: int) -> list[int]:
    """First rows of keys: 0, and any others."""
    return [row for row in range(rows) if row == 0 or bits >> row & 1]


def array(values: list[Any]) -> Any:
    return np.array(values, np.float64 if any(isinstance(value, float) for value in values) else np.int64)


@given(st.one_of(st.lists(integers, max_size=40), st.lists(floats, max_size=40)), st.integers(0, 2**40), margins)
@example([LEAST, MOST, LEAST, MOST], 0, 0)
@example([LEAST, MOST], 0, 2**64 - 2)
@example([math.nan, math.nan, math.inf, math.nan], 0, math.inf)
@example([-math.inf, -math.inf, 0.0, math.inf, math.inf], 0, 0)
@example([0.1, 0.3, 0.30000000000000004], 0, 0.2)  # 0.3 - 0.1 is below 0.2 in floats
def test_first_above_by_looking(values: list[Any], bits: int, margin: Any) -> None:
    starts = cut(len(values), bits >> 20 & bits)
    found = first_above(array(values), np.array(starts, np.int64), margin)
    assert found.tolist() == brute(values, starts, margin)


@pytest.mark.parametrize("kind", ["walk", "noise", "down", "up", "equal", "saw"])
@pytest.mark.parametrize("rows", [1, 2, 255, 256, 257, 1500])
def test_first_above_in_longer_columns(kind: str, rows: int) -> None:
    chance = np.random.default_rng(rows)
    steps = np.arange(rows)
    values = {
        "walk": np.cumsum(chance.normal(0, 1, rows)),
        "noise": chance.normal(0, 1, rows),
        "down": -steps,
        "up": steps,
        "equal": 0 * steps,
        "saw": -steps % 37 - steps // 37,
    }[kind]
    for keys in (1, 7):
        starts = np.unique(np.append(0, chance.integers(0, rows, keys - 1)))
        for margin in (0, 2, 0.5):
            listed = values.tolist()
            assert first_above(values, starts, margin).tolist() == brute(listed, starts.tolist(), margin)


def test_values_and_starts_are_not_changed() -> None:
    values, starts = np.array([3.0, 1.0, 2.0]), np.array([0, 2])
    first_above(values, starts, 0)
    chain(np.array([1, 2, 3]), starts)
    assert (values.tolist(), starts.tolist()) == ([3.0, 1.0, 2.0], [0, 2])


def walk(following: list[int], starts: list[int]) -> list[bool]:
    reached, ends = [False] * len(following), ends_of(starts, len(following))
    for start in starts:
        row = start
        while row < ends[start]:
            reached[row] = True
            row = following[row]
    return reached


@given(st.lists(st.integers(1, 50), max_size=50), st.integers(0, 2**50))
@example([1] * 33, 0)
@example([50] * 5, 0)
def test_chain_by_walking(steps: list[int], bits: int) -> None:
    starts = cut(len(steps), bits >> 25 & bits)
    ends = ends_of(starts, len(steps))
    following = [min(row + step, ends[row]) for row, step in enumerate(steps)]
    assert chain(np.array(following, np.int64), np.array(starts, np.int64)).tolist() == walk(following, starts)


@pytest.mark.parametrize("keys", [1, 1000])
def test_both_in_a_logarithm_of_steps(keys: int) -> None:
    """A column that is ever more above, and one that never is: no loop over rows shows."""
    for bits in (11, 19):
        rows = 1 << bits
        starts = np.arange(0, rows, rows // keys)
        for values in (np.arange(rows), -np.arange(rows), np.random.default_rng(1).integers(0, 100, rows)):
            found: list[Any] = []
            looked = lines_run(lambda v=values, f=found, s=starts: f.append(first_above(v, s, 3)))  # type: ignore[misc]
            walked = lines_run(lambda f=found, s=starts: f.append(chain(f[0], s)))  # type: ignore[misc]
            assert looked <= 90 * bits
            assert walked <= 20 * bits
            ends = np.repeat(np.append(starts[1:], rows), np.diff(np.append(starts, rows)))
            if values[1] == 1:  # one more each row
                assert np.array_equal(found[0], np.minimum(np.arange(rows) + 4, ends))
                assert np.array_equal(found[1], (np.arange(rows) - starts[np.searchsorted(starts, ends) - 1]) % 4 == 0)
            elif values[1] == -1:
                assert np.array_equal(found[0], ends)
                assert np.array_equal(np.flatnonzero(found[1]), starts)
