"""Events with columns that expressions compute, of pyarrow for any of them, of Polars for its own data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.contract.column_expressions import OWN, POLARS, PYARROW, kind_of
from ...aggregators.errors import QueryError
from ..columns.field_types import require_taken
from ..columns.plain import plain, plain_type
from ..expressions.in_arrow import in_arrow
from .arrow import Reader, Readers, Source
from .conditions import columns_of, reason_of, require_no_order
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
            raise QueryError(f"the input {name} is {kind}, and the events are {events}; expected {expected}")
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


class ComputedSource(Source):
    """The events of a source, with columns that pyarrow computes batch by batch.

    Parameters
    ----------
    source
        The events.
    expressions
        pyarrow expressions by the names of their columns, none of which the source has.
    """

    def __init__(self, source: Source, expressions: Mapping[str, pc.Expression]) -> None:
        self.source = source
        self.expressions = dict(expressions)
        nothing = no_rows(source.schema)
        fields = []
        for name in expressions:
            try:
                fields.append(self._computed(nothing, name).schema.field(0))
            except (pa.ArrowException, TypeError) as error:
                raise QueryError(f"the input {name} {reason_of(error, source.schema)}") from error
            require_no_order(expressions[name], source.schema, f"the input {name}")
        self.schema = pa.schema([*source.schema, *fields])
        self.inputs = {name: columns_of(each.is_valid(), source.schema) for name, each in expressions.items()}
        for name, inputs in self.inputs.items():
            require_taken(source.schema, inputs, f"the input {name}")

    def where(self, condition: Any) -> Source:
        return ComputedSource(self.source.where(condition), self.expressions)

    def count(self) -> int | None:
        return self.source.count()

    def readers(self, columns: Sequence[str], dictionaries: Sequence[str]) -> Readers | None:
        needed = self._input_columns(columns)
        used = {column for name in columns for column in self.inputs.get(name, ())}
        read = [name for name in dictionaries if name not in used and name not in self.expressions]
        found = self.source.readers(needed, read)
        if found is None:
            return None
        readers = (partial(self._of_reader, columns, reader) for reader in found.readers)
        return Readers(readers, found.threads)

    def batches(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        schema = pa.schema([self.schema.field(name) for name in columns])
        read = self.source.batches(self._input_columns(columns))
        return pa.RecordBatchReader.from_batches(schema, self._record_batches(columns, read))

    def _input_columns(self, columns: Sequence[str]) -> list[str]:
        needed = dict.fromkeys(column for name in columns for column in self.inputs.get(name, (name,)))
        return list(needed) or self.source.schema.names[:1]

    def _record_batches(self, columns: Sequence[str], read: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in read:
            yield from self._with(pa.table(batch), columns).to_batches()
            del batch  # or it would be held while the next one is read

    def _of_reader(self, columns: Sequence[str], reader: Reader) -> Iterator[pa.Table]:
        for batch in reader():
            yield self._with(batch if isinstance(batch, pa.Table) else pa.table(batch), columns)
            del batch  # or it would be held while the next one is read

    def _with(self, events: pa.Table, columns: Sequence[str]) -> pa.Table:
        """Some of the columns of events, computed where they are."""
        made = {}
        for name in columns:
            if name not in self.expressions:
                made[name] = events.column(name)
                continue
            try:
                made[name] = self._computed(events.select(self.inputs[name]), name).column(0)
            except pa.ArrowException as error:
                raise QueryError(f"the input {name} cannot be computed of the events: {one_line(error)}") from error
        return pa.table(made)

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
