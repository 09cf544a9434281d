"""Who merges the partials of many tasks: by number, tasks at a time, and what the driver may take."""

from __future__ import annotations

import itertools

from framefold.spark.engine.combining import choose

LIMIT = 5_000_000


def test_what_the_driver_may_have_comes_to_it() -> None:
    for cores, rounds in itertools.product((1, 2, 1_000), (False, True)):
        assert choose([1_000] * 20, LIMIT, cores, rounds=rounds).way == "driver"
        assert choose([LIMIT // 20] * 20, LIMIT, cores, rounds=rounds).way == "driver"
        assert choose([LIMIT // 20 + 1] * 20, LIMIT, cores, rounds=rounds).way != "driver"
    assert choose([], LIMIT, 2, rounds=True).way == "driver", "no task has any"


def test_others_merge_what_is_too_many_and_leave_no_more_than_the_driver_may_have() -> None:
    for cores, rounds in itertools.product((1, 2, 20), (False, True)):
        found = choose([144_000] * 200, LIMIT, cores, rounds=rounds)
        assert found.way == ("tasks" if rounds else "executors")
        assert found.tasks * 2 * 144_000 <= LIMIT
        assert found.tasks <= cores


def test_executors_where_merging_leaves_too_many_or_few_tasks_could_merge() -> None:
    assert choose([3_000_000] * 200, LIMIT, 100, rounds=True).way == "executors"
    ways = [choose([2_400_000] * 200, LIMIT, cores, rounds=True).way for cores in (2, 100, 101)]
    assert ways == ["tasks", "tasks", "executors"]


def test_the_words() -> None:
    assert choose([144_000] * 200, LIMIT, 2, rounds=True).words.startswith("2 tasks merge the partials of several")
