"""What the local engine reads: anything that speaks Arrow, and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from ..aggregators.errors import QueryError


@dataclass(frozen=True)
class Parquet:
    """Parquet files by their paths, or folders of them; made by ``ff.parquet``."""

    paths: tuple[str, ...]

    def dataset(self) -> ds.Dataset:
        """The files as one data set."""
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
        self.data: Any = data
        if isinstance(data, Parquet):
            self.data = data.dataset()
        elif isinstance(data, pa.RecordBatch):
            self.data = pa.table(data)
        elif not isinstance(data, (pa.Table, pa.RecordBatchReader, ds.Dataset)):
            if hasattr(data, "collect_schema") and hasattr(data, "collect"):
                raise QueryError(f"events are a {type(data).__name__}; expected collected data: call .collect() first")
            if not hasattr(data, "__arrow_c_stream__"):
                raise QueryError(
                    f"events are {type(data).__module__}.{type(data).__name__}; expected a Spark DataFrame, "
                    "ff.parquet(path), or "
                    "anything that speaks Arrow, such as a pyarrow, pandas or Polars table or a DuckDB relation"
                )
            self.data = pa.RecordBatchReader.from_stream(data)

    @property
    def schema(self) -> pa.Schema:
        """The events' schema."""
        return self.data.schema

    def batches(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """The events' batches, with some of their columns."""
        if isinstance(self.data, ds.Dataset):
            return self.data.scanner(columns=list(columns)).to_reader()
        if isinstance(self.data, pa.Table):
            return self.data.select(list(columns)).to_reader()
        return self.data
