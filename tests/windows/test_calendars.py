"""Days, weeks and months of the zone that times have, and weeks from Monday, as Polars has them, and by definition."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.shards import Cut, as_stream
from ..support.windows import is_known_unit as is_known

pytestmark = pytest.mark.filterwarnings("ignore::framefold.CalendarWarning")

ZONES = ["America/New_York", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "+05:30", "-03:00", "Etc/UTC"]
HOUR = 3_600_000_000


def instants(hours: int = 24 * 420, count: int = 3000, start: str = "2018-01-15") -> np.ndarray:
    """Microseconds of instants in more than a year, with changes of the clock in most zones."""
    since = np.datetime64(start, "us").astype(np.int64)
    return since + np.sort(np.random.default_rng(7).integers(0, hours * HOUR, count))


def table(zone: str | None, ticks: np.ndarray | None = None) -> pa.Table:
    ticks = instants() if ticks is None else ticks
    return pa.table({"t": pa.array(ticks).view(pa.timestamp("us", tz=zone)), "k": [n % 2 for n in range(len(ticks))]})


def microseconds(column: pa.ChunkedArray) -> list[int]:
    return column.combine_chunks().cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()


def bounds(data: Any, window: Any) -> dict[tuple[int, int], int]:
    """The number of events by the first microsecond of each window, and the first one after it."""
    found = ff.events(data, time="t").window(window).aggregate(n=ff.Count())
    columns = (microseconds(pc.struct_field(found["window"], name)) for name in ("start", "end"))
    return dict(zip(zip(*columns, strict=True), found["n"].to_pylist(), strict=True))


def counts(data: Any, window: Any) -> dict[int, int]:
    """The same by the first microsecond."""
    return {start: count for (start, _), count in bounds(data, window).items()}


SHORT = {"1 day": "1d", "1 week": "1w", "1 month": "1mo", "1 quarter": "1q", "1 year": "1y", "3 days": "3d"}


@pytest.mark.parametrize("zone", [None, *ZONES])
def test_tumbling_as_polars_truncates(zone: str | None) -> None:
    data = table(zone, instants(count=1500))
    if zone is not None and not is_known(zone):  # to older versions of pyarrow, where it is refused
        with pytest.raises(ff.QueryError, match="is not known here"):
            counts(data, ff.tumbling("1 day"))
        return
    # Polars knows no zone such as +05:30: the same by a clock that never changes.
    away = {"+05:30": dt.timedelta(hours=5, minutes=30), "-03:00": dt.timedelta(hours=-3)}.get(zone or "")
    times: Any = pl.from_arrow(data["t"] if away is None else data["t"].cast(pa.timestamp("us")))
    for size, short in SHORT.items():
        try:
            starts = times.dt.truncate(short) if away is None else (times + away).dt.truncate(short) - away
        except pl.exceptions.ComputeError as error:
            pytest.skip(f"this Polars has no answer: {error}")
        want = dict(zip(*(column.to_list() for column in starts.dt.timestamp("us").value_counts()), strict=True))
        assert counts(data, ff.tumbling(size)) == want, size


def test_offset_and_timezone_say_otherwise() -> None:
    data = table("America/New_York")
    utc = table("UTC")
    assert counts(data, ff.tumbling("1 day", timezone="UTC")) == counts(utc, ff.tumbling("1 day"))
    assert counts(utc, ff.tumbling("1 day", timezone="America/New_York")) == counts(data, ff.tumbling("1 day"))
    for zone, windows in (("America/New_York", data), (None, table(None))):
        for offset, weekday in (("-1 day", 6), ("0 days", 0)):
            local = [from_utc(start, zone) for start in counts(windows, ff.tumbling("1 week", offset=offset))]
            assert {(each.weekday(), each.time()) for each in local} == {(weekday, dt.time())}
    nine = [from_utc(start, "America/New_York") for start in counts(data, ff.tumbling("1 day", offset="9 hours"))]
    assert {each.hour for each in nine} == {9}
    moment = dt.datetime(2018, 3, 5, 14, tzinfo=dt.UTC)  # a Monday, nine o'clock in New York
    starts = [from_utc(start, "America/New_York") for start in counts(data, ff.tumbling("1 week", offset=moment))]
    assert {(each.weekday(), each.hour) for each in starts} == {(0, 9)}
    # What is not written in calendar units is as long as it says, and counts from 1970 in UTC.
    assert counts(data, ff.tumbling("24 hours")) == counts(utc, ff.tumbling("1 day"))


def from_utc(ticks: int, zone: str | None) -> dt.datetime:
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=ticks)
    return moment if zone is None else moment.astimezone(ZoneInfo(zone))


def midnight(day: dt.date, zone: str) -> int:
    moment = dt.datetime.combine(day, dt.time(), ZoneInfo(zone))
    if moment.astimezone(dt.UTC).astimezone(moment.tzinfo).replace(tzinfo=None) != moment.replace(tzinfo=None):
        moment += dt.timedelta(hours=1)  # a midnight that is left out
    return (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


def clock_cycles(ticks: np.ndarray, zone: str, hours: int, days: int) -> dict[tuple[int, int], int]:
    """Cumulating windows by their definition: from midnight on, every so many hours, up to the next one."""
    want: dict[tuple[int, int], int] = {}
    first = from_utc(int(ticks.min()), zone).date() - dt.timedelta(days=8)
    anchor = dt.date(1969, 12, 29) if days == 7 else dt.date(1970, 1, 1)
    day = anchor + (first - anchor) // dt.timedelta(days) * dt.timedelta(days)
    while midnight(day, zone) <= ticks.max():
        begin, stop = midnight(day, zone), midnight(day + dt.timedelta(days), zone)
        ends = (
            [midnight(day + dt.timedelta(n), zone) for n in range(1, days + 1)]
            if hours == 24
            else [min(begin + n * hours * HOUR, stop) for n in range(1, -(-(stop - begin) // (hours * HOUR)) + 1)]
        )
        for end in ends:
            inside = int(((ticks >= begin) & (ticks < end)).sum())
            if inside:
                want[begin, end] = inside
        day += dt.timedelta(days)
    return want


CYCLES = [
    ("1 day", "1 hour", 1, 1),
    ("1 day", "6 hours", 6, 1),
    ("1 week", "1 day", 24, 7),
    ("2 days", "12 hours", 12, 2),
]


@pytest.mark.parametrize("zone", ["America/New_York", "America/Sao_Paulo", "Asia/Kathmandu"])
@pytest.mark.parametrize(("size", "every", "hours", "days"), CYCLES)
def test_cumulating_since_midnight(size: str, every: str, hours: int, days: int, zone: str) -> None:
    """Also on the days of 23 and 25 hours, and over chunks, streams and interval bounds."""
    ticks = instants(24 * 320, 700, "2018-02-10")
    data, want = table(zone, ticks), clock_cycles(ticks, zone, hours, days)
    assert bounds(data, ff.cumulating(size, every=every)) == want
    assert bounds(table("UTC", ticks), ff.cumulating(size, every=every, timezone=zone)) == want
    filled = bounds(data, ff.cumulating(size, every=every, empty="emit"))
    assert {at: n for at, n in filled.items() if n} == want
    assert all(begin < end for begin, end in filled)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
def test_landmarks_end_with_days(zone: str) -> None:
    ticks = instants(24 * 300, 500, "2018-02-10")
    data = table(zone, ticks)
    found = ff.events(data, time="t").window(ff.landmark(every="1 day", stamp="end")).aggregate(n=ff.Count())
    ends = microseconds(found["at"])
    assert {from_utc(end, zone).time() for end in ends} == {dt.time()}
    assert found["n"].to_pylist() == [int((ticks < end).sum()) for end in ends]
    since = dt.date(2018, 3, 1)
    begin = midnight(since, zone)
    want = {}
    for week in range(1, 60):
        end = midnight(since + dt.timedelta(weeks=week), zone)
        want[begin, end] = int(((ticks >= begin) & (ticks < end)).sum())
        if end > ticks.max():
            break
    assert bounds(data, ff.landmark(since=since, every="1 week")) == {at: n for at, n in want.items() if n}


def test_a_trigger_by_time_comes_at_midnight() -> None:
    ticks = instants(24 * 90, 200, "2018-02-10")
    windows = ff.policy(ff.by_count(5), ff.by_time("1 day"))
    found = ff.events(table("America/New_York", ticks), time="t").window(windows).aggregate(n=ff.Count())
    at = microseconds(found["at"])
    assert len(at) > 80
    assert {from_utc(each, "America/New_York").time() for each in at} == {dt.time()}


def test_a_date_is_its_midnight_in_the_zone_that_is_said_or_that_of_the_column() -> None:
    """Also where that which is said is UTC, and the column's is another."""
    data = table("America/New_York", instants(24 * 4, 20, "2018-03-10"))
    day = dt.date(2018, 3, 11)
    between: dict[str, Any] = {"empty": "emit", "fill_from": "2018-03-01", "fill_to": dt.date(2018, 4, 1)}
    for said, zone in ((None, "America/New_York"), ("Europe/Berlin", "Europe/Berlin"), ("UTC", "UTC")):
        midnights = [midnight(dt.date(2018, 3, day), zone) for day in range(1, 32)]
        assert list(counts(data, ff.tumbling("1 day", timezone=said, **between))) == midnights
        assert set(counts(data, ff.landmark(since=day, every="1 day", timezone=said))) == {midnight(day, zone)}


OF_MONTHS = {
    "from 2017 to 2019, on a day or the last one": (
        ff.tumbling("1 month", offset="29 days"),
        "select s, lead(s) over (order by s) e from (select least(m + interval 29 day, last_day(m)) s "
        "from generate_series(timestamp '2017-12-01', timestamp '2019-12-01', interval 1 month) of(m))",
    ),
    "years from 6 April": (
        ff.tumbling("1 year", offset="3 months 5 days"),
        "select s, s + interval 1 year e from (select make_timestamp(y, 4, 6, 0, 0, 0) s from range(2017, 2020) of(y))",
    ),
    "up to each month since a day": (
        ff.landmark(since=dt.datetime(2018, 1, 31), every="1 month"),
        "select s, s + to_months(k::int) e from (select timestamp '2018-01-31' s, k from range(1, 15) of(k))",
    ),
    "the last month, on each day": (
        ff.sliding("1 month", every="1 day"),
        "select e - interval 1 month s, e from generate_series(timestamp '2018-01-01', timestamp '2019-06-01', "
        "interval 1 day) of(e)",
    ),
}
"""Windows of months, and where they begin and end by DuckDB's arithmetic of dates."""


@pytest.mark.parametrize("name", OF_MONTHS)
def test_months_as_duckdb_counts_dates(name: str) -> None:
    windows, edges = OF_MONTHS[name]
    data = table(None, instants(count=500))
    said = "select epoch_us(s), epoch_us(e), count(*) from edges join data on t >= s and t < e group by all"
    rows = duckdb.sql(f"with edges as ({edges}) {said}").fetchall()
    assert bounds(data, windows) == {(start, end): count for start, end, count in rows}


def test_size_and_step_that_do_not_go_together() -> None:
    data = table("America/New_York")
    with pytest.raises(ff.DurationError, match="in the zone of the time 't', America/New_York; expected whole days or"):
        counts(data, ff.sliding("36 hours", every="1 day"))
    hourly = ff.sliding("1 day", every="1 hour")
    assert counts(data, hourly) == counts(table("UTC"), hourly)
    assert counts(table("Mars/Base"), hourly) == counts(table("UTC"), hourly)
    with pytest.raises(ff.QueryError, match="the zone 'Mars/Base' of the time 't' is not known"):
        counts(table("Mars/Base"), ff.tumbling("1 day"))


def test_files_and_streams_have_the_days_of_the_column(tmp_path: Path) -> None:
    data = table("America/New_York")
    pq.write_table(data, tmp_path / "events.parquet")
    for windows in (ff.tumbling("1 day"), ff.cumulating("1 day", every="6 hours"), ff.landmark(every="1 day")):
        want = ff.events(data, time="t", by="k").window(windows).aggregate(n=ff.Count())
        files = ff.events(ff.parquet(tmp_path / "events.parquet"), time="t", by="k").window(windows)
        assert files.aggregate(n=ff.Count()).equals(want)
        some = ff.events(data.slice(0, 80), time="t", by="k")
        answers = (each.window(windows).aggregate(n=ff.Count()) for each in (some, as_stream(some, Cut(slack=HOUR))))
        batch, streamed = (sorted(map(str, answer.to_pylist())) for answer in answers)
        assert streamed == batch


@pytest.mark.filterwarnings("default::framefold.CalendarWarning")
def test_what_lies_elsewhere_than_before_is_warned_of() -> None:
    zoned, naive = table("America/New_York"), table(None)
    for data, windows, sentence in (
        (zoned, ff.tumbling("1 day"), "are those of the time 't', which is in America/New_York; up to now"),
        (naive, ff.tumbling("1 week"), "on a Monday; up to now they began on a Thursday: offset='3 days'"),
        (naive, ff.tumbling("1 week", offset="4 days"), "the offset '4 days' of weeks counts from a Monday"),
    ):
        with pytest.warns(ff.CalendarWarning, match=sentence):
            counts(data, windows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data, *several in (
            (zoned, ff.tumbling("1 day", timezone="UTC"), ff.tumbling("1 day", timezone="America/New_York")),
            (zoned, ff.tumbling("24 hours")),
            (naive, ff.tumbling("1 day"), ff.tumbling("1 week", offset="0 days"), ff.tumbling("1 month")),
            (table("UTC"), ff.tumbling("1 month"), ff.tumbling("1 week", timezone="UTC")),
        ):
            for windows in several:
                counts(data, windows)


@pytest.mark.parametrize("since", [dt.datetime(2026, 5, 1, 9), "2026-05-01T09:00"])
def test_a_time_without_a_zone_is_of_the_zone_that_is_said(since: Any) -> None:
    hours = [dt.datetime(2026, 5, 1, hour, tzinfo=dt.UTC) for hour in (6, 7, 8)]
    table = pa.table({"t": pa.array(hours, pa.timestamp("us", tz="UTC")), "x": [1, 2, 4]})
    day = ff.landmark(every="1 day", since=since, timezone="Europe/Berlin")
    (found,) = ff.events(table, time="t").window(day).aggregate(s=ff.Sum("x")).to_pylist()
    assert (found["window"]["start"], found["s"]) == (dt.datetime(2026, 5, 1, 7, tzinfo=dt.UTC), 6)
    with pytest.raises(ff.ColumnError, match="expected a time with a zone"):
        ff.events(table, time="t").window(ff.landmark(since=since)).aggregate(s=ff.Sum("x"))
