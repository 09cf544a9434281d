"""Merging sorted lists is sorting their items, those of the left one first where they are equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.aggregators.ordered.sorted_merge import merge, rows_by_frame

from ..support.states import Ragged

Lists = list[tuple[list[int], list[int]]]


def ragged(lists: list[list[int]], tag: int, dtype: type = np.int64) -> Ragged:
    items = [item for each in lists for item in each]
    planes = {"time": np.array(items, dtype), "tag": np.arange(len(items)) + 1000 * tag}
    return Ragged(np.array([len(each) for each in lists], np.int64), planes)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, object])
@given(pairs=st.lists(st.tuples(st.lists(st.integers(0, 5), max_size=9), st.lists(st.integers(0, 5), max_size=3))))
def test_merge(descending: bool, dtype: type, pairs: Lists) -> None:
    a = ragged([sorted(a, reverse=descending) for a, _ in pairs], 1, dtype)
    b = ragged([sorted(b, reverse=descending) for _, b in pairs], 2, dtype)
    for x, y in ((a, b), (b, a)):
        merged = merge(x, y, (("time", descending),))
        items = [
            sorted(
                zip(s + t, u + v, strict=True),
                key=lambda item: -item[0] if descending else item[0],
            )
            for s, t, u, v in zip(x.lists("time"), y.lists("time"), x.lists("tag"), y.lists("tag"), strict=True)
        ]
        assert merged.lists("time") == [[time for time, _ in each] for each in items]
        assert merged.lists("tag") == [[tag for _, tag in each] for each in items]


@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2))))
def test_rows_by_frame(rows: list[tuple[int, int, int]]) -> None:
    index, first, second = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    frames = ff.Frames(index, 5, first)
    assert rows_by_frame(frames, first, second).tolist() == sorted(range(len(rows)), key=lambda i: rows[i])
