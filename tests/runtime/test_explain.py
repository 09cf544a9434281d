"""What explain() says before anything runs, and queries tell the logger as they run."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.inner import inner, place_of
from ..support.loops import warn_of_numpy, without_loops
from ..support.plans import BoundAggregate
from ..support.programs import WITH_SUPPORT
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
        (ff.Sum("i"), "deduct", "exact"), (ff.Sum("x"), "deduct", "exact"), (ff.Count(), "deduct", "exact"),
        (ff.Max("x"), "two-stacks", "it has no deduct"), (ff.Kurtosis("x"), "two-stacks", "it has no deduct"),
        (Plain("x"), "two-stacks", "'total' is a plain float64"), (Joined("i"), "two-stacks", "order-sensitive"),
    ],
    ids=repr,
)  # fmt: skip
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


# The logger ``framefold``


LOGGED = pa.table({"t": [0, 30, 61, 200], "k": ["a", "a", "b", "a"], "x": [1.0, 2.0, 3.0, 4.0]})


def query() -> ff.Windowed:
    return ff.events(LOGGED, time="t", by="k").window(ff.sliding(60, every=30))


def test_the_way_that_is_taken_and_how_much_there_is(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "framefold"):
        query().aggregate(s=ff.Sum("x"), d=ff.Skewness("x"))
    assert {(record.name, record.levelname) for record in caplog.records} == {("framefold", "INFO")}
    way, partials, windows = caplog.messages
    assert way.startswith("on the local engine: s = Sum('x'): double; slides by ")
    assert "d = Skewness('x'): double; slides by two-stacks" in way
    assert "it has no deduct" in way
    assert "accumulate, merge: in this process, in threads" in way
    assert partials.startswith("the local engine has 4 partials of 4 events, ")
    assert partials.endswith(" bytes")
    assert windows == "the local engine gives 7 windows"
    caplog.clear()
    with caplog.at_level(logging.WARNING, "framefold"):
        query().aggregate(n=ff.Count())
    assert caplog.messages == [], "nothing is told below the level"


def test_a_fallback_is_a_warning_once(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_numpy.cache_clear()
    with without_loops():
        query()
        query()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages[0].startswith("numpy does what compiled loops would do faster: ")
    warn_of_numpy.cache_clear()


def test_nothing_is_printed_unless_the_program_logs_and_then_on_stderr() -> None:
    code = f"""{WITH_SUPPORT}
import logging, sys, pyarrow as pa, framefold as ff
from tests.support.loops import warn_of_numpy
for logs in (False, True):
    if logs:
        print("it logs", file=sys.stderr)
        logging.basicConfig(level="INFO")
    warn_of_numpy.cache_clear()
    warn_of_numpy()
    ff.events(pa.table({{"t": [0]}}), time="t").window(ff.tumbling(60)).aggregate(n=ff.Count())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, _, after = done.stderr.partition("it logs\n")
    assert (done.stdout, before) == ("", "")
    assert "INFO:framefold:the local engine gives 1 windows" in after
    assert "WARNING:framefold:numpy does" in after
