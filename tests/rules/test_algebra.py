"""Rules R59-R68: what holds of Patroumpas and Sellis' windowed operators, as far as aggregates can say it."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from .shared import LIST, every, spans, stream, values

WARM = ff.Filtered(LIST, lambda v: v >= 30)
READINGS = [(0, 31), (10, 29), (20, 35), (20, 30)]
HOUR = ff.sliding(60, every=1, closed="right")
A = [(0, "x"), (0, "x"), (1, "y"), (5, "x")]
B = [(0, "x"), (2, "z"), (6, "x"), (6, "x")]


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table({"t": [row[0] for row in rows], "v": [row[1] for row in rows]})


def both(windows: Any, value: Any) -> list[Any]:
    """An aggregate over two inputs in the same windows: (start, end, value)."""
    inputs = {name: ff.events(table(rows), time="t") for name, rows in (("a", A), ("b", B))}
    found = ff.together(**inputs).window(windows).aggregate(v=value).to_pylist()
    return [(row["window"]["start"], row["window"]["end"], row["v"]) for row in found]


def counts(of: Any) -> Counter[Any]:
    return Counter(dict(of))


def by_item(one: str, two: str, function: Any) -> Any:
    """A function of how often each item is in two multisets, as an aggregate."""

    def of_each(of: dict[str, Any]) -> pa.Array:
        pairs = zip(of["one"].to_pylist(), of["two"].to_pylist(), strict=True)
        made = [function(counts(left), counts(right)) for left, right in pairs]
        return pa.array([sorted(each.items()) for each in made], pa.map_(pa.string(), pa.int64()))

    parts = ff.AllOf(one=ff.GroupedBy(ff.Count(), one), two=ff.GroupedBy(ff.Count(), two))
    return parts.then(of_each, result=pa.map_(pa.string(), pa.int64()))


DIFFERENCE = by_item("a.v", "b.v", lambda left, right: left - right)
UNION = by_item("a.v", "b.v", lambda left, right: left + right)
JOIN = by_item("a.v", "b.v", lambda left, right: Counter({item: left[item] * right[item] for item in left & right}))


def brute(size: int, step: int, function: Any) -> list[Any]:
    """The same by definition: the items of both inputs in each window."""
    found = []
    for start in range(-step * (size // step), 7, step):
        left, right = (Counter(v for t, v in rows if start <= t < start + size) for rows in (A, B))
        if left or right:
            found.append((start, start + size, sorted(function(left, right).items())))
    return found


def test_neutral_operators() -> None:
    """R59: selection, projection and union keep times and expiry; a union adds up how often each is there."""
    times = ff.Filtered(ff.CollectList("t"), lambda t, v: v >= 30, "t", "v")
    found = {end: of for _, end, of in spans(stream(*READINGS), HOUR, times)}
    assert (found[20], found[59], found[60], found[79]) == ([0, 20, 20], [0, 20, 20], [20, 20], [20, 20])
    assert found.get(80, []) == []  # expired at 20 + 60
    assert both(ff.sliding(4, every=2), UNION) == brute(4, 2, lambda left, right: left + right)
    united = ff.events(pa.concat_tables([table(A), table(B)]), time="t").window(ff.sliding(4, every=2))
    assert united.aggregate(v=ff.GroupedBy(ff.Count(), "v"))["v"].to_pylist() == [
        of for _, _, of in both(ff.sliding(4, every=2), UNION)
    ]


def test_interfering_operators() -> None:
    """R60: distinct, aggregation and join only grow on landmarks, and take back what expires elsewhere."""
    events = stream((0, "x"), (1, "y"), (2, "y"), (3, "y"))
    for windows, grows in ((ff.landmark(), True), (ff.last_rows(2), False)):
        distinct = values(events, windows, ff.CollectSet("v"))
        assert all(set(one) <= set(two) for one, two in pairwise(distinct)) == grows
        number = values(events, windows, ff.CountDistinct("v"))
        assert all(one <= two for one, two in pairwise(number)) == grows
    for windows, grows in ((ff.landmark(since=0, every=1), True), (ff.sliding(2, every=1), False)):
        joined = [counts(of) for _, _, of in both(windows, JOIN)]
        assert all(one <= two for one, two in pairwise(joined)) == grows


def test_distinct() -> None:
    """R61: of equal tuples the most recent one, which is the youngest in the window; on landmarks also the first.

    To keep the one that was found until it expires depends on the state before, and is not to be had yet.
    """
    events = stream((1, "A"), (2, "B"), (3, "A"), (4, "C"), (5, "D"))
    recent = values(events, ff.last_rows(4), ff.GroupedBy(ff.Last("t"), "v"))
    assert recent == [
        [("A", 1)], [("A", 1), ("B", 2)], [("A", 3), ("B", 2)],
        [("A", 3), ("B", 2), ("C", 4)], [("A", 3), ("B", 2), ("C", 4), ("D", 5)],
    ]  # fmt: skip
    first = values(events, ff.landmark(), ff.GroupedBy(ff.First("t"), "v"))
    assert first[-1] == [("A", 1), ("B", 2), ("C", 4), ("D", 5)]  # later duplicates are ignored


def test_aggregation() -> None:
    """R62: a row for each group, which is gone when its count is 0; no groups are one; the result has the time t.

    A maximum that leaves makes room for the next; sums, counts and averages need no look at what stays.
    """
    windows = ff.sliding(3, every=1, closed="right", stamp="end")
    events = stream((1, 5, "a"), (1, 2, "b"), (2, 1, "a"), (4, 7, "b"))
    found: dict[int, dict[str, Any]] = {}
    of = events.window(windows).aggregate(sum=ff.Sum("v"), n=ff.Count(), max=ff.Max("v")).to_pylist()
    for row in of:
        found.setdefault(row["at"], {})[row["k"]] = (row["sum"], row["n"], row["max"])
    assert found == {
        1: {"a": (5, 1, 5), "b": (2, 1, 2)},
        2: {"a": (6, 2, 5), "b": (2, 1, 2)},
        3: {"a": (6, 2, 5), "b": (2, 1, 2)},
        4: {"a": (1, 1, 1), "b": (7, 1, 7)},
        5: {"b": (7, 1, 7)},
        6: {"b": (7, 1, 7)},
    }
    one_group = stream((1, 5), (1, 2), (2, 1), (4, 7))
    assert values(one_group, windows, ff.Sum("v")) == [7, 8, 8, 8, 7, 7]
    assert values(stream(*enumerate([3, 9, 4, 7, 1, 2, 5])), ff.last_rows(5), ff.Max("v")) == [3, 9, 9, 9, 9, 9, 7]


def test_join() -> None:
    """R63: pairs of equal items from both states; it does not matter which side is first.

    The pairs themselves, their times and their expiry, which is that of the first to leave, are not to be had yet:
    as aggregates of the two windows, how many there are is.
    """
    expected = brute(4, 2, lambda left, right: Counter({v: left[v] * right[v] for v in left & right}))
    assert both(ff.sliding(4, every=2), JOIN) == expected
    swapped = by_item("b.v", "a.v", lambda left, right: Counter({v: left[v] * right[v] for v in left & right}))
    assert both(ff.sliding(4, every=2), swapped) == expected


def test_difference() -> None:
    """R64: how often an item is in the one window beyond the other, 0 left out; an expiry there brings items back."""
    assert both(ff.sliding(4, every=2), DIFFERENCE) == brute(4, 2, lambda left, right: left - right)
    states = [counts(of) for _, _, of in both(ff.landmark(since=0, every=1), DIFFERENCE)]
    assert states[0]["x"] == 1  # 2 - 1
    assert (states[5]["x"], states[6]["x"]) == (2, 0)  # 3 - 1, then 3 - 3: it falls on a landmark too
    lives = {"t": [0, 2], "until": [9, 4], "a": ["x", None], "b": [None, "x"]}
    of = ff.events(pa.table(lives), time="t", until="until").window(ff.snapshot())
    restored = of.aggregate(v=by_item("a", "b", lambda left, right: left - right))
    assert restored["v"].to_pylist() == [[("x", 1)], [], [("x", 1)]]


def test_diverse_windows() -> None:
    """R65: of a landmark and a sliding window together, results expire with the sliding one."""
    wet, warm = [(0, 80), (10, 85)], [(50, 31), (55, 33)]
    inputs = {"wet": ff.events(table(wet), time="t"), "warm": ff.events(table(warm), time="t")}
    anchors = pa.table({"tau": [60, 110, 115], "since": [0, 0, 0], "hour": [0, 50, 55]})
    landmark = ff.windows_from(anchors, start="since", end="tau", at="tau", closed="both")
    sliding = ff.windows_from(anchors, start="hour", end="tau", at="tau", closed="right")
    rows = ff.together(**inputs).aggregate(wet=ff.Max("wet.v").over(landmark), warm=ff.Average("warm.v").over(sliding))
    joined: dict[int, dict[str, float]] = {60: {}, 110: {}, 115: {}}
    for row in rows.to_pylist():
        joined[row["at"]] |= {name: row[name] for name in ("wet", "warm") if row[name] is not None}
    assert joined == {60: {"wet": 85, "warm": 32.0}, 110: {"wet": 85, "warm": 33.0}, 115: {"wet": 85}}


def test_table_of_monotonicity() -> None:
    """R66: of Table 1, what the states of a batch show.

    Landmarks: all but the difference only grow. Sliding: a selection expires in the order of arrival (weakest), the
    most recent of equal tuples does not leave in the order in which values came (weak).
    """
    landmark = ff.landmark(since=0, every=1)
    grows = {
        "selection": [counts(Counter(of).items()) for _, _, of in spans(stream(*READINGS), landmark, WARM)],
        "distinct": [counts(dict.fromkeys(of, 1)) for _, _, of in spans(stream(*A), landmark, ff.CollectSet("v"))],
        "aggregation": [counts(of) for _, _, of in spans(stream(*A), landmark, ff.GroupedBy(ff.Count(), "v"))],
        "union": [counts(of) for _, _, of in both(landmark, UNION)],
        "join": [counts(of) for _, _, of in both(landmark, JOIN)],
        "difference": [counts(of) for _, _, of in both(landmark, DIFFERENCE)],
    }
    monotonic = {name: all(one <= two for one, two in pairwise(states)) for name, states in grows.items()}
    assert monotonic == {name: name != "difference" for name in grows}
    events = [(0, "A"), (1, "B"), (2, "A")]
    left = [set(one) - set(two) for one, two in pairwise(values(stream(*events), ff.sliding(3, 1, closed="right")))]
    assert [value for gone in left for value in sorted(gone)] == ["B"]  # B goes before A, which came first


def test_equivalences() -> None:
    """R67: selection, projection, union and distinct commute with windows of time; selection not with counts."""
    chosen = [(t, v) for t, v in READINGS if v >= 30]
    for windows in (HOUR, ff.tumbling(7), ff.cumulating(20, every=5)):
        after = [row for row in spans(stream(*READINGS), windows, WARM) if row[2]]
        assert after == spans(stream(*chosen), windows)
    numbers = every(range(1, 7))
    assert values(numbers, ff.last_rows(3), ff.Filtered(LIST, lambda v: v % 2 == 0))[-1] == [4, 6]
    assert values(every([2, 4, 6]), ff.last_rows(3))[-1] == [2, 4, 6]
    # distinct, of the most recent of equal tuples: within the window, or before it
    rows = [(1, "A"), (2, "B"), (5, "A")]
    scope = ff.windows_from(pa.table({"from": [3], "to": [7]}), start="from", end="to", closed="both")
    within = values(stream(*rows), scope, ff.GroupedBy(ff.Last("t"), "v"))
    everything = values(stream(*rows), ff.tumbling(99), ff.GroupedBy(ff.Last("t"), "v"))[0]
    latest = stream(*sorted((t, v) for v, t in everything))
    assert within == [[("A", 5)]] == values(latest, scope, ff.GroupedBy(ff.Last("t"), "v"))
    # projection, with windows of counts too
    assert values(stream(*READINGS), ff.last_rows(2), ff.CollectList("t")) == [[0], [0, 10], [10, 20], [20, 20]]


@pytest.mark.parametrize("step", [1, 3, 10, 12])
def test_experiment(step: int) -> None:
    """R68: Q4, Q5 and Q6 on connections made like those of LBL-CONN-7, w = 10 with varying b, against definitions."""
    rng = random.Random(68)
    names = ("t", "duration", "protocol", "local", "remote")
    rows = [
        (tick, rng.randint(0, 90), rng.choice(["smtp", "nntp", "ftp"]), rng.randint(1, 4), rng.randint(1, 4))
        for tick in range(30)
        for _ in range(5)  # one wave is one timestamp
    ]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    windows = ff.sliding(10, every=step, closed="right", gaps="allow")
    who = ff.Mapped(
        ff.CountDistinct("who"),
        lambda protocol, local, remote: pa.array(
            [f"{p} {a} {b}" for p, a, b in zip(protocol.to_pylist(), local, remote, strict=True)]
        ),
        "protocol", "local", "remote",
        type=pa.string(),
    )  # fmt: skip
    longest = ff.GroupedBy(ff.AllOf(sum=ff.Sum("duration"), max=ff.Max("duration")), "local")
    ends = {"one": ff.GroupedBy(ff.Count(), "local"), "two": ff.GroupedBy(ff.Count(), "remote")}
    pairs = ff.AllOf(**ends).then(
        lambda of: np.array(
            [
                sum(dict(one)[host] * dict(two).get(host, 0) for host in dict(one))
                for one, two in zip(of["one"].to_pylist(), of["two"].to_pylist(), strict=True)
            ]
        ),
        result=pa.int64(),
    )
    result = ff.events(pa.table(columns), time="t").window(windows).aggregate(q4=who, q5=longest, q6=pairs)
    for row in result.to_pylist():
        held = [each for each in rows if row["window"]["start"] < each[0] <= row["window"]["end"]]
        of_host = {host: [each[1] for each in held if each[3] == host] for host in sorted({each[3] for each in held})}
        assert row["q4"] == len({each[2:] for each in held})
        assert row["q5"] == [(host, {"sum": sum(of), "max": max(of)}) for host, of in of_host.items()]
        assert row["q6"] == sum(one[3] == two[4] for one in held for two in held)
