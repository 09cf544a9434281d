"""Who is measured: the peers, the environments they need, and what each way of each of them is called in the report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """A module of ``benchmarks.peers``.

    Attributes
    ----------
    family
        What it runs on: its figures stand beside ours on the same.
    extra
        The extra of pyproject.toml whose packages it needs in an environment of its own; none if ours will do.
    """

    family: str
    extra: str = ""


PEERS = {
    "framefold_local": Peer("one process"),
    "framefold_spark": Peer("Spark"),
    "spark": Peer("Spark"),
    "tempo": Peer("Spark", "peer-tempo"),
    "flink": Peer("Flink", "peer-flink"),
    "duckdb": Peer("one process"),
    "polars": Peer("one process"),
    "pandas": Peer("one process"),
    "bytewax": Peer("Bytewax", "peer-bytewax"),
}

TITLES = {
    "framefold_local.local": "framefold, local engine",
    "framefold_local.python": "framefold, local engine, PythonOperation",
    "framefold_spark.dataframe": "framefold, DataFrame",
    "framefold_spark.dataframe_scanned": 'framefold, DataFrame of files, read="auto"',
    "framefold_spark.dataframe_driver": "framefold, DataFrame, driver",
    "framefold_spark.dataframe_executors": "framefold, DataFrame, executors",
    "framefold_spark.parquet": "framefold, Parquet on Spark",
    "framefold_spark.parquet_driver": "framefold, Parquet on Spark, driver",
    "framefold_spark.parquet_executors": "framefold, Parquet on Spark, executors",
    "framefold_spark.python": "framefold, DataFrame, PythonOperation",
    "spark.window": "Spark window()",
    "spark.two_stages": "Spark, two stages by hand",
    "spark.copied": "Spark, two stages, partials copied",
    "spark.range": "Spark, window function over events",
    "spark.segment_tree": "Spark, the same with segment trees",
    "spark.pandas_udf": "Spark window() and pandas UDF",
    "tempo.range_stats": "tempo, withRangeStats",
    "flink.hop": "PyFlink, HOP",
    "duckdb.two_stages": "DuckDB, two stages by hand",
    "duckdb.every": "DuckDB, two stages, every window",
    "duckdb.copied": "DuckDB, two stages, partials copied",
    "duckdb.expanded": "DuckDB, events copied into windows",
    "duckdb.range": "DuckDB, window function over events",
    "polars.dynamic": "Polars, group_by_dynamic",
    "polars.two_stages": "Polars, two stages by hand",
    "polars.streaming": "Polars, two stages by hand, streaming",
    "polars.every": "Polars, two stages, every window",
    "polars.rolling": "Polars, rolling",
    "polars.python": "Polars, group_by_dynamic and Python function",
    "pandas.two_stages": "pandas, two stages by hand",
    "pandas.rolling": "pandas, rolling",
    "pandas.python": "pandas, Python function for each window",
    "bytewax.fold": "Bytewax, fold_window",
    "bytewax.python": "Bytewax, fold_window of the user's functions",
}

LEAVES_OUT = {
    "spark.two_stages": "windows that end in a step without an event",
    "duckdb.two_stages": "windows that end in a step without an event",
    "polars.two_stages": "windows that end in a step without an event",
    "polars.streaming": "windows that end in a step without an event",
}
"""What a way leaves out by its nature: such windows may be missing, and no other."""

ALSO = {
    "framefold_spark.dataframe_scanned": "is given a DataFrame that is there already, as the others are given a path",
    "tempo.range_stats": "computes mean, count, min, max, sum, deviation and zscore, whatever is asked for",
}
"""What else is to be known of a way."""


def ours(contender: str) -> bool:
    """Whether it is one of framefold's ways."""
    return contender.startswith("framefold_")


def family(contender: str) -> str:
    """What a contender runs on."""
    return PEERS[contender.split(".")[0]].family


def comparable(mine: str, peer: str) -> bool:
    """Whether they run on the same; those that run on something of their own are compared with all of ours."""
    return family(peer) == family(mine) or family(peer) not in ("Spark", "one process")
