"""Who merges the partials of many tasks: by number, tasks at a time, and what the driver may take."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("pyspark")

from framefold.spark.engine.combining import choose

LIMIT = 5_000_000


def test_few_partials_come_to_the_driver() -> None:
    for cores in (1, 2, 1_000):
        assert choose([1_000] * 20, LIMIT, cores, rounds=True).way == "driver"
    assert choose([], LIMIT, 2, rounds=True).way == "driver", "no task has any"


def test_what_is_too_many_never_comes_to_the_driver() -> None:
    for cores, rounds in itertools.product((1, 2, 20), (False, True)):
        found = choose([144_000] * 200, LIMIT, cores, rounds=rounds)
        assert "driver" not in found.seconds
        if found.tasks:
            assert found.tasks * 2 * 144_000 <= LIMIT, "nor what tasks may have left"
        assert found.way == ("tasks" if rounds else "executors")


def test_tasks_merge_first_though_the_driver_could_where_that_takes_less_time() -> None:
    counts = [144_000] * 2_000
    ways = [choose(counts, 10**9, cores, rounds=True).way for cores in (1, 200)]
    assert ways == ["driver", "tasks"]
    assert choose(counts, 10**9, 200, rounds=False).way == "driver"


def test_executors_where_merging_leaves_too_many() -> None:
    assert choose([3_000_000] * 200, LIMIT, 100, rounds=True).way == "executors"
    assert choose([3_000_000] * 200, 10**10, 10_000, rounds=True).way == "executors", "that takes less time"


def test_what_was_measured_on_two_cores() -> None:
    """Seconds by ``python -m benchmarks.combine``, a third of one being slides and results in all ways."""
    for tasks, each, driver, by_tasks, executors in (
        (20, 14_400, 0.34, 0.71, 1.90),
        (200, 14_400, 1.20, 1.82, 9.02),
        (200, 144_000, 1.81, 2.44, 80.3),
    ):
        found = choose([each] * tasks, 10**9, 2, rounds=True).seconds
        assert found["driver"] == pytest.approx(driver, abs=0.4)
        assert found["tasks"] == pytest.approx(by_tasks, abs=0.5)
        assert found["executors"] == pytest.approx(executors, rel=0.15)


def test_the_cheapest_is_chosen_and_more_cores_never_take_longer() -> None:
    for partials, tasks in itertools.product((10, 1_000, 30_000, 1_000_000), (1, 7, 200, 2_000)):
        least = []
        for cores in (1, 2, 16, 256):
            found = choose([partials] * tasks, LIMIT, cores, rounds=True)
            assert found.seconds[found.way] == min(found.seconds.values())
            assert found.tasks <= tasks // 2
            least.append(found.seconds["executors"])
        assert least == sorted(least, reverse=True)


def test_the_words() -> None:
    text = str(choose([144_000] * 200, LIMIT, 2, rounds=True))
    assert text.startswith("tasks merge the partials of several others, and the driver what they have left: by an")
    assert "executors merge partials by key in " in text
    assert "the driver merges all partials in" not in text
