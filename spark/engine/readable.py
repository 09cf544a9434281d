"""Whether Spark can read the Parquet files of a DataFrame that is computed only when a user asks for its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import types as t

from ..input.scan_bounds import explained, footers_of
from ..session.errors import of_another_type

KINDS: dict[str, tuple[str, ...]] = {
    "BOOLEAN": ("boolean",),
    "BYTE_ARRAY": ("string", "binary"),
    "INT32": ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp"),
}
"""The types as which Spark may read those of Parquet, as far as it is certain which these are not."""
KINDS |= dict.fromkeys(("INT64", "INT96", "FLOAT", "DOUBLE"), KINDS["INT32"])

SCAN = re.compile(
    r"== Optimized Logical Plan ==\n((\+- | )*(Project \[((?! AS (?!framefold_))[^\n])*\]|Filter [^\n]*)\n)*"
    r"(\+- | )*Relation \[[^\n]*\] parquet\n"
)
"""A plan that passes on columns of Parquet files as they are, beside the column that :func:`explained` adds."""


def require_readable(df: DataFrame, columns: Sequence[str]) -> None:
    """EngineError where a column is text in one of a few files and a number in another, or a truth value.

    What is computed at once fails with the same error by itself; of what a user computes Spark would report it.
    """
    footers = footers_of(df) or []
    fields = {field.name: field.dataType for field in df.schema.fields if field.name in columns}
    for file, footer in zip(df.inputFiles() if footers else (), footers, strict=True):
        for each in map(footer.schema.column, range(footer.num_columns)):
            if each.path not in fields or "Decimal" in str(each.logical_type):
                continue
            wanted = fields[each.path]
            if not fits(each.physical_type, wanted) and SCAN.search(explained(df) or ""):
                found = each.physical_type.replace("BYTE_ARRAY", "BINARY")  # as Spark says it
                raise of_another_type(each.path, wanted.simpleString(), found, file)


def fits(found: str, expected: t.DataType) -> bool:
    """Whether Spark may read a type of Parquet as one of its own.

    >>> fits("INT32", t.LongType()), fits("BYTE_ARRAY", t.LongType()), fits("FIXED_LEN_BYTE_ARRAY", t.LongType())
    (True, False, True)
    """
    return found not in KINDS or expected.simpleString().startswith(KINDS[found])
