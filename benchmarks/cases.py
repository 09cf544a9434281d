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


def layouts(rows: int) -> Case:
    """The reference job on events that lie otherwise in their files."""
    points = (
        Point(0, Data(rows=rows), {}, "1 file in time order"),
        Point(1, Data(rows=rows, files=4, layout="day"), {}, "4 files, each of the whole day"),
        Point(2, Data(rows=rows, files=16, layout="day"), {}, "16 such files"),
        Point(3, Data(rows=rows, files=4, layout="random"), {}, "4 files in random order"),
        Point(4, Data(rows=rows, files=1, layout="key"), {}, "1 file by key, then time"),
        Point(5, Data(rows=rows, files=4, layout="late"), {}, "4 files, 1 % late by up to 1 h"),
    )
    return Case(
        "layouts",
        f"The reference job, events in other orders: {rows:,} events of 100 keys, an hour every minute",
        "",
        points,
        (*OURS, "framefold_spark.dataframe_scanned", *STAGES),
        "Files that each span the whole time are what topics partitioned by a hash, and most writers, leave behind.",
        box=360.0,
        across=tuple(point.x for point in points),
    )


def data(rows: int) -> Case:
    """The reference job with other keys, times and nulls."""
    points = (
        Point(0, Data(rows=rows), {}, "as it is"),
        Point(1, Data("zipf", rows), {}, "keys by Zipf's law"),
        Point(2, Data("texts", rows), {}, "strings as keys"),
        Point(3, Data("pairs", rows), {"keys": ("k", "k2")}, "pairs as keys"),
        Point(4, Data("naive", rows), {"time": "naive"}, "times without zone"),
        Point(5, Data("integers", rows), {"time": "integer"}, "times as integers"),
        Point(6, Data("nulls", rows), {"nulls": True}, "nulls in keys and values"),
    )
    return Case(
        "data",
        f"The reference job, other keys, times and nulls: {rows:,} events of 100 keys, an hour every minute",
        "",
        points,
        (*OURS, *STAGES),
        box=230.0,
        across=tuple(point.x for point in points),
    )


def last_rows(rows: int) -> Case:
    """The last rows of each key, ending with each row."""
    events = Data("seconds", rows, keys=100)
    outputs = (("total", "sum", "x"), ("least", "min", "x"), ("most", "max", "x"))
    return Case(
        "rows",
        f"The last rows of each key: {rows:,} events of 100 keys, sum, min and max",
        "rows",
        tuple(Point(size, events, {"kind": "rows", "size": size, "outputs": outputs}) for size in (10, 100, 1000)),
        (*OURS, "spark.range", "duckdb.range", "polars.rolling", "pandas.rolling"),
        box=120.0,
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


def billion(rows: int) -> Case:
    """The reference job on more events than memory has room for."""
    return Case(
        "billion",
        f"The reference job on {rows:,} events: 100 keys over a day, sum and count, an hour every minute",
        "events",
        (Point(rows, Data(rows=rows, layout="chunks")),),
        (*OURS[:2], STAGES[1], "polars.streaming"),
        "A file for each 8 million events. Polars reads all of them into memory unless it is asked to stream.",
        box=1500.0,
        memory=(rows,),
    )


def default(most: int, scale: float = 1.0) -> list[Case]:
    """All cases: up to ``most`` events where that is the axis, and all else at ``scale`` of its size."""

    def part(rows: int) -> int:
        return int(rows * scale)

    return [
        layouts(part(8_000_000)),
        data(part(4_000_000)),
        reference(part(8_000_000)),
        overlap(part(2_000_000)),
        events(most),
        shapes(part(4_000_000)),
        keys(part(2_000_000)),
        partitions(part(2_000_000)),
        around(part(100_000)),
        last_rows(part(800_000)),
        hot_items(part(500_000)),
        *connections(part(10_000)),
        small(part(100_000)),
        own(part(100_000)),
    ]


def quick() -> list[Case]:
    """The same cases on so few events that they only show whether results are equal."""
    cases = [
        layouts(20_000),
        data(20_000),
        last_rows(20_000),
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
