"""One ``framefold sql``: a query of files, answered on one of the engines."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence

from ... import QueryError, sql
from ...reading import SparkFiles
from .arguments import check_shared
from .inputs import STANDARD, Inputs, open_files
from .job import Destination, default_engine, own_session, require_spark
from .output import BOUNDS, check_out
from .overlap import check_apart


def run_sql(
    query: str,
    tables: Sequence[str],
    *,
    out: str | None,
    format: str | None,
    out_format: str | None,
    engine: str | None,
    master: str | None,
    preview: int,
) -> None:
    """Answer a query, and write or show its result.

    Raises
    ------
    QueryError
        For a mistake in the query or the arguments, before Spark starts.
    FramefoldError
        If the tables have no result.
    """
    if engine == "spark":
        require_spark()
    kind = (out_format or format) if out == STANDARD else None
    if out == STANDARD and kind is None:
        raise QueryError("--out '-' is standard output, which has no extension; expected --out-format")
    places = dict(map(_table, tables))
    paths = list(places.values())
    if out and out != STANDARD:
        check_apart(out, paths)
    inputs: dict[str, Inputs] = {name: open_files([path], format) for name, path in places.items()}
    engine = engine or default_engine()
    of_nothing = sql(query, **{name: each.schema.empty_table() for name, each in inputs.items()})
    if out:
        files = tuple(path for each in inputs.values() for path in each.files.paths)
        named = of_nothing.drop_columns([name for name in BOUNDS if name in of_nothing.column_names])
        check_out(out, files, named.schema, spark=engine == "spark", kind=kind)
    destination, began = Destination(out, kind, preview, "row"), clock.perf_counter()
    if engine == "local":
        destination.take_table(sql(query, **{name: each.files for name, each in inputs.items()}), began)
        return
    if master is not None:
        check_shared(master, paths)
    with own_session("framefold sql", master) as spark:
        found = sql(query, **{name: SparkFiles(each.files, spark) for name, each in inputs.items()})
        destination.take_dataframe(found, began)


def _table(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not (name.strip() and equals and path):
        raise QueryError(f"--table {text!r} is no table; expected NAME=PATH, such as trips=trips.parquet")
    return name.strip(), path
