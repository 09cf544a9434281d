"""Which pieces of files may have events that meet a condition, by what is known without reading them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def possible(condition: pc.Expression, schema: pa.Schema, guarantees: Sequence[pc.Expression | None]) -> list[int]:
    """The numbers of those guarantees under which a condition can be true.

    pyarrow's data sets decide that for their fragments; these stand for pieces and are never opened.

    Examples
    --------
    >>> x = pc.field("x")
    >>> possible(x > 5, pa.schema([("x", pa.int64())]), [(x >= 0) & (x <= 5), None, x == 6])
    [1, 2]
    """
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    form, nowhere = ds.ParquetFileFormat(), LocalFileSystem()
    fragments = [
        form.make_fragment(str(number), nowhere, partition_expression=guarantee)
        for number, guarantee in enumerate(guarantees)
    ]
    whole = ds.FileSystemDataset(fragments, schema, form, nowhere)
    return sorted(int(fragment.path) for fragment in whole.get_fragments(filter=condition))


def bounds(statistics: Any, field: pa.Field) -> pc.Expression | None:
    """What a column chunk's statistics guarantee of its values; None where that is nothing.

    Parameters
    ----------
    statistics
        A ``pyarrow.parquet.Statistics``, or None.
    field
        The column, with the type in which its values are compared.
    """
    # Statistics of floats leave out NaN, which meets conditions that no value between the bounds does.
    if statistics is None or not statistics.has_min_max or pa.types.is_floating(field.type):
        return None
    try:
        least, greatest = (pa.scalar(value, field.type) for value in (statistics.min, statistics.max))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None  # such as a date after the year 9999, which Python has not
    column = pc.field(field.name)
    if statistics.has_null_count and statistics.null_count == 0:
        return (column >= least) & (column <= greatest)
    null = column.is_null()  # twice: pyarrow draws conclusions from one bound at a time
    return ((column >= least) | null) & ((column <= greatest) | null)


def equal(field: pa.Field, value: pa.Scalar) -> pc.Expression:
    """That a column has one value."""
    column = pc.field(field.name)
    return column == value if value.is_valid else column.is_null()


def all_of(guarantees: Sequence[pc.Expression | None]) -> pc.Expression | None:
    """Several guarantees as one."""
    known = [guarantee for guarantee in guarantees if guarantee is not None]
    if not known:
        return None
    together = known[0]
    for guarantee in known[1:]:
        together = together & guarantee
    return together
