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

from .test_random_runs import KINDS, Case, cases

pytestmark = [
    pytest.mark.filterwarnings("ignore::framefold.GapsWarning"),
    pytest.mark.filterwarnings("ignore::framefold.CalendarWarning"),
]

OUTPUTS: dict[str, Any] = {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Count(), "d": ff.CountDistinct("x")}

LOOKBACKS: list[tuple[int, str, Any]] = [
    (3, "left", ff.lookback(6, 3, 30, every=3)),
    (3, "left", ff.lookback(12, every=6)),
    (3, "right", ff.lookback(9, 15, every=3, closed="right")),
    (3, "left", ff.lookback(3, 9, every=6)),
    (1, "left", ff.lookback(5, 2, every=3, closed="both")),
    (1, "left", ff.lookback(5, 2, every=3, closed="neither")),
]
"""Frames, their closed ends, and lookbacks over them."""


def events(chance: random.Random, rows: int) -> pa.Table:
    return pa.table(
        {
            "t": [chance.randrange(60) for _ in range(rows)],
            "k": pa.array([chance.choice(["a", "b", None]) for _ in range(rows)], pa.string()),
            "x": [chance.randrange(5) for _ in range(rows)],
        }
    )


def stored_in(path: Path, frame: int, closed: Any, **more: Any) -> ff.StoredPartials:
    return ff.partials(path, time="t", by="k", frame=ff.tumbling(frame, closed=closed), **OUTPUTS, **more)


def some(table: pa.Table, kept: list[bool]) -> list[Any]:
    rows: list[Any] = table.filter(pa.array(kept, pa.bool_())).to_pylist()
    return rows


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("frame", "closed", "lookback"), LOOKBACKS, ids=lambda each: str(each))
def test_as_one_query(frame: int, closed: str, lookback: Any, seed: int, tmp_path: Path) -> None:
    """All of them, those that end between two times, that a run has changed, that are at a time."""
    chance = random.Random(seed)
    table, late = events(chance, chance.choice([3, 40, 100])), events(chance, chance.choice([1, 4]))
    stored = stored_in(tmp_path / "p", frame, closed)
    for run, part in enumerate((table.slice(0, 2), table.slice(2), late)):
        stored.append(part, run=str(run))
    both = pa.concat_tables([table, late])
    whole = ff.events(both, time="t", by="k").window(lookback).aggregate(**OUTPUTS)
    windows = stored.window(lookback)
    assert windows.aggregate() == whole
    named = windows.aggregate("s")
    assert named == whole.select(["k", "at", *(name for name in whole.column_names if name[0] == "s")])
    at = whole["at"].to_pylist()
    for after, until in [(None, 30), (20, None), (20, 23), (18, 33), (40, 30), (100, 200), (17, 18)]:
        kept = [(after is None or end > after) and (until is None or end <= until) for end in at]
        assert windows.ending(after, until).aggregate().to_pylist() == some(whole, kept), (after, until)
    longest = max(lookback.sizes)
    inside = {
        "left": lambda t, end: end - longest <= t < end, "right": lambda t, end: end - longest < t <= end,
        "both": lambda t, end: end - longest <= t <= end, "neither": lambda t, end: end - longest < t < end,
    }[lookback.closed]  # fmt: skip
    times = list(zip(late["k"].to_pylist(), late["t"].to_pylist(), strict=True))
    kept = [any(key == row["k"] and inside(t, row["at"]) for key, t in times) for row in whole.to_pylist()]
    assert stored.changed(run="2").window(lookback).aggregate().to_pylist() == some(whole, kept)
    for now in range(-2, 95, 5):
        end = -(-now // lookback.every) * lookback.every
        kept = [row["k"] in ("b", None) and row["at"] == end for row in whole.to_pylist()]
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


@pytest.mark.parametrize("kind", ["sliding", "calendar"])
def test_random_runs_of_every_operation(kind: str, tmp_path: Path) -> None:
    chosen = [looking_back(case) for case in cases(kind, 12, first=KINDS.index(kind) * 7)]
    right = [case.assert_right(case.stored(tmp_path)) for case in chosen]
    assert sum(right) > 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sliding", "tumbling", "calendar"])
def test_many_random_runs_of_every_operation(kind: str, tmp_path: Path) -> None:
    chosen = [looking_back(case) for case in cases(kind, 40, first=KINDS.index(kind) * 5 + 3)]
    right = [case.assert_right(case.stored(tmp_path)) for case in chosen]
    assert sum(right) > 10


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_months_and_days_of_a_zone(zone: str, tmp_path: Path) -> None:
    """Across the end of summer time: days of 24 hours would cut a stored day, months do not."""
    chance = random.Random(1)
    start = dt.datetime(2025, 8, 29, tzinfo=dt.UTC)
    times = [start + dt.timedelta(hours=chance.randrange(24 * 90)) for _ in range(200)]
    table = pa.table({"t": pa.array(times, pa.timestamp("us", zone)), "x": range(200)})
    day = ff.partials(tmp_path / "p", time="t", frame="1 day", n=ff.Count(), s=ff.Sum("x"))
    day.append(table.slice(0, 100), run="a")
    day.append(table.slice(100), run="b")
    for sizes in (["1 month", "1 quarter"], ["1 day", "1 month"], ["7 days", "30 days"]):
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


def test_on_spark(spark: Any, tmp_path: Path, limit: Any) -> None:
    chance = random.Random(5)
    table = events(chance, 120)
    lookback = ff.lookback(6, 30, every=3)
    stored = stored_in(tmp_path / "p", 3, "left")
    stored.append(table, run="1")
    whole = ff.events(table, time="t", by="k").window(lookback).aggregate(**OUTPUTS)
    on_spark = stored_in(tmp_path / "p", 3, "left", spark=spark).window(lookback)
    for most in (None, 0):
        if most is not None:
            limit(few_events=most)
        assert on_spark.aggregate().toArrow().to_pylist() == whole.to_pylist()
        found = on_spark.ending(20, 40).aggregate("n").toArrow()
        kept = [20 < end <= 40 for end in whole["at"].to_pylist()]
        assert found.to_pylist() == some(whole.select(["k", "at", "n_6", "n_30"]), kept)


def test_longer_frames_beside_the_others(tmp_path: Path) -> None:
    """Rollups are read where all sizes have them as a whole."""
    chance = random.Random(8)
    table = events(chance, 200)
    stored = ff.partials(tmp_path / "p", time="t", by="k", frame=3, n=ff.Count(), s=ff.Sum("x"))
    for first in range(0, 60, 6):
        inside = [first <= time < first + 6 for time in table["t"].to_pylist()]
        stored.append(table.filter(pa.array(inside)), run=str(first))
    stored.roll_up(12)
    assert stored.table.commits.latest().rollups
    lookback = ff.lookback(6, 48, every=3)
    whole = ff.events(table, time="t", by="k").window(lookback).aggregate(n=ff.Count(), s=ff.Sum("x"))
    for until in (48, 54, 60, 75):
        kept = [end == until for end in whole["at"].to_pylist()]
        assert stored.window(lookback).ending(until - 3, until).aggregate().to_pylist() == some(whole, kept)
        for _ in range(2):
            found = stored.window(lookback).lookup(["a", "b", None], at=until)
            assert found.to_pylist() == some(whole, kept)


def test_what_is_expired_or_was_added_later(tmp_path: Path) -> None:
    """A row has all sizes: it is given where the longest of them reaches no further back than what is kept."""
    table = pa.table({"t": list(range(0, 60, 2)), "k": ["a"] * 30, "x": [1] * 30})
    stored = ff.partials(tmp_path / "p", time="t", by="k", frame=3, n=ff.Count())
    stored.append(table, run="1")
    stored.expire(30)
    lookback = ff.lookback(3, 12, every=3)
    whole = ff.events(table, time="t", by="k").window(lookback).aggregate(n=ff.Count())
    kept = [end - 12 >= 30 for end in whole["at"].to_pylist()]
    assert stored.window(lookback).aggregate().to_pylist() == some(whole, kept)
    more = stored.add_output(table.slice(0, 1), s=ff.Sum("x"))
    more.append(pa.table({"t": [60, 75], "k": ["a", "a"], "x": [5, 6]}), run="2")
    with pytest.raises(ff.QueryError, match=r"'s' is stored from 60 on, and .* are asked for that reach further back"):
        more.window(lookback).aggregate("s")
    assert more.window(lookback).ending(after=69).aggregate("s").to_pylist() == [
        {"k": "a", "at": 72, "s_3": None, "s_12": 5}, {"k": "a", "at": 78, "s_3": 6, "s_12": 6},
        {"k": "a", "at": 81, "s_3": None, "s_12": 6}, {"k": "a", "at": 84, "s_3": None, "s_12": 6},
        {"k": "a", "at": 87, "s_3": None, "s_12": 6},
    ]  # fmt: skip


def test_what_is_refused(tmp_path: Path) -> None:
    stored = stored_in(tmp_path / "p", 3, "left")
    stored.append(events(random.Random(0), 9), run="1")
    with pytest.raises(ff.QueryError, match=r"the lookback is for each event, at times within .*; expected steps at"):
        stored.window(ff.lookback(3))
    labels = pa.table({"k": ["a"], "at": [3]})
    with pytest.raises(ff.QueryError, match=r"the lookback is for the rows of at=, at times within stored frames; exp"):
        stored.window(ff.lookback(3, at=labels))
    with pytest.raises(ff.QueryError, match=r"is given a lookback and other windows; expected it alone"):
        stored.window(ff.lookback(3, every=3), ff.tumbling(3))
    for lookback in (ff.lookback(3, every=2), ff.lookback(4, every=3), ff.lookback(3, every=3, closed="both")):
        with pytest.raises(
            ff.QueryError, match=r"up to every .* cut the stored frame from .* in two; expected windows"
        ):
            stored.window(lookback).aggregate()
