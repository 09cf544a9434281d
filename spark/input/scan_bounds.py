"""What the plan of a DataFrame says of its rows before they are computed."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from ...aggregators.errors import QueryError
from ...runtime.accumulate.sql_accumulate import numberings, parts
from ...runtime.plan.plan import Plan
from ...runtime.sources.files import File, Files
from ...runtime.sources.formats import READERS

FEW_FILES = 16
"""The most files whose footers are read."""

ROW_BY_ROW = re.compile(r"== Optimized Logical Plan ==\n((\+- | )*(Project|Filter|Relation) [^\n]*\n)+\n")
"""A plan whose steps each make at most one row of each row, of one scan."""


def explained(df: DataFrame) -> str | None:
    """What Spark says of the plan of a DataFrame, after all its steps; None where it cannot be made."""
    session, view = df.sparkSession, f"framefold_{uuid.uuid4().hex}"
    try:
        # Of a plan of its own: to drop a view is to drop what is cached of its plan.
        df.withColumn(view, f.lit(0)).createTempView(view)
        try:
            return str(session.sql(f"EXPLAIN EXTENDED SELECT * FROM {view}").collect()[0][0])
        finally:
            session.catalog.dropTempView(view)
    except PySparkException:
        return None


def footers_of(df: DataFrame) -> list[Any] | None:
    """The footers of the Parquet files of a DataFrame; None where it has none, others, or more than a few files."""
    try:
        paths = df.inputFiles()
    except PySparkException:  # the plan cannot be made
        return None
    if not 0 < len(paths) <= FEW_FILES:
        return None
    with ThreadPoolExecutor(len(paths)) as threads:
        footers = list(threads.map(footer_of, paths))
    return footers if all(footers) else None


def is_row_by_row(df: DataFrame) -> bool:
    """Whether a DataFrame has at most one row for each row of its files."""
    return ROW_BY_ROW.search(explained(df) or "") is not None


def rows_in(footers: Sequence[Any]) -> int:
    """The number of rows of files."""
    return sum(int(footer.num_rows) for footer in footers)


def has_at_most(df: DataFrame, footers: Sequence[Any], most: int) -> bool:
    """Whether a DataFrame is known to have at most ``most`` rows, by the footers of its files."""
    return rows_in(footers) <= most and is_row_by_row(df)


def most_groups(footers: Sequence[Any], plan: Plan) -> int | None:
    """The most (key, frame) of events in files, by the least and the greatest values of columns; None if not known."""
    spans = [span_of(footers, name) for name in (*plan.by, plan.time)]
    if None in spans:
        return None
    *keys, time = [int(span or 0) for span in spans]
    frames = sum(parts(by) * (time // by.width + 2) for by in numberings(plan))
    return math.prod(span + 2 for span in keys) * frames  # a key may be null


def span_of(footers: Sequence[Any], name: str) -> int | None:
    """The greatest value of a column of integers, dates (in days) or times (in microseconds) less the least."""
    bounds: list[Any] = []
    for footer in footers:
        places = [at for at in range(footer.num_columns) if footer.schema.column(at).path == name]
        for group in map(footer.row_group, range(footer.num_row_groups)):
            found = group.column(places[0]).statistics if places else None
            if found is None or not found.has_min_max:
                return None
            try:
                bounds += [found.min, found.max]
            except (pa.ArrowException, ValueError, OverflowError):  # decimals in an old pyarrow, dates after 9999
                return None
    # Of files of one folder some may have times with a zone, some without one, and some no times at all.
    if len({(type(each), getattr(each, "tzinfo", None) is None) for each in bounds}) != 1:
        return None
    if not isinstance(bounds[0], (int, date)):  # a datetime is a date
        return None
    span = max(bounds) - min(bounds)
    if isinstance(span, timedelta):
        return span // (timedelta(microseconds=1) if isinstance(bounds[0], datetime) else timedelta(days=1))
    return int(span)


def footer_of(file: str) -> Any:
    """The footer of a file of Parquet, None of any other."""
    try:
        system, (place,) = Files((file,)).places
        return READERS["parquet"].layout(system, File(place, 0)).metadata
    except (QueryError, ValueError):
        return None
