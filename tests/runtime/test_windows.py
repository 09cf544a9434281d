"""Frames and ranges of windows, of one kind and of several in one pass."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff
from framefold.runtime.frames import window_ranges

from ..support import stages
from ..support.examples import times
from ..support.loops import WAYS, by, without_loops
from ..support.plans import bind
from ..support.windows import PartialsView, TimeColumn, reach

TIME = TimeColumn("t", pa.int64())


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=6), max_size=4),
    st.sampled_from(["skip", "emit"]),
    st.sampled_from([0, 2**53 + 1, -(2**62) + 1]),
)
@example([[(0, 0)], [(0, 0)]], "skip", 2**58 + 1)
def test_ranges_by_numpy_are_those_of_the_loop(keys: list[list[tuple[int, int]]], empty: str, begin: int) -> None:
    runs = [np.maximum.accumulate(np.sort(each, axis=0)) for each in map(np.array, keys)]
    first, last = (np.concatenate([np.empty(0, np.int64), *(run[:, side] for run in runs)]) for side in (0, 1))
    first = first + begin
    view = PartialsView(first, np.cumsum([0, *map(len, runs)])[:-1])
    with_loop = window_ranges.ranges_by_id("windows", view, first, first + last, empty)
    with without_loops():
        by_numpy = window_ranges.ranges_by_id("windows", view, first, first + last, empty)
    assert [column.tolist() for column in with_loop] == [column.tolist() for column in by_numpy]


def no_columns(name: str, argument: str) -> pa.DataType:
    raise AssertionError(f"{argument} asks for the type of {name}")


@given(
    st.lists(st.sets(st.integers(-40, 40) | st.integers(-(2**12), 2**12), min_size=1, max_size=10), min_size=1),
    st.integers(-60, 60),
)
def test_how_far_a_distance_reaches(keys: list[set[int]], distance: int) -> None:
    """By the loop and by numpy, over frames of each key that differ, as those of merged partials do."""
    runs = [sorted(times) for times in keys]
    starts = np.cumsum([0, *map(len, runs[:-1])])
    expected = [
        start + sum(other < time + distance for other in times)
        for start, times in zip(starts.tolist(), runs, strict=True)
        for time in times
    ]
    for way in WAYS:
        with by(way):
            assert reach(PartialsView(np.array(list(chain(*runs)), np.int64), starts), distance).tolist() == expected


@pytest.mark.parametrize("distance", [-3000, -40, -1, 2, 700])
def test_how_far_a_distance_reaches_in_long_runs(distance: int) -> None:
    """The loop goes through long ones from two places, and at once through values that are evenly apart."""
    rng = np.random.default_rng(distance % 7)
    runs = [np.unique(rng.integers(0, most, size)) for most, size in ((3000, 999), (90, 200), (10**6, 2000), (9, 5))]
    runs += [np.arange(0, 9000, 3), np.delete(np.arange(5000), [1500, 1501, 4000]), np.append(runs[0], 4000 + runs[0])]
    starts = np.cumsum([0, *map(len, runs[:-1])])
    expected = [start + np.searchsorted(run, run + distance) for start, run in zip(starts, runs, strict=True)]
    for way in WAYS:
        with by(way):
            reached = reach(PartialsView(np.concatenate(runs), starts), distance)
            np.testing.assert_array_equal(reached, np.concatenate(expected))


@given(st.integers(1, 30), st.integers(1, 30), st.integers(-70, 70), st.sampled_from(["left", "right"]))
def test_no_more_frames_than_needed(size: int, every: int, offset: int, closed: str) -> None:
    """Frames in the middle of the line: as many to a window as is said; a block is a step that none straddles."""
    grid = ff.sliding(size, every, offset=offset, closed=closed, gaps="allow").bind(TIME, no_columns)
    start = offset + 100 * every
    frames, kept = grid.frames(np.arange(start, start + size) + (closed == "right"))
    assert kept is None or kept.all()
    assert len(np.unique(frames)) == grid.frames_in_window
    (origin, width), ticks = grid.block, np.arange(-50, 50)
    frames, kept = grid.frames(ticks)
    blocks = (ticks - origin) // width
    kept = np.ones(100, bool) if kept is None else kept
    assert all(len(np.unique(blocks[kept & (frames == frame)])) == 1 for frame in np.unique(frames[kept]))


@pytest.mark.parametrize(("size", "every"), [(60, 7), (60, 1), (2, 5), (10, 10)])
@pytest.mark.parametrize("far", [2**60, 2**62 - 1000])
def test_far_apart_times_use_memory_for_events_only(far: int, size: int, every: int) -> None:
    window = ff.sliding(size, every, gaps="allow")
    events = pa.table({"t": [-far, 0, far], "k": ["a", "b", "a"]})
    ff.events(events.slice(0, 0), time="t", by="k").window(window).aggregate(s=ff.Sum("t"))  # imports what it needs
    tracemalloc.start()
    try:
        result = ff.events(events, time="t", by="k").window(window).aggregate(n=ff.Count(), s=ff.Sum("t"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    starts = [
        start for time in (-far, far, 0) for start in range(-(-(time - size + 1) // every) * every, time + 1, every)
    ]
    assert [row["start"] for row in result["window"].to_pylist()] == starts
    assert set(result["n"].to_pylist()) <= {1}
    assert peak < 20e6


REFUSED: list[tuple[type[ff.QueryError], str, tuple[Any, ...], dict[str, Any]]] = [
    *((ff.DurationError, "size is .*above zero", (window,), {}) for window in (ff.sliding(0, 1), ff.tumbling(-1))),
    *((ff.DurationError, "every is .*above zero", (window,), {}) for window in (ff.sliding(1, 0), ff.sliding(1, -3))),
    *((ff.QueryError, "more than one process can hold", (ff.sliding(2, 1, empty="emit"),), {"times": (-far, far)})
        for far in (2**40, 2**62 + 5)),
    (ff.ColumnError, "too large for several windows in one pass; expected times nearer",
        (ff.tumbling(1), ff.around(time=(-1, 0))), {"times": (2**61, -(2**61))}),
    (ff.QueryError, r"no window is given for 'n'; expected \.window\(\.\.\.\), or Count\(\)\.over", (), {}),
    (ff.QueryError, r"n=Count\(\)\.over\(\.\.\.\) is given '1 hour'; expected a window", (),
        {"n": ff.Count().over("1 hour")}),  # type: ignore[arg-type]
    (ff.QueryError, r"has \.over\(\.\.\.\) inside; expected it on the whole output", (ff.tumbling(5),),
        {"n": ff.AllOf(n=ff.Count().over(ff.tumbling(2)))}),
]  # fmt: skip


@pytest.mark.parametrize(("error", "said", "windows", "more"), REFUSED)
def test_what_is_refused(error: type[ff.QueryError], said: str, windows: Any, more: dict[str, Any]) -> None:
    events = ff.events(pa.table({"t": more.get("times", (0,))}), time="t")
    with pytest.raises(error, match=said):
        (events.window(*windows) if windows else events).aggregate(n=more.get("n", ff.Count()))


def test_words() -> None:
    with pytest.raises(ff.QueryError, match="closed is 'both'"):
        ff.sliding(1, 1, closed="both")
    with pytest.raises(ff.QueryError, match="empty is 'fill'"):
        ff.tumbling(1, empty="fill")
    assert str(ff.tumbling("1 hour", offset="5 minutes")) == "tumbling windows of 1 hour, offset by 5 minutes"
    assert str(ff.sliding(60, 1)) == "windows of 60 every 1"
    said = "sessions that end after 1 hour without an event, or after about 1 day"
    assert str(ff.session("1 hour", longest="1 day")) == said


# Several kinds of windows in one pass; sessions of a longest duration


def test_one_pass_on_shared_frames() -> None:
    schema = pa.schema({"t": pa.timestamp("us"), "x": pa.float64()})
    windows = [ff.sliding("1 hour", every="10 minutes"), ff.tumbling("30 minutes")]
    query = bind(schema, time="t", by=[], window=windows, outputs={"x": ff.Sum("x")})
    events = pa.table({"t": np.arange(0, 7200, 60).astype("datetime64[s]").astype("datetime64[us]"), "x": np.ones(120)})
    partials = stages.accumulate(query, events, 0)
    assert len(stages.merge(query, partials)) == 12, "one frame every ten minutes serves both"
    assert len(stages.results(query, partials)) == 17 + 4
    assert "cut wherever any of 2 kinds of windows is, and shared by them" in query.axis.describe_frames()


def test_windows_whose_steps_hardly_ever_meet() -> None:
    times = (0, 10**9, 10**9 + 7)
    events = ff.events(pa.table({"t": times}), time="t")
    result = events.window(ff.tumbling(10**9 + 7), ff.sliding(1000, every=998)).aggregate(n=ff.Count()).to_pylist()
    near = Counter(start for time in times for start in range(-(-(time - 999) // 998) * 998, time + 1, 998))
    expected = [*((start, start + 1000, n) for start, n in near.items()), (0, 10**9 + 7, 2)]
    assert [(*row["window"].values(), row["n"]) for row in result] == sorted(
        [*expected, (10**9 + 7, 2 * 10**9 + 14, 1)]
    )


# Sessions of a longest duration, against Trill's rule (T7) followed event by event


def sessions(times: list[int], gap: int, longest: int, touching: bool) -> list[tuple[int, int, int]]:
    """Start, end and number of events of each session of one key."""
    rows: list[tuple[int, int, int]] = []
    start = last = cap = count = 0
    for number, time in enumerate(times):
        apart = time - last > gap if touching else time - last >= gap
        if number and not apart and time < cap:
            last, count = time, count + 1
            continue
        if number:
            rows.append((start, min(last + gap, cap), count))
        if number and not apart:  # right after a session that was ended
            cap = time // longest * longest + longest
        else:
            cap = time - time % longest + (longest if time % longest == 0 else 2 * longest)
        start, last, count = time, time, 1
    return [*rows, (start, min(last + gap, cap), count)] if times else []


@times(8)
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(-60, 60)), max_size=40),
    *(st.integers(1, 20), st.integers(1, 40), st.booleans()),
)
def test_as_the_rule_has_it(events: list[tuple[int, int]], gap: int, longest: int, touching: bool) -> None:
    table = pa.table(
        {"k": pa.array([key for key, _ in events], pa.int64()), "t": pa.array([time for _, time in events], pa.int64())}
    )
    windows = ff.session(gap, merge_touching=touching, longest=longest)
    result = ff.events(table, time="t", by="k").window(windows).aggregate(n=ff.Count()).to_pylist()
    found = [(row["k"], *row["window"].values(), row["n"]) for row in result]
    keys = [sorted(time for key, time in events if key == each) for each in (0, 1)]
    assert found == [(key, *row) for key, times in enumerate(keys) for row in sessions(times, gap, longest, touching)]
