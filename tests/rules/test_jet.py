"""Rules R26-R34: Hazelcast Jet's frames, two stages, and what they are put together by."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.toys import Items
from .shared import every, spans, stream, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_an_event_is_in_size_by_step_windows() -> None:
    """R26: with steps of one percent in a hundred; a size in whole steps is what Jet asks for, and not needed here."""
    assert len(spans(every([7]), ff.sliding(100, every=1))) == 100
    assert spans(every([3, 4]), ff.sliding(5, every=2)) == [
        (0, 5, [3, 4]), (2, 7, [3, 4]), (4, 9, [4]),
    ]  # fmt: skip
    assert spans(every([3]), ff.sliding(4, every=2, offset=1)) == [(1, 5, [3]), (3, 7, [3])]


def test_finish_and_order() -> None:
    """R27: accumulate, combine, finish; what is about order is in the order of time, however events come."""
    events = stream((3, "d"), (0, "a"), (2, "c"), (1, "b"))
    assert values(events, ff.sliding(3, every=1)) == [
        ["a"], ["a", "b"], ["a", "b", "c"], ["b", "c", "d"], ["c", "d"], ["d"],
    ]  # fmt: skip
    slope = ff.LinearTrend("t", "v")
    of = stream((2, 7.0), (0, 3.0), (1, 5.0))
    assert values(of, ff.tumbling(3), slope) == [{"slope": pytest.approx(2.0), "intercept": pytest.approx(3.0)}]


class Seen(Items):
    """The values; counts how often each was accumulated."""

    seen: ClassVar[Counter[int]] = Counter()

    def accumulate(self, state: Any, value: int) -> Any:
        self.seen[value] += 1
        return super().accumulate(state, value)


def test_each_event_is_accumulated_once() -> None:
    """R28: frames are a step long; each event goes into one of them, once, in however many windows it is."""
    of = [10**15 + t for t in range(20)]  # values that no trial of the operation has
    events = stream(*((t, value) for t, value in enumerate(of)))
    assert max(map(len, values(events, ff.sliding(10, every=2), Seen("v")))) == 10
    assert {value: Seen.seen[value] for value in of} == dict.fromkeys(of, 1)
    assert "one frame every 2; 5 to a window" in str(events.window(ff.sliding(10, every=2)).explain(n=ff.Count()))


def test_deduct() -> None:
    """R29: one deduct and one combine a window where there is a deduct, and the same result where there is none."""
    said = str(every([1]).window(ff.sliding(100, every=1)).explain(sum=ff.Sum("v"), min=ff.Min("v")))
    assert "slides by deduct (2 element operations a window)" in said
    assert "slides by two-stacks (at most 3 element operations a window)" in said
    events = stream((0, 5), (1, 3), (2, 4), (3, 6))
    by_hand = [5, 8, 12, 13, 10, 6]
    assert values(events, ff.sliding(3, every=1), ff.Reducing("v", 0, np.add, np.subtract)) == by_hand
    assert values(events, ff.sliding(3, every=1), ff.Reducing("v", 0, np.add)) == by_hand
    assert values(events, ff.sliding(3, every=1), ff.Min("v")) == [5, 3, 3, 3, 4, 6]


@pytest.mark.parametrize("combine", ["driver", "executors"])
def test_two_stages(spark: SparkSession, combine: str) -> None:
    """R30: accumulated where events are, in three places, and combined by one owner: as in one stage."""
    data = pa.table({"t": [0, 3, 1, 1, 2], "v": [2, 4, 6, 10, 20], "k": ["a", "a", "a", "b", "b"]})
    want = [("a", -2, 2, 4.0), ("a", 0, 4, 4.0), ("a", 2, 6, 4.0)]
    want += [("b", -2, 2, 10.0), ("b", 0, 4, 15.0), ("b", 2, 6, 20.0)]
    scattered = ff.events(spark.createDataFrame(data).repartition(3), time="t", by="k").options(combine=combine)
    of = scattered.window(ff.sliding(4, every=2)).aggregate(v=ff.Average("v")).toArrow().to_pylist()
    assert [(row["k"], row["window"]["start"], row["window"]["end"], row["v"]) for row in of] == want
    assert spans(ff.events(data, time="t", by="k"), ff.sliding(4, every=2), ff.Average("v")) == want


def test_windows_end_before_their_label() -> None:
    """R31: the window with label w covers [w - size, w); windows come in ascending order. A batch's are all final."""
    found = spans(every(range(5)), ff.sliding(3, every=1))
    assert found == [(w - 3, w, [t for t in range(5) if w - 3 <= t < w]) for w in range(1, 8)]


def test_input_in_any_order() -> None:
    """R32, as far as a batch goes: order does not matter, nothing is late, and the end flushes size - step on.

    No window without an event of its key is given.
    """
    times = [4, 0, 1]
    found = spans(every(times), ff.sliding(3, every=1), ff.Count())
    assert found == spans(every(sorted(times)), ff.sliding(3, every=1), ff.Count())
    assert [end for _, end, _ in found] == [1, 2, 3, 4, 5, 6, 7]  # the last frame ends at 5; 5 + 3 - 1 = 7
    assert [end for _, end, _ in spans(every([0, 9]), ff.sliding(3, every=1))] == [1, 2, 3, 10, 11, 12]


def test_a_sum_of_zero_is_no_empty_window() -> None:
    """R33: whether a key is there is for its events to say: 5, 0, -5, where Jet's model of it gives 5, nothing, -5."""
    found = spans(stream((0, 5), (1, -5)), ff.sliding(2, every=1), ff.Sum("v"))
    assert found == [(-1, 1, 5), (0, 2, 0), (1, 3, -5)]


def test_as_the_naive_way_has_it() -> None:
    """R34: every event into every window, each window aggregated by itself."""
    events = [(t * 7 % 40, t * 13 % 17, "ab"[t % 2]) for t in range(60)]
    size, step = 9, 4
    naive: dict[tuple[str, int, int], list[int]] = {}
    for t, value, key in events:
        for start in range(-40, 80, step):
            if start <= t < start + size:
                naive.setdefault((key, start, start + size), []).append(value)
    want = sorted((*where, sum(of), max(of)) for where, of in naive.items())
    both = ff.AllOf(sum=ff.Sum("v"), max=ff.Max("v"))
    found = spans(stream(*events), ff.sliding(size, every=step), both)
    assert [(*where, of["sum"], of["max"]) for *where, of in found] == want
