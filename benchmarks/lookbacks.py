"""Lookbacks of several sizes up to labels, next to the longest alone, DuckDB, Polars and Spark.

``python -m benchmarks.lookbacks`` prints the tables as Markdown, ``--spark`` those of Spark; the report has them by
``python -m benchmarks.run --cases lookbacks``. All start from the same Arrow tables (or cached DataFrames) of events
and labels, and give a row a label: a count, a sum and a maximum over five sizes. Results are compared first; pairs take
turns.

DuckDB and Polars join the labels with the events of the longest size, and aggregate those of each size by a condition,
the best that was found for them. Spark does that, too, or looks back by ``OVER (RANGE)`` from labels among the events.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

import framefold as ff

from .holistic import Took, middle, took
from .report import table

DAY = 86_400_000_000
SIZES = {"1h": DAY // 24, "1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY, "90d": 90 * DAY}
"""What outputs are named by, and the microseconds of each size."""
LONGEST = max(SIZES.values())
OUTPUTS = {"n": ff.Count(), "s": ff.Sum("x"), "m": ff.Max("x")}
NAMES = [f"{output}_{size}" for size in SIZES for output in OUTPUTS]

Run = Callable[[], Any]


class Size(NamedTuple):
    """How many events, keys and labels there are."""

    events: int
    keys: int
    labels: int

    def __str__(self) -> str:
        return f"{self.labels:,} labels, {self.events:,} events of {self.keys:,} keys"


IN_PROCESS, ON_SPARK = Size(4_000_000, 20_000, 200_000), Size(1_000_000, 5_000, 50_000)
QUICK = Size(20_000, 100, 1_000)


def data(size: Size) -> tuple[pa.Table, pa.Table]:
    """Events of 120 days in the order of time, and labels of the last 60 of them in no order."""
    draw = np.random.default_rng(0)
    times = np.sort(draw.integers(0, 120 * DAY, size.events))
    until = draw.integers(60 * DAY, 120 * DAY, size.labels)
    events = {"t": pa.array(times, pa.timestamp("us", "UTC")), "k": draw.integers(0, size.keys, size.events)}
    labels = {"row": np.arange(size.labels), "k": draw.integers(0, size.keys, size.labels)}
    return (
        pa.table(events | {"x": np.round(100 * draw.random(size.events), 2)}),
        pa.table(labels | {"at": pa.array(until, pa.timestamp("us", "UTC"))}),
    )


def ours(events: Any, labels: Any, sizes: dict[str, int] = SIZES) -> Any:
    words = [f"{int(size[:-1])} {'hours' if size.endswith('h') else 'days'}" for size in sizes]
    return ff.events(events, time="t", by="k").window(ff.lookback(*words, at=labels)).aggregate(**OUTPUTS)


def sql(cast: str, condition: Callable[[str, str], str]) -> str:
    """A join of labels and events, with an aggregate of those of each size; in the words of a dialect."""
    columns = ", ".join(
        f"{condition('count(e.x)', f'e.t >= at - {cast.format(micros)}')} as n_{size}, "
        f"{condition('sum(e.x)', f'e.t >= at - {cast.format(micros)}')} as s_{size}, "
        f"{condition('max(e.x)', f'e.t >= at - {cast.format(micros)}')} as m_{size}"
        for size, micros in SIZES.items()
    )
    return (
        f"select l.row, {columns} from labels l left join events e on l.k = e.k and e.t < l.at "
        f"and e.t >= l.at - {cast.format(LONGEST)} group by l.row order by l.row"
    )


def in_duckdb(events: pa.Table, labels: pa.Table) -> pa.Table:
    connection = duckdb.connect()
    connection.register("events", events)
    connection.register("labels", labels)
    filtered = sql("interval '{} microseconds'", lambda call, condition: f"{call} filter (where {condition})")
    return connection.sql(filtered.replace(">= at", ">= l.at")).to_arrow_table()


def in_polars(events: pa.Table, labels: pa.Table) -> pa.Table:
    left, right = (pl.from_arrow(each).lazy() for each in (labels, events))  # type: ignore[union-attr]
    t, at, x = pl.col("t"), pl.col("at"), pl.col("x")
    joined = left.join(right, on="k").filter((t < at) & (t >= at - pl.duration(microseconds=LONGEST)))
    found = []
    for size, micros in SIZES.items():
        inside = t >= at - pl.duration(microseconds=micros)
        found += [inside.sum().alias(f"n_{size}"), x.filter(inside).sum().alias(f"s_{size}")]
        found.append(x.filter(inside).max().alias(f"m_{size}"))
    rows = left.select("row").join(joined.group_by("row").agg(found), on="row", how="left", maintain_order="left")
    return rows.collect(engine="streaming").to_arrow()


def require_equal(mine: pa.Table, theirs: pa.Table, peer: str) -> None:
    """SystemExit unless a peer has our results, sums up to rounding."""
    for name in NAMES:
        one, other = (
            np.asarray(each[name].combine_chunks().cast(pa.float64()).fill_null(0)) for each in (mine, theirs)
        )
        if len(one) != len(other) or not np.allclose(one, other, rtol=1e-12, atol=1e-9):
            sys.exit(f"lookbacks: {peer} differs from framefold in {name}")


def in_turns(runs: dict[str, Run], rounds: int) -> dict[str, list[Took]]:
    """What each run takes in each round."""
    found: dict[str, list[Took]] = {name: [] for name in runs}
    for turn in range(rounds):
        for name in list(runs)[:: -1 if turn % 2 else 1]:
            found[name].append(took(runs[name]))
    return found


def lines(found: dict[str, list[Took]], clock_only: bool) -> list[str]:
    """The seconds of each, and ours as a share of it: medians of pairs."""
    first, *_ = found.values()
    cells = []
    for name, each in found.items():
        shares = [mine.of(theirs) for mine, theirs in zip(first, each, strict=True)]
        share = middle(shares)
        cells.append([name, f"{median(one.wall for one in each):.2f}", f"{share.wall:.2f}"])
        cells[-1] += [] if clock_only else [f"{share.cpu:.2f}"]
    head = ["contender", "seconds", "framefold's five sizes as a share of it, by the clock"]
    return table(head + ([] if clock_only else ["of processors"]), cells)


def local(size: Size = IN_PROCESS, rounds: int = 5) -> dict[str, list[str]]:
    """The table of one process."""
    events, labels = data(size)
    mine, peers = ours(events, labels), {"DuckDB": in_duckdb, "Polars": in_polars}
    for peer, run in peers.items():
        require_equal(mine, run(events, labels), peer)
    runs: dict[str, Run] = {
        "framefold, five sizes": lambda: ours(events, labels),
        "framefold, the longest": lambda: ours(events, labels, {"90d": LONGEST}),
        **{peer: lambda run=run: run(events, labels) for peer, run in peers.items()},
    }
    found = in_turns(runs, rounds) if rounds else {}
    return {f"Lookbacks, five sizes by three outputs: {size}": lines(found, False) if found else []}


def on_spark(size: Size = ON_SPARK, rounds: int = 5) -> dict[str, list[str]]:
    """The table of Spark."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    from framefold.spark.session.session import local_session

    spark = local_session("lookbacks")
    events, labels = (spark.createDataFrame(each.to_pandas()).cache() for each in data(size))
    for name, each in (("events", events), ("labels", labels)):
        each.createOrReplaceTempView(name)
        each.count()

    def joined() -> Any:
        how = "interval {} microseconds", lambda call, test: call.replace("e.x", f"case when {test} then e.x end")
        return spark.sql(sql(*how).replace(">= at", ">= l.at"))

    def over() -> Any:
        both = events.select("k", "t", "x", f.lit(None).cast("long").alias("row")).unionByName(
            labels.select("k", f.col("at").alias("t"), f.lit(None).cast("double").alias("x"), "row")
        )
        keyed, columns = Window.partitionBy("k").orderBy(f.unix_micros("t")), []
        for name, micros in SIZES.items():
            inside = keyed.rangeBetween(-micros, -1)
            columns += [
                of("x").over(inside).alias(f"{output}_{name}")
                for output, of in (("n", f.count), ("s", f.sum), ("m", f.max))
            ]
        return both.select("row", *columns).where("row is not null").orderBy("row")

    runs: dict[str, Run] = {
        "framefold, five sizes": lambda: ours(events, labels).toArrow(),
        "framefold, the longest": lambda: ours(events, labels, {"90d": LONGEST}).toArrow(),
        "Spark, OVER (RANGE)": lambda: over().toArrow(),
        "Spark, conditional aggregates after a join": lambda: joined().toArrow(),
    }
    mine, _, *theirs = (run() for run in runs.values())
    for peer, found in zip(list(runs)[2:], theirs, strict=True):
        require_equal(mine, found, peer)
    taken = in_turns(runs, rounds) if rounds else {}
    return {f"Lookbacks on Spark: {size}": lines(taken, True) if taken else []}


def tables() -> dict[str, list[str]]:
    """Those of the report."""
    return local() | on_spark()


def check() -> None:
    """SystemExit unless all have equal results on few events."""
    local(QUICK, 0)
    on_spark(QUICK, 0)


def main() -> None:
    """Compare, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--size", type=int, nargs=3, metavar=("EVENTS", "KEYS", "LABELS"))
    asked = parser.parse_args()
    of, size = (on_spark, ON_SPARK) if asked.spark else (local, IN_PROCESS)
    for title, text in of(Size(*asked.size) if asked.size else size, asked.rounds).items():
        print("\n".join([f"## {title}", "", *text, ""]))


if __name__ == "__main__":
    main()
