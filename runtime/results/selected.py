"""Rows of a result as a query in SQL selects them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import QueryError
from ..columns.key_codes import key_codes
from ..columns.plain import normalised, plain, plain_type, require_key
from ..expressions.in_arrow import in_arrow
from ..expressions.text import Expr
from ..sources.conditions import checked, columns_of

COLUMN = "the column of sql()"


class Order(NamedTuple):
    """What rows are sorted by; NaN is above all other numbers."""

    by: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Selection:
    """Which rows and columns of a result are given, in which order.

    Attributes
    ----------
    conditions
        All are true of the rows.
    columns
        What the columns are, by their names.
    order
        The first one counts most; rows that are equal stay in their order.
    offset, limit
        How many rows are left out at the beginning, and are given at most.
    """

    conditions: Sequence[Expr]
    columns: Mapping[str, Expr]
    order: Sequence[Order] = ()
    offset: int = 0
    limit: int | None = None


def selected(rows: pa.Table, selection: Selection) -> pa.Table:
    """The rows of a table that are selected; ColumnError where something does not fit the columns."""
    for each in selection.conditions:
        rows = rows.filter(checked(each, rows.schema, "of a result"))
    made = pa.table({name: value(rows, each) for name, each in selection.columns.items()})
    if selection.order:
        made = made.take(order_of(rows, selection.order))
    return made.slice(selection.offset, selection.limit)


def value(rows: pa.Table, of: Expr) -> pa.ChunkedArray:
    """The values of an expression; those of a column as they are."""
    from pyarrow.acero import Declaration, ProjectNodeOptions, TableSourceNodeOptions

    expression = in_arrow(of, rows.schema, COLUMN)  # also of a column: it must be there
    if len(of.columns) == 1 and of.column is not None:
        if rows.schema.get_all_field_indices(of.column):
            return rows.column(of.column)
        (path,) = of.columns
        return pc.struct_field(rows.column(path[0]), list(path[1:]))
    needed = rows.select(columns_of(expression.is_valid(), rows.schema) or rows.schema.names[:1])
    source = Declaration("table_source", TableSourceNodeOptions(needed))
    project = Declaration("project", ProjectNodeOptions([expression], ["value"]), inputs=[source])
    return project.to_table(use_threads=False).column(0)


def order_of(rows: pa.Table, order: Sequence[Order]) -> pa.Array:
    """The numbers of rows in an order."""
    keys = []
    for each in order:
        column = value(rows, each.by)
        kind = plain_type(column.type)
        require_key(each.by.text, kind, "ORDER BY")
        codes, _ = key_codes([normalised(plain(column, kind))], len(rows), True)
        nulls = column.is_null().to_numpy()
        keys += [nulls != each.nulls_first, np.where(nulls, 0, -codes if each.descending else codes)]
    return pa.array(np.lexsort(keys[::-1]))


def require_unsorted(selection: Selection) -> None:
    """QueryError where a stream is to be sorted, or to end."""
    if selection.order or selection.limit is not None or selection.offset:
        raise QueryError("the query has ORDER BY or LIMIT, and a stream has no end; expected it without them")
