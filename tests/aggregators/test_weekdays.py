"""Business days beside days that are counted one by one, and the ways to write a week and holidays."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import framefold as ff

DAY = dt.timedelta(days=1)
DENSE = [dt.date(2026, 1, 1) + n * DAY for n in range(31) if n != 20]
WEEKS = {"Mon Tue Wed Thu Fri": 0, "Sun Mon Tue Wed Thu": 6, "Tue Wed Thu Fri Sat": 1, "Wed Sat": 2, "Sun": 6}


@pytest.mark.parametrize("week", WEEKS)
@pytest.mark.parametrize("holidays", [[], DENSE, [dt.date(1, 1, 3), dt.date(1969, 12, 30), dt.date(9999, 12, 30)]])
@pytest.mark.parametrize("since", [dt.date(1, 1, 1), dt.date(1969, 11, 1), dt.date(2025, 12, 1), dt.date(9999, 10, 1)])
def test_as_counted_one_by_one(week: str, holidays: list[dt.date], since: dt.date) -> None:
    one = ff.business_days(1, week, holidays)
    number, numbers, begins = -1, [], []
    for days in range(90):
        date = since + days * DAY
        if f"{date:%a}" in week and date not in holidays:
            number += 1
            begins.append(days)
        numbers.append(number)
    epoch = (since - dt.date(1970, 1, 1)).days
    found = one.numbers(np.arange(90) + epoch)
    first = found[begins[0]]
    assert (found - first).tolist() == numbers
    assert (one.days(np.arange(len(begins)) + first) - epoch).tolist() == begins
    assert one.are_off(np.arange(90) + epoch).tolist() == [days not in begins for days in range(90)]


@pytest.mark.parametrize(("week", "monday"), WEEKS.items())
def test_weeks_begin_after_the_longest_break(week: str, monday: int) -> None:
    """As many business days as a week has are that week."""
    days = pa.table({"t": [dt.date(2026, 3, 2) + n * DAY for n in range(60)]})
    windows = ff.tumbling(ff.business_days(len(week.split()), week))
    starts = ff.events(days, time="t").window(windows).aggregate(n=ff.Count())["window"].to_pylist()
    assert {(row["start"].weekday(), (row["end"] - row["start"]).days) for row in starts} == {(monday, 7)}


def test_a_week_and_holidays_are_written_in_many_ways() -> None:
    bits = [True] * 4 + [False] * 2 + [True]
    weeks: list[Any] = ["Sun-Thu", "Sun Mon-Thu", "1111001", list(map(int, bits)), np.array(bits)]
    assert {ff.business_days(5, week) for week in weeks} == {ff.business_days(5, "Sun Mon Tue Wed Thu")}
    date, texts = dt.date(2026, 12, 25), ["2026-12-25"]
    berlin = pd.DatetimeIndex(texts, tz="Europe/Berlin")  # 24 December in UTC
    ways: list[Any] = [
        texts, ["2026-12-25 00:00:00"], (date,), {date: "Christmas"}, iter([date]), pa.array([date]),
        pd.to_datetime(texts), pd.Series(pd.to_datetime(texts)), np.array(texts, "datetime64[ns]"), berlin,
        list(berlin), pa.array(berlin), [berlin[0].to_pydatetime()],
    ]  # fmt: skip
    assert {ff.business_days(5, holidays=way) for way in ways} == {ff.business_days(5, holidays=[date])}


def test_others_are_told_apart_in_words() -> None:
    """What states at rest and checkpoints are compared by."""
    lengths = [
        "5bd", ff.business_days(5, "Mon-Sat"), ff.business_days(5, holidays=["2026-12-25"]),
        ff.business_days(5, holidays=["2026-12-24"]), ff.business_days(5, holidays=["2026-12-24", "2026-12-25"]),
        ff.business_days(5, holidays=["2026-12-23", "2026-12-25"]),
        ff.business_days(5, holidays=["2026-12-23", "2026-12-24", "2026-12-25"]),
    ]  # fmt: skip
    events = ff.events(pa.table({"t": [dt.date(2026, 12, 1)]}), time="t")
    kinds: list[Any] = [
        ff.tumbling, lambda of: ff.cumulating("1 month", of), lambda of: ff.cumulating(of, of),
        lambda of: ff.landmark(every=of), lambda of: ff.lookback(of, every="1 day"),
        lambda of: ff.lookback("1 month", every=of), lambda of: ff.around(time=("0 days", of)),
    ]  # fmt: skip
    for kind in kinds:
        said = [str(events.window(kind(of)).explain(n=ff.Count())).splitlines() for of in lengths]
        windows = {line for lines in said for line in lines if line.startswith("  windows")}
        assert len(windows) == len(lengths)
