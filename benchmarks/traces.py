"""Cases of the literature: NEXMark's query 5, and the experiments of Patroumpas and Sellis (figures 6 to 13)."""

from __future__ import annotations

from .case import COPIED, OURS, STAGES, WINDOWS, Case, Point
from .datasets import Data
from .jobs import SECOND

FILES = ("framefold_local.local", "framefold_spark.parquet")


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
        box=80.0,
    )


def connections(rate: int) -> list[Case]:
    """Cost against extent, step and rate, for their Q4 (distinct) and Q5 (SUM and MAX by local host).

    The paper sends 10,000 to 100,000 tuples a second, one wave of tuples with one timestamp each second, through
    windows of ten waves; so does this. Q6, the join of two windows, waits for the window algebra.
    """
    totals = (("total", "sum", "duration"), ("longest", "max", "duration"))
    by_host: dict[str, object] = {"keys": ("local",), "outputs": totals}
    distinct: dict[str, object] = {"keys": ("protocol", "local", "remote"), "outputs": (("tuples", "count", ""),)}
    partitioned = {"kind": "rows", "keys": ("protocol",), "ties": "admitted", "outputs": totals}
    each_row = ("spark.range", "duckdb.range", "polars.rolling", "pandas.rolling")
    many = (*FILES, *STAGES, "polars.dynamic")
    whole = (*FILES, "spark.window", *COPIED, "duckdb.expanded", "polars.dynamic")

    def data(times: int, waves: int) -> Data:
        return Data("connections", rate * times * waves, rate=rate * times)

    def sliding(job: dict[str, object], size: int, every: int) -> dict[str, object]:
        return job | {"size": size * SECOND, "every": every * SECOND}

    def case(name: str, title: str, axis: str, points: list[Point], contenders: tuple[str, ...], box: float) -> Case:
        about = "A trace with the schema of LBL-CONN-7, one wave of tuples a second, as the paper replays it."
        return Case(name, f"LBL-like trace, {title}", axis, tuple(points), contenders, about, box=box)

    extents, steps = (1, 10, 50), (1, 5, 10)
    trace, half, start = data(1, 60), data(1, 30), data(1, 15)
    return [
        case(
            "lbl-extent",
            "SUM and MAX of durations by local host, against the extent (step 1 s)",
            "extent, seconds",
            [Point(extent, trace, sliding(by_host, extent, 1)) for extent in extents],
            many,
            35.0,
        ),
        case(
            "lbl-step",
            "SUM and MAX of durations by local host, against the step (extent 10 s)",
            "step, seconds",
            [Point(step, trace, sliding(by_host, 10, step)) for step in steps],
            many,
            22.0,
        ),
        case(
            "lbl-rate",
            "SUM and MAX of durations by local host, against the rate (extent 10 s, step 1 s)",
            "tuples a second",
            [Point(rate * times, data(times, 30), sliding(by_host, 10, 1)) for times in (1, 3, 10)],
            many,
            40.0,
        ),
        case(
            "lbl-distinct",
            "distinct (protocol, local, remote), against the extent (step 1 s)",
            "extent, seconds",
            [Point(extent, start, sliding(distinct, extent, 1)) for extent in (1, 3, 10)],
            whole,
            100.0,
        ),
        case(
            "lbl-partitioned",
            "SUM and MAX over the last tuples of each protocol, against how many",
            "tuples",
            [Point(last, half, partitioned | {"size": last}) for last in (10, 100, 1000)],
            (*FILES, *each_row),
            100.0,
        ),
        case(
            "lbl-landmark",
            "SUM and MAX by local host since the start, against the step",
            "step, seconds",
            [Point(step, trace, {"kind": "landmark", "every": step * SECOND} | by_host) for step in steps],
            (*FILES, "spark.two_stages", "duckdb.two_stages"),
            15.0,
        ),
    ]
