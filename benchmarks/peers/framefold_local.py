"""framefold's local engine: one process, no JVM."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import framefold as ff

from ..jobs import Job
from .framefold_queries import OneByOne, run


def local(job: Job) -> pa.Table:
    """The files, as they are read."""
    found: pa.Table = run(ff.parquet(job.path), job)
    return hottest(found, job) if job.kind == "hottest" else found


def hottest(counts: pa.Table, job: Job) -> pa.Table:
    """Of each window the rows whose first output is greatest."""
    name = job.names[0]
    start = pc.struct_field(counts["window"], "start").cast("int64")
    counts = counts.append_column("start", start)
    most = counts.group_by("start").aggregate([(name, "max")])
    joined = counts.drop_columns(["window"]).join(most, "start")
    return joined.filter(pc.equal(joined[name], joined[f"{name}_max"]))


def one_by_one(job: Job) -> Any:
    """With a ``PythonOperation``, which sees one value at a time."""
    return run(ff.parquet(job.path), job, OneByOne)


def consume(result: pa.Table) -> None:
    """Nothing is left to compute."""


def save(result: pa.Table, job: Job, path: str) -> None:
    """Write the result, places as microseconds."""
    columns = {name: result[name] for name in job.keys}
    if "start" in result.column_names:
        columns["start"] = result["start"]
    elif job.place == "at":
        columns["at"] = result["at"].cast("int64")
    elif job.kind == "landmark":
        columns["start"] = pc.subtract(pc.struct_field(result["window"], "end").cast("int64"), job.every)
    else:
        columns["start"] = pc.struct_field(result["window"], "start").cast("int64")
    pq.write_table(pa.table(columns | {name: result[name] for name in job.names}), path)


def versions() -> dict[str, str]:
    """What runs here."""
    import numpy as np

    from framefold.aggregators import loops
    from framefold.runtime.sources.parquet_decoding import polars

    decoder = polars()
    more = {} if decoder is None else {"Polars for decoding": decoder.__version__}
    more["loops over rows"] = "compiled" if loops.compiled else "numpy's"
    return {"framefold": ff.__version__, "pyarrow": pa.__version__, "numpy": np.__version__} | more


WAYS = {"local": local, "python": one_by_one}
