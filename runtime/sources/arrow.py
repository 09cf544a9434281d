"""Events as batches of Arrow: what the local engine reads."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import QueryError, shown
from ...aggregators.states.nested import any_in
from ..columns.field_types import CATEGORIES, require_taken
from ..tuning import READ_ROWS
from .conditions import all_of, checked, columns_of, filtered, named
from .large_integers import WIDE
from .opening import (
    in_one_order,
    library_of,
    of_few_digits,
    opened,
    plain_schema,
    schema_of,
    stream_of,
    with_categories,
    without_attributes,
)
from .parquet_opening import reopened

Reader = Callable[[], Iterable[pa.RecordBatch | pa.Table]]
"""Gives the batches of some of the events when it is called."""


class Readers(NamedTuple):
    """The events in several parts: one reader each, in the order of the events, and how many threads call them."""

    readers: Iterable[Reader]
    threads: int


class Source:
    """Events as batches of Arrow.

    Parameters
    ----------
    data
        A pyarrow table, batch, reader or data set, or anything with ``__arrow_c_stream__``.

    Raises
    ------
    QueryError
        If it is none of these.
    """

    schema: pa.Schema
    condition: pc.Expression | None = None
    shows_progress = False
    """Whether it says itself how many events have been read."""

    def __init__(self, data: Any) -> None:
        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
        if hasattr(data, "collect_schema") and hasattr(data, "collect"):
            raise QueryError(f"events are a {type(data).__name__}; expected collected data: call .collect() first")
        if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "scanner"):
            named = f": ff.parquet({data!r}) reads files, spark.table({data!r}) a table or a view of Spark"
            raise QueryError(
                f"events are {shown(data)}; expected a Spark DataFrame, ff.parquet(path), or anything that speaks "
                "Arrow, such as a pyarrow, pandas or Polars table or a DuckDB relation"
                + (named if isinstance(data, str) else "")
            )
        data = reopened(data) if hasattr(data, "get_fragments") else without_attributes(data)
        self._read: list[Any] = []  # a reader that has been read; shared with the sources that where() makes
        arrow = isinstance(data, (pa.Table, pa.RecordBatchReader)) or hasattr(data, "scanner")
        schema = data.schema if arrow else schema_of(data)
        self.data: Any
        self.data, schema = with_categories(data, schema)
        self.schema = plain_schema(schema)
        self._has_views = self.schema != schema

    def where(self, condition: Any) -> Source:
        """The events for which a condition on their columns is true.

        Raises
        ------
        QueryError
            If it is no pyarrow expression, or not one on these columns.
        """
        kept = copy.copy(self)
        condition = checked(condition, self.schema, "of Arrow data")
        require_taken(self.schema, columns_of(condition, self.schema), named(condition))
        kept.condition = all_of([self.condition, condition])
        return kept

    def count(self) -> int | None:
        """The number of events; None where it is not known before they are read."""
        data = getattr(self, "data", None)
        if self.condition is not None or hasattr(data, "fetchall"):  # a relation of DuckDB would run its query
            return None
        rows, *_ = getattr(data, "shape", (None,))
        return rows

    def readers(self, columns: Sequence[str], dictionaries: Sequence[str]) -> Readers | None:
        """Readers that several threads call; None where only one thread can read, by :meth:`batches`.

        Parameters
        ----------
        columns
            The columns wanted.
        dictionaries
            Those of them that may come with a dictionary, where they are text.
        """
        return None

    def batches(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """The events in their order, with some of their columns at least.

        Raises
        ------
        QueryError
            If the data is a reader that was read before: it has nothing more to give.
        """
        if self.condition is None or (hasattr(self.data, "scanner") and not self._has_views):
            return self._opened(columns, self.condition)
        # Arrow filters no views, so what is filtered is what was opened.
        needed = dict.fromkeys([*columns, *columns_of(self.condition, self.schema)])
        events = self._opened(list(needed), None)
        return filtered(events, columns, self.condition)

    def _opened(self, columns: Sequence[str], condition: pc.Expression | None) -> pa.RecordBatchReader:
        """The batches of the data, without views."""
        found = opened(self._scanned(columns, condition) if hasattr(self.data, "scanner") else self._stream(columns))
        if library_of(self.data) == "duckdb" and any(any_in(field.type, WIDE.equals) for field in found.schema):
            return pa.RecordBatchReader.from_batches(found.schema, of_few_digits(found))
        if any(CATEGORIES in (field.metadata or {}) for field in self.schema):
            return pa.RecordBatchReader.from_batches(found.schema, in_one_order(found, self.schema))
        return found

    def _scanned(self, columns: Sequence[str], condition: pc.Expression | None, **options: Any) -> pa.RecordBatchReader:
        # pyarrow's threads decode what is read ahead and hold it until it is read: a batch for each of them.
        scanner = self.data.scanner(
            columns=list(columns),
            filter=condition,
            batch_size=READ_ROWS,
            batch_readahead=pa.cpu_count(),
            **options,
        )
        return scanner.to_reader()

    def _stream(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        if isinstance(self.data, pa.Table):
            return self.data.select(list(columns)).to_reader()
        if isinstance(self.data, pa.RecordBatchReader):
            if self._read:
                raise QueryError("events are a RecordBatchReader that was read already; expected a new one, or a table")
            self._read.append(self.data)
            return self.data
        require_taken(self.schema, columns, "the query")
        return stream_of(self.data, columns)
