"""Columns of ORC files as Spark has them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as t

from ..convert.types import to_spark


def misfit(name: str, found: pa.DataType, expected: t.DataType) -> str | None:
    """Why a column of an ORC file cannot be read here as Spark reads it; None where it can be."""
    if pa.types.is_timestamp(found):
        return f"the column {name!r} has times that Spark shifts by the zones of the writer's machine and its own"
    if pa.types.is_nested(found) or to_spark(found) != expected:
        return f"the column {name!r} is {found} in it, and {expected.simpleString()} for Spark"
    return None
