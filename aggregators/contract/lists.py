"""Columns of lists unfolded into rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import OperationError
from ..states.arrays import Ints


def is_list(type: pa.DataType) -> bool:
    """Whether a column of a type has lists, of any or of a fixed size."""
    return bool(pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type))


def unfold(spec: object, columns: Sequence[pa.Array]) -> tuple[Ints, list[pa.Array]]:
    """The number of items of each row, and the columns item by item: those without lists repeat their values."""
    lengths: Ints | None = None
    for column in columns:
        if is_list(column.type):
            found = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
            if lengths is not None and not np.array_equal(lengths, found):
                row = int(np.flatnonzero(lengths != found)[0])
                raise OperationError(
                    f"{spec!r} has lists of {lengths[row]} and of {found[row]} items in one event; expected as many"
                )
            lengths = found
    assert lengths is not None
    rows = pa.array(np.repeat(np.arange(len(lengths)), lengths))
    return lengths, [pc.list_flatten(each) if is_list(each.type) else each.take(rows) for each in columns]
