"""What queries tell the logger ``framefold``."""

from __future__ import annotations

import logging
import subprocess
import sys

import pyarrow as pa
import pytest

import framefold as ff

from ..support.loops import warn_of_numpy, without_loops
from ..support.programs import WITH_SUPPORT

EVENTS = pa.table({"t": [0, 30, 61, 200], "k": ["a", "a", "b", "a"], "x": [1.0, 2.0, 3.0, 4.0]})


def query() -> ff.Windowed:
    return ff.events(EVENTS, time="t", by="k").window(ff.sliding(60, every=30))


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
