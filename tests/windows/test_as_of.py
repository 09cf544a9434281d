"""Windows of labels over events in the order of time, which are not sorted for them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.inner import answers
from ..support.loops import WAYS, by, needs_loops

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
}


def events(rows: int, nulls: float, seed: int = 0) -> pa.Table:
    """Events in the order of time, several at a time, of keys that may be null."""
    rng = np.random.default_rng(seed)
    keys = np.array(["a", "b", None, "c"], object)[rng.integers(0, 4, rows)]
    return pa.table(
        {
            "k": pa.array(keys.tolist(), pa.string()),
            "n": rng.integers(0, 2, rows),
            "t": np.sort(rng.integers(-rows // 4, rows // 4, rows)),
            "x": pa.array(rng.integers(-99, 99, rows), mask=rng.random(rows) < nulls),
            "s": [f"text {number}" for number in rng.integers(0, 9, rows)],
        }
    )


def labels(rows: int, least: int, most: int, *, ascend: bool) -> pa.Table:
    """Labels of keys, one of which no event has."""
    rng = np.random.default_rng(9)
    at = rng.integers(least, most, rows)
    keys = np.array(["a", "b", None, "unknown"], object)[rng.integers(0, 4, rows)]
    columns = {"k": pa.array(keys.tolist(), pa.string()), "n": rng.integers(0, 2, rows)}
    return pa.table(columns | {"at": np.sort(at) if ascend else at})


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each query that asked was answered so."""
    return answers(monkeypatch, "results as of labels")


@cache
def in_windows(nulls: float, closed: str, ascend: bool, keys: tuple[str, ...]) -> dict[int, list[list[int]]]:
    """By size, the values of each label's window, by definition."""
    found: dict[int, list[list[int]]] = {3: [], 40: []}
    rows = [row for row in events(300, nulls).to_pylist() if row["x"] is not None]
    for label in labels(200, -90, 90, ascend=ascend).to_pylist():
        own = [row for row in rows if all(row[key] == label[key] for key in keys)]
        for size, values in found.items():
            begin, end = label["at"] - size, label["at"]
            first, last = begin + (closed in ("right", "neither")), end - (closed in ("left", "neither"))
            values.append([row["x"] for row in own if first <= row["t"] <= last])
    return found


@pytest.mark.parametrize(
    "operation",
    [ff.Last("x"), ff.First("x"), ff.Last("x") - ff.First("x") + ff.Last("x"), ff.Sum("x"), ff.Mean("x"), ff.Min("x")],
)
def test_labels_that_have_the_first_events_in_their_order(operation: Any) -> None:
    table = pa.table({"t": [0, 1, 2], "k": ["a", "a", "a"], "x": [5, 6, 7]})
    wanted = pa.table({"k": ["a", "a"], "at": [1, 2]})
    asked = ff.events(table, time="t", by="k").window(ff.lookback(1, at=wanted, closed="left"))
    assert asked.with_columns(r=operation)["r_1"].to_pylist() == [5, 6]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ascend", [True, False])
@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
@pytest.mark.parametrize("nulls", [0.0, 0.4])
def test_as_defined(nulls: float, closed: Any, ascend: bool, way: str, looked_up: list[bool]) -> None:
    table = events(300, nulls)
    wanted = labels(200, -90, 90, ascend=ascend)
    for keys in (["k"], ["k", "n"]):
        for name, (operation, result) in OUTPUTS.items():
            looked_up.clear()
            with by(way):
                asked = ff.events(table, time="t", by=keys).window(ff.lookback(3, 40, at=wanted, closed=closed))
                found = asked.with_columns(r=operation)
            assert looked_up == [True] * (way == "loops")
            assert found.select(wanted.column_names).equals(wanted)
            for size, values in in_windows(nulls, closed, ascend, tuple(keys)).items():
                assert found[f"r_{size}"].to_pylist() == list(map(result, values)), (name, keys, size)


@needs_loops
def test_text_and_ties(looked_up: list[bool]) -> None:
    table = pa.table(
        {"k": ["a"] * 4, "t": [1, 1, 2, 2], "i": [1, 2, 1, 2], "s": ["p", "q", "r", "s"], "d": [1.5, None, 2.5, None]}
    )
    asked = ff.events(table, time="t", by="k", ties=["i"]).window(
        ff.lookback(9, at=pa.table({"k": ["a", "b"], "at": [2, 9]}))
    )
    found = asked.with_columns(s=ff.Last("s"), d=ff.Last("d"), t=ff.First("t"))
    assert found.select(["s_9", "d_9", "t_9"]).to_pydict() == {"s_9": ["q", None], "d_9": [1.5, None], "t_9": [1, None]}
    assert looked_up == [True]


@needs_loops
@pytest.mark.parametrize(
    "output",
    [ff.Max("x"), ff.Last("x", ties="n"), ff.Last("x").then(lambda values: values), ff.CollectList("x")],
    ids=str,
)
def test_others_slide(output: Any, looked_up: list[bool]) -> None:
    wanted = labels(50, -9, 9, ascend=True)
    ff.events(events(90, 0.1), time="t", by="k").window(ff.lookback(3, at=wanted)).with_columns(r=output)
    assert not looked_up


@needs_loops
def test_events_in_no_order_are_sorted(looked_up: list[bool]) -> None:
    table, wanted = events(500, 0.2), labels(200, -90, 90, ascend=False)
    table = table.set_column(2, "t", pa.array(np.arange(len(table))))
    asked = ff.lookback(60, at=wanted.set_column(2, "at", pa.array(np.arange(200) * 3)))
    mixed = table.take(pa.array(np.random.default_rng(2).permutation(len(table))))
    found, other = (
        ff.events(each, time="t", by="k").window(asked).with_columns(a=ff.Last("x"), b=ff.First("s"))
        for each in (table, mixed)
    )
    assert looked_up == [True, False]
    assert found.equals(other)
