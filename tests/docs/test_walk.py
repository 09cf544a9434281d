"""A query passes the stages of docs/architecture.md, each where the page says, in the order of its table."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from ..support.sources import LocalEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOMS = Path(sys.modules[LocalEngine.__module__].__file__ or "").parents[1]
PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text()
STAGES = re.findall(r"^\| (?:plan|accumulate|merge|slide|finish) \| `([\w.]+)` \|", PAGE, re.MULTILINE)


def walk(query: Any, **outputs: Any) -> list[str]:
    """The functions of stages that a query calls, in the order in which they are done."""
    query.aggregate(**outputs)  # what is done once in a process
    found: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "return" and path.is_relative_to(ROOMS) and path.suffix == ".py":
            name = ".".join((*path.relative_to(ROOMS).with_suffix("").parts, frame.f_code.co_name))
            if name in STAGES:
                found[name] = None

    sys.setprofile(note)
    try:
        query.aggregate(**outputs)
    finally:
        sys.setprofile(None)
    return list(found)


def test_in_this_process() -> None:
    events = pa.table({"t": [0, 30, 61, 200], "k": ["a", "a", "b", "a"], "x": [1.0, 2.0, 3.0, 4.0]})
    query = ff.events(events, time="t", by=["k"]).window(ff.sliding(60, every=10))
    assert walk(query, s=ff.Sum("x")) == STAGES
    assert len(STAGES) == 5


@pytest.mark.parametrize("accumulate", ["spark", "python"])
def test_on_the_driver(spark: SparkSession, accumulate: str) -> None:
    df = spark.range(1_000).selectExpr("id as t", "id % 7 as k", "id as x")
    query = ff.events(df, time="t", by="k").window(ff.sliding(60, every=10)).options(accumulate=accumulate)
    assert walk(query, total=ff.Sum("x"), n=ff.Count()) == [each for each in STAGES if ".accumulate." not in each]
