"""The types that Spark gives the columns of Parquet files, as far as that is certain.

Spark infers the types of a data set by a job, and does not give those of each file, which tasks need to read a file as
Spark does. So these are the cases of its ``ParquetSchemaConverter``, with default settings, that tasks read; Spark
reads all others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as t

SETTINGS = {
    "spark.sql.files.ignoreCorruptFiles": ("false",),
    "spark.sql.files.ignoreMissingFiles": ("false",),
    "spark.sql.legacy.parquet.nanosAsLong": ("false",),
    "spark.sql.parquet.binaryAsString": ("false",),
    "spark.sql.parquet.datetimeRebaseModeInRead": ("corrected", "exception"),
    "spark.sql.parquet.fieldId.read.enabled": ("false",),
    "spark.sql.parquet.inferTimestampNTZ.enabled": ("true",),
    "spark.sql.parquet.int96AsTimestamp": ("true",),
    "spark.sql.parquet.int96RebaseModeInRead": ("corrected", "exception"),
    "spark.sql.parquet.int96TimestampConversion": ("false",),
    "spark.sql.parquet.mergeSchema": ("false",),
    "spark.sql.parquet.respectSummaryFiles": ("false",),
}
"""Settings that change how Spark reads files, and their values for which this module is right."""

WIDER: dict[type[t.DataType], tuple[type[t.DataType], ...]] = {
    t.ByteType: (t.ShortType, t.IntegerType, t.LongType),
    t.ShortType: (t.IntegerType, t.LongType),
    t.IntegerType: (t.LongType,),
    t.FloatType: (t.DoubleType,),
}
"""The wider types as which Spark reads a file's column where other files have them."""

REFUSED = re.compile(r"timeUnit=nanoseconds|^(Time|Float16|UUID|Interval)\b|precision=(39|[4-9]\d)")
"""Logical types for which Spark reads nothing at all of a data set: neither other columns, nor other files."""

SPARKS = [f"pyspark.{of}.linalg.{name}UDT" for of in ("ml", "mllib") for name in ("Matrix", "Vector")]
"""The classes of types that Spark brings."""

OWN_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
VERSION = b"org.apache.spark.version"
LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


def unusual_setting(spark: SparkSession) -> str | None:
    """A setting of the session under which Spark reads Parquet files otherwise, or None."""
    for name, usual in SETTINGS.items():
        value = spark.conf.get(name, usual[0])
        if value is not None and value.lower() not in usual:
            return f"the session has {name}={value}"
    return None


def refused(metadata: Any) -> str | None:
    """A column for whose type Spark reads no file with this footer, whatever is asked of it; None without one."""
    for each in map(metadata.schema.column, range(metadata.num_columns)):
        if REFUSED.search(type := str(each.logical_type)):
            unit = " in nanoseconds" if "nanoseconds" in type else ""
            return f"the column {each.path.partition('.')[0]!r} is {type.partition('(')[0]}{unit}"
    return None


def kinds(metadata: Any) -> dict[str, t.DataType | None]:
    """The Spark type of each column of a Parquet file, None where only Spark knows.

    Parameters
    ----------
    metadata
        The file's footer, a ``pyarrow.parquet.FileMetaData``.
    """
    if (own := own_fields(metadata)) is not None:
        with suppress(Exception):  # anybody may have written it: Spark, too, goes by the types of the file then
            fields = {each["name"]: None if classes_in(each) else t.StructField.fromJson(each) for each in own}
            return {name: each and each.dataType for name, each in fields.items()}
    flat = leaves(metadata)
    names = metadata.schema.to_arrow_schema().names
    return {name: kind(flat[name]) if name in flat else None for name in names}


def own_fields(metadata: Any) -> list[Any] | None:
    """The columns of a footer as Spark has written them, in JSON; None where it has not."""
    try:
        found: list[Any] = json.loads((metadata.metadata or {})[OWN_SCHEMA])["fields"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return found


def classes_in(type: Any) -> list[str]:
    """The classes of a type's own that PySpark loads as soon as a DataFrame is asked for its columns."""
    if isinstance(type, dict) and type.get("type") == "udt":
        return [str(type.get("pyClass"))]
    some = type.values() if isinstance(type, dict) else type if isinstance(type, list) else ()
    return [name for each in some for name in classes_in(each)]


def foreign(metadata: Any) -> str | None:
    """A class in a footer that is none of Spark's own, and whose code may be in the file; None without one."""
    found = classes_in(own_fields(metadata) or [])
    return next((name for name in found if name not in SPARKS), None)


def leaves(metadata: Any) -> dict[str, Any]:
    """The columns of a footer that are neither nested nor repeated, by name."""
    columns = map(metadata.schema.column, range(metadata.num_columns))
    return {each.name: each for each in columns if each.path == each.name and not each.max_repetition_level}


def kind(column: Any) -> t.DataType | None:
    """The Spark type of a column that is not nested, by its types in the file; None where only Spark knows."""
    logical: dict[str, Any] = json.loads(column.logical_type.to_json())
    name = logical["Type"]
    if name == "Decimal":
        fits = 0 <= logical["scale"] <= logical["precision"] <= 38
        return t.DecimalType(logical["precision"], logical["scale"]) if fits else None
    if name == "Timestamp":
        if logical["timeUnit"] not in ("milliseconds", "microseconds"):
            return None
        return t.TimestampType() if logical["isAdjustedToUTC"] else t.TimestampNTZType()
    if name == "Int":
        widths = {8: t.ByteType(), 16: t.ShortType(), 32: t.IntegerType(), 64: t.LongType()}
        unsigned = {8: t.ShortType(), 16: t.IntegerType(), 32: t.LongType()}
        return (widths if logical["isSigned"] else unsigned).get(logical["bitWidth"])
    plain: Mapping[tuple[str, str], t.DataType] = {
        ("None", "BOOLEAN"): t.BooleanType(),
        ("None", "INT32"): t.IntegerType(),
        ("None", "INT64"): t.LongType(),
        ("None", "INT96"): t.TimestampType(),
        ("None", "FLOAT"): t.FloatType(),
        ("None", "DOUBLE"): t.DoubleType(),
        ("None", "BYTE_ARRAY"): t.BinaryType(),
        ("Date", "INT32"): t.DateType(),
        ("String", "BYTE_ARRAY"): t.StringType(),
    }
    return plain.get((name, column.physical_type))


def misfit(metadata: Any, flat: Mapping[str, Any], name: str, expected: t.DataType) -> str | None:
    """Why a file's column cannot be read here as Spark reads it; None where it can be.

    Parameters
    ----------
    metadata
        The file's footer.
    flat
        Its :func:`leaves`.
    name
        A column of the file.
    expected
        Its type in Spark.
    """
    column = flat.get(name)
    found = None if column is None else kind(column)
    if found is None:
        return f"the column {name!r} has a type in it that only Spark knows how to read"
    if found != expected and not isinstance(expected, WIDER.get(type(found), ())):
        return f"the column {name!r} is {found.simpleString()} in it, and {expected.simpleString()} for Spark"
    if isinstance(found, (t.DateType, t.TimestampType, t.TimestampNTZType)):
        about = metadata.metadata or {}
        version = [int(part) for part in about.get(VERSION, b"9.0").split(b".")[:2]]
        if any(key in about for key in LEGACY) or version < [3, 1]:
            return f"the column {name!r} is in a calendar of old"
    return None
