"""The least and the greatest value of each group, with the compiled loops and with numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framefold.aggregators.numeric.grouped import greatest, least

from ..support.loops import WAYS, by, loops, needs_loops

TYPES = ["float64", "float32", "int64", "int32", "int16", "uint64", "uint8", "bool", "M8[us]", "m8[s]"]


def by_hand(values: Any, index: Any, size: int, choose: Callable[..., Any]) -> list[Any]:
    """The same in Python, with NaN above all others."""
    groups: list[list[Any]] = [[] for _ in range(size)]
    for group, value in zip(index, values.tolist(), strict=True):
        groups[group].append(value)
    return [choose(group, key=lambda value: (value != value, value)) for group in groups]


@pytest.mark.parametrize("order", ["sorted", "mixed"])
@pytest.mark.parametrize("type", TYPES)
def test_each_type(way: str, type: str, order: str) -> None:
    chance = np.random.default_rng(3)
    index = np.concatenate([np.arange(50), chance.integers(0, 50, 1000)])
    index = np.sort(index) if order == "sorted" else index
    values = chance.integers(0, 120, len(index)).astype(type)
    if values.dtype.kind == "f":
        values[::7] = np.nan
        values[1::9] = -np.inf
        values[2::11] = np.inf
        values[index == 7] = np.nan
        values[index == 8] = -np.inf
        values[index == 9] = np.inf
    elif values.dtype.kind in "iu":
        values[::7], values[1::9] = np.iinfo(type).max, np.iinfo(type).min
        values[index == 8], values[index == 9] = np.iinfo(type).max, np.iinfo(type).min
    for found, choose in ((least, min), (greatest, max)):
        with np.errstate(invalid="ignore"):  # numpy's maximum says so of NaN
            made = found(values, index, 50)
        assert made.dtype == values.dtype
        np.testing.assert_array_equal(made, np.array(by_hand(values, index, 50, choose), type))


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(width=32)), min_size=1))
def test_any_floats(rows: list[tuple[int, float]]) -> None:
    index = np.unique([group for group, _ in rows], return_inverse=True)[1]
    for way in WAYS:
        with by(way):
            for type in ("float64", "float32"):
                values = np.array([value for _, value in rows], type)
                for found, choose in ((least, min), (greatest, max)):
                    with np.errstate(invalid="ignore"):
                        made = found(values, index, int(index.max()) + 1)
                    np.testing.assert_array_equal(made, by_hand(values, index, len(made), choose))


def test_columns_with_gaps_and_groups_without_a_row(way: str) -> None:
    values, index = np.arange(10.0)[::3], np.arange(10)[::-2][:4] % 4
    assert index.tolist() == [1, 3, 1, 3]
    assert least(values, index, 5)[[1, 3]].tolist() == [0.0, 3.0]
    assert greatest(values, index, 5)[[1, 3]].tolist() == [6.0, 9.0]
    assert len(least(values[:0], index[:0], 5)) == 5
    frozen = np.array([3.0, math.nan])
    frozen.flags.writeable = False
    assert least(frozen, np.zeros(2, np.intp), 1).tolist() == [3.0]


@pytest.mark.parametrize("of", [least, greatest])
@pytest.mark.parametrize("group", [-3, 2])
def test_a_group_that_there_is_not(way: str, of: Callable[..., Any], group: int) -> None:
    with pytest.raises(IndexError):
        of(np.ones(3), np.array([0, group, 1]), 2)


@needs_loops
def test_lengths_that_differ() -> None:
    with pytest.raises(ValueError, match="must be of one length"):
        loops.take_extremes(np.ones(3), np.zeros(2, np.intp), True, np.zeros(2))
