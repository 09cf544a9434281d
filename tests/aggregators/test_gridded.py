"""Deviations on one grid against fractions: what is exact, how near the rest is, and what it leaves to others."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.aggregators.moments.grid_deviations import MIN_STEPS, grid_of, gridded

from ..oracles.exact import in_units
from ..support.loops import by_numpy, loops, needs_loops
from ..support.states import Deviations


def frames_of(index: Any) -> ff.Frames:
    rows = np.asarray(index)
    return ff.Frames(rows, int(rows.max()) + 1, np.zeros(len(rows), np.int64))


def check(made: Deviations, index: np.ndarray, values: np.ndarray, frames: list[int]) -> None:
    """Sums of deviations are right to 60 bits of their size, sums of squares to 60 bits of themselves."""
    assert np.array_equal(made.count, np.bincount(index))
    for frame in frames:
        (centre, *own), one = in_units([made.centre[frame], *values[index == frame]])
        away = [each - centre for each in own]
        unit = Fraction(2) ** (600 * int(made.level[frame]))
        total = (Fraction(float(made.sum[frame])) + Fraction(float(made.sum_low[frame]))) * unit
        squares = (Fraction(float(made.squares[frame])) + Fraction(float(made.squares_low[frame]))) * unit * unit
        exact = sum(each * each for each in away) * one**2
        assert abs(squares - exact) <= exact / 2**60
        assert abs(total - sum(away) * one) <= sum(map(abs, away)) * one / 2**60


@pytest.mark.parametrize("rows", [2, 7, 55, 900])
@pytest.mark.parametrize("kind", ["normal", "far off", "of both signs", "integers", "skewed", "tenths"])
def test_frames_that_are_alike(way: str, kind: str, rows: int) -> None:
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


def test_frames_too_near_to_themselves_are_left_to_others(way: str) -> None:
    """One frame a million times narrower than the others, one of equal values, one of a single value; one whose first
    value is far from all the others.
    """
    chance = np.random.default_rng(5)
    index = np.repeat(np.arange(104), [*[100] * 101, 3, 1, 1000])
    values = chance.normal(0, 1, len(index))
    values[index == 100] = 0.3 + chance.normal(0, 1e-6, 100)
    values[index == 101] = 0.1
    values[-1000] = 50.0
    frames = frames_of(index)
    found = gridded(frames, values)
    assert found is not None
    assert np.flatnonzero(found.doubtful).tolist() == [100, 101, 103]
    made = Deviations.of(frames, values)
    check(made, index, values, list(range(90, 104)))
    assert made.squares[102] == 0.0
    assert made.centre[102] == values[-1001]


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
        ("one frame of many of a million rows", [*[0] * (1 << 20), *range(1, 1000)], list(range((1 << 20) + 999))),
    ],
)
def test_batches_that_are_left_to_others(way: str, name: str, index: Any, values: Any) -> None:
    rows, column = np.asarray(index, np.int64), np.asarray(values, np.float64)
    frames = ff.Frames(rows, int(rows.max(initial=-1)) + 1, np.zeros(len(rows), np.int64))
    with np.errstate(all="ignore"):
        assert gridded(frames, column) is None
        made = Deviations.of(frames, column)
    assert len(made.count) == frames.size
    if np.isfinite(column).all() and len(column) < 2000:
        check(made, rows, column, list(range(frames.size))[:5])


def test_frames_far_apart_are_left_to_others(way: str) -> None:
    index, values = np.repeat([0, 1], 500), np.repeat([0.0, 1e9], 500) + np.arange(1000) % 7
    frames = frames_of(index)
    found = gridded(frames, values)
    assert found is not None
    assert found.doubtful.all()
    check(Deviations.of(frames, values), index, values, [0, 1])


@pytest.mark.parametrize("hot", [900, 1000, 1023, 1024, 20_000, (1 << 17) - 3])
def test_a_frame_of_most_rows(way: str, hot: int) -> None:
    """It has more than was to be expected: its grid is found when that is known."""
    index = np.concatenate([np.arange(10_000) % 5000, np.full(hot, 7)])
    values = np.random.default_rng(hot).normal(size=len(index))
    frames = frames_of(index)
    assert gridded(frames, values) is not None
    check(Deviations.of(frames, values), index, values, [0, 7, 4999] if hot < 30_000 else [0, 4999])


def test_frames_without_a_row(way: str) -> None:
    """They have nothing in them, whichever way the others go; and how many rows there are is known then."""
    for values in ([1.5, 2.0, 7.25], [3.0, 3.0, 3.0], [1e300, 1.0, 2.0], [1.0, 1.0 + 1e-12, 1e6]):
        frames = ff.Frames(np.array([1, 1, 3]), 5, np.zeros(3, np.int64))
        with np.errstate(all="ignore"):
            made = Deviations.of(frames, np.array(values))
        assert frames.count().tolist() == made.count.tolist() == [0, 2, 0, 1, 0]
        for column in (made.sum, made.sum_low, made.squares, made.squares_low):
            assert (column[[0, 2, 4]] == 0).all()
        assert made.variance(0)[0][3] == 0
        exact = (Fraction(values[0]) - Fraction(values[1])) ** 2 / 4 / Fraction(2) ** (1200 * int(made.level[1]))
        assert made.variance(0)[0][1] == float(exact)


@needs_loops
@pytest.mark.parametrize("bits", [4, 10, 17])
@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_both_ways_give_the_same_bits(bits: int, order: str) -> None:
    chance = np.random.default_rng(bits)
    size = 400_000 >> bits
    index = np.concatenate([np.full((1 << bits) - 1, size), np.tile(np.arange(size), (1 << bits) - 2)])
    index = np.sort(index) if order == "sorted" else chance.permutation(index)
    values = chance.normal(size=len(index)) * 2.0 ** chance.integers(-30, 1, len(index))
    grid = grid_of(float(values.max() - values.min()), bits)
    looped, plain = np.zeros((2, size + 1, 6))
    for each, made in ((loops, looped), (by_numpy, plain)):
        each.add_deviations(values, index, grid.adder, made)
    assert looped.tobytes() == plain.tobytes()
    assert looped[:, 0].tolist() == np.bincount(index).tolist()


def test_columns_with_gaps(way: str) -> None:
    frames = ff.Frames(np.arange(10)[::-2][:4] % 2, 2, np.zeros(4, np.int64))
    found = gridded(frames, np.arange(10.0)[::3])
    assert found is not None
    assert (found.rows.tolist(), found.centre[1], found.sums[0, 1], found.sums[2, 1]) == ([0, 4], 0.0, 18.0, 126.0)


@pytest.mark.parametrize("group", [-3, 2])
def test_a_group_that_there_is_not(way: str, group: int) -> None:
    with pytest.raises(IndexError):
        gridded(ff.Frames(np.array([0, group, 1]), 2, np.zeros(3, np.int64)), np.array([1.0, 2.0, 3.0]))


@needs_loops
def test_lengths_that_differ() -> None:
    for rows, columns in ((2, 6), (3, 5)):
        with pytest.raises(ValueError, match="must be of one length"):
            loops.add_deviations(np.ones(3), np.zeros(rows, np.intp), 1.0, np.zeros((2, columns)))


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
    assert 53 + math.log2(MIN_STEPS) == 63
