"""Tables and JSON that somebody else has changed in one place."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

NUMBERS = [0, 1, -1, 1 << 20, 1 << 40, (1 << 63) - 1, -(1 << 63)]
FLOATS = [0.0, float("nan"), float("inf"), -1e308, -1.0]
OTHER_TYPES = [pa.int64(), pa.int32(), pa.float64(), pa.string(), pa.large_list(pa.int64()), pa.bool_()]
GONE = object()
JSON = [None, -1, 1 << 40, 1 << 62, -(1 << 70), "x", "../x", [], {}, [1], True, 1.5, float("nan"), GONE]


def value(chance: Random, type: pa.DataType) -> Any:
    """Some value of a type, often one that no state has."""
    of = pa.types
    if of.is_list(type) or of.is_large_list(type):
        return [value(chance, type.value_type) for _ in range(chance.randrange(4))]
    if of.is_boolean(type):
        return chance.random() < 0.5
    if of.is_integer(type):
        top = 1 << type.bit_width - of.is_signed_integer(type)
        return min(max(chance.choice(NUMBERS), -top if of.is_signed_integer(type) else 0), top - 1)
    if of.is_floating(type):
        return chance.choice(FLOATS)
    if of.is_binary(type) or of.is_large_binary(type):
        return chance.choice([b"", b"\0" * 9, chance.randbytes(40)])
    return chance.choice(["", "a", "\0", "é" * 99]) if of.is_string(type) or of.is_large_string(type) else None


def crafted(chance: Random, table: pa.Table) -> pa.Table:
    """A table with another column, or with other rows."""
    rows, place = len(table), chance.randrange(table.num_columns)
    column, name = pa.concat_arrays(table.column(place).chunks), table.column_names[place]

    def with_values(type: pa.DataType, others: float) -> pa.Table:
        known = column.to_pylist() if type == column.type else [None] * rows
        values = [value(chance, type) if chance.random() < others else each for each in known]
        return table.set_column(place, name, pa.array(values, type))

    def with_items() -> pa.Table:
        lists = [each and [*each[:-1], chance.choice([None, each[0]])] for each in column.to_pylist()]
        return table.set_column(place, name, pa.array(lists, column.type))

    lists = [with_items] if hasattr(column.type, "value_field") else []
    return chance.choice([
        *lists * 3,
        lambda: table.set_column(place, name, pa.array([None, *column.to_pylist()[1:]], column.type)),
        lambda: table.set_column(place, name, pa.nulls(rows, column.type)),
        lambda: with_values(column.type, 0.1), lambda: with_values(column.type, 1),
        lambda: with_values(chance.choice(OTHER_TYPES), 1),
        lambda: table.set_column(place, name, column.take(pa.array(np.roll(np.arange(rows), 1)))),
        lambda: table.drop_columns([name]), lambda: table.append_column(name, column),
        lambda: pa.concat_tables([table, table.slice(chance.randrange(rows), 1)]), lambda: table[:0],
    ])()  # fmt: skip


def crafted_json(chance: Random, of: Any) -> Any:
    """JSON with one value changed or removed, at any depth."""
    whole = json.loads(json.dumps(of))
    places: list[tuple[Any, Any]] = []

    def walk(some: Any) -> None:
        for key, each in some.items() if isinstance(some, dict) else enumerate(some):
            places.append((some, key))
            if isinstance(each, (dict, list)):
                walk(each)

    walk(whole)
    some, key = chance.choice(places)
    if (new := chance.choice(JSON)) is GONE:
        del some[key]
    else:
        some[key] = new
    return whole


def crafted_bytes(chance: Random, whole: bytes) -> bytes:
    """Bytes that were cut off, or changed in some places."""
    if chance.random() < 0.3:
        return whole[: chance.randrange(len(whole))]
    changed = bytearray(whole)
    for _ in range(chance.randint(1, 6)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)
