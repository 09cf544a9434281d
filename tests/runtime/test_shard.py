"""Shards of streams: what windows give, what is kept, and how another query goes on from it, against the definition."""

from __future__ import annotations

import datetime
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import framefold as ff
from framefold.runtime.streams import pages

from ..support.examples import examples
from ..support.plans import bind
from ..support.shards import FRAMES, Bytes, Shard, Stream, counted, why_no_revisions
from ..support.stages import partials_of as accumulate
from .micro_batches import (
    OUTPUTS,
    Batch,
    Event,
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

KINDS = st.builds(sliding, st.integers(1, 30), st.integers(1, 20), st.just(0), st.sampled_from(["left", "right"]))
KINDS |= st.tuples(st.integers(1, 5), st.integers(1, 9)).map(lambda of: cumulating(of[0] * of[1], of[1]))


@examples(1200, quick=20)
@given(micro_batches(), KINDS, st.just(0) | st.integers(1, 60), st.integers(1, 2))
def test_late_events(batches: list[Batch], kind: Any, lateness: int, shards: int) -> None:
    """The last result of each window has in it what came while it took events, and each result has more than before."""
    plan = plan_of(kind.spec)
    assert why_no_revisions(plan) is None
    stream, results = Stream(plan, shards, lateness=lateness), dict[Any, Any]()
    for watermark, events in batches:
        for *window, n, s, m, d in rows(tables(stream, [(watermark, events)])):
            assert n > results.get(tuple(window), (0,))[0], "nothing has changed"
            assert window[2] + kind.last <= watermark
            results[tuple(window)] = n, s, m, d
    assert (results, stream.late) == defined([kind], batches, batches[-1][0], lateness)


@example([(6, [(0, "a", 0)]), (6, [(0, "a", 0)]), (6, [])], 2, 1)
@given(micro_batches(), st.integers(0, 60), st.integers(0, 60))
def test_a_changed_lateness_gives_no_window_that_lacks_events(batches: list[Batch], before: int, after: int) -> None:
    """Windows that took no more events under one lateness take none under another one."""
    stream, most = Stream(plan_of(ff.sliding(20, every=5)), lateness=before), Counter[Any]()
    for number, batch in enumerate(batches):
        if number == len(batches) // 2:
            stream.late_ones["lateness"] = after
        for *window, n, _, _, _ in rows(tables(stream, [batch])):
            assert n > most[tuple(window)]
            most[tuple(window)] = n


def sessions(gap: int, batches: list[Batch]) -> tuple[list[Any], int]:
    """Sessions: an event is dropped where, with those that are held, it ends one that has closed."""
    held: dict[str, list[Event]] = defaultdict(list)
    closed, late = [], 0

    def parts(events: list[Event]) -> list[list[Event]]:
        made: list[list[Event]] = []
        for event in sorted(events):
            if made and event[0] - made[-1][-1][0] < gap:
                made[-1].append(event)
            else:
                made.append([event])
        return made

    for watermark, events in batches:
        for key, own in held.items():
            for part in [part for part in parts(own) if part[-1][0] + gap <= watermark]:
                xs = [x for _, _, x in part]
                closed.append((key, part[0][0], part[-1][0] + gap, len(xs), sum(xs), max(xs), len(set(xs))))
                held[key] = [event for event in held[key] if event not in part]
        for event in events:
            held[event[1]].append(event)
        for key, own in held.items():
            gone = [event for part in parts(own) if part[-1][0] + gap <= watermark for event in part]
            late += len(gone)
            held[key] = list((Counter(own) - Counter(gone)).elements())
    return sorted(closed), late


@examples(300, quick=10)
@given(micro_batches(), st.integers(1, 40))
def test_sessions(batches: list[Batch], gap: int) -> None:
    stream = Stream(plan_of(ff.session(gap)))
    assert (sorted(rows(tables(stream, batches))), stream.late) == sessions(gap, batches)


@pytest.mark.parametrize(
    ("windows", "reason"),
    [
        (ff.session(60), "a late event can change which windows there are"),
        (ff.last_rows(3), "a late event can change which windows there are"),
        (ff.sliding(120, every=60, min_fill="full"), "depends on the order of events"),
        (ff.tumbling(120, empty="emit"), "windows without an event"),
    ],
)
def test_which_windows_cannot_be_given_again(windows: Any, reason: str) -> None:
    assert reason in str(why_no_revisions(plan_of(windows)))


@pytest.mark.parametrize(
    ("windows", "start", "end"),
    [
        (ff.tumbling("1 day", timezone="Europe/Berlin"), "2024-10-26T22:00Z", "2024-10-27T23:00Z"),  # clocks go back
        (ff.sliding("2 months", every="1 month"), "2024-01-01T00:00Z", "2024-03-01T00:00Z"),
    ],
)
def test_days_of_a_zone_and_months(windows: Any, start: str, end: str) -> None:
    """They close when the calendar says so."""
    moments = [datetime.datetime.fromisoformat(each) for each in (start, end)]
    begin, close = (int(moment.timestamp()) * 1_000_000 for moment in moments)
    schema = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.string())])
    stream = Stream(bind(schema, time="t", by=("k",), window=(windows,), outputs={"n": ff.Count()}, null_time="error"))
    event = pa.table([pa.array([close - 50_000_000_000]).cast(schema.field("t").type), ["a"]], schema=schema)
    assert not [*stream.batch(begin, [event]), *stream.batch(close - 1)]
    (found,) = [row for each in stream.batch(close) for row in each.to_pylist()]
    assert found == {"k": "a", "window": dict(zip(("start", "end"), moments, strict=True)), "n": 1}


def test_nothing_is_kept_that_no_window_needs() -> None:
    stream = Stream(plan_of(ff.sliding(60, every=1)))
    closed = [*rows(tables(stream, [(at - 10, [(at, "a", 1), (at - 7, "b", 1)]) for at in range(0, 2500, 25)]))]
    assert stream.late == 0
    assert len(stream.stored[0].partials.pages()) <= (60 + 35) // FRAMES + 2
    closed += rows(tables(stream, [(6000, [])]))
    assert not stream.stored[0].partials.pages()
    assert stream.stored[0].opened(stream).due is None
    assert len(closed) > 1000


def test_events_of_one_time_are_in_the_order_of_their_batches() -> None:
    """Ranks of batches begin anew with each micro-batch: what came before is first all the same."""
    plan = counted(plan_of(ff.tumbling(10), {"n": ff.CollectList("x")}))
    shard = Shard(plan, Bytes())
    for rank, x in ((9, 1), (0, 2), (3, 3)):
        shard.add(accumulate(plan, table([(5, "a", x)]), rank))
    assert [row["n"] for each in shard.advance(10) for row in each.to_pylist()] == [[1, 2, 3]]


ITEM_BYTES, PARTIAL_BYTES = 16, 80
"""A value and its count; and at most what a key and frame take beside their values."""


@pytest.mark.parametrize("operation", [ff.Median("x"), ff.CountDistinct("x"), ff.Mode("x")], ids=str)
def test_a_shard_keeps_each_value_of_a_frame_once(operation: Any) -> None:
    """Each distinct one of a frame, with its count, and no more."""
    for distinct in (10, 100_000):
        rng, stream = np.random.default_rng(5), Stream(plan_of(ff.sliding(3600, every=60), {"m": operation}))
        ticks, keys, values = (rng.integers(0, most, 5000) for most in (3_600, 3, distinct))
        events = list(zip(ticks.tolist(), map(str, keys.tolist()), values.tolist(), strict=True))
        assert not [*tables(stream, [(0, events[at::4]) for at in range(4)])]
        items, partials = (len(set(zip(*of, strict=True))) for of in ([ticks // 60, keys, values], [ticks // 60, keys]))
        store = stream.stored[0].partials
        kept = sum(each.nbytes for each in map(store.get, store.pages()) if each is not None)
        assert 0 < kept <= ITEM_BYTES * items + PARTIAL_BYTES * partials


# Pages: how the partials of a shard are dealt to them

NUMBERS = st.lists(st.integers(-40, 40) | st.integers(-(1 << 50), 1 << 50))


@given(NUMBERS)
def test_distinct_numbers(numbers: list[int]) -> None:
    found, place, counts = pages.distinct(np.array(numbers, np.int64))
    assert found.tolist() == sorted(set(numbers))
    assert [found[at] for at in place] == numbers
    assert counts.tolist() == [numbers.count(each) for each in found]


@given(NUMBERS, st.sets(st.integers(-40, 40)))
def test_a_number_is_in_the_last_block_that_begins_before_it(numbers: list[int], known: set[int]) -> None:
    found = pages.owners(np.array(numbers, np.int64), known)
    assert found.tolist() == [
        max([each for each in known if each <= number], default=pages.NOWHERE) for number in numbers
    ]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), max_size=30))
def test_blocks_are_cut_where_they_are_full_or_another_one_begins(rows: list[tuple[int, int]]) -> None:
    rows = sorted(rows, key=lambda row: row[1])
    counts, owned = (np.array([row[at] for row in rows], np.int64) for at in (0, 1))
    found = pages.cut(np.arange(len(rows)), counts, owned)
    for block in set(found.tolist()):
        mine = np.flatnonzero(found == block)
        assert block == mine[0]
        assert len(set(owned[mine].tolist())) == 1
        assert counts[mine].sum() <= pages.PAGE_PARTIALS
        after = mine[-1] + 1
        full = after < len(rows) and counts[mine].sum() + counts[after] > pages.PAGE_PARTIALS
        assert after == len(rows) or full or owned[after] != owned[block]


# States that another query goes on from


@st.composite
def changes(draw: st.DrawFn) -> tuple[list[Kind], list[Kind], list[Batch], list[Batch]]:
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
    changes(), st.integers(1, 4), st.integers(1, 4), st.booleans(), st.sets(st.sampled_from(list(OUTPUTS)), min_size=1)
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
    said = "^windows of 40 every 10 that are open reach back to 30, and the exported state has events from 50 on only"
    with pytest.raises(ff.QueryError, match=said + "; expected windows that reach less far back, no new outputs, or "):
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
