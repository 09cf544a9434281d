"""Sums of floats in groups, with the compiled loop and with numpy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framefold.aggregators.contract import frames as module
from framefold.aggregators.contract.frames import Frames, cut_at, largest_of, summed

COMPILED = module.loops


@pytest.fixture(params=["loop", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each way of adding up."""
    if request.param == "numpy":
        monkeypatch.setattr(module, "loops", None)
    elif COMPILED is None:
        pytest.skip("framefold is installed without its compiled loops: there was no compiler")
    return str(request.param)


def bits(found: tuple[Any, Any]) -> tuple[bytes, bytes, list[int]]:
    """Sums to the last bit, and counts."""
    return found[0].high.tobytes(), found[0].low.tobytes(), found[1].tolist()


@pytest.mark.parametrize("value", [1.0, -1.0, 1 - 2.0**-53, 2.0**-53 - 1, 2.0**959, 2.0**-1074, 1 / 3])
@pytest.mark.parametrize(("step", "least"), [(1000, 5000), (module.SPAN_STEP, module.MIN_SPAN)])
@pytest.mark.parametrize("hot", [1, 1023, 1024, 1025, 20_000])
def test_sums_and_counts(
    way: str, value: float, step: int, least: int, hot: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one group has most of the rows."""
    monkeypatch.setattr(module, "SPAN_STEP", step)
    monkeypatch.setattr(module, "MIN_SPAN", least)
    monkeypatch.setattr(module, "SPAN_PER_FRAME", 1)
    rows = 1 << 16
    index = np.concatenate([np.zeros(hot, np.intp), 1 + np.arange(rows - hot) % 2000])
    total, counts = summed(np.full(rows, value), index, 2001, cut_at(abs(value), rows))
    each = [hot, *((rows - hot + 1999 - place) // 2000 for place in range(2000))]
    assert counts.tolist() == each
    for high, low, count in zip(total.high.tolist(), total.low.tolist(), each, strict=True):
        assert abs(Fraction(high) + Fraction(low) - count * Fraction(value)) <= count * abs(Fraction(value)) / 2**70


@pytest.mark.parametrize("hot", [0, 100_000])
@pytest.mark.parametrize("size", [3, 5000, 40_000])
@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_both_ways_give_the_same_bits(size: int, hot: int, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if COMPILED is None:
        pytest.skip("framefold is installed without its compiled loops: there was no compiler")
    chance = np.random.default_rng(11)
    rows = 300_000
    index = np.concatenate([np.full(hot, size // 2), chance.integers(0, size, rows - hot)])
    index = np.sort(index) if order == "sorted" else chance.permutation(index)
    values = chance.normal(size=rows) * 2.0 ** chance.integers(-60, 60, rows)
    cut = cut_at(largest_of(values), rows)
    found = bits(summed(values, index, size, cut))
    monkeypatch.setattr(module, "loops", None)
    assert bits(summed(values, index, size, cut)) == found
    assert found[2] == np.bincount(index, minlength=size).tolist()


@pytest.mark.parametrize("hot", [0, 100_000])
def test_sums_are_the_same_whether_rows_are_counted_with_them_or_not(way: str, hot: int) -> None:
    chance = np.random.default_rng(11)
    rows = 300_000
    index = np.concatenate([np.arange(5000), np.zeros(hot, np.intp), chance.integers(0, 5000, rows - hot - 5000)])
    values = chance.normal(size=rows) * 2.0 ** chance.integers(-60, 60, rows)
    alone = Frames(index, 5000, np.arange(rows), counts=np.bincount(index)).compensated_sum(values)
    frames = Frames(index, 5000, np.arange(rows))
    counted = frames.compensated_sum(values)
    assert "_count" in vars(frames)
    assert frames.count().tolist() == np.unique(index, return_counts=True)[1].tolist()
    assert (counted.high.tobytes(), counted.low.tobytes()) == (alone.high.tobytes(), alone.low.tobytes())


def test_sums_are_nearer_than_floats_can_say(way: str) -> None:
    """Of values of very different sizes, in one group: to far less than the last bit of the greatest."""
    chance = np.random.default_rng(5)
    for rows in (10, 1000, 100_000):
        values = chance.normal(size=rows) * 2.0 ** chance.integers(-40, 1, rows)
        total, _ = summed(values, np.zeros(rows, np.intp), 1, cut_at(largest_of(values), rows))
        lost = Fraction(float(total.high[0])) + Fraction(float(total.low[0])) - sum(map(Fraction, values.tolist()))
        assert abs(lost) <= Fraction(2) ** -62 * Fraction(float(np.abs(values).sum()))
        assert total.value()[0] == math.fsum(values)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-(2.0**959), 2.0**959)), min_size=1))
def test_any_floats(rows: list[tuple[int, float]]) -> None:
    index, values = np.array([group for group, _ in rows], np.intp), np.array([value for _, value in rows])
    each = [[Fraction(value) for group, value in rows if group == wanted] for wanted in range(4)]
    most = max(abs(Fraction(value)) for _, value in rows)
    before = module.loops
    try:
        for module.loops in (None, COMPILED):
            total, counts = summed(values, index, 4, cut_at(largest_of(values) or 1.0, len(values)))
            assert counts.tolist() == list(map(len, each))
            for high, low, group in zip(total.high.tolist(), total.low.tolist(), each, strict=True):
                lost = abs(Fraction(high) + Fraction(low) - sum(group))
                assert lost <= min(sum(map(abs, group)) * len(group) / 2**53, most * len(rows) / 2**70)
    finally:
        module.loops = before


@pytest.mark.parametrize(
    "values", [[], [0.0], [-0.0], [-3.0, 2.0], [3.0, -2.0], [math.inf, 1.0], [1.0, -math.inf], [5e-324], [-1.7e308]]
)
def test_the_largest(way: str, values: list[float]) -> None:
    assert largest_of(np.array(values)) == max(map(abs, values), default=0.0)
    assert math.isnan(largest_of(np.array([*values, math.nan, 1.0])))


def test_columns_with_gaps(way: str) -> None:
    values, index = np.arange(10.0)[::3], np.arange(10)[::-2][:4] % 2
    assert largest_of(values) == 9.0
    total, counts = summed(values, index, 2, cut_at(9.0, 4))
    assert (total.value().tolist(), counts.tolist()) == ([0.0, 18.0], [0, 4])


@pytest.mark.parametrize("group", [-3, 2])
def test_a_group_that_there_is_not(way: str, group: int) -> None:
    with pytest.raises(IndexError):
        summed(np.ones(3), np.array([0, group, 1]), 2, cut_at(1.0, 3))


def test_lengths_that_differ() -> None:
    if COMPILED is None:
        pytest.skip("framefold is installed without its compiled loops: there was no compiler")
    sums, counts = np.zeros(2), np.zeros(2, np.intp)
    for lengths in ((2, 2, 2, 2), (3, 1, 2, 2), (3, 2, 1, 2), (3, 2, 2, 1)):
        index, above, below, own = (
            np.zeros(lengths[0], np.intp),
            *(sums[:n] for n in lengths[1:3]),
            counts[: lengths[3]],
        )
        with pytest.raises(ValueError, match="must be of one length"):
            COMPILED.add_parts(np.ones(3), index, 2.0**40, above, below, own)
