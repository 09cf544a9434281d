"""What a case of `vectors/` is, whichever file it comes from: events, windows, an aggregate, and what is right."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import framefold as ff

HERE = Path(__file__).parent

COLUMNS = pa.schema({
    "t": pa.int64(), "until": pa.int64(), "key": pa.string(),
    "row": pa.int64(),  # its place among the events of a case
    "tick": pa.int64(),  # the time again, as a number
    "v": pa.int64(), "s": pa.string(), "other": pa.string(), "d": pa.decimal128(10, 2), "x": pa.float64(),
    "f": pa.float32(),
})  # fmt: skip
TIMES = [pa.int64(), pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.date32()]
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Clock:
    """Ticks of a case as durations and times of a column: numbers, seconds of timestamps, or days of dates."""

    time: pa.DataType

    def span(self, count: int) -> Any:
        """The duration of a number of ticks."""
        if pa.types.is_integer(self.time):
            return count
        return f"{count} {'days' if pa.types.is_date(self.time) else 'seconds'}"

    def at(self, tick: int | None) -> Any:
        """A tick as a time."""
        if tick is None or pa.types.is_integer(self.time):
            return tick
        if pa.types.is_date(self.time):
            return EPOCH.date() + dt.timedelta(days=tick)
        moment = EPOCH + dt.timedelta(seconds=tick)
        return moment if self.time.tz else moment.replace(tzinfo=None)

    def column(self, ticks: Iterable[int | None]) -> pa.Array:
        """Ticks as a column."""
        return pa.array([self.at(tick) for tick in ticks], self.time)


class Result(NamedTuple):
    """A row of a result, its times as ticks; `at` is None where windows have no stamp."""

    start: int
    end: int
    at: int | None
    key: str | None
    value: Any


@dataclass(frozen=True)
class Case:
    """One case: what it asks of which events, and what is right.

    `kind` says which cases share one query on Spark; `operation` is the name of one of OPERATIONS; `read` makes of the
    rows of a result what `expected` says of them.
    """

    id: str
    kind: str
    windows: Callable[[Clock], Any]
    events: Sequence[dict[str, Any]]
    operation: str
    read: Callable[[list[Result]], Any]
    expected: Any


@cache
def load(name: str) -> list[dict[str, Any]]:
    """The cases of one file of vectors."""
    content = json.loads((HERE / name).read_text())
    return content if isinstance(content, list) else content["vectors"]


def semantics(operation: str) -> list[dict[str, Any]]:
    """The cases of semantics.json with one `op`, of which there must be some."""
    found = [vector for vector in load("semantics.json") if vector["op"] == operation]
    assert found, operation
    return found


def vector(name: str, file: str = "semantics.json") -> dict[str, Any]:
    """The case with an id."""
    [found] = [each for each in load(file) if each["id"] == name]
    return found


def event(t: int, key: str | None = "*", value: Any = None, **more: Any) -> dict[str, Any]:
    """An event with its value in the column of its type; numbers are also in `x`."""
    if isinstance(value, str):
        return {"t": t, "key": key, "s": value, **more}
    whole = isinstance(value, int)
    return {"t": t, "key": key, "v": value if whole else None, "x": None if value is None else float(value), **more}


def points(rows: Iterable[dict[str, Any]], scale: int = 1) -> list[dict[str, Any]]:
    """Events as semantics.json writes them; `scale` makes fractions of time units whole ticks."""
    return [event(round(row["t"] * scale), row.get("key", "*"), row.get("v")) for row in rows]


def intervals(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events with an end."""
    return [event(row["t"], "*", row["v"], until=row["end"]) for row in rows]


def table(events: Sequence[dict[str, Any]], time: pa.DataType | None = None) -> pa.Table:
    """Events as an Arrow table with the columns of COLUMNS, their times of a type."""
    numbered = [{**row, "row": number, "tick": row["t"]} for number, row in enumerate(events)]
    rows = pa.Table.from_pylist([{name: row.get(name) for name in COLUMNS.names} for row in numbered], COLUMNS)
    clock = Clock(time or pa.int64())
    for place, name in enumerate(("t", "until")):
        rows = rows.set_column(place, name, clock.column(row.get(name) for row in events))
    return rows


# --- aggregates ---------------------------------------------------------------------------------------------------


def difference(of: dict[str, Any]) -> pa.Array:
    """What is in one multiset more often than in another, and how much more often (R64)."""
    both = zip(*(of[name].to_pylist() for name in ("one", "two")), strict=True)
    left = [Counter(dict(one)) - Counter(dict(two)) for one, two in both]
    return pa.array([sorted(each.items()) for each in left], pa.map_(pa.string(), pa.int64()))


OPERATIONS: dict[str, ff.AggregateOperation] = {
    "count": ff.Count(), "count_v": ff.Count("v"), "count_s": ff.Count("s"), "sum": ff.Sum("v"),
    "sum_or_0": ff.Sum("v", empty=0), "min": ff.Min("v"), "max": ff.Max("v"), "avg": ff.Average("v"),
    "std": ff.StdDev("x"),
    # psi lets one NaN spoil a minimum (R47); here NaN is above every other value, so that the maximum shows it
    "min_or_nan": ff.AllOf(low=ff.Min("x"),
        high=ff.Max("x")).then(lambda of: np.where(np.isnan(of["high"]), of["high"], of["low"])),
    "percentile": ff.Quantile("v", 0.6), "slope": ff.LinearTrend("tick", "v"), "list": ff.CollectList("v"),
    "list_s": ff.CollectList("s"), "list_x": ff.CollectList("x"), "ticks": ff.CollectList("tick"),
    "set": ff.CollectSet("s"), "warm": ff.Filtered(ff.CollectList("tick"), lambda tick, v: v >= 30, "tick", "v"),
    "even": ff.Filtered(ff.CollectList("v"), lambda v: v % 2 == 0),
    "multi": ff.AllOf(rows=ff.Count(), sum=ff.Sum("d"), max=ff.Max("x"), min=ff.Min("f"),
        strings=ff.CountDistinct("s")),
    "count_avg": ff.AllOf(rows=ff.Count(), mean=ff.Average("v")),
    "aged": ff.AllOf(values=ff.CollectList("s"), ticks=ff.CollectList("tick")),
    "groups": ff.AllOf(max=ff.GroupedBy(ff.Max("v"), "s"), rows=ff.Count(), groups=ff.CountDistinct("s")),
    "group_sums": ff.AllOf(sum=ff.Sum("v"), count=ff.Count(), max=ff.Max("v")),
    "latest": ff.GroupedBy(ff.Last("tick"), "s"),
    "rest_by_hundred": ff.GroupedBy(ff.AllOf(n=ff.Count(), rest=ff.Mapped(ff.Sum("v"), lambda v: v % 100)), "s"),
    "where": ff.AllOf(all=ff.Count(), high=ff.Filtered(ff.Count(), lambda v: v >= 30, "v"),
        middle=ff.Filtered(ff.Count(), lambda v: (v >= 30) & (v <= 40),
        "v")).then(lambda of: 100 * of["all"] + 10 * of["high"] + of["middle"]),
    "covered": ff.Covered(),
    "difference": ff.AllOf(one=ff.GroupedBy(ff.Count(), "s"), two=ff.GroupedBy(ff.Count(), "other")).then(difference,
        result=pa.map_(pa.string(), pa.int64())),
}  # fmt: skip


# --- ways of reading a result ----------------------------------------------------------------------------------------


def windows(rows: list[Result]) -> list[Any]:
    """Start, end, key and value of each window."""
    return sorted(((row.start, row.end, row.key, row.value) for row in rows), key=str)


def stamped(rows: list[Result]) -> list[Any]:
    """The time of each result and its value."""
    return [(row.at, row.value) for row in rows]


def values(rows: list[Result]) -> list[Any]:
    """The values alone."""
    return [row.value for row in rows]


def plain(value: Any) -> Any:
    """A value as cases write it: structs as lists of their fields, maps as dicts, durations in ticks."""
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(seconds=1)
    if isinstance(value, dict):
        return [plain(each) for each in value.values()]
    if isinstance(value, list):
        if value and all(isinstance(each, tuple) for each in value):
            return {key: plain(each) for key, each in value}
        return [plain(each) for each in value]
    return value


def equal(got: Any, right: Any) -> bool:
    """Equal, NaN to NaN, floats up to a few units in the last place."""
    if isinstance(got, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(got) == len(right) and all(map(equal, got, right))
    if isinstance(got, dict) and isinstance(right, dict):
        return got.keys() == right.keys() and all(equal(got[key], right[key]) for key in right)
    if isinstance(right, (float, Decimal)) and isinstance(got, (int, float, Decimal)):
        got, right = float(got), float(right)
        return math.isclose(got, right, rel_tol=1e-14) or (math.isnan(got) and math.isnan(right))
    return bool(got == right) and isinstance(got, bool) == isinstance(right, bool)
