"""Windows in blocks by their numbers have the results of whole keys, and no block has more than it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support import stages
from ..support.stages import Blocked, in_window_blocks, with_neighbours

WINDOWS = {
    "overlapping": ff.sliding(600, every=7),
    "whole steps": ff.sliding(20, every=5, offset=3),
    "tumbling": ff.tumbling(11),
    "with gaps": ff.sliding(3, every=10, gaps="allow"),
    "closed right": ff.sliding(50, every=10, closed="right"),
    "growing": ff.cumulating(40, every=4),
    "around": ff.around(time=(-30, 12)),
    "after": ff.around(time=(3, 9), closed="neither"),
}


def plan_of(window: Any, **outputs: Any) -> Any:
    rng = np.random.default_rng(0)
    events = pa.table({"t": rng.integers(-9000, 9000, 4000), "k": rng.integers(0, 3, 4000), "x": rng.normal(size=4000)})
    query = ff.events(events, time="t", by="k").window(window)
    return events, query._query(outputs or {"middle": ff.Median("x"), "n": ff.Count()})[1]


@pytest.mark.parametrize("name", WINDOWS)
def test_results_of_blocks(name: str, limit: Callable[..., None]) -> None:
    limit(window_block_ticks=8)
    events, plan = plan_of(WINDOWS[name])
    blocked = in_window_blocks(plan)
    assert blocked is not None
    assert isinstance(blocked.axis, Blocked)
    partials = [stages.accumulate(plan, events.slice(at, 500), at) for at in range(0, len(events), 500)]
    copies = pa.concat_tables([with_neighbours(blocked, plan, each) for each in partials])
    block = blocked.by[-1]
    assert len(copies.column(block).unique()) > 3
    by_block = stages.results(blocked, copies)
    right = stages.results(plan, pa.concat_tables(partials))
    assert by_block.drop_columns([block]).equals(right)
    # Of what an event is in, a quarter more at most is in two blocks: and at least a window's frames are apart.
    assert len(copies) <= 1.6 * sum(map(len, partials))


def test_what_needs_a_whole_key_is_not_in_blocks() -> None:
    for window in (
        ff.session(5),
        ff.sliding(20, every=5, empty="emit"),
        ff.sliding(20, every=5, min_fill="full"),
        ff.sliding(20, every=5, emit="on_change"),
        ff.around(time=(-(2**61), 5)),
    ):
        assert in_window_blocks(plan_of(window)[1]) is None, window
    assert in_window_blocks(plan_of(ff.sliding(20, every=5), n=ff.Count())[1]) is None, "its partials are small"
