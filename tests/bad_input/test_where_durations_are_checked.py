"""A duration that does not fit the time is refused where it is written: by ``.window``, or ``ff.events``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from .mistakes import mistakes, require

STAMPS = pa.array([1], pa.timestamp("us"))
EVENTS = pa.table({"stamp": STAMPS, "until": STAMPS, "day": pa.array([1], pa.date32()), "tick": [1], "x": [1]})
WINDOWS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "tumbling": ("size", ff.tumbling), "sliding": ("size", lambda each: ff.sliding(each, every=each)),
    "cumulating": ("size", lambda each: ff.cumulating(each, every=each)), "session": ("gap", ff.session),
    "landmark": ("every", lambda each: ff.landmark(every=each)),
    "around": ("time", lambda each: ff.around(time=(each, each))),
    "evict": ("by_time()", lambda each: ff.policy(evict=ff.by_time(each), trigger=ff.by_count(1))),
    "trigger": ("by_time()", lambda each: ff.policy(evict=ff.by_delta("x", 3), trigger=ff.by_time(each))),
}  # fmt: skip
TIMES: dict[str, tuple[Any, Any, str]] = {
    "stamp": (60, "1 hour", "expected a duration such as '1 hour'"),
    "day": (60, "2 days", "expected a duration such as '7 days'"),
    "tick": ("1 hour", 60, "expected an integer such as 60"),
}


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("kind", WINDOWS)
def test_by_window(kind: str, time: str) -> None:
    (argument, make), (wrong, right, expected) = WINDOWS[kind], TIMES[time]
    events = ff.events(EVENTS, time=time)
    with pytest.raises(
        ff.DurationError, match=f"^{re.escape(argument)} is {wrong!r}, but the time '{time}' is .*{expected}"
    ):
        events.window(ff.last_rows(2), make(wrong))
    events.window(make(right))


@mistakes("""\
ff.events(EVENTS, time="stamp").window(ff.tumbling("1 hour", offset=60))
    # -> DurationError: offset is 60, but the time 'stamp' is a timestamp column
ff.events(EVENTS, time="stamp", until="until", longest=60)
    # -> DurationError: longest is 60, but the time 'stamp' is a timestamp column
ff.events(EVENTS, time=pc.field("tick").cast(pa.timestamp("s"))).window(ff.tumbling(60))
    # -> DurationError: size is 60, but the time
ff.events(EVENTS, time="stam").window(ff.tumbling(60)).aggregate(n=ff.Count())
    # -> ColumnError: 'stam'; did you mean 'stamp'
""")
def test_arguments_and_times(call: str, said: str) -> None:
    require(call, said, globals())


@pytest.mark.spark
def test_on_spark_before_any_job(spark: Any) -> None:
    df = spark.createDataFrame(EVENTS)
    with pytest.raises(ff.DurationError, match=r"^size is 60, but the time 'stamp' is a timestamp column"):
        ff.events(df, time="stamp").window(ff.tumbling(60))
