"""Deviations joined, by the compiled loop and by numpy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.aggregators.moments.deviations import ORDINARY

from ..support.loops import WAYS, by, loops, needs_loops
from ..support.states import Deviations


def states(size: int, seed: int, *, rows: int = 8, away: float = 50.0, empty: float = 0.1) -> Deviations:
    """Deviations of some values each, some of none."""
    chance = np.random.default_rng(seed)
    index = np.tile(np.arange(size), rows)
    values = chance.normal(away, 10, len(index)) * 10.0 ** chance.integers(-3, 3, len(index))
    of = Deviations.of(ff.Frames(index, size, np.zeros(len(index), np.int64)), values)
    made = Deviations(**{name: column.copy() for name, column in of.fields().items()})  # zeros may be shared
    none = chance.random(size) < empty
    for column in made.fields().values():
        column[none] = 0
    return made


def assert_same_bits(a: Deviations, b: Deviations) -> Deviations:
    """Joined by the loop and by numpy they are the same; what they are."""
    made = []
    for way in WAYS:
        with by(way), np.errstate(all="ignore"):
            made.append(a.join(b))
    for name, column in made[0].fields().items():
        assert column.dtype == made[1].fields()[name].dtype
        np.testing.assert_array_equal(column, made[1].fields()[name])
    return made[0]


@needs_loops
@pytest.mark.parametrize("size", [0, 1, 1000])
@pytest.mark.parametrize("more", [1, 1 << 20, 1 << 40])
def test_both_ways_give_the_same_bits(size: int, more: int) -> None:
    """Also where the number of values does not fit half a float."""
    a, b = states(size, 1), states(size, 2)
    a.count *= more
    b.count *= more - 1 if more > 1 else 1
    assert_same_bits(a, b)


@needs_loops
@pytest.mark.parametrize("apart", [1e200, 1e-200, math.inf, math.nan, -1e300])
def test_centres_too_far_apart_or_too_near_are_left_to_numpy(apart: float) -> None:
    a, b = states(10, 1, empty=0.0), states(10, 2, empty=0.0)
    a.centre[:] = 0.0
    b.centre[:] = [*[0.0] * 9, apart]
    made = [column.copy() for column in a._contiguous()]
    assert not loops.join_groups_of_deviations(b._contiguous(), np.arange(10), made, ORDINARY)
    assert_same_bits(a, b)


@needs_loops
def test_columns_with_gaps() -> None:
    a, b = states(100, 1), states(100, 2)
    some = [Deviations(*(column[::3] for column in each.fields().values())) for each in (a, b)]
    assert len(assert_same_bits(*some).count) == 34


@needs_loops
def test_columns_of_several_lengths() -> None:
    a, b = states(10, 1), states(10, 2)
    for place in range(6):
        columns = a._contiguous()
        columns[place] = columns[place][:9]
        with pytest.raises(ValueError, match="must be of the length of index"):
            loops.join_groups_of_deviations(columns, np.arange(10), b._contiguous(), ORDINARY)


@needs_loops
@pytest.mark.parametrize("size", [5, 50, 64, 200])
@pytest.mark.parametrize("order", ["rising", "falling", "any", "in runs"])
def test_groups_are_joined_as_one_after_the_other(size: int, order: str) -> None:
    parts = [states(size, seed) for seed in range(4)]
    rng = np.random.default_rng(size)
    places = {
        "rising": np.arange(size),
        "falling": np.arange(size)[::-1],
        "any": rng.permutation(size),
        "in runs": np.argsort(rng.integers(0, 3, size), kind="stable"),
    }[order]
    group = np.tile(places, 4)
    whole = Deviations(*map(np.concatenate, zip(*(part.fields().values() for part in parts), strict=True)))
    joined = Deviations.join_groups([(whole, group)], size)
    assert joined is not None
    expected = parts[0]
    for part in parts[1:]:
        expected = expected.join(part)
    for name, column in expected.fields().items():
        if name == "centre":  # that of no value at all is any
            column, found = column[expected.count > 0], joined.fields()[name][places][expected.count > 0]
            np.testing.assert_array_equal(column, found)
        else:
            np.testing.assert_array_equal(column, joined.fields()[name][places])


@pytest.mark.parametrize(("field", "value"), [("centre", 1e200), ("centre", 1e-200), ("level", 1)])
def test_groups_that_cannot_be_joined_at_once(field: str, value: float) -> None:
    made = states(10, 1, empty=0.0)
    made.centre[:] = 0.0
    made.fields()[field][7] = value
    assert Deviations.join_groups([(made, np.zeros(10, np.intp))], 1) is None


@needs_loops
def test_groups_of_other_lengths() -> None:
    columns, made = states(10, 1)._contiguous(), [np.zeros(2, np.int64), *np.zeros((5, 2))]
    with pytest.raises(ValueError, match="the length of index"):
        loops.join_groups_of_deviations(columns, np.zeros(9, np.intp), made, 1.0)
    with pytest.raises(ValueError, match="of one length"):
        loops.join_groups_of_deviations(columns, np.zeros(10, np.intp), [made[0][:1], *made[1:]], 1.0)
    with pytest.raises(IndexError, match="group 2 of a row is not among 2"):
        loops.join_groups_of_deviations(columns, np.full(10, 2), made, ORDINARY)


VALUES = st.lists(st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6), min_size=1, max_size=5)


@given(VALUES, VALUES)
def test_what_is_joined_is_right(left: list[float], right: list[float]) -> None:
    """Against fractions, both ways."""
    values = [Fraction(value) for value in left + right]
    for way in WAYS:
        with by(way):
            a, b = (
                Deviations.of(ff.Frames(np.zeros(len(each), np.intp), 1, np.zeros(len(each), np.int64)), np.array(each))
                for each in (left, right)
            )
            made = a.join(b)
            away = [value - Fraction(float(made.centre[0])) for value in values]
            squares = sum(each * each for each in away)
            found = Fraction(float(made.squares[0])) + Fraction(float(made.squares_low[0]))
            assert made.count[0] == len(values)
            assert abs(found - squares) <= squares / 2**60
            total = Fraction(float(made.sum[0])) + Fraction(float(made.sum_low[0]))
            assert abs(total - sum(away)) <= sum(map(abs, away)) / 2**60
