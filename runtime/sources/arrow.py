"""What the local engine reads: anything that speaks Arrow, and files."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import QueryError, nearest
from .files import Files
from .row_groups import RowGroups, is_local_parquet, unbuffered, with_dictionaries

if TYPE_CHECKING:
    import pyarrow.dataset as ds

BATCH = 1 << 20
"""So many events are read from files at a time."""


class Source:
    """Events as batches of Arrow.

    Parameters
    ----------
    data
        A pyarrow table, batch, reader or data set, :class:`Files`, or anything with ``__arrow_c_stream__``.

    Raises
    ------
    QueryError
        If it is none of these.
    """

    def __init__(self, data: Any) -> None:
        self.files = isinstance(data, Files)
        if isinstance(data, Files):
            data = data.dataset()
        if isinstance(data, pa.RecordBatch):
            data = pa.table(data)
        if hasattr(data, "collect_schema") and hasattr(data, "collect"):
            raise QueryError(f"events are a {type(data).__name__}; expected collected data: call .collect() first")
        if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "scanner"):
            raise QueryError(
                f"events are {type(data).__module__}.{type(data).__name__}; expected a Spark DataFrame, "
                "ff.parquet(path), or anything that speaks Arrow, such as a pyarrow, pandas or Polars table or a "
                "DuckDB relation"
            )
        self.data: Any = data
        self.condition: pc.Expression | None = None
        self._read: list[Any] = []  # a reader that has been read, for this source and all that are made of it
        arrow = isinstance(data, (pa.Table, pa.RecordBatchReader)) or hasattr(data, "scanner")
        try:
            self.schema: pa.Schema = data.schema if arrow else pa.RecordBatchReader.from_stream(data).schema
        except pa.ArrowInvalid as error:
            kind = f"{type(data).__module__}.{type(data).__name__}"
            raise QueryError(f"events are {kind}, which is no table of columns; expected one") from error

    def where(self, condition: Any) -> Source:
        """The events for which a condition on their columns is true.

        Raises
        ------
        QueryError
            If it is no pyarrow expression, or not one on these columns.
        """
        kept = copy.copy(self)
        kept.condition = both(self.condition, checked(condition, self.schema, "of Arrow data"))
        return kept

    def pieces(self, columns: Sequence[str], encoded: Sequence[str]) -> list[Callable[[], Iterator[pa.RecordBatch]]]:
        """What local files of Parquet are read with, some row groups each, by as many threads as call them; in order.

        None of other data.

        Parameters
        ----------
        columns
            The columns wanted.
        encoded
            Those of them that may come with a dictionary, where they are text.
        """
        if not self.files or not is_local_parquet(self.data):
            return []
        data = with_dictionaries(self.data, encoded) if self.condition is None else self.data
        pieces: list[list[ds.Fragment]] = [[]]
        rows = 0
        for file in data.get_fragments(self.condition):
            for group in file.split_by_row_group(self.condition, data.schema):
                pieces[-1].append(group)
                rows += sum(each.num_rows for each in group.row_groups)
                if rows >= BATCH:
                    pieces.append([])
                    rows = 0
        pieces = [groups for groups in pieces if groups]
        # A single piece is read by this thread, and so its columns by those of pyarrow.
        conditioned = named(self.condition, data.schema)
        read = RowGroups(data.schema, list(columns), self.condition, conditioned, len(pieces) == 1, ahead=0)
        return [partial(read, groups) for groups in pieces]

    def ahead(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch] | None:
        """The batches of local files of Parquet that are decoded by threads of their own, while others are worked on.

        None where some of the columns are not decoded like this.
        """
        if not self.files or not is_local_parquet(self.data):
            return None
        conditioned, cores = named(self.condition, self.schema), pa.cpu_count()
        read = RowGroups(self.schema, list(columns), self.condition, conditioned, cores > 1, ahead=cores)
        files = []
        for file in self.data.get_fragments(self.condition):  # one says no for all, and no other is opened
            some = file if self.condition is None else file.subset(self.condition, self.schema)
            if not read.decodes_ahead(some):
                return None
            files.append(some)
        return read(files) if files else None

    def batches(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """The events' batches, with some of their columns at least.

        Raises
        ------
        QueryError
            If the data is a reader that was read before: it has nothing to give any more.
        """
        if hasattr(self.data, "scanner"):
            # What is read ahead is decoded by pyarrow's own threads, and held until it is asked for.
            options = unbuffered() if self.files and is_local_parquet(self.data) else {}
            scanner = self.data.scanner(
                columns=list(columns),
                filter=self.condition,
                batch_size=BATCH,
                batch_readahead=pa.cpu_count(),
                **options,
            )
            return scanner.to_reader()
        if self.condition is None:
            return self._batches(columns)
        import pyarrow.dataset as ds  # takes as long to import as all the rest

        needed = dict.fromkeys([*columns, *named(self.condition, self.schema)])
        scanner = ds.Scanner.from_batches(self._batches(list(needed)), columns=list(columns), filter=self.condition)
        return scanner.to_reader()

    def _batches(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        if isinstance(self.data, pa.Table):
            return self.data.select(list(columns)).to_reader()
        if isinstance(self.data, pa.RecordBatchReader):
            if self._read:
                raise QueryError("events are a RecordBatchReader that was read already; expected a new one, or a table")
            self._read.append(self.data)
            return self.data
        return pa.RecordBatchReader.from_stream(self.data)


def checked(condition: Any, schema: pa.Schema, events: str) -> pc.Expression:
    """A condition that holds or does not hold for events of a schema.

    Parameters
    ----------
    condition
        What a user gave.
    schema
        The columns of the events.
    events
        What the events are, for messages.

    Raises
    ------
    QueryError
        If it is not a boolean pyarrow expression on these columns.
    """
    if not isinstance(condition, pc.Expression):
        kind = type(condition)
        found = repr(condition) if isinstance(condition, str) else f"a {kind.__module__}.{kind.__name__}"
        raise QueryError(
            f"where() {events} is given {found}; expected a pyarrow expression such as pyarrow.compute.field('x') > 0"
        )
    unknown = [str(error) for error in [_refused(condition, schema)] if error is not None]
    if unknown:
        reason = unknown[0].splitlines()[0]
        if "No match for FieldRef.Name(" in reason:
            name = reason.split("FieldRef.Name(")[1].split(")")[0]
            reason = f"names the unknown column {name!r}; {nearest(name, schema.names)}"
        else:
            reason = f"does not fit the columns: {reason}"
        raise QueryError(f"the condition {condition} of where() {reason}")
    return condition


def both(one: pc.Expression | None, other: pc.Expression) -> pc.Expression:
    """Two conditions as one."""
    return other if one is None else one & other


def named(condition: pc.Expression | None, schema: pa.Schema) -> list[str]:
    """The columns of a schema that a condition names: those without which it cannot be computed."""
    if condition is None:
        return []
    return [
        field.name
        for at, field in enumerate(schema)
        if _refused(condition, pa.schema([*list(schema)[:at], *list(schema)[at + 1 :]])) is not None
    ]


def _refused(condition: pc.Expression, schema: pa.Schema) -> Exception | None:
    """What pyarrow says against a condition on columns of a schema."""
    try:
        schema.empty_table().filter(condition)
    except (pa.ArrowException, TypeError) as error:
        return error
    return None
