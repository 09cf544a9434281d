"""Lookbacks at steps over stored partials: as one query over all events has them."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from .test_asked import events
from .test_random_runs import KINDS, Case, cases
from .test_random_runs import pytestmark as pytestmark

OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Count(), "d": ff.CountDistinct("x")}

LOOKBACKS: list[Any] = [
    ff.lookback(6, 3, 30, every=3),
    ff.lookback(5, 2, every=3, closed="both"),
    ff.lookback(5, 2, every=3, closed="neither"),
]
"""Those that a history of a table, in ``histories.py``, does not ask for: that have both bounds, or neither."""


def some(table: pa.Table, kept: list[bool]) -> list[Any]:
    return table.filter(pa.array(kept, pa.bool_())).to_pylist()


@pytest.mark.parametrize("lookback", LOOKBACKS, ids=str)
def test_as_one_query(lookback: Any, tmp_path: Path) -> None:
    """All rows, those that end between two times, that a run has changed, that are at a time."""
    chance = random.Random(2)
    table, late = events(chance, 100), events(chance, 4)
    stored = ff.partials(tmp_path / "p", time="t", by="k", frame=1, **OUTPUTS)
    for run, part in enumerate((table.slice(0, 2), table.slice(2), late)):
        stored.append(part, run=str(run))
    whole = ff.events(pa.concat_tables([table, late]), time="t", by="k").window(lookback).aggregate(**OUTPUTS)
    windows = stored.window(lookback)
    assert windows.aggregate() == whole
    assert windows.aggregate("s") == whole.select(["k", "at", *(f"s_{size}" for size in lookback.sizes)])
    ends = whole["at"].to_pylist()
    for after, until in [(None, 30), (20, None), (20, 23), (100, 200), (17, 18)]:
        kept = [(after is None or end > after) and (until is None or end <= until) for end in ends]
        assert windows.ending(after, until).aggregate().to_pylist() == some(whole, kept), (after, until)
    longest, closed = max(lookback.sizes), lookback.closed
    times = list(zip(late["k"].to_pylist(), late["t"].to_pylist(), strict=True))

    def inside(time: int, end: int) -> bool:
        """Whether a time is in the longest window that ends at another."""
        return end - longest + (closed == "neither") <= time < end + (closed == "both")

    kept = [any(key == row["k"] and inside(time, row["at"]) for key, time in times) for row in whole.to_pylist()]
    assert stored.changed(run="2").window(lookback).aggregate().to_pylist() == some(whole, kept)
    for now in range(-2, 95, 5):
        kept = [row["k"] in ("b", None) and row["at"] == -(-now // 3) * 3 for row in whole.to_pylist()]
        assert windows.lookup(["b", None, "z"], at=now).to_pylist() == some(whole, kept), now


def multiple(size: Any, times: int) -> Any:
    """Some times a duration of one unit."""
    if isinstance(size, int):
        return size * times
    number, unit = size.split()
    return f"{int(number) * times} {unit}"


def looking_back(case: Case) -> Case:
    size, chance = case.frames.size, case.chance  # type: ignore[attr-defined]
    sizes = [multiple(size, each) for each in chance.sample(range(1, 9), chance.choice([1, 3]))]
    windows: Any = ff.lookback(*sizes, every=multiple(size, chance.choice([1, 1, 2])), closed=case.frames.closed)  # type: ignore[attr-defined]
    return replace(case, windows=windows)


@pytest.mark.parametrize(
    ("kind", "count", "first", "least"),
    [("sliding", 12, 0, 4), ("calendar", 12, 14, 4)]
    + [pytest.param(kind, 40, 5 * KINDS.index(kind) + 3, 11, marks=pytest.mark.slow) for kind in KINDS[:3]],
)
def test_random_runs_of_every_operation(kind: str, count: int, first: int, least: int, tmp_path: Path) -> None:
    chosen = [looking_back(case) for case in cases(kind, count, first=first)]
    assert sum(case.assert_right(case.stored(tmp_path)) for case in chosen) >= least


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_months_and_days_of_a_zone(zone: str, tmp_path: Path) -> None:
    """Across the end of summer time: days of 24 hours would cut a stored day, months do not."""
    chance, start = random.Random(1), dt.datetime(2025, 8, 29, tzinfo=dt.UTC)
    times = [start + dt.timedelta(hours=chance.randrange(24 * 90)) for _ in range(200)]
    table = pa.table({"t": pa.array(times, pa.timestamp("us", zone)), "x": range(200)})
    day = ff.partials(tmp_path / "p", time="t", frame="1 day", n=ff.Count(), s=ff.Sum("x"))
    day.append(table.slice(0, 100), run="a")
    day.append(table.slice(100), run="b")
    for sizes in (
        ["1 month", "1 quarter"],
        ["5 business days", "1 quarter"],
        ["1 day", "1 month"],
        ["7 days", "30 days"],
    ):
        lookback = ff.lookback(*sizes, every="1 day")
        outputs: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x")}
        if zone == "UTC" or "1 quarter" in sizes:
            whole = ff.events(table, time="t").window(lookback).aggregate(**outputs)
            assert day.window(lookback).aggregate() == whole
            now = start + dt.timedelta(days=50)
            found = day.window(lookback).ending(now - dt.timedelta(days=1), now).aggregate()
            assert found.to_pylist() == [
                row for row in whole.to_pylist() if now - dt.timedelta(days=1) < row["at"] <= now
            ]
            continue
        with pytest.raises(ff.QueryError, match=r"up to every 1 day in Europe/Berlin, .* cut the stored frame from"):
            day.window(lookback).aggregate()


def test_an_output_that_was_added_later(tmp_path: Path) -> None:
    """A row has all sizes: it is there if the longest of them reaches no further back than the output."""
    stored = ff.partials(tmp_path / "p", time="t", by="k", frame=3, n=ff.Count())
    stored.append(pa.table({"t": range(0, 60, 2), "k": ["a"] * 30, "x": [1] * 30}), run="1")
    more = stored.add_output(pa.table({"x": [1]}), s=ff.Sum("x"))
    more.append(pa.table({"t": [60, 75], "k": ["a", "a"], "x": [5, 6]}), run="2")
    lookback = ff.lookback(3, 12, every=3)
    with pytest.raises(ff.QueryError, match=r"'s' is stored from 60 on, and .* are asked for that reach further back"):
        more.window(lookback).aggregate("s")
    rows = [(72, None, 5), (78, 6, 6), (81, None, 6), (84, None, 6), (87, None, 6)]
    found = more.window(lookback).ending(after=69).aggregate("s").to_pylist()
    assert found == [{"k": "a", "at": at, "s_3": short, "s_12": long} for at, short, long in rows]
