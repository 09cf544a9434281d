"""Deviations on one grid against fractions: what is exact, how near the rest is, and what it leaves to others."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framefold.aggregators.deviations import Deviations
from framefold.aggregators.frames import Frames
from framefold.aggregators.gridded import COARSE, gridded


def frames_of(index: Any) -> Frames:
    rows = np.asarray(index)
    return Frames(rows, int(rows.max()) + 1, np.zeros(len(rows), np.int64))


def check(made: Deviations, index: np.ndarray, values: np.ndarray, frames: list[int]) -> None:
    """Sums of deviations are right to 60 bits of their size, sums of squares to 60 bits of themselves."""
    assert np.array_equal(made.count, np.bincount(index))
    for frame in frames:
        centre = Fraction(float(made.centre[frame]))
        away = [Fraction(float(value)) - centre for value in values[index == frame]]
        unit = Fraction(2) ** (600 * int(made.level[frame]))
        total = (Fraction(float(made.sum[frame])) + Fraction(float(made.sum_low[frame]))) * unit
        squares = (Fraction(float(made.squares[frame])) + Fraction(float(made.squares_low[frame]))) * unit * unit
        exact = sum(each * each for each in away)
        assert abs(squares - exact) <= exact / 2**60
        assert abs(total - sum(away)) <= sum(map(abs, away)) / 2**60


@pytest.mark.parametrize("rows", [2, 7, 55, 900])
@pytest.mark.parametrize("kind", ["normal", "far off", "of both signs", "integers", "skewed", "tenths"])
def test_frames_that_are_alike(kind: str, rows: int) -> None:
    chance = np.random.default_rng(rows)
    count = 200_000 // rows
    index = np.tile(np.arange(count), rows)
    values = {
        "normal": chance.normal(50, 10, len(index)),
        "far off": chance.normal(1e9, 1.0, len(index)),
        "of both signs": chance.normal(0, 1e-9, len(index)),
        "integers": chance.integers(-1000, 1000, len(index)).astype(float),
        "skewed": chance.lognormal(0, 1, len(index)),
        "tenths": np.round(chance.uniform(20, 30, len(index)), 1),
    }[kind]
    frames = frames_of(index)
    assert gridded(frames, values) is not None
    some = chance.integers(0, count, 60).tolist()
    check(Deviations.of(frames, values), index, values, some)


def test_frames_too_near_to_themselves_are_left_to_others() -> None:
    """One frame a million times narrower than the others, one of equal values, one of a single value."""
    chance = np.random.default_rng(5)
    index = np.repeat(np.arange(103), [*[100] * 101, 3, 1])
    values = chance.normal(0, 1, len(index))
    values[index == 100] = 0.3 + chance.normal(0, 1e-6, 100)
    values[index == 101] = 0.1
    frames = frames_of(index)
    found = gridded(frames, values)
    assert found is not None
    assert np.flatnonzero(found.doubtful).tolist() == [100, 101]
    made = Deviations.of(frames, values)
    check(made, index, values, list(range(90, 103)))
    assert made.squares[102] == 0.0
    assert made.centre[102] == values[-1]


@pytest.mark.parametrize(
    ("name", "index", "values"),
    [
        ("no values", [], []),
        ("equal values", [0, 0, 1], [3.0, 3.0, 3.0]),
        ("not a number", [0, 0, 1], [3.0, math.nan, 1.0]),
        ("infinite", [0, 0, 1], [3.0, math.inf, 1.0]),
        ("huge", [0, 0, 1], [3.0, 1e300, 1.0]),
        ("tiny", [0, 0, 1], [3e-300, 1e-300, 1e-300]),
        ("finer than the grid can be", [0, 0, 1], [1e9, 1e9 + 1e-3, 1e9]),
        ("finer than floats", [0, 0, 1], [1e16, 1e16 + 2, 1e16]),
        ("a frame of a million rows", [0] * (1 << 20), list(range(1 << 20))),
        ("a frame of most rows", [*[0] * 1000, *range(1, 1000)], list(range(1999))),
        ("frames apart", np.repeat([0, 1], 500), np.repeat([0.0, 1e9], 500) + np.arange(1000) % 7),
    ],
)
def test_batches_that_are_left_to_others(name: str, index: Any, values: Any) -> None:
    rows, column = np.asarray(index, np.int64), np.asarray(values, np.float64)
    frames = Frames(rows, int(rows.max(initial=-1)) + 1, np.zeros(len(rows), np.int64))
    with np.errstate(all="ignore"):
        assert gridded(frames, column) is None
        made = Deviations.of(frames, column)
    assert len(made.count) == frames.size
    if np.isfinite(column).all() and len(column) < 2000:
        check(made, rows, column, list(range(frames.size))[:5])


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.floats(-1e6, 1e6) | st.sampled_from([0.1, 0.3, 1e-9, 7.0])),
        min_size=1,
        max_size=30,
    )
)
def test_any_small_batch(events: list[tuple[int, float]]) -> None:
    index = np.unique([frame for frame, _ in events], return_inverse=True)[1]
    values = np.array([value for _, value in events])
    frames = frames_of(index)
    with np.errstate(all="ignore"):
        check(Deviations.of(frames, values), index, values, list(range(frames.size)))


def test_the_grid_is_fine_enough() -> None:
    """What is kept has 63 bits at least: 53 of a float, and those by which deviations exceed the grid."""
    assert 53 + math.log2(COARSE) == 63
