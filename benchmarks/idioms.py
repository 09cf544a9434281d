"""An analyst's 36 idioms of windows, each beside Polars, pandas and DuckDB in one process.

``python -m benchmarks.idioms`` prints the table as Markdown; ``--rows`` and ``--only`` make it shorter, and ``python -m
benchmarks.run --cases idioms`` writes it into the report. Trades of 50 keys (strings) are in the order of time, with
gaps between them as chance has it. Each contender starts from the table of its own library, and gives one: a column
beside the events, in their order, or a row a bar. Results are compared first. Pairs take turns, five or more; a peer
that takes over a second is measured once. A peer that has no such idiom takes no part in it. The last column is the
greatest relative error of the best peer, whose sums are those of running floats; 0 where there is nothing to round.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import framefold as ff

from .report import table

REPORTED, QUICK = 1_000_000, 4_000
"""The events of the report, and those of a quick check."""

KEYS, SPACING = 50, 30_000_000
"""The keys, and the mean microseconds between two events of one."""

SLOW = 1.0
"""Seconds from which on a peer is measured once."""


@dataclass
class Tables:
    """The same events as each contender has them, and labels to look back from."""

    arrow: pa.Table
    labels: pa.Table
    polars: pl.DataFrame = field(init=False)
    polars_labels: pl.DataFrame = field(init=False)
    pandas: pd.DataFrame = field(init=False)
    connection: Any = field(init=False)

    def __post_init__(self) -> None:
        self.polars, self.polars_labels = (pl.from_arrow(each) for each in (self.arrow, self.labels))  # type: ignore[assignment]
        self.pandas = self.arrow.to_pandas()
        self.connection = duckdb.connect()
        self.connection.sql("set timezone = 'UTC'")
        for name, each in (("arrow_events", self.arrow), ("arrow_labels", self.labels)):
            self.connection.register(name, each)
            numbered = f"select row_number() over () as i, * from {name}"
            self.connection.sql(f"create table {name.removeprefix('arrow_')} as {numbered}")


Run = Callable[[Tables], Any]


@dataclass(frozen=True)
class Idiom:
    """What is asked for, in words, and how each contender has it.

    ``ours`` and the ``peers`` are functions of the tables. Each gives columns of results, whose names begin with ``r``;
    what is no column beside events or labels has ``k`` and ``t``, too.
    """

    name: str
    ours: Run
    peers: dict[str, Run]


def beside(windows: Any, *, r: Any) -> Run:
    """Ours, beside the events."""
    return lambda tables: ff.events(tables.arrow, time="t", by="k").window(windows).with_columns(r=r)


def bars(windows: Any, *, r: Any) -> Run:
    """Ours, a row a key and window."""
    return lambda tables: ff.events(tables.arrow, time="t", by="k").window(windows).aggregate(r=r)


def over(*columns: pl.Expr) -> Run:
    """Polars, beside the events of each key."""
    named = [each.over("k").alias(f"r{number}") for number, each in enumerate(columns)]
    return lambda tables: tables.polars.with_columns(*named)


def rolling(column: pl.Expr, period: str = "1h") -> Run:
    """Polars, for what has no rolling expression; its rows are by key, and are put back in the order of events."""

    def run(tables: Tables) -> Any:
        rows = tables.polars.with_row_index("i")
        index = "n" if period.endswith("i") else "t"
        rows = rows.with_columns(n=pl.int_range(pl.len()).over("k")) if index == "n" else rows
        found = rows.rolling(index, period=period, group_by="k").agg(pl.col("i").last(), r=column)
        return tables.polars.hstack([found.sort("i")["r"]])

    return run


def dynamic(column: pl.Expr, **grid: Any) -> Run:
    """Polars, a row a key and window."""
    return lambda tables: tables.polars.group_by_dynamic("t", group_by="k", **grid).agg(r=column)


def sql(column: str, frame: str = "", by: str = "k") -> Run:
    """DuckDB, beside the events: ``@`` is the window, of an hour where no frame is given."""
    frame = frame or "range between interval 3599999999 microseconds preceding and current row"
    window = f"window w as (partition by {by} order by t {frame})"
    return query(f"select *, {column.replace('@', 'over w')} as r from events {window} order by i")


def query(text: str) -> Run:
    """DuckDB, any query."""
    return lambda tables: tables.connection.sql(text).to_arrow_table()


def frame(column: Callable[[pd.DataFrame], pd.Series]) -> Run:
    """pandas, beside the events."""
    return lambda tables: tables.pandas.assign(r=column)


def hours(column: Callable[[Any], pd.DataFrame], closed: Any = "right", least: int = 1) -> Run:
    """pandas, hours of each key; its rows are by key, and are put back."""

    def found(events: pd.DataFrame) -> pd.Series:
        rows = events.sort_values("k", kind="stable")
        each = rows.groupby("k", sort=False).rolling("1h", on="t", closed=closed, min_periods=least)["x"]
        return pd.Series(column(each).to_numpy(), rows.index)

    return frame(found)


def rows20(column: Callable[[Any], pd.Series]) -> Run:
    """pandas, the last 20 rows of each key."""
    return frame(lambda rows: column(rows.groupby("k", sort=False)["x"].rolling(20, min_periods=1)).droplevel(0))


def groups(column: Callable[[Any], pd.Series], of: str = "x") -> Run:
    """pandas, what groups have."""
    return frame(lambda rows: column(rows.groupby("k", sort=False)[of]))


def binned(column: Callable[[Any], Any]) -> Run:
    """pandas, bars of five minutes."""
    return lambda tables: column(tables.pandas.groupby(["k", pd.Grouper(key="t", freq="5min")])).reset_index()


def sessions(tables: Tables) -> pl.DataFrame:
    """Polars, sums up to a pause of two minutes."""
    pause = (pl.col("t").diff() >= pl.duration(minutes=2)).fill_null(False)
    numbered = tables.polars.with_columns(session=pause.cum_sum().over("k"))
    return numbered.group_by("k", "session").agg(pl.col("t").first(), r=X.sum())


def as_of(tables: Tables) -> pl.DataFrame:
    """Polars, the last value of the hour before each label."""
    events = tables.polars.select("k", "t", r="x")
    how: Any = {"left_on": "at", "right_on": "t", "by": "k", "tolerance": "1h"}
    return tables.polars_labels.join_asof(events, allow_exact_matches=False, **how)


def since_midnight(tables: Tables) -> pa.Table:
    """Ours: days are a part of the key."""
    rows = tables.arrow.append_column("day", tables.arrow["t"].cast(pa.date32()))
    return ff.events(rows, time="t", by=["k", "day"]).window(ALL).with_columns(r=ff.Sum("x"))


def looking_back(tables: Tables) -> pa.Table:
    """Ours: the last value of the hour before each label."""
    asked = ff.events(tables.arrow, time="t", by="k").window(ff.lookback("1 hour", at=tables.labels))
    return asked.with_columns(r=ff.Last("x"))


def weighted(events: pd.DataFrame) -> Any:
    """pandas, the exponentially weighted mean by time, of each key."""
    each = events.groupby("k", sort=False)["x"].ewm(halflife="10min", times=events["t"])
    return each.mean().droplevel(0)


HOUR = ff.around(time=("-1 hour", "0 seconds"), closed="right")
BEFORE = ff.around(time=("-1 hour", "0 seconds"), closed="left")
BOTH = ff.around(time=("-1 hour", "0 seconds"))
LAG = ff.around(rows=(-1, -1))
ALL, ROWS, ROWS100 = ff.landmark(), ff.last_rows(20), ff.last_rows(100)
BARS = ff.tumbling("5 minutes")
SIZES = {"5m": "5 minutes", "1h": "1 hour", "6h": "6 hours", "1d": "1 day"}
OF_ALL = "rows between unbounded preceding and current row"
OF_ROWS = "rows between 19 preceding and current row"
X, V = pl.col("x"), pl.col("v")
AS_OF = """
    select a.*, case when e.t >= a.at - interval 1 hour then e.x end as r
    from labels a asof left join events e on a.k = e.k and a.at > e.t order by a.i
"""
CANDLES = """
    select k, time_bucket(interval 5 minutes, t) as t,
        {'open': first(x order by t), 'high': max(x), 'low': min(x), 'close': last(x order by t)} as r
    from events group by all
"""
SESSIONS = """
    select k, min(t) as t, sum(x) as r
    from (
        select *, sum(fresh) over (partition by k order by t) as n
        from (
            select *, coalesce(t - lag(t) over (partition by k order by t) >= interval 2 minutes, false)::int as fresh
            from events
        )
    )
    group by k, n
"""
ONE = X * 0.0 + 1.0

IDIOMS = (
    Idiom("mean of an hour", beside(HOUR, r=ff.Mean("x")),
          {"Polars": over(X.rolling_mean_by("t", "1h")), "DuckDB": sql("avg(x) @"),
           "pandas": hours(lambda w: w.mean())}),
    Idiom("sum of an hour", beside(HOUR, r=ff.Sum("x")),
          {"Polars": over(X.rolling_sum_by("t", "1h")), "DuckDB": sql("sum(x) @"), "pandas": hours(lambda w: w.sum())}),
    Idiom("minimum of an hour", beside(HOUR, r=ff.Min("x")),
          {"Polars": over(X.rolling_min_by("t", "1h")), "DuckDB": sql("min(x) @"), "pandas": hours(lambda w: w.min())}),
    Idiom("maximum of an hour", beside(HOUR, r=ff.Max("x")),
          {"Polars": over(X.rolling_max_by("t", "1h")), "DuckDB": sql("max(x) @"), "pandas": hours(lambda w: w.max())}),
    Idiom("standard deviation of an hour", beside(HOUR, r=ff.StdDev("x")),
          {"Polars": over(X.rolling_std_by("t", "1h")), "DuckDB": sql("stddev(x) @"),
           "pandas": hours(lambda w: w.std())}),
    Idiom("mean of the hour before, closed left", beside(BEFORE, r=ff.Mean("x")),
          {"Polars": over(X.rolling_mean_by("t", "1h", closed="left")),
           "DuckDB": sql("avg(x) @", "range between interval 1 hour preceding and interval 1 microsecond preceding"),
           "pandas": hours(lambda w: w.mean(), "left")}),
    Idiom("mean of an hour, closed both", beside(BOTH, r=ff.Mean("x")),
          {"Polars": over(X.rolling_mean_by("t", "1h", closed="both")),
           "DuckDB": sql("avg(x) @", "range between interval 1 hour preceding and current row"),
           "pandas": hours(lambda w: w.mean(), "both")}),
    Idiom("mean of an hour, 100 at least",
          beside(ff.around(time=("-1 hour", "0 seconds"), closed="right", min_samples=100), r=ff.Mean("x")),
          {"Polars": over(X.rolling_mean_by("t", "1h", min_samples=100)),
           "DuckDB": sql("case when count(x) @ >= 100 then avg(x) @ end"),
           "pandas": hours(lambda w: w.mean(), least=100)}),
    Idiom("mean of an hour in the middle",
          beside(ff.around(time=("-30 minutes", "30 minutes")), r=ff.Mean("x")),
          {"DuckDB": sql("avg(x) @", "range between interval 30 minutes preceding and interval 30 minutes following"),
           "Polars": over(X.mean().rolling("t", period="3600000001us", offset="-1800000001us"))}),
    Idiom("sum of the hour to come", beside(ff.around(time=("0 seconds", "1 hour"), closed="left"), r=ff.Sum("x")),
          {"DuckDB": sql("sum(x) @", "range between current row and interval 3599999999 microseconds following"),
           "Polars": over(X.sum().rolling("t", period="1h", offset="-1us"))}),
    Idiom("z-score in an hour", beside(HOUR, r=(ff.Last("x") - ff.Mean("x")) / ff.StdDev("x")),
          {"Polars": over((X - X.rolling_mean_by("t", "1h")) / X.rolling_std_by("t", "1h")),
           "DuckDB": sql("(x - avg(x) @) / stddev(x) @")}),
    Idiom("VWAP of an hour", beside(HOUR, r=ff.WeightedAverage("x", "v")),
          {"Polars": over((X * V).rolling_sum_by("t", "1h") / V.rolling_sum_by("t", "1h")),
           "DuckDB": sql("sum(x * v) @ / sum(v) @")}),
    Idiom("mean of an hour, of some events", beside(HOUR, r=ff.Filtered(ff.Mean("x"), "up")),
          {"Polars": over(pl.when("up").then(X).rolling_mean_by("t", "1h")),
           "DuckDB": sql("avg(x) filter (where up) @")}),
    Idiom("slope of an hour", beside(HOUR, r=ff.LinearTrend("s", "x")),
          {"Polars": rolling(pl.cov("s", "x") / pl.col("s").var()), "DuckDB": sql("regr_slope(x, s) @")}),
    Idiom("top 3 of an hour", beside(HOUR, r=ff.TopN("x", 3)),
          {"Polars": rolling(X.top_k(3).sort(descending=True)), "DuckDB": sql("max(x, 3) @")}),
    Idiom("means of four lookbacks",
          lambda tables: ff.events(tables.arrow, time="t", by="k")
          .window(ff.lookback(*SIZES.values())).with_columns(r=ff.Mean("x")),
          {"Polars": over(*(X.rolling_mean_by("t", size, closed="left") for size in SIZES))}),
    Idiom("mean of the last 20 rows", beside(ROWS, r=ff.Mean("x")),
          {"Polars": over(X.rolling_mean(20, min_samples=1)), "DuckDB": sql("avg(x) @", OF_ROWS),
           "pandas": rows20(lambda w: w.mean())}),
    Idiom("standard deviation of the last 20 rows", beside(ROWS, r=ff.StdDev("x")),
          {"Polars": over(X.rolling_std(20, min_samples=2)), "DuckDB": sql("stddev(x) @", OF_ROWS),
           "pandas": rows20(lambda w: w.std())}),
    Idiom("maximum of the last 20 rows", beside(ROWS, r=ff.Max("x")),
          {"Polars": over(X.rolling_max(20, min_samples=1)), "DuckDB": sql("max(x) @", OF_ROWS),
           "pandas": rows20(lambda w: w.max())}),
    Idiom("z-score in the last 20 rows", beside(ROWS, r=(ff.Last("x") - ff.Mean("x")) / ff.StdDev("x")),
          {"Polars": over((X - X.rolling_mean(20, min_samples=1)) / X.rolling_std(20, min_samples=2)),
           "DuckDB": sql("(x - avg(x) @) / stddev(x) @", OF_ROWS)}),
    Idiom("correlation in the last 100 rows", beside(ROWS100, r=ff.Correlation("x", "y")),
          {"Polars": over(pl.rolling_corr("x", "y", window_size=100, min_samples=2)),
           "DuckDB": sql("corr(x, y) @", "rows between 99 preceding and current row")}),
    Idiom("list of the last 20 rows", beside(ROWS, r=ff.CollectList("x")),
          {"Polars": rolling(X, "20i"), "DuckDB": sql("list(x) @", OF_ROWS)}),
    Idiom("value of the row before", beside(LAG, r=ff.Last("x")),
          {"Polars": over(X.shift()), "DuckDB": sql("lag(x) @", OF_ROWS), "pandas": groups(lambda g: g.shift())}),
    Idiom("change since the row before",
          beside(ff.around(rows=(-1, 0)), r=ff.Last("x") - ff.First("x")),
          {"Polars": over(X.diff()), "DuckDB": sql("x - lag(x) @", OF_ROWS), "pandas": groups(lambda g: g.diff())}),
    Idiom("mean so far", beside(ALL, r=ff.Mean("x")),
          {"Polars": over(X.cum_sum() / X.cum_count()), "DuckDB": sql("avg(x) @", OF_ALL),
           "pandas": frame(lambda rows: rows.groupby("k", sort=False)["x"].expanding().mean().droplevel(0))}),
    Idiom("sum so far", beside(ALL, r=ff.Sum("x")),
          {"Polars": over(X.cum_sum()), "DuckDB": sql("sum(x) @", OF_ALL), "pandas": groups(lambda g: g.cumsum())}),
    Idiom("maximum so far", beside(ALL, r=ff.Max("x")),
          {"Polars": over(X.cum_max()), "DuckDB": sql("max(x) @", OF_ALL), "pandas": groups(lambda g: g.cummax())}),
    Idiom("drawdown", beside(ALL, r=ff.Last("x") / ff.Max("x") - 1),
          {"Polars": over(X / X.cum_max() - 1), "DuckDB": sql("x / max(x) @ - 1", OF_ALL),
           "pandas": frame(lambda rows: rows["x"] / rows.groupby("k", sort=False)["x"].cummax() - 1)}),
    Idiom("sum since midnight", since_midnight,
          {"Polars": lambda tables: tables.polars.with_columns(r=X.cum_sum().over("k", pl.col("t").dt.date())),
           "DuckDB": sql("sum(x) @", OF_ALL, "k, t::date"),
           "pandas": frame(lambda rows: rows.groupby(["k", rows["t"].dt.floor("D")], sort=False)["x"].cumsum())}),
    Idiom("last known value", beside(ALL, r=ff.Last("q")),
          {"Polars": over(pl.col("q").forward_fill()), "DuckDB": sql("last_value(q ignore nulls) @", OF_ALL),
           "pandas": groups(lambda g: g.ffill(), "q")}),
    Idiom("exponentially weighted mean by time", beside(ALL, r=ff.Ewma("x", "10 minutes")),
          {"Polars": over(X.ewm_sum_by("t", half_life="10m") / ONE.ewm_sum_by("t", half_life="10m")),
           "pandas": frame(weighted)}),
    Idiom("last value of the hour before a label", looking_back,
          {"Polars": as_of, "DuckDB": query(AS_OF)}),
    Idiom("OHLC of 5 minutes", bars(BARS, r=ff.OHLC("x")),
          {"Polars": lambda tables: tables.polars.group_by_dynamic("t", every="5m", group_by="k").agg(
              r=pl.struct(open=X.first(), high=X.max(), low=X.min(), close=X.last())),
           "DuckDB": query(CANDLES),
           "pandas": binned(lambda g: g["x"].ohlc().apply(dict, axis=1).rename("r"))}),
    Idiom("mean of 5 minutes", bars(BARS, r=ff.Mean("x")),
          {"Polars": dynamic(X.mean(), every="5m"), "pandas": binned(lambda g: g["x"].mean().rename("r")),
           "DuckDB": query("select k, time_bucket(interval 5 minutes, t) as t, avg(x) as r from events group by all")}),
    Idiom("sum of an hour every 5 minutes", bars(ff.sliding("1 hour", every="5 minutes"), r=ff.Sum("x")),
          {"Polars": dynamic(X.sum(), every="5m", period="1h", offset="-55m")}),
    Idiom("sums of sessions", bars(ff.session("2 minutes"), r=ff.Sum("x")),
          {"Polars": sessions,
           "DuckDB": query(SESSIONS)}),
)  # fmt: skip


def events(rows: int) -> Tables:
    """Trades in the order of time: a price that wanders, volumes, a second price, flags, and quotes now and then."""
    rng = np.random.default_rng(43)
    t = np.cumsum(rng.integers(1, 2 * SPACING // KEYS, rows)) + 1_700_000_000_000_000
    names = np.array([f"stock {number}" for number in range(KEYS)])
    x = 100 * np.exp(np.cumsum(rng.normal(0, 1e-4, rows)))
    data = {
        "k": pa.array(names[rng.integers(0, KEYS, rows)]),
        "t": pa.array(t, pa.timestamp("us")),
        "x": x,
        "y": x + rng.normal(0, 1, rows),
        "v": rng.integers(1, 1000, rows),
        "s": (t - t[0]) / 1e6,
        "up": rng.random(rows) < 0.4,
        "q": pa.array(x, mask=rng.random(rows) < 0.8),
    }
    at = pa.array(np.sort(rng.choice(t, rows // 5)) + 1, pa.timestamp("us"))
    return Tables(pa.table(data), pa.table({"k": names[rng.integers(0, KEYS, len(at))], "at": at}))


def results(found: Any) -> list[Any]:
    """The columns of results, structs as their fields and lists as their items; bars by key and time."""
    rows = pl.from_pandas(found) if isinstance(found, pd.DataFrame) else found
    rows = pl.DataFrame(pl.from_arrow(rows) if isinstance(rows, pa.Table) else rows)
    if "window" in rows.columns:
        rows = rows.with_columns(t=pl.col("window").struct.field("start"))
    if not {"x", "at"} & set(rows.columns):
        rows = rows.sort("k", "t")
    own = rows.drop("k", "t", "x", "y", "v", "s", "up", "q", "day", "at", "i", "i_1", "window", "session", strict=False)
    for column in [each for each, kind in own.schema.items() if kind == pl.Struct]:
        own = own.unnest(column)
    return [own[each].explode() if own[each].dtype == pl.List else own[each] for each in own.columns]


def differs(ours: Any, theirs: Any) -> bool:
    """Whether results differ: another number of rows, or a value that does by more than rounding explains."""
    return len(ours) != len(theirs) or not np.allclose(*numbers(ours, theirs), rtol=1e-7, atol=1e-7, equal_nan=True)


def numbers(*columns: Any) -> list[Any]:
    """Columns as floats, NaN where null."""
    return [each.cast(pl.Float64).fill_null(np.nan).to_numpy() for each in columns]


def error(ours: Any, theirs: Any) -> float:
    """How far a peer's results are from ours at most, of which sums, means and deviations are rounded once."""
    a, b = numbers(ours, theirs)
    some = np.isfinite(a) & np.isfinite(b) & (a != 0)
    return float(np.max(np.abs(b[some] / a[some] - 1), initial=0.0))


def seconds(run: Run, tables: Tables) -> float:
    """What a run takes."""
    began = time.perf_counter()
    run(tables)
    return time.perf_counter() - began


def measured(idiom: Idiom, tables: Tables, rounds: int) -> list[str]:
    """A line of the table; SystemExit where results differ."""
    ours, errors = results(idiom.ours(tables)), {}
    for peer, run in idiom.peers.items():
        theirs = results(run(tables))
        if any(map(differs, ours, theirs)):
            sys.exit(f"{idiom.name}: {peer} differs from framefold")
        errors[peer] = max(map(error, ours, theirs))
    own: list[float] = []
    pairs: dict[str, list[tuple[float, float]]] = {peer: [] for peer in idiom.peers}
    for _ in range(rounds):
        own.append(seconds(idiom.ours, tables))
        for peer, run in idiom.peers.items():
            if not pairs[peer] or pairs[peer][0][0] < SLOW:
                pairs[peer].append((theirs := seconds(run, tables), own[-1] / theirs))
    shares = {peer: median(share for _, share in each) for peer, each in pairs.items()}
    best = max(shares, key=lambda peer: shares[peer])
    said = [f"{peer} {median(each for each, _ in pairs[peer]):.3f}" for peer in pairs]
    return [idiom.name, f"{median(own):.3f}", "; ".join(said), best, f"{shares[best]:.2f}", f"{errors[best]:.0e}"]


HEAD = ["idiom", "framefold, seconds", "peers, seconds", "the best one", "ours as a share of it", "how far it is off"]


def tables(rows: int = REPORTED, rounds: int = 7, only: str = "") -> dict[str, list[str]]:
    """The table, by its title."""
    given, lines = events(rows), []
    for idiom in IDIOMS:
        if only in idiom.name:
            lines.append(measured(idiom, given, rounds))
            print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    return {f"Idioms: {rows:,} events of {KEYS} keys (strings) in the order of time": table(HEAD, lines)}


def main() -> None:
    """Compare, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=REPORTED)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="idioms with this in their name")
    asked = parser.parse_args()
    for title, lines in tables(asked.rows, asked.rounds, asked.only).items():
        print("\n".join([f"## {title}", "", *lines, ""]))


if __name__ == "__main__":
    main()
