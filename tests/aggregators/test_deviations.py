"""Deviations of frames on one grid, joined and from sums of integers, against fractions."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.aggregators.moments.deviations import ORDINARY
from framefold.aggregators.moments.grid_deviations import grid_of, gridded

from ..oracles.exact import in_units
from ..support.loops import WAYS, by, by_numpy, loops, needs_loops
from ..support.sql import ROW_LIMIT, SMALL_ROW_LIMIT, big_integers, sql_floats, sql_squares
from ..support.states import Deviations


def frames_of(index: Any, size: int | None = None) -> ff.Frames:
    rows = np.asarray(index, np.int64)
    return ff.Frames(rows, int(rows.max(initial=-1)) + 1 if size is None else size, np.zeros(len(rows), np.int64))


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


KINDS: dict[str, Any] = {
    "normal": lambda chance, n: chance.normal(50, 10, n),
    "far off": lambda chance, n: chance.normal(1e9, 1.0, n),
    "of both signs": lambda chance, n: chance.normal(0, 1e-9, n),
    "integers": lambda chance, n: chance.integers(-1000, 1000, n).astype(float),
    "skewed": lambda chance, n: chance.lognormal(0, 1, n),
    "tenths": lambda chance, n: np.round(chance.uniform(20, 30, n), 1),
}


@pytest.mark.parametrize("rows", [2, 7, 55, 900])
@pytest.mark.parametrize("kind", KINDS)
def test_frames_that_are_alike(way: str, kind: str, rows: int) -> None:
    chance = np.random.default_rng(rows)
    count = 60_000 // rows
    index = np.tile(np.arange(count), rows)
    values = KINDS[kind](chance, len(index))
    frames = frames_of(index)
    assert gridded(frames, values) is not None
    check(Deviations.of(frames, values), index, values, chance.integers(0, count, 15).tolist())


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


LEFT_TO_OTHERS = {
    "no values": ([], []),
    "equal values": ([0, 0, 1], [3.0, 3.0, 3.0]),
    "not a number": ([0, 0, 1], [3.0, math.nan, 1.0]),
    "infinite": ([0, 0, 1], [3.0, math.inf, 1.0]),
    "huge": ([0, 0, 1], [3.0, 1e300, 1.0]),
    "tiny": ([0, 0, 1], [3e-300, 1e-300, 1e-300]),
    "finer than the grid can be": ([0, 0, 1], [1e9, 1e9 + 1e-3, 1e9]),
    "finer than floats": ([0, 0, 1], [1e16, 1e16 + 2, 1e16]),
    "a frame of a million rows": (np.zeros(1 << 20), np.arange(1 << 20)),
    "one frame of many of a million rows": (np.maximum(np.arange(-(1 << 20), 1000), 0), np.arange((1 << 20) + 1000)),
}


@pytest.mark.parametrize("name", LEFT_TO_OTHERS)
def test_batches_that_are_left_to_others(way: str, name: str) -> None:
    index, values = (np.asarray(of, type) for of, type in zip(LEFT_TO_OTHERS[name], (int, float), strict=True))
    frames = frames_of(index)
    with np.errstate(all="ignore"):
        assert gridded(frames, values) is None
        made = Deviations.of(frames, values)
    assert len(made.count) == frames.size
    if np.isfinite(values).all() and len(values) < 2000:
        check(made, index, values, list(range(frames.size))[:5])


def test_frames_far_apart_are_left_to_others(way: str) -> None:
    index, values = np.repeat([0, 1], 500), np.repeat([0.0, 1e9], 500) + np.arange(1000) % 7
    found = gridded(frames_of(index), values)
    assert found is not None
    assert found.doubtful.all()
    check(Deviations.of(frames_of(index), values), index, values, [0, 1])


@pytest.mark.parametrize("hot", [900, 1000, 1023, 1024, 20_000, (1 << 17) - 3])
def test_a_frame_of_most_rows(way: str, hot: int) -> None:
    """It has more than was to be expected: its grid is found when that is known."""
    index = np.concatenate([np.arange(10_000) % 5000, np.full(hot, 7)])
    values = np.random.default_rng(hot).normal(size=len(index))
    assert gridded(frames_of(index), values) is not None
    check(Deviations.of(frames_of(index), values), index, values, [0, 7, 4999] if hot < 20_000 else [0, 4999])


def test_frames_without_a_row(way: str) -> None:
    """They have nothing in them, whichever way the others go; and how many rows there are is known then."""
    for values in ([1.5, 2.0, 7.25], [3.0, 3.0, 3.0], [1e300, 1.0, 2.0], [1.0, 1.0 + 1e-12, 1e6]):
        frames = frames_of([1, 1, 3], 5)
        with np.errstate(all="ignore"):
            made = Deviations.of(frames, np.array(values))
        assert frames.count().tolist() == made.count.tolist() == [0, 2, 0, 1, 0]
        for column in (made.sum, made.sum_low, made.squares, made.squares_low):
            assert (column[[0, 2, 4]] == 0).all()
        assert made.variance(0)[0][3] == 0
        exact = (Fraction(values[0]) - Fraction(values[1])) ** 2 / 4 / Fraction(2) ** (1200 * int(made.level[1]))
        assert made.variance(0)[0][1] == float(exact)


@needs_loops
@pytest.mark.parametrize("bits", [4, 10, 15])
@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_both_ways_give_the_same_bits(bits: int, order: str) -> None:
    chance = np.random.default_rng(bits)
    size = 100_000 >> bits
    index = np.concatenate([np.full((1 << bits) - 1, size), np.tile(np.arange(size), (1 << bits) - 2)])
    index = np.sort(index) if order == "sorted" else chance.permutation(index)
    values = chance.normal(size=len(index)) * 2.0 ** chance.integers(-30, 1, len(index))
    grid = grid_of(float(values.max() - values.min()), bits)
    looped, plain = np.zeros((2, size + 1, 6))
    for each, made in ((loops, looped), (by_numpy, plain)):
        each.add_deviations(values, index, grid.adder, made)
    assert looped.tobytes() == plain.tobytes()
    assert looped[:, 0].tolist() == np.bincount(index).tolist()


def test_columns_with_gaps_and_groups_that_there_are_not(way: str) -> None:
    found = gridded(frames_of(np.arange(10)[::-2][:4] % 2), np.arange(10.0)[::3])
    assert found is not None
    assert (found.rows.tolist(), found.centre[1], found.sums[0, 1], found.sums[2, 1]) == ([0, 4], 0.0, 18.0, 126.0)
    for group in (-3, 2):
        with pytest.raises(IndexError):
            gridded(frames_of([0, group, 1], 2), np.array([1.0, 2.0, 3.0]))


SMALL = st.floats(-1e6, 1e6) | st.sampled_from([0.1, 0.3, 1e-9, 7.0])


@given(st.lists(st.tuples(st.integers(0, 3), SMALL), min_size=1, max_size=30))
def test_any_small_batch(events: list[tuple[int, float]]) -> None:
    index = np.unique([frame for frame, _ in events], return_inverse=True)[1]
    values = np.array([value for _, value in events])
    with np.errstate(all="ignore"):
        check(Deviations.of(frames_of(index), values), index, values, list(range(index.max() + 1)))


# --- joined ----------------------------------------------------------------------------------------------------------


def states(size: int, seed: int, empty: float = 0.1) -> Deviations:
    """Deviations of some values each, some of none."""
    chance = np.random.default_rng(seed)
    index = np.tile(np.arange(size), 8)
    values = chance.normal(50.0, 10, len(index)) * 10.0 ** chance.integers(-3, 3, len(index))
    of = Deviations.of(frames_of(index, size), values)
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
def test_both_ways_join_to_the_same_bits(size: int, more: int) -> None:
    """Also where the number of values does not fit half a float, and of columns with gaps."""
    a, b = states(size, 1), states(size, 2)
    a.count *= more
    b.count *= more - 1 if more > 1 else 1
    assert_same_bits(a, b)
    third = [Deviations(*(column[::3] for column in each.fields().values())) for each in (a, b)]
    assert len(assert_same_bits(*third).count) == len(range(0, size, 3))


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
@pytest.mark.parametrize("size", [5, 64, 200])
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
    whole = Deviations(*map(np.concatenate, zip(*(part.fields().values() for part in parts), strict=True)))
    joined = Deviations.join_groups([(whole, np.tile(places, 4))], size)
    assert joined is not None
    expected = parts[0]
    for part in parts[1:]:
        expected = expected.join(part)
    for name, column in expected.fields().items():
        counts = expected.count > 0 if name == "centre" else slice(None)  # that of no value at all is any
        np.testing.assert_array_equal(column[counts], joined.fields()[name][places][counts])


@pytest.mark.parametrize(("field", "value"), [("centre", 1e200), ("centre", 1e-200), ("level", 1)])
def test_groups_that_cannot_be_joined_at_once(field: str, value: float) -> None:
    made = states(10, 1, empty=0.0)
    made.centre[:] = 0.0
    made.fields()[field][7] = value
    assert Deviations.join_groups([(made, np.zeros(10, np.intp))], 1) is None


VALUES = st.lists(st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6), min_size=1, max_size=5)


@given(VALUES, VALUES)
def test_what_is_joined_is_right(left: list[float], right: list[float]) -> None:
    for way in WAYS:
        with by(way):
            a, b = (Deviations.of(frames_of([0] * len(each)), np.array(each)) for each in (left, right))
            check(a.join(b), np.zeros(len(left + right), int), np.array(left + right), [0])


# From sums of integers that SQL makes

INT64 = st.integers(-(2**63), 2**63 - 1)
WIDE = st.integers(-(2**190), 2**190)


def integer(limbs: list[np.ndarray]) -> int:
    return sum(int(limb[0]) << big_integers.BITS * place for place, limb in enumerate(limbs))


@given(st.dictionaries(st.integers(-17, 143), INT64, min_size=1))
def test_parts_are_added_up(parts: dict[int, int]) -> None:
    """Those that stand below one have no bits there."""
    parts = {at: part >> -at << -at if at < 0 else part for at, part in parts.items()}
    limbs = big_integers.of_parts({at: np.array([part]) for at, part in parts.items()}, 8)
    assert integer(limbs) == sum(Fraction(part) * Fraction(2) ** at for at, part in parts.items())
    assert all(0 <= limb[0] < 1 << big_integers.BITS for limb in limbs[:-1])


@given(WIDE)
def test_an_integer_is_the_nearest_float_and_the_rest(whole: int) -> None:
    limbs = big_integers.carried(
        [np.array([(whole >> big_integers.BITS * place) & big_integers.MASK]) for place in range(6)]
        + [np.array([whole >> 6 * big_integers.BITS])]
    )
    high, low = (float(part[0]) for part in big_integers.floats(limbs))
    assert high == float(whole)
    assert abs(Fraction(high) + Fraction(low) - whole) <= abs(whole) * Fraction(2) ** -104


@given(st.floats(-(2.0**82), 2.0**82).map(lambda value: float(int(value))), INT64)
def test_products(value: float, other: int) -> None:
    limbs = big_integers.of_parts({0: np.array([other])}, 4)
    found = big_integers.product(big_integers.of_floats(np.array([value]), 3), limbs, 7)
    assert integer(big_integers.carried(found)) == int(value) * other


def pieces(most: int, value: float) -> dict[str, int]:
    """What SQL would add up of a value of ordinary size, computed in Python."""
    built = sql_squares.of_rows(pa.float64(), most)
    shifted = value * 2.0 ** sql_floats.first_shift(most)
    known = {"int": int, "shiftright": lambda number, bits: number >> bits, "shifted": shifted}

    def computed(text: str) -> int | float:
        python = re.sub(r"(\d)D\b", r"\1", text.removeprefix("sum")).replace("cast(", "int(")
        return eval(re.sub(r"\{(\w+)\}", r"\1", python.replace(" as bigint", "")), known)  # type: ignore[no-any-return]

    for step in ("square", "lost"):
        known[step] = computed(built.steps[step])
    names = [name for name in built.aggregates if name.startswith(("sum", "squares"))]
    return {name: int(computed(built.aggregates[name])) for name in names}


def values_of_ordinary_size() -> list[float]:
    """Random ones, those at the bounds, and those whose squares have long runs of equal bits."""
    rng = np.random.default_rng(4)
    top, bottom = sql_floats.TOP, sql_floats.TOP - sql_floats.WIDTH
    many = np.ldexp(rng.uniform(1, 2, 300), rng.integers(bottom, top, 300)) * rng.choice([-1, 1], 300)
    ends = [2.0**top, math.nextafter(2.0**top, 0), 2.0**bottom, math.nextafter(2.0**bottom, 0), 0.0]
    runs = [2.0**a + 2.0**b for a in range(bottom, top) for b in range(a - 52, a, 7)]
    runs += [2.0**a - 2.0**b for a in range(bottom + 1, top) for b in range(a - 52, a, 7)]
    return [*many.tolist(), *ends, *runs]


@pytest.mark.parametrize("most", [SMALL_ROW_LIMIT, ROW_LIMIT])
def test_the_integers_of_a_square_are_exact_and_have_room(most: int) -> None:
    for value in values_of_ordinary_size():
        found = pieces(most, value)
        squares = {int(name[7:]): piece for name, piece in found.items() if name.startswith("squares")}
        assert sum(piece << at for at, piece in squares.items()) == (Fraction(value) * 2**sql_squares.SHIFT) ** 2
        assert all(abs(piece) * most < 2**63 for piece in found.values())


@pytest.mark.parametrize("most", [SMALL_ROW_LIMIT, ROW_LIMIT])
def test_the_most_rows_of_values_next_to_one_another(most: int) -> None:
    """Nearly all of what is added up cancels, but nothing that should not."""
    first = [52.1, 2.0**17 + 0.1, -(2.0**18), 2.0**-10, 1e-3 + 2.0**-9]
    rows = [(a, math.nextafter(a, math.inf), most - b, b) for a in first for b in (0, 1, most // 3)]
    planes: dict[str, list[int]] = defaultdict(list)
    for a, b, many, more in rows:
        one, other = pieces(most, a), pieces(most, b)
        for name in one:
            planes[name].append(many * one[name] + more * other[name])
        for name, each in (("count", most), ("rows", most), ("exponent", 0)):
            planes[name].append(each)
    made = Deviations(**sql_squares.read({name: pa.array(column, pa.int64()) for name, column in planes.items()}))
    for place, (a, b, many, more) in enumerate(rows):
        centre = Fraction(float(made.centre[place]))
        assert a <= centre <= b
        for power, high, low in ((1, made.sum, made.sum_low), (2, made.squares, made.squares_low)):
            exact = many * (Fraction(a) - centre) ** power + more * (Fraction(b) - centre) ** power
            found = Fraction(float(high[place])) + Fraction(float(low[place]))
            assert abs(found - exact) <= abs(exact) * Fraction(2) ** -104
    assert not made.squares[::3].any()
    assert not made.level.any()
