"""What tasks do with rows of relations that Spark SQL cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from ....runtime.columns.ticks import NEVER
from ....runtime.frames.windows import WithValidity
from ....spark.convert.partials_codec import batches
from ....spark.convert.types import arrow_schema, cast_to
from ..tables import distinct_rows


def keep(names: Sequence[str], schema: t.StructType, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row of equal ones at a time: each stays until it ends, then the youngest comes. A task has all equal rows."""
    some = list(rows)
    if some:
        found = distinct_rows(pa.Table.from_batches(some).rename_columns(list(names)))
        yield from batches(cast_to(found, arrow_schema(schema)))


def add_validity(
    windows: WithValidity, schema: t.StructType, rows: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Rows, the tick last, with the validity that windows give them by it."""
    for batch in rows:
        ticks = batch.column(batch.num_columns - 1).to_numpy(zero_copy_only=False)
        first, until = windows.validity(ticks, np.zeros(min(len(ticks), 1), np.int64))
        columns = [*batch.columns, pa.array(first), pa.array(until, mask=until == NEVER)]
        table = pa.Table.from_arrays(columns, [str(number) for number in range(len(columns))])
        yield from batches(cast_to(table.filter(pa.array(first < until)), arrow_schema(schema)))
