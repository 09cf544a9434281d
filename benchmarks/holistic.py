"""What needs all values of a window, by kinds of windows and overlap, next to DuckDB, Polars, pandas and Spark.

``python -m benchmarks.holistic --rows 200000`` prints the tables as Markdown: seconds in one process, the ratio to each
peer in pairs, and how the processor's time grows with the overlap at as many windows. Results are compared first.

Each contender starts from the same Arrow table, whose rows are in the order of time and whose keys come in turns, and
gives an Arrow table of key, time and result, in the order of key and time; ours has the bounds of the windows as well.
What it must sort or convert for that is in its time: DuckDB partitions by key and orders its results, Polars and pandas
sort the events by key first, so that results need no order. Pairs take turns, five or more, and are many where they
are short. What is missed is said by the clock; the processor's time is what other work on the machine changes least.

With ``--spark`` a window of an hour every minute is run on Spark, next to Spark's own functions over ``window()`` and
over ``OVER``: of one cached DataFrame, in one session, both to Arrow. All of it is written into the report by
``python -m benchmarks.run --cases holistic``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import framefold as ff

from .holistic_large import tables as of_large
from .holistic_memory import tables as of_memory
from .report import table

Run = Callable[[], Any]
Values = NDArray[Any]

OVERLAPS = (10, 100, 1_000, 10_000)
REPORTED = 100_000
"""The events of the report's tables."""

ON_SPARK, SPARK_KEYS = (100_000, 400_000), 20
"""The events and the keys of the tables of Spark."""

PARTS = ("local", "spark", "memory", "large")
KINDS = ("grid", "around", "last_rows")

SLOW = 1.0
"""Seconds from which on a peer is measured once."""

ENOUGH, MORE = 1.0, 8
"""Seconds until which rounds are added to the fewest, and as how many times these there are at most."""

MOST_GROWTH = 1.15
"""The most that the time may grow with the overlap."""

LONGEST = 2_000
"""Overlap up to which peers run that compute each window by itself: beyond it they take minutes."""


@dataclass(frozen=True)
class Operation:
    """An operation as each contender has it; None where it does not.

    ``column`` is what it is of. ``polars`` is an expression of Polars over the rows of a window; ``rolling`` and
    ``of_rows`` are such over windows around each row, and of its last rows. ``pandas`` is a method of rolling windows.
    Modes are not compared: peers take any of several.
    """

    ours: Any
    column: str
    sql: str | None
    polars: pl.Expr
    rolling: Callable[[int], pl.Expr] | None = None
    of_rows: Callable[[int], pl.Expr] | None = None
    pandas: Callable[[Any], Any] | None = None
    compared: bool = True


def operations(text: bool) -> dict[str, Operation]:
    """The operations by name; of strings those that take them."""
    column = "s" if text else "i"
    col, of = pl.col(column), f"{column}"
    found = {
        "CountDistinct": Operation(ff.CountDistinct(column), of, f"count(distinct {of})", col.n_unique()),
        "Mode": Operation(ff.Mode(column), of, f"mode({of})", col.mode().min(), compared=False),
        "LastN(3)": Operation(ff.LastN(column, 3), of, None, col.tail(3)),
    }
    if text:
        return found
    x = pl.col("x")
    return found | {
        "Median": Operation(
            ff.Median("x"), "x", "median(x)", x.median(),
            lambda size: x.rolling_median_by("t", f"{size}i", closed="both"),
            lambda rows: x.rolling_median(rows, min_samples=1), lambda rolled: rolled.median(),
        ),
        "Quantile(0.9)": Operation(
            ff.Quantile("x", 0.9), "x", "quantile_cont(x, 0.9)", x.quantile(0.9, "linear"),
            lambda size: x.rolling_quantile_by("t", f"{size}i", quantile=0.9, interpolation="linear", closed="both"),
            lambda rows: x.rolling_quantile(0.9, "linear", rows, min_samples=1),
            lambda rolled: rolled.quantile(0.9),
        ),
        "DistinctSum": Operation(ff.DistinctSum("i"), "i", "sum(distinct i)", pl.col("i").unique().sum()),
        "TopN(3)": Operation(ff.TopN("x", 3), "x", "max(x, 3)", x.top_k(3).sort(descending=True)),
    }  # fmt: skip


def events(rows: int, keys: int) -> pa.Table:
    """Events at a tick each, all keys in turns: so an overlap of n is n events of all keys, and ties are none."""
    rng = np.random.default_rng(7)
    values = rng.integers(0, 500, rows)
    return pa.table(
        {
            "t": np.arange(rows),
            "k": rng.permutation(rows) % keys,
            "x": rng.normal(size=rows),
            "i": values,
            "s": pa.array(np.char.add("user ", values.astype(str))),
        }
    )


@dataclass(frozen=True)
class Contest:
    """A case: what ours does, what each peer does, each from the table of events to a table of results."""

    name: str
    ours: Run
    peers: dict[str, Run]
    compared: bool


def contests(data: pa.Table, kind: str, overlap: int, text: bool) -> Iterator[Contest]:
    """The contests of one kind of windows: ``"grid"``, ``"around"`` or ``"last_rows"``."""
    connection = duckdb.connect()
    asked = ff.events(data, time="t", by="k")
    windows = {
        "grid": lambda: asked.window(ff.sliding(overlap, every=1, gaps="allow")),
        "around": lambda: asked.window(ff.around(time=(-overlap, 0))),
        "last_rows": lambda: asked.window(ff.last_rows(overlap)),
    }[kind]()
    frames = {"around": f"range between {overlap} preceding and current row",
              "last_rows": f"rows between {overlap - 1} preceding and current row"}  # fmt: skip
    short = overlap <= LONGEST
    for name, each in operations(text).items():
        peers: dict[str, Run] = {}
        if kind in frames and each.sql is not None:
            over = f"over (partition by k order by t {frames[kind]})"
            sql = f"select k, t, {each.sql} {over} as r from data order by k, t"
            if "max(x, 3)" not in sql and (short or "median" in sql or "quantile" in sql or "distinct" in sql):
                peers["DuckDB"] = partial(in_duckdb, connection, data, sql)
        if short or (kind == "around" and each.rolling is not None):
            peers["Polars"] = partial(in_polars, data, kind, overlap, each)
        if kind == "last_rows" and each.pandas is not None:
            peers["pandas"] = partial(in_pandas, data, overlap, each)
        yield Contest(name, partial(lambda op: windows.aggregate(r=op), each.ours), peers, each.compared)


def in_duckdb(connection: duckdb.DuckDBPyConnection, data: pa.Table, sql: str) -> pa.Table:
    """The results of a query over the table ``data``."""
    return connection.register("data", data).sql(sql).to_arrow_table()


def in_polars(data: pa.Table, kind: str, size: int, operation: Operation) -> pa.Table:
    """The results by Polars, in the fastest way that was found: events are in the order of time, and need that of keys.

    Without a sort of its own for them ``rolling`` takes twice as long, and a sort of the results twice that again.
    """
    frame = pl.from_arrow(data.select(["t", "k", operation.column]))
    assert isinstance(frame, pl.DataFrame)
    if not frame["k"].is_sorted():
        frame = frame.sort("k", maintain_order=True)
    if kind == "grid":
        found = frame.group_by_dynamic("t", every="1i", period=f"{size}i", group_by="k").agg(r=operation.polars)
    elif kind == "around" and operation.rolling is not None:
        found = frame.select("k", "t", r=operation.rolling(size).over("k"))
    elif kind == "around":
        found = frame.rolling("t", period=f"{size}i", group_by="k", closed="both").agg(r=operation.polars)
    elif operation.of_rows is not None:
        found = frame.select("k", "t", r=operation.of_rows(size).over("k"))
    else:
        numbered = frame.with_columns(n=pl.int_range(pl.len()).over("k"))
        found = numbered.rolling("n", period=f"{size}i", group_by="k").agg(pl.col("t").last(), r=operation.polars)
    return found.select("k", "t", "r").to_arrow()


def in_pandas(data: pa.Table, rows: int, operation: Operation) -> pa.Table:
    """The results of windows of rows by pandas."""
    frame = data.select(["t", "k", "x"]).to_pandas().sort_values("k", kind="stable")
    assert operation.pandas is not None
    found = operation.pandas(frame.groupby("k", sort=False)["x"].rolling(rows, min_periods=1))
    return pa.table({"k": frame["k"].to_numpy(), "t": frame["t"].to_numpy(), "r": found.to_numpy()})


def require_equal(contest: Contest, kind: str) -> None:
    """SystemExit unless the peers have our results, as far as they give them in the same windows."""
    ours = contest.ours()
    at = pc.struct_field(ours["window"], "start") if kind == "grid" else ours["at"]
    ours = pa.table({"k": ours["k"], "t": at, "r": ours["r"]})
    for peer, run in contest.peers.items():
        theirs = run()
        own = ours
        if kind == "grid":  # of the windows of a grid, those that both have
            common = pa.table({"k": theirs["k"], "t": theirs["t"], "row": np.arange(len(theirs))})
            rows = ours.select(["k", "t"]).append_column("own", pa.array(np.arange(len(ours))))
            both = rows.join(common, ["k", "t"], join_type="inner").sort_by("row")
            own, same = ours.take(both["own"]), len(both) == len(theirs)
        else:
            same = ours.select(["k", "t"]).equals(theirs.select(["k", "t"]))
        if same and contest.compared:
            same = equal(own["r"].combine_chunks(), theirs["r"].combine_chunks())
        if not same:
            sys.exit(f"{contest.name}: {peer} differs from framefold")


def equal(ours: Any, theirs: Any) -> bool:
    """Whether results are equal, floats up to the last digits of values of about 1, as peers interpolate otherwise."""
    if pa.types.is_floating(ours.type):
        return bool(np.allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-12, atol=1e-12))
    return bool(ours.to_pylist() == theirs.to_pylist())


def seconds(run: Run) -> float:
    """What a run takes."""
    return took(run).wall


class Took(NamedTuple):
    """Seconds by the clock, and of all cores together, which others on the machine hardly change."""

    wall: float
    cpu: float

    def of(self, other: Took) -> Took:
        """As a share of another."""
        return Took(self.wall / other.wall, self.cpu / other.cpu)


def took(run: Run) -> Took:
    """What a run takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return Took(time.perf_counter() - wall, time.process_time() - cpu)


def middle(each: list[Took]) -> Took:
    """Their medians."""
    return Took(median(one.wall for one in each), median(one.cpu for one in each))


class Measured(NamedTuple):
    """Medians: what ours takes, what each peer does, and ours as a share of it, in pairs; and the number of pairs."""

    ours: Took
    peers: dict[str, tuple[Took, Took, int]]


def measured(contest: Contest, rounds: int) -> Measured:
    """The medians of some rounds, or more where they are short; of peers that take over a second one is enough."""
    ours: list[Took] = []
    peers: dict[str, list[tuple[Took, Took]]] = {peer: [] for peer in contest.peers}
    began = time.perf_counter()
    while len(ours) < rounds or (time.perf_counter() - began < ENOUGH and len(ours) < rounds * MORE):
        ours.append(took(contest.ours))
        for peer, run in contest.peers.items():
            if not peers[peer] or peers[peer][0][0].wall < SLOW:
                theirs = took(run)
                peers[peer].append((theirs, ours[-1].of(theirs)))
    return Measured(
        middle(ours),
        {
            peer: (middle([theirs for theirs, _ in each]), middle([share for _, share in each]), len(each))
            for peer, each in peers.items()
        },
    )


def growth(runs: Sequence[Run], rounds: int) -> list[float]:
    """How much more of the processor's time each run takes for a window than the first one: medians of pairs."""
    found: list[list[float]] = []
    counts, began = [len(run()) for run in runs], time.perf_counter()
    while len(found) < rounds or (time.perf_counter() - began < ENOUGH and len(found) < rounds * MORE):
        each = [took(run).cpu / count for run, count in zip(runs, counts, strict=True)]
        found.append([one / each[0] for one in each])
    return [median(shares) for shares in zip(*found, strict=True)]


HEAD = [
    "operation",
    "overlap",
    "seconds",
    "growth",
    "peers: seconds (ours as a share, by the clock; of processors)",
    "",
]


def local(rows: int, keys: int, rounds: int, kinds: Sequence[str], text: bool) -> dict[str, list[str]]:
    """The tables of the local engine, by their titles."""
    data, tables = events(rows, keys), {}
    for kind in kinds:
        lines: list[list[str]] = []
        overlaps = OVERLAPS if kind != "last_rows" else (100, 1_000)
        every = [list(contests(data, kind, overlap, text)) for overlap in overlaps]
        for of_one in zip(*every, strict=True):  # the contests of an operation
            grown = growth([contest.ours for contest in of_one], rounds)
            for overlap, contest, most in zip(overlaps, of_one, grown, strict=True):
                require_equal(contest, kind)
                ours, peers = measured(contest, rounds)
                said = "; ".join(
                    f"{peer} {theirs.wall:.3f} (x{share.wall:.2f}; x{share.cpu:.2f}{'' if pairs > 1 else ', once'})"
                    for peer, (theirs, share, pairs) in peers.items()
                )
                missed = [peer for peer, (_, share, _) in peers.items() if share.wall > 1]
                missed += ["growth"] if most > MOST_GROWTH else []
                verdict = f"**missed: {', '.join(missed)}**" if missed else ""
                lines.append([contest.name, f"{overlap:,}", f"{ours.wall:.3f}", f"{most:.2f}", said or "none", verdict])
                print(f"{kind} {' '.join(lines[-1])}", file=sys.stderr, flush=True)
        of = f"{rows:,} events of {keys:,} key{'s' * (keys > 1)}{', strings' if text else ''}"
        tables[f"Holistic, {kind.replace('_', ' ')}: {of}"] = table(HEAD, lines)
    return tables


def tables(parts: Sequence[str] = PARTS, rows: int = REPORTED, rounds: int = 5) -> dict[str, list[str]]:
    """Those of the report, or of some :data:`PARTS` of it."""
    many = rows // 2  # a grid would give each key its own windows, which are too many
    found: dict[str, list[str]] = {}
    if "local" in parts:
        for keys, text, kinds in ((1, False, KINDS), (1, True, KINDS), (many, False, KINDS[1:])):
            found |= local(rows, keys, rounds, kinds, text)
    for size in ON_SPARK if "spark" in parts else ():
        found |= on_spark(size, SPARK_KEYS, rounds)
    found |= of_memory() if "memory" in parts else {}
    return found | (of_large() if "large" in parts else {})


def on_spark(rows: int, keys: int, rounds: int) -> dict[str, list[str]]:
    """The table of an hour every minute on Spark."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    from framefold.spark.session.session import local_session

    spark = local_session("holistic")
    data = events(rows, keys)
    ticks = pa.array(np.asarray(data["t"]) * (86_400_000_000 // rows), pa.timestamp("us", "UTC"))
    frame = spark.createDataFrame(data.set_column(0, "t", ticks)).cache()
    frame.count()
    hour = ff.events(frame, time="t", by="k").window(ff.sliding("1 hour", every="1 minute"))
    around = ff.events(frame, time="t", by="k").window(ff.around(time=("-60 minutes", "0 minutes")))
    over = Window.partitionBy("k").orderBy(f.unix_micros("t")).rangeBetween(-3_600_000_000, 0)

    def grouped(each: Any) -> Any:
        return frame.groupBy("k", f.window("t", "1 hour", "1 minute")).agg(each.alias("r"))

    def ordered(each: Any) -> Any:
        return frame.select("k", each.over(over).alias("r"))

    lines = []
    for name, ours, theirs in (
        ("Median", ff.Median("x"), f.percentile("x", f.lit(0.5))),
        ("CountDistinct", ff.CountDistinct("i"), f.count_distinct("i")),
    ):
        runs = [("window()", hour, grouped)]
        if name == "Median":  # Spark has no distinct counts over OVER
            runs.append(("OVER", around, ordered))
        for where, query, native in runs:
            sums = [f.count("*"), f.sum(f.round("r", 6))]
            a, b = (each.agg(*sums).first() for each in (query.aggregate(r=ours), native(theirs)))
            if a is None or b is None or a[0] != b[0] or abs(a[1] - b[1]) > 1e-6 * abs(b[1]) + 1e-3:
                sys.exit(f"{name} over {where}: Spark has {b}, framefold {a}")
            pairs = []
            for _ in range(rounds):  # a query is made anew each time: Spark keeps the shuffled rows of one that ran
                ours_took = seconds(lambda query=query, ours=ours: query.aggregate(r=ours).toArrow())
                pairs.append((ours_took, seconds(lambda native=native, theirs=theirs: native(theirs).toArrow())))
            ratio = median(theirs / mine for mine, theirs in pairs)
            lines.append([f"{name} over {where}", f"{median(m for m, _ in pairs):.2f}",
                          f"{median(t for _, t in pairs):.2f}", f"{ratio:.1f}"])  # fmt: skip
            print(" ".join(lines[-1]), file=sys.stderr, flush=True)
    head = ["operation", "framefold, seconds", "Spark, seconds", "times as fast"]
    return {f"Holistic, on Spark, an hour every minute: {rows:,} events of {keys:,} keys": table(head, lines)}


def main() -> None:
    """Compare, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--keys", type=int, nargs="*", default=[1, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--text", action="store_true", help="strings as values")
    parser.add_argument("--spark", action="store_true")
    asked = parser.parse_args()
    found: dict[str, list[str]] = {}
    if asked.spark:
        for rows in (asked.rows,) if asked.rows else ON_SPARK:
            found |= on_spark(rows, SPARK_KEYS, asked.rounds)
    for keys in () if asked.spark else asked.keys:
        found |= local(asked.rows or 2 * REPORTED, keys, asked.rounds, asked.kinds, asked.text)
    for title, lines in found.items():
        print("\n".join([f"## {title}", "", *lines, ""]))


if __name__ == "__main__":
    main()
