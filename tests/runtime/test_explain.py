"""What explain() says is what will happen, before anything runs."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.inner import inner, place_of
from ..support.plans import BoundAggregate
from ..support.stages import slide
from ..support.toys import Joined
from .ranges import CountingSum

EVENTS = pa.table({"t": [0], "k": ["<a>"], "x": [1.0], "i": [1], "unused": [None]})


class Counted(CountingSum):
    """An integer sum, whose deduct is exact."""


class Plain(CountingSum):
    """A float sum with a deduct that is not declared exact."""

    state = {"total": "float64"}
    result = "float64"


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


@pytest.mark.parametrize(
    ("operation", "way", "why"),
    [
        (ff.Sum("i"), "deduct", "exact"),
        (ff.Sum("x"), "deduct", "exact"),
        (ff.Count(), "deduct", "exact"),
        (ff.Max("x"), "two-stacks", "it has no deduct"),
        (ff.Kurtosis("x"), "two-stacks", "it has no deduct"),
        (Plain("x"), "two-stacks", "'total' is a plain float64"),
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


def test_deduct_of_columns_says_that_long_runs_go_otherwise() -> None:
    """As many windows as make it worth while are not known before the events are; slide decides by them."""
    more = "long runs of windows by two-stacks side by side (3), in fewer calls"
    assert line(explain(ff.sliding(60, 1), y=Counted("i")), "y = ").endswith(more)
    assert "side by side" not in line(explain(ff.sliding(60, 1), y=ff.Sum("x")), "y = ")
    assert "side by side" not in line(explain(ff.sliding(60, 1), y=Plain("x")), "y = ")
    bound = BoundAggregate("y", Counted("i"), [pa.int64()])
    states = {"total": np.ones(200_000, np.int64)}
    for windows, called in ((1000, 0), (100_000, 1)):
        low = np.arange(windows)
        with patch.object(*place_of("two-stacks side by side"), side_effect=inner("two-stacks side by side")) as side:
            slide(bound, states, low, low + 60)
        assert side.call_count == called


def test_columns_keys_and_ends() -> None:
    explanation = explain(ff.sliding(4, 2, closed="right", empty="emit"), by=["k"], y=ff.Max("x"))
    for start, *words in (
        ("events", "columns read: t, k, x", "key k"),
        ("windows", "(start, end]", "windows without an event are given too"),
    ):
        assert all(each in line(explanation, start) for each in words)
    said = line(explain(ff.tumbling(5), y=ff.Max("x")), "y = ")
    assert "nothing to slide" in said
    assert "two-stacks" not in said


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
