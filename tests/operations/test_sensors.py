"""Counters, states, points between which values hold, bars, samples: each window by its definition."""

from __future__ import annotations

import datetime as dt
import math
import random
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import framefold as ff

MINUTE = 60_000_000  # of microseconds
OUTPUTS = {
    "delta": ff.Delta("n"), "rate": ff.Rate("n"), "on": ff.TimeInState("s", "on"),
    "held": ff.TimeWeightedAverage("x", fill="last"), "line": ff.TimeWeightedAverage("x", fill="linear"),
    "bar": ff.OHLC("x"), "skew": ff.Skewness("x", bias=False), "kurt": ff.Kurtosis("x", bias=False),
}  # fmt: skip
CHOICES = {
    "k": ["a", "b"], "n": [None, *range(8)], "x": [None, 1e16, 0.25, -3.5, 7.0, 2.0], "s": ["on", "off", None],
}  # fmt: skip


def rows() -> list[dict[str, Any]]:
    chance = random.Random(3)
    seconds = sorted(chance.sample(range(3600), 240))
    return [{"t": at * 1_000_000, **{name: chance.choice(of) for name, of in CHOICES.items()}} for at in seconds]


def table(events: list[dict[str, Any]]) -> pa.Table:
    schema = [("t", pa.int64()), ("k", pa.string()), ("n", pa.int64()), ("x", pa.float64()), ("s", pa.string())]
    made = pa.Table.from_pylist(events, pa.schema(schema))
    return made.set_column(0, "t", made["t"].cast(pa.timestamp("us", "UTC")))


def by_definition(events: list[dict[str, Any]], start: int) -> dict[str, Any]:
    """The outputs over the events of one window, in exact arithmetic."""

    def known(name: str) -> list[tuple[int, Any]]:
        return [(each["t"], each[name]) for each in events if each[name] is not None]

    counts, points = known("n"), known("x")
    delta = sum(b - a if b >= a else b for (_, a), (_, b) in pairwise(counts)) if counts else None
    seconds = Fraction(counts[-1][0] - counts[0][0], 1_000_000) if counts else 0
    on = sum(later - time for (time, value), (later, _) in pairwise(known("s")) if value == "on")
    values = [value for _, value in points]
    held = line = bar = None
    if points:
        time = points[-1][0] - points[0][0]
        steps = [(Fraction(a), Fraction(b), later - now) for (now, a), (later, b) in pairwise(points)]
        held = float(sum(a * step for a, _, step in steps) / time) if time else values[-1]
        line = float(sum((a + b) / 2 * step for a, b, step in steps) / time) if time else values[-1]
        bar = {"open": values[0], "high": max(values), "low": min(values), "close": values[-1]}
    varies = len(set(values)) > 1  # pandas has 0 where all are equal
    skew, kurt = (getattr(pd.Series(values, dtype=float), name)() if varies else None for name in ("skew", "kurt"))
    return {
        "start": start, "delta": delta, "rate": float(delta / seconds) if seconds else None,
        "on": dt.timedelta(microseconds=on), "held": held, "line": line,
        "bar": bar or dict.fromkeys(("open", "high", "low", "close")),
        "skew": skew if varies and len(values) > 2 else None, "kurt": kurt if varies and len(values) > 3 else None,
    }  # fmt: skip


def expected(events: list[dict[str, Any]]) -> dict[tuple[str, int], dict[str, Any]]:
    """By key and start, of windows of twelve minutes at every fourth."""
    found = {}
    for start in range(-8 * MINUTE, 60 * MINUTE, 4 * MINUTE):
        for key in "ab":
            if inside := [row for row in events if row["k"] == key and start <= row["t"] < start + 12 * MINUTE]:
                found[key, start] = by_definition(inside, start)
    return found


def assert_expected(results: pa.Table, events: list[dict[str, Any]]) -> None:
    right = expected(events)
    starts = results["window"].combine_chunks().field("start").cast(pa.timestamp("us")).cast(pa.int64())
    found = results.drop_columns(["window"]).append_column("start", starts).to_pylist()
    assert len(found) == len(right)
    for row in found:
        for name, value in right[row.pop("k"), row["start"]].items():
            loose = 1e-6 if name in ("skew", "kurt") else 1e-12
            wanted = pytest.approx(value, rel=loose, abs=1e-9) if isinstance(value, float) else value
            assert row[name] == wanted, (name, row[name], value)


def query(events: Any) -> Any:
    return ff.events(events, time="t", by="k").window(ff.sliding("12 minutes", every="4 minutes"))


def test_local() -> None:
    events = rows()
    shuffled = random.Random(1).sample(events, len(events))
    assert_expected(query(table(events)).aggregate(**OUTPUTS), events)
    assert_expected(query(table(shuffled)).aggregate(**OUTPUTS), events)


@pytest.mark.parametrize(
    ("type", "result"),
    [(pa.int8(), pa.int64()), (pa.uint64(), pa.uint64()), (pa.float32(), pa.float64()),
     (pa.decimal128(10, 2), pa.float64())],
    ids=str,
)  # fmt: skip
def test_types_of_counters(type: pa.DataType, result: pa.DataType) -> None:
    events = pa.table({"t": [0, 4, 8, 9, 10], "n": pa.array([100, 120, 5, None, 25]).cast(pa.float64()).cast(type)})
    found = ff.events(events, time="t").window(ff.tumbling(20)).aggregate(d=ff.Delta("n"), r=ff.Rate("n"))
    assert found.schema.field("d").type == result
    assert found.select(["d", "r"]).to_pylist() == [{"d": 45, "r": 4.5}]


def test_large_counters_are_exact() -> None:
    large = 2**64 - 1
    events = pa.table({"t": [0, 1, 2], "n": pa.array([1, large, 7], pa.uint64())})
    query = ff.events(events.slice(0, 2), time="t").window(ff.tumbling(9))
    assert query.aggregate(d=ff.Delta("n"))["d"].to_pylist() == [large - 1]
    with pytest.raises(ff.SumOverflowError, match=r"Delta\('n'\) does not fit uint64 in some window"):
        ff.events(events, time="t").window(ff.tumbling(9)).aggregate(d=ff.Delta("n"))


def test_kinds_of_times() -> None:
    days = pa.table({"t": [dt.date(2026, 1, 1), dt.date(2026, 1, 3)], "n": [0, 172_800], "s": [5, 6]})
    of = {"r": ff.Rate("n"), "in": ff.TimeInState("s", 5)}
    found = ff.events(days, time="t").window(ff.tumbling("7 days")).aggregate(**of)
    assert found.select(["r", "in"]).to_pylist() == [{"r": 1.0, "in": 2}]
    numbers = days.set_column(0, "t", pa.array([10, 14]))
    found = ff.events(numbers, time="t").window(ff.tumbling(20)).aggregate(**of)
    assert found.select(["r", "in"]).to_pylist() == [{"r": 43_200.0, "in": 4}]


def test_ties_and_values_that_are_not_finite() -> None:
    events = pa.table({"t": [0, 0, 5, 5, 10], "x": [1.0, math.inf, 2.0, 4.0, 9.0]})
    windows = ff.events(events.slice(2), time="t").window(ff.tumbling(20))
    both = {"held": ff.TimeWeightedAverage("x", fill="last"), "line": ff.TimeWeightedAverage("x", fill="linear")}
    assert windows.aggregate(**both).select(list(both)).to_pylist() == [{"held": 4.0, "line": 6.5}]
    windows = ff.events(events, time="t").window(ff.tumbling(20))
    assert windows.aggregate(**both).select(list(both)).to_pylist() == [{"held": math.inf, "line": math.inf}]
    events = pa.table({"t": [0, 1, 2], "x": [1.0, math.nan, 2.0]})
    found = ff.events(events, time="t").window(ff.tumbling(9)).aggregate(d=ff.Delta("x"), h=both["held"])
    assert all(map(math.isnan, (found["d"][0].as_py(), found["h"][0].as_py())))


def test_mistakes_are_said() -> None:
    with pytest.raises(ff.QueryError, match=r"fill= of .* is 'next'; expected 'last', 'linear' or None"):
        ff.TimeWeightedAverage("x", fill="next")
    with pytest.raises(ff.QueryError, match=r"bias= of Skewness\('x'\) is 0; expected True or False"):
        ff.Skewness("x", bias=0)
    for operation, said in [
        (ff.TimeInState("s", 7), r"TimeInState\('s', 7\) needs a value of the column; 's'"),
        (ff.TimeInState("s", None), "found None"),
        (ff.Delta("s"), r"Delta\('s'\) needs a column of numbers .* is string"),
        (ff.Rate("s"), r"Rate\('s'\) needs a column of numbers .* is string"),
        (ff.TimeWeightedAverage("x"), r"until=.* or fill='last' for values that hold"),
    ]:
        with pytest.raises((ff.QueryError, ff.ColumnError), match=said):
            query(table(rows())).aggregate(a=operation)
