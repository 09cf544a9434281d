"""Partials in packets: Arrow streams, each a row to Spark, which carries them without looking into them."""

from __future__ import annotations

import pyarrow as pa


def packet(partials: pa.Table) -> bytes:
    """Partials as a packet; compressed, for it is copied half a dozen times on its way, and is mostly small numbers."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, partials.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(partials)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def opened(packets: pa.Table | pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """The partials in the packets of a column ``packet``, one after the other; none of no packets."""
    tables = [pa.ipc.open_stream(packet.as_buffer()).read_all() for packet in packets.column("packet")]
    return pa.concat_tables([schema.empty_table(), *tables])
