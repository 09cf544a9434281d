"""Which columns a kind of file can hold: known from the types of a result, before it is computed."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa

from ...aggregators.errors import QueryError
from ...aggregators.states.nested import any_in

TITLES = {"parquet": "Parquet", "csv": "CSV", "json": "JSON", "arrow": "Arrow"}

WRITERS = {
    "parquet": ("pyarrow.parquet", "write_table"),
    "csv": ("pyarrow.csv", "write_csv"),
    "arrow": ("pyarrow.feather", "write_feather"),
}
"""The functions that write files, and their modules, of which only one is needed."""


def writer(kind: str) -> Callable[[pa.Table, Any], None]:
    """What writes a table to a file of a kind other than JSON."""
    module, function = WRITERS[kind]
    return getattr(import_module(module), function)  # type: ignore[no-any-return]


def check_columns(out: str, kind: str, columns: pa.Schema, *, spark: bool) -> None:
    """QueryError unless a kind of file can hold columns.

    Parameters
    ----------
    out
        The path of the result.
    kind
        What kind of file that is.
    columns
        The keys and the outputs of a result.
    spark
        Whether Spark writes the file.
    """
    for field in columns:
        if not holds(kind, field.type, spark=spark):
            others = [f".{each}" for each in TITLES if each != kind and holds(each, field.type, spark=spark)]
            raise QueryError(
                f"--out {out!r} is for {TITLES[kind]}, which cannot hold the column {field.name!r} of type "
                f"{field.type}; expected {_either(others)}"
            )
    # Spark's names are not case-sensitive, and its own CSV and our Arrow files are the only ones without a check.
    if spark and kind in ("parquet", "json"):
        from ...spark.convert.names import alike

        if pair := alike(columns.names):
            raise QueryError(
                f"--out {out!r} is for {TITLES[kind]}, in which Spark cannot tell the columns {pair[0]!r} and "
                f"{pair[1]!r} apart; expected names that differ in more than case, or .csv or .arrow"
            )


def holds(kind: str, type: pa.DataType, *, spark: bool) -> bool:
    """Whether a kind of file can hold a type.

    >>> holds("csv", pa.list_(pa.int64()), spark=False), holds("json", pa.list_(pa.int64()), spark=False)
    (False, True)
    """
    if spark:
        # Types that Spark does not have are refused before a result is computed, for all kinds of files.
        return kind != "csv" or not pa.types.is_nested(type)
    if kind == "json":
        return not any_in(type, pa.types.is_interval)  # of which JSON has no usual form
    try:  # by a trial, since newer versions of pyarrow write more types
        writer(kind)(pa.table({"column": pa.nulls(1, type)}), io.BytesIO())
    except (pa.ArrowException, OSError):
        return False
    return True


def _either(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
