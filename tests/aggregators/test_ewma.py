"""Ewma against its definition in exact fractions of each window's own values."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.brute import WINDOWS, compare, expected
from ..oracles.ways import every_way
from ..support.windows import TimeColumn

HALF_LIFE = 3


def weighted(rows: list[Any]) -> float | None:
    """The definition; weights are exact powers of two only where times are whole half lives apart."""
    known = [(time, float(value)) for time, value in rows if value is not None]
    if not known:
        return None
    if not all(math.isfinite(value) for _, value in known):
        return sum(value for _, value in known if not math.isfinite(value))
    last = known[-1][0]
    weights = [Fraction(0.5 ** ((last - time) / HALF_LIFE)) for time, _ in known]
    return float(sum(w * Fraction(value) for w, (_, value) in zip(weights, known, strict=True)) / sum(weights))


def near(scale: float) -> Callable[[Any, Any], bool]:
    def agree(got: Any, right: Any) -> bool:
        if got is None or right is None or math.isnan(right):
            return got is right or (got is not None and math.isnan(got))
        return got == right or math.isclose(got, right, rel_tol=1e-13, abs_tol=scale)

    return agree


STREAMS = {
    "normal": ([0.1, 2.5, -3.75, 8.0], 1e-14),
    "near": ([1e9 + k / 1000 for k in (0, 1, 2, 5)], 1e-6),
    "rare": ([1.0, 2.0, 3.0, 1.0, 2.5, 4.0, math.inf, -math.inf, math.nan], 1e-14),
    "extreme": ([1.7e308, -1.7e308, 1.0, 5e-324], 1e294),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_every_way(stream: str) -> None:
    values, scale = STREAMS[stream]
    rng = np.random.default_rng(4)
    times = rng.integers(0, 60, 220)
    x = pa.array([None if rng.random() < 0.1 else values[rng.integers(len(values))] for _ in times])
    table = pa.table({"t": times, "key": rng.integers(0, 2, 220), "x": x, "at": times})
    for size, every in WINDOWS:
        right = expected(table, ["at", "x"], size, every, weighted)
        for _, result in every_way(ff.Ewma("x", HALF_LIFE), table, "key", size, every):
            compare(result, right, near(scale))
    ff.check_laws(ff.Ewma("x", HALF_LIFE), pa.table({"x": x}), examples=8)


def test_rows_of_a_landmark(way: str) -> None:
    rng = np.random.default_rng(3)
    t, x = np.cumsum(rng.integers(0, 9, 200)), rng.normal(1e6, 1.0, 200)
    table = pa.table({"t": t, "k": np.arange(200) % 3, "x": pa.array(x, mask=rng.random(200) < 0.3)})
    found = ff.events(table, time="t", by="k").window(ff.landmark()).with_columns(m=ff.Ewma("x", HALF_LIFE))
    rows = table.to_pylist()
    for at, got in enumerate(found["m"].to_pylist()):
        right = weighted([(row["t"], row["x"]) for row in rows[at % 3 : at + 1 : 3]])
        assert got == right or math.isclose(got, right, rel_tol=1e-14)


def test_large_values_that_weigh_nothing_leave_nothing() -> None:
    """1e16 and 1e300 far in the past; and over long gaps weights are no floats any more, but zero."""

    def found(times: list[int], x: list[float], window: Any) -> list[Any]:
        query = ff.events(pa.table({"t": times, "x": x}), time="t").window(window)
        return query.aggregate(x=ff.Ewma("x", 1))["x"].to_pylist()

    times, x = [0, 1, *range(200, 260)], [1e16, -1e300, *[1.0] * 60]
    weights = [Fraction(1, 2 ** (259 - time)) for time in times]
    right = sum(w * Fraction(value) for w, value in zip(weights, x, strict=True)) / sum(weights)
    assert math.isclose(found(times, x, ff.tumbling(300))[0], float(right), rel_tol=1e-14)
    assert found(times, x, ff.sliding(100, every=10))[-10:] == [1.0] * 10
    assert found([0, 10**15, 10**15 + 1], [5.0, 3.0, 0.0], ff.tumbling(2 * 10**15)) == [1.0]


def test_half_lives() -> None:
    minute = datetime.timedelta(minutes=1)
    noon = datetime.datetime(2024, 1, 1, 12)
    table = pa.table({"t": [noon, noon + minute], "x": pa.array([3, 0])})
    query = ff.events(table, time="t").window(ff.tumbling("1 hour"))
    for half_life in ("1 minute", "60 seconds", minute):
        assert query.aggregate(x=ff.Ewma("x", half_life))["x"].to_pylist() == [1.0]


def test_half_lives_of_a_time_column() -> None:
    """A date counts in days."""
    bound = ff.Ewma("x", "2 days").at_times(TimeColumn("t", pa.date32()).duration)
    assert bound.ticks == 2
