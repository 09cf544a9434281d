"""Time-weighted aggregates of interval events against fractions over every window, from partials to results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff

from ..oracles.by_definition import exact_sum, same
from ..support.inner import inner, place_of
from ..support.limits import limits
from ..support.plans import BoundAggregate
from ..support.stages import over_frames
from ..support.states import Lifetimes, lifetimes_of
from ..support.windows import TimeColumn

NASTY = [1e16, -1e16, 1e300, -1e300, 1.7e308, -1.7e308, math.nan, math.inf, -math.inf, 5e-324, -0.0, 0.1, 1.0, -3.0]


class Event(NamedTuple):
    """An interval event."""

    start: int
    end: int
    value: Any = None
    key: int = 0


Window = tuple[int, int, int]
"""A key, and the bounds of one of its windows."""


def results(
    operation: Any, type: pa.DataType | None, events: Sequence[Event], size: int, every: int
) -> dict[Window, Any]:
    """What windows of a size at a step have."""
    columns = {name: [getattr(event, name) for event in events] for name in ("start", "end", "key")}
    table = pa.table({**columns, "x": pa.array([event.value for event in events], type)})
    windows = ff.events(table, time="start", until="end", by="key").window(ff.sliding(size, every=every, gaps="allow"))
    rows = windows.aggregate(out=operation).to_pylist()
    return {(row["key"], row["window"]["start"], row["window"]["end"]): row["out"] for row in rows}


def clipped(events: Sequence[Event], window: Window) -> list[tuple[Any, int]]:
    """The values of the window's events, and how long each lives in it."""
    key, start, end = window
    lives = [(e.value, min(e.end, end) - max(e.start, start)) for e in events if e.key == key]
    return [(value, ticks) for value, ticks in lives if ticks > 0]


def assert_mean(got: float | None, own: list[tuple[Any, int]], frames: int) -> None:
    """Never worse than the mean of the window's own values, each product and addition rounded once.

    Values beyond 2**896 are added up without compensation, frame by frame.
    """
    own = [(value, ticks) for value, ticks in own if value is not None]
    if not own:
        assert got is None
        return
    assert got is not None
    values = [float(value) for value, _ in own]
    if not isinstance(decided := exact_sum(values), Fraction):
        assert same(got, decided) is None
    else:
        duration = sum(ticks for _, ticks in own)
        exact = sum(Fraction(value) * ticks for value, ticks in own) / duration
        size = sum(abs(Fraction(value)) * ticks for value, ticks in own) / duration
        if math.isinf(got):
            assert size >= Fraction(2) ** 1023
        else:
            roundings = 2 * len(own) + 2 + (frames if max(map(abs, values)) >= 2.0**896 else 0)
            assert abs(Fraction(got) - exact) <= size * Fraction(roundings, 2**53) + Fraction(2) ** -1074


def check(operation: Any, type: pa.DataType | None, events: Sequence[Event], size: int, every: int) -> None:
    """Windows are those that events are in; results are right in each."""
    found = results(operation, type, events, size, every)
    first = [(e.start - size) // every * every + every for e in events]
    assert found.keys() == {
        (e.key, at, at + size) for e, since in zip(events, first, strict=True) for at in range(since, e.end, every)
    }
    for window, got in found.items():
        own = clipped(events, window)
        if operation.columns:
            assert_mean(got, own, frames=2 * (size // every + 1))
        else:
            assert got == sum(ticks for _, ticks in own), window


@st.composite
def events_of(draw: st.DrawFn, values: st.SearchStrategy[Any], longest: int = 40) -> list[Event]:
    """Events of some keys: points of one tick, long ones, ones on the cuts; some without a value."""
    event = st.tuples(st.integers(-30, 30), st.integers(1, longest), st.one_of(st.none(), values), st.integers(0, 2))
    drawn = draw(st.lists(event, min_size=1, max_size=20))
    return [Event(start, start + ticks, value, key) for start, ticks, value, key in drawn]


SIZES = st.sampled_from([(10, 10), (10, 5), (7, 3), (60, 1), (3, 8), (1, 1)])
TYPES = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.decimal128(9, 2), st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2))),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.float64(), st.sampled_from(NASTY)),
]


@pytest.mark.parametrize(("type", "values"), TYPES, ids=lambda each: str(each)[:20])
@given(data=st.data(), window=SIZES, steps=st.integers(1, 6))
def test_averages(type: pa.DataType, values: Any, data: st.DataObject, window: tuple[int, int], steps: int) -> None:
    with limits(restart_steps=steps):
        check(ff.TimeWeightedAverage("x"), type, data.draw(events_of(values)), *window)


@given(events=events_of(st.none()), window=SIZES)
@example(events=[Event(0, 10), Event(10, 20), Event(5, 6)], window=(10, 10))
def test_durations(events: list[Event], window: tuple[int, int]) -> None:
    check(ff.Covered(), None, events, *window)


def many_events(longest: int) -> list[Event]:
    """Ticks as large as a year of microseconds, values of all sizes."""
    chance = np.random.default_rng(longest)
    start = np.sort(chance.integers(0, 3000, 400))
    values = chance.normal(0, 1, 400) * 10.0 ** chance.integers(-8, 9, 400)
    values[chance.integers(0, 400, 6)] = [1e300, -1e300, np.nan, np.inf, 1e30, -1e30]
    ticks = chance.integers(1, longest * SECOND, 400)
    rows = zip((start * SECOND).tolist(), ticks.tolist(), values.tolist(), strict=True)
    return [Event(at, at + long, value) for at, long, value in rows]


SECOND = 1_000_000
CASES: dict[str, tuple[pa.DataType, list[Event], int, int]] = {
    "one after the other": (pa.float64(), [Event(0, 8, 2.0), Event(8, 13, 7.0)], 10, 10),
    "what cancels is not null": (pa.int64(), [Event(0, 20, 5), Event(0, 20, -5)], 10, 10),
    "integers are not rounded": (pa.int64(), [Event(0, 3, 2**62 + 1), Event(0, 3, -(2**62)), Event(0, 3, 2)], 2, 2),
    "products beyond the greatest float": (pa.float64(),
        [Event(0, 2**60, 1.5e308), Event(0, 2**59, -1.5e308), Event(2**59, 2**60, 1e250)], *(2**58, 2**58)),
    **{
        f"{value} has ended": (  # in the middle of a frame, and leaves nothing behind
            pa.float64(),
            [Event(-95, 3, value), Event(-50, 60, 0.1), Event(2, 60, -0.1), Event(7, 60, 1e-9)],
            *(10, 5),
        )
        for value in (1e300, math.nan, math.inf, -math.inf, 1.7e308)
    },
    **{f"many, of {n} seconds": (pa.float64(), many_events(n), 60 * SECOND, 20 * SECOND) for n in (1, 100, 10_000)},
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_awkward_lives(name: str) -> None:
    check(ff.TimeWeightedAverage("x"), *CASES[name])
    check(ff.Covered(), None, *CASES[name][1:])


@pytest.mark.parametrize("longest", [2, 50, 500])
def test_the_cost_does_not_depend_on_how_long_events_live(longest: int) -> None:
    """By combines and deducts of whole partials to frames: 2 a frame, 1 to put it together, 4 a partial."""
    chance = np.random.default_rng(longest)
    first = np.sort(chance.integers(0, 1000, 700))
    last = np.minimum(first + chance.integers(0, longest, 700), 999)
    bound = BoundAggregate("x", ff.Covered(), [])
    part = lifetimes_of(bound)
    assert part is not None
    ticks = chance.integers(1, 9, 700), chance.integers(0, 9, 700)
    partials = bound.accumulate(Lifetimes(np.arange(700), 700, first, *ticks), [])
    operations = []

    def counted(function: Any) -> Any:
        def call(self: Any, a: Any, b: Any) -> Any:
            operations.append(len(a["ticks"]))
            return function(self, a, b)

        return call

    with (
        patch.object(*place_of("combine of clipped ticks"), counted(inner("combine of clipped ticks"))),
        patch.object(*place_of("deduct of clipped ticks"), counted(inner("deduct of clipped ticks"))),
    ):
        frames = over_frames(part, partials, first, last, np.full(1000, 9))
    assert sum(operations) <= 3 * 1000 + 4 * 700
    expected = np.zeros(1000, np.int64)
    for a, b, head, tail in zip(first.tolist(), last.tolist(), *ticks, strict=True):
        expected[a] += head
        expected[a + 1 : b] += 9
        expected[b] += tail if b > a else 0
    assert np.array_equal(frames["ticks"].int64()[0], expected)


def test_filtered_and_passed_on() -> None:
    events = [Event(0, 8, 2.0), Event(8, 13, 7.0), Event(0, 9, -50.0), Event(3, 5)]
    positive = ff.Filtered(ff.TimeWeightedAverage("x"), lambda x: x > 0)
    assert results(positive, pa.float64(), events, 10, 10)[0, 0, 10] == 3.0
    squared = ff.TimeWeightedAverage("x").then(np.square)
    assert results(squared, pa.float64(), events[:2], 10, 10)[0, 0, 10] == 9.0
    mapped = ff.Mapped(ff.TimeWeightedAverage("x"), lambda x: x + 1)
    assert results(mapped, pa.float64(), events[:2], 10, 10)[0, 0, 10] == 4.0


def test_the_type_of_a_duration_is_that_of_time() -> None:
    for type, result in [
        (pa.int32(), pa.int64()),
        (pa.date32(), pa.int64()),
        (pa.timestamp("us", "UTC"), pa.duration("us")),
        (pa.timestamp("ns"), pa.duration("us")),
    ]:
        assert BoundAggregate("x", ff.Covered().at_times(TimeColumn("t", type).duration), []).result == result


def test_a_window_of_its_own_stays() -> None:
    window = ff.tumbling(10)
    assert ff.Covered().over(window).at_times(TimeColumn("t", pa.int64()).duration).windows == (window,)


def test_a_duration_beyond_int64_is_an_error() -> None:
    events = [Event(0, 2**61, key=key % 2) for key in range(7)]
    with pytest.raises(ff.SumOverflowError, match=r"lifetimes for Covered\(\) does not fit int64 in 1 of"):
        results(ff.Covered(), None, events, 2**61, 2**61)
    assert results(ff.Covered(), None, events[:6], 2**61, 2**61)[1, 0, 2**61] == 3 * 2**61


def test_where_it_cannot_be_is_refused() -> None:
    average = BoundAggregate("x", ff.TimeWeightedAverage("x"), [pa.float64()])
    with pytest.raises(ff.QueryError, match=r"TimeWeightedAverage\('x'\) is of interval events only; .* until="):
        lifetimes_of(average, intervals=False)
    for operation, types in [
        (ff.AllOf(x=ff.TimeWeightedAverage("x"), n=ff.Count()), [pa.float64()]),
        (ff.GroupedBy(ff.Covered(), "x"), [pa.float64()]),
        (ff.FlatMapped(ff.TimeWeightedAverage("x")), [pa.list_(pa.float64())]),
    ]:
        with pytest.raises(ff.QueryError, match=r"has .* inside; expected it as an output by itself"):
            lifetimes_of(BoundAggregate("x", operation, types))
    assert lifetimes_of(BoundAggregate("x", ff.Sum("x"), [pa.float64()])) is None
