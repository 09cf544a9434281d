"""The state of a stream that another query goes on from, against the definition: no window is lost, doubled, wrong."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..support.shards import Stream
from .micro_batches import (
    OUTPUTS,
    Batch,
    Kind,
    cumulating,
    defined,
    micro_batches,
    plan_of,
    rows,
    sliding,
    table,
    tables,
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Kind], list[Kind], list[Batch], list[Batch]]:
    """Windows of two queries, whose steps have a frame in common, and what comes before and after the change."""
    frame, closed = draw(st.integers(1, 6)), draw(st.sampled_from(["left", "right"]))
    offset = draw(st.integers(0, 6))

    def steps() -> Kind:
        every = draw(st.integers(1, 4))
        return sliding(draw(st.integers(every, 9)) * frame, every * frame, offset, closed)

    def cycles() -> Kind:
        every = draw(st.integers(1, 3))
        return cumulating(draw(st.integers(1, 4)) * every * frame, every * frame)

    old, new = [sliding(draw(st.integers(2, 9)) * frame, frame, offset, closed)], [steps()]
    if closed == "left" and not offset and draw(st.booleans()):
        old, new = [*old, cycles()], [*new, cycles()] if draw(st.booleans()) else [cycles()]
    *before, (watermark, _) = draw(micro_batches(back=40))
    *after, (end, _) = draw(micro_batches(watermark, back=40))
    return old, new, before, [*after, (end + 200, [])]


def stream_of(kinds: list[Kind], outputs: Any = None, shards: int = 3, **more: Any) -> Stream:
    return Stream(plan_of(tuple(kind.spec for kind in kinds), outputs), shards, **more)


@given(
    cases(), st.integers(1, 4), st.integers(1, 4), st.booleans(), st.sets(st.sampled_from(list(OUTPUTS)), min_size=1)
)
def test_what_both_give_is_what_one_would(case: Any, shards: int, others: int, skip: bool, names: set[str]) -> None:
    """Where it is refused, nothing is; with ``skip`` windows are left out up to a time that is said."""
    old_kinds, new_kinds, before, after = case
    fewer = {name: OUTPUTS[name] for name in OUTPUTS if name in names}
    old, new = stream_of(old_kinds, None, shards), stream_of(new_kinds, fewer, others)
    stop, end = after[0][0], after[-1][0]
    with tempfile.TemporaryDirectory() as folder:
        first = list(rows(tables(old, [*before, (stop, [])])))
        assert sorted(first) == by_definition(old_kinds, before, -10_000, stop)
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
    results = sorted(rows(tables(new, after)), key=lambda row: row[:3])
    right = by_definition(new_kinds, [*before, *after], max(closed, stop), end)
    kept = [True] * 3 + [name in fewer for name in OUTPUTS]
    assert results == [tuple(value if own else None for value, own in zip(row, kept, strict=True)) for row in right]


def by_definition(kinds: list[Kind], batches: list[Batch], after: int, until: int) -> list[tuple[Any, ...]]:
    """The windows that close after one watermark, by another one."""
    closed, _ = defined(kinds, batches, until)
    return sorted((*at, *values) for at, values in closed.items() if after < at[2] + kinds[0].last)


def stopped(folder: Path, kinds: list[Kind], **outputs: Any) -> None:
    """Of events from 0 to 99, up to the watermark 60."""
    stream = stream_of(kinds, outputs, 2)
    assert [*tables(stream, [(0, [(time, "ab"[time % 2], time) for time in range(100)]), (60, [])])]
    stream.export(str(folder), 60)


def went_on(folder: Path, kinds: list[Kind], skip: bool = False, **outputs: Any) -> int:
    return stream_of(kinds, outputs).go_on(str(folder), skip=skip)


def test_larger_windows_and_new_outputs_are_given_from_a_time_on(tmp_path: Path) -> None:
    stopped(tmp_path, [sliding(20, 10)], n=ff.Count())
    said = (
        "^windows of 40 every 10 that are open reach back to 30, and the exported state has events from 50 on only; exp"
    )
    with pytest.raises(ff.QueryError, match=said + "ected windows that reach less far back, no new outputs, or "):
        went_on(tmp_path, [sliding(40, 10)], n=ff.Count())
    assert went_on(tmp_path, [sliding(40, 10)], skip=True, n=ff.Count()) == 80
    said = r"reach back to 50, and 's', a new output, has events from 100 on only; expected"
    with pytest.raises(ff.QueryError, match=said):
        went_on(tmp_path, [sliding(20, 10)], n=ff.Count(), s=ff.Sum("x"))
    stream = stream_of([sliding(20, 10)], {"n": ff.Count(), "s": ff.Sum("x")})
    assert stream.go_on(str(tmp_path), skip=True) == 110
    events = [(time, "a", 1) for time in (85, 95, 105, 115, 125)]
    results = sorted(rows(tables(stream, [(60, events), (200, [])])))
    assert [row[1:5] for row in results] == [(100, 120, 2, 2), (110, 130, 2, 2), (120, 140, 1, 1)]


WRONG: list[tuple[Kind, dict[str, Any], str]] = [
    (sliding(20, 5), {}, r"windows of 20 every 5 cut the stored frame from 50 to 60 in two; expected"),
    (sliding(20, 10, 3), {}, r"windows of 20 every 10 cut the stored frame from 50 to 60 in two; expected"),
    (sliding(20, 10), {"n": ff.Count("x")},
        "the exported state is of another query: n .* became .*; expected the same"),
    (sliding(20, 10), {"s": ff.Sum("t")}, "the exported state is of another query: s .* became .*; expected the same"),
]  # fmt: skip


def test_what_another_query_cannot_go_on_from(tmp_path: Path) -> None:
    stopped(tmp_path, [sliding(20, 10)])
    for kind, outputs, said in WRONG:
        with pytest.raises(ff.QueryError, match=said):
            went_on(tmp_path, [kind], **outputs)
    gaps = tmp_path / "gaps"
    stopped(gaps, [sliding(5, 10)])
    with pytest.raises(ff.QueryError, match=r"no events of times between windows, .*; expected the same windows$"):
        went_on(gaps, [sliding(10, 10)])
    assert went_on(gaps, [sliding(5, 10)]) == 60
    with pytest.raises(ff.EngineError, match=r"no state of a stream in '.*nothing'; expected what .export_state"):
        went_on(tmp_path / "nothing", [sliding(5, 10)])
    taken = str(tmp_path / "taken")
    ff.partials(taken, time="t", frame=5, n=ff.Count()).append(table([(1, "a", 1)]).select(["t"]), run="first")
    with pytest.raises(ff.EngineError, match=r"there are stored partials in '.*taken' already; expected a path"):
        stream_of([sliding(5, 10)]).export(taken, 0)


@pytest.mark.parametrize(
    ("windows", "outputs", "said"),
    [
        (ff.session(5), None, "have no frames with bounds of their own"),
        (ff.last_rows(3), None, "events are held back, since single ones matter"),
        (ff.tumbling(5), {"n": ff.Delta("x")}, "events are held back, since single ones matter"),
        (ff.tumbling(5, empty="emit"), None, "windows without an event are asked for"),
        (ff.tumbling(5, min_samples=2), {"s": ff.Sum("x")}, "min_samples= counts the samples of each output"),
    ],
)
def test_states_that_stay_where_they_are(windows: Any, outputs: Any, said: str) -> None:
    with pytest.raises(ff.QueryError, match=said):
        Stream(plan_of(windows, outputs), forget=10).go_on("nowhere")


def test_late_events_are_those_of_an_uninterrupted_query(tmp_path: Path) -> None:
    """With allowed lateness, revisions too: the new query has what closed windows still take."""
    kind = [sliding(20, 10)]
    before: list[Batch] = [(0, [(time, "a", time) for time in range(100)]), (60, [(35, "a", 1)])]
    after: list[Batch] = [(75, [(42, "a", 2), (20, "a", 3), (64, "a", 4)]), (200, [])]
    whole, old, new = (stream_of(kind, None, count, lateness=30) for count in (1, 2, 3))
    assert [*rows(tables(whole, before))] == [*rows(tables(old, before))]
    late = whole.late
    old.export(str(tmp_path), 60)
    assert new.go_on(str(tmp_path)) == 60
    assert sorted(rows(tables(new, after))) == sorted(rows(tables(whole, after)))
    assert (old.late, new.late, whole.late) == (late, whole.late - late, 1)


STATES: dict[str, Any] = {
    "mean": ff.Average("x"), "spread": ff.StdDev("x"), "median": ff.Median("x"), "low": ff.Min("x"),
    "first": ff.First("x"), "all": ff.CollectList("x"), "top": ff.TopN("x", 2), "product": ff.Product("x"),
    "by x": ff.GroupedBy(ff.Count(), "x"), "distinct": ff.CollectSet("x"),
}  # fmt: skip


def test_states_of_all_kinds(tmp_path: Path) -> None:
    """Texts, lists, Python objects: what comes after the change is what an uninterrupted query gives."""
    before: list[Batch] = [(0, [(time, "ab"[time % 2], time % 7) for time in range(70)]), (50, [])]
    after: list[Batch] = [(50, [(time, "bc"[time % 2], time % 5) for time in range(45, 120)]), (300, [])]
    whole, old, new = (stream_of([sliding(20, 5)], STATES, count) for count in (1, 2, 3))
    assert all([*tables(stream, before)] for stream in (whole, old))
    old.export(str(tmp_path), 50)
    assert new.go_on(str(tmp_path)) == 50
    expected, results = (sorted(map(repr, pa.concat_tables(tables(of, after)).to_pylist())) for of in (whole, new))
    assert results == expected
    assert len(results) > 30
