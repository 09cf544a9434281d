"""Micro-batches of streams without Spark, and what their windows are by definition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

import framefold as ff

from ..support.plans import Plan, bind
from ..support.shards import Stream

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string()), ("x", pa.int64()), ("u", pa.int64())])
OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Max("x"), "d": ff.CountDistinct("x")}
Event = tuple[int, str, int]
Batch = tuple[int, list[Event]]
"""A watermark, and the events that come when it is in force: times, keys, values."""
Window = tuple[int, int]


def plan_of(windows: Any, outputs: Any = None, until: str | None = None, ties: tuple[str, ...] = ()) -> Plan:
    several = windows if isinstance(windows, tuple) else (windows,)
    more: dict[str, Any] = {"until": until, "longest": None, "ties": ties, "null_time": "error"}
    return bind(SCHEMA, time="t", by=("k",), window=several, outputs=outputs or OUTPUTS, **more)


def table(events: list[Event]) -> pa.Table:
    """Events as they come; how long one lives follows from its value."""
    times, keys, values = map(list, zip(*events, strict=True)) if events else ([], [], [])
    ends = [time + 1 + 7 * x % 40 for time, x in zip(times, values, strict=True)]
    return pa.table([times, keys, values, ends], schema=SCHEMA)


def tables(stream: Stream, batches: list[Batch]) -> Iterator[pa.Table]:
    """The results of some micro-batches, as they come."""
    for watermark, events in batches:
        yield from stream.batch(watermark, [table(events)] if events else [])


def rows(results: Iterator[pa.Table]) -> Iterator[tuple[Any, ...]]:
    """Results as key, start, end and the values of OUTPUTS."""
    for each in results:
        for row in each.to_pylist():
            yield (row["k"], *row["window"].values(), *(row.get(name) for name in OUTPUTS))


class Kind(NamedTuple):
    """Windows, and by definition those that a time is in; ``last`` is 1 where the right end belongs to a window."""

    spec: Any
    of: Callable[[int], list[Window]]
    last: int = 0


def sliding(size: int, every: int, offset: int = 0, closed: str = "left") -> Kind:
    last = int(closed == "right")

    def of(time: int) -> list[Window]:
        numbers = range((time - offset - size) // every - 1, (time - offset) // every + 2)
        starts = (offset + number * every for number in numbers)
        return [(start, start + size) for start in starts if start + last <= time < start + size + last]

    return Kind(ff.sliding(size, every=every, offset=offset, closed=closed, gaps="allow"), of, last)


def cumulating(size: int, every: int) -> Kind:
    def of(time: int) -> list[Window]:
        start = time // size * size
        return [(start, end) for end in range(start + every, start + size + 1, every) if time < end]

    return Kind(ff.cumulating(size, every=every), of)


Closed = dict[tuple[str, int, int], tuple[int, ...]]


def defined(kinds: list[Kind], batches: list[Batch], until: int, lateness: int = 0) -> tuple[Closed, int]:
    """The windows that end by a watermark, with the events that came while they took some; and how many came late."""
    held, late, last = defaultdict[tuple[str, int, int], list[int]](list), 0, kinds[0].last
    for watermark, events in batches:
        for time, key, x in events:
            windows = {window for kind in kinds for window in kind.of(time)}
            taking = [window for window in windows if window[1] + last + lateness > watermark]
            late += bool(windows) and not taking
            for window in taking:
                held[key, *window].append(x)
    closed = {at: xs for at, xs in held.items() if at[2] + last <= until}
    return {at: (len(xs), sum(xs), max(xs), len(set(xs))) for at, xs in closed.items()}, late


@st.composite
def micro_batches(draw: st.DrawFn, start: int | None = None, back: int = 60, most: int = 6) -> list[Batch]:
    """Batches of events: most of them after the watermark, others long before; then nothing but a watermark."""
    batches, watermark = [], draw(st.integers(-50, 50)) if start is None else start
    for _ in range(draw(st.integers(1, most))):
        times = st.integers(watermark - back, watermark + draw(st.sampled_from([5, 20, 80])))
        batches.append(
            (watermark, draw(st.lists(st.tuples(times, st.sampled_from("aab"), st.integers(-9, 9)), max_size=9)))
        )
        watermark += draw(st.integers(0, 60))
    return [*batches, (watermark, [])]
