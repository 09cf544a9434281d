"""PyFlink: the HOP table function on its local cluster, in batch mode, from CSV (its package reads no Parquet)."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

from ..jobs import SECOND, Job
from .stages import plain

Statement = str


@functools.cache
def environment() -> TableEnvironment:
    """The one environment of the process."""
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made.get_config().set("table.local-time-zone", "UTC")
    made.get_config().set("parallelism.default", str(os.cpu_count() or 1))
    return made


def events(job: Job) -> str:
    """The events as a table, with the columns that the Parquet file has."""
    import pyarrow.parquet as pq

    kinds = {"t": "TIMESTAMP(3)", "x": "DOUBLE"}
    columns = ", ".join(f"{name} {kinds.get(name, 'BIGINT')}" for name in pq.read_schema(job.path).names)
    at = Path(job.csv)
    environment().execute_sql(
        f"CREATE TEMPORARY TABLE IF NOT EXISTS `{at.stem}` ({columns}, WATERMARK FOR t AS t) WITH "
        f"('connector' = 'filesystem', 'path' = '{at.as_uri()}', 'format' = 'csv')"
    )
    return f"`{at.stem}`"


def seconds(microseconds: int) -> str:
    """An interval as SQL."""
    return f"INTERVAL '{microseconds // SECOND}' SECOND(6)"


def hop(job: Job) -> Statement:
    """The query."""
    keys = ", ".join(job.keys)
    counts = (
        f"SELECT {keys}, window_start, {plain(job)} FROM HOP(TABLE {events(job)}, DESCRIPTOR(t), "
        f"{seconds(job.every)}, {seconds(job.size)}) GROUP BY {keys}, window_start, window_end"
    )
    if job.kind != "hottest":
        return counts
    name = job.names[0]
    most = f"SELECT window_start AS s, max({name}) AS most FROM ({counts}) GROUP BY window_start"
    joined = f"({counts}) JOIN ({most}) ON window_start = s AND {name} = most"
    return f"SELECT {keys}, window_start, {', '.join(job.names)} FROM {joined}"


def into(result: Statement, connector: str) -> None:
    """Run the query into a sink of its own shape."""
    schema = environment().sql_query(result).get_schema()
    kinds = map(sql, schema.get_field_data_types())
    columns = ", ".join(f"`{name}` {kind}" for name, kind in zip(schema.get_field_names(), kinds, strict=True))
    environment().execute_sql("DROP TEMPORARY TABLE IF EXISTS sink")
    environment().execute_sql(f"CREATE TEMPORARY TABLE sink ({columns}) WITH ({connector})")
    environment().execute_sql(f"INSERT INTO sink {result}").wait()


def sql(kind: object) -> str:
    """The name of a type."""
    name = type(kind).__name__
    return {"BigIntType": "BIGINT", "DoubleType": "DOUBLE", "TimestampType": "TIMESTAMP(3)"}[name]


def consume(result: Statement) -> None:
    """Compute every row and throw it away."""
    into(result, "'connector' = 'blackhole'")


def save(result: Statement, job: Job, path: str) -> None:
    """Write the result as text, and that as Parquet."""
    import pyarrow.compute as pc
    import pyarrow.csv as text
    import pyarrow.parquet as pq

    folder = tempfile.mkdtemp()
    try:
        into(result, f"'connector' = 'filesystem', 'path' = 'file://{folder}/rows', 'format' = 'csv'")
        names = [*job.keys, "start", *job.names]
        tables = [
            text.read_csv(file, text.ReadOptions(column_names=names))
            for file in sorted(Path(folder, "rows").glob("part*"))
            if file.stat().st_size
        ]
        import pyarrow as pa

        table = pa.concat_tables(tables)
        start = pc.cast(pc.cast(table["start"], pa.timestamp("us")), "int64")
        pq.write_table(table.set_column(names.index("start"), "start", start), path)
    finally:
        shutil.rmtree(folder)


def versions() -> dict[str, str]:
    """What runs here."""
    return {"PyFlink": version("apache-flink")}


WAYS: dict[str, Callable[[Job], Statement]] = {"hop": hop}
