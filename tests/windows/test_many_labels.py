"""Lookbacks of many labels, whose keys go side by side, against a definition of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.duck import asked as asked_duckdb
from ..support.inner import inner, place_of
from ..support.limits import limits
from ..support.loops import WAYS, by

KEYS = [None, *(f"key {number}" for number in range(9))]


def events(rows: int, first: int, seed: int) -> pa.Table:
    """Rows of some keys from a first one on, in no order of time."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "k": pa.array([KEYS[at] for at in rng.integers(first, first + 7, rows)], pa.string()),
            "n": pa.array(rng.integers(0, 2, rows)),
            "t": rng.integers(0, 300, rows),
            "x": pa.array(rng.integers(-99, 99, rows).astype(float), mask=rng.random(rows) < 0.2),
        }
    )


def of_window(rows: list[dict[str, Any]], keys: Sequence[str], label: dict[str, Any], size: int) -> list[float]:
    """The values of the window ``[at - size, at)`` of a label's key, in the order of rows."""
    own = [row for row in rows if label["at"] - size <= row["t"] < label["at"] and row["x"] is not None]
    return [row["x"] for row in own if all(row[key] == label[key] for key in keys)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("keys", [["k"], ["k", "n"]])
@pytest.mark.parametrize("order", ["none", "time", "key"])
def test_each_label_has_its_windows(keys: list[str], order: str, way: str) -> None:
    table, labels = events(240, 0, 1), events(90, 3, 2).select(["k", "n", "t"]).rename_columns(["k", "n", "at"])
    if order != "none":
        table = table.sort_by("t")
        labels = labels.sort_by("at" if order == "time" else "k")
    with limits(keys_rows=64, many_rows=50, lookback_edges=4), by(way):
        asked = ff.events(table, time="t", by=keys).window(ff.lookback(20, 100, at=labels))
        found = asked.with_columns(n=ff.Count("x"), s=ff.Sum("x"), last=ff.Last("x"), most=ff.Max("x"))
    assert found.select(labels.column_names).equals(labels)
    rows = sorted(table.to_pylist(), key=lambda row: row["t"])  # of one time as they came
    for row in found.to_pylist():
        for size in (20, 100):
            values = of_window(rows, keys, row, size)
            assert row[f"n_{size}"] == len(values)
            assert row[f"s_{size}"] == (sum(values) if values else None)
            assert row[f"last_{size}"] == (values[-1] if values else None)
            assert row[f"most_{size}"] == max(values, default=None)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("closed", ["left", "both", "neither"])
@pytest.mark.parametrize("block_rows", [1, 1 << 16])
def test_windows_of_all_sizes_slide_as_one_set_of_ranges(block_rows: int, closed: Any, way: str) -> None:
    """Some of them empty, some with null values only; in several parts of keys, each in one block of rows or more."""
    table, labels = events(900, 0, 3), events(400, 1, 4).select(["k", "t"]).rename_columns(["k", "at"])
    outputs = {
        "n": ff.Count("x"),
        "s": ff.Sum("x"),
        "least": ff.Min("x"),
        "mean": ff.Average("n"),
        "mid": ff.Median("x"),
    }
    sizes = (1, 7, 40, 250)
    with limits(keys_rows=400, lookback_edges=4, block_rows=block_rows), by(way):
        asked = ff.events(table, time="t", by="k").window(ff.lookback(*sizes, at=labels, closed=closed))
        with patch.object(*place_of("kernels"), side_effect=inner("kernels")) as kernels:
            found = asked.with_columns(**outputs)
    assert kernels.call_count == len({id(call.args[1]) for call in kernels.call_args_list}) > 4, "once for all sizes"
    begins, ends = ("<" if closed == "neither" else "<="), ("<=" if closed == "both" else "<")
    columns = ", ".join(
        f"{call} filter (where l.at - {size} {begins} t) as {name}_{size}"
        for name, call in {
            "n": "count(x)", "s": "sum(x)", "least": "min(x)", "mean": "avg(n)", "mid": "median(x)"
        }.items()
        for size in sizes
    )  # fmt: skip
    expected = asked_duckdb(
        f"select {columns} from l left join e on l.k is not distinct from e.k and t {ends} l.at "
        "group by row order by row",
        e=table,
        l=labels.append_column("row", pa.array(range(len(labels)))),
    ).to_arrow_table()
    for name in expected.column_names:
        assert found[name].to_pylist() == expected[name].to_pylist(), name


def test_regular_windows_slide_by_themselves_beside_others() -> None:
    """The last rows, one range a row, and times around each row, in the order of which there is none to go by."""
    rng = np.random.default_rng(5)
    table = pa.table({"t": np.cumsum(rng.integers(1, 9, 400)), "x": rng.integers(0, 99, 400)})
    kinds = {"rows": ff.last_rows(3, every=1), "near": ff.around(time=(-9, 0)), "far": ff.around(time=(-30, 5))}
    outputs = {name: ff.Max("x").over(kind) for name, kind in kinds.items()}
    shuffled = table.take(pa.array(rng.permutation(len(table))))
    with patch.object(*place_of("kernels"), side_effect=inner("kernels")) as kernels:
        found = ff.events(shuffled, time="t").window().with_columns(**outputs).sort_by("t")
    assert sorted(len(call.args[2].low) for call in kernels.call_args_list) == [400, 800]
    t, x = (table[name].to_pylist() for name in table.column_names)
    for row, now in enumerate(t):
        assert found["rows"][row].as_py() == max(x[max(row - 2, 0) : row + 1])
        assert found["near"][row].as_py() == max(v for at, v in zip(t, x, strict=True) if now - 9 <= at <= now)
        assert found["far"][row].as_py() == max(v for at, v in zip(t, x, strict=True) if now - 30 <= at <= now + 5)


def test_labels_without_events_and_keys_of_other_types() -> None:
    table = pa.table({"k": pa.array([1, 2, 2], pa.int32()), "t": [1, 2, 3], "x": [1.0, 2.0, 4.0]})
    labels = pa.table({"k": pa.array([2**40, 2, 1, 7] * 3), "at": [9, 4, 2, 9] * 3})
    with limits(lookback_edges=2, keys_rows=1):
        asked = ff.events(table, time="t", by="k").window(ff.lookback(5, at=labels))
        found = asked.with_columns(s=ff.Sum("x"), n=ff.Count())
    assert found["s_5"].to_pylist() == [None, 6.0, 1.0, None] * 3
    assert found["n_5"].to_pylist() == [0, 2, 1, 0] * 3
