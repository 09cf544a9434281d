"""Outputs beside events in the order of time over all rows so far, or a row or two before: folded row by row."""

from __future__ import annotations

import datetime
import logging
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.exact import about_mean
from ..support.inner import answers
from ..support.loops import WAYS, by, needs_loops

SO_FAR = ff.landmark()
PLACES: dict[str, tuple[Any, Callable[[int], range | None]]] = {
    "so far": (SO_FAR, lambda at: range(at + 1)),
    "the row before": (ff.around(rows=(-1, -1)), lambda at: range(at - 1, at) if at else None),
    "three rows before": (ff.around(rows=(-3, -3)), lambda at: range(at - 3, at - 2) if at > 2 else None),
    "it and the row before": (ff.around(rows=(-1, 0)), lambda at: range(at - 1, at + 1) if at else None),
    "the two rows before, if any": (
        ff.around(rows=(-2, -1), min_fill="partial"),
        lambda at: range(max(at - 2, 0), at) if at else None,
    ),
    "the five rows before the last, if any": (
        ff.around(rows=(-6, -2), min_fill="partial"),
        lambda at: range(max(at - 6, 0), at - 1) if at > 1 else None,
    ),
    "the last nine rows": (ff.last_rows(9), lambda at: range(max(at - 8, 0), at + 1)),
    "nine full rows": (ff.last_rows(9, min_fill="full"), lambda at: range(at - 8, at + 1) if at > 7 else None),
    "rows from three before": (ff.around(rows=(-3, 0)), lambda at: range(at - 3, at + 1) if at > 2 else None),
    "the last row": (ff.last_rows(1), lambda at: range(at, at + 1)),
    "the last two rows": (ff.last_rows(2), lambda at: range(max(at - 1, 0), at + 1)),
    "two full rows": (ff.last_rows(2, min_fill="full"), lambda at: range(at - 1, at + 1) if at else None),
}
"""Windows, and by the place of a row in its key the places of those in its window; None: it has none."""


def known(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def least(values: list[Any]) -> Any:
    """NaN is above all."""
    return min(known(values), key=lambda value: (value != value, value), default=None)


def greatest(values: list[Any]) -> Any:
    return max(known(values), key=lambda value: (value != value, value), default=None)


AROUND: dict[str, tuple[Any, Callable[[int], bool]]] = {
    "the time before": (ff.around(time=(-9, 0), closed="left"), lambda far: -9 <= far < 0),
    "the time up to it": (ff.around(time=(-9, 0), closed="right"), lambda far: -9 < far <= 0),
    "the time around it": (ff.around(time=(-4, 6)), lambda far: -4 <= far <= 6),
    "the time to come": (ff.around(time=(0, 9), closed="left"), lambda far: 0 <= far < 9),
    "some time ago": (ff.around(time=(-9, -4)), lambda far: -9 <= far <= -4),
    "its time": (ff.around(time=(0, 0)), lambda far: far == 0),
    "no time": (ff.around(time=(0, 0), closed="neither"), lambda far: False),
}
"""Windows, and which times they have, by distance from a row's own."""


def deviation(values: list[Any]) -> float | None:
    if len(some := known(values)) < 2:
        return None
    away, unit = about_mean(some)
    variance = sum(each * each for each in away) * unit**2 / (len(some) - 1)
    return float((Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt())


OUTPUTS: dict[str, tuple[Any, str, Callable[[list[Any]], Any]]] = {
    "sum": (ff.Sum("f"), "f", lambda values: math.fsum(known(values)) if known(values) else None),
    "mean": (
        ff.Mean("f"),
        "f",
        lambda values: math.fsum(known(values)) / len(known(values)) if known(values) else None,
    ),
    "sum of integers": (ff.Sum("i"), "i", lambda values: sum(known(values)) if known(values) else None),
    "count": (ff.Count("f"), "f", lambda values: len(known(values))),
    "min": (ff.Min("g"), "g", least),
    "max": (ff.Max("g"), "g", greatest),
    "most": (ff.Max("i"), "i", greatest),
    "any": (ff.Max("b"), "b", greatest),
    "first": (ff.First("g"), "g", lambda values: next(iter(known(values)), None)),
    "last": (ff.Last("f"), "f", lambda values: next(iter(known(values)[::-1]), None)),
    "text": (ff.Last("s"), "s", lambda values: next(iter(known(values)[::-1]), None)),
    "change": (
        ff.Last("i") - ff.First("i"),
        "i",
        lambda values: known(values)[-1] - known(values)[0] if known(values) else None,
    ),
    "list": (ff.CollectList("i"), "i", known),
}


@cache
def events(seed: int, rows: int = 300, nulls: float = 0.3) -> pa.Table:
    """Events in the order of time, several at a time; floats of many magnitudes, and in ``g`` NaN and zeros."""
    rng = np.random.default_rng(seed)

    def some(values: Any) -> pa.Array:
        return pa.array(values, mask=rng.random(rows) < nulls)

    floats = rng.normal(size=rows) * 10.0 ** rng.integers(-3, 6, rows)
    special = rng.choice([np.nan, 0.0, -0.0, np.inf, 2.0, -7.0], rows)
    names = np.array(["a", "b", None, "c"], object)[rng.integers(0, 4, rows)]
    return pa.table(
        {
            "t": np.sort(rng.integers(0, rows // 2, rows)),
            "k": pa.array(names.tolist(), pa.string()),
            "n": rng.integers(0, 2, rows),
            "f": some(floats),
            "g": some(special),
            "i": some(rng.integers(-99, 99, rows)),
            "b": some(rng.random(rows) < 0.2),
            "s": some([f"text {number}" for number in rng.integers(0, 9, rows)]),
        }
    )


def by_definition(table: pa.Table, keys: list[str], rows_of: Any, column: str, result: Any) -> list[Any]:
    """The results of each row's window, from the rows of its key."""
    found, values = [], table.column(column).to_pylist()
    own: dict[Any, list[int]] = {}
    for row, key in enumerate(zip(*(table.column(name).to_pylist() for name in [*keys, "t"]), strict=True)):
        mine = own.setdefault(key[:-1], [])
        mine.append(row)
        places = rows_of(len(mine) - 1)
        found.append(None if places is None else result([values[mine[place]] for place in places]))
    return found


def by_time(table: pa.Table, within: Callable[[int], bool], column: str, result: Any) -> list[Any]:
    """The results of each row's window, from the rows of its key whose times are within it."""
    rows = list(zip(*(table.column(name).to_pylist() for name in ("k", "t", column)), strict=True))
    own: dict[Any, list[tuple[int, Any]]] = {}
    for key, tick, value in rows:
        own.setdefault(key, []).append((tick, value))
    return [result([value for tick, value in own[key] if within(tick - at)]) for key, at, _ in rows]


def alike(found: Any, wanted: Any) -> bool:
    return found == wanted or (found != found and wanted != wanted)


@pytest.mark.parametrize("nulls", [0.0, 0.3])
@pytest.mark.parametrize("place", PLACES)
def test_as_defined(place: str, nulls: float) -> None:
    """Each output alone, as one that slides has the others slide; with compiled loops and without."""
    windows, rows_of = PLACES[place]
    for seed, keys in enumerate([["k"], ["k", "n"], []]):
        table = events(seed, nulls=nulls)
        for name, (operation, column, result) in OUTPUTS.items():
            wanted = by_definition(table, keys, rows_of, column, result)
            for way in WAYS:
                with by(way):
                    found = ff.events(table, time="t", by=keys).window(windows).with_columns(r=operation)
                assert all(map(alike, found["r"].to_pylist(), wanted)), (name, keys, way)
                assert found.select(["t", "k", "f", "s"]).equals(table.select(["t", "k", "f", "s"]))


@pytest.mark.parametrize("nulls", [0.0, 0.3])
@pytest.mark.parametrize("around", AROUND)
def test_windows_of_time_as_defined(around: str, nulls: float) -> None:
    windows, within = AROUND[around]
    table = events(len(around), nulls=nulls)
    for name, (operation, column, result) in OUTPUTS.items():
        wanted = by_time(table, within, column, result)
        for way in WAYS:
            with by(way):
                found = ask(table, windows, r=operation)["r"].to_pylist()
            assert all(map(alike, found, wanted)), (name, way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rows", [1, 2, 9])
def test_deviations_as_defined(rows: int, way: str) -> None:
    with by(way):
        for seed, values in enumerate([[0.1] * 300, [1e9 + at % 7 for at in range(300)], None]):
            table = events(seed, nulls=0.0)
            if values is not None:
                table = table.set_column(3, "f", pa.array(values))
            found = ask(table, ff.last_rows(rows), r=ff.StdDev("f"))["r"].to_pylist()
            wanted = by_definition(table, ["k"], lambda at: range(max(at - rows + 1, 0), at + 1), "f", deviation)
            assert found == wanted
            found = ask(table, ff.around(time=(-rows, 0)), r=ff.StdDev("f"))["r"].to_pylist()
            wanted = by_time(table, lambda far: -rows <= far <= 0, "f", deviation)
            assert [each is None for each in found] == [each is None for each in wanted]
            assert known(found) == pytest.approx(known(wanted), rel=1e-14)


@pytest.fixture
def row_by_row(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each query was answered row by row."""
    return answers(monkeypatch, "results row by row")


def ask(table: pa.Table, windows: Any, **outputs: Any) -> pa.Table:
    return ff.events(table, time="t", by="k").window(windows).with_columns(**outputs)


@needs_loops
@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_sorted(place: str, row_by_row: list[bool]) -> None:
    table = events(0, nulls=0.0)
    ask(table, PLACES[place][0], first=ff.First("s"), change=ff.Last("f") - ff.First("f"), last=ff.Last("t"))
    assert row_by_row == [True]


@needs_loops
def test_so_far(row_by_row: list[bool]) -> None:
    table = events(1)
    for name, (operation, _, _) in OUTPUTS.items():
        row_by_row.clear()
        ask(table, SO_FAR, r=operation)
        assert row_by_row == [name != "list"]


@needs_loops
@pytest.mark.parametrize(
    ("windows", "output"),
    [
        (ff.landmark(since=10), ff.Sum("f")),
        (ff.around(rows=(0, 1)), ff.Last("f")),
        (ff.around(rows=(-1, 0), min_samples=2), ff.Last("f")),
        (ff.last_rows(3), ff.Max("f")),
        (SO_FAR, ff.StdDev("f")),
        (ff.around(time=(-3, 0)), ff.StdDev("f")),
        (ff.around(time=(-3, 0)), ff.Max("f")),
        (ff.around(time=(-3, 0), min_samples=2), ff.Sum("f")),
        (ff.last_rows(5), ff.StdDev("g")),  # NaN
        (SO_FAR, ff.Last("f").then(lambda values: values)),
        (SO_FAR, ff.Sum("g")),  # NaN
    ],
    ids=str,
)
def test_others_slide(windows: Any, output: Any, row_by_row: list[bool]) -> None:
    ask(events(2), windows, r=output)
    assert row_by_row == [False]


@needs_loops
@pytest.mark.parametrize("around", AROUND)
def test_windows_of_time(around: str, row_by_row: list[bool]) -> None:
    for name, (operation, column, _) in OUTPUTS.items():
        row_by_row.clear()
        ask(events(1), AROUND[around][0], r=operation)
        assert row_by_row == [(column not in "gb" and name not in ("most", "list")) or name == "first"], name


@needs_loops
@pytest.mark.parametrize(
    "windows", [ff.last_rows(7), ff.around(time=(-30, 0)), ff.around(time=(-20, 9), closed="left")]
)
def test_sums_have_the_bits_of_those_that_slide(windows: Any, row_by_row: list[bool]) -> None:
    rng = np.random.default_rng(8)
    rows = 4_000
    table = events(3, rows, nulls=0.0).set_column(0, "t", pa.array(np.arange(rows)))
    table = table.set_column(3, "f", pa.array(100 + np.cumsum(rng.normal(size=rows)))).append_column("row", table["t"])
    outputs: Any = {
        "sum": ff.Sum("f"),
        "mean": ff.Mean("f"),
        "some": ff.Filtered(ff.Mean("f"), "b"),
    }
    if windows == ff.last_rows(7):
        outputs |= {"deviation": ff.StdDev("f"), "variance": ff.Variance("f", ddof=0)}
    found, slid = (ask(each, windows, **outputs) for each in (table, table.take(pa.array(rng.permutation(rows)))))
    assert row_by_row == [True, False]
    slid = slid.sort_by("row")
    for name in outputs:
        one, other = (each[name].combine_chunks().view(pa.int64()) for each in (found, slid))
        assert one.equals(other), name


@needs_loops
def test_events_in_no_order_slide_to_the_same_bits(row_by_row: list[bool]) -> None:
    rng = np.random.default_rng(3)
    rows = 5_000
    table = (
        events(3, rows).set_column(0, "t", pa.array(np.arange(rows))).append_column("row", pa.array(np.arange(rows)))
    )
    table = table.set_column(3, "f", pa.array(rng.normal(size=rows) * 10.0 ** rng.integers(-4, 4, rows)))
    outputs = {name: each for name, (each, _, _) in OUTPUTS.items() if name not in ("list", "change")}
    outputs["zero"] = ff.Sum("z")
    table = table.append_column("z", pa.array(np.where(rng.random(rows) < 0.5, 0.0, -0.0)))
    mixed = table.take(pa.array(rng.permutation(rows)))
    found, slid = (ask(each, SO_FAR, **outputs) for each in (table, mixed))
    assert row_by_row == [True, False]
    slid = slid.sort_by("row")
    for name in outputs:
        one, other = (each[name].combine_chunks() for each in (found, slid))
        if pa.types.is_floating(one.type):
            one, other = (each.view(pa.int64()) for each in (one, other))
        assert one.equals(other), name


def test_values_that_three_floats_do_not_hold() -> None:
    values = [1e300, 1.0, -1e300, 1e-300, float("inf"), -1.0]
    table = pa.table({"t": range(6), "k": ["a"] * 6, "f": values})
    assert ask(table, SO_FAR, r=ff.Sum("f"))["r"].to_pylist() == [1e300, 1e300, 1.0, 1.0, math.inf, math.inf]


def test_sums_that_do_not_fit() -> None:
    table = pa.table({"t": range(3), "k": ["a"] * 3, "i": [2**62, 2**62 - 1, 1]})
    assert ask(table.slice(0, 2), SO_FAR, r=ff.Sum("i"))["r"].to_pylist() == [2**62, 2**63 - 1]
    with pytest.raises(ff.SumOverflowError, match="does not fit int64 in 1 of 3 windows"):
        ask(table, SO_FAR, r=ff.Sum("i"))


def test_rows_without_a_time() -> None:
    table = pa.table({"t": [1, None, 2, 3], "k": ["a", "a", "b", "a"], "f": [1.0, 2.0, 4.0, 8.0]})
    found = ff.events(table, time="t", by="k", null_time="drop").window(SO_FAR).with_columns(r=ff.Sum("f"))
    assert found["r"].to_pylist() == [1.0, None, 4.0, 9.0]


def test_ties_in_their_order() -> None:
    table = pa.table({"t": [1, 1, 2, 2], "k": ["a"] * 4, "i": [1, 2, 2, 1], "f": [1.0, 2.0, 3.0, 4.0]})
    events = ff.events(table, time="t", by="k", ties=["i"])
    found = events.window(ff.around(rows=(-1, -1))).with_columns(r=ff.Last("f"))
    assert found["r"].to_pylist() == [None, 1.0, 4.0, 2.0]


def test_dates_and_text_of_the_row_before() -> None:
    days = [datetime.date(2024, 1, day) for day in (1, 2, 3)]
    table = pa.table({"t": days, "k": ["a", "b", "a"], "s": ["x", None, "y"]})
    found = ask(table, ff.around(rows=(-1, -1)), day=ff.Last("t"), text=ff.Last("s"))
    assert found["day"].to_pylist() == [None, None, days[0]]
    assert found["text"].to_pylist() == [None, None, "x"]


@needs_loops
def test_what_is_done_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "framefold"):
        ask(events(4), SO_FAR, r=ff.Last("f"))
    assert "in this process, row by row: events are in the order of time" in caplog.text
    assert "gives 300 windows" in caplog.text
