"""Results in pieces, never many at a time, and values in memory once beside events and results."""

from __future__ import annotations

import os
import threading
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import framefold as ff

from ..support import stages
from ..support.limits import limits
from ..support.sources import in_order
from ..support.stages import (
    Blocked,
    chunks,
    in_window_blocks,
    merged,
    partials_of,
    raise_mmap_threshold,
    with_neighbours,
)
from ..support.stages import results_in_chunks as results
from ..support.states import alike_to_arrow

ROWS = 20_000


def plan_of(data: pa.Table, windows: Any, by: Any = "k", **outputs: Any) -> Any:
    return ff.events(data, time="t", by=by).window(windows)._query(outputs)[1]


def pieces(windows: Any, keys: Any, times: Any, values: Any, most: int) -> pa.Table:
    """Sums of floats, made in pieces of about so many windows."""
    data = pa.table({"t": times, "k": keys, "x": pa.array(values, pa.float64())})
    made = list(results(merged(partials_of(plan_of(data, windows, s=ff.Sum("x")), data, 0)), most))
    assert max(map(len, made)) <= max(most, 2_000)
    return pa.concat_tables(made)


def test_a_piece_is_small_however_many_windows_a_frame_is_in() -> None:
    together = pieces(ff.sliding(100_000, every=1), [1, 7, 7], [0, 0, 50_000], [2, 3, 4], 4_096)
    assert together["k"].to_numpy().tolist() == [1] * 100_000 + [7] * 150_000
    right = [2.0] * 100_000 + [3.0] * 50_000 + [7.0] * 50_000 + [4.0] * 50_000
    assert together["s"].to_numpy().tolist() == right
    many = np.arange(500)
    assert len(pieces(ff.sliding(100, every=1), many, many % 13, [1] * 500, 1_000)) == 50_000


def test_events_far_apart_under_a_landmark() -> None:
    """Each step from a key's first event to its last has a window, and few of them are in memory at once."""
    times, values = np.array([-90_000, 1, 1, 7, 60_004, 60_011, 7, 90]), np.arange(1.0, 9)
    keys = [1] * 6 + [2] * 2
    for window, until in (ff.landmark(every=3), None), (ff.landmark(every=3, until=60_005), 60_005):
        found = pieces(window, keys, times, values, 4_096)
        ends = np.concatenate([np.arange(-89_997, 60_013, 3), np.arange(9, 94, 3)])
        key = np.array([1] * len(ends[:-29]) + [2] * 29)
        stop = np.minimum(ends, until or 1 << 40)
        some = zip(key[::50], stop[::50], strict=True)
        right = [values[(np.array(keys) == k) & (times < end)].sum() for k, end in some]
        assert found["k"].to_pylist() == key.tolist()
        assert pa.compute.struct_field(found["window"], "end").to_pylist() == stop.tolist()
        assert found["s"].to_pylist()[::50] == right
    far = pa.table({"t": [-(1 << 61), 0, 3, 1 << 61], "x": [1, 2, 3, 4]})
    changes = ff.events(far, time="t").window(ff.landmark(every=10, emit="on_change")).aggregate(s=ff.Sum("x"))
    assert changes["s"].to_pylist() == [1, 6, 10]
    with pytest.raises(ff.QueryError, match=r"more than one process can hold; expected a longer step, .* far "):
        ff.events(far, time="t").window(ff.landmark(every=10)).aggregate(s=ff.Sum("x"))


def events() -> pa.Table:
    """Events of one key, ten ticks apart on average, some at one time."""
    rng = np.random.default_rng(5)
    ticks, values = np.sort(rng.integers(0, 10 * ROWS, ROWS)), rng.normal(size=ROWS)
    return pa.table({"t": ticks, "k": np.full(ROWS, 3), "x": values, "i": rng.integers(0, 50, ROWS)})


@pytest.mark.parametrize("window", [ff.around(time=(-90, 0)), ff.last_rows(10)], ids=str)
def test_the_keys_and_times_of_results_are_those_of_partials(window: Any) -> None:
    data = events().set_column(0, "t", pa.array(np.arange(ROWS)))
    plan = plan_of(data, window, m=ff.LastN("x", 2))
    ranked = data.append_column(plan.rank, pa.array(np.arange(ROWS))) if plan.in_rows else data
    together = merged(partials_of(plan, ranked, 0))
    parts = list(results(together, 1000))
    made = list(chunks(together, 1000))
    assert len(parts) == len(made) == ROWS // 1000
    assert max(len(each.partials) for each in made) <= 1100, "those of its windows, and of those just before"
    keys = together.table.column("k").chunk(0)
    places = [part.column("k").chunk(0).buffers()[1].address for part in parts]
    assert set(places) == {keys.buffers()[1].address}, "nothing is copied"
    assert [part.column("k").chunk(0).offset for part in parts] == list(range(0, ROWS, 1000))


def test_a_cut_key_has_the_windows_of_polars() -> None:
    data = events()[:5000]
    with limits(chunk_windows=700, range_chunk_bytes=1 << 14):
        cut = ff.events(data, time="t", by="k").window(ff.around(time=(-90, 0))).aggregate(
            last=ff.LastN("x", 3), first=ff.FirstN("x", 3), all=ff.CollectList("x"), most=ff.TopN("x", 3),
            least=ff.BottomN("x", 2), middle=ff.Median("i"), different=ff.CountDistinct("i"), n=ff.Count(),
        )  # fmt: skip
    x = pl.col("x")
    expected = pl.DataFrame(data).rolling("t", period="90i", closed="both", group_by="k").agg(
        last=x.tail(3), first=x.head(3), all=x, most=x.top_k(3).sort(descending=True), least=x.bottom_k(2).sort(),
        middle=pl.col("i").median(), different=pl.col("i").n_unique(), n=pl.len(),
    )  # fmt: skip
    assert cut["at"].to_pylist() == expected["t"].to_list()
    for name in expected.columns[2:]:
        assert cut[name].to_pylist() == expected[name].to_list(), name


def test_partials_of_one_key_are_merged_as_they_are_made() -> None:
    data, windows = events(), ff.sliding(100, every=10)
    frames, counts = (each.tolist() for each in np.unique(np.asarray(data["t"]) // 10, return_counts=True))
    for keys in (["k"], []):
        plan = plan_of(data, windows, keys, n=ff.Count())
        made = partials_of(plan, data.take(np.random.default_rng(1).permutation(ROWS)), 0)
        assert merged(made) is made
        assert (made.frames.tolist(), made.states("n")["count"].tolist()) == (frames, counts)
        both = merged([made, partials_of(plan, data.slice(0, 100), 1)])
        assert both is not made
        assert (both.frames.tolist(), both.states("n")["count"].sum()) == (frames, ROWS + 100)
    several = data.set_column(1, "k", pa.array(np.arange(ROWS) % 2))
    assert partials_of(plan_of(several, windows, n=ff.Count()), several, 0).starts is None


def caller(place: int, number: int) -> tuple[int, int]:
    return number, threading.get_ident()


def test_queries_have_the_same_threads_and_a_fork_has_its_own() -> None:
    first, second = ({thread for _, thread in in_order(caller, range(50), 2)} for _ in range(2))
    assert first | second <= {each.ident for each in threading.enumerate()}, "they are still there"
    assert len(first | second) <= 2
    if hasattr(os, "fork"):
        if (child := os.fork()) == 0:
            os._exit(0 if [number for number, _ in in_order(caller, range(9), 2)] == list(range(9)) else 1)
        assert os.waitpid(child, 0)[1] == 0


# Windows in blocks by their numbers have the results of whole keys


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


def blocks_of(window: Any, **outputs: Any) -> Any:
    rng = np.random.default_rng(0)
    events = pa.table({"t": rng.integers(-9000, 9000, 4000), "k": rng.integers(0, 3, 4000), "x": rng.normal(size=4000)})
    query = ff.events(events, time="t", by="k").window(window)
    return events, query._query(outputs or {"middle": ff.Median("x"), "n": ff.Count()})[1]


@pytest.mark.parametrize("name", WINDOWS)
def test_results_of_blocks(name: str, limit: Callable[..., None]) -> None:
    limit(window_block_ticks=8)
    events, plan = blocks_of(WINDOWS[name])
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
        assert in_window_blocks(blocks_of(window)[1]) is None, window
    assert in_window_blocks(blocks_of(ff.sliding(20, every=5), n=ff.Count())[1]) is None, "its partials are small"


# Values are in memory once

MANY = 1 << 19


@pytest.mark.parametrize(
    ("operation", "window", "times"),
    [
        (ff.Median("x"), ff.sliding(3600, every=60), 3),
        (ff.Median("x"), ff.tumbling(3600), 4),
        (ff.Median("x"), ff.around(time=(-3600, 0)), 2),
        (ff.CountDistinct("i"), ff.around(time=(-3600, 0)), 1),  # nothing that the events do not have
        (ff.Median("x"), ff.last_rows(1000), 3),  # the ranks and the row numbers
        (ff.LastN("x", 3), ff.last_rows(1000), 2),
    ],
    ids=lambda each: str(each),
)
def test_values_are_in_memory_a_few_times(operation: Any, window: Any, times: float) -> None:
    raise_mmap_threshold()  # which asks for memory once, and does not use it
    rng = np.random.default_rng(0)
    values, data = rng.normal(size=MANY), rng.integers(0, 1000, MANY)
    query = ff.events(pa.table({"t": np.arange(MANY), "x": values, "i": data}), time="t").window(window)
    tracemalloc.start()
    try:
        # What a thread works with is little then.
        with limits(batch_rows=1 << 14, chunk_windows=1 << 13, range_chunk_bytes=1 << 18):
            found = query.aggregate(x=operation)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) > MANY // 3600
    assert (peak - found.nbytes) / values.nbytes < times


def test_merging_lists_copies_only_those_that_it_combines() -> None:
    t, x = np.arange(100_000), np.random.default_rng(2).integers(0, 10**6, 100_000)
    plan = ff.events(pa.table({"t": t, "x": x}), time="t").window(ff.tumbling(1000))._query({"m": ff.Median("x")})[1]
    cuts = [0, 40_500, 70_250, 100_000]  # in the midst of two frames
    given = [
        partials_of(plan, pa.table({"t": t[begin:end], "x": x[begin:end]}), number)
        for number, (begin, end) in enumerate(pairwise(cuts))
    ]
    together = merged(given)
    column = plan.state_columns["m"]["items"][0]

    def places(tables: list[pa.Table]) -> set[int]:
        return {chunk.values.buffers()[1].address for table in tables for chunk in table.column(column).chunks}

    assert len(together) == 100
    assert places([each.table for each in given]) <= places([together.table]), "those of all batches are still in use"
    found = pa.concat_tables(results(together))["m"].to_pylist()
    assert found == np.median(x.reshape(100, 1000), axis=1).tolist()


def test_counts_of_one_are_in_memory_once() -> None:
    kinds = np.zeros(5000), np.zeros(5000, np.int64), np.ones(5000, np.int64), np.arange(5000)
    for kind, offsets in zip(kinds, (False, False, False, True), strict=True):
        some, more = (alike_to_arrow(each, offsets=offsets) for each in (kind, kind.copy()))
        assert some.buffers()[1].address == more.buffers()[1].address
        assert some.equals(pa.array(kind)), "and are what they were"
    for other in (-np.zeros(5000), np.ones(5000), np.full(5000, 2), np.ones(5000, np.int32), np.ones(5, np.int64)):
        apart = alike_to_arrow(other)
        assert apart.buffers()[1].address == other.__array_interface__["data"][0]
        assert np.array_equal(np.signbit(apart.to_numpy()), np.signbit(other))
    almost = np.arange(5000)
    almost[7] = 8
    assert alike_to_arrow(almost, offsets=True).to_pylist() == almost.tolist()
