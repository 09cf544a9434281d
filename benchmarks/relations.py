"""What relations cost: joins beside DuckDB, Polars and Spark's own, and the shapes of Patroumpas and Sellis' figures.

``python -m benchmarks.relations local`` joins a million rows with a million in this process, ``spark FOLDER`` ten
million with ten million, and ``figures`` prints the paper's experiment on a made-up trace.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import framefold as ff

LENGTH = 300_000_000
"""Five minutes, in microseconds."""
YEAR = 365 * 86_400_000_000
OVERLAP = "l.k = r.k and l.valid_from < r.valid_to and r.valid_from < l.valid_to"
PAIR = (
    "l.k, l.x, r.k as r_k, r.x as r_x, greatest(l.valid_from, r.valid_from) as valid_from, "
    "least(l.valid_to, r.valid_to) as valid_to"
)
BUCKETS = f"unnest(range(epoch_us(valid_from) // {LENGTH}, (epoch_us(valid_to) - 1) // {LENGTH} + 1))"
IN_BUCKETS = f"""
    with a as (select *, {BUCKETS} as b from one), c as (select *, {BUCKETS} as b from other)
    select {PAIR} from a l join c r on {OVERLAP} and l.b = r.b
        and l.b = epoch_us(greatest(l.valid_from, r.valid_from)) // {LENGTH}
"""


def validities(rows: int, seed: int, keys: int = 100_000, span: int = YEAR) -> pa.Table:
    """Validities of five minutes in the order of time, their keys by Zipf's law."""
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(1, keys + 1)
    since = np.sort(draw.integers(0, span, rows))
    return pa.table(
        {
            "k": draw.choice(keys, rows, p=weights / weights.sum()),
            "x": draw.integers(0, 1000, rows),
            "valid_from": pa.array(since).view(pa.timestamp("us", "UTC")),
            "valid_to": pa.array(since + LENGTH).view(pa.timestamp("us", "UTC")),
        }
    )


def ours(one: Any, other: Any) -> Any:
    left, right = (ff.relation(each, valid_from="valid_from", valid_to="valid_to") for each in (one, other))
    return left.join(right, on="k", prefix="r_").rows()


def polars_in_buckets(one: pa.Table, other: pa.Table) -> pa.Table:
    """Polars' best: an equality join on key and bucket."""
    import polars as pl

    since, until = pl.col("valid_from").to_physical(), pl.col("valid_to").to_physical()
    sides = [
        pl.from_arrow(each)
        .lazy()
        .with_columns(b=pl.int_ranges(since // LENGTH, (until - 1) // LENGTH + 1))
        .explode("b")  # type: ignore[union-attr]
        for each in (one, other)
    ]
    right = sides[1].rename({"valid_from": "since", "valid_to": "until", "x": "r_x"})
    begin = pl.max_horizontal("valid_from", "since")
    found = (
        sides[0]
        .join(right, on=["k", "b"])
        .filter((pl.col("valid_from") < pl.col("until")) & (pl.col("since") < pl.col("valid_to")))
        .filter(begin.to_physical() // LENGTH == pl.col("b"))
    )
    end = pl.min_horizontal("valid_to", "until")
    return found.select("k", "x", r_k="k", r_x="r_x", valid_from=begin, valid_to=end).collect().to_arrow()


def seconds(run: Callable[[], Any], times: int = 5) -> tuple[float, Any]:
    """The least of some times, and what the last run gave."""
    best, found = float("inf"), None
    for _ in range(times):
        found = None
        begun = time.perf_counter()
        found = run()
        best = min(best, time.perf_counter() - begun)
    return best, found


def local(rows: int = 1_000_000) -> None:
    """A join in this process beside DuckDB's best spelling, an equality on key and bucket, and Polars'."""
    import duckdb

    one, other = validities(rows, 1), validities(rows, 2)
    con = duckdb.connect()
    con.register("one", one)
    con.register("other", other)
    took, found = seconds(lambda: ours(one, other))
    print(f"framefold: {took:.2f} s, {len(found):,} pairs")
    for name, run in (
        ("DuckDB, key and bucket", lambda: con.sql(IN_BUCKETS).to_arrow_table()),
        ("Polars, key and bucket", lambda: polars_in_buckets(one, other)),
    ):
        theirs, pairs = seconds(run)
        assert len(pairs) == len(found), (len(pairs), len(found))
        print(f"{name}: {theirs:.2f} s; framefold takes {took / theirs:.2f} of it")


def on_spark(folder: str, rows: int = 10_000_000, patience: float = 10.0) -> None:
    """A join on Spark beside the plain one on key and overlap, which is stopped after so many times ours."""
    import threading

    from framefold.spark.session.session import local_session

    for number in (1, 2):
        if not (Path(folder) / f"{number}.parquet").exists():
            pq.write_table(validities(rows, number), Path(folder) / f"{number}.parquet", row_group_size=1 << 20)
    spark = local_session("relations", "local[2]", **{"spark.driver.memory": "6g", "spark.ui.enabled": "false"})
    one, other = (spark.read.parquet(f"{folder}/{number}.parquet") for number in (1, 2))

    def to_nowhere(df: Any) -> float:
        begun = time.perf_counter()
        df.write.format("noop").mode("overwrite").save()
        return time.perf_counter() - begun

    took = to_nowhere(ours(one, other))
    print(f"framefold: {took:.0f} s for {rows:,} by {rows:,}", flush=True)
    print(f"pairs: {ours(one, other).count():,}", flush=True)
    one.createOrReplaceTempView("l")
    other.createOrReplaceTempView("r")
    plain = spark.sql(f"select {PAIR} from l join r on {OVERLAP}")
    timer = threading.Timer(patience * took, spark.sparkContext.cancelAllJobs)
    timer.start()
    try:
        print(f"the plain join: {to_nowhere(plain):.0f} s", flush=True)
    except Exception:
        print(f"the plain join: stopped after {patience * took:.0f} s, {patience:.0f} times ours", flush=True)
    timer.cancel()


def trace(rate: int, units: int, seed: int = 1) -> pa.Table:
    """Connections like those of LBL-CONN-7, ``rate`` in each unit of time; the trace's own times are not kept."""
    draw = np.random.default_rng(seed)
    rows = rate * units
    protocols = np.array(["nntp", "smtp", "ftp-data", "ftp", "telnet", "finger", "other"])
    hosts = 1 / np.arange(1, 1601) ** 0.9
    return pa.table(
        {
            "t": np.repeat(np.arange(units), rate),
            "duration": draw.lognormal(1.0, 2.0, rows).round(3),
            "protocol": protocols[draw.choice(7, rows, p=[0.3, 0.25, 0.15, 0.1, 0.1, 0.05, 0.05])],
            "bytes_sent": draw.integers(0, 1 << 20, rows),
            "bytes_received": draw.integers(0, 1 << 20, rows),
            "localIP": draw.choice(1600, rows, p=hosts / hosts.sum()),
            "remoteIP": draw.integers(0, 15_000, rows),
            "state": np.where(draw.random(rows) < 0.9, "SF", "REJ"),
        }
    )


def relation(events: pa.Table, windows: Any, by: str | None = None) -> ff.Relation[pa.Table]:
    return ff.events(events, time="t", by=by).window(windows).relation()


def q4(of: ff.Relation[pa.Table]) -> ff.Relation[pa.Table]:
    return of.distinct("protocol", "localIP", "remoteIP", keep=True)


def q5(of: ff.Relation[pa.Table], output: Any) -> ff.Relation[pa.Table]:
    return of.aggregate(by="localIP", value=output)


def q6(of: ff.Relation[pa.Table], other: ff.Relation[pa.Table]) -> ff.Relation[pa.Table]:
    return of.select("localIP", "duration").join(
        other.select("remoteIP", "duration"), on={"localIP": "remoteIP"}, prefix="b_"
    )


def rescanned_max(events: pa.Table, n: int, refreshes: int) -> float:
    """The rival of figure 9: MAX of the last n rows, scanned anew at each refresh. Seconds a refresh."""
    values = events["duration"].to_numpy()
    ends = np.linspace(n, len(values), refreshes).astype(int)
    begun = time.perf_counter()
    for end in ends:
        values[end - n : end].max()
    return (time.perf_counter() - begun) / refreshes


def negative_tuples(left: np.ndarray, right: np.ndarray, n: int) -> float:
    """The rival of figure 8: for a row that leaves, a negative tuple scans the results for its pairs. Seconds a row."""
    held: tuple[deque[int], deque[int]] = (deque(), deque())
    keys = left, right
    pairs = np.empty((0, 2), np.int64)
    rows = 2 * n + 200
    begun = 0.0
    for at in range(rows):
        if at == 2 * n:
            begun = time.perf_counter()
        for side in (0, 1):
            if len(held[side]) == n:
                gone = held[side].popleft()
                pairs = pairs[pairs[:, side] != gone]
            held[side].append(at)
            others = np.fromiter(held[1 - side], np.int64)
            matched = others[keys[1 - side][others] == keys[side][at]]
            new = np.empty((len(matched), 2), np.int64)
            new[:, side], new[:, 1 - side] = at, matched
            pairs = np.concatenate([pairs, new])
    return (time.perf_counter() - begun) / 200


def timed(build: Callable[[], ff.Relation[pa.Table]]) -> tuple[float, pa.Table]:
    return seconds(lambda: build().rows(), 1)


def figures(rate: int = 10_000) -> None:
    """The shapes of figures 6 to 13: for each the axis, then microseconds a row, or what else it says."""
    units = 40
    one, other = trace(rate, units), trace(rate, units, seed=2)
    rows = rate * units

    def line(figure: str, **values: float) -> None:
        print(f"{figure:<34}", "  ".join(f"{name} {value:10.3f}" for name, value in values.items()), flush=True)

    few = one.slice(0, rows // 10), other.slice(0, rows // 10)
    for step in (1, 2, 5, 10):
        of = relation(one, ff.sliding(10, every=step, closed="right"))
        small = [relation(each, ff.sliding(10, every=step, closed="right")) for each in few]
        line(
            f"6: w = 10, b = {step}, ms a refresh",
            distinct=1e3 * timed(lambda of=of: q4(of))[0] * step / units,
            sum=1e3 * timed(lambda of=of: q5(of, ff.Sum("duration")))[0] * step / units,
            max=1e3 * timed(lambda of=of: q5(of, ff.Max("duration")))[0] * step / units,
            join=1e3 * timed(lambda small=small: q6(*small))[0] * step / 4,
        )
    for extent in (2, 5, 10, 20):
        of = relation(one, ff.sliding(extent, every=1, closed="right"))
        line(
            f"7: w = {extent}, b = 1, us a row",
            distinct=1e6 * timed(lambda of=of: q4(of))[0] / rows,
            sum=1e6 * timed(lambda of=of: q5(of, ff.Sum("duration")))[0] / rows,
            max=1e6 * timed(lambda of=of: q5(of, ff.Max("duration")))[0] / rows,
        )
    for n in (1_000, 4_000, 16_000):
        sides = [relation(each.slice(0, 3 * n), ff.last_rows(n)) for each in (one, other)]
        took, pairs = timed(lambda sides=sides: q6(*sides))
        left, right = one["localIP"].to_numpy(), other["remoteIP"].to_numpy()
        line(
            f"8: join over the last {n:,}, us a row",
            ours=1e6 * took / (3 * n),
            negative_tuples=1e6 * negative_tuples(left, right, n),
            pairs=len(pairs) / (3 * n),
        )
    for n in (1_000, 10_000, 100_000):
        of = relation(one, ff.last_rows(n))
        line(
            f"9: the last {n:,}, us a row",
            max=1e6 * timed(lambda of=of: of.aggregate(value=ff.Max("duration")))[0] / rows,
            sum=1e6 * timed(lambda of=of: of.aggregate(value=ff.Sum("duration")))[0] / rows,
            rescanned_max=1e6 * rescanned_max(one, n, 200),
        )
    for n in (1_000, 10_000, 100_000):
        line(
            f"10: distinct of the last {n:,}",
            us_a_row=1e6 * timed(lambda n=n: q4(relation(one, ff.last_rows(n))))[0] / rows,
        )
    for n in (100, 1_000, 10_000):
        of = relation(one, ff.last_rows(n), by="protocol")
        line(
            f"11: the last {n:,} by protocol, us a row",
            distinct=1e6 * timed(lambda of=of: q4(of))[0] / rows,
            max=1e6 * timed(lambda of=of: q5(of, ff.Max("duration")))[0] / rows,
        )
    for part in (1, 2, 4):
        some = [each.slice(0, rows * part // 16) for each in (one, other)]
        of, to = (relation(each, ff.landmark()) for each in some)
        took, pairs = timed(lambda of=of, to=to: q6(of, to))
        distinct, kept = timed(lambda of=of: q4(of))
        total, sums = timed(lambda of=of: q5(of, ff.Sum("duration")))
        line(f"12: landmark, {rows * part // 16:,} rows, ms", distinct=1e3 * distinct, sum=1e3 * total, join=1e3 * took)
        line("13: MiB of results", distinct=kept.nbytes / 2**20, sum=sums.nbytes / 2**20, join=pairs.nbytes / 2**20)


if __name__ == "__main__":
    arguments = [int(each) if each.isdigit() else each for each in sys.argv[2:]]
    {"local": local, "spark": on_spark, "figures": figures}[sys.argv[1]](*arguments)  # type: ignore[operator]
