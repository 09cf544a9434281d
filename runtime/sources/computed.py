"""Events with columns that expressions compute, of pyarrow for any of them, of Polars for its own data frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.contract.column_expressions import OWN, POLARS, PYARROW, kind_of
from ...aggregators.errors import QueryError, excerpt
from ..columns.field_types import require_taken
from ..columns.plain import plain, plain_type
from ..expressions.in_arrow import in_arrow
from .arrow import Source
from .conditions import columns_of, needed, only, reason_of, require_no_order, require_small
from .extended import ExtendedSource
from .files import one_line
from .opening import no_rows

INPUT = "the input"


def with_columns(source: Source, expressions: Mapping[str, Any]) -> Source:
    """A source with columns computed by expressions.

    Raises
    ------
    QueryError
        If an expression is of another library, or cannot be computed from the columns there are.
    """
    own = {name: in_arrow(each, source.schema, INPUT) for name, each in expressions.items() if kind_of(each) == OWN}
    expressions = {**expressions, **own}
    polars = {name: each for name, each in expressions.items() if kind_of(each) == POLARS}
    frame = is_polars(source.data) if hasattr(source, "data") else False
    for name, each in expressions.items():
        kind = kind_of(each)
        if kind != PYARROW and not (frame and kind == POLARS):
            events = "a Polars DataFrame" if frame else "data of this process"
            expected = "ff.expr('x * 2'), or pyarrow's, such as pyarrow.compute.field('x') * 2"
            expected += ", or Polars' own" if frame else ""
            raise QueryError(f"the input {excerpt(name)} is {kind}, and the events are {events}; expected {expected}")
        if kind == PYARROW and name not in own:
            require_small(each, f"the input {excerpt(name)}")
    if polars:
        source = _with_polars(source, polars)
    others = {name: each for name, each in expressions.items() if name not in polars}
    return ComputedSource(source, others) if others else source


def is_polars(data: Any) -> bool:
    """Whether data is a DataFrame of Polars."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "polars"


def _with_polars(source: Source, expressions: Mapping[str, Any]) -> Source:
    import polars as pl
    from polars.exceptions import PolarsError

    frame = source.data
    if source.condition is not None:  # what an expression sees of other rows is of those that are left
        import pyarrow.dataset as ds  # slow to import

        events = Source(frame)
        named = events.batches(columns_of(source.condition, events.schema))
        kept = ds.Scanner.from_batches(named, columns={"kept": source.condition}).to_table().column("kept")
        frame = frame.filter(pl.from_arrow(kept))
    for name, each in expressions.items():
        try:
            # A function that gives one value for all rows would be of all events, and not of those of a window.
            one_value = each.meta.root_names() and len(frame.clear(2).select(each)) == 1
            frame = frame.with_columns(each.alias(name))
        except PolarsError as error:
            raise QueryError(f"the input {name} does not fit the columns: {one_line(error)}") from error
        if one_value:
            raise QueryError(f"the input {name} is one value for all events; expected a value for each of them")
    return Source(frame)


class ComputedSource(ExtendedSource):
    """The events of a source, with columns that pyarrow computes batch by batch.

    Parameters
    ----------
    source
        The events.
    expressions
        pyarrow expressions by the names of their columns, none of which the source has.
    """

    def __init__(self, source: Source, expressions: Mapping[str, pc.Expression]) -> None:
        self.expressions = dict(expressions)
        kinds = pa.schema([field.with_type(plain_type(field.type)) for field in source.schema])
        fields, inputs = [], {}
        for name, each in expressions.items():
            inputs[name], error = needed(each.is_valid(), kinds)
            if error is not None:
                raise QueryError(f"the input {excerpt(name)} {reason_of(error, source.schema)}") from error
            some = only(source.schema, inputs[name])
            fields.append(self._computed(no_rows(some), name).schema.field(0))
            require_no_order(each, some, f"the input {excerpt(name)}")
            require_taken(some, inputs[name], f"the input {excerpt(name)}")
        super().__init__(source, fields, inputs)

    def made(self, name: str, events: pa.Table) -> pa.ChunkedArray:
        try:
            return self._computed(events.select(self.inputs[name]), name).column(0)
        except pa.ArrowException as error:
            raise QueryError(
                f"the input {excerpt(name)} cannot be computed of the events: {one_line(error)}"
            ) from error

    def _computed(self, events: pa.Table, name: str) -> pa.Table:
        """The column of an expression."""
        from pyarrow.acero import Declaration, ProjectNodeOptions, TableSourceNodeOptions

        inputs = [plain(column, plain_type(column.type)) for column in events.columns]
        table = pa.table(inputs, names=events.schema.names)
        if not inputs:  # a literal: as many as there are rows
            table = pa.table({"": pa.nulls(len(events))})
        source = Declaration("table_source", TableSourceNodeOptions(table))
        project = Declaration("project", ProjectNodeOptions([self.expressions[name]], [name]), inputs=[source])
        return project.to_table(use_threads=False)
