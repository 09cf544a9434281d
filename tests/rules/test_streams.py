"""What the rules say about the passing of time: watermarks, late events, what is released when."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import framefold as ff

from ..support.plans import bind
from ..support.shards import Stream

LIST = ff.CollectList("v")
Row = tuple[Any, ...]


class Feed:
    """Events of integer times, (time, key) or the time alone, which are their values too; one micro-batch a call."""

    def __init__(self, windows: Any, value: Any = LIST, **of: Any) -> None:
        schema = pa.schema({"t": pa.int64(), "k": pa.string(), "v": pa.int64()})
        self.schema, self.stream = (
            schema,
            Stream(bind(schema, time="t", by=["k"], window=windows, outputs={"v": value}), **of),
        )

    def __call__(self, watermark: int, *events: int | tuple[int, str]) -> list[Row]:
        """(start, end, value) of the windows given, with their key where it is not "a"."""
        pairs = [(each, "a") if isinstance(each, int) else each for each in events]
        rows = [{"t": time, "k": key, "v": time} for time, key in pairs]
        table = pa.Table.from_pylist(rows, self.schema)
        given = [row for each in self.stream.batch(watermark, [table]) for row in each.to_pylist()]
        return [
            (row["window"]["start"], row["window"]["end"], row["v"], *([row["k"]] if row["k"] != "a" else []))
            for row in given
        ]


def test_panes_fire_with_watermarks() -> None:
    """R14: at the watermark that reaches a pane's end; again where late tuples change it; not once it is discarded."""
    feed = Feed(ff.sliding(3, every=3), lateness=4)
    assert feed(-10, 1, (2, "b")) == []
    assert feed(2) == []
    assert feed(3) == [(0, 3, [1]), (0, 3, [2], "b")]
    assert feed(3, 2) == [(0, 3, [1, 2])], "only the key that has changed"
    assert feed(7) == []
    assert feed(7, 0) == []
    assert feed.stream.late == 1


def test_the_earliest_open_window_bounds_what_can_change() -> None:
    """R23: nothing that ends by the watermark is given later; the earliest open window starts within a size of it."""
    feed = Feed(ff.sliding(20, every=10))
    feed(-100, *range(0, 60, 5))
    assert max(end for _, end, _ in feed(27)) == 20
    assert min(start for start, _, _ in feed(1000)) == 10


def test_a_window_is_final_once_the_watermark_has_passed_it() -> None:
    """R31: windows come in the order of their ends, each when the watermark is there."""
    feed = Feed(ff.sliding(4, every=2))
    feed(-10, 1, 2, 5)
    assert [feed(watermark) for watermark in (1, 2, 3, 4, 8)] == [
        [], [(-2, 2, [1])], [], [(0, 4, [1, 2])], [(2, 6, [2, 5]), (4, 8, [5])]
    ]  # fmt: skip


def test_what_is_too_late() -> None:
    """R32: an event counts in each window that has not been given; with late="drop_partial", as Jet has it, in none."""
    for drop_partial, at_6, late in ((False, [3, 5], 1), (True, [5], 2)):
        feed = Feed(ff.sliding(4, every=2), drop_partial=drop_partial)
        feed(-10, 1, 5)
        assert feed(4) == [(-2, 2, [1]), (0, 4, [1])]
        assert feed(4, 3, 0) == []
        assert feed(6) == [(2, 6, at_6)]
        assert feed.stream.late == late


def test_forward_windows_wait() -> None:
    """R37: for the messages that they take in, in the order of time; what never comes is not given."""
    feed = Feed(ff.around(rows=(0, 2)))
    assert feed(-10, 3, 1) == []
    assert feed(2, 2) == []
    assert feed(3) == []
    assert feed(4, 7) == [(1, 3, [1, 2, 3])]
    assert feed(8) == [(2, 7, [2, 3, 7])]
    assert feed(1000) == []


def test_time_windows_are_released_by_time() -> None:
    """R41: once nothing can come that is in them; all that are due at once, none lost."""
    feed = Feed(ff.around(time=(-2, 2)))
    feed(-10, 4, 1, 2)
    assert feed(3) == []
    assert feed(5) == [(-1, 3, [1, 2]), (0, 4, [1, 2, 4])]
    assert feed(7) == [(2, 6, [2, 4])]


def test_given_windows_are_released_by_time() -> None:
    """R43: a window of another data set, once the watermark has passed its end."""
    given = pa.table({"from": [0, 2], "to": [3, 9]})
    feed = Feed(ff.windows_from(given, start="from", end="to"))
    feed(-10, 2, 8)
    assert [feed(watermark) for watermark in (3, 8, 9)] == [[(0, 3, [2])], [], [(2, 9, [2, 8])]]


def test_late_data_is_dropped_or_taken() -> None:
    """D8: dropped and counted once no window is open; within allowed_lateness closed windows are given again."""
    for lateness, again, late in ((0, [], 1), (5, [(0, 4, [1, 2])], 0)):
        feed = Feed(ff.tumbling(4), lateness=lateness)
        feed(-10, 1)
        assert feed(6) == [(0, 4, [1])]
        assert feed(6, 2) == again
        assert feed.stream.late == late


def test_the_end_of_the_input() -> None:
    """D15: windows that are open when the input ends stay so, in the state, until events or time go on."""
    feed = Feed(ff.tumbling(4))
    assert feed(-10, 1, 5) == []
    assert feed(4) == [(0, 4, [1])]
    assert feed(8, 6) == [(4, 8, [5])]
