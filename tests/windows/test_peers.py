"""The same windows as other tools have them, on some thousand random events: DuckDB, pandas and Polars."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.duck import asked

EVENTS = 3_000
START = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
SECOND = 1_000_000
CLOSED = ["both", "left", "right", "neither"]
MEASURES = ["n", "s", "low", "high", "mean"]


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """Four keys of uneven size, one of them null; many ties; a tie-breaker without ties; in random order."""
    random = np.random.default_rng(4)
    keys = random.choice(4, EVENTS, p=[0.6, 0.25, 0.1, 0.05])
    return pa.table(
        {
            "key": pa.array([None if k == 2 else "abcd"[k] for k in keys], pa.string()),
            "t": random.integers(-2_000, 2_000, EVENTS),
            "tie": random.permutation(EVENTS),
            "v": pa.array(random.integers(-1_000, 1_000, EVENTS), pa.int64(), mask=random.random(EVENTS) < 0.1),
            "until": pa.nulls(EVENTS, pa.int64()),
        }
    )


@pytest.fixture(scope="module")
def moments() -> pa.Table:
    """One key's events at different times, over four years, in no order; half of them on the hour, many at midnight."""
    random = np.random.default_rng(5)
    hours = random.choice(4 * 365 * 24, EVENTS, replace=False).astype(np.int64) * 3_600
    hours[: EVENTS // 10] -= hours[: EVENTS // 10] % 86_400
    seconds = hours + np.where(random.random(EVENTS) < 0.5, 0, random.integers(1, 3_600, EVENTS))
    seconds = random.permutation(np.unique(seconds))
    times = pa.array(seconds * SECOND + int(START.timestamp()) * SECOND, pa.timestamp("us", "UTC"))
    return pa.table({"t": times, "v": random.integers(-1_000, 1_000, len(seconds))})


def measures() -> dict[str, Any]:
    low, high = ff.Min("v"), ff.Max("v")
    return {"n": ff.Count(), "s": ff.Sum("v"), "low": low, "high": high, "mean": ff.Average("v")}


def ours(table: pa.Table, window: Any, time: str = "t", **more: Any) -> pa.Table:
    return ff.events(table, time=time, **more).window(window).aggregate(**measures())


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """A result as rows that compare: key, at or window, measures."""
    flat = table.flatten() if "at" not in table.column_names else table.drop_columns("window")
    return [tuple(row.values()) for row in flat.to_pylist()]


def assert_same(got: list[tuple[Any, ...]], want: list[tuple[Any, ...]]) -> None:
    """The same rows in the same order; floats as good as equal."""
    assert len(got) == len(want)
    for mine, theirs in zip(got, want, strict=True):
        assert mine[:-1] == theirs[:-1]
        assert mine[-1] == (None if theirs[-1] is None else pytest.approx(theirs[-1], rel=1e-12, abs=1e-12))


# --- DuckDB -------------------------------------------------------------------------------------------------------


def duck(sql: str, **tables: Any) -> list[tuple[Any, ...]]:
    return asked(sql, **tables).fetchall()


def framed(events: pa.Table, frame: str, where: str = "true") -> list[tuple[Any, ...]]:
    """One row an event, by key, time and tie-breaker, over a frame of SQL."""
    functions = ["count(*)", "sum(v)", "min(v)", "max(v)", "avg(v)"]
    over = ", ".join(f"{function} OVER w AS {name}" for name, function in zip(MEASURES, functions, strict=True))
    order = "t" if frame.startswith("RANGE") else "t, tie"
    inner = (
        f"SELECT key, t, tie, row_number() OVER (PARTITION BY key ORDER BY t, tie) AS r, "
        f"count(*) OVER (PARTITION BY key) AS size, {over} FROM events "
        f"WINDOW w AS (PARTITION BY key ORDER BY {order} {frame})"
    )
    sql = f"SELECT key, t, n, s::bigint, low, high, mean FROM ({inner}) WHERE {where} ORDER BY key NULLS FIRST, t, tie"
    return duck(sql, events=events)


def side(offset: int) -> str:
    return "CURRENT ROW" if offset == 0 else f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"


@pytest.mark.parametrize("ends", [(-5, 0), (-300, 20), (0, 50), (3, 90), (-80, -10)])
def test_range_frames(events: pa.Table, ends: tuple[int, int]) -> None:
    got = ours(events, ff.around(time=ends), by="key", ties="tie")
    assert_same(rows(got), framed(events, f"RANGE BETWEEN {side(ends[0])} AND {side(ends[1])}"))


@pytest.mark.parametrize("fill", ["partial", "full"])
@pytest.mark.parametrize("ends", [(-2, 0), (-1, 2), (0, 2), (1, 3), (-7, -4), (-500, 400)])
def test_rows_frames(events: pa.Table, ends: tuple[int, int], fill: str) -> None:
    got = ours(events, ff.around(rows=ends, min_fill=fill), by="key", ties="tie")
    complete = f"r + {ends[0]} >= 1 AND r + {ends[1]} <= size"
    where = complete if fill == "full" else "n > 0"
    assert_same(rows(got), framed(events, f"ROWS BETWEEN {side(ends[0])} AND {side(ends[1])}", where))


@pytest.mark.parametrize(
    ("n", "every", "fill"), [(1, 1, "partial"), (4, 3, "partial"), (100, 7, "full"), (9, 20, "full")]
)
def test_last_rows(events: pa.Table, n: int, every: int, fill: str) -> None:
    got = ours(events, ff.last_rows(n, every, min_fill=fill, gaps="allow"), by="key", ties="tie")
    where = f"r % {every} = 0" + (f" AND r >= {n}" if fill == "full" else "")
    assert_same(rows(got), framed(events, f"ROWS BETWEEN {n - 1} PRECEDING AND CURRENT ROW", where))


def test_running_values(events: pa.Table) -> None:
    got = ours(events, ff.landmark(), by="key", ties="tie")
    assert_same(rows(got), framed(events, "ROWS UNBOUNDED PRECEDING"))


def test_the_last_d_as_spl_has_it(events: pa.Table) -> None:
    """Eviction by time at each row is what is at most as old, and not yet what is as late but comes later."""
    got = rows(ours(events, ff.policy(ff.by_time(25)), by="key", ties="tie"))
    sql = """
        SELECT a.key, a.t, count(*), sum(b.v)::bigint, min(b.v), max(b.v), avg(b.v)
        FROM events a JOIN events b ON a.key IS NOT DISTINCT FROM b.key
        AND b.t >= a.t - 25 AND (b.t, b.tie) <= (a.t, a.tie)
        GROUP BY a.key, a.t, a.tie ORDER BY a.key NULLS FIRST, a.t, a.tie
    """
    assert_same(got, duck(sql, events=events))


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("gap", [1, 5, 20])
def test_sessions(events: pa.Table, gap: int, merge: bool) -> None:
    """Gaps and islands."""
    got = ours(events, ff.session(gap, merge_touching=merge), by="key")
    sql = f"""
        WITH marked AS (SELECT *, t - lag(t) OVER (PARTITION BY key ORDER BY t) {">" if merge else ">="} {gap} AS new
                        FROM events),
        numbered AS (SELECT *, count(*) FILTER (new) OVER (PARTITION BY key ORDER BY t) AS number FROM marked)
        SELECT key, min(t), max(t) + {gap}, count(*), sum(v)::bigint, min(v), max(v), avg(v)
        FROM numbered GROUP BY key, number ORDER BY key NULLS FIRST, min(t)
    """
    want = duck(sql, events=events)
    assert len(want) > 10
    assert_same(rows(got), want)


@pytest.mark.parametrize("closed", CLOSED)
def test_windows_of_another_table(events: pa.Table, closed: str) -> None:
    """A range join."""
    random = np.random.default_rng(6)
    start = random.integers(-2_100, 2_100, 400)
    end = start + random.integers(1, 300, 400)
    keys = random.choice(["a", "b", "nobody"], 400)
    anchors = pa.table({"key": keys, "since": start, "till": end, "place": random.permutation(400)})
    window = ff.windows_from(anchors, start="since", end="till", by="key", at="place", closed=closed)
    low = "<=" if closed in ("both", "left") else "<"
    high = "<=" if closed in ("both", "right") else "<"
    sql = f"""
        SELECT key, place, count(t), sum(v)::bigint, min(v), max(v), avg(v)
        FROM (SELECT a.key, a.place, e.t, e.v FROM anchors a LEFT JOIN events e
              ON a.key = e.key AND a.since {low} e.t AND e.t {high} a.till)
        GROUP BY key, place ORDER BY key, place
    """
    assert_same(rows(ours(events, window, by="key")), duck(sql, events=events, anchors=anchors))


def lifetimes(events: pa.Table) -> pa.Table:
    lengths = np.random.default_rng(7).integers(1, 120, EVENTS)
    ends = pa.array(events["t"].to_numpy() + lengths)
    return events.set_column(events.column_names.index("until"), "until", ends)


@pytest.mark.parametrize(("size", "every"), [(60, 60), (100, 30), (7, 50)])
def test_interval_events(events: pa.Table, size: int, every: int) -> None:
    alive = lifetimes(events)
    got = ours(alive, ff.sliding(size, every, gaps="allow"), by="key", until="until")
    sql = f"""
        SELECT key, k * {every} AS s, k * {every} + {size}, count(*), sum(v)::bigint, min(v), max(v), avg(v)
        FROM alive, generate_series(-{3000 // every}, {3000 // every}) AS w(k)
        WHERE t < k * {every} + {size} AND until > k * {every}
        GROUP BY key, k ORDER BY key NULLS FIRST, s
    """
    assert_same(rows(got), duck(sql, alive=alive))


def test_snapshots(events: pa.Table) -> None:
    alive = lifetimes(events)
    sql = """
        WITH points AS (SELECT key, t AS p FROM alive UNION SELECT key, until FROM alive),
        pieces AS (SELECT key, p, lead(p) OVER (PARTITION BY key ORDER BY p) AS next FROM points)
        SELECT a.key, p, next, count(*), sum(v)::bigint, min(v), max(v), avg(v)
        FROM pieces JOIN alive a ON a.key IS NOT DISTINCT FROM pieces.key AND a.t < next AND a.until > p
        GROUP BY a.key, p, next ORDER BY a.key NULLS FIRST, p
    """
    assert_same(rows(ours(alive, ff.snapshot(), by="key", until="until")), duck(sql, alive=alive))


# --- pandas -------------------------------------------------------------------------------------------------------


def frame_of(moments: pa.Table) -> pd.Series:
    """The values by time, in order."""
    return moments.to_pandas().set_index("t")["v"].sort_index()


def compare(got: pa.Table, parts: Any, skip: int = 0) -> None:
    """Windows as pandas has them, but for its first `skip` ones."""
    want = {"n": parts.count(), "s": parts.sum(), "low": parts.min(), "high": parts.max(), "mean": parts.mean()}
    for name in MEASURES:
        mine, theirs = (column.to_numpy(dtype=float) for column in (got[name].to_pandas(), want[name][skip:]))
        if name == "s":  # where pandas has 0 as the sum of nothing
            theirs = np.where(mine_is_empty(got), np.nan, theirs)
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def mine_is_empty(got: pa.Table) -> Any:
    """Which windows are empty; that they are is compared before."""
    return got["n"].to_numpy() == 0


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("hours", [1, 24, 500])
def test_pandas_rolling_by_time(moments: pa.Table, hours: int, closed: str) -> None:
    values = frame_of(moments)
    got = ours(moments, ff.around(time=(f"-{hours} hours", "0 hours"), closed=closed))
    assert got["at"].to_pandas().tolist() == values.index.tolist()
    compare(got, values.rolling(f"{hours}h", closed=closed, min_periods=0))  # type: ignore[call-overload]


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize("n", [2, 24])
def test_pandas_rolling_by_count(moments: pa.Table, n: int, closed: str) -> None:
    """pandas says that nothing is before the first row; ours has no window there."""
    values = frame_of(moments)
    got = ours(moments, ff.around(rows=(-n, 0), closed=closed, min_fill="partial"))
    compare(got, values.rolling(n, closed=closed, min_periods=1), 1 if closed in ("left", "neither") else 0)


@pytest.mark.parametrize("full", [False, True])
def test_pandas_rolling_last_rows(moments: pa.Table, full: bool) -> None:
    values = frame_of(moments)
    got = ours(moments, ff.last_rows(50, min_fill="full" if full else "partial"))
    sums = values.rolling(50, min_periods=50 if full else 1).sum().dropna()
    assert got["s"].to_pylist() == sums.astype(int).tolist()
    assert got["at"].to_pandas().tolist() == sums.index.tolist()


CALENDARS = {"1 month": "MS", "1 quarter": "QS", "1 year": "YS", "1 day": "D", "1 week": "W-MON"}


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize("size", CALENDARS)
def test_pandas_resample(moments: pa.Table, size: str, zone: str) -> None:
    values = frame_of(moments).tz_convert(zone)
    got = ours(moments, ff.tumbling(size, timezone=zone))
    groups = values.resample(CALENDARS[size], closed="left", label="left")
    want = groups.agg(["count", "sum", "min", "max"]).query("count > 0")
    starts = pd.DatetimeIndex([row["start"] for row in got["window"].to_pylist()]).tz_convert(zone)
    assert starts.tolist() == want.index.tolist()
    for name, column in zip(["n", "s", "low", "high"], want.columns, strict=True):
        assert got[name].to_pylist() == want[column].astype(int).tolist()
    grouped = values.groupby(pd.Grouper(freq=CALENDARS[size], closed="left", label="left")).mean().dropna()
    np.testing.assert_allclose(got["mean"].to_numpy(), grouped.to_numpy(), rtol=1e-12)


# --- Polars -------------------------------------------------------------------------------------------------------

AGGREGATES = [
    pl.len().cast(pl.Int64).alias("n"),
    pl.when(pl.col("v").count() > 0).then(pl.col("v").sum()).alias("s"),
    pl.col("v").min().alias("low"),
    pl.col("v").max().alias("high"),
    pl.col("v").mean().alias("mean"),
]


@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize(("since", "till"), [(-30, 0), (-20, 50), (5, 40)])
def test_polars_rolling(events: pa.Table, since: int, till: int, closed: str) -> None:
    ends: Any = "none" if closed == "neither" else closed
    frame = pl.from_arrow(events)
    assert isinstance(frame, pl.DataFrame)
    want = (
        frame.sort("t")
        .rolling("t", period=f"{till - since}i", offset=f"{since}i", closed=ends, group_by="key")
        .agg(AGGREGATES)
        .sort("key", "t", nulls_last=False, maintain_order=True)
    )
    got = ours(events, ff.around(time=(since, till), closed=closed), by="key")
    assert_same(rows(got), want.rows())


@pytest.mark.parametrize("closed", ["left", "right"])
@pytest.mark.parametrize(("size", "every", "offset"), [(40, 10, 0), (25, 10, 3), (8, 30, 0), (50, 50, 7)])
def test_polars_dynamic(events: pa.Table, size: int, every: int, offset: int, closed: Any) -> None:
    """Polars leaves out some windows at the start, before a key's first event; the others are the same."""
    frame = pl.from_arrow(events)
    assert isinstance(frame, pl.DataFrame)
    want = (
        frame.sort("t")
        .group_by_dynamic("t", every=f"{every}i", period=f"{size}i", offset=f"{offset}i", closed=closed, group_by="key")
        .agg(AGGREGATES)
        .sort("key", "t", nulls_last=False)
    )
    got = ours(events, ff.sliding(size, every, offset=offset, closed=closed, gaps="allow"), by="key")
    mine = [(row[0], row[1], *row[3:]) for row in rows(got)]
    theirs = {row[:2] for row in want.rows()}
    assert_same([row for row in mine if row[:2] in theirs], want.rows())
    early = [row for row in mine if row[:2] not in theirs]
    firsts = {row["key"]: row["t"] for row in frame.group_by("key").agg(pl.col("t").min()).to_dicts()}
    assert all(row[1] <= firsts[row[0]] for row in early)


@pytest.mark.parametrize(("size", "every"), [("1 month", "1 month"), ("3 months", "1 month"), ("1 year", "1 quarter")])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_polars_months(moments: pa.Table, size: str, every: str, zone: str) -> None:
    frame = pl.from_arrow(moments)
    assert isinstance(frame, pl.DataFrame)
    short = {"1 month": "1mo", "3 months": "3mo", "1 year": "1y", "1 quarter": "1q"}
    want = (
        frame.with_columns(pl.col("t").dt.convert_time_zone(zone))
        .sort("t")
        .group_by_dynamic("t", every=short[every], period=short[size])
        .agg(AGGREGATES)
        .with_columns(pl.col("t").dt.convert_time_zone("UTC"))
    )
    got = ours(moments, ff.sliding(size, every, timezone=zone, gaps="allow"))
    mine = [(row[0], *row[2:]) for row in rows(got)]
    starts = set(want["t"].to_list())
    assert len(starts) > 10
    assert_same([row for row in mine if row[0] in starts], want.rows())
    assert all(row[0] < min(starts) for row in mine if row[0] not in starts)
