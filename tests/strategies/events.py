"""Random events and windows for hypothesis: mostly small and crowded, now and then as nasty as the types allow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from ..oracles.by_definition import Event, Grid

FAR = 2**60
NASTY = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e300, 1e16, -1e16, 5e-324, -0.0, 0.0, 0.1, 1.0, -1.0]
KEYS = [None, math.nan, 0.0, -0.0, 1.5, -2.0]

near_times = st.integers(-30, 30)
times = st.one_of(
    near_times, near_times, near_times, st.integers(-3, 3).map(lambda x: x * FAR // 3), st.integers(-FAR, FAR)
)
"""Ties, negative times, and gaps nearly as long as the time line."""

plain_floats = st.one_of(
    st.integers(-8, 8).map(float),
    st.floats(-1e3, 1e3, allow_nan=False),
    st.integers(0, 9).map(lambda x: 1e9 + x / 1000),
)
floats = st.one_of(plain_floats, plain_floats, st.sampled_from(NASTY), st.floats(allow_nan=True, allow_infinity=True))
integers = st.one_of(st.integers(-9, 9), st.integers(-(2**40), 2**40), st.integers(-(2**57), 2**57))


def grids(longest: int = 40) -> st.SearchStrategy[Grid]:
    """Windows with gaps, sizes that are no multiple of the step, offsets of both signs, both ends."""
    return st.builds(
        Grid, size=st.integers(1, longest), every=st.integers(1, longest), offset=st.integers(-50, 50),
        closed=st.sampled_from(["left", "right"]), empty=st.sampled_from(["skip", "emit"]),
    )  # fmt: skip


def events(
    values: st.SearchStrategy[Any], at: st.SearchStrategy[int] = times, most: int = 25
) -> st.SearchStrategy[list[Event]]:
    """Events of up to three keys, with null values among them."""
    keys = st.lists(st.sampled_from(KEYS), min_size=1, max_size=3)
    return keys.flatmap(
        lambda some: st.lists(
            st.builds(Event, at, st.sampled_from(some), st.one_of(values, values, values, st.none())), max_size=most
        )
    )


@dataclass(frozen=True)
class Problem:
    """A query and its events; `cuts` and `seed` say into which batches they come apart and in which order."""

    grid: Grid
    events: list[Event]
    cuts: int
    seed: int

    def table(self, values: pa.DataType) -> pa.Table:
        """The events as Arrow: columns t, key and value."""
        return pa.table({
            "t": pa.array([event.time for event in self.events], pa.int64()),
            "key": pa.array([event.key for event in self.events], pa.float64()),
            "value": pa.array([event.value for event in self.events], values),
        })  # fmt: skip

    def batches(self, values: pa.DataType) -> list[pa.Table]:
        """The events in up to 17 batches, which keep their order."""
        table = self.table(values)
        rows = max(1, -(-table.num_rows // self.cuts))
        return [table.slice(start, rows) for start in range(0, max(1, table.num_rows), rows)]


@st.composite
def problems(draw: st.DrawFn, values: st.SearchStrategy[Any], most: int = 25) -> Problem:
    """A grid with events; close together where every empty window between them is wanted."""
    grid = draw(grids())
    at = near_times if grid.empty == "emit" else times
    return Problem(grid, draw(events(values, at, most)), draw(st.integers(1, 17)), draw(st.integers(0, 2**32)))
