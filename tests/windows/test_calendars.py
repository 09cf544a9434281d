"""Days, weeks and months of the zone that times have, and weeks from Monday, as Polars, pandas and DuckDB have them."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
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


def counts(data: Any, window: Any) -> dict[int, int]:
    """The number of events by the first microsecond of each window."""
    found = ff.events(data, time="t").window(window).aggregate(n=ff.Count())
    starts = found["window"].combine_chunks().field("start").cast(pa.timestamp("us")).cast(pa.int64())
    return dict(zip(starts.to_pylist(), found["n"].to_pylist(), strict=True))


SHORT = {"1 day": "1d", "1 week": "1w", "1 month": "1mo", "1 quarter": "1q", "1 year": "1y", "3 days": "3d"}


@pytest.mark.parametrize("zone", [None, *ZONES])
@pytest.mark.parametrize("size", SHORT)
def test_tumbling_as_polars_truncates(size: str, zone: str | None) -> None:
    pl = pytest.importorskip("polars")
    data = table(zone)
    if zone is not None and not is_known(zone):  # to older versions of pyarrow, where it is refused
        with pytest.raises(ff.QueryError, match="is not known here"):
            counts(data, ff.tumbling(size))
        return
    if zone is not None and zone[0] in "+-":  # which Polars does not know: the same by a clock that never changes
        away = dt.timedelta(hours=5, minutes=30) if zone == "+05:30" else dt.timedelta(hours=-3)
        wall = pl.from_arrow(data["t"].cast(pa.timestamp("us"))) + away
        starts = wall.dt.truncate(SHORT[size]) - away
    else:
        try:
            starts = pl.from_arrow(data["t"]).dt.truncate(SHORT[size])
        except pl.exceptions.ComputeError as error:
            pytest.skip(f"this Polars has no answer: {error}")
    want = dict(zip(*(column.to_list() for column in starts.dt.timestamp("us").value_counts()), strict=True))
    assert counts(data, ff.tumbling(size)) == want


@pytest.mark.parametrize("zone", [None, *ZONES[:3]])
def test_weeks_as_duckdb_and_pandas_have_them(zone: str | None) -> None:
    duckdb, pd = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    data = table(zone)
    with duckdb.connect() as connection:
        if zone is not None:
            connection.execute(f"set TimeZone = '{zone}'")
        rows = connection.execute(
            "select epoch_us(date_trunc('week', t)), count(*) from data group by all order by all"
        ).fetchall()
    got = counts(data, ff.tumbling("1 week"))
    assert got == dict(rows)
    weekly = pd.Series(1, data["t"].to_pandas()).resample("W-MON", closed="left", label="left").sum()
    starts = (weekly.index.tz_convert("UTC").tz_localize(None) if zone else weekly.index).as_unit("us").asi8
    assert got == {int(at): int(n) for at, n in zip(starts, weekly, strict=True) if n}


def test_weeks_of_dates_begin_on_monday() -> None:
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=n) for n in range(30)]
    found = ff.events(pa.table({"t": days}), time="t").window(ff.tumbling("1 week")).aggregate(n=ff.Count())
    starts = [row["start"] for row in found["window"].to_pylist()]
    assert starts == sorted({day - dt.timedelta(days=day.weekday()) for day in days})
    two = ff.events(pa.table({"t": days}), time="t").window(ff.sliding("2w", every="P1W")).aggregate(n=ff.Count())
    assert {row["start"].weekday() for row in two["window"].to_pylist()} == {0}
    assert {(row["end"] - row["start"]).days for row in two["window"].to_pylist()} == {14}


def test_offset_and_timezone_say_otherwise() -> None:
    data = table("America/New_York")
    utc = table("UTC")
    assert counts(data, ff.tumbling("1 day", timezone="UTC")) == counts(utc, ff.tumbling("1 day"))
    assert counts(utc, ff.tumbling("1 day", timezone="America/New_York")) == counts(data, ff.tumbling("1 day"))
    for zone, windows in (("America/New_York", data), (None, table(None)), ("UTC", utc)):
        for offset, weekday in (("-1 day", 6), ("3 days", 3), ("0 days", 0)):
            starts = counts(windows, ff.tumbling("1 week", offset=offset))
            local = [from_utc(start, zone) for start in starts]
            assert {each.weekday() for each in local} == {weekday}
            assert {each.time() for each in local} == {dt.time()}
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
    events = ff.events(table(zone, ticks), time="t")
    want = clock_cycles(ticks, zone, hours, days)
    found = events.window(ff.cumulating(size, every=every)).aggregate(n=ff.Count())
    assert bounds(found) == want
    explicit = ff.events(table("UTC", ticks), time="t").window(ff.cumulating(size, every=every, timezone=zone))
    assert bounds(explicit.aggregate(n=ff.Count())) == want
    filled = events.window(ff.cumulating(size, every=every, empty="emit")).aggregate(n=ff.Count())
    with_events = {at: n for at, n in bounds(filled).items() if n}
    assert with_events == want
    assert all(begin < end for begin, end in bounds(filled))
    assert len(bounds(filled)) == len(filled)


def bounds(found: pa.Table) -> dict[tuple[int, int], int]:
    window = found["window"].combine_chunks()
    start, end = (window.field(name).cast(pa.timestamp("us")).cast(pa.int64()).to_pylist() for name in ("start", "end"))
    return dict(zip(zip(start, end, strict=True), found["n"].to_pylist(), strict=True))


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
def test_landmarks_end_with_days(zone: str) -> None:
    ticks = instants(24 * 300, 500, "2018-02-10")
    events = ff.events(table(zone, ticks), time="t")
    found = events.window(ff.landmark(every="1 day", stamp="end")).aggregate(n=ff.Count())
    ends = found["at"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    assert {from_utc(end, zone).time() for end in ends} == {dt.time()}
    assert found["n"].to_pylist() == [int((ticks < end).sum()) for end in ends]
    since = dt.date(2018, 3, 1)
    found = events.window(ff.landmark(since=since, every="1 week")).aggregate(n=ff.Count())
    begin = midnight(since, zone)
    want = {}
    for week in range(1, 60):
        end = midnight(since + dt.timedelta(weeks=week), zone)
        want[begin, end] = int(((ticks >= begin) & (ticks < end)).sum())
        if end > ticks.max():
            break
    assert bounds(found) == {at: n for at, n in want.items() if n}


def test_a_trigger_by_time_comes_at_midnight() -> None:
    ticks = instants(24 * 90, 200, "2018-02-10")
    windows = ff.policy(ff.by_count(5), ff.by_time("1 day"))
    found = ff.events(table("America/New_York", ticks), time="t").window(windows).aggregate(n=ff.Count())
    at = found["at"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    assert len(at) > 80
    assert {from_utc(each, "America/New_York").time() for each in at} == {dt.time()}


def test_a_date_is_its_midnight_in_the_zone() -> None:
    data = table("America/New_York", instants(24 * 4, 20, "2018-03-10"))
    window = ff.tumbling("1 day", empty="emit", fill_from="2018-03-01", fill_to=dt.date(2018, 4, 1))
    starts = list(counts(data, window))
    assert starts == [midnight(dt.date(2018, 3, day), "America/New_York") for day in range(1, 32)]
    berlin = ff.tumbling(
        "1 day", empty="emit", fill_from="2018-03-01", fill_to=dt.date(2018, 4, 1), timezone="Europe/Berlin"
    )
    assert list(counts(data, berlin)) == [midnight(dt.date(2018, 3, day), "Europe/Berlin") for day in range(1, 32)]


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
    with pytest.warns(ff.CalendarWarning, match="are those of the time 't', which is in America/New_York; up to now"):
        counts(zoned, ff.tumbling("1 day"))
    with pytest.warns(ff.CalendarWarning, match="on a Monday; up to now they began on a Thursday: offset='3 days'"):
        counts(naive, ff.tumbling("1 week"))
    with pytest.warns(ff.CalendarWarning, match="the offset '4 days' of weeks counts from a Monday"):
        counts(naive, ff.tumbling("1 week", offset="4 days"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data, windows in (
            (zoned, ff.tumbling("1 day", timezone="UTC")),
            (zoned, ff.tumbling("1 day", timezone="America/New_York")),
            (zoned, ff.tumbling("24 hours")),
            (naive, ff.tumbling("1 day")),
            (naive, ff.tumbling("1 week", offset="0 days")),
            (naive, ff.tumbling("1 month")),
            (table("UTC"), ff.tumbling("1 month")),
            (table("UTC"), ff.tumbling("1 week", timezone="UTC")),
        ):
            counts(data, windows)


def test_a_date_is_of_the_zone_that_is_said() -> None:
    """Also where that is UTC, and the column's is another."""
    data = table("America/New_York", instants(24 * 4, 20, "2018-03-10"))
    day = dt.date(2018, 3, 11)
    for zone in ("UTC", "Europe/Berlin"):
        found = ff.events(data, time="t").window(ff.landmark(since=day, every="1 day", timezone=zone))
        starts = {start for start, _ in bounds(found.aggregate(n=ff.Count()))}
        assert starts == {midnight(day, zone)}


@pytest.mark.parametrize("since", [dt.datetime(2026, 5, 1, 9), "2026-05-01T09:00"])
def test_a_time_without_a_zone_is_of_the_zone_that_is_said(since: Any) -> None:
    hours = [dt.datetime(2026, 5, 1, hour, tzinfo=dt.UTC) for hour in (6, 7, 8)]
    table = pa.table({"t": pa.array(hours, pa.timestamp("us", tz="UTC")), "x": [1, 2, 4]})
    day = ff.landmark(every="1 day", since=since, timezone="Europe/Berlin")
    (found,) = ff.events(table, time="t").window(day).aggregate(s=ff.Sum("x")).to_pylist()
    assert (found["window"]["start"], found["s"]) == (dt.datetime(2026, 5, 1, 7, tzinfo=dt.UTC), 6)
    with pytest.raises(ff.ColumnError, match="expected a time with a zone"):
        ff.events(table, time="t").window(ff.landmark(since=since)).aggregate(s=ff.Sum("x"))
