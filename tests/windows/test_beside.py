"""Results do not depend on what is beside a window: other keys, windows, batches, the order of rows."""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..oracles.exact import about_mean, in_units

BESIDE = [9.97e36, 1e20, 1e30, 1e200, -1e300, 1e16, math.inf, math.nan]
OPERATIONS: dict[str, Any] = {
    "sum": ff.Sum("x"), "average": ff.Average("x"), "distinct": ff.DistinctSum("x"),
    "weighted": ff.WeightedAverage("x", "w"), "variance": ff.Variance("x"), "deviation": ff.StdDev("x"),
    "skewness": ff.Skewness("x"), "covariance": ff.Covariance("x", "w"), "ewma": ff.Ewma("x", 7),
    "rms": ff.RootMeanSquare("x"), "product": ff.Product("x"),
}  # fmt: skip
ROUNDED = {"skewness": 1e-12, "covariance": 1e-12, "ewma": 1e-12, "product": 1e-12, "rms": 1e-14}
"""Operations that round at every combine, and how far they may be off."""


def close(found: float, exact: Fraction, share: float) -> bool:
    return abs(Fraction(found) - exact) <= abs(exact) * Fraction(share)


@pytest.mark.parametrize("windows", [ff.sliding(7, every=3), ff.around(time=(-5, 0)), ff.last_rows(9)], ids=str)
def test_keys_of_ordinary_values_beside_those_of_far_greater_ones(windows: Any) -> None:
    """The results are those of the keys alone."""
    of = np.random.default_rng(8)
    for scale in (1, 1e-3, 1e6):
        x, k = np.round((of.normal(size=300) + 5) * scale, 3), of.integers(0, 4, 300)
        odd = of.integers(0, 300, 3)
        k[odd], x[odd] = 4, of.choice(BESIDE, 3)
        table = pa.table({"t": of.integers(0, 100, 300), "k": k, "x": x, "w": np.abs(of.normal(size=300)) + 0.1})
        both, alone = (
            ff.events(events, time="t", by="k").window(windows).aggregate(**OPERATIONS)
            for events in (table, table.filter(pc.field("k") < 4))
        )
        for other, row in zip(both.filter(pc.field("k") < 4).to_pylist(), alone.to_pylist(), strict=True):
            for name in OPERATIONS:
                near = pytest.approx(row[name] or 0.0, rel=ROUNDED.get(name, 2.0**-52), nan_ok=True)
                assert (other[name] is None) == (row[name] is None), name
                assert other[name] is None or other[name] == near, name


@cache
def far_apart() -> pa.Table:
    """Keys of which most cancels, and two with values far greater than all others."""
    of = np.random.default_rng(3)
    rows = 2000
    x = np.round(of.normal(5, 3, rows), 1)
    x[::50], x[25::50] = 1e16, -1e16
    k = of.integers(0, 20, rows)
    k[[7, 1007]], x[[7, 1007]] = 99, [1e40, 1e200]
    t = pa.array(of.integers(0, 50, rows) * 1_000_000, pa.timestamp("us", "UTC"))
    return pa.table({"t": t, "k": k, "x": x, "place": np.arange(rows)}).take(of.permutation(rows))


def sums_of(events: Any, **options: Any) -> list[dict[str, Any]]:
    query = ff.events(events, time="t", by="k").options(**options).window(ff.sliding("5 seconds", every="1 second"))
    result = query.aggregate(x=ff.Sum("x"), mean=ff.Average("x"), variance=ff.Variance("x"), n=ff.Count())
    table: pa.Table = result if isinstance(result, pa.Table) else result.toArrow()
    return table.to_pylist()


@cache
def defined() -> dict[tuple[int, int], list[float]]:
    """The values of windows, by key and start in seconds."""
    own = defaultdict[tuple[int, int], list[float]](list)
    for each in far_apart().to_pylist():
        second = int(each["t"].timestamp())
        for start in range(second - 4, second + 1):
            own[each["k"], start].append(each["x"])
    return own


def require(rows: list[dict[str, Any]]) -> None:
    assert len(rows) == len(defined()) > 900
    for row in rows:
        xs = defined()[row["k"], int(row["window"]["start"].replace(tzinfo=dt.UTC).timestamp())]
        (whole, unit), (away, one) = in_units(xs), about_mean(xs)
        total, mean = float(sum(whole) * unit), float(sum(whole) * unit / len(xs))
        # Frames may be put together of portions, as pairs of floats: the last bit of what is left of 1e16 may differ.
        assert abs(row["x"] - total) <= math.ulp(total)
        assert abs(row["mean"] - mean) <= 2 * math.ulp(mean)
        if len(xs) > 1 and row["k"] != 99:
            assert close(row["variance"], sum(each * each for each in away) * one**2 / (len(xs) - 1), 2.0**-51)


def test_locally_in_any_order_and_in_many_batches(tmp_path: Path) -> None:
    table = far_apart()
    rows = sums_of(table.combine_chunks())
    require(rows)
    for number in range(4):
        pq.write_table(table[500 * number : 500 * number + 500], tmp_path / f"{number}.parquet", row_group_size=100)
    require(sums_of(ff.parquet(str(tmp_path))))
    batches = pa.Table.from_batches(table.sort_by("place").to_batches(max_chunksize=7))
    assert [row["x"] for row in sums_of(batches)] == [row["x"] for row in rows]


def test_on_spark(spark: Any, tmp_path: Path) -> None:
    table = far_apart()
    events = spark.createDataFrame(table).repartition(3)
    for accumulate in ("spark", "python"):
        require(sums_of(events, accumulate=accumulate))
    for number in range(4):
        pq.write_table(table[500 * number : 500 * number + 500], tmp_path / f"{number}.parquet")
    require(sums_of(ff.parquet(str(tmp_path), spark=spark)))
