"""Several kinds of windows in one pass, and sessions of a longest duration, by definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..support import stages
from ..support.examples import times
from ..support.plans import bind


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


def test_times_too_far_for_several_windows_are_refused() -> None:
    events = ff.events(pa.table({"t": [2**61, -(2**61)]}), time="t")
    with pytest.raises(ff.ColumnError, match="too large for several windows in one pass; expected times nearer"):
        events.window(ff.tumbling(1), ff.around(time=(-1, 0))).aggregate(n=ff.Count())


def test_no_window_at_all() -> None:
    events = ff.events(pa.table({"t": [0]}), time="t")
    with pytest.raises(
        ff.QueryError, match=r"no window is given for 'n'; expected \.window\(\.\.\.\), or Count\(\)\.over"
    ):
        events.aggregate(n=ff.Count())
    with pytest.raises(ff.QueryError, match=r"n=Count\(\)\.over\(\.\.\.\) is given '1 hour'; expected a window"):
        events.aggregate(n=ff.Count().over("1 hour"))
    assert events.aggregate(n=ff.Count().over(ff.tumbling(5)))["n"].to_pylist() == [1]


def test_windows_inside_an_output_are_refused() -> None:
    events = ff.events(pa.table({"t": [0], "x": [1]}), time="t").window(ff.tumbling(5))
    with pytest.raises(ff.QueryError, match=r"has \.over\(\.\.\.\) inside; expected it on the whole output"):
        events.aggregate(x=ff.AllOf(n=ff.Count().over(ff.tumbling(2))))


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


def test_words_of_sessions() -> None:
    said = "sessions that end after 1 hour without an event, or after about 1 day"
    assert str(ff.session("1 hour", longest="1 day")) == said
