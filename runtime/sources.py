"""What the local engine reads: anything that speaks Arrow, and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..aggregators.errors import QueryError

if TYPE_CHECKING:
    import pyarrow.dataset as ds


@dataclass(frozen=True)
class Parquet:
    """Parquet files by their paths, or folders of them; made by ``ff.parquet``."""

    paths: tuple[str, ...]

    def dataset(self) -> ds.Dataset:
        """The files as one data set."""
        import pyarrow.dataset as ds  # takes as long to import as all the rest, and executors do without it

        missing = [path for path in self.paths if not Path(path).exists()]
        if missing:
            raise QueryError(f"the Parquet path {missing[0]!r} does not exist")
        try:
            return ds.dataset(
                list(self.paths) if len(self.paths) > 1 else self.paths[0], format="parquet", partitioning="hive"
            )
        except (pa.ArrowInvalid, OSError) as error:
            raise QueryError(f"the Parquet path {self.paths[0]!r} cannot be read: {error}") from error


class Source:
    """Events as batches of Arrow.

    Parameters
    ----------
    data
        A pyarrow table, batch, reader or data set, :class:`Parquet`, or anything with ``__arrow_c_stream__``.

    Raises
    ------
    QueryError
        If it is none of these.
    """

    def __init__(self, data: Any) -> None:
        if isinstance(data, Parquet):
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
        self.spent = False
        arrow = isinstance(data, (pa.Table, pa.RecordBatchReader)) or hasattr(data, "scanner")
        try:
            self.schema: pa.Schema = data.schema if arrow else pa.RecordBatchReader.from_stream(data).schema
        except pa.ArrowInvalid as error:
            kind = f"{type(data).__module__}.{type(data).__name__}"
            raise QueryError(f"events are {kind}, which is no table of columns; expected one") from error

    def batches(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """The events' batches, with some of their columns at least.

        Raises
        ------
        QueryError
            If the data is a reader that was read before: it has nothing to give any more.
        """
        if hasattr(self.data, "scanner"):
            return self.data.scanner(columns=list(columns)).to_reader()
        if isinstance(self.data, pa.Table):
            return self.data.select(list(columns)).to_reader()
        if isinstance(self.data, pa.RecordBatchReader):
            if self.spent:
                raise QueryError("events are a RecordBatchReader that was read already; expected a new one, or a table")
            self.spent = True
            return self.data
        return pa.RecordBatchReader.from_stream(self.data)
