"""Rules R1-R14: sliding windows of IBM Streams' SPL. Expected values are worked out from the rules."""

from __future__ import annotations

import datetime as dt
import itertools

import pyarrow as pa
import pytest

import framefold as ff

from .shared import LIST, at, every, rows, spans, stream, values

WARMING = [(0, 0.0), (1, 5.0), (2, 11.0), (6, 21.0), (7, 22.0)]
RULES = {"count": ff.by_count(3), "time": ff.by_time(4), "delta": ff.by_delta("v", 10)}


@pytest.mark.parametrize("evict", RULES)
@pytest.mark.parametrize("trigger", RULES)
def test_nine_combinations(evict: str, trigger: str) -> None:
    """R1: eviction says what is in, trigger says when; each is count, time or delta, and neither changes the other."""
    # what is held just after each arrival, which the trigger count(1) shows
    held = {
        "count": [[0.0], [0.0, 5.0], [0.0, 5.0, 11.0], [5.0, 11.0, 21.0], [11.0, 21.0, 22.0]],
        "time": [[0.0], [0.0, 5.0], [0.0, 5.0, 11.0], [11.0, 21.0], [21.0, 22.0]],
        "delta": [[0.0], [0.0, 5.0], [5.0, 11.0], [11.0, 21.0], [21.0, 22.0]],
    }[evict]
    want = {
        "count": [(2, held[2])],
        "time": [(4, held[2])],
        # before the arrival at 2 (11 - 0 > 10) and at 7 (22 - 11 > 10); time eviction has taken place by then
        "delta": [(2, held[1]), (7, [21.0] if evict == "time" else held[3])],
    }[trigger]
    assert at(stream(*WARMING), ff.policy(evict=RULES[evict], trigger=RULES[trigger])) == want
    assert values(stream(*WARMING), ff.policy(evict=RULES[evict])) == held


def test_trigger_is_count_of_one_unless_said() -> None:
    """R2: no trigger is count(1); eviction is written first, then trigger."""
    assert ff.policy(ff.by_count(3)) == ff.policy(ff.by_count(3), ff.by_count(1))
    assert str(ff.policy(ff.by_count(20), ff.by_time(1))) == "evict count(20), trigger time(1)"


def test_results_come_with_triggers() -> None:
    """R3: eviction gives no result; a tuple takes part in as many triggers as find it there."""
    assert at(every(range(6)), ff.policy(ff.by_count(2), ff.by_count(3), gaps="allow")) == [(2, [1, 2]), (5, [4, 5])]
    held = values(every(range(6)), ff.policy(ff.by_count(3)))
    assert sum(2 in each for each in held) == 3


def test_count_eviction() -> None:
    """R4: the last n arrivals, fewer at the start; one leaves for one that comes."""
    assert values(every(range(5)), ff.policy(ff.by_count(3))) == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_time_eviction() -> None:
    """R5: what is older than t leaves, not what is exactly as old; without arrivals too, until nothing is left."""
    events = stream((0, "a"), (5, "b"), (6, "c"))
    assert at(events, ff.policy(ff.by_time(5))) == [(0, ["a"]), (5, ["a", "b"]), (6, ["b", "c"])]
    emptied = ff.policy(ff.by_time(5), ff.by_time(4), until=16, empty="emit")
    assert at(events, emptied) == [(4, ["a"]), (8, ["b", "c"]), (12, []), (16, [])]


def test_delta_eviction() -> None:
    """R6: strictly more than d above leaves, by value alone; a smaller value evicts nothing, so pairs may be far apart.

    With 9, the 1 goes (8 > 3) and the older 6 stays (3 is not more than 3): not first in, first out.
    """
    assert values(stream((0, 6), (1, 1), (2, 9)), ff.policy(ff.by_delta("v", 3))) == [[6], [6, 1], [6, 9]]
    rising = values(stream((0, 0), (1, 2), (2, 3), (3, 7)), ff.policy(ff.by_delta("v", 3)))
    assert rising == [[0], [0, 2], [0, 2, 3], [7]]


def test_delta_eviction_by_times() -> None:
    """R6: the difference of timestamps is a duration."""
    seen = [dt.datetime(2026, 1, 1, 0, 0, second) for second in (0, 2, 3, 6)]
    events = ff.events(pa.table({"t": [0, 1, 2, 3], "seen": seen, "v": [0, 2, 3, 6]}), time="t")
    assert values(events, ff.policy(ff.by_delta("seen", "3 seconds"))) == [[0], [0, 2], [0, 2, 3], [3, 6]]


def test_a_trigger_sees_one_state() -> None:
    """R7: nothing comes or goes while a trigger is processed: all outputs of one result see the same rows."""
    all_of = {"n": ff.Count(), "v": LIST, "sum": ff.Sum("v"), "low": ff.Min("v"), "high": ff.Max("v")}
    for evict, trigger in itertools.product(RULES.values(), RULES.values()):
        for row in rows(stream(*WARMING), ff.policy(evict, trigger), **all_of):
            held = row["v"]
            assert (row["n"], row["sum"]) == (len(held), sum(held))
            assert (row["low"], row["high"]) == (min(held), max(held))


def test_count_trigger() -> None:
    """R8: every n arrivals, after eviction and insertion, so that the new tuple is in; then it counts anew."""
    found = at(every(range(7)), ff.policy(ff.by_count(3), ff.by_count(2)))
    assert found == [(1, [0, 1]), (3, [1, 2, 3]), (5, [3, 4, 5])]


def test_time_trigger() -> None:
    """R9: every t whether or not tuples came, so unchanged contents repeat; of an empty window there is no row."""
    events = stream((2, 1), (4, 2), (25, 3))
    found = at(events, ff.policy(ff.by_count(20), ff.by_time(10), until=40))
    assert found == [(10, [1, 2]), (20, [1, 2]), (30, [1, 2, 3]), (40, [1, 2, 3])]
    fired = ff.policy(ff.by_time(3), ff.by_time(10), until=40, empty="emit", gaps="allow")
    assert at(events, fired) == [(10, []), (20, []), (30, []), (40, [])]
    assert at(events, ff.policy(ff.by_time(3), ff.by_time(10), until=40, gaps="allow")) == []


def test_delta_trigger() -> None:
    """R10: strictly more than d above the last that triggered; the first only sets the reference; before insertion."""
    # 2 - 0 is not more than 2; 3 - 0 is; a fall to 1 does nothing; 6 - 3 is more than 2
    events = stream((0, 0), (1, 2), (2, 3), (3, 1), (4, 6))
    assert at(events, ff.policy(ff.by_count(9), ff.by_delta("v", 2))) == [(2, [0, 2]), (4, [0, 2, 3, 1])]


def test_fullness() -> None:
    """R11: full at the nth insertion, at the first eviction by delta, or with time from the first tuple on."""
    events = stream((0, 0), (1, 1), (2, 5), (3, 6))
    of = {"count": ff.by_count(3), "delta": ff.by_delta("v", 2), "time": ff.by_time(9)}
    found = {name: [time for time, _ in at(events, ff.policy(rule, min_fill="full"))] for name, rule in of.items()}
    assert found == {"count": [2, 3], "delta": [2, 3], "time": [0, 1, 2, 3]}
    assert [time for time, _ in at(events, ff.policy(of["count"]))] == [0, 1, 2, 3]  # aggregateIncompleteWindows


def test_partitioned() -> None:
    """R12: contents, counters, references and fullness are each key's own; the end of the input flushes nothing."""
    events = stream((0, 0, "a"), (1, 50, "b"), (2, 1, "a"), (3, 9, "a"), (4, 55, "b"))
    assert at(events, ff.policy(ff.by_count(2), ff.by_count(2))) == [("a", 2, [0, 1]), ("b", 4, [50, 55])]
    assert at(events, ff.policy(ff.by_count(9), ff.by_delta("v", 4))) == [("a", 3, [0, 1]), ("b", 4, [50])]
    assert at(events, ff.policy(ff.by_count(3), min_fill="full")) == [("a", 3, [0, 1, 9])]


def test_groups_within_a_window() -> None:
    """R13: groupBy is about one window of all: each trigger has every group, and how many there are."""
    events = stream((0, 10, "US"), (1, 20, "US"), (2, 5, "FR"), (3, 1, "US"), by=())
    groups = ff.AllOf(max=ff.GroupedBy(ff.Max("v"), "k"), all=ff.Count(), groups=ff.CountDistinct("k"))
    found = at(events, ff.policy(ff.by_count(3), ff.by_count(2)), groups)
    assert found == [
        (1, {"max": [("US", 20)], "all": 2, "groups": 1}),
        (3, {"max": [("FR", 5), ("US", 20)], "all": 3, "groups": 2}),
    ]


def test_functions_of_aggregate() -> None:
    """R13: those functions of SPL's Aggregate that no operation of ours is by itself."""
    events = stream((0, 3, "b"), (1, 1, "a"), (2, 3, "c"), by=())

    def least_and_greatest(counts: pa.Array) -> pa.Array:  # MinCount and MaxCount: how often the extremes occur
        return pa.array([[of[0][1], of[-1][1]] for of in counts.to_pylist()])

    def greatest(groups: pa.Array) -> pa.Array:  # CollectArgMax
        return pa.array([of[-1][1] for of in groups.to_pylist()])

    of = {"counts": ff.Histogram("v").then(least_and_greatest), "groups": ff.GroupedBy(ff.Count(), "v"),
          "at_max": ff.GroupedBy(ff.CollectList("k"), "v").then(greatest)}  # fmt: skip
    [found] = rows(events, ff.policy(ff.by_count(3), ff.by_count(3)), **of)
    assert [found[name] for name in of] == [[1, 2], [(1, 1), (3, 2)], ["b", "c"]]


def test_event_time_panes() -> None:
    """R14, as far as a batch goes: panes [N * period + offset, + duration), the start in, the end not."""
    panes = spans(every([1, 3, 4]), ff.sliding(3, every=2, offset=1))
    assert panes == [(-1, 2, [1]), (1, 4, [1, 3]), (3, 6, [3, 4])]
