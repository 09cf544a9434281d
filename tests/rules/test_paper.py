"""Rules R48-R58: window scopes of Patroumpas and Sellis."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest

import framefold as ff

from .shared import at, every, spans, stream, values


def scope(events: ff.Events, size: int, every: int, since: int = 0, value: object = None) -> dict[int, object]:
    """What is in (t - size, t] at every refresh t = since + k * every."""
    windows = ff.sliding(size, every, offset=(since - size) % every, closed="right", gaps="allow")
    return {end: of for _, end, of in (spans(events, windows, value) if value is not None else spans(events, windows))}


def test_bags_over_discrete_ordered_time() -> None:
    """R48: duplicates count, an instant holds many tuples, every tuple has a time; order of arrival does not matter."""
    events = stream((2, "x"), (1, "x"), (1, "x"))
    assert values(events, ff.tumbling(1)) == [["x", "x"], ["x"]]
    assert at(events, ff.landmark(), ff.Count()) == [(1, 1), (1, 2), (2, 3)]  # S(t) grows by S_I(t)
    untimed = pa.table({"t": pa.array([1, None], pa.int64()), "v": ["x", "y"]})
    with pytest.raises(ff.NullTimeError):
        ff.events(untimed, time="t").window(ff.tumbling(1)).aggregate(n=ff.Count())


def test_a_window_is_a_finite_relation_at_each_instant() -> None:
    """R49: a scope is a function from a time to an interval; further predicates make value windows."""
    events = stream((0, 31), (1, 29), (2, 35))
    assert scope(events, size=2, every=1) == {0: [31], 1: [31, 29], 2: [29, 35], 3: [35]}
    warm = ff.Filtered(ff.CollectList("v"), lambda v: v >= 30)
    assert scope(events, 2, 1, value=warm) == {0: [31], 1: [31], 2: [35], 3: [35]}


def test_continuous_results() -> None:
    """R50: monotonic where growing input takes nothing back; distinct by chunks is wrong, as chunks share values.

    To turn relations into streams (ISTREAM, DSTREAM, RSTREAM) is for streams.
    """
    events = stream((0, "a"), (1, "b"), (2, "a"))
    so_far = values(events, ff.landmark(), ff.CollectSet("v"))
    assert so_far == [["a"], ["a", "b"], ["a", "b"]]
    assert all(set(one) <= set(two) for one, two in pairwise(so_far))
    by_chunks = values(events, ff.tumbling(2), ff.CountDistinct("v"))
    assert sum(by_chunks) == 3  # and there are two


def test_sliding_scope() -> None:
    """R51: [t0, t] at first, then [t - w + 1, t], at every b-th instant; in between it is that of the last refresh."""
    found = scope(every(range(2, 20)), size=10, every=4, since=2)
    assert {t: (of[0], of[-1]) for t, of in found.items() if t < 20} == {  # type: ignore[index]
        2: (2, 2), 6: (2, 6), 10: (2, 10), 14: (5, 14), 18: (9, 18),
    }  # fmt: skip
    full = ff.sliding(10, 4, closed="right", min_fill="full")  # from the step (0, 4] of the first tuple on
    assert next(end for _, end, _ in spans(every(range(2, 20)), full)) == 10


def test_range_and_slide_of_q1() -> None:
    """R52: at tau, ts > 60 * floor(tau / 60) - 3600 and ts <= 60 * floor(tau / 60)."""
    ticks = [0, 1, 60, 61, 3600, 3601, 3660, 3725]
    found = scope(every(ticks), size=3600, every=60)
    for tau in (60, 3601, 3725, 7000):
        now = tau // 60 * 60
        assert found[now] == [ts for ts in ticks if now - 3600 < ts <= now]


def test_now() -> None:
    """R53: S[NOW] is w = b = 1: the tuples of the very instant."""
    assert scope(stream((3, "a"), (3, "b"), (5, "c")), size=1, every=1) == {3: ["a", "b"], 5: ["c"]}


def test_expiration() -> None:
    """R54: gone at ts + w, first in, first out; with b above 1, at the first refresh from then on."""
    for step in (1, 4):
        found = scope(every([0, 3, 8]), size=10, every=step)
        for ts in (0, 3, 8):
            last = max(end for end, of in found.items() if ts in of)  # type: ignore[operator]
            assert last + step == -(-(ts + 10) // step) * step


def test_tumbling_scope() -> None:
    """R55: states are disjoint and follow one another; b above w leaves gaps; w may vary with time."""
    assert list(scope(every(range(1, 7)), size=3, every=3).values()) == [[1, 2, 3], [4, 5, 6]]
    assert list(scope(every(range(1, 11)), size=3, every=5).values()) == [[3, 4, 5], [8, 9, 10]]
    bounds = pa.table({"from": [0, 1, 4], "to": [1, 4, 6]})
    varying = ff.windows_from(bounds, start="from", end="to", closed="right")
    assert values(every(range(1, 7)), varying) == [[1], [2, 3, 4], [5, 6]]


def test_landmark_scopes() -> None:
    """R56: from l on nothing is let go; up to u it grows, then is frozen; between two, both; always monotonic."""
    events = every([3, 4, 5, 9])
    assert at(events, ff.landmark(since=5, closed="both")) == [(5, [5]), (9, [5, 9])]
    upper = at(events, ff.landmark(until=4, closed="both"))
    assert upper == [(3, [3]), (4, [3, 4]), (5, [3, 4]), (9, [3, 4])]
    band = at(events, ff.landmark(since=4, until=5, closed="both"))
    assert band == [(4, [4]), (5, [4, 5]), (9, [4, 5])]
    stepped = spans(events, ff.landmark(since=4, until=8, every=2))
    assert stepped == [(4, 6, [4, 5]), (4, 8, [4, 5]), (4, 8, [4, 5])]
    for found in (upper, band):
        assert all(set(one) <= set(two) for (_, one), (_, two) in pairwise(found))


def test_count_windows() -> None:
    """R57: the n most recent; of a tied batch that would be too many, none (strict), or those admitted last."""
    events = stream((1, "a"), (1, "b"), (2, "c"), (2, "d"), (3, "e"))
    assert at(events, ff.last_rows(4, ties="strict")) == [
        (1, ["a", "b"]), (2, ["a", "b", "c", "d"]), (3, ["c", "d", "e"]),
    ]  # fmt: skip
    assert at(events, ff.last_rows(4))[-1] == (3, ["b", "c", "d", "e"])
    admitted = values(every(range(9)), ff.last_rows(4))
    assert all((rho in of) == (rho <= now < rho + 4) for rho in range(9) for now, of in enumerate(admitted))
    # a batch that is too many by itself leaves nothing
    assert at(stream((1, "a"), (1, "b"), (2, "c")), ff.last_rows(1, ties="strict")) == [(2, ["c"])]


def test_ties_go_by_stated_columns() -> None:
    """R57: admission order is that of time, then of the columns stated, then of arrival."""
    data = pa.table({"t": [1, 1, 1], "v": ["a", "b", "c"], "rank": [2, 3, 1]})
    for ties, want in ((("rank",), ["a", "b"]), ((), ["b", "c"])):
        assert values(ff.events(data, time="t", ties=ties), ff.last_rows(2))[-1] == want


def test_partitioned_windows() -> None:
    """R58: a count window for each group, none of which ever goes; what is older may stay in another group."""
    events = stream((0, "a1", "a"), (1, "b1", "b"), (2, "a2", "a"), (3, "a3", "a"), (4, "c1", "c"))
    last = {key: of for key, _, of in at(events, ff.last_rows(2))}
    assert last == {"a": ["a2", "a3"], "b": ["b1"], "c": ["c1"]}  # b1 is older than a1's successors
