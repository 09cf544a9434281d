"""T1-T7, what Trill adds, and D1-D17, where the sources differ: one keyword each, the same wherever it applies."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import framefold as ff

from .shared import alive, at, every, rows, spans, stream, values


def test_ways_of_sliding() -> None:
    """T1: how windows are put together follows from the operation and the windows; explain says it."""
    by_delta = ff.policy(ff.by_delta("v", 3))
    asked = {"sum": ff.Sum("v"), "min": ff.Min("v")}
    said = {
        kind: str(every([1]).window(of).explain(**asked))
        for kind, of in (("grid", ff.sliding(9, 1)), ("spl", by_delta))
    }
    assert "slides by deduct" in said["grid"]
    assert "slides by two-stacks" in said["grid"]
    assert "slides by deduct" not in said["spl"]  # rows leave from the midst of others


def test_emptiness_is_a_count() -> None:
    """T2: whether a window is empty is for its number of events to say, not for its state."""
    nothing = stream((0, None), (1, 0), (9, 0))
    assert spans(nothing, ff.tumbling(1), ff.Sum("v")) == [(0, 1, None), (1, 2, 0), (9, 10, 0)]
    assert spans(nothing, ff.tumbling(1), ff.Count("v")) == [(0, 1, 0), (1, 2, 1), (9, 10, 1)]


def test_hopping_lifetimes() -> None:
    """T3: the result at kP is of (kP - W, kP]; where P > W, of what is in no gap; given on change only."""
    right = {"closed": "right", "stamp": "end"}
    assert at(every([10, 11, 20, 21]), ff.sliding(20, 10, **right)) == [
        (10, [10]), (20, [10, 11, 20]), (30, [11, 20, 21]), (40, [21]),
    ]  # fmt: skip
    assert at(every([5, 6, 10, 11, 16]), ff.sliding(5, 10, offset=5, **right, gaps="allow")) == [
        (10, [6, 10]),
        (20, [16]),
    ]
    assert at(every([15]), ff.sliding(20, 10, emit="on_change", **right)) == [(20, [15])]


def test_quantized_lifetimes() -> None:
    """T4: windows [kP, kP + W) stamped with their start; progressive ones grow by a divisor of P."""
    assert at(every([0, 9, 10]), ff.tumbling(10, stamp="start")) == [(0, [0, 9]), (10, [10])]
    assert spans(every([0, 5, 10]), ff.cumulating(10, every=5)) == [
        (0, 5, [0]), (0, 10, [0, 5]), (10, 15, [10]), (10, 20, [10]),
    ]  # fmt: skip


def test_percentiles_and_tops() -> None:
    """T5: the discrete percentile is at rank ceil(p * n) - 1, the continuous one at p * (n - 1); nulls only count."""
    events = stream((0, 10), (0, 40), (0, 20), (0, None), (0, 30))
    of = {
        "discrete": ff.Quantile("v", 0.6, method="discrete"), "continuous": ff.Quantile("v", 0.6),
        "top": ff.TopN("v", 2), "all": ff.Count(), "values": ff.Count("v"),
    }  # fmt: skip
    # ceil(0.6 * 4) - 1 = 2: the third; 0.6 * 3 = 1.8: four fifths of the way from the second to the third
    [row] = rows(events, ff.tumbling(1), **of)
    assert [row[name] for name in of] == [30, pytest.approx(28.0), [40, 30], 5, 4]


def test_lifetimes_cut() -> None:
    """T6: Chop splits at the grid, as tumbling windows do; lifetimes are clipped by longest=."""
    whole = alive((3, 25, "a"))
    assert spans(whole, ff.tumbling(10), ff.Covered()) == [(0, 10, 7), (10, 20, 10), (20, 30, 5)]
    clipped = ff.events(pa.table({"t": [3, 4], "until": [25, 9]}), time="t", until="until", longest=10)
    lives = clipped.window(ff.snapshot()).aggregate(n=ff.Count()).to_pylist()
    assert [(*row["window"].values(), row["n"]) for row in lives] == [(3, 4, 1), (4, 9, 2), (9, 13, 1)]


def test_sessions() -> None:
    """T7: a session ends a timeout after its last event, or at the second multiple of its longest duration."""
    assert spans(every([11, 12, 21, 25, 80]), ff.session(50)) == [(11, 75, [11, 12, 21, 25]), (80, 130, [80])]
    assert spans(every([0, 10]), ff.session(10)) == [(0, 10, [0]), (10, 20, [10])]
    assert spans(every([0, 10]), ff.session(10, merge_touching=True)) == [(0, 20, [0, 10])]
    assert spans(every([11, 18, 25, 32, 39, 41]), ff.session(10, longest=20)) == [
        (11, 40, [11, 18, 25, 32, 39]),
        (41, 51, [41]),
    ]


def test_closed() -> None:
    """D1: which ends belong to a window."""
    want = {"left": [5, 6, 7, 8, 9], "right": [6, 7, 8, 9, 10], "both": [5, 6, 7, 8, 9, 10], "neither": [6, 7, 8, 9]}
    bounds = pa.table({"from": [5], "to": [10]})
    for closed, held in want.items():
        assert dict(at(every(range(1, 13)), ff.around(time=(-5, 0), closed=closed)))[10] == held
        assert values(every(range(1, 13)), ff.windows_from(bounds, start="from", end="to", closed=closed)) == [held]
        frozen = ff.landmark(since=5, until=10, closed=closed)
        assert values(every(range(1, 13)), frozen)[-1] == held
    for closed in ("left", "right"):
        found = {end: held for _, end, held in spans(every(range(1, 13)), ff.sliding(5, every=1, closed=closed))}
        assert found[10] == want[closed]
    assert dict(at(every(range(1, 13)), ff.policy(ff.by_time(5))))[10] == want["both"]


def test_where_windows_sit() -> None:
    """D2: on a grid, from a landmark, at each event, or where another data set says: each has its constructor."""
    events = every([3, 8])
    assert [start for start, _, _ in spans(events, ff.tumbling(5, offset=1))] == [1, 6]
    assert spans(events, ff.landmark(since=3, every=5)) == [(3, 8, [3]), (3, 13, [3, 8])]
    assert [time for time, _ in at(events, ff.around(time=(0, 1)))] == [3, 8]
    assert [time for time, _ in at(events, ff.policy(ff.by_count(1)))] == [3, 8]
    clock = pa.table({"from": [0, 2], "to": [4, 6]})
    assert [time for time, _ in at(events, ff.windows_from(clock, start="from", end="to"))] == [0, 2]


def test_min_fill() -> None:
    """D3: whether windows that are not full yet are given: rows around an event are not unless asked for."""
    events = every([4, 5, 6])
    assert values(events, ff.around(rows=(-1, 0))) == [[4, 5], [5, 6]]
    assert values(events, ff.around(rows=(-1, 0), min_fill="partial")) == [[4], [4, 5], [5, 6]]
    for windows in (ff.last_rows, lambda n, **of: ff.policy(ff.by_count(n), **of)):
        assert values(events, windows(2)) == [[4], [4, 5], [5, 6]]
        assert values(events, windows(2, min_fill="full")) == [[4, 5], [5, 6]]
    assert values(events, ff.sliding(2, every=1)) == [[4], [4, 5], [5, 6], [6]]
    assert values(events, ff.sliding(2, every=1, min_fill="full")) == [[4, 5], [5, 6], [6]]


def test_empty() -> None:
    """D4: empty windows are left out on a grid, given where they are tied to events or given."""
    events = every([0, 9])
    assert values(events, ff.tumbling(3)) == [[0], [9]]
    assert values(events, ff.tumbling(3, empty="emit")) == [[0], [], [], [9]]
    assert values(events, ff.around(time=(1, 2))) == [[], []]
    bounds = pa.table({"from": [0, 4], "to": [1, 5]})
    for empty, want in (("emit", [[0], []]), ("skip", [[0]])):
        assert values(events, ff.windows_from(bounds, start="from", end="to", empty=empty)) == want
    for empty, held in (("skip", []), ("emit", [(4, []), (8, [])])):
        assert at(events, ff.policy(ff.by_time(1), ff.by_time(4), empty=empty, gaps="allow")) == held


def test_emit() -> None:
    """D5: unchanged results are repeated, or left out."""
    events = every([0, 9])
    for make in (
        lambda **of: ff.sliding(4, every=2, **of),
        lambda **of: ff.policy(ff.by_count(5), ff.by_time(2), **of),
        lambda **of: ff.landmark(since=0, every=2, **of),
        lambda **of: ff.cumulating(6, every=2, **of),
    ):
        each, changed = values(events, make()), values(events, make(emit="on_change"))
        assert changed == [held for place, held in enumerate(each) if not place or held != each[place - 1]]
        assert len(changed) < len(each)


def test_order_of_triggers() -> None:
    """D6: a count trigger comes after its row, a delta trigger before."""
    events = every([0, 1, 2])
    assert at(events, ff.policy(ff.by_count(9), ff.by_count(3))) == [(2, [0, 1, 2])]
    assert at(events, ff.policy(ff.by_count(9), ff.by_delta("v", 1))) == [(2, [0, 1])]


def test_clock() -> None:
    """D7: the clock is the column that is said to be the time, of events or of their arrival."""
    data = pa.table({"happened": [1, 2], "arrived": [11, 5], "v": ["a", "b"]})
    found = {time: values(ff.events(data, time=time), ff.policy(ff.by_time(5))) for time in ("happened", "arrived")}
    assert found == {"happened": [["a"], ["a", "b"]], "arrived": [["b"], ["a"]]}


def test_late_data() -> None:
    """D8, as far as a batch goes: no event is late in one."""
    assert spans(every([9, 0]), ff.tumbling(5)) == [(0, 5, [0]), (5, 10, [9])]


def test_stamp() -> None:
    """D9: a result lives as long as its window, or is a point at its end or start; tied to an event it has its time."""
    for windows in (ff.sliding(4, every=4), ff.session(4), ff.cumulating(4, every=4), ff.landmark(since=0, every=4)):
        [row] = rows(every([0]), windows)
        assert (row["window"], "at" in row) == ({"start": 0, "end": 4}, False)
    assert at(every([0]), ff.tumbling(4, stamp="end")) == [(4, [0])]
    assert at(every([0]), ff.tumbling(4, stamp="start")) == [(0, [0])]
    assert at(every([7]), ff.around(time=(-9, -8))) == [(7, [])]
    given = pa.table({"from": [0], "to": [8], "now": [99]})
    assert at(every([7]), ff.windows_from(given, start="from", end="to", at="now")) == [(99, [7])]


def test_ties() -> None:
    """D10: what counts where several events have one time."""
    events = stream((1, "a"), (2, "b"), (2, "c"))
    found = {ties: values(events, ff.last_rows(2, ties=ties)) for ties in ("arrival", "distinct_time", "strict")}
    assert found == {
        "arrival": [["a"], ["a", "b"], ["b", "c"]],
        "distinct_time": [["a"], ["a", "b", "c"]],
        "strict": [["a"], ["b", "c"]],
    }


def test_future() -> None:
    """D11: offsets have a sign."""
    assert at(every([1, 2]), ff.around(rows=(0, 1))) == [(1, [1, 2])]
    assert at(every([1, 2]), ff.around(time=(1, 1))) == [(1, [2]), (2, [])]


def test_size_that_is_no_multiple_of_the_step() -> None:
    """D12: the line is cut where windows start or end; a cumulating window needs whole steps."""
    assert spans(every([4, 5, 6]), ff.sliding(5, every=3)) == [(0, 5, [4]), (3, 8, [4, 5, 6]), (6, 11, [6])]
    assert "two frames every 3, of 2 and 1" in str(every([0]).window(ff.sliding(5, every=3)).explain(n=ff.Count()))
    with pytest.raises(ff.DurationError, match="whole steps"):
        values(every([0]), ff.cumulating(5, every=3))


def test_gaps() -> None:
    """D13: [kH, kH + S), or the last S before kH: by `closed` and `offset`."""
    events = every([5, 6, 10, 11])
    assert spans(events, ff.sliding(5, every=10, gaps="allow")) == [(10, 15, [10, 11])]
    assert spans(events, ff.sliding(5, every=10, offset=5, closed="right", gaps="allow")) == [(5, 10, [6, 10])]


def test_keys_go_with_their_last_event() -> None:
    """D14: the number of events says whether a key is there: after +5 and -5 it still is."""
    events = stream((0, 5, "a"), (1, -5, "a"), (1, 1, "b"))
    assert spans(events, ff.sliding(2, every=1), ff.Sum("v")) == [
        ("a", -1, 1, 5), ("a", 0, 2, 0), ("a", 1, 3, -5), ("b", 0, 2, 1), ("b", 1, 3, 1),
    ]  # fmt: skip


def test_end_of_input() -> None:
    """D15, as far as a batch goes: windows of time are cut at the end and given; unfinished windows of rows are not."""
    events = every([0, 1, 2])
    assert values(events, ff.around(time=(0, 1))) == [[0, 1], [1, 2], [2]]
    assert values(events, ff.around(rows=(0, 1))) == [[0, 1], [1, 2]]
    assert values(events, ff.around(rows=(0, 1), min_fill="partial")) == [[0, 1], [1, 2], [2]]
    assert values(events, ff.last_rows(2, every=2)) == [[0, 1]]
    assert values(events, ff.tumbling(2)) == [[0, 1], [2]]


def test_representative_of_equal_events() -> None:
    """D16: the most recent of equal events; to keep the one that was found is not to be had yet."""
    assert values(stream((1, "A"), (3, "A")), ff.tumbling(9), ff.GroupedBy(ff.Last("t"), "v")) == [[("A", 3)]]


def test_undefined_deviations() -> None:
    """D17: divided by n - ddof; null where that is not above 0, and what fill_null makes of it."""
    found = values(stream((0, 1.0), (1, 2.0), (9, 5.0)), ff.tumbling(9), ff.StdDev("v"))
    assert found == [pytest.approx(math.sqrt(0.5)), None]
    assert pa.chunked_array([found]).fill_null(0.0).to_pylist() == [pytest.approx(math.sqrt(0.5)), 0.0]
    assert values(stream((0, 1.0), (1, 2.0), (9, 5.0)), ff.tumbling(9), ff.StdDev("v", ddof=0)) == [0.5, 0.0]
