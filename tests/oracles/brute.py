"""Random windows of columns of all types by every way of getting to a result, against brute force on their rows."""

from __future__ import annotations

import datetime
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import framefold as ff

from ..support import stages
from ..support.loops import without_loops
from ..support.plans import Operation, Plan
from ..support.stages import one_array, over_ranges, slide, states_of
from .ways import by_window, every_way, rows_of_windows

Row = tuple[Any, ...]
"""The values of the operation's columns in one event; those of a window are in the order of time, then of input."""

Right = Callable[[list[Row]], Any]
WINDOWS = [(1, 1), (5, 2), (24, 3), (3, 8)]
DAY = datetime.date(2024, 2, 28)
NOON = datetime.datetime(2024, 2, 28, 12, tzinfo=datetime.UTC)

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int64": (pa.int64(), [-(2**63), 2**63 - 1, 0, 1, -1, 5]),
    "uint64": (pa.uint64(), [2**64 - 1, 2**63, 0, 7]),
    "int8": (pa.int8(), [-128, 127, 0, 3, 4]),
    "float64": (pa.float64(), [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -2.5, 5e-324, -5e-324]),
    "float32": (pa.float32(), [math.nan, 0.5, -0.5, math.inf, 2.0]),
    "short decimal": (pa.decimal128(18, 2), [Decimal("-9999999999999999.99"), Decimal("0.01"), Decimal("-0.02")]),
    "long decimal": (pa.decimal128(38, 3), [Decimal(10) ** 30, Decimal("-0.125"), Decimal("7.000")]),
    "string": (pa.string(), ["", "a", "ab", "ä", "\uffff", "😀"]),
    "binary": (pa.binary(), [b"", b"\x00", b"\xff", b"a\x00"]),
    "boolean": (pa.bool_(), [True, False]),
    "date": (pa.date32(), [DAY, DAY + datetime.timedelta(2), datetime.date(1905, 1, 1)]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [NOON, NOON + datetime.timedelta(microseconds=1), NOON.replace(year=1910)],
    ),
    "duration": (pa.duration("us"), [datetime.timedelta(), datetime.timedelta(hours=-1), datetime.timedelta(3)]),
    "time": (pa.time64("us"), [datetime.time(), datetime.time(23, 59, 59, 999_999), datetime.time(7)]),
}
ANY = list(VALUES)
SHARES = [0.0, 0.07, 0.25, 0.5, 0.9, 1.0]
NUMBERS = ["int64", "uint64", "int8", "float64", "float32", "short decimal", "long decimal"]


def ordered(value: Any) -> Any:
    """What values sort by: NaN is above all others."""
    return (True, 0) if isinstance(value, float) and math.isnan(value) else (False, value)


def column(kind: str, length: int = 220, seed: int = 0, nulls: float = 0.125) -> pa.Array:
    """A column of a kind of VALUES with many ties, one in eight null."""
    type, values = VALUES[kind]
    draw = random.Random(f"{kind} {seed}")
    return pa.array([None if draw.random() < nulls else draw.choice(values) for _ in range(length)], type)


def table_of(**columns: pa.Array) -> pa.Table:
    """Events of two keys at random times, three or four of them at each."""
    length = len(next(iter(columns.values())))
    rng = np.random.default_rng(length)
    return pa.table({"t": rng.integers(0, 60, length), "key": rng.integers(0, 2, length), **columns})


def same(got: Any, right: Any) -> bool:
    """Whether results are equal and of one type; NaN equals NaN."""
    if isinstance(right, (list, tuple)):
        return type(got) is type(right) and len(got) == len(right) and all(map(same, got, right))
    if isinstance(right, dict):
        return isinstance(got, dict) and got.keys() == right.keys() and all(same(got[k], right[k]) for k in right)
    return type(got) is type(right) and (got == right or (got != got and right != right))


def close(got: Any, right: Any) -> bool:
    """Whether floats are equal up to rounding; all else as ``same`` has it."""
    if isinstance(right, list) and isinstance(got, list):
        return len(got) == len(right) and all(map(close, got, right))
    if isinstance(got, float) and isinstance(right, float) and math.isfinite(right):
        return math.isclose(got, right, rel_tol=1e-12, abs_tol=1e-300)
    return same(got, right)


def expected(table: pa.Table, columns: Sequence[str], size: int, every: int, right: Right) -> dict[Any, Any]:
    """The right results by key and start of window."""
    return {window: right(rows) for window, rows in rows_of_windows(table, "key", columns, size, every).items()}


def query_of(table: pa.Table, operation: Operation, window: Any) -> Plan:
    """The query for one operation, to take it through its stages."""
    return ff.events(table, time="t", by="key").window(window)._query({"x": operation})[1]


def assert_right(
    operation: Operation,
    table: pa.Table,
    right: Right,
    agree: Callable[[Any, Any], bool] = same,
    windows: Sequence[tuple[int, int]] = WINDOWS,
) -> None:
    """The local engine, both ways of sliding and batches merged in any order agree with brute force."""
    for size, every in windows:
        known = expected(table, operation.columns, size, every, right)
        for _, result in every_way(operation, table, "key", size, every):
            compare(result, known, agree)
        query = query_of(table, operation, ff.sliding(size, every=every, gaps="allow"))
        assert_over_ranges(query, stages.accumulate(query, table, 0), agree)


def assert_over_ranges(query: Plan, partials: pa.Table, agree: Callable[[Any, Any], bool]) -> None:
    """Ranges of values, in any order and nested, by compiled loops and by numpy alone, are as their states combined."""
    bound = query.outputs["x"]
    if not bound.answers_ranges:
        return
    merged = stages.merge(query, partials)
    states, rng = states_of(query, merged, "x"), np.random.default_rng(len(merged))
    ends = np.sort(rng.integers(0, len(merged) + 1, (2, 60)), axis=1)  # both ends ascend; some ranges are empty
    forward = np.minimum(ends[0], ends[1]), np.maximum(ends[0], ends[1])
    start = np.searchsorted(one_array(merged.column("key")).to_numpy(), [0, 1])
    nested = rng.integers(0, len(merged), 60)
    nested = nested, np.minimum(nested + rng.integers(0, 12, 60), np.where(nested < start[1], start[1], len(merged)))
    for low, high in (forward, nested):
        if query.outputs["x"].spec.in_order and low is forward[0]:
            continue  # such ranges are of two keys, whose events are not in order
        right = bound.finish(slide(bound, states, low, high, "two-stacks")).to_pylist()
        assert all(map(agree, over_ranges(bound, states, low, high).to_pylist(), right))
        with without_loops():
            assert all(map(agree, over_ranges(bound, states, low, high).to_pylist(), right))


def compare(results: pa.Table, known: dict[Any, Any], agree: Callable[[Any, Any], bool]) -> None:
    """Results have the right windows, each with the right value."""
    found = by_window(results, "key")
    assert found.keys() == known.keys()
    for window, right in known.items():
        assert agree(found[window], right), (window, found[window], right)


def known(rows: list[Row]) -> list[Any]:
    return [value for (value,) in rows if value is not None]


def counted(values: list[Any]) -> Counter[Any]:
    """How often each value occurs; NaN is one value."""
    return Counter(math.nan if value != value else value for value in values)


def mode(values: list[Any]) -> Any:
    counts = counted(values)
    return min(counts, key=lambda value: (-counts[value], ordered(value)), default=None)


def discrete(values: list[Any], share: float) -> Any:
    rank = max(math.ceil(Fraction(str(share)) * len(values)) - 1, 0)
    return sorted(values, key=ordered)[rank] if values else None


OF_VALUES: dict[Any, Callable[[list[Any]], Any]] = {
    ff.Min("x"): lambda values: min(values, key=ordered, default=None),
    ff.Max("x"): lambda values: max(values, key=ordered, default=None),
    ff.First("x"): lambda values: next(iter(values), None),
    ff.Last("x"): lambda values: next(reversed(values), None),
    ff.FirstN("x", 3): lambda values: values[:3],
    ff.LastN("x", 3): lambda values: values[-3:],
    ff.TopN("x", 3): lambda values: sorted(values, key=ordered, reverse=True)[:3],
    ff.BottomN("x", 3): lambda values: sorted(values, key=ordered)[:3],
    ff.CollectList("x"): list,
    ff.CollectSet("x"): lambda values: sorted(counted(values), key=ordered),
    ff.CountDistinct("x"): lambda values: len(counted(values)),
    ff.Mode("x"): mode,
    ff.Histogram("x"): lambda values: sorted(counted(values).items(), key=lambda item: ordered(item[0])),
    ff.Quantile("x", 0.5, method="discrete"): lambda values: discrete(values, 0.5),
    ff.Quantile("x", SHARES, method="discrete"): lambda values: (
        [discrete(values, q) for q in SHARES] if values else None
    ),
}
"""Operations on a column of any type, and what they are of its values in a window, in order of time."""
