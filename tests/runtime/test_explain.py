"""What explain() says is what will happen, before anything runs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..support.toys import Joined

EVENTS = pa.table({"t": [0], "k": ["<a>"], "x": [1.0], "i": [1], "unused": [None]})


class Plain(ff.AggregateOperation):
    """A float sum with a deduct that is not declared exact."""

    state = {"total": "float64"}

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"total": frames.sum(x)}

    def combine(self, a: Any, b: Any) -> Any:
        return {"total": a["total"] + b["total"]}

    def deduct(self, a: Any, b: Any) -> Any:
        return {"total": a["total"] - b["total"]}

    def finish(self, a: Any) -> Any:
        return a["total"]


def explain(window: Any, data: Any = EVENTS, by: Any = None, **outputs: Any) -> ff.Explanation:
    return ff.events(data, time="t", by=by).window(window).explain(**outputs)


def line(explanation: ff.Explanation, start: str) -> str:
    (found,) = [text for text in str(explanation).splitlines() if text.strip().startswith(start)]
    return found


@pytest.mark.parametrize(
    ("window", "frames"),
    [
        (ff.sliding(60, 1), "one frame every 1; 60 to a window"),
        (ff.tumbling(5), "one frame every 5; 1 to a window"),
        (ff.sliding(10, 4), "two frames every 4, of 2 and 2; 5 to a window"),
        (ff.sliding(7, 5), "two frames every 5, of 2 and 3; 3 to a window"),
        (ff.sliding(2, 5, gaps="allow"), "one frame of 2 every 5; the 3 after it are in no window"),
    ],
)
def test_frames(window: Any, frames: str) -> None:
    assert frames in line(explain(window, n=ff.Count()), "frames")


class Summed(Plain):
    """An integer sum, whose deduct is exact."""

    state = {"total": "int64"}
    result = "int64"


@pytest.mark.parametrize(
    ("operation", "way", "why"),
    [
        (ff.Sum("i"), "deduct", "exact"),
        (ff.Sum("x"), "deduct", "exact"),
        (ff.Count(), "deduct", "exact"),
        (ff.Max("x"), "two-stacks", "it has no deduct"),
        (ff.Variance("x"), "two-stacks", "it has no deduct"),
        (Plain("x"), "two-stacks", "'total' is a plain float64"),
        (Summed("i"), "two-stacks", "in fewer calls than by its deduct"),
        (Joined("i"), "two-stacks", "order-sensitive"),
    ],
    ids=repr,
)
def test_the_way_of_sliding_and_why(operation: Any, way: str, why: str) -> None:
    said = line(explain(ff.sliding(60, 1), y=operation), "y = ")
    assert repr(operation) in said
    assert f"slides by {way} " in said
    assert why in said
    assert ("by kernels" in said) == (operation.__class__ in (ff.Sum, ff.Count, ff.Max))


def test_a_window_of_one_frame_has_nothing_to_slide() -> None:
    said = line(explain(ff.tumbling(5), y=ff.Max("x")), "y = ")
    assert "nothing to slide" in said
    assert "two-stacks" not in said


def test_columns_keys_and_ends() -> None:
    explanation = explain(ff.sliding(4, 2, closed="right", empty="emit"), by=["k"], y=ff.Max("x"))
    assert "columns read: t, k, x" in line(explanation, "events")
    assert "key k" in line(explanation, "events")
    assert "(start, end]" in line(explanation, "windows")
    assert "windows without an event are given too" in line(explanation, "windows")


def test_html_is_escaped() -> None:
    table = EVENTS.rename_columns(["t", "<b>", "x", "i", "unused"])
    shown = explain(ff.tumbling(5), table, by=["<b>"], n=ff.Count())._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == len(explain(ff.tumbling(5), n=ff.Count()).rows)


def test_nothing_is_read() -> None:
    def batches() -> Any:
        raise AssertionError("explain must not read events")
        yield

    reader = pa.RecordBatchReader.from_batches(EVENTS.schema, batches())
    assert "local engine" in str(explain(ff.tumbling(5), reader, n=ff.Count()))


def test_a_wrong_query_is_refused_as_aggregate_does() -> None:
    with pytest.raises(ff.ColumnError, match="unknown column"):
        explain(ff.tumbling(5), y=ff.Sum("nowhere"))
