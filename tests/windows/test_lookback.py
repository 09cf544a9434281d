"""Lookbacks: a row for each event, label or step, a column for each size, as DuckDB and dateutil have them."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dateutil.relativedelta import relativedelta

import framefold as ff

from ..oracles.duck import asked
from ..oracles.lookbacks import BOUNDS, by_duckdb
from ..support.limits import limits

BASE = datetime.datetime(2024, 1, 29, 22)
SIZES = {"1h": "1 hour", "90m": "90 minutes", "1d": datetime.timedelta(days=1), "30d": "30 days"}
MONTHS = {"1mo": "1 month", "1q": "1 quarter", "2y": "2 years", "36h": "36 hours", "14mo": "1 year 2 months"}
INTERVALS = {
    "1h": "1 hour", "90m": "90 minutes", "1d": "24 hours", "30d": "720 hours", "1mo": "1 month", "1q": "3 months",
    "2y": "2 years", "36h": "36 hours", "14mo": "14 months",
}  # fmt: skip
"""The sizes as DuckDB has them, by what their outputs are called."""
OUTPUTS: dict[str, Any] = {"spent": ff.Sum("x"), "n": ff.Count(), "most": ff.Max("x"), "ids": ff.CollectList("id")}


def tables(seed: int, zone: str | None = None, rows: int = 90) -> tuple[pa.Table, pa.Table]:
    """Events and labels, at ends of months and at times that are often the same, and keys that only one of them has."""
    rng = np.random.default_rng(seed)

    def times(count: int) -> pa.Array:
        days = rng.choice([0, 0, 1, 2, 28, 29, 31, 59, 90, 365], (count, 2)).sum(axis=1)
        seconds = days * 86400 + rng.choice([0, 3600, 5400, 7200, 18000, 129_600], count)
        start = int((BASE - datetime.datetime(1970, 1, 1)).total_seconds())
        return pa.array((start + seconds) * 1_000_000).cast(pa.timestamp("us", zone))

    def keys(count: int, of: list[str | None]) -> pa.Array:
        return pa.array([of[number] for number in rng.integers(0, len(of), count)], pa.string())

    x = rng.integers(-9, 9, rows)
    events = {"t": times(rows), "k": keys(rows, ["a", "b", None, "e"]), "id": np.arange(rows), "x": x}
    labels = {"id": np.arange(50)[::-1], "at": times(50), "k": keys(50, ["b", "a", "l", None]), "y": [[1]] * 50}
    return pa.table(events), pa.table(labels)


def until(rows: pa.Table, time: str) -> pa.Table:
    """The keys and times of rows, as the oracle takes them."""
    return rows.select([time, "k"]).rename_columns(["until", "k"])


EQUALS = {"t": "is not distinct from", "at": "="}
"""How the keys of events, or of labels, are compared with those of events."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("closed", list(BOUNDS))
@pytest.mark.parametrize(("seed", "edges", "chunk"), [(0, 1 << 12, 10), (1, 3, 1 << 12), (2, 3, 10)])
def test_as_duckdb_joins_and_groups(seed: int, edges: int, chunk: int, closed: Any) -> None:
    events, labels = tables(seed, "UTC" if seed else None)
    query = ff.events(events, time="t", by="k", ties="id")
    for at, rows, time in ((None, events, "t"), (labels, labels, "at")):
        windows = query.window(ff.lookback(*SIZES.values(), *MONTHS.values(), at=at, closed=closed))
        with limits(lookback_edges=edges, chunk_windows=chunk):
            found = windows.aggregate(**OUTPUTS)
            assert windows.with_columns(**OUTPUTS).equals(found)
        assert found.select(rows.column_names).equals(rows)
        wanted = by_duckdb(events, until(rows, time), closed, INTERVALS, OUTPUTS, EQUALS[time])
        assert {name: found[name].to_pylist() for name in found.column_names[rows.num_columns :]} == wanted


def test_months_of_dates_as_duckdb() -> None:
    events, labels = tables(5)
    events, labels = (
        table.set_column(table.column_names.index(name), name, table[name].cast(pa.date32()))
        for table, name in ((events, "t"), (labels, "at"))
    )
    found = ff.events(events, time="t", by="k", ties="id").window(ff.lookback("1 month", "2 years", at=labels))
    result = found.aggregate(**OUTPUTS)
    sizes = {"1mo": "1 month", "2y": "2 years"}
    wanted = by_duckdb(events, until(labels, "at"), "left", sizes, OUTPUTS, EQUALS["at"])
    assert {name: result[name].to_pylist() for name in wanted} == wanted


@pytest.mark.parametrize("said", [False, True])
def test_months_of_a_zone_as_dateutil(said: bool) -> None:
    zone = ZoneInfo("Europe/Berlin")
    events, labels = tables(7, "UTC" if said else "Europe/Berlin")
    times, ends = (
        [each.astimezone(zone) for each in table[name].to_pylist()] for table, name in ((events, "t"), (labels, "at"))
    )
    own = [key or "none" for key in events["k"].to_pylist()]  # a null is equal to no key
    windows = ff.lookback("1 month", "3 months", at=labels, timezone="Europe/Berlin" if said else None)
    found = ff.events(events, time="t", by="k").window(windows).aggregate(n=ff.Count())
    for suffix, months in (("1mo", 1), ("3mo", 3)):
        wanted = []
        for at, key in zip(ends, labels["k"].to_pylist(), strict=True):
            begin = (at.replace(tzinfo=None) - relativedelta(months=months)).replace(tzinfo=zone)
            begin, end = begin.astimezone(datetime.UTC), at.astimezone(datetime.UTC)
            inside = [begin <= time.astimezone(datetime.UTC) < end for time in times]
            wanted.append(sum(one and other == key for one, other in zip(inside, own, strict=True)))
        assert found[f"n_{suffix}"].to_pylist() == wanted


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_business_days_as_pandas(zone: str | None) -> None:
    """From a time on a day off as from the beginning of the next business day, for which pandas keeps the hour."""
    events, labels = tables(9, zone)
    week, holidays = "Sun Mon Tue Wed Thu", ["2024-01-30", "2024-02-28", "2024-05-01", "2025-01-29"]
    days = [pd.offsets.CustomBusinessDay(5), pd.offsets.CustomBusinessDay(2, weekmask=week, holidays=holidays)]

    def instant(local: datetime.datetime) -> datetime.datetime:
        return local.replace(tzinfo=ZoneInfo(zone or "UTC")).astimezone(datetime.UTC)

    times = [instant(local) for local in events["t"].to_pylist()]

    def counts(at: datetime.datetime) -> list[int]:
        local, found = pd.Timestamp(at.replace(tzinfo=None)), []
        for back in days:
            begin = local if back.is_on_offset(local) else back.rollforward(local.normalize())
            begin, end = instant((begin - back).to_pydatetime()), instant(local.to_pydatetime())
            found.append(sum(begin <= time < end for time in times))
        return found

    sizes = ["5 business days", ff.business_days(2, week, holidays)]
    ways: list[tuple[str, Any]] = [("t", {}), ("at", {"at": labels.select(["at"])}), ("at", {"every": "1 day"})]
    for name, way in [*ways, ("at", {"every": ff.business_days(1, week, holidays)})]:
        found = ff.events(events, time="t").window(ff.lookback(*sizes, **way)).aggregate(n=ff.Count())
        ends = [at.replace(tzinfo=None) for at in found[name].to_pylist()]
        if "every" in way:
            first, last = min(events["t"].to_pylist()), max(events["t"].to_pylist()) + datetime.timedelta(days=20)
            midnights = pd.date_range(first, last, normalize=True).tz_localize(None)
            if way["every"] != "1 day":
                midnights = midnights[np.is_busday(midnights.values.astype("datetime64[D]"), week, holidays)]
            assert ends == [at for at in midnights.to_pydatetime() if any(counts(at))]
        assert list(zip(*(found[name].to_pylist() for name in ("n_5bd", "n_2bd")), strict=True)) == [
            tuple(counts(at)) for at in ends
        ]


def steps(events: pa.Table, every: str, longest: str, closed: str) -> pa.Table:
    """The keys and steps for which the longest window has an event, in order, by DuckDB."""
    lower, upper = BOUNDS[closed]
    query = f"""
        with times as (select unnest(generate_series(timestamp '2023-12-29', timestamp '2030-01-01',
            interval '{every}')) as until)
        select distinct k, until from times join events on t {lower} until - interval '{longest}' and t {upper} until
        order by k nulls first, until"""
    return asked(query, events=events).to_arrow_table()


@pytest.mark.parametrize("closed", list(BOUNDS))
@pytest.mark.parametrize(
    ("every", "sizes", "longest"),
    [
        ("1 day", {"1d": "1 day", "7d": "7 days", "36h": "36 hours"}, ["7 days"]),
        ("6 hours", {"12h": "12 hours", "6h": "6 hours"}, ["12 hours"]),
        ("1 day", {"1mo": "1 month", "1d": "1 day", "1q": "3 months"}, ["3 months"]),
        ("5 days", {"1mo": "1 month"}, ["1 month"]),
        ("1 day", {"1mo": "1 month", "30d": "30 days"}, ["1 month", "30 days"]),  # either may be longer
    ],
)
def test_steps_as_duckdb(every: str, sizes: dict[str, str], longest: list[str], closed: Any) -> None:
    events, _ = tables(11)
    words = [{"1q": "1 quarter"}.get(suffix, size) for suffix, size in sizes.items()]
    query = ff.events(events, time="t", by="k", ties="id")
    with limits(chunk_windows=7 if closed in ("left", "both") else 1 << 12):
        found = query.window(ff.lookback(*words, every=every, closed=closed)).aggregate(**OUTPUTS)
    both = {f"steps{number}": steps(events, every, size, closed) for number, size in enumerate(longest)}
    rows = asked(" union ".join(f"from {name}" for name in both) + " order by k nulls first, until", **both)
    rows = rows.to_arrow_table()
    assert found.select(["k", "at"]).to_pydict() == {"k": rows["k"].to_pylist(), "at": rows["until"].to_pylist()}
    wanted = by_duckdb(events, rows, closed, sizes, OUTPUTS)
    assert {name: found[name].to_pylist() for name in found.column_names[2:]} == wanted


def test_arithmetic_across_windows() -> None:
    events, labels = tables(3)
    query = ff.events(events, time="t", by="k")
    hour, month = ff.Sum("x").over("36 hours"), ff.Sum("x").over("1 month")
    share = ff.Count().over("36 hours") / ff.Count()
    for at, rows, time in ((None, events, "t"), (labels, labels, "at")):
        windows = query.window(ff.lookback("1 month", "1 quarter", at=at))
        found = windows.aggregate(
            n=ff.Count(), share=share, gap=(hour - month).then(lambda of: of * 2), all=ff.AllOf(a=hour, b=month),
            own=ff.Max("x").over("36 hours"),
        )  # fmt: skip
        names = ["n_1mo", "n_1q", "share_1mo", "share_1q", "gap", "all", "own"]
        assert found.column_names == [*rows.column_names, *names]
        one = by_duckdb(events, until(rows, time), "left", INTERVALS, OUTPUTS, EQUALS[time])
        assert found["n_1q"].to_pylist() == one["n_1q"]
        for name in ("1mo", "1q"):
            wanted = [a / b if b else None for a, b in zip(one["n_36h"], one[f"n_{name}"], strict=True)]
            given_back = [None if each != each else each for each in found[f"share_{name}"].to_pylist()]
            assert given_back == wanted
        both = list(zip(one["spent_36h"], one["spent_1mo"], strict=True))
        assert found["gap"].to_pylist() == [None if None in pair else 2 * (pair[0] - pair[1]) for pair in both]
        assert found["all"].to_pylist() == [{"a": a, "b": b} for a, b in both]


def test_arithmetic_of_other_windows_beside_events() -> None:
    events = pa.table({"t": [1, 2, 4], "x": [1, 2, 6]})
    near, all_of_them = ff.around(time=(-2, 0)), ff.landmark()
    ratio = ff.Sum("x").over(near) / ff.Sum("x").over(all_of_them)
    query = ff.events(events, time="t")
    assert query.window(ff.last_rows(1)).with_columns(r=ratio, x1=ff.Sum("x"))["r"].to_pylist() == [1.0, 1.0, 8 / 9]
    sentence = r"r=.* has .over\(...\) inside; expected it on the whole output, or .with_"
    with pytest.raises(ff.QueryError, match=sentence):
        query.window(ff.tumbling(2)).aggregate(r=ratio)
    with pytest.raises(ff.QueryError, match="is over 2 kinds of windows, which give an event as many values"):
        query.window(near).with_columns(r=ff.Sum("x").over(near, all_of_them) / ff.Count())
    with pytest.raises(ff.QueryError, match=r"has .over\(...\) inside; expected it on the whole output"):
        query.window(near).with_columns(r=ff.Filtered(ff.Sum("x").over(near), lambda x: x > 1, "x"))
    with pytest.raises(ff.DurationError, match=r"lookback\(\) is 'often', which is not a duration"):
        query.window(ff.lookback(2)).aggregate(r=ff.Sum("x").over("often"))
    with pytest.raises(ff.QueryError, match="is given '1 hour'; expected a window such as"):
        query.window(near).with_columns(r=ff.Sum("x").over("1 hour"))


def test_explain_says_that_states_are_shared() -> None:
    events, labels = tables(3)
    windows = ff.events(events, time="t", by="k").window(ff.lookback("1 month", "1 day", at=labels))
    text = str(windows.explain(spent=ff.Sum("x"), r=ff.Sum("x").over("1 day") / ff.Count()))
    assert "spent_1mo, spent_1d = Sum('x')" in text
    assert text.count("Sum('x')  ") == 1
    alone = "import framefold as ff, pyarrow as pa; e = ff.events(pa.table({'t': [1]}), time='t')"
    code = f"{alone}; print(e.window(ff.lookback(1))._repr_html_())"  # drawn, although nothing else was asked for
    assert "<svg" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_names_and_outputs_of_their_own() -> None:
    events = pa.table({"t": [1, 5, 9], "x": [1, 2, 4]})
    found = ff.events(events, time="t").window(ff.lookback(5, 10)).aggregate(
        s=ff.Sum("x"), so_far=ff.Count().over(ff.landmark())
    )  # fmt: skip
    assert found.to_pydict() == events.to_pydict() | {"s_5": [None, 1, 2], "s_10": [None, 1, 3], "so_far": [1, 2, 3]}
    dates = pa.table({"t": [datetime.date(2024, 3, day) for day in (2, 1, 9)], "x": [1, 2, 4]})
    found = ff.events(dates, time="t").window(ff.lookback("1 day", "2 weeks")).aggregate(n=ff.Count())
    assert found.select(["n_1d", "n_14d"]).to_pydict() == {"n_1d": [1, 0, 0], "n_14d": [1, 0, 2]}


def test_several_tables_of_windows_have_keys_without_events() -> None:
    events = pa.table({"t": [1, 2], "k": ["a", "b"]})
    labels = pa.table({"k": ["z", "a"], "from": [0, 0], "to": [2, 9], "until": [3, 1]})
    one, other = (ff.windows_from(labels, start="from", end=end, by="k") for end in ("to", "until"))
    found = ff.events(events, time="t", by="k").aggregate(n=ff.Count().over(one), m=ff.Count().over(other))
    rows = {(row["k"], row["window"]["end"]): (row["n"], row["m"]) for row in found.to_pylist()}
    assert rows == {("a", 1): (None, 0), ("a", 9): (1, None), ("z", 2): (0, None), ("z", 3): (None, 0)}


def test_lookbacks_of_events_without_keys() -> None:
    events = pa.table({"t": [1, 2, 7], "x": [1, 2, 4]})
    labels = pa.table({"at": [8, 0, 3, 9]})
    found = ff.events(events, time="t").window(ff.lookback(1, 6, at=labels)).aggregate(n=ff.Count(), s=ff.Sum("x"))
    assert found.to_pydict() == {
        "at": [8, 0, 3, 9], "n_1": [1, 0, 1, 0], "n_6": [2, 0, 2, 1], "s_1": [4, None, 2, None], "s_6": [6, None, 3, 4]
    }  # fmt: skip
    none = ff.events(events.slice(0, 0), time="t").window(ff.lookback(1, 6, at=labels)).aggregate(n=ff.Count())
    assert none.to_pydict() == {"at": [8, 0, 3, 9], "n_1": [0] * 4, "n_6": [0] * 4}


AT, NULL = pa.table({"at": [1]}), pa.table({"at": pa.array([None], pa.int64()), "k": [1]})
ZONED = pa.table({"t": pa.array([0], pa.timestamp("us", "UTC"))})
REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ff.lookback(), ff.QueryError, r"lookback\(\) is given no size; expected some"),
    (lambda: ff.lookback(0), ff.QueryError, r"lookback\(\) is given the size 0; expected sizes above zero"),
    (lambda: ff.lookback("24 hours", "24h"), ff.QueryError, "lookback.* has '24h' twice; expected sizes that differ"),
    (lambda: ff.lookback("1 month 2 days"), ff.QueryError, r"lookback\(\) is '1 month 2 days', which mixes months"),
    (lambda: ff.lookback("1 business day 2 hours"), ff.QueryError, "which mixes business days with other units"),
    (lambda: ff.lookback("5 business days", ff.business_days(5, "Mon")), ff.QueryError, "lookback.* has '5bd' twice"),
    (lambda: ff.events(ZONED, time="t").window(ff.lookback("5 business days")).aggregate(
        n=ff.Count().over(ff.business_days(5, "Mon"))
     ), ff.QueryError, "lookback.* has '5bd' twice; expected sizes that differ"),
    (lambda: counted(ff.lookback("5 business days")), ff.DurationError, "time is '-5 business days', but the"),
    (lambda: ff.lookback(1, at=AT, every=1), ff.QueryError, r"lookback\(\) is given both at= and every=; expected one"),
    (lambda: ff.lookback(1, closed="all"), ff.QueryError, "closed is 'all'; expected"),  # type: ignore[arg-type]
    (lambda: counted(ff.lookback(1, every=0)), ff.DurationError, "every is 0"),
    (lambda: counted(ff.lookback("1 month")), ff.DurationError, "time is '-1 month', but the time 't' is an integer"),
    (lambda: counted(ff.lookback("1 hour")), ff.DurationError, "time is '-1 hour', but the time 't' is an integer"),
    (lambda: ff.events(ZONED, time="t").window(ff.lookback("1 month", timezone="Mars")).aggregate(n=ff.Count()),
     ff.QueryError, "timezone is 'Mars'"),
    (lambda: counted(ff.lookback(1, at=AT)), ff.ColumnError, r"lookback\(at=\) lacks the column 'k'"),
    (lambda: ff.events(AT, time="at", by="at").window(ff.lookback(1, at=AT)).aggregate(n=ff.Count()), ff.QueryError,
     r"by= names 'at', the column of times in lookback\(at=\); expected another"),
    (lambda: counted(ff.lookback(1, at=NULL)), ff.ColumnError, r"column 'at' of lookback\(at=\) is null in 1 rows"),
    (lambda: counted(ff.lookback(1), ff.last_rows(2)), ff.QueryError, "a lookback and other windows; expected it al"),
    (lambda: counted(ff.lookback(1)), ff.QueryError, "would hide the column 'n_1' that is there"),
    (lambda: counted(ff.lookback(1), n_1=ff.Count().over(ff.landmark())), ff.QueryError, "would be called 'n_1'"),
]  # fmt: skip


def counted(*windows: Any, **outputs: Any) -> Any:
    events = pa.table({"t": [1, 2], "k": [1, 2], "n_1": [0, 0]})
    return ff.events(events, time="t", by="k").window(*windows).aggregate(n=ff.Count(), **outputs)


@pytest.mark.parametrize(("call", "error", "sentence"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


def test_three_engines(spark: Any, tmp_path: Path) -> None:
    events, labels = tables(21, "UTC", rows=300)
    pq.write_table(events, tmp_path / "events.parquet", row_group_size=50)
    outputs: dict[str, Any] = {
        "n": ff.Count(), "spent": ff.Sum("x"), "r": ff.Sum("x").over("36 hours") / ff.Count().over("1 month"),
        "ids": ff.CollectList("id"),
    }  # fmt: skip
    df = spark.createDataFrame(events.to_pandas())
    given: list[Any] = [df, ff.parquet(tmp_path, spark=spark)]
    here, *sources = (ff.events(each, time="t", by="k", ties="id") for each in (events, *given))
    ways: list[dict[str, Any]] = [{"at": labels}, {"at": spark.createDataFrame(labels)}, {"every": "1 day"}, {}]
    for windows in ways:
        lookback = ff.lookback("36 hours", "1 month", **windows)
        local = here.window(ff.lookback("36 hours", "1 month", **({"at": labels} if "at" in windows else windows)))
        local = local.aggregate(**outputs)
        order = [name for name in ("k", "at", "id") if name in local.column_names]
        key = [(name, "ascending") for name in order]
        for source in sources:
            found = source.window(lookback).aggregate(**outputs).toArrow()
            assert found.column_names == local.column_names
            one, other = found.sort_by(key), local.sort_by(key)
            for name in [*order, "n_36h", "n_1mo", "spent_1mo", "r", "ids_36h", "ids_1mo"]:
                assert str(one[name].to_pylist()) == str(other[name].to_pylist())


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_steps_of_months(zone: str, tmp_path: Path) -> None:
    """Whole months of a zone up to each month, of events and of partials of days."""
    of = np.random.default_rng(5)
    times = [
        datetime.datetime(2018, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(hours=int(h))
        for h in of.integers(0, 17_000, 40)
    ]
    table = pa.table({"t": pa.array(times, pa.timestamp("us", zone))})
    stored = ff.partials(tmp_path, time="t", frame=ff.tumbling("1 day"), n=ff.Count())
    stored.append(table, run="all")
    windows = ff.lookback("1 month", "3 months", every="1 month")

    def first(month: int) -> datetime.datetime:
        return datetime.datetime(month // 12, month % 12 + 1, 1, tzinfo=ZoneInfo(zone)).astimezone(datetime.UTC)

    want = []
    for month in range(2017 * 12, 2021 * 12):
        counts = [sum(first(month - back) <= time < first(month) for time in times) for back in (1, 3)]
        want += [(first(month), *counts)] if counts[1] else []
    found = ff.events(table, time="t").window(windows).aggregate(n=ff.Count())
    for result in (found, stored.window(windows).aggregate()):
        assert [(row["at"], row["n_1mo"], row["n_3mo"]) for row in result.to_pylist()] == want
