"""Sessions of a longest duration, against Trill's rule (T7) followed event by event."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..support.examples import examples


def expected(times: list[int], gap: int, longest: int, touching: bool) -> list[tuple[int, int, int]]:
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


@examples(1000, quick=100)
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
    assert found == [(key, *row) for key, times in enumerate(keys) for row in expected(times, gap, longest, touching)]


def test_words() -> None:
    said = "sessions that end after 1 hour without an event, or after about 1 day"
    assert str(ff.session("1 hour", longest="1 day")) == said
