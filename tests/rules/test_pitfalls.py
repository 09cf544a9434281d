"""What went wrong in other engines, as semantics.md lists it, and does not here."""

from __future__ import annotations

import pyarrow as pa

import framefold as ff

from .shared import every, rows, spans, stream, values


def test_combine_leaves_its_operands_alone() -> None:
    """A combine that keeps its right operand corrupts later windows: 1, 2, 4, 3, 3, 2, 1 in a model of Jet's code."""
    grouped = values(stream(*((t, "a") for t in range(5))), ff.sliding(3, every=1), ff.GroupedBy(ff.Count(), "v"))
    assert [dict(of)["a"] for of in grouped] == [1, 2, 3, 3, 3, 2, 1]


def test_frames_without_a_value() -> None:
    """A combine that expects none fails on frames from which a filter took everything."""
    events = stream((0, 1), (1, 50), (2, 2))
    high = ff.Filtered(ff.Max("v"), lambda v: v > 10)
    assert values(events, ff.sliding(2, every=1), high) == [None, 50, 50, None]


def test_finish_leaves_states_alone() -> None:
    """A finish that changes the state it is given breaks the next slide: asked twice, or slid over, it is the same."""
    of = {"once": ff.CollectList("v"), "again": ff.CollectList("v"), "last": ff.LastN("v", 2)}
    found = rows(every(range(5)), ff.sliding(3, every=1), **of)
    assert [row["once"] for row in found] == [row["again"] for row in found]
    assert [row["last"] for row in found] == [row["once"][-2:] for row in found]


def test_events_far_apart() -> None:
    """A loop over all window ends between two events that are far apart never ends."""
    late = 10**15
    assert [end for _, end, _ in spans(every([0, late]), ff.sliding(3, every=1))] == [
        1,
        2,
        3,
        *range(late + 1, late + 4),
    ]


def test_nothing_leaks_out_of_its_window() -> None:
    """An inverse added to an operation that has none leaks events: whatever is picked is of the window."""
    events = every(range(0, 60, 7))
    for pick in (ff.First("v"), ff.Last("v"), ff.Min("v"), ff.Max("v"), ff.ArgMax("v", "v")):
        assert all(start <= value < end for start, end, value in spans(events, ff.sliding(10, every=5), pick))


def test_cascaded_windows() -> None:
    """A result belongs to its window's last tick: stamped with the end itself it would be in the next hour."""
    minutes = rows(every([0, 30, 59]), ff.tumbling(10), n=ff.Count())
    last_ticks = pa.table({"t": [row["window"]["end"] - 1 for row in minutes], "n": [row["n"] for row in minutes]})
    assert ff.events(last_ticks, time="t").window(ff.tumbling(60)).aggregate(n=ff.Sum("n"))["n"].to_pylist() == [3]


def test_floats_do_not_drift() -> None:
    """What is deducted leaves nothing behind: after 1e16 has left, 1.0 is 1.0, and a variance is never negative."""
    events = stream((0, 1e16), (1, 1.0), (2, 1.0), (3, 1.0))
    assert values(events, ff.sliding(2, every=1), ff.Sum("v"))[2:] == [2.0, 2.0, 1.0]
    assert values(events, ff.sliding(2, every=1), ff.Variance("v"))[2:4] == [0.0, 0.0]
