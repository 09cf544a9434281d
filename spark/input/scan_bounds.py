"""What is known of a DataFrame before it is computed: its plan as text, and the most rows it can have."""

from __future__ import annotations

import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from ...aggregators.errors import QueryError
from ...runtime.sources.files import File, Files
from ...runtime.sources.formats import READERS

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


def most_rows(df: DataFrame, files: int) -> int | None:
    """The most rows that a DataFrame can have; None where that takes more than the footers of some Parquet files.

    Parameters
    ----------
    files
        The most files whose footers are read.
    """
    try:
        paths = df.inputFiles()
    except PySparkException:  # the plan cannot be made
        return None
    if not 0 < len(paths) <= files:
        return None
    with ThreadPoolExecutor(len(paths)) as threads:
        footers = list(threads.map(footer_of, paths))
    if not all(footers):
        return None
    if ROW_BY_ROW.search(explained(df) or "") is None:
        return None
    return int(sum(footer.num_rows for footer in footers))


def footer_of(file: str) -> Any:
    """The footer of a file of Parquet, None of any other."""
    try:
        system, (place,) = Files((file,)).places
        return READERS["parquet"].layout(system, File(place, 0)).metadata
    except (QueryError, ValueError):
        return None
