"""What comes in as Arrow IPC, checked in full before anything works on it: damaged, it could end the process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ...aggregators.errors import EngineError
from ..tuning import THREADS_FROM_BYTES
from .files import one_line


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
        table = pa.ipc.open_stream(blob, options=options).read_all()
        table.validate(full=True)
        with_names(table.schema)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise EngineError(f"{what} cannot be read, it is damaged: {one_line(error)}") from error
    return table


def read_batches(source: Any, numbers: Sequence[int], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Some record batches of an open IPC file, with those of some columns that it has.

    Raises
    ------
    pyarrow.ArrowException
        If one is damaged.
    """
    with pa.ipc.open_file(source) as whole:
        at = [place for place, name in enumerate(with_names(whole.schema).names) if name in columns]
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
