"""Rules R35-R47: windows around messages, given windows and running results of Microsoft's psi."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from .shared import at, every, rows, stream, values


def given(*anchors: tuple[int, ...], names: str = "from to at", **of: str) -> Any:
    """Windows from anchors (from, to, at)."""
    table = pa.table({name: [row[place] for row in anchors] for place, name in enumerate(names.split())})
    return ff.windows_from(table, start="from", end="to", **{"at": "at", **of})


def test_index_windows() -> None:
    """R35: rows i to j from the current one, complete; an end may be left out; reversed bounds are not swapped here."""
    events = every(range(5))
    assert values(events, ff.around(rows=(-2, 0))) == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    with pytest.raises(ff.QueryError, match=r"rows is \(0, -2\).*expected rows=\(-2, 0\) for what comes before it or"):
        ff.around(rows=(0, -2))
    assert values(events, ff.around(rows=(0, 2), closed="left")) == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert values(events, ff.around(rows=(0, 2), closed="neither")) == [[1], [2], [3], [4]]
    assert values(events, ff.around(rows=(-2, 0), min_fill="partial"))[:2] == [[0], [0, 1]]


def test_stamped_with_the_anchor() -> None:
    """R36: the time of message 0, also where it is not in the window."""
    events = stream((10, "a"), (20, "b"), (30, "c"), (40, "d"))
    assert at(events, ff.around(rows=(1, 2))) == [(10, ["b", "c"]), (20, ["c", "d"])]
    assert at(events, ff.around(rows=(-2, -1))) == [(30, ["a", "b"]), (40, ["b", "c"])]


def test_forward_windows() -> None:
    """R37: what would need messages after the last is never given. (That a stream waits for them is for streams.)"""
    assert at(every(range(4)), ff.around(rows=(0, 2))) == [(0, [0, 1, 2]), (1, [1, 2, 3])]
    assert at(every(range(2)), ff.around(rows=(0, 2))) == []


def test_half_bounded_intervals() -> None:
    """R38: LeftBounded(-2) is (-2, 0) and RightBounded(2) is (0, 2): the side not given is 0."""
    events = every(range(4))
    assert at(events, ff.around(rows=(-2, 0))) == [(2, [0, 1, 2]), (3, [1, 2, 3])]
    assert at(events, ff.around(rows=(0, 2))) == [(0, [0, 1, 2]), (1, [1, 2, 3])]


def test_time_windows() -> None:
    """R39: [anchor + l, anchor + r] for every message, of any length, closed unless said; empty where 0 is left out."""
    events = every([0, 1, 2, 7])
    found = at(events, ff.around(time=(-2, 1)))
    assert found == [(0, [0, 1]), (1, [0, 1, 2]), (2, [0, 1, 2]), (7, [7])]
    assert at(events, ff.around(time=(-2, 0), closed="right")) == [(0, [0]), (1, [0, 1]), (2, [1, 2]), (7, [7])]
    assert at(events, ff.around(time=(-3, -1))) == [(0, []), (1, [0]), (2, [0, 1]), (7, [])]
    assert at(events, ff.around(time=(0, 5))) == [(0, [0, 1, 2]), (1, [1, 2]), (2, [2, 7]), (7, [7])]


def test_gaps_in_the_input_are_gaps_in_the_output() -> None:
    """R40: anchors are messages; where none comes, nothing does; two of one time give two results."""
    events = stream((0, "a"), (100, "b"), (100, "c"))
    assert at(events, ff.around(time=(-1, 1))) == [(0, ["a"]), (100, ["b", "c"]), (100, ["b", "c"])]


def test_the_end_releases_all() -> None:
    """R41, as far as a batch goes: its end is the close of the source, which releases every window, cut there."""
    events = every(range(50))
    assert at(events, ff.around(time=(0, 1000)), ff.Count()) == [(t, 50 - t) for t in range(50)]
    assert at(events, ff.around(time=(-1000, 1000)), ff.Count()) == [(t, 50) for t in range(50)]  # none is lost


def test_selectors_see_times() -> None:
    """R42: what is computed sees values and their times; the result has that of the anchor."""
    events = stream((0, 0), (1, 2), (3, 6), (4, 5))
    found = at(events, ff.around(rows=(-2, 0)), ff.LinearTrend("t", "v").then(lambda of: of["slope"]))
    # over 1, 3, 4 with 2, 6, 5: means 8/3 and 13/3; (-5/3 * -7/3 + 1/3 * 5/3 + 4/3 * 2/3) / (25/9 + 1/9 + 16/9)
    assert found == [(3, pytest.approx(2.0)), (4, pytest.approx((35 + 5 + 8) / 42))]
    delayed = ff.AllOf(v=ff.Last("v"), t=ff.Last("t"))
    assert at(events, ff.around(rows=(-1, -1)), delayed) == [
        (1, {"v": 0, "t": 0}), (3, {"v": 2, "t": 1}), (4, {"v": 6, "t": 3}),
    ]  # fmt: skip


def test_dynamic_windows() -> None:
    """R43: one window a message of another stream, any width, with that message's time; a clock gives uniform ones."""
    events = every(range(10))
    windows = given((2, 4, 20), (7, 100, 21), (5, 5, 22), (8, 8, 23), closed="both")
    assert at(events, windows) == [(20, [2, 3, 4]), (21, [7, 8, 9]), (22, [5]), (23, [8])]
    assert at(events, given((2, 4, 0), (4, 4, 1), (4, 4, 2))) == [(0, [2, 3]), (1, []), (2, [])]
    clock = given(*((tick - 2, tick + 2, tick) for tick in range(0, 16, 5)), closed="both")
    assert at(every([0, 1, 9]), clock) == [(0, [0, 1]), (5, []), (10, [9]), (15, [])]
    with pytest.raises(ff.QueryError, match="end before they start"):
        at(events, given((4, 2, 0)))


def test_obsolete_times() -> None:
    """R44: what is obsolete must not fall, and no window may begin before what was obsolete already; equal is kept."""

    def of(*anchors: tuple[int, ...]) -> object:
        names = "from to at obsolete"
        return values(every(range(6)), given(*anchors, names=names, obsolete="obsolete", closed="both"))

    assert of((0, 2, 0, 1), (1, 3, 1, 1)) == [[0, 1, 2], [1, 2, 3]]
    with pytest.raises(ff.QueryError, match="starts before 'obsolete' of the row before"):
        of((3, 5, 0, 3), (2, 5, 1, 3))
    with pytest.raises(ff.QueryError, match="'obsolete' falls in row 1"):
        of((3, 5, 0, 3), (3, 5, 1, 2))


def test_aggregates_over_so_many_or_so_long() -> None:
    """R45: f(n) looks back over n messages, f(span) over [t - span, t], closed on the left."""
    events = every(range(7))
    assert values(events, ff.around(rows=(-2, 0)), ff.Sum("v")) == [3, 6, 9, 12, 15]
    assert values(events, ff.around(time=(-4, 0)), ff.Count()) == [1, 2, 3, 4, 5, 5, 5]


def test_running_results() -> None:
    """R46: without a size, everything so far, for each message; with a condition, for the messages that meet it."""
    events = stream(*enumerate([5, 6, 4, 2, 3, 1, 9]))
    assert values(events, ff.landmark(), ff.Min("v")) == [5, 5, 4, 2, 2, 1, 1]
    assert at(events, ff.landmark(), ff.Average("v"))[:3] == [(0, 5.0), (1, 5.5), (2, 5.0)]
    even = stream(*((t, v) for t, v in enumerate([5, 6, 4, 2, 3, 1, 9]) if v % 2 == 0))
    assert at(even, ff.landmark(), ff.Count()) == [(1, 1), (2, 2), (3, 3)]


def test_nulls_nan_and_deviations() -> None:
    """R47: nulls are skipped; of nulls alone a sum is 0 where asked for, all else null; deviations are the sample's.

    Here NaN is above every other value, as in Spark SQL, and a deviation of one value is null (choices 11 and D17).
    """
    nulls = stream((0, None), (1, None), (2, 3.0), (3, 5.0))
    of = {"sum": ff.Sum("v", empty=0), "none": ff.Sum("v"), "avg": ff.Average("v"), "min": ff.Min("v")}
    found = [[row[name] for name in of] for row in rows(nulls, ff.around(rows=(-1, 0)), **of)]
    assert found == [[0, None, None, None], [3.0, 3.0, 3.0, 3.0], [8.0, 8.0, 4.0, 3.0]]
    nan = stream((0, 1.0), (1, math.nan), (2, 0.0))
    assert values(nan, ff.landmark(), ff.Min("v")) == [1.0, 1.0, 0.0]
    assert [math.isnan(x) for x in values(nan, ff.landmark(), ff.Max("v"))] == [False, True, True]
    assert [math.isnan(x) for x in values(nan, ff.landmark(), ff.Sum("v"))] == [False, True, True]
    deviations = values(stream((0, 1.0), (1, 2.0)), ff.landmark(), ff.StdDev("v"))
    assert deviations == [None, pytest.approx(math.sqrt(0.5))]
