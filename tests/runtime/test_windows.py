"""Frames and window ranges against the definition: an event is in every window whose bounds it lies between."""

from __future__ import annotations

import tracemalloc
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff
from framefold.runtime.frames import window_ranges

from ..support.loops import WAYS, by, loops, needs_loops, without_loops
from ..support.windows import PartialsView, Ranges, TickSteps, TimeColumn, reach

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
    starts = np.cumsum([0, *map(len, runs)])[:-1]
    view = PartialsView(first, starts)
    found = [window_ranges.ranges_by_id("windows", view, first, first + last, empty)]
    with without_loops():
        found.append(window_ranges.ranges_by_id("windows", view, first, first + last, empty))
    assert [column.tolist() for column in found[0]] == [column.tolist() for column in found[1]]


@needs_loops
def test_windows_that_do_not_end_as_many_as_begin() -> None:
    """Where the first window of a row is below that of the row before it, which is never so."""
    first, last, starts, windows = np.array([1, 0]), np.array([1, 1]), np.zeros(1, np.int64), np.empty(1, np.int64)
    every = window_ranges.EVERY
    with pytest.raises(ValueError, match="1 windows begin and 2 end; there is room for 1"):
        loops.ranges_of_windows(first, last, starts, False, *every, windows, windows, windows)
    with pytest.raises(ValueError, match="first and last must be of one length"):
        loops.ranges_of_windows(first, last[:1], starts, False, *every, windows, windows, windows)
    with pytest.raises(ValueError, match="first and last must be of one length"):
        loops.count_windows(first, last[:1], starts, False, *every)
    with pytest.raises(ValueError, match="number must be of one length"):
        loops.ranges_of_windows(first, last, starts, False, *every, windows, windows, first)


def no_columns(name: str, argument: str) -> pa.DataType:
    raise AssertionError(f"{argument} asks for the type of {name}")


Events = list[list[int]]
"""The times of each key's events, ascending."""

grids = st.builds(
    lambda size, every, offset, closed, empty: ff.sliding(
        size, every, offset=offset, closed=closed, empty=empty, gaps="allow"
    ),
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(-70, 70),
    st.sampled_from(["left", "right"]),
    st.sampled_from(["skip", "emit"]),
)
sparse = st.one_of(st.integers(-40, 40), st.integers(-(2**12), 2**12))
keyed = st.lists(st.lists(sparse, min_size=1, max_size=10).map(sorted), min_size=1, max_size=4)


@given(keyed, st.integers(-60, 60))
def test_how_far_a_distance_reaches(events: Events, distance: int) -> None:
    """By the loop and by numpy, over frames of each key that differ, as those of merged partials do."""
    events = [sorted(set(times)) for times in events]
    frames = np.array(list(chain(*events)), np.int64)
    starts = np.cumsum([0, *map(len, events[:-1])])
    expected = [
        start + sum(other < time + distance for other in times)
        for start, times in zip(starts.tolist(), events, strict=True)
        for time in times
    ]
    for way in WAYS:
        with by(way):
            assert reach(PartialsView(frames, starts), distance).tolist() == expected


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
            found = reach(PartialsView(np.concatenate(runs), starts), distance)
            np.testing.assert_array_equal(found, np.concatenate(expected))


def inside(spec: Any, number: int, time: int) -> bool:
    start = spec.offset + number * spec.every
    if spec.closed == "left":
        return bool(start <= time < start + spec.size)
    return bool(start < time <= start + spec.size)


def windows_of_event(spec: Any, time: int) -> list[int]:
    near = (time - spec.offset) // spec.every
    reach = spec.size // spec.every + 3
    return [number for number in range(near - reach, near + 3) if inside(spec, number, time)]


def expected(spec: Any, events: Events) -> list[tuple[int, int, list[int]]]:
    """Key, window and the times in it, sorted."""
    rows = []
    for key, times in enumerate(events):
        numbers = sorted({number for time in times for number in windows_of_event(spec, time)})
        if numbers and spec.empty == "emit":
            numbers = list(range(numbers[0], numbers[-1] + 1))
        rows += [(key, number, [time for time in times if inside(spec, number, time)]) for number in numbers]
    return rows


def framed(grid: TickSteps, events: Events) -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """The frames of all keys, each key's first row, and the times in each row."""
    frames: list[int] = []
    starts: list[int] = []
    times_of: list[list[int]] = []
    for times in events:
        found, kept = grid.frames(np.array(times, np.int64))
        pairs = [(f, t) for i, (f, t) in enumerate(zip(found.tolist(), times, strict=True)) if kept is None or kept[i]]
        if pairs:
            starts.append(len(frames))
        for frame in dict.fromkeys(frame for frame, _ in pairs):
            frames.append(frame)
            times_of.append([time for each, time in pairs if each == frame])
    return np.array(frames, np.int64), np.array(starts, np.int64), times_of


@given(grids, keyed)
@example(ff.sliding(1, 30), [[0], [15]])
@example(ff.sliding(30, 7, closed="right", empty="emit"), [[-40, 40]])
def test_ranges_are_the_windows(spec: Any, events: Events) -> None:
    grid = spec.bind(TIME, no_columns)
    frames, starts, times_of = framed(grid, events)
    ranges = grid.ranges(PartialsView(frames, starts))
    rows = expected(spec, events)
    assert [list(chain(*times_of[a:b])) for a, b in zip(ranges.low.tolist(), ranges.high.tolist(), strict=True)] == [
        times for *_, times in rows
    ]
    assert ranges.start.tolist() == [spec.offset + number * spec.every for _, number, _ in rows]
    assert (ranges.end - ranges.start == spec.size).all()
    key_of_row = np.searchsorted(starts, ranges.row, side="right")
    assert all(key_of_row[i] <= key_of_row[i + 1] for i in range(len(rows) - 1))
    assert (np.diff(ranges.low) >= 0).all()
    assert (np.diff(ranges.high) >= 0).all()
    assert (ranges.low <= ranges.high).all()


@given(grids, st.lists(sparse, min_size=1, max_size=10))
def test_a_frame_is_in_a_window_as_a_whole(spec: Any, times: list[int]) -> None:
    grid = spec.bind(TIME, no_columns)
    frames, kept = grid.frames(np.array(times, np.int64))
    first, last = grid.steps.windows_of(frames)
    shift = (spec.offset - grid.steps.offset) // spec.every
    for i, time in enumerate(times):
        numbers = [number + shift for number in windows_of_event(spec, time)]
        if kept is not None and not kept[i]:
            assert not numbers
        else:
            assert list(range(int(first[i]), int(last[i]) + 1)) == numbers


@given(grids)
def test_no_more_frames_than_needed(spec: Any) -> None:
    """Frames in the middle of the line: as many to a window as is said."""
    grid = spec.bind(TIME, no_columns)
    start = spec.offset + 100 * spec.every
    times = np.arange(start, start + spec.size) + (spec.closed == "right")
    frames, kept = grid.frames(times)
    assert kept is None or kept.all()
    assert len(np.unique(frames)) == grid.frames_in_window


def test_block_is_a_step_that_no_frame_straddles() -> None:
    grid = ff.sliding(10, 4, offset=3, closed="right").bind(TIME, no_columns)
    origin, width = grid.block
    ticks = np.arange(-50, 50)
    frames, _ = grid.frames(ticks)
    blocks = (ticks - origin) // width
    for frame in np.unique(frames):
        assert len(np.unique(blocks[frames == frame])) == 1


@pytest.mark.parametrize("far", [2**60, 2**62 - 1000])
@pytest.mark.parametrize(
    "window", [ff.sliding(60, 7), ff.sliding(60, 1), ff.sliding(2, 5, gaps="allow"), ff.tumbling(10)]
)
def test_far_apart_times_use_memory_for_events_only(far: int, window: Any) -> None:
    events = pa.table({"t": [-far, 0, far], "k": ["a", "b", "a"]})
    ff.events(events.slice(0, 0), time="t", by="k").window(window).aggregate(s=ff.Sum("t"))  # imports what it needs
    tracemalloc.start()
    try:
        result = ff.events(events, time="t", by="k").window(window).aggregate(n=ff.Count(), s=ff.Sum("t"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.num_rows == sum(len(windows_of_event(window, time)) for time in (-far, 0, far))
    assert set(result["n"].to_pylist()) <= {1}
    assert peak < 20e6


def test_1970_and_2262() -> None:
    times = pa.array([0, 9_223_372_036_854], pa.timestamp("ms")).cast(pa.timestamp("us"))
    result = (
        ff.events(pa.table({"t": times}), time="t").window(ff.sliding("1 minute", "1 second")).aggregate(n=ff.Count())
    )
    assert result.num_rows == 120


@pytest.mark.parametrize("far", [2**40, 2**62 + 5])
def test_too_many_empty_windows_are_refused(far: int) -> None:
    events = pa.table({"t": [-far, far]})
    with pytest.raises(ff.QueryError, match="more than one process can hold"):
        ff.events(events, time="t").window(ff.sliding(2, 1, empty="emit")).aggregate(n=ff.Count())


def test_no_frames_no_windows() -> None:
    empty = np.array([], np.int64)
    ranges = ff.sliding(3, 1).bind(TIME, no_columns).ranges(PartialsView(empty, empty))
    assert ranges == Ranges(*ranges)
    assert [len(column) for column in ranges[:5]] == [0] * 5


@pytest.mark.parametrize(
    ("argument", "window"),
    [("size", ff.sliding(0, 1)), ("size", ff.tumbling(-1)), ("every", ff.sliding(1, 0)), ("every", ff.sliding(1, -3))],
)
def test_durations_must_be_above_zero(argument: str, window: Any) -> None:
    with pytest.raises(ff.DurationError, match=f"{argument} is .*above zero"):
        window.bind(TIME, no_columns)


def test_words() -> None:
    with pytest.raises(ff.QueryError, match="closed is 'both'"):
        ff.sliding(1, 1, closed="both")
    with pytest.raises(ff.QueryError, match="empty is 'fill'"):
        ff.tumbling(1, empty="fill")
    assert str(ff.tumbling("1 hour", offset="5 minutes")) == "tumbling windows of 1 hour, offset by 5 minutes"
    assert str(ff.sliding(60, 1)) == "windows of 60 every 1"
