"""Integers of text files that 64 bits do not hold: pyarrow infers floats for them, which are other numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.states.nested import any_in

LIMIT = 1 << 63
"""Integers from -LIMIT to LIMIT - 1 fit 64 bits."""

WIDE = pa.decimal128(38, 0)
"""The type of columns of larger ones, which is Spark's widest too."""

MANY_DIGITS = re.compile(rb"[0-9]{19}")


def doubtful(batch: pa.RecordBatch) -> list[str]:
    """The columns of floats that may be of integers: those with a value beyond 64 bits."""
    found = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_floating(column.type):
            bounds = pc.min_max(column).as_py()
            if bounds["min"] is not None and (bounds["min"] < -LIMIT or bounds["max"] >= LIMIT):
                found.append(name)
    return found


def type_of_texts(texts: pa.Array) -> pa.DataType | None:
    """The type of a column of large integers by their texts; None where some are no integers.

    >>> print(type_of_texts(pa.array(["1", "9223372036854775808"])), type_of_texts(pa.array(["1e20", "1"])))
    decimal128(38, 0) None
    """
    if not pc.all(pc.match_substring_regex(texts, r"^\s*[+-]?\d+\s*$")).as_py():
        return None
    few = pc.all(pc.match_substring_regex(texts, r"^\s*[+-]?0*\d{1,38}\s*$")).as_py()
    return WIDE if few else pa.string()


def with_wide_integers(schema: pa.Schema, block: bytes) -> pa.Schema:
    """The columns of lines of JSON, by the first of them, with a wider type for those that hold large integers.

    Parameters
    ----------
    schema
        The columns as pyarrow infers them.
    block
        The beginning of the lines, up to a line's end.
    """
    if not MANY_DIGITS.search(block) or not any(any_in(field.type, pa.types.is_floating) for field in schema):
        return schema
    try:
        rows = [json.loads(line) for line in block.splitlines() if line.strip()]
    except ValueError:  # pyarrow says what is wrong with them
        return schema
    columns = ([row.get(field.name) for row in rows] for field in schema)
    return pa.schema([field.with_type(_wider(field.type, each)) for field, each in zip(schema, columns, strict=True)])


def _wider(type: pa.DataType, values: Sequence[Any]) -> pa.DataType:
    known = [value for value in values if value is not None]
    if pa.types.is_struct(type):
        return pa.struct([each.with_type(_wider(each.type, [row.get(each.name) for row in known])) for each in type])
    if pa.types.is_list(type):
        return pa.list_(_wider(type.value_type, [each for row in known for each in row]))
    whole = pa.types.is_floating(type) and all(isinstance(value, int) for value in known)
    return WIDE if whole and any(not -LIMIT <= value < LIMIT for value in known) else type
