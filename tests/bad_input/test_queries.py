"""Every mistake is one sentence of what was found and what was expected, before any work where the schema can tell."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from ..support.toys import Items, Total
from .mistakes import mistakes, require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
EVENTS = pa.table({
    "t": pa.array([1, 2, 3, 3], pa.int64()), "ts": pa.array([DAY] * 4, pa.timestamp("us", tz="UTC")),
    "day": pa.array([DAY.date()] * 4, pa.date32()), "driver": ["ann", "bob", None, "ann"],
    "speed": [1.0, 2.0, None, 4.0], "n": pa.array([1, 2, 3, 4], pa.int64()), "tags": [[1], [2], [3], None],
})  # fmt: skip


def ask(data: Any, *, window: Any = None, null_time: str = "error", options: Any = None, **more: Any) -> Any:
    """A good query, with one thing or another made wrong."""
    outputs = more.pop("outputs", {"x": ff.Count()})
    events = ff.events(data, time=more.pop("time", "t"), by=more.pop("by", "driver"), null_time=null_time)
    assert not more
    return events.options(**options or {}).window(window or ff.sliding(4, every=2)).aggregate(**outputs)


NoCombine = type("NoCombine", (Total,), {"combine": ff.AggregateOperation.combine})
PythonNoCombine = type("PythonNoCombine", (Items,), {"combine": ff.PythonOperation.combine})


def returning(make: Callable[[Any], Any], method: str = "accumulate") -> ff.AggregateOperation:
    """A sum, but for one of its methods, which returns what it likes."""

    def made(self: Total, of: Any, *others: Any) -> Any:
        return make(of if method == "accumulate" else of["total"])

    return type("Wrong", (Total,), {method: made, "result": "int64", "commutative": True})("n")


# The schema and the arguments alone show it, so that no job need run.
BEFORE_ANY_JOB = mistakes("""\
time="tt"  # -> ColumnError: time= names the unknown column 'tt'; did you mean 't'?
by="drivr"  # -> ColumnError: by= names the unknown column 'drivr'; did you mean 'driver'?
outputs={"x": ff.Sum("sped")}  # -> ColumnError: x=Sum('sped') names the unknown column 'sped'; did you mean 'speed'?
outputs={"x": ff.Sum("zzz")}  # -> ColumnError: 'zzz'; there are 't', 'ts', 'day', 'driver', 'speed'
time="driver", by=[]  # -> ColumnError: time= needs a column of timestamps, dates or integers; 'driver' is string
time="speed"  # -> ColumnError: time= needs a column of timestamps, dates or integers; 'speed' is double
outputs={"x": ff.Sum("driver")}  # -> ColumnError: Sum('driver') needs a column of numbers ... ; 'driver' is string
outputs={"x": ff.Average("driver")}  # -> ColumnError: Average('driver') needs a column of numbers ... is string
outputs={"x": ff.Variance("day")}  # -> ColumnError: Variance('day') needs a column of numbers ... ; 'day' is date
outputs={"x": ff.StdDev("tags")}  # -> ColumnError: StdDev('tags') needs a column of numbers ... ; 'tags' is list
by="tags"  # -> ColumnError: by= names 'tags', which is list
by=["driver", "driver"]  # -> by= names 'driver' twice; expected each key once
by="window"  # -> by= names the unknown column 'window'
window=ff.sliding(0, 1)  # -> size is 0; expected a duration above zero
window=ff.sliding(-4, 1)  # -> size is -4; expected a duration above zero
window=ff.sliding(4, 0)  # -> every is 0; expected a duration above zero
window=ff.sliding("1 hour", "-5 minutes"), time="ts"  # -> every is '-5 minutes'; expected a duration above zero
window=ff.sliding("an hour", "1 minute"), time="ts"
    # -> DurationError: size is 'an hour', which is not a duration; expected a number and a unit, such as '1 hour'
window=ff.sliding("", "1 minute"), time="ts"  # -> DurationError: size is '', which is not a duration
window=ff.sliding("1 hour", "1 fortnight"), time="ts"
    # -> DurationError: every is '1 fortnight' with the unknown unit 'fortnight'; expected weeks, days, hours, minutes
window=ff.sliding("1 month", "1 hour"), time="ts"
    # -> DurationError: size is '1 month' and every is '1 hour'; expected steps of whole days or weeks
window=ff.sliding("30 days", "1 month"), time="ts"
    # -> DurationError: size is '30 days' and every is '1 month'; expected a size in months, quarters or years
window=ff.tumbling("1 year 2 days"), time="ts"
    # -> DurationError: size is '1 year 2 days', which mixes months with other units; expected whole months
window=ff.tumbling("0.0000001 seconds"), time="ts"
    # -> DurationError: size is '0.0000001 seconds', which is not a whole number of microseconds
window=ff.sliding("1 hour", 1)  # -> DurationError: size is '1 hour', but the time 't' is an integer column
window=ff.sliding("1 hour", 60), time="ts"  # -> DurationError: every is 60, but the time 'ts' is a timestamp column
window=ff.tumbling("36 hours"), time="day"
    # -> DurationError: size is '36 hours', but the time 'day' is a date column ... ; expected whole days
window=ff.tumbling("1 day", offset="nine"), time="ts"  # -> DurationError: offset is 'nine', which is not a duration
window=ff.tumbling(1.5)  # -> DurationError: size is 1.5; expected a duration such as '1 hour', a timedelta
window=ff.sliding(4, 2, closed="both")  # -> closed is 'both'; expected 'left' for [start, end) or 'right' for (start
window=ff.sliding(4, 2, empty="fill")  # -> empty is 'fill'; expected 'skip' to leave out ... or 'emit' to give them
options={"combine": "cluster"}  # -> combine is 'cluster', expected one of 'auto', 'driver', 'executors'
options={"max_driver_partials": -1}  # -> max_driver_partials is -1, expected a whole number of at least 0
options={"max_driver_partials": True}  # -> max_driver_partials is True, expected a whole number of at least 0
options={"accumulate": "java"}  # -> accumulate is 'java', expected one of 'auto', 'spark', 'python'
options={"combin": "driver"}  # -> options() is given 'combin'; did you mean 'combine'?
null_time="ignore"  # -> null_time is 'ignore'; expected 'error' or 'drop'
window="1 hour"  # -> window is '1 hour'; expected a window such as ff.sliding('1 hour', every='1 minute')
outputs={}  # -> no outputs are asked for; expected at least one, such as n=ff.Count()
outputs={"x": "sum"}  # -> the output 'x' is 'sum'; expected an aggregate operation, such as ff.Last('sum')
outputs={"x": ff.Count}  # -> the output 'x' is Count; expected an aggregate operation, such as ff.Count(...)
outputs={"driver": ff.Count()}  # -> the output 'driver' would hide the key 'driver'; expected another name
outputs={"window": ff.Count()}  # -> the output 'window' would hide the column 'window' of every result
outputs={"x": ff.Sum(3)}  # -> Sum takes names of columns; found 3
outputs={"x": ff.Variance("speed", ddof=-1)}  # -> ddof= of Variance('speed') is -1; expected an integer of 0 or more
outputs={"x": NoCombine("n")}  # -> OperationError: NoCombine('n') for 'x' has no combine, which every Agg
outputs={"x": PythonNoCombine("n")}  # -> OperationError: PythonNoCombine('n') has no combine, which every PythonOp
outputs={"x": PythonNoCombine("n", "t")}  # -> OperationError: PythonNoCombine('n', 't') has no combine
""")


@BEFORE_ANY_JOB
def test_local(call: str, said: str) -> None:
    require(f"ask(EVENTS, {call})", said, globals())


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


@BEFORE_ANY_JOB
def test_spark_before_any_job(call: str, said: str, frame: Any) -> None:
    with no_job(frame.sparkSession, call):
        require(f"ask(frame, {call})", said, globals() | {"frame": frame})


# Only the call of a user's function shows it. The trial before a job may find it; then no event is needed at all.
@mistakes("""\
{"total": frames.count()[1:]}  # -> OperationError: accumulate of 'x' ... 'total' ... expected
{"total": [1] * (frames.size + 2)}  # -> OperationError: accumulate of 'x' ... 'total' ... expected
{"total": 1}  # -> OperationError: accumulate of 'x' ... 'total'
{"total": frames.count(), "more": frames.count()}  # -> OperationError: accumulate of 'x' ... undeclared ... 'more'
{}  # -> OperationError: accumulate of 'x' ... no field ... 'total'
frames.count()  # -> OperationError: accumulate of 'x' ... dict
{"total": frames.count() / 2}  # -> OperationError: accumulate of 'x' ... 'total' ... 'int64': values of type float64
{"total": ["a"] * frames.size}  # -> OperationError: accumulate of 'x' ... 'total' ... int64
None  # -> OperationError: accumulate of 'x' ... None ... dict
""")
def test_a_wrong_state(call: str, said: str) -> None:
    require(f'ask(EVENTS, outputs={{"x": returning(lambda frames: {call})}})', said, globals())


@mistakes("""\
ask(EVENTS, by=[], outputs={"x": returning(lambda a: a[:1], "finish")})
    # -> OperationError: finish of 'x' returned 1 results for ... states; expected one each
ask(pa.concat_tables([EVENTS] * 2), window=ff.sliding(4, every=1), outputs={"x": returning(lambda a: a + a, "combine")})
    # -> OperationError: combine of 'x' returned ... expected a dict
""")
def test_a_wrong_result_of_a_function(call: str, said: str) -> None:
    require(call, said, globals())
