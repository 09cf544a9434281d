"""There is one zero and one NaN for whatever compares values, however they lie and whoever compares them."""

from __future__ import annotations

import itertools
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

NEGATIVE_NAN: float = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
PICKS: dict[str, Any] = {
    "min": ff.Min("x"), "max": ff.Max("x"), "range": ff.Range("x"), "mode": ff.Mode("x"), "median": ff.Median("x"),
    "discrete": ff.Quantile("x", 0.5, method="discrete"), "top": ff.TopN("x", 3), "bottom": ff.BottomN("x", 3),
    "distinct": ff.CountDistinct("x"), "set": ff.CollectSet("x"), "sum_of_distinct": ff.DistinctSum("x"),
    "counts": ff.Histogram("x"), "reduced": ff.Reducing("x", math.inf, np.minimum), "by": ff.GroupedBy(ff.Count(), "x"),
    "nested": ff.ElementWise(ff.Max("xs")), "mapped": ff.Filtered(ff.Min("x"), "flag"),
    "arg_min": ff.ArgMin("place", "x"), "arg_max": ff.ArgMax("place", "x"),
}  # fmt: skip


def events(values: list[float], type: pa.DataType | None = None) -> pa.Table:
    type = type or pa.float64()
    column = pa.array(np.array(values, np.float64)).cast(type)
    lists = pa.ListArray.from_arrays(np.arange(len(values) + 1, dtype=np.int32), column)
    rows = range(len(values))
    return pa.table({"t": list(rows), "x": column, "xs": lists, "flag": [True] * len(rows), "place": list(rows)})


def bits(value: Any) -> Any:
    """A result with the bits of its floats, so that zeros and NaN differ by theirs."""
    if isinstance(value, dict):
        return {name: bits(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [bits(each) for each in value]
    return struct.pack("<d", value).hex() if isinstance(value, (float, np.floating)) else value


def expected(values: list[float]) -> dict[str, Any]:
    """By definition: NaN above all others, 0.0 for each zero."""
    plain = [math.nan if math.isnan(x) else x + 0.0 for x in values]
    key = [(math.isnan(x), 0.0 if math.isnan(x) else x) for x in plain]
    order = [plain[i] for i in sorted(range(len(plain)), key=lambda i: key[i])]
    distinct = [x for i, x in enumerate(order) if not i or bits(x) != bits(order[i - 1])]
    counts = [(x, sum(bits(x) == bits(y) for y in order)) for x in distinct]
    return {
        "min": order[0], "max": order[-1], "mode": max(counts, key=lambda each: each[1])[0],
        "discrete": order[max(math.ceil(len(order) / 2) - 1, 0)], "top": order[::-1][:3], "bottom": order[:3],
        "distinct": len(distinct), "set": distinct, "counts": counts, "by": counts, "nested": [order[-1]],
        "mapped": order[0], "arg_min": key.index(min(key)), "arg_max": key.index(max(key)),
    }  # fmt: skip


@pytest.mark.parametrize("type", [pa.float64(), pa.float32(), pa.float16()])
def test_all_orders_of_zeros_and_nans(way: str, type: pa.DataType) -> None:
    orders = [
        *itertools.product([0.0, -0.0], repeat=3),
        *itertools.permutations([-0.0, 0.0, math.nan, NEGATIVE_NAN]),
        *itertools.permutations([-0.0, 0.0, -1.0]),
    ]
    tables = [events(list(order), type) for order in orders]
    table = pa.concat_tables(
        each.append_column("case", pa.array([case] * len(each))) for case, each in enumerate(tables)
    )
    given = {"lists": ff.CollectList("x"), "places": ff.CollectList("place")}
    for every in (1, 2):
        query = ff.events(table, time="t", by="case").window(ff.sliding(4, every=every))
        for row in query.aggregate(**PICKS, **given).to_pylist():
            values = row["lists"]
            wanted = expected(values)
            for name in ("arg_min", "arg_max"):
                wanted[name] = row["places"][wanted[name]]
            for name, value in wanted.items():
                assert bits(row[name]) == bits(value), (name, values)
            if not any(map(math.isnan, values)):
                assert bits(row["range"]) == bits(max(values) - min(values) + 0.0)
                assert bits(row["median"]) == bits(row["median"] + 0.0)
                assert bits(row["reduced"]) == bits(wanted["min"])


def test_a_batch_or_many_and_any_windows(way: str) -> None:
    """In every layout the same: -0.0 first or last, in frames of one row or of several."""
    of = np.random.default_rng(2)
    values = of.choice([0.0, -0.0, 1.0, -1.0, math.nan], 300, p=[0.4, 0.4, 0.08, 0.08, 0.04]).tolist()
    table = events(values)
    windows: list[Any] = [ff.sliding(7, every=3), ff.around(rows=(-3, 2)), ff.last_rows(5), ff.around(time=(-4, 4))]
    for each in windows:
        tables = [table, pa.Table.from_batches(table.to_batches(max_chunksize=11)), table.take(of.permutation(300))]
        windows_of = (ff.events(rows, time="t").window(each) for rows in tables)
        wanted, *others = (bits(rows.aggregate(**PICKS).to_pylist()) for rows in windows_of)
        assert all(other == wanted for other in others)


def test_on_spark(spark: Any, tmp_path: Path) -> None:
    """Spark SQL, tasks in mapInArrow, tasks that read files, executors, all as the local engine."""
    of = np.random.default_rng(2)
    x = pa.array(of.choice([0.0, -0.0, 1.0, math.nan, NEGATIVE_NAN], 400, p=[0.45, 0.45, 0.04, 0.03, 0.03]))
    times = pa.array(of.integers(0, 40, 400) * 1_000_000, pa.timestamp("us", "UTC"))
    table = pa.table({"t": times, "x": x, "k": of.choice([0.0, -0.0], 400), "g": x.cast(pa.float32())})
    names = ("min", "max", "range", "mode", "top", "set", "distinct", "median", "by")
    picks = {name: PICKS[name] for name in names} | {"low": ff.Min("g"), "high": ff.Max("g")}

    def found(events: Any, picks: dict[str, Any] = picks, **options: Any) -> Any:
        query = ff.events(events, time="t", by="k").options(**options).window(ff.sliding("3 seconds", every="1 second"))
        result = query.aggregate(**picks)
        made: pa.Table = result if isinstance(result, pa.Table) else result.toArrow()
        return bits([{name: row[name] for name in ("k", *picks)} for row in made.to_pylist()])

    wanted = found(table)
    zeros, nans = bits([0.0, math.nan])
    assert {row["k"] for row in wanted} == {zeros}
    assert {row["min"] for row in wanted} <= {zeros, nans, bits(1.0)}
    frame = spark.createDataFrame(table).repartition(3)
    assert found(frame) == found(frame, combine="executors") == wanted
    for number in range(3):
        pq.write_table(table[150 * number : 150 * number + 150], tmp_path / f"{number}.parquet")
    assert found(ff.parquet(str(tmp_path), spark=spark)) == wanted
    by_sql = {name: PICKS[name] for name in ("min", "max")}
    assert found(frame, by_sql, accumulate="spark") == found(table, by_sql)
