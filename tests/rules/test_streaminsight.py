"""Rules R15-R25: hopping, snapshot and count windows of StreamInsight."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import framefold as ff

from ..support.toys import Longest
from .shared import alive, every, rows, spans, stream, values

SIX = [(0, 1), (3, 2), (9, 3), (10, 4), (19, 5), (25, 6)]


def test_windows_are_fixed_by_the_clock() -> None:
    """R15: [a + n * H, a + n * H + S): gapless where H = S, overlapping where H < S, with gaps where H > S."""
    assert spans(stream(*SIX), ff.tumbling(10)) == [(0, 10, [1, 2, 3]), (10, 20, [4, 5]), (20, 30, [6])]
    assert spans(stream((9, 3), (10, 4)), ff.sliding(10, every=5)) == [(0, 10, [3]), (5, 15, [3, 4]), (10, 20, [4])]
    gaps = ff.sliding(5, every=10, gaps="allow")
    assert spans(stream(*SIX), gaps) == [(0, 5, [1, 2]), (10, 15, [4])]  # 9, 19 and 25 in none
    assert spans(stream((9, 3)), ff.sliding(5, every=10, offset=7, gaps="allow")) == [(7, 12, [3])]


def test_an_event_is_in_every_window_it_intersects() -> None:
    """R16: lifetimes [Vs, Ve) and windows [start, end) meet where they share a tick; a point event lasts one tick."""
    found = spans(alive((5, 20, "a"), (9, 10, "b")), ff.tumbling(10))
    assert found == [(0, 10, ["a", "b"]), (10, 20, ["a"])]  # "a" ends as [20, 30) starts: not in it
    points, ticks = every([3, 9, 10]), alive((3, 4, 3), (9, 10, 9), (10, 11, 10))
    assert spans(points, ff.sliding(4, every=2)) == spans(ticks, ff.sliding(4, every=2))


def test_lifetimes_are_clipped_to_windows() -> None:
    """R17: aggregates of time see what of a lifetime is in the window."""
    events = alive((5, 22, 10.0), (8, 10, 40.0))
    # [0, 10): 10 for 5 ticks and 40 for 2; then 10 alone, for 10 and for 2 ticks
    assert spans(events, ff.tumbling(10), ff.Covered()) == [(0, 10, 7), (10, 20, 10), (20, 30, 2)]
    assert values(events, ff.tumbling(10), ff.TimeWeightedAverage("v")) == [pytest.approx(130 / 7), 10.0, 10.0]


def test_alignment() -> None:
    """R18: days start at midnight unless aligned; only the phase of an alignment matters; it must be in UTC."""
    utc = dt.UTC
    times = [dt.datetime(2024, 3, 10, hour, tzinfo=utc) for hour in (8, 9, 23)]
    events = ff.events(pa.table({"t": pa.array(times, pa.timestamp("us", "UTC")), "v": [8, 9, 23]}), time="t")
    assert values(events, ff.tumbling("24 hours")) == [[8, 9, 23]]
    for year in (1, 1970, 2024):
        nine = dt.datetime(year, 1, 1, 9, tzinfo=utc)
        assert values(events, ff.tumbling("24 hours", offset=nine)) == [[8], [9, 23]]
    for wrong in (dt.datetime(2024, 1, 1, 9), dt.datetime(2024, 1, 1, 9, tzinfo=dt.timezone(dt.timedelta(hours=1)))):
        with pytest.raises(ff.QueryError, match="not in UTC"):
            values(events, ff.tumbling("24 hours", offset=wrong))


def test_results_repeat() -> None:
    """R19: one result a window, changed or not, and that for every group; once where asked for changes."""
    events = stream((1, 1, "a"), (4, 2, "a"), (4, 9, "b"))
    found = spans(events, ff.sliding(50, every=10), ff.Sum("v"))
    assert found == [(key, end - 50, end, total) for key, total in (("a", 3), ("b", 9)) for end in range(10, 60, 10)]
    once = spans(events, ff.sliding(50, every=10, emit="on_change"), ff.Sum("v"))
    assert once == [("a", -40, 10, 3), ("b", -40, 10, 9)]


def test_empty_windows() -> None:
    """R20: an empty window gives no result, unless asked for; an event without an end is refused, not given forever."""
    assert spans(every([1, 35]), ff.tumbling(10)) == [(0, 10, [1]), (30, 40, [35])]
    assert values(every([1, 35]), ff.tumbling(10, empty="emit")) == [[1], [], [], [35]]
    endless = pa.table({"t": [1], "until": pa.array([None], pa.int64())})
    with pytest.raises(ff.ColumnError, match="until"):
        ff.events(endless, time="t", until="until").window(ff.tumbling(10)).aggregate(n=ff.Count())


def test_point_at_the_window_end() -> None:
    """R21: stamp="end" gives a point at the end: one result an instant, so a last known value."""
    found = rows(stream(*SIX), ff.sliding(20, every=10, stamp="end"), x=ff.Sum("v"))
    assert [(row["at"], row["x"]) for row in found] == [(10, 6), (20, 15), (30, 15), (40, 6)]
    assert len({row["at"] for row in found}) == len(found)


def test_results_as_long_as_their_windows() -> None:
    """R22: without a stamp a result lives as long as its window; those of overlapping windows overlap."""
    found = rows(stream(*SIX), ff.sliding(20, every=10), x=ff.Sum("v"))
    assert all(set(row) == {"window", "x"} for row in found)
    assert [(row["window"]["start"], row["window"]["end"]) for row in found] == [(-10, 10), (0, 20), (10, 30), (20, 40)]


def test_open_windows_at_a_time() -> None:
    """R23, as far as a batch goes: at 27, windows that may still change start at 20, or at 10 where they overlap."""
    for windows, want in ((ff.tumbling(10), 20), (ff.sliding(20, every=10), 10)):
        assert min(start for start, end, _ in spans(every(range(40)), windows) if end > 27) == want


def test_hopping_windows_take_every_aggregate() -> None:
    """R24: Sum, Avg, Count, TopK and operations of one's own."""
    events = stream((0, "a"), (1, "ccc"), (5, "bb"))
    of = {"n": ff.Count(), "top": ff.TopN("v", 1), "longest": Longest("v")}
    assert [[row[name] for name in of] for row in rows(events, ff.sliding(6, every=3), **of)] == [
        [2, ["ccc"], "ccc"], [3, ["ccc"], "ccc"], [1, ["bb"], "bb"],
    ]  # fmt: skip
    numbers = {"sum": ff.Sum("v"), "avg": ff.Average("v")}
    assert rows(every([0, 1]), ff.tumbling(2), **numbers) == [{"window": {"start": 0, "end": 2}, "sum": 1, "avg": 0.5}]


def test_snapshots() -> None:
    """R25: a window between any two neighbouring starts or ends; the last d, by lives as long as d."""
    events = alive((0, 10, 1), (4, 14, 2), (20, 21, 4))
    assert spans(events, ff.snapshot(), ff.Sum("v")) == [(0, 4, 1), (4, 10, 3), (10, 14, 2), (20, 21, 4)]
    last_five = alive(*((t, t + 5, t) for t in (0, 3, 9)))
    assert spans(last_five, ff.snapshot()) == [(0, 3, [0]), (3, 5, [0, 3]), (5, 8, [3]), (9, 14, [9])]


def test_count_windows_by_start_time() -> None:
    """R25: n distinct times with all their events; the window ends a tick after the nth."""
    events = stream((1, "a"), (2, "b"), (2, "c"), (5, "d"))
    found = spans(events, ff.last_rows(2, ties="distinct_time", min_fill="full"))
    assert found == [(1, 3, ["a", "b", "c"]), (2, 6, ["b", "c", "d"])]
