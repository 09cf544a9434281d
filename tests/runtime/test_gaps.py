"""Windows that leave out some of time, or of the rows, are warned of: once, in words, at the user's line."""

from __future__ import annotations

import datetime as dt
import inspect
import warnings
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

MOMENTS = pa.array([dt.datetime(2026, 1, 5, 10, minute) for minute in range(5)], pa.timestamp("us", "UTC"))
DAYS = pa.array([dt.date(2026, 1, day) for day in range(1, 6)])
TIMES = {"moment": MOMENTS, "day": DAYS, "tick": pa.array(range(5)), "until": pa.array(range(1, 6))}


def events(time: str = "tick", **more: Any) -> ff.Events:
    return ff.events(pa.table(TIMES), time=time, **more)


def told(query: Any, **outputs: Any) -> list[str]:
    """What aggregating warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        query.aggregate(**(outputs or {"n": ff.Count()}))
    assert {each.category for each in found} <= {ff.GapsWarning}
    return [str(each.message) for each in found]


GAPS = {
    "a minute an hour": ("moment", lambda **of: ff.sliding("1 minute", every="1 hour", **of),
        "windows of 1 minute every 1 hour leave out 59 minutes of every hour (98 %)"),
    "an hour and a half a day": ("moment", lambda **of: ff.sliding("90 minutes", every="1 day", **of),
        "windows of 1 hour 30 minutes every 1 day leave out 22 hours 30 minutes of every day (94 %)"),
    "hardly any": ("moment", lambda **of: ff.sliding("59 minutes 59 seconds", every="1 hour", **of),
        "leave out 1 second of every hour (less than 1 %)"),
    "hardly anything else": ("moment", lambda **of: ff.sliding("1 second", every="90 minutes", closed="right", **of),
        "leave out 1 hour 29 minutes 59 seconds of every 1 hour 30 minutes (more than 99 %)"),
    "dates": ("day", lambda **of: ff.sliding("2 days", every="7 days", **of), "5 days of every 7 days (71 %)"),
    "integers": ("tick", lambda **of: ff.sliding(10, every=60, empty="emit", **of),
        "windows of 10 every 60 leave out 50 of every 60 (83 %)"),
    "months": ("moment", lambda **of: ff.sliding("1 month", every="1 year", **of),
        "windows of 1 month every 12 months leave out 11 months of every 12 months:"),
    "days of a zone": ("moment", lambda **of: ff.sliding("1 day", every="1 week", timezone="Europe/Berlin", **of),
        "windows of 1 day every 7 days leave out 6 days of every 7 days (86 %)"),
    "rows": ("tick", lambda **of: ff.last_rows(3, every=4, **of),
        "the last 3 rows every 4 leave out 1 row of every 4 rows (25 %)"),
    "times": ("tick", lambda **of: ff.last_rows(3, every=5, ties="distinct_time", **of),
        "leave out 2 times of every 5 times (40 %)"),
    "whole times": ("tick", lambda **of: ff.last_rows(3, every=5, ties="strict", **of),
        "leave out at least 2 times of every 5 times (40 %)"),
    "policies by count": ("tick", lambda **of: ff.policy(ff.by_count(2), ff.by_count(5), **of),
        "windows that evict count(2), trigger count(5) leave out 3 rows of every 5 rows (60 %)"),
    "policies by time": ("moment", lambda **of: ff.policy(ff.by_time("1 minute"), ff.by_time("1 hour"), **of),
        "windows that evict time(1 minute), trigger time(1 hour) leave out 59 minutes of every hour (98 %)"),
    "policies by ticks": ("tick", lambda **of: ff.policy(ff.by_time(1), ff.by_time(4), **of), "2 of every 4 (50 %)"),
}  # fmt: skip


@pytest.mark.parametrize("name", GAPS)
def test_gaps_are_told_unless_they_are_meant(name: str) -> None:
    time, window, words = GAPS[name]
    [message] = told(events(time).window(window()))
    assert words in message
    assert message.endswith("events there are in no window; gaps='allow' says that this is meant")
    assert told(events(time).window(window(gaps="allow"))) == []


NO_GAPS = [
    ff.sliding(60, every=60),
    ff.sliding(60, every=59),
    ff.tumbling(60),
    ff.cumulating(60, every=20),
    ff.session(1),
    ff.landmark(every=60),
    ff.last_rows(3, every=3),
    ff.around(rows=(-1, 0)),
    ff.policy(ff.by_count(5), ff.by_count(5)),
    ff.policy(ff.by_time(3), ff.by_time(4)),  # a row of three ticks ago is still in
    ff.policy(ff.by_count(1), ff.by_time(4)),
    ff.policy(ff.by_delta("tick", 1), ff.by_delta("tick", 4)),
]


@pytest.mark.parametrize("window", NO_GAPS, ids=str)
def test_nothing_is_told_where_there_are_no_gaps(window: Any) -> None:
    assert told(events().window(window)) == []


def test_explain_tells_it_as_well() -> None:
    with pytest.warns(ff.GapsWarning, match="50 of every 60"):
        plan = events().window(ff.sliding(10, every=60)).explain(n=ff.Count())
    assert "the 50 after it are in no window" in str(plan)


def test_each_kind_of_windows_is_told_once() -> None:
    several = events().window(ff.sliding(1, every=3), ff.tumbling(2), ff.sliding(1, every=4))
    assert [message.split(" leave")[0] for message in told(several)] == ["windows of 1 every 3", "windows of 1 every 4"]
    twice = {"n": ff.Count().over(ff.sliding(1, every=3)), "s": ff.Sum("tick").over(ff.sliding(1, every=3))}
    assert len(told(events(), **twice)) == 1
    assert len(told(events(until="until").window(ff.sliding(1, every=3)))) == 1


def test_it_is_told_at_the_line_that_asks() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        frame = inspect.currentframe()
        assert frame is not None
        line = frame.f_lineno
        events().window(ff.sliding(1, every=3)).aggregate(n=ff.Count())
        events().aggregate(n=ff.Count().over(ff.sliding(1, every=3)))
        events().window(ff.sliding(1, every=3)).explain(n=ff.Count())
    assert [(each.filename, each.lineno - line) for each in found] == [(__file__, 1), (__file__, 2), (__file__, 3)]


def test_allowing_gaps_makes_no_other_windows() -> None:
    assert ff.sliding(1, every=3, gaps="allow") == ff.sliding(1, every=3)
    found = events().window(ff.sliding(1, every=3, gaps="allow")).aggregate(n=ff.Count())
    with pytest.warns(ff.GapsWarning):
        assert events().window(ff.sliding(1, every=3)).aggregate(n=ff.Count()) == found


@pytest.mark.parametrize(
    "window",
    [
        lambda **of: ff.sliding(1, every=3, **of),
        lambda **of: ff.last_rows(1, every=3, **of),
        lambda **of: ff.policy(ff.by_count(1), ff.by_count(3), **of),
    ],
)
def test_other_words_for_gaps(window: Any) -> None:
    with pytest.raises(ff.QueryError, match="gaps is 'ok'; expected 'warn' or 'allow'"):
        window(gaps="ok")
