"""What comes in as Arrow IPC, checked in full before anything works on it: damaged, it could end the process."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ...aggregators.errors import EngineError
from ..tuning import THREADS_FROM_BYTES
from .files import one_line

MOST_TIMES = 256
"""Bytes that one byte of LZ4, in which framefold writes, can unpack to."""


def read_stream(blob: bytes | pa.Buffer, what: str) -> pa.Table:
    """The table in an Arrow IPC stream; ``what`` is its name in a message.

    Raises
    ------
    EngineError
        If it is damaged.
    """
    size = blob.size if isinstance(blob, pa.Buffer) else len(blob)
    options = pa.ipc.IpcReadOptions(use_threads=size >= THREADS_FROM_BYTES)
    try:
        require_small(blob)
        table = pa.ipc.open_stream(blob, options=options).read_all()
        table.validate(full=True)
        with_names(table.schema)
    except (pa.ArrowException, OSError, UnicodeDecodeError, ValueError, IndexError, struct.error) as error:
        raise EngineError(f"{what} cannot be read, it is damaged: {one_line(error)}") from error
    return table


def require_small(blob: bytes | pa.Buffer) -> None:
    """OSError where a buffer says that it unpacks to more than LZ4 can hold: it would take any memory.

    What Arrow writes of a batch (Message.fbs and Schema.fbs of its format) has the place of each buffer; where these
    are compressed, each begins with the bytes that it unpacks to.
    """
    for message in pa.ipc.MessageReader.open_stream(blob):
        if message.type not in ("record batch", "dictionary"):
            continue
        about, body = message.metadata.to_pybytes(), message.body
        at = _inner(about, _inner(about, 0), 2)
        at = _inner(about, at, 1) if message.type == "dictionary" else at
        if not at or not (places := _inner(about, at, 2)) or not _inner(about, at, 3):
            continue  # it is as it was in memory
        (count,) = struct.unpack_from("<I", about, places)
        buffers = np.frombuffer(about, "<i8", 2 * count, places + 4).reshape(count, 2)
        begins, sizes = buffers[buffers[:, 1] >= 8].T
        whole = np.frombuffer(body, "<i8", body.size // 8)[begins // 8]
        if (lying := np.flatnonzero(whole // MOST_TIMES > sizes)).size:
            raise OSError(f"a buffer of {sizes[lying[0]]} bytes says that it has {whole[lying[0]]}")


def _inner(about: bytes, table: int, field: int | None = None) -> int:
    """Where what a field of a FlatBuffers table points to begins, or what the bytes themselves point to; 0: nowhere."""
    if field is not None:
        vtable = table - struct.unpack_from("<i", about, table)[0]
        size = struct.unpack_from("<H", about, vtable)[0]
        shift = struct.unpack_from("<H", about, vtable + 4 + 2 * field)[0] if 4 + 2 * field < size else 0
        if not shift:
            return 0
        table += shift
    return int(table + struct.unpack_from("<I", about, table)[0])


def read_batches(source: Any, numbers: Sequence[int], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Some record batches of an open IPC file, with those of some columns that it has.

    Raises
    ------
    pyarrow.ArrowException
        If one is damaged.
    """
    wanted = {*columns}
    with pa.ipc.open_file(source) as whole:
        at = [place for place, name in enumerate(with_names(whole.schema).names) if name in wanted]
    options = pa.ipc.IpcReadOptions(included_fields=at, use_threads=pa.cpu_count() > 1)
    with pa.ipc.open_file(source, options=options) as reader:
        for number in numbers:
            batch = reader.get_batch(number)
            batch.validate(full=True)
            yield batch
            del batch  # or it would be held while the next one is read


def with_names(schema: pa.Schema) -> pa.Schema:
    """A schema as it is.

    Raises
    ------
    UnicodeDecodeError
        If a name in it, at whatever depth, or a time zone is no text.
    """
    left: list[Any] = list(schema)
    while left:
        field = left.pop()
        kind = field.type
        assert field.name is not None
        getattr(kind, "tz", None)
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        left += [kind.field(at) for at in range(kind.num_fields)]
    return schema
