"""The modules that one small query passes on the local engine: few, and its stages in order."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import framefold as ff

ROOMS = Path(ff.__file__).parents[1]
MOST_MODULES = 35


def walk(query: Any, **outputs: ff.Operation) -> list[str]:
    """The modules whose functions are called, as room/folder/module, in the order of their first calls."""
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOMS) and path.suffix == ".py":
            name = path.relative_to(ROOMS).with_suffix("").as_posix()
            if name.split("/")[0] in ("api", "aggregators", "runtime", "spark"):
                found[name] = None

    sys.setprofile(note)
    try:
        query.aggregate(**outputs)
    finally:
        sys.setprofile(None)
    return list(found)


def test_a_small_query_passes_few_modules_in_the_order_of_the_stages() -> None:
    events = pa.table({"t": [0, 30, 61, 200], "k": ["a", "a", "b", "a"], "x": [1.0, 2.0, 3.0, 4.0]})
    query = ff.events(events, time="t", by=["k"]).window(ff.sliding(60, every=10))
    query.aggregate(s=ff.Sum("x"))  # what is done once in a process
    passed = walk(query, s=ff.Sum("x"))
    stages = ["plan/bind", "accumulate/accumulate", "partials/merge", "sliding/slide", "results/finish"]
    assert [name for name in passed if name.removeprefix("runtime/") in stages[:-1]] == [
        f"runtime/{name}" for name in stages[:-1]
    ]
    assert f"runtime/{stages[-1]}" in passed
    assert len(passed) <= MOST_MODULES, passed
