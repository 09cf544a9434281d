"""Cases of the literature: NEXMark's query 5, and the experiments of Patroumpas and Sellis (figures 6 to 13)."""

from __future__ import annotations

from .case import COPIED, OURS, STAGES, WINDOWS, Case, Point
from .datasets import Data
from .jobs import SECOND


def hot_items(rows: int) -> Case:
    """NEXMark query 5: bids by auction over HOP windows, and of each window the auctions that have most."""
    job = {
        "kind": "hottest",
        "keys": ("auction",),
        "size": 10 * SECOND,
        "every": 2 * SECOND,
        "outputs": (("bids", "count", ""),),
    }
    return Case(
        "nexmark",
        f"NEXMark query 5, hot items: {rows:,} bids, 10,000 events a second",
        "window, seconds",
        tuple(Point(size, Data("bids", rows, text=True), job | {"size": size * SECOND}) for size in (10, 60)),
        (*OURS, *COPIED, *WINDOWS, "duckdb.expanded", "flink.hop"),
        "Windows every two seconds; 10 seconds is the query as it was written.",
    )


def connections(rows: int, rate: int) -> list[Case]:
    """Cost against extent, step and rate, for their Q4 (distinct) and Q5 (SUM and MAX by local host).

    Q6, the join of two windows, waits for the window algebra.
    """
    totals = (("total", "sum", "duration"), ("longest", "max", "duration"))
    by_host = {"keys": ("local",), "outputs": totals}
    distinct = {"keys": ("protocol", "local", "remote"), "outputs": (("tuples", "count", ""),)}
    partitioned = {"kind": "rows", "keys": ("protocol",), "ties": "admitted", "outputs": totals}
    each_row = ("spark.range", "duckdb.range", "polars.rolling", "pandas.rolling")
    slow = rate // 10
    many = ("framefold_local.local", "framefold_spark.parquet", *STAGES, "polars.dynamic")
    whole = (
        "framefold_local.local",
        "framefold_spark.parquet",
        "spark.window",
        *COPIED,
        "duckdb.expanded",
        "polars.dynamic",
    )

    def data(rate: int) -> Data:
        return Data("connections", rows, rate=rate)

    def sliding(job: dict[str, object], size: int, every: int) -> dict[str, object]:
        return job | {"size": size * SECOND, "every": every * SECOND}

    def case(name: str, title: str, axis: str, points: list[Point], contenders: tuple[str, ...]) -> Case:
        about = "A trace with the schema of LBL-CONN-7, one wave of tuples a second, as the paper replays it."
        return Case(
            name, f"LBL-like trace, {title}", axis, tuple(points), contenders, about, repeats=2, budget=8.0, box=20.0
        )

    extents, steps = (1, 5, 10, 50), (1, 2, 5, 10)
    rates = [slow * times for times in (1, 2, 5, 10)]
    at_slow = data(slow)
    return [
        case(
            "lbl-extent",
            "SUM and MAX of durations by local host, against the extent (step 1 s)",
            "extent, seconds",
            [Point(extent, at_slow, sliding(by_host, extent, 1)) for extent in extents],
            many,
        ),
        case(
            "lbl-step",
            "SUM and MAX of durations by local host, against the step (extent 10 s)",
            "step, seconds",
            [Point(step, at_slow, sliding(by_host, 10, step)) for step in steps],
            many,
        ),
        case(
            "lbl-rate",
            "SUM and MAX of durations by local host, against the rate (extent 10 s, step 1 s)",
            "tuples a second",
            [Point(each, data(each), sliding(by_host, 10, 1)) for each in rates],
            many,
        ),
        case(
            "lbl-distinct",
            "distinct (protocol, local, remote), against the extent (step 1 s)",
            "extent, seconds",
            [Point(extent, at_slow, sliding(distinct, extent, 1)) for extent in extents],
            whole,
        ),
        case(
            "lbl-partitioned",
            "SUM and MAX over the last tuples of each protocol, against how many",
            "tuples",
            [Point(last, at_slow, partitioned | {"size": last}) for last in (10, 100, 1000)],
            ("framefold_local.local", "framefold_spark.parquet", *each_row),
        ),
        case(
            "lbl-landmark",
            "SUM and MAX by local host since the start, against the step",
            "step, seconds",
            [Point(step, at_slow, {"kind": "landmark", "every": step * SECOND} | by_host) for step in steps],
            ("framefold_local.local", "framefold_spark.parquet", "spark.two_stages", "duckdb.two_stages"),
        ),
    ]
