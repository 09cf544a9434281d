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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        query.aggregate(**(outputs or {"n": ff.Count()}))
    assert {each.category for each in caught} <= {ff.GapsWarning}
    return [str(each.message) for each in caught]


SLIDING, ROWS, COUNT, TIME = ff.sliding, ff.last_rows, ff.by_count, ff.by_time
GAPS: list[tuple[str, Any, tuple[Any, ...], dict[str, Any], str]] = [
    ("moment", SLIDING, ("1 minute", "1 hour"), {},
        "windows of 1 minute every 1 hour leave out 59 minutes of every hour (98 %)"),
    ("moment", SLIDING, ("90 minutes", "1 day"), {},
        "windows of 1 hour 30 minutes every 1 day leave out 22 hours 30 minutes of every day (94 %)"),
    ("moment", SLIDING, ("59 minutes 59 seconds", "1 hour"), {}, "leave out 1 second of every hour (less than 1 %)"),
    ("moment", SLIDING, ("1 second", "90 minutes"), {"closed": "right"},
        "leave out 1 hour 29 minutes 59 seconds of every 1 hour 30 minutes (more than 99 %)"),
    ("day", SLIDING, ("2 days", "7 days"), {}, "5 days of every 7 days (71 %)"),
    ("tick", SLIDING, (10, 60), {"empty": "emit"}, "windows of 10 every 60 leave out 50 of every 60 (83 %)"),
    ("moment", SLIDING, ("1 month", "1 year"), {},
        "windows of 1 month every 12 months leave out 11 months of every 12 months:"),
    ("moment", SLIDING, ("1 day", "1 week"), {"timezone": "Europe/Berlin"},
        "windows of 1 day every 7 days leave out 6 days of every 7 days (86 %)"),
    ("tick", ROWS, (3,), {"every": 4}, "the last 3 rows every 4 leave out 1 row of every 4 rows (25 %)"),
    ("tick", ROWS, (3,), {"every": 5, "ties": "distinct_time"}, "leave out 2 times of every 5 times (40 %)"),
    ("tick", ROWS, (3,), {"every": 5, "ties": "strict"}, "leave out at least 2 times of every 5 times (40 %)"),
    ("tick", ff.policy, (COUNT(2), COUNT(5)), {},
        "windows that evict count(2), trigger count(5) leave out 3 rows of every 5 rows (60 %)"),
    ("moment", ff.policy, (TIME("1 minute"), TIME("1 hour")), {},
        "windows that evict time(1 minute), trigger time(1 hour) leave out 59 minutes of every hour (98 %)"),
    ("tick", ff.policy, (TIME(1), TIME(4)), {}, "2 of every 4 (50 %)"),
]  # fmt: skip


@pytest.mark.parametrize(("time", "window", "of", "more", "words"), GAPS)
def test_gaps_are_told_unless_they_are_meant(time: str, window: Any, of: Any, more: dict[str, Any], words: str) -> None:
    [message] = told(events(time).window(window(*of, **more)))
    assert words in message
    assert message.endswith("events there are in no window; gaps='allow' says that this is meant")
    assert told(events(time).window(window(*of, **more, gaps="allow"))) == []
    with pytest.raises(ff.QueryError, match="gaps is 'ok'; expected 'warn' or 'allow'"):
        window(*of, **more, gaps="ok")


def test_nothing_is_told_where_there_are_no_gaps() -> None:
    for window in (
        *(ff.sliding(60, every=60), ff.sliding(60, every=59), ff.tumbling(60), ff.cumulating(60, every=20)),
        *(ff.session(1), ff.landmark(every=60), ff.last_rows(3, every=3), ff.around(rows=(-1, 0))),
        *(ff.policy(COUNT(5), COUNT(5)), ff.policy(COUNT(1), TIME(4))),
        ff.policy(TIME(3), TIME(4)),  # a row of three ticks ago is still in
        ff.policy(ff.by_delta("tick", 1), ff.by_delta("tick", 4)),
    ):
        assert told(events().window(window)) == [], window


def test_each_kind_of_windows_is_told_once() -> None:
    several = events().window(ff.sliding(1, every=3), ff.tumbling(2), ff.sliding(1, every=4))
    assert [message.split(" leave")[0] for message in told(several)] == ["windows of 1 every 3", "windows of 1 every 4"]
    twice = {"n": ff.Count().over(ff.sliding(1, every=3)), "s": ff.Sum("tick").over(ff.sliding(1, every=3))}
    assert len(told(events(), **twice)) == 1
    assert len(told(events(until="until").window(ff.sliding(1, every=3)))) == 1


def test_it_is_told_at_the_line_that_asks() -> None:
    """By explain() as well."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = inspect.currentframe()
        assert frame is not None
        line = frame.f_lineno
        events().window(ff.sliding(1, every=3)).aggregate(n=ff.Count())
        events().aggregate(n=ff.Count().over(ff.sliding(1, every=3)))
        plan = events().window(ff.sliding(1, every=3)).explain(n=ff.Count())
    assert [(each.filename, each.lineno - line) for each in caught] == [(__file__, 1), (__file__, 2), (__file__, 3)]
    assert "the 2 after it are in no window" in str(plan)


def test_allowing_gaps_makes_no_other_windows() -> None:
    assert ff.sliding(1, every=3, gaps="allow") == ff.sliding(1, every=3)
    allowed = events().window(ff.sliding(1, every=3, gaps="allow")).aggregate(n=ff.Count())
    with pytest.warns(ff.GapsWarning):
        assert events().window(ff.sliding(1, every=3)).aggregate(n=ff.Count()) == allowed
