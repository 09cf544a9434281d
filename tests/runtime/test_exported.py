"""The state of a stream that another query goes on from, against the definition: no window is lost, doubled, wrong."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..support.plans import Plan, bind
from ..support.shards import Stream

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.string()), ("x", pa.int64())])
OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Max("x"), "d": ff.CountDistinct("x")}
Window = tuple[int, int]
Batch = tuple[int, list[tuple[int, str, int]]]
"""A watermark, and the events that come when it is in force: times, keys, values."""


@dataclass(frozen=True)
class Kind:
    """Windows, and by definition those that a time is in."""

    spec: Any
    of: Callable[[int], list[Window]]


def sliding(size: int, every: int, offset: int = 0, closed: str = "left") -> Kind:
    last = int(closed == "right")

    def of(time: int) -> list[Window]:
        numbers = range((time - offset - size) // every - 1, (time - offset) // every + 2)
        starts = (offset + number * every for number in numbers)
        return [(start, start + size) for start in starts if start + last <= time < start + size + last]

    return Kind(ff.sliding(size, every=every, offset=offset, closed=closed, gaps="allow"), of)


def cumulating(size: int, every: int) -> Kind:
    def of(time: int) -> list[Window]:
        start = time // size * size
        return [(start, end) for end in range(start + every, start + size + 1, every) if time < end]

    return Kind(ff.cumulating(size, every=every), of)


def plan_of(kinds: list[Kind], outputs: dict[str, Any]) -> Plan:
    made = {"until": None, "longest": None, "ties": (), "null_time": "error"}
    return bind(SCHEMA, time="t", by=("k",), window=tuple(each.spec for each in kinds), outputs=outputs, **made)


def given_by(stream: Stream, batches: list[Batch]) -> Iterator[tuple[Any, ...]]:
    for watermark, events in batches:
        columns = list(zip(*events, strict=True)) or [[], [], []]
        for table in stream.batch(watermark, [pa.table(columns, schema=SCHEMA)] if events else []):
            for row in table.to_pylist():
                yield (row["k"], row["window"]["start"], row["window"]["end"], *(row.get(name) for name in OUTPUTS))


def defined(kinds: list[Kind], batches: list[Batch], after: int, until: int, last: int) -> list[tuple[Any, ...]]:
    """The windows that close after one watermark, by another one, with the events that came before they had."""
    held = defaultdict[tuple[str, int, int], list[int]](list)
    for watermark, events in batches:
        for time, key, x in events:
            for window in {window for each in kinds for window in each.of(time)}:
                if window[1] + last > watermark:
                    held[key, *window].append(x)
    rows = ((*at, len(xs), sum(xs), max(xs), len(set(xs))) for at, xs in held.items() if after < at[2] + last <= until)
    return sorted(rows)


def streams(draw: st.DrawFn, start: int) -> tuple[list[Batch], int]:
    batches, watermark = [], start
    for _ in range(draw(st.integers(1, 5))):
        times = st.integers(watermark - 40, watermark + 60)
        events = st.tuples(times, st.sampled_from("abc"), st.integers(-5, 5))
        batches.append((watermark, draw(st.lists(events, max_size=9))))
        watermark += draw(st.integers(0, 40))
    return batches, watermark


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Kind], list[Kind], list[Batch], list[Batch], int]:
    """Windows of two queries, whose steps have a frame in common, and what comes before and after the change."""
    frame, last = draw(st.integers(1, 6)), draw(st.sampled_from(["left", "right"]))
    offset = draw(st.integers(0, 6))

    def windows(least: int, longest: int) -> Kind:
        every = draw(st.integers(1, 4))
        size = draw(st.integers(every, max(longest // least, every)))
        return sliding(size * frame, every * frame, offset, last)

    def cycles() -> Kind:
        every = draw(st.integers(1, 3))
        return cumulating(draw(st.integers(1, 4)) * every * frame, every * frame)

    old, new = [sliding(draw(st.integers(2, 9)) * frame, frame, offset, last)], [windows(1, 9)]
    if last == "left" and not offset and draw(st.booleans()):
        old, new = [*old, cycles()], [*new, cycles()] if draw(st.booleans()) else [cycles()]
    before, watermark = streams(draw, draw(st.integers(-50, 50)))
    after, end = streams(draw, watermark)
    return old, new, before, [*after, (end + 200, [])], int(last == "right")


@given(cases(), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_what_both_give_is_what_one_would(case: Any, shards: int, others: int, skip: bool) -> None:
    """Where it is refused, nothing is; with ``skip`` windows are left out up to a time that is said."""
    old_kinds, new_kinds, before, after, last = case
    (old, new), (stop, end) = (
        (Stream(plan_of(each, OUTPUTS), count) for each, count in ((old_kinds, shards), (new_kinds, others))),
        (after[0][0], after[-1][0]),
    )
    with tempfile.TemporaryDirectory() as folder:
        first = [*given_by(old, before), *given_by(old, [(stop, [])])]
        assert sorted(first) == defined(old_kinds, before, -10_000, stop, last)
        old.export(folder, stop)
        refused = None
        try:
            closed = new.go_on(folder, skip=skip)
        except ff.QueryError as error:
            refused = str(error)
    if refused is not None:
        assert "reach back to" in refused
        assert not skip
        return
    assert closed == stop or skip
    found = sorted(given_by(new, after))
    assert found == defined(new_kinds, [*before, *after], max(closed, stop), end, last)


def stopped(folder: Path, kinds: list[Kind], **outputs: Any) -> None:
    """Of events from 0 to 99, up to the watermark 60."""
    stream = Stream(plan_of(kinds, outputs or OUTPUTS), 2)
    assert [*given_by(stream, [(0, [(time, "ab"[time % 2], time) for time in range(100)]), (60, [])])]
    stream.export(str(folder), 60)


def went_on(folder: Path, kinds: list[Kind], skip: bool = False, **outputs: Any) -> int:
    return Stream(plan_of(kinds, outputs or OUTPUTS), 3).go_on(str(folder), skip=skip)


def test_larger_windows_and_new_outputs_are_given_from_a_time_on(tmp_path: Path) -> None:
    stopped(tmp_path, [sliding(20, 10)], n=ff.Count())
    said = (
        r"^windows of 40 every 10 that are open reach back to 30, and the exported state has events from 50 on only; "
    )
    with pytest.raises(ff.QueryError, match=said + r"expected windows that reach less far back, no new outputs, or "):
        went_on(tmp_path, [sliding(40, 10)], n=ff.Count())
    assert went_on(tmp_path, [sliding(40, 10)], skip=True, n=ff.Count()) == 80
    said = r"reach back to 50, and 's', a new output, has events from 100 on only; expected"
    with pytest.raises(ff.QueryError, match=said):
        went_on(tmp_path, [sliding(20, 10)], n=ff.Count(), s=ff.Sum("x"))
    stream = Stream(plan_of([sliding(20, 10)], {"n": ff.Count(), "s": ff.Sum("x")}), 3)
    assert stream.go_on(str(tmp_path), skip=True) == 110
    events = [(time, "a", 1) for time in (85, 95, 105, 115, 125)]
    found = sorted(given_by(stream, [(60, events), (200, [])]))
    assert [row[1:5] for row in found] == [(100, 120, 2, 2), (110, 130, 2, 2), (120, 140, 1, 1)]


def test_what_another_query_cannot_go_on_from(tmp_path: Path) -> None:
    stopped(tmp_path, [sliding(20, 10)])
    for kinds, said in [
        ([sliding(20, 5)], r"windows of 20 every 5 cut the stored frame from 50 to 60 in two; expected"),
        ([sliding(20, 10, 3)], r"windows of 20 every 10 cut the stored frame from 50 to 60 in two; expected"),
    ]:
        with pytest.raises(ff.QueryError, match=said):
            went_on(tmp_path, kinds)
    for outputs, said in [
        ({"n": ff.Count("x")}, r"n .* became .*; expected the same"),
        ({"s": ff.Sum("t")}, r"s .* became .*; expected the same"),
    ]:
        with pytest.raises(ff.QueryError, match=r"^the exported state is of another query: " + said):
            went_on(tmp_path, [sliding(20, 10)], **outputs)
    gaps = tmp_path / "gaps"
    stopped(gaps, [sliding(5, 10)])
    with pytest.raises(ff.QueryError, match=r"no events of times between windows, .*; expected the same windows$"):
        went_on(gaps, [sliding(10, 10)])
    assert went_on(gaps, [sliding(5, 10)]) == 60
    with pytest.raises(ff.EngineError, match=r"no state of a stream in '.*nothing'; expected what .export_state"):
        went_on(tmp_path / "nothing", [sliding(5, 10)])
    taken, other = str(tmp_path / "taken"), Stream(plan_of([sliding(5, 10)], OUTPUTS), 2)
    ff.partials(taken, time="t", frame=5, n=ff.Count()).append(pa.table({"t": [1]}), run="first")
    with pytest.raises(ff.EngineError, match=r"there are stored partials in '.*taken' already; expected a path"):
        other.export(taken, 0)


@pytest.mark.parametrize(
    ("windows", "outputs", "said"),
    [
        (ff.session(5), OUTPUTS, "have no frames with bounds of their own"),
        (ff.last_rows(3), OUTPUTS, "events are held back, since single ones matter"),
        (ff.tumbling(5), {"n": ff.Delta("x")}, "events are held back, since single ones matter"),
        (ff.tumbling(5, empty="emit"), OUTPUTS, "windows without an event are asked for"),
        (ff.tumbling(5, min_samples=2), {"s": ff.Sum("x")}, "min_samples= counts the samples of each output"),
    ],
)
def test_states_that_stay_where_they_are(windows: Any, outputs: Any, said: str) -> None:
    plan = plan_of([Kind(windows, lambda time: [])], outputs)
    with pytest.raises(ff.QueryError, match=said):
        Stream(plan, forget=10).go_on("nowhere")


def test_late_events_are_those_of_an_uninterrupted_query(tmp_path: Path) -> None:
    """With allowed lateness, revisions too: the new query has what closed windows still take."""
    kind = [sliding(20, 10)]
    before: list[Batch] = [(0, [(time, "a", time) for time in range(100)]), (60, [(35, "a", 1)])]
    after: list[Batch] = [(75, [(42, "a", 2), (20, "a", 3), (64, "a", 4)]), (200, [])]
    whole = Stream(plan_of(kind, OUTPUTS), 1, lateness=30)
    expected, late = [*given_by(whole, before)], whole.late
    rest = [*given_by(whole, after)]
    old, new = (Stream(plan_of(kind, OUTPUTS), count, lateness=30) for count in (2, 3))
    assert [*given_by(old, before)] == expected
    old.export(str(tmp_path), 60)
    assert new.go_on(str(tmp_path)) == 60
    assert sorted(given_by(new, after)) == sorted(rest)
    assert (old.late, new.late) == (late, whole.late - late)
    assert whole.late == 1


STATES: dict[str, Any] = {
    "mean": ff.Average("x"), "spread": ff.StdDev("x"), "median": ff.Median("x"), "low": ff.Min("x"),
    "first": ff.First("x"), "all": ff.CollectList("x"), "top": ff.TopN("x", 2), "product": ff.Product("x"),
    "by x": ff.GroupedBy(ff.Count(), "x"), "distinct": ff.CollectSet("x"),
}  # fmt: skip


def test_states_of_all_kinds(tmp_path: Path) -> None:
    """Texts, lists, Python objects: what comes after the change is what an uninterrupted query gives."""
    kinds = [sliding(20, 5)]
    before: list[Batch] = [(0, [(time, "ab"[time % 2], time % 7) for time in range(70)])]
    after: list[Batch] = [(50, [(time, "bc"[time % 2], time % 5) for time in range(45, 120)]), (300, [])]
    whole, old, new = (Stream(plan_of(kinds, STATES), count) for count in (1, 2, 3))
    for stream in (whole, old):
        for watermark, events in [*before, (50, [])]:
            portions = [pa.table([*zip(*events, strict=True)], schema=SCHEMA)] if events else []
            assert [*stream.batch(watermark, portions)] or watermark == 0
    old.export(str(tmp_path), 50)
    assert new.go_on(str(tmp_path)) == 50
    results = []
    for stream in (whole, new):
        found: list[str] = []
        for watermark, events in after:
            portions = [pa.table([*zip(*events, strict=True)], schema=SCHEMA)] if events else []
            for each in stream.batch(watermark, portions):
                found += map(repr, each.to_pylist())
        results.append(sorted(found))
    assert results[0] == results[1]
    assert len(results[0]) > 30
