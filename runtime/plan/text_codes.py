"""Text of a table as codes, made once for a query: what compares or keeps it then works on integers."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.states import large
from ...aggregators.states.categories import Categories
from ...aggregators.states.large import is_text, one_array
from ..sources.arrow import Source
from .plan import Plan, with_states

MIN_ROWS, SPARE = 1 << 18, 4
"""Windows of a chunk where there are few events; how many times as many there may be."""


def with_text_codes(source: Source, plan: Plan) -> tuple[Source, Plan]:
    """The same events and plan, with text of which only operations know that take codes in the place of values.

    Other sources than tables are not held in memory as a whole, and keep their text.
    """
    names = coded_columns(source, plan)
    if not names:
        return source, plan
    table: pa.Table = source.data
    types: dict[str, pa.DataType] = {}
    for name in names:
        at = table.schema.get_field_index(name)
        code = numbered if all(hands_on(bound, name) for bound in plan.outputs.values()) else coded
        types[name], codes = code(table.column(name), plan.input_schema.field(name).type)
        table = table.set_column(at, name, codes)
    source = copy.copy(source)
    source.data = table
    outputs = {name: retyped(bound, types) for name, bound in plan.outputs.items()}
    schema = plan.input_schema
    for name, type in types.items():
        schema = schema.set(schema.get_field_index(name), pa.field(name, type))
    return source, with_states(plan, outputs=outputs, input_schema=schema)


def retyped(bound: BoundAggregate, types: Mapping[str, pa.DataType]) -> BoundAggregate:
    """An operation bound to other types of some columns."""
    if not types.keys() & set(bound.columns):
        return bound
    own = [types.get(name, type) for name, type in zip(bound.columns, bound.types, strict=True)]
    return BoundAggregate(bound.name, bound.spec, own)


def is_held(source: Source) -> bool:
    """Whether all events of a source are in memory as they are."""
    return type(source) is Source and isinstance(source.data, pa.Table) and source.condition is None


def coded_columns(source: Source, plan: Plan) -> list[str]:
    """The columns of text that are better taken as codes: of others the results might need more than one array."""
    if not (is_held(source) and any(is_text(plan.input_schema.field(name).type) for name in plan.inputs)):
        return []
    if any(windows.given for windows in plan.axis.windows):  # which may be more than the events
        return []
    outputs = plan.outputs.values()
    others = {plan.time, *plan.by, *plan.ties, *plan.axis.columns}
    others |= {each for bound in outputs for each in bound.columns if each not in takers(bound)}
    others |= {each for bound in plan.window_inputs.values() for each in bound.columns}
    most = max(getattr(bound.spec, "n", 1) for bound in outputs)
    return [
        name
        for name in sorted({column for bound in outputs for column in takers(bound)} - others)
        if is_text(plan.input_schema.field(name).type) and fits(source.data.column(name), most)
    ]


def hands_on(bound: BoundAggregate, name: str) -> bool:
    """Whether an operation only hands on the values of a column, if it takes it at all."""
    return name not in bound.columns or name in bound.columns[bound.spec.hands_on]


def takers(bound: BoundAggregate) -> set[str]:
    """The columns of an operation that may be codes; none where the length of its results is not known."""
    known = not pa.types.is_nested(bound.result) or hasattr(bound.spec, "n")
    return bound.coded_columns if known else set()


def fits(column: pa.ChunkedArray, most: int) -> bool:
    """Whether a column is plain text, and an array has room for it, and for results of at most some values each."""
    if not is_text(column.type) or column.nbytes > large.ARRAY_BYTES:
        return False
    return large.longest_text(column) * most * max(len(column), MIN_ROWS) * SPARE <= large.ARRAY_BYTES


def coded(column: pa.ChunkedArray, type: pa.DataType) -> tuple[Categories, pa.DictionaryArray]:
    """A column of text with a dictionary in order, and the type of the codes.

    >>> type, codes = coded(pa.chunked_array([["b", None, "a"]]), pa.string())
    >>> type.values.to_pylist(), codes.indices.to_pylist()
    (['a', 'b'], [1, None, 0])
    """
    found = one_array(column).dictionary_encode()
    order = pc.array_sort_indices(found.dictionary)
    place = np.empty(len(order), np.int32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    values = found.dictionary.take(order)
    return Categories(values.cast(type)), pa.DictionaryArray.from_arrays(pa.array(place).take(found.indices), values)


def numbered(column: pa.ChunkedArray, type: pa.DataType) -> tuple[Categories, pa.DictionaryArray]:
    """As :func:`coded`, with a code for each row: for what does not ask whether values are equal."""
    values = one_array(column).cast(type)
    none = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    rows = pa.array(np.arange(len(values), dtype=np.int32), mask=none)
    return Categories(values), pa.DictionaryArray.from_arrays(rows, values, safe=False)
