"""What is measured, beside the cases of the literature in :mod:`benchmarks.traces`."""

from __future__ import annotations

from .case import OURS, STAGES, WINDOWS, Case, Point
from .datasets import Data
from .jobs import HOUR, MINUTE, SECOND
from .traces import connections, hot_items


def reference(rows: int) -> Case:
    """The reference job."""
    data = Data(rows=rows)
    modes = ("framefold_spark.dataframe_driver", "framefold_spark.dataframe_executors")
    files = ("framefold_spark.parquet_driver", "framefold_spark.parquet_executors")
    rest = ("duckdb.every", "polars.every", "duckdb.expanded", "pandas.two_stages")
    return Case(
        "reference",
        f"The reference job: {rows:,} events of 100 keys over a day, sum and count, windows every minute",
        "window, minutes",
        tuple(Point(size, data, {"size": size * MINUTE}) for size in (10, 60, 100)),
        (*OURS, *modes, *files, *STAGES, *WINDOWS, *rest),
        box=1150.0,
        patience=120.0,
        only=dict.fromkeys((*modes, *files, *rest), (60,)),
    )


def overlap(rows: int) -> Case:
    """Windows from tumbling to ten thousand deep; those who copy events into windows stop at a hundred."""
    data = Data(rows=rows, keys=5)
    depths = (1, 10, 100, 1000, 10_000)
    copying = ("spark.window", "duckdb.expanded")
    return Case(
        "overlap",
        f"Overlap from 1 to 10,000: {rows:,} events of 5 keys, windows every second",
        "overlap",
        tuple(Point(depth, data, {"size": depth * SECOND, "every": SECOND}) for depth in depths),
        (*OURS, *STAGES, *WINDOWS, "duckdb.expanded"),
        "A window's depth is its size over its step. There are 12 % more windows at the right end than at the left, "
        "since windows reach beyond both ends of the day. Events are copied into a hundred windows at most.",
        box=260.0,
        only=dict.fromkeys(copying, depths[:3]),
        across=(10, 10_000),
    )


def keys(rows: int) -> Case:
    """From one key to a million."""
    job = {"size": 2 * HOUR, "every": HOUR}
    return Case(
        "keys",
        f"Keys from 1 to 1 million: {rows:,} events, sum and count over two hours every hour",
        "keys",
        tuple(Point(many, Data(rows=rows, keys=many), job) for many in (1, 100, 10_000, 1_000_000)),
        (*OURS, *STAGES, "spark.window", "polars.dynamic"),
        "At a million keys nearly every event is a partial of its own, and there are two windows an event to write.",
        box=250.0,
        across=(100, 1_000_000),
    )


def partitions(rows: int) -> Case:
    """The same events in more and more files, shuffled into as many tasks."""
    many = (1, 2, 4, 8, 16)
    return Case(
        "partitions",
        f"1 to 16 partitions: {rows:,} events of 100 keys in as many files, an hour every minute",
        "partitions",
        tuple(Point(files, Data(rows=rows, files=files), {"partitions": files}) for files in many),
        ("framefold_spark.parquet", "framefold_spark.dataframe", "framefold_spark.dataframe_executors", STAGES[0]),
        box=90.0,
    )


def events(most: int) -> Case:
    """From a million events to a hundred."""
    sizes = [size for size in (1_000_000, 3_000_000, 8_000_000, 30_000_000, 100_000_000) if size <= most]
    return Case(
        "events",
        f"Events from 1 million to {most // 1_000_000} million: 100 keys, an hour every minute",
        "events",
        tuple(Point(rows, Data(rows=rows)) for rows in sizes),
        (*OURS, *STAGES),
        box=270.0,
        patience=60.0,
        memory=tuple(size for size in sizes if size in (1_000_000, 8_000_000, most)),
    )


def shapes(rows: int) -> Case:
    """Other keys and other operations than the reference job has."""
    data = Data(rows=rows)
    four = (("total", "sum", "x"), ("events", "count", ""), ("least", "min", "x"), ("most", "max", "x"))
    extremes = (("least", "min", "x"), ("most", "max", "x"))
    points = (
        Point(0, data, {}, "sum and count"),
        Point(1, Data("texts", rows), {}, "strings as keys"),
        Point(2, data, {"outputs": four}, "sum, count, min, max"),
        Point(3, data, {"outputs": extremes}, "min and max"),
        Point(4, data, {"outputs": (("found", "var", "x"),)}, "variance"),
    )
    return Case(
        "shapes",
        f"Other keys and operations: {rows:,} events of 100 keys, an hour every minute",
        "",
        points,
        (*OURS, *STAGES),
        "The variance by hand is made of sums of squares, which rounding can ruin; ours is not.",
        box=200.0,
        across=tuple(point.x for point in points),
    )


def around(rows: int) -> Case:
    """A window for each event."""
    data = Data("seconds", rows, keys=10)
    outputs = (("total", "sum", "x"), ("least", "min", "x"), ("most", "max", "x"))
    others = ("spark.range", "spark.segment_tree", "tempo.range_stats", "duckdb.range")
    return Case(
        "around",
        f"A window for each event, with those before it: {rows:,} events of 10 keys, sum, min and max",
        "window, minutes",
        tuple(
            Point(size, data, {"kind": "around", "size": size * MINUTE, "outputs": outputs}) for size in (10, 60, 360)
        ),
        (*OURS, *others, "polars.rolling", "pandas.rolling"),
        box=75.0,
    )


def small(rows: int) -> Case:
    """Few events, so that the stream processors can take part."""
    data = Data(rows=rows, keys=10, text=True)
    return Case(
        "small",
        f"Few events, stream processors too: {rows:,} events of 10 keys, sum and count, windows every minute",
        "window, minutes",
        tuple(Point(size, data, {"size": size * MINUTE}) for size in (10, 60)),
        (*OURS, *STAGES, *WINDOWS, "duckdb.expanded", "pandas.two_stages", "flink.hop", "bytewax.fold"),
        "A query on Spark or Flink has costs of its own however few events there are. PyFlink reads CSV, as its "
        "package has no Parquet; all others read Parquet.",
        box=60.0,
    )


def own(rows: int) -> Case:
    """A user's own aggregate in Python."""
    data = Data(rows=rows, keys=5)
    outputs = (("mean", "own", "x"),)
    mine = (*OURS, "framefold_local.python", "framefold_spark.python")
    return Case(
        "own",
        f"An aggregate of the user's own: geometric mean in Python, {rows:,} events of 5 keys, windows every minute",
        "window, minutes",
        tuple(Point(size, data, {"kind": "own", "size": size * MINUTE, "outputs": outputs}) for size in (10, 60, 100)),
        (*mine, "spark.pandas_udf", "polars.python", "pandas.python", "bytewax.python"),
        "Ours is an `AggregateOperation` (functions of whole columns) unless it says `PythonOperation` (one value at a "
        "time). Peers call a Python function for each window with all of its events, or fold each event into each "
        "window; DuckDB and PyFlink have no Python aggregate over such windows.",
        box=95.0,
    )


def default(most: int, scale: float = 1.0) -> list[Case]:
    """All cases: up to ``most`` events where that is the axis, and all else at ``scale`` of its size."""

    def part(rows: int) -> int:
        return int(rows * scale)

    return [
        reference(part(8_000_000)),
        overlap(part(2_000_000)),
        events(most),
        shapes(part(4_000_000)),
        keys(part(2_000_000)),
        partitions(part(2_000_000)),
        around(part(100_000)),
        hot_items(part(500_000)),
        *connections(part(10_000)),
        small(part(100_000)),
        own(part(100_000)),
    ]


def quick() -> list[Case]:
    """The same cases on so few events that they only show whether results are equal."""
    cases = [
        reference(20_000),
        overlap(5_000),
        keys(5_000),
        shapes(20_000),
        around(20_000),
        hot_items(20_000),
        *connections(200),
        own(400),
    ]
    with_spark = ("reference", "around", "nexmark", "own")
    return [case.quick(case.name in with_spark) for case in cases]
