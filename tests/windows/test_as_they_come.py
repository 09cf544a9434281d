"""Outputs beside events in the order of time, folded row by row over rows so far, some rows, or some time around."""

from __future__ import annotations

import datetime
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.random_operations import greatest, least
from ..oracles.windows_rows import holds
from ..support.inner import answers
from ..support.loops import needs_loops

Where = Callable[[Sequence[int], int], Sequence[int] | None]
"""By the times of a key's rows and the place of a row: the places of rows in its window; None: it has no window."""
ROWS = 300
SO_FAR = ff.landmark()


def by_rows(first: int, last: int, full: bool = False) -> Where:
    """The rows from a place to another one beside the row; where ``full`` only if all of them are there."""

    def where(ticks: Sequence[int], at: int) -> Sequence[int] | None:
        places = range(max(at + first, 0), min(at + last + 1, len(ticks)))
        return places if places and not (full and len(places) <= last - first) else None

    return where


def by_time(first: int, last: int, closed: str) -> Where:
    def where(ticks: Sequence[int], at: int) -> Sequence[int] | None:
        start, end = ticks[at] + first, ticks[at] + last
        return [place for place, tick in enumerate(ticks) if holds(closed, start, tick, end)]

    return where


WINDOWS: dict[str, tuple[Any, Where]] = {
    "so far": (SO_FAR, by_rows(-ROWS, 0)),
    **{f"rows {ends}": (ff.around(rows=ends), by_rows(*ends, full=True)) for ends in ((-1, -1), (-3, -3), (-3, 0))},
    **{
        f"rows {ends}, if any": (ff.around(rows=ends, min_fill="partial"), by_rows(*ends))
        for ends in ((-2, -1), (-6, -2))
    },
    **{f"last {n}": (ff.last_rows(n), by_rows(1 - n, 0)) for n in (1, 2, 9)},
    **{f"last {n}, full": (ff.last_rows(n, min_fill="full"), by_rows(1 - n, 0, full=True)) for n in (2, 9)},
    **{
        f"time {ends} {closed}": (ff.around(time=ends, closed=closed), by_time(*ends, closed))  # type: ignore[arg-type]
        for *ends, closed in (
            (-9, 0, "left"), (-9, 0, "right"), (-4, 6, "both"), (0, 9, "left"), (-9, -4, "both"), (0, 0, "both"),
            (0, 0, "neither"),
        )
    },
}  # fmt: skip


OUTPUTS: dict[str, tuple[Any, str, Callable[[list[Any]], Any]]] = {
    "sum": (ff.Sum("f"), "f", math.fsum),
    "mean": (ff.Mean("f"), "f", lambda values: math.fsum(values) / len(values)),
    "sum of integers": (ff.Sum("i"), "i", sum),
    "count": (ff.Count("f"), "f", len),
    "min": (ff.Min("g"), "g", least),
    "max": (ff.Max("g"), "g", greatest),
    "most": (ff.Max("i"), "i", greatest),
    "any": (ff.Max("b"), "b", greatest),
    "first": (ff.First("g"), "g", lambda values: values[0]),
    "last": (ff.Last("f"), "f", lambda values: values[-1]),
    "text": (ff.Last("s"), "s", lambda values: values[-1]),
    "change": (ff.Last("i") - ff.First("i"), "i", lambda values: values[-1] - values[0]),
    "list": (ff.CollectList("i"), "i", list),
}
"""Operations of a column, and what they are of the values in a window that are not null, if there are any."""
OF_NONE: dict[str, Any] = {"count": 0, "list": []}


def events(seed: int, rows: int = ROWS, nulls: float = 0.3) -> pa.Table:
    """Events in the order of time, several at a time; floats of many magnitudes, and in ``g`` NaN and zeros."""
    rng = np.random.default_rng(seed)

    def some(values: Any) -> pa.Array:
        return pa.array(values, mask=rng.random(rows) < nulls)

    names = np.array(["a", "b", None, "c"], object)[rng.integers(0, 4, rows)]
    return pa.table({
        "t": np.sort(rng.integers(0, rows // 2, rows)), "k": pa.array(names.tolist(), pa.string()),
        "n": rng.integers(0, 2, rows), "f": some(rng.normal(size=rows) * 10.0 ** rng.integers(-3, 6, rows)),
        "g": some(rng.choice([np.nan, 0.0, -0.0, np.inf, 2.0, -7.0], rows)), "i": some(rng.integers(-99, 99, rows)),
        "b": some(rng.random(rows) < 0.2), "s": some([f"text {number}" for number in rng.integers(0, 9, rows)]),
    })  # fmt: skip


def rows_of_windows(table: pa.Table, keys: list[str], where: Where) -> list[list[int] | None]:
    """The rows in the window of each row, among the rows of its key."""
    rows_of: dict[Any, list[int]] = {}
    columns, ticks = [table[name].to_pylist() for name in keys], table["t"].to_pylist()
    of_rows = [tuple(column[row] for column in columns) for row in range(len(table))]
    for row, key in enumerate(of_rows):
        rows_of.setdefault(key, []).append(row)
    found: list[list[int] | None] = [None] * len(table)
    for own in rows_of.values():
        times = [ticks[row] for row in own]
        for at, row in enumerate(own):
            places = where(times, at)
            found[row] = None if places is None else [own[place] for place in places]
    return found


def right(table: pa.Table, windows: list[list[int] | None], name: str) -> list[Any]:
    _, column, result = OUTPUTS[name]
    values, found = table[column].to_pylist(), []
    for rows in windows:
        known = [values[row] for row in rows or () if values[row] is not None]
        found.append(None if rows is None else result(known) if known else OF_NONE.get(name))
    return found


def ask(table: pa.Table, windows: Any, keys: Sequence[str] = ("k",), **outputs: Any) -> pa.Table:
    return ff.events(table, time="t", by=list(keys)).window(windows).with_columns(**outputs)


def assert_alike(found: list[Any], wanted: list[Any], *said: Any) -> None:
    assert len(found) == len(wanted), said
    assert all(one == other or (one != one and other != other) for one, other in zip(found, wanted, strict=True)), said


@pytest.fixture
def row_by_row(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each query was answered row by row."""
    return answers(monkeypatch, "results row by row")


def is_folded(name: str, window: str) -> bool | None:
    """Whether an output is answered row by row where values are null, or slides; None: whichever."""
    if window == "so far":
        return name != "list"
    if window.startswith("time"):
        return name not in ("min", "max", "most", "any", "list")
    return True if name in ("last", "text") else None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("window", WINDOWS)
def test_as_defined(window: str, way: str, row_by_row: list[bool]) -> None:
    """Each output alone, as one that slides has the others slide; without compiled loops all of them slide."""
    spec, where = WINDOWS[window]
    for seed, (keys, nulls) in enumerate(((["k"], 0.0), (["k", "n"], 0.3), ([], 0.3))):
        table = events(seed, nulls=nulls)
        windows = rows_of_windows(table, keys, where)
        if way == "numpy":
            found = ask(table, spec, keys, **{name: operation for name, (operation, _, _) in OUTPUTS.items()})
        for name, (operation, _, _) in OUTPUTS.items():
            row_by_row.clear()
            if way == "loops":
                found = ask(table, spec, keys, **{name: operation})
                assert not nulls or is_folded(name, window) in (None, *row_by_row), name
            assert_alike(found[name].to_pylist(), right(table, windows, name), name, keys)
        assert found.drop("g").select(list("tknfibs")).equals(table.drop("g"))  # a NaN equals none


@needs_loops
def test_what_is_folded_and_logged(row_by_row: list[bool], caplog: pytest.LogCaptureFixture) -> None:
    several = {"first": ff.First("s"), "change": ff.Last("f") - ff.First("f"), "last": ff.Last("t")}
    for spec, _ in WINDOWS.values():
        ask(events(0, nulls=0.0), spec, **several)
    assert row_by_row == [True] * len(WINDOWS)
    with caplog.at_level(logging.INFO, "framefold"):
        ask(events(4), SO_FAR, r=ff.Last("f"))
    assert "in this process, row by row: events are in the order of time" in caplog.text
    assert "gives 300 windows" in caplog.text


SLID: list[tuple[Any, Any]] = [
    (ff.landmark(since=10), ff.Sum("f")), (ff.around(rows=(0, 1)), ff.Last("f")),
    (ff.around(rows=(-1, 0), min_samples=2), ff.Last("f")), (ff.last_rows(3), ff.Max("f")), (SO_FAR, ff.StdDev("f")),
    (ff.around(time=(-3, 0)), ff.StdDev("f")), (ff.around(time=(-3, 0), min_samples=2), ff.Sum("f")),
    (SO_FAR, ff.Last("f").then(lambda values: values)), (SO_FAR, ff.Sum("g")), (ff.last_rows(5), ff.StdDev("g")),
]  # fmt: skip
"""Some of values with NaN, which are in `g`."""


@needs_loops
def test_others_slide(row_by_row: list[bool]) -> None:
    for windows, output in SLID:
        ask(events(2), windows, r=output)
    assert row_by_row == [False] * len(SLID)


@needs_loops
@pytest.mark.parametrize(
    "window", [SO_FAR, ff.last_rows(7), ff.around(time=(-30, 0)), ff.around(time=(-20, 9))], ids=str
)
def test_events_in_no_order_slide_to_the_same_bits(window: Any, row_by_row: list[bool]) -> None:
    rng, rows = np.random.default_rng(3), 4_000
    table = events(3, rows, nulls=0.3 if window == SO_FAR else 0.0)
    floats = rng.normal(size=rows) * 10.0 ** rng.integers(-4, 4, rows)
    if window != SO_FAR:
        floats = 100 + np.cumsum(rng.normal(size=rows))
    table = table.set_column(0, "t", pa.array(np.arange(rows))).set_column(3, "f", pa.array(floats))
    table = table.append_column("z", pa.array(np.where(rng.random(rows) < 0.5, 0.0, -0.0)))
    outputs: Any = {"sum": ff.Sum("f"), "mean": ff.Mean("f"), "some": ff.Filtered(ff.Mean("f"), "b")}
    if window == SO_FAR:
        outputs = {name: each for name, (each, _, _) in OUTPUTS.items() if name not in ("list", "change")}
        outputs["zero"] = ff.Sum("z")
    elif window == ff.last_rows(7):
        outputs |= {"deviation": ff.StdDev("f"), "variance": ff.Variance("f", ddof=0)}
    found, slid = (ask(each, window, **outputs) for each in (table, table.take(pa.array(rng.permutation(rows)))))
    assert row_by_row == [True, False]
    slid = slid.sort_by("t")
    for name in outputs:
        one, other = (each[name].combine_chunks() for each in (found, slid))
        if pa.types.is_floating(one.type):
            one, other = (each.view(pa.int64()) for each in (one, other))
        assert one.equals(other), name


DAYS = [datetime.date(2024, 1, day) for day in (1, 2, 3)]
BEFORE = ff.around(rows=(-1, -1))
SMALL: dict[str, tuple[dict[str, list[Any]], Any, dict[str, Any], Any, list[Any]]] = {
    "values that three floats do not hold": ({"t": [*range(6)], "f": [1e300, 1.0, -1e300, 1e-300, math.inf, -1.0]},
        {}, SO_FAR, ff.Sum("f"), [1e300, 1e300, 1.0, 1.0, math.inf, math.inf]),
    "sums that just fit": ({"t": [0, 1], "i": [2**62, 2**62 - 1]}, {}, SO_FAR, ff.Sum("i"), [2**62, 2**63 - 1]),
    "rows without a time": ({"t": [1, None, 2, 3], "k": ["a", "a", "b", "a"], "f": [1.0, 2.0, 4.0, 8.0]},
        {"by": "k", "null_time": "drop"}, SO_FAR, ff.Sum("f"), [1.0, None, 4.0, 9.0]),
    "rows without a time, in no order": ({"t": [2, None, 1], "x": [1, 2, 4]}, {"null_time": "drop"},
        ff.around(time=(-5, 0)), ff.Sum("x"), [5, None, 4]),
    "ties in their order": ({"t": [1, 1, 2, 2], "i": [1, 2, 2, 1], "f": [1.0, 2.0, 3.0, 4.0]}, {"ties": ["i"]},
        BEFORE, ff.Last("f"), [None, 1.0, 4.0, 2.0]),
    "dates": ({"t": DAYS, "k": ["a", "b", "a"]}, {"by": "k"}, BEFORE, ff.Last("t"), [None, None, DAYS[0]]),
    "times of dates": ({"t": [DAYS[2], *DAYS[:2]], "x": [1, 2, 4]}, {}, ff.around(time=("-1 day", "0 days")),
        ff.Sum("x"), [5, 2, 6]),
    "text": ({"t": DAYS, "k": ["a", "b", "a"], "s": ["x", None, "y"]}, {"by": "k"}, BEFORE, ff.Last("s"),
        [None, None, "x"]),
}  # fmt: skip


@pytest.mark.parametrize("case", SMALL)
def test_small_tables(case: str) -> None:
    columns, of_events, windows, output, wanted = SMALL[case]
    found = ff.events(pa.table(columns), time="t", **of_events).window(windows).with_columns(r=output)
    assert found["r"].to_pylist() == wanted


def test_sums_that_do_not_fit() -> None:
    table = pa.table({"t": range(3), "k": ["a"] * 3, "i": [2**62, 2**62 - 1, 1]})
    with pytest.raises(ff.SumOverflowError, match="does not fit int64 in 1 of 3 windows"):
        ask(table, SO_FAR, r=ff.Sum("i"))
