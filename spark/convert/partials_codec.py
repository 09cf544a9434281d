"""Partials as Spark carries them: rows of plain columns under plain names, or IPC blobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import types as t

from ...aggregators.errors import QueryError
from ...runtime.sources.ipc import read_stream
from ...runtime.tuning import THREADS_FROM_BYTES
from ..tuning import WIRE_BYTES, WIRE_ROWS
from .types import arrow_schema, to_spark

Batches = Iterator[pa.RecordBatch]
"""What a task of Spark is given, or gives."""


@dataclass(frozen=True)
class PartialsCodec:
    """How one query's partials are written for Spark.

    Names are positions (``k0``, ``k1``, ..., ``frame``, ``batch_rank``, ``s0``, ...), so that names cannot clash; times
    are int64, so that no time zone of a session changes them; types that Spark lacks (unsigned integers) are stored as
    ones it has.

    Parameters
    ----------
    partials
        ``Plan.partials_schema``: the keys, ``frame``, ``batch_rank``, the states' fields.
    keys
        The number of key columns.
    """

    partials: pa.Schema
    keys: int

    @property
    def key_names(self) -> list[str]:
        """The names of the key columns in Spark."""
        return [f"k{position}" for position in range(self.keys)]

    @property
    def spark_schema(self) -> t.StructType:
        """The schema of the partials in Spark, every column nullable.

        Raises
        ------
        QueryError
            If a state's field has an Arrow type that Spark cannot carry.
        """
        states = [f"s{position}" for position in range(len(self.partials) - self.keys - 2)]
        names, fields = [*self.key_names, "frame", "batch_rank", *states], []
        for name, field in zip(names, self.partials, strict=True):
            spark = t.LongType() if _as_bits(field.type) else to_spark(field.type)
            if spark is None:
                raise QueryError(f"state {field.name!r} has the Arrow type {field.type}, for which Spark has no type")
            fields.append(t.StructField(name, spark))
        return t.StructType(fields)

    def encode(self, partials: pa.Table) -> Batches:
        """Write partials as batches Spark can take."""
        schema = arrow_schema(self.spark_schema)
        return batches(partials.rename_columns(schema.names).cast(schema, safe=False))  # with the same bits

    def decode(self, rows: Iterable[pa.RecordBatch] | pa.Table) -> pa.Table:
        """Read batches from Spark back as partials."""
        if not isinstance(rows, pa.Table):
            kept = list(rows)
            rows = pa.Table.from_batches(kept) if kept else arrow_schema(self.spark_schema).empty_table()
        return rows.rename_columns(self.partials.names).cast(self.partials, safe=False)


def _as_bits(arrow: pa.DataType) -> bool:
    """Whether a type is stored as the int64 with the same bits."""
    return bool(pa.types.is_timestamp(arrow) or pa.types.is_duration(arrow) or pa.types.is_uint64(arrow))


def to_ipc(table: pa.Table) -> bytes:
    """A table as an Arrow IPC stream; compressed, because it is copied several times and is mostly small numbers."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=table.nbytes >= THREADS_FROM_BYTES)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    blob: bytes = sink.getvalue().to_pybytes()
    return blob


def opened(blob: bytes | pa.Buffer) -> pa.Table:
    """The table in an Arrow IPC stream, which may come from a checkpoint.

    Raises
    ------
    EngineError
        If it is damaged.
    """
    return read_stream(blob, "Arrow data of this query")


def from_ipc(rows: pa.Table | pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """The tables in the column ``ipc`` of some rows as one table of a schema."""
    tables = [opened(blob.as_buffer()) for blob in rows.column("ipc")]
    return pa.concat_tables([schema.empty_table(), *tables])


def batches(table: pa.Table) -> Batches:
    """A table as record batches small enough for the JVM to take one at a time, none of them empty."""
    if table.num_rows == 0:
        return
    per_row = max(1, table.nbytes // table.num_rows)
    for batch in table.to_batches(max_chunksize=max(1, min(WIRE_ROWS, WIRE_BYTES // per_row))):
        if batch.num_rows:
            yield batch
