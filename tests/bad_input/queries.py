"""Queries put wrongly: what is wrong with each, the error, and what its sentence must have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import framefold as ff


def sums(column: str = "speed") -> dict[str, Any]:
    return {"x": ff.Sum(column)}


class NoCombine(ff.AggregateOperation):
    state = {"count": "int64"}
    result = "int64"

    def accumulate(self, frames: Any, *columns: Any) -> Any:
        return {"count": frames.count()}

    def finish(self, a: Any) -> Any:
        return a["count"]


class PythonNoCombine(ff.PythonOperation):
    def create(self) -> int:
        return 0

    def accumulate(self, state: int, value: Any) -> int:
        return state + 1


def returning(make: Callable[[Any], Any], method: str = "accumulate") -> ff.AggregateOperation:
    """An operation that counts, but for one of its methods, which returns what it likes."""

    class Wrong(ff.AggregateOperation):
        state = {"count": "int64"}
        result = "int64"
        commutative = True

        def accumulate(self, frames: Any, x: Any) -> Any:
            return make(frames) if method == "accumulate" else {"count": frames.count()}

        def combine(self, a: Any, b: Any) -> Any:
            return make(a["count"]) if method == "combine" else {"count": a["count"] + b["count"]}

        def finish(self, a: Any) -> Any:
            return make(a["count"]) if method == "finish" else a["count"]

    return Wrong("n")


# What the schema and the arguments alone show. (name, arguments of `ask`, error, what the sentence must have)
BEFORE_ANY_JOB: list[tuple[str, Callable[[], dict[str, Any]], type[Exception], list[str]]] = [
    ("unknown time", lambda: {"time": "tt"}, ff.ColumnError, ["time=", "'tt'", "did you mean 't'?"]),
    ("unknown key", lambda: {"by": "drivr"}, ff.ColumnError, ["by=", "'drivr'", "did you mean 'driver'?"]),
    ("unknown input", lambda: {"outputs": sums("sped")}, ff.ColumnError, ["x", "'sped'", "did you mean 'speed'?"]),
    ("far from any name", lambda: {"outputs": sums("zzz")}, ff.ColumnError, ["'zzz'", "'speed'", "'driver'"]),
    (
        "time a string",
        lambda: {"time": "driver", "by": []},
        ff.ColumnError,
        ["time=", "'driver'", "string", "timestamps, dates or integers"],
    ),
    (
        "time a float",
        lambda: {"time": "speed"},
        ff.ColumnError,
        ["time=", "'speed'", "double", "timestamps, dates or integers"],
    ),
    ("sum of a string", lambda: {"outputs": sums("driver")}, ff.ColumnError, ["Sum", "'driver'", "string", "numbers"]),
    (
        "average of a string",
        lambda: {"outputs": {"x": ff.Average("driver")}},
        ff.ColumnError,
        ["Average", "'driver'", "string", "numbers"],
    ),
    (
        "variance of a date",
        lambda: {"outputs": {"x": ff.Variance("day")}},
        ff.ColumnError,
        ["Variance", "'day'", "date32", "numbers"],
    ),
    (
        "deviation of a list",
        lambda: {"outputs": {"x": ff.StdDev("tags")}},
        ff.ColumnError,
        ["StdDev", "'tags'", "list", "numbers"],
    ),
    ("a list as key", lambda: {"by": "tags"}, ff.ColumnError, ["by=", "'tags'", "list"]),
    ("a key twice", lambda: {"by": ["driver", "driver"]}, ff.QueryError, ["by=", "'driver'", "twice"]),
    ("a key called window", lambda: {"by": "window"}, ff.QueryError, ["by=", "'window'"]),
    ("size zero", lambda: {"window": ff.sliding(0, 1)}, ff.QueryError, ["size", "0", "above zero"]),
    ("size negative", lambda: {"window": ff.sliding(-4, 1)}, ff.QueryError, ["size", "-4", "above zero"]),
    ("step zero", lambda: {"window": ff.sliding(4, 0)}, ff.QueryError, ["every", "0", "above zero"]),
    (
        "step negative",
        lambda: {"window": ff.sliding("1 hour", "-5 minutes"), "time": "ts"},
        ff.QueryError,
        ["every", "'-5 minutes'", "above zero"],
    ),
    (
        "no duration",
        lambda: {"window": ff.sliding("an hour", "1 minute"), "time": "ts"},
        ff.DurationError,
        ["size", "'an hour'", "'1 hour'"],
    ),
    ("empty duration", lambda: {"window": ff.sliding("", "1 minute"), "time": "ts"}, ff.DurationError, ["size", "''"]),
    (
        "unknown unit",
        lambda: {"window": ff.sliding("1 hour", "1 fortnight"), "time": "ts"},
        ff.DurationError,
        ["every", "fortnight", "minutes"],
    ),
    (
        "a month",
        lambda: {"window": ff.sliding("1 month", "1 day"), "time": "ts"},
        ff.DurationError,
        ["size", "'1 month'", "every", "'1 day'", "both in months"],
    ),
    (
        "a year among days",
        lambda: {"window": ff.tumbling("1 year 2 days"), "time": "ts"},
        ff.DurationError,
        ["1 year 2 days", "year"],
    ),
    (
        "less than a tick",
        lambda: {"window": ff.tumbling("0.0000001 seconds"), "time": "ts"},
        ff.DurationError,
        ["size", "microsecond"],
    ),
    (
        "a string for an integer time",
        lambda: {"window": ff.sliding("1 hour", 1)},
        ff.DurationError,
        ["size", "'1 hour'", "'t'", "integer"],
    ),
    (
        "an integer for a timestamp",
        lambda: {"window": ff.sliding("1 hour", 60), "time": "ts"},
        ff.DurationError,
        ["every", "60", "'ts'", "timestamp"],
    ),
    (
        "hours for a date",
        lambda: {"window": ff.tumbling("36 hours"), "time": "day"},
        ff.DurationError,
        ["size", "36 hours", "'day'", "whole days"],
    ),
    (
        "offset that is none",
        lambda: {"window": ff.tumbling("1 day", offset="nine"), "time": "ts"},
        ff.DurationError,
        ["offset", "'nine'"],
    ),
    ("a float as duration", lambda: {"window": ff.tumbling(1.5)}, ff.DurationError, ["size", "1.5"]),
    (
        "closed at both",
        lambda: {"window": ff.sliding(4, 2, closed="both")},
        ff.QueryError,
        ["closed", "'both'", "'left'", "'right'"],
    ),
    (
        "empty of another kind",
        lambda: {"window": ff.sliding(4, 2, empty="fill")},
        ff.QueryError,
        ["empty", "'fill'", "'skip'", "'emit'"],
    ),
    (
        "combine elsewhere",
        lambda: {"options": {"combine": "cluster"}},
        ff.QueryError,
        ["combine", "'cluster'", "'driver'", "'executors'", "'auto'"],
    ),
    (
        "a bound below zero",
        lambda: {"options": {"max_driver_partials": -1}},
        ff.QueryError,
        ["max_driver_partials", "-1"],
    ),
    (
        "an unknown option",
        lambda: {"options": {"combin": "driver"}},
        ff.QueryError,
        ["'combin'", "did you mean 'combine'?"],
    ),
    (
        "null_time of another kind",
        lambda: {"null_time": "ignore"},
        ff.QueryError,
        ["null_time", "'ignore'", "'error'", "'drop'"],
    ),
    ("a window that is none", lambda: {"window": "1 hour"}, ff.QueryError, ["window", "'1 hour'", "ff.sliding"]),
    ("no outputs", lambda: {"outputs": {}}, ff.QueryError, ["no outputs", "ff.Count()"]),
    ("an output that is a string", lambda: {"outputs": {"x": "sum"}}, ff.QueryError, ["'x'", "'sum'", "operation"]),
    (
        "an output that is a class",
        lambda: {"outputs": {"x": ff.Count}},
        ff.QueryError,
        ["'x'", "Count", "operation", "ff.Count(...)"],
    ),
    (
        "an output that hides a key",
        lambda: {"outputs": {"driver": ff.Count()}},
        ff.QueryError,
        ["'driver'", "hide", "key"],
    ),
    (
        "an output that hides the window",
        lambda: {"outputs": {"window": ff.Count()}},
        ff.QueryError,
        ["'window'", "hide"],
    ),
    ("a column that is no name", lambda: {"outputs": {"x": ff.Sum(3)}}, ff.QueryError, ["Sum", "3", "name"]),
    ("a ddof below zero", lambda: {"outputs": {"x": ff.Variance("speed", ddof=-1)}}, ff.QueryError, ["ddof", "-1"]),
    ("no combine", lambda: {"outputs": {"x": NoCombine("n")}}, ff.OperationError, ["NoCombine('n')", "'x'", "combine"]),
    (
        "no combine in Python",
        lambda: {"outputs": {"x": PythonNoCombine("n")}},
        ff.OperationError,
        ["PythonNoCombine('n')", "combine"],
    ),
    (
        "two columns for one",
        lambda: {"outputs": {"x": PythonNoCombine("n", "t")}},
        ff.OperationError,
        ["PythonNoCombine('n', 't')"],
    ),
]

# What only the call of a user's function shows. The trial before a job may find it; then no event is needed at all.
STATES: list[tuple[str, Callable[[Any], Any], str, list[str]]] = [
    ("too short", lambda frames: {"count": frames.count()[1:]}, "accumulate", ["'count'", "expected"]),
    ("too long", lambda frames: {"count": [1] * (frames.size + 2)}, "accumulate", ["'count'", "expected"]),
    ("a scalar", lambda frames: {"count": 1}, "accumulate", ["'count'"]),
    (
        "another field",
        lambda frames: {"count": frames.count(), "more": frames.count()},
        "accumulate",
        ["undeclared", "'more'", "'count'"],
    ),
    ("no field", lambda frames: {}, "accumulate", ["no field", "'count'"]),
    ("no dict", lambda frames: frames.count(), "accumulate", ["dict"]),
    (
        "floats for integers",
        lambda frames: {"count": frames.count() / 2},
        "accumulate",
        ["'count'", "int64", "float64"],
    ),
    ("strings for integers", lambda frames: {"count": ["a"] * frames.size}, "accumulate", ["'count'", "int64"]),
    ("nothing", lambda frames: None, "accumulate", ["None", "dict"]),
]
