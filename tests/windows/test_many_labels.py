"""Lookbacks of many labels, looked up in events that are in order, or slid key by key, against a definition of each."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..oracles.windows_rows import holds
from ..support.inner import answers, inner, place_of
from ..support.limits import limits
from ..support.loops import WAYS, by, needs_loops

KEYS = [None, *(f"key {number}" for number in range(9))]
OUTPUTS: dict[str, tuple[Any, Any]] = {
    "last": (ff.Last("x"), lambda rows: rows[-1] if rows else None),
    "first": (ff.First("x"), lambda rows: rows[0] if rows else None),
    "change": (ff.Last("x") - ff.First("x"), lambda rows: rows[-1] - rows[0] if rows else None),
    "sum": (ff.Sum("x"), lambda rows: sum(rows) if rows else None),
    "count": (ff.Count("x"), len),
    "mean": (ff.Mean("x"), lambda rows: sum(rows) / len(rows) if rows else None),
    "both": (
        ff.AllOf(a=ff.First("x"), b=ff.Last("x")),
        lambda rows: {"a": rows[0] if rows else None, "b": rows[-1] if rows else None},
    ),
    "most": (ff.Max("x"), lambda rows: max(rows, default=None)),
    "least": (ff.Min("x"), lambda rows: min(rows, default=None)),
    "middle": (ff.Median("x"), lambda rows: median(rows) if rows else None),
}
"""Operations, and what they are of the values in a window, in their order. The last three are not looked up."""
SLID = ("most", "least", "middle")


def events(rows: int, first: int, seed: int, nulls: float = 0.2) -> pa.Table:
    """Rows of some keys from a first one on, several at a time, in no order of time."""
    rng = np.random.default_rng(seed)
    return pa.table({
        "k": pa.array([KEYS[at] for at in rng.integers(first, first + 7, rows)], pa.string()),
        "n": rng.integers(0, 2, rows), "t": rng.integers(0, 300, rows),
        "x": pa.array(rng.integers(-99, 99, rows).astype(float), mask=rng.random(rows) < nulls),
    })  # fmt: skip


def right(table: pa.Table, labels: pa.Table, keys: Sequence[str], size: int, closed: str) -> list[list[float]]:
    """The values in the window of each label, by definition."""
    rows: dict[Any, list[dict[str, Any]]] = {}
    for row in sorted(table.to_pylist(), key=lambda row: row["t"]):  # of one time as they came
        if row["x"] is not None:
            rows.setdefault(tuple(row[key] for key in keys), []).append(row)
    found = []
    for label in labels.to_pylist():
        of, at = tuple(label[key] for key in keys), label["at"]
        own = [] if None in of else rows.get(of, [])  # a null is equal to no key
        found.append([row["x"] for row in own if holds(closed, at - size, row["t"], at)])
    return found


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each query that asked was answered without sorting the events."""
    return answers(monkeypatch, "results as of labels")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
@pytest.mark.parametrize("order", ["none", "at", "k"])
def test_each_label_has_its_windows(order: str, closed: Any, way: str, looked_up: list[bool]) -> None:
    """By all outputs in parts of few keys; and by each alone, which is looked up where events are in order."""
    for keys, nulls in ((["k"], 0.4), (["k", "n"], 0.0)):
        table, labels = events(300, 0, 1, nulls), events(150, 3, 2).rename_columns(["k", "n", "at", "x"]).drop("x")
        if order != "none":
            table, labels = table.sort_by("t"), labels.sort_by(order)
        asked = ff.events(table, time="t", by=keys).window(ff.lookback(3, 100, at=labels, closed=closed))
        with limits(keys_rows=64, many_rows=50, lookback_edges=4), by(way):
            together = asked.with_columns(**{name: operation for name, (operation, _) in OUTPUTS.items()})
        assert together.select(labels.column_names).equals(labels)
        windows = {size: right(table, labels, keys, size, closed) for size in (3, 100)}
        for name, (operation, result) in OUTPUTS.items():
            looked_up.clear()
            with by(way):
                alone = asked.with_columns(**{name: operation})
            assert any(looked_up) == (way == "loops" and order != "none" and name not in SLID), name
            for size, values in windows.items():
                wanted = list(map(result, values))
                for found in (together, alone):
                    assert found[f"{name}_{size}"].to_pylist() == wanted, (name, keys, size)


@needs_loops
def test_small_tables_that_are_looked_up(looked_up: list[bool]) -> None:
    table = pa.table({"t": [0, 1, 2], "k": ["a", "a", "a"], "x": [5, 6, 7]})
    wanted = pa.table({"k": ["a", "a"], "at": [1, 2]})
    asked = ff.events(table, time="t", by="k").window(ff.lookback(1, at=wanted, closed="left"))
    change = ff.Last("x") - ff.First("x") + ff.Last("x")
    for operation in (ff.Last("x"), ff.First("x"), change, ff.Sum("x"), ff.Mean("x"), ff.Min("x")):
        assert asked.with_columns(r=operation)["r_1"].to_pylist() == [5, 6]
    looked_up.clear()
    table = pa.table(
        {"k": ["a"] * 4, "t": [1, 1, 2, 2], "i": [1, 2, 1, 2], "s": ["p", "q", "r", "s"], "d": [1.5, None, 2.5, None]}
    )
    labels = pa.table({"k": ["a", "b"], "at": [2, 9]})
    asked = ff.events(table, time="t", by="k", ties=["i"]).window(ff.lookback(9, at=labels))
    found = asked.with_columns(s=ff.Last("s"), d=ff.Last("d"), t=ff.First("t"))
    assert found.select(["s_9", "d_9", "t_9"]).to_pydict() == {"s_9": ["q", None], "d_9": [1.5, None], "t_9": [1, None]}
    assert looked_up == [True]


def test_others_slide(looked_up: list[bool]) -> None:
    windows = ff.lookback(3, at=events(50, 0, 2).sort_by("t").select(["k", "t"]).rename_columns(["k", "at"]))
    for output in (ff.Last("x", ties="n"), ff.Last("x").then(lambda values: values), ff.CollectList("x")):
        ff.events(events(90, 0, 1).sort_by("t"), time="t", by="k").window(windows).with_columns(r=output)
    assert not any(looked_up)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("closed", "block_rows"), [("left", 1), ("both", 1 << 16), ("neither", 1)])
def test_windows_of_all_sizes_slide_as_one_set_of_ranges(block_rows: int, closed: Any, way: str) -> None:
    """Some of them empty, some with null values only; in several parts of keys, each in one block of rows or more."""
    table, labels = events(900, 0, 3), events(400, 1, 4).select(["k", "t"]).rename_columns(["k", "at"])
    names, sizes = ("count", "sum", "least", "mean", "middle"), (1, 7, 40, 250)
    with limits(keys_rows=400, lookback_edges=4, block_rows=block_rows), by(way):
        asked = ff.events(table, time="t", by="k").window(ff.lookback(*sizes, at=labels, closed=closed))
        with patch.object(*place_of("kernels"), side_effect=inner("kernels")) as kernels:
            found = asked.with_columns(**{name: OUTPUTS[name][0] for name in names})
    assert kernels.call_count == len({id(call.args[1]) for call in kernels.call_args_list}) > 4, "once for all sizes"
    for size in sizes:
        values = right(table, labels, ["k"], size, closed)
        for name in names:
            assert found[f"{name}_{size}"].to_pylist() == list(map(OUTPUTS[name][1], values)), name


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
    assert found["rows"].to_pylist() == [max(x[max(row - 2, 0) : row + 1]) for row in range(400)]
    for name, first, last in (("near", -9, 0), ("far", -30, 5)):
        wanted = [max(v for at, v in zip(t, x, strict=True) if now + first <= at <= now + last) for now in t]
        assert found[name].to_pylist() == wanted


@pytest.mark.sampled(3)
@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
@pytest.mark.parametrize("keys", [[], ["k"], ["k", "n"]])
def test_events_between_the_windows_of_their_key_are_one(
    keys: list[str], closed: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of files in several batches, and no more of them than bounds of windows: other keys' windows cut nothing."""
    table, labels = events(900, 0, 1), events(40, 3, 2).rename_columns(["k", "n", "at", "x"]).drop("x")
    labels = labels.append_column("from", pc.subtract(labels["at"], 9))
    pq.write_table(table, tmp_path / "events.parquet", row_group_size=100)
    given = ff.windows_from(labels, start="from", end="at", by=keys, closed=closed)
    windows = {size: right(table, labels, keys, size, closed) for size in (3, 9, 100)}
    for asked, sizes in ((ff.lookback(3, 100, at=labels, closed=closed), (3, 100)), (given, (9,))):
        caplog.clear()
        query = ff.events(ff.parquet(tmp_path), time="t", by=keys).window(asked)
        with limits(lookback_edges=4, file_batch_rows=100), caplog.at_level(logging.INFO, "framefold"):
            found = query.with_columns(**{name: operation for name, (operation, _) in OUTPUTS.items()})
        (made,) = re.findall(r"has ([\d,]+) partials", caplog.text)
        assert int(made.replace(",", "")) <= len(labels) * (len(sizes) + 2), keys
        for size in sizes:
            for name, (_, result) in OUTPUTS.items():
                of_size = f"{name}_{size}" if len(sizes) > 1 else name
                assert found[of_size].to_pylist() == list(map(result, windows[size])), (of_size, keys)


def test_labels_without_events_and_keys_of_other_types() -> None:
    table = pa.table({"k": pa.array([1, 2, 2], pa.int32()), "t": [1, 2, 3], "x": [1.0, 2.0, 4.0]})
    labels = pa.table({"k": pa.array([2**40, 2, 1, 7] * 3), "at": [9, 4, 2, 9] * 3})
    with limits(lookback_edges=2, keys_rows=1):
        asked = ff.events(table, time="t", by="k").window(ff.lookback(5, at=labels))
        found = asked.with_columns(s=ff.Sum("x"), n=ff.Count())
    assert found["s_5"].to_pylist() == [None, 6.0, 1.0, None] * 3
    assert found["n_5"].to_pylist() == [0, 2, 1, 0] * 3
