"""Tables as Arrow IPC streams, each in one binary value: a row that Spark carries without looking into it."""

from __future__ import annotations

import pyarrow as pa


def to_ipc(table: pa.Table) -> bytes:
    """A table as a stream; compressed, because it is copied several times on its way and is mostly small numbers."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    blob: bytes = sink.getvalue().to_pybytes()
    return blob


def from_ipc(rows: pa.Table | pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """The tables in the column ``ipc`` of some rows as one table of a schema."""
    tables = [pa.ipc.open_stream(blob.as_buffer()).read_all() for blob in rows.column("ipc")]
    return pa.concat_tables([schema.empty_table(), *tables])
