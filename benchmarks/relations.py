"""What relations cost: joins beside DuckDB, Polars and Spark's own, and the shapes of Patroumpas and Sellis' figures.

``python -m benchmarks.relations joins`` joins a million rows with a million in this process, ``on_spark`` ten million
with ten million or as many as are said, and ``figures`` gives the paper's experiment on a made-up trace. The report has
a section of each by ``python -m benchmarks.run --cases relations``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import framefold as ff
from framefold.extras.relations.overlaps import runs

from .report import table

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


def joins(rows: int = 1_000_000) -> list[str]:
    """A join in this process beside DuckDB's best spelling, an equality on key and bucket, and Polars'."""
    import duckdb

    one, other = validities(rows, 1), validities(rows, 2)
    con = duckdb.connect()
    con.register("one", one)
    con.register("other", other)
    contenders: dict[str, Callable[[], Any]] = {
        "framefold": lambda: ours(one, other),
        "DuckDB, key and bucket of time": lambda: con.sql(IN_BUCKETS).to_arrow_table(),
        "Polars, key and bucket of time": lambda: polars_in_buckets(one, other),
    }
    found = {name: seconds(run) for name, run in contenders.items()}
    (took, pairs), *_ = found.values()
    assert {len(each) for _, each in found.values()} == {len(pairs)}
    cells = [[name, f"{theirs:.2f}", f"{took / theirs:.2f}"] for name, (theirs, _) in found.items()]
    return [
        f"{rows:,} by {rows:,} rows with validities of five minutes over a year, 100,000 keys by Zipf's law, "
        f"{len(pairs):,} pairs; the least of five runs.",
        "",
        *table(["in this process", "s", "framefold takes"], cells),
    ]


def on_spark(rows: int = 10_000_000, patience: float = 10.5) -> list[str]:
    """A join on Spark beside the plain one on key and overlap, which is stopped after so many times ours."""
    import tempfile
    import threading

    from pyspark.sql import functions as f

    from framefold.spark.session.session import local_session

    spark = local_session("relations", "local[2]", **{"spark.driver.memory": "6g", "spark.ui.enabled": "false"})
    with tempfile.TemporaryDirectory() as folder:
        for name in ("l", "r"):
            pq.write_table(validities(rows, ord(name)), f"{folder}/{name}.parquet", row_group_size=1 << 20)
            spark.read.parquet(f"{folder}/{name}.parquet").createOrReplaceTempView(name)

        def pairs(df: Any) -> tuple[float, Any]:
            """The seconds that all pairs take, and what is equal if they are."""
            begun = time.perf_counter()
            (found,) = df.select(f.count("*"), f.sum(f.hash("*"))).collect()
            return time.perf_counter() - begun, tuple(found)

        took, found = pairs(ours(spark.table("l"), spark.table("r")))
        said = f"{rows:,} by {rows:,} rows, {found[0]:,} pairs: framefold {took:.0f} s; "
        timer = threading.Timer(patience * took, spark.sparkContext.cancelAllJobs)
        timer.start()
        try:
            theirs, same = pairs(spark.sql(f"select {PAIR} from l join r on {OVERLAP}"))
            assert same == found, (same, found)
            said += f"the plain join on key and overlap {theirs:.0f} s, {theirs / took:.1f} times as long"
        except Exception:
            if timer.is_alive():
                raise  # it was not stopped
            said += f"the plain join on key and overlap had not ended after {patience:.1f} times as long"
        timer.cancel()
    return [f"Spark with a driver of 6 GiB and two cores, {said}."]


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


def rescanned_max(events: pa.Table, windows: list[tuple[int, int]], by_host: bool) -> float:
    """The rival of figures 6, 7 and 9: MAX of the rows of each window anew, maybe by host. Seconds a window."""
    values, hosts = events["duration"].to_numpy(), events["localIP"].to_numpy()
    begun = time.process_time()
    for low, high in windows:
        if by_host:
            np.maximum.at(np.zeros(1600), hosts[low:high], values[low:high])
        else:
            values[low:high].max()
    return (time.process_time() - begun) / len(windows)


def negative_tuples(left: np.ndarray, right: np.ndarray, n: int, rows: int = 100) -> float:
    """The rival of figure 8: for a row that leaves, a negative tuple looks for its pairs. Seconds for one a side."""
    keys = left, right
    order = np.argsort(right[:n], kind="stable")
    some, places = runs(*(np.searchsorted(right[:n][order], left[:n], side) for side in ("left", "right")))
    pairs = np.stack([some, order[places]], axis=1)
    begun = time.process_time()
    for at in range(n, n + rows):
        for side in (0, 1):
            pairs = pairs[pairs[:, side] != at - n]
            low = at - n + side  # the left has moved on already when the right does
            matched = low + np.flatnonzero(keys[1 - side][low : low + n] == keys[side][at])
            new = np.empty((len(matched), 2), np.int64)
            new[:, side], new[:, 1 - side] = at, matched
            pairs = np.concatenate([pairs, new])
    return (time.process_time() - begun) / rows


def timed(build: Callable[[], ff.Relation[pa.Table]]) -> tuple[float, pa.Table]:
    """Seconds of the processor that the rows of a relation take, and the rows."""
    begun = time.process_time()
    found = build().rows()
    return time.process_time() - begun, found


def in_time(rate: int, extent: int, step: int, units: int) -> list[float]:
    """Queries over windows of time: microseconds a row of distinct, SUM, MAX, MAX by scans; a pair of the join."""
    one, other = trace(rate, units), trace(rate, units, seed=2)
    windows = ff.sliding(extent, every=step, closed="right")
    of, rows = relation(one, windows), rate * units
    refreshes = [(max(end - extent, 0) * rate, end * rate) for end in range(step, units + 1, step)]
    few = [relation(each.slice(0, rows // 10), windows) for each in (one, other)]
    for each in (of, *few):
        each.rows()  # windows are not among what is measured, as in the paper
    took, pairs = timed(lambda: q6(*few))
    return [
        1e6 * timed(lambda: q4(of))[0] / rows,
        1e6 * timed(lambda: q5(of, ff.Sum("duration")))[0] / rows,
        1e6 * timed(lambda: q5(of, ff.Max("duration")))[0] / rows,
        1e6 * rescanned_max(one, refreshes, True) * len(refreshes) / rows,
        1e6 * took / max(len(pairs), 1),
    ]


def one_by_one(rows: int, seed: int = 1) -> pa.Table:
    """Connections each at a time of its own, for windows counted in rows."""
    return trace(1, rows, seed)


def figures() -> list[str]:
    """The shapes of figures 6 to 13, as lines of Markdown; a unit has 10,000 rows where nothing else is said."""
    lines = [
        "The queries of Patroumpas and Sellis' experiment on a made-up trace with the columns of LBL-CONN-7, in this "
        "process, in microseconds of the processor a row; the join a pair. All rows of a unit have one time. The rival "
        "of MAX scans each window anew; that of the join looks for the pairs of a row that leaves in what it holds.",
    ]

    def add(figure: str, head: list[str], found: Iterable[list[Any]]) -> None:
        cells = [[f"{each:,.0f}" if each >= 1000 else f"{each:.3g}" for each in row] for row in found]
        lines.extend(["", f"**{figure}**", "", *table(head, cells)])

    of_time = ["distinct", "SUM", "MAX", "MAX by scans", "join, a pair"]
    steps, extents, rates = (1, 2, 5, 10), (2, 10, 50, 250), (10_000, 30_000, 100_000)
    add("6: an extent of 10, the step", ["step", *of_time], ([b, *in_time(10_000, 10, b, 40)] for b in steps))
    add("7: a step of 1, the extent", ["extent", *of_time], ([w, *in_time(10_000, w, 1, 300)] for w in extents))
    add("6, 7: an extent of 10, the rows a unit", ["rows", *of_time], ([r, *in_time(r, 10, 1, 20)] for r in rates))
    counts = (1_000, 10_000, 100_000)

    def eight(n: int) -> list[Any]:
        one, other = one_by_one(3 * n), one_by_one(3 * n, seed=2)
        took, pairs = timed(lambda: q6(relation(one, ff.last_rows(n)), relation(other, ff.last_rows(n))))
        theirs = negative_tuples(one["localIP"].to_numpy(), other["remoteIP"].to_numpy(), n)
        ours = 1e6 * took / (3 * n)
        return [n, ours, 1e6 * theirs, 1e6 * theirs / ours, len(pairs) / (3 * n)]

    head = ["the last", "join", "by negative tuples", "times", "pairs a row"]
    add("8: the join of the last rows", head, map(eight, counts))
    events = one_by_one(400_000)

    def nine(n: int) -> list[Any]:
        of, ends = relation(events, ff.last_rows(n)), np.linspace(n, len(events), 50).astype(int).tolist()
        found = [timed(lambda each=each: of.aggregate(value=each("duration")))[0] for each in (ff.Max, ff.Sum)]
        return [
            n,
            *(1e6 * each / len(events) for each in found),
            1e6 * rescanned_max(events, [(end - n, end) for end in ends], False),
        ]

    add("9: MAX and SUM of the last rows", ["the last", "MAX", "SUM", "MAX by scans"], map(nine, counts))

    def ten(n: int) -> list[Any]:
        parts = [events.slice(0, rows) for rows in (100_000, 200_000, 400_000)]
        return [
            n,
            *(1e6 * timed(lambda each=each: q4(relation(each, ff.last_rows(n))))[0] / len(each) for each in parts),
        ]

    add("10: distinct of the last rows, of so many", ["the last", "100,000", "200,000", "400,000"], map(ten, counts))

    def eleven(n: int) -> list[Any]:
        of = relation(events, ff.last_rows(n), by="protocol")
        took, pairs = timed(lambda: q6(*(relation(each, ff.last_rows(n), by="protocol") for each in sides)))
        found = [q4(of), q5(of, ff.Max("duration"))]
        return [n, *(1e6 * timed(lambda each=each: each)[0] / len(events) for each in found), 1e6 * took / len(pairs)]

    sides = events.slice(0, 100_000), one_by_one(100_000, seed=2)
    head = ["the last of each protocol", "distinct", "MAX", "join, a pair"]
    add("11: the last rows of each protocol", head, map(eleven, (100, 1_000, 10_000)))
    one, other = trace(10_000, 20), trace(10_000, 20, seed=2)

    def landmark(rows: int) -> list[Any]:
        of, to = (relation(each.slice(0, rows), ff.landmark()) for each in (one, other))
        asked = q4(of), q5(of, ff.Sum("duration")), q5(of, ff.Max("duration")), q6(of, to)
        found = [timed(lambda each=each: each) for each in asked]
        return [rows, *(took for took, _ in found), *(rows.nbytes / 2**20 for _, rows in found)]

    head = ["rows", *(f"{name}, {unit}" for unit in ("s", "MiB") for name in ("distinct", "SUM", "MAX", "join"))]
    add("12, 13: all since a landmark, in all", head, map(landmark, (25_000, 50_000, 100_000, 200_000)))
    return lines


def measured() -> Iterator[tuple[str, list[str]]]:
    """All sections of the report, by their titles."""
    yield "Relations: rows joined by key and validity", joins()
    yield "Relations: the figures of the paper", figures()
    yield "Relations: a large join on Spark", [*on_spark(1_000_000), "", *on_spark()]


if __name__ == "__main__":
    arguments = [int(each) if each.isdigit() else each for each in sys.argv[2:]]
    measure: dict[str, Any] = {"joins": joins, "on_spark": on_spark, "figures": figures}
    print("\n".join(measure[sys.argv[1]](*arguments)))
