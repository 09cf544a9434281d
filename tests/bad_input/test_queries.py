"""Every mistake is one sentence of what was found and what was expected, before any work where the schema can tell."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from .queries import BEFORE_ANY_JOB, STATES, returning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
EVENTS = pa.table(
    {
        "t": pa.array([1, 2, 3, 3], pa.int64()),
        "ts": pa.array([DAY, DAY, DAY, DAY], pa.timestamp("us", tz="UTC")),
        "day": pa.array([DAY.date()] * 4, pa.date32()),
        "driver": pa.array(["ann", "bob", None, "ann"]),
        "speed": pa.array([1.0, 2.0, None, 4.0]),
        "n": pa.array([1, 2, 3, 4], pa.int64()),
        "tags": pa.array([[1], [2], [3], None], pa.list_(pa.int64())),
    }
)


def ask(data: Any, *, window: Any = None, null_time: str = "error", options: Any = None, **more: Any) -> Any:
    """A good query, with one thing or another made wrong."""
    outputs = more.pop("outputs", None)
    events = ff.events(data, time=more.pop("time", "t"), by=more.pop("by", "driver"), null_time=null_time)
    events = events.options(**options or {})
    assert not more
    return events.window(window or ff.sliding(4, every=2)).aggregate(
        **({"x": ff.Count()} if outputs is None else outputs)
    )


def sentence(error: BaseException) -> str:
    """The message, which is one sentence on one line."""
    text = str(error)
    assert "\n" not in text.strip(), text
    return text


@pytest.mark.parametrize(("name", "wrong", "error", "parts"), BEFORE_ANY_JOB, ids=[case[0] for case in BEFORE_ANY_JOB])
def test_local(name: str, wrong: Any, error: type[Exception], parts: list[str]) -> None:
    with pytest.raises(error) as caught:
        ask(EVENTS, **wrong())
    for part in parts:
        assert part in sentence(caught.value)


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> Any:
    """The same events as a DataFrame."""
    return spark.createDataFrame(EVENTS)


@contextmanager
def no_job(session: Any, name: str) -> Iterator[None]:
    """No job of Spark's starts meanwhile; through Connect, nobody could tell."""
    if os.environ.get("FRAMEFOLD_REMOTE"):
        yield
        return
    context = session.sparkContext
    context.setJobGroup(f"bad input: {name}", "no job may start")
    try:
        yield
        assert not context.statusTracker().getJobIdsForGroup(f"bad input: {name}")
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


@pytest.mark.parametrize(("name", "wrong", "error", "parts"), BEFORE_ANY_JOB, ids=[case[0] for case in BEFORE_ANY_JOB])
def test_spark_before_any_job(name: str, wrong: Any, error: type[Exception], parts: list[str], frame: Any) -> None:
    with no_job(frame.sparkSession, name), pytest.raises(error) as caught:
        ask(frame, **wrong())
    for part in parts:
        assert part.replace("date32", "date") in sentence(caught.value)


@pytest.mark.parametrize(("name", "make", "method", "parts"), STATES, ids=[case[0] for case in STATES])
def test_a_wrong_state(name: str, make: Any, method: str, parts: list[str]) -> None:
    with pytest.raises(ff.OperationError) as caught:
        ask(EVENTS, outputs={"x": returning(make, method)})
    for part in [method, "'x'", *parts]:
        assert part in sentence(caught.value)


def test_a_wrong_finish() -> None:
    with pytest.raises(ff.OperationError, match=r"finish of 'x' returned 1 results for \d+ states; expected one each"):
        ask(EVENTS, by=[], window=ff.sliding(4, every=2), outputs={"x": returning(lambda a: a[:1], "finish")})


def test_a_wrong_combine() -> None:
    events = pa.concat_tables([EVENTS] * 2)
    with pytest.raises(ff.OperationError, match=r"combine of 'x' returned .* expected a dict"):
        ask(events, window=ff.sliding(4, every=1), outputs={"x": returning(lambda a: a + a, "combine")})
