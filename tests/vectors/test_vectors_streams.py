"""The cases of the vectors as streams, without Spark: all that a batch runs, and those that are about late events."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ..support.plans import bind
from ..support.shards import Cut, Stream, as_stream
from .cases import CASES
from .cases_grid import OPERATIONS_OF_JET, sliding
from .cases_grid import events_of as rows_of
from .cases_model import OPERATIONS, equal, event, table, vector
from .test_vectors import TICKS, check, events_of, results

CUTS = [Cut((1,) * 50), Cut(slack=3, shards=3, portion=1, width=1)]
"""One event a micro-batch; several, for several shards. Cases have them by turns: random streams have many."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: CASES[number].id)
def test_the_batch_on_shards(number: int) -> None:
    """Times of a stream that closes all windows in the end; results in the order of keys and times."""
    case = CASES[number]
    events = as_stream(events_of(case.kind, table(case.events), "key"), CUTS[number % 2])
    answer = events.window(case.windows(TICKS)).aggregate(value=OPERATIONS[case.operation])
    rows = results(answer.to_pylist(), "value")
    check(
        case,
        sorted(rows, key=lambda row: (row.key is not None, row.key or "", row.start if row.at is None else row.at)),
    )


def stream_of(rows: list[dict[str, Any]], size: int, every: int, output: str, **of: Any) -> tuple[pa.Table, Stream]:
    events = table(rows)
    windows, outputs = sliding(size, every)(TICKS), {"value": OPERATIONS[output]}
    return events, Stream(bind(events.schema, time="t", by=["key"], window=windows, outputs=outputs), 2, **of)


def found(tables: Any) -> list[Any]:
    rows = results([row for each in tables for row in each.to_pylist()], "value")
    return sorted(((row.start, row.end, row.key, row.value) for row in rows), key=str)


def test_events_that_are_partially_late_are_dropped() -> None:
    """HZ06: Jet's rule is late="drop_partial". By ours three of the four events are in windows that are still open."""
    case = vector("HZ06", "hazelcast_flink.json")
    rows, window = rows_of(case), case["window"]
    events, stream = stream_of(rows, window["size"], window["slide"], case["op"], drop_partial=True)
    tables = [*stream.batch(case["watermark_before"], [events]), *stream.batch(1000)]
    assert sorted(found(tables)) == [tuple(row) for row in case["expected"]]
    assert stream.late == case["dropped"]
    events, stream = stream_of(rows, window["size"], window["slide"], case["op"])
    tables = [*stream.batch(case["watermark_before"], [events]), *stream.batch(1000)]
    assert [row[3] for row in sorted(found(tables))] == [126, 125, 124, 123]
    assert stream.late == 1


@pytest.mark.parametrize("name", ["FL02", "FL06"])
def test_a_late_event_is_in_the_windows_that_are_open(name: str) -> None:
    """FL02, FL06: the watermark is a second behind the greatest time of the events before."""
    case = vector(name, "hazelcast_flink.json")
    rows = rows_of(case)
    events, stream = stream_of(
        rows, case["window"]["size"], case["window"]["slide"], OPERATIONS_OF_JET.get(case["op"], case["op"])
    )
    tables, watermark = [], -1000
    for number, row in enumerate(rows):
        tables += stream.batch(watermark, [events.slice(number, 1)])
        watermark = max(watermark, row["t"] - 1)
    got = found([*tables, *stream.batch(1000)])
    assert equal(got, sorted(((start, end, key, value) for start, end, key, value in case["expected"]), key=str))
    assert stream.late == 0


def test_panes_fire_again_for_late_tuples() -> None:
    """SPL-20: what the tuples of a watermark change is given with it, in thousandths; late ones fire panes again.

    There a late tuple waits for the next watermark, here it fires the pane that it changes at once.
    """
    case = vector("SPL-20")
    size, every = (round(1000 * case["params"][name]) for name in ("duration", "period"))
    every_row = [event(1000 * row["t"], str(row["key"]), row["t"]) for row in case["input"] if "t" in row]
    rows, stream = stream_of(every_row, size, every, "list", lateness=1000 * case["params"]["discard_age"])
    fired, waiting, given, watermark = [], [], 0, -1_000_000

    def batch(watermark: int, numbers: list[int]) -> list[Any]:
        return found(stream.batch(watermark, [rows.slice(number, 1) for number in numbers]))

    for row in case["input"]:
        if "t" in row:
            waiting.append(given)
            given += 1
            continue
        again = batch(watermark, waiting)
        watermark, waiting = round(1000 * row["wm"]), []
        fired += [(row["wm"], each) for each in [*again, *batch(watermark, [])]]
    want = [
        (row["wm"], (*(1000 * tick for tick in row["pane"]), str(row["key"]), sorted(row["window"])))
        for row in case["expected"]
    ]
    got = [(at, (*bounds, sorted(values))) for at, (*bounds, values) in fired]
    assert sorted(got, key=str) == sorted(want, key=str)


def test_watermarks_of_results() -> None:
    """SI-08: moved back to the start of the earliest window that can still change, or as it is."""
    case = vector("SI-08")
    [given] = case["input"]
    for size, start in ((case["params"]["size"], case["expected"]["ClipToWindowEnd"]), (20, 10)):
        every_tick = [event(tick, "a", 1) for tick in range(60)]
        events, stream = stream_of(every_tick, size, case["params"]["hop"], "count")
        closed = found([*stream.batch(-1000, [events]), *stream.batch(given["cti"])])
        open_ones = found(stream.batch(1000))
        assert min(row[0] for row in open_ones) == start
        assert max(row[1] for row in closed) <= case["expected"]["PointAlignToWindowEnd"]
