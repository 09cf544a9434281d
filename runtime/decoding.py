"""Row groups of Parquet on this machine, decoded by Polars where it is installed, and by pyarrow where it is not.

Most of the time of reading Parquet goes into unpacking pages. The wheels of pyarrow hold a Snappy made for any
processor, and those of Polars one that is half as quick again; of dictionaries and integers it makes less work, too.
Columns that both read as the same numbers come from Polars, all others, such as text, from pyarrow.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .keys import one_array

if TYPE_CHECKING:
    import pyarrow.parquet as pq

LEAST = 1 << 19
"""Of files with fewer rows it is not worth the tenth of a second that importing Polars takes."""

MOST = 1 << 20
"""Row groups with more rows are read a batch at a time, which Polars could not do without unpacking them anew."""

NUMBERS = frozenset(
    map(str, [*(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())])
) | {"float", "double", "bool", "date32[day]"}
"""Types that both read alike; timestamps, unless they are the old ones of 96 bits, come on top."""

PACKINGS = frozenset({"SNAPPY", "UNCOMPRESSED", "ZSTD", "GZIP"})


def decoded(
    file: pq.ParquetFile, path: str | None, groups: Sequence[int], columns: Sequence[str], rows: int, threads: bool
) -> Iterator[pa.RecordBatch]:
    """Some columns of row groups, in their order.

    Parameters
    ----------
    file
        Opened by pyarrow, which also says how columns of text come.
    path
        Where it is on this machine; None if it is elsewhere, and pyarrow is to read it.
    groups
        The numbers of the row groups.
    columns
        The names of columns that the file has.
    rows
        A batch has so many at most.
    threads
        Whether pyarrow may decode columns side by side.
    """
    counts = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    starts = list(itertools.accumulate(counts, initial=0))
    for some in _runs(groups, counts):
        start, end = starts[some[0]], starts[some[-1] + 1]
        whole = None
        if path is not None and end - start <= MOST:
            whole = _whole(file, path, some, columns, start, end, threads)
        if whole is None:
            for number in some:  # one by one: what is read ahead of several is held until the last of them
                yield from file.iter_batches(rows, [number], list(columns), use_threads=threads)
            continue
        for place in range(0, len(whole), rows):
            yield whole.slice(place, rows)
        del whole  # or it would be held while the next one is read


def _whole(
    file: pq.ParquetFile, path: str, groups: list[int], columns: Sequence[str], start: int, end: int, threads: bool
) -> pa.RecordBatch | None:
    """Row groups that have the rows from ``start`` to before ``end``; None if Polars is not to decode any column."""
    quick = _by_polars(file, groups, columns)
    found = _numbers(path, quick, start, end) if quick else {}
    types = {name: file.schema_arrow.field(name).type for name in columns}
    if not found or not all(_alike(array.type, types[name]) for name, array in found.items()):
        return None
    others = [name for name in columns if name not in found]
    if others:
        rest = file.read_row_groups(groups, others, use_threads=threads)
        found |= {name: one_array(rest.column(name)) for name in others}
    return pa.RecordBatch.from_arrays([found[name].cast(types[name]) for name in columns], list(columns))


def _runs(groups: Sequence[int], counts: Sequence[int]) -> Iterator[list[int]]:
    """Row groups that follow one another, as many as have ``MOST`` rows together."""
    run: list[int] = []
    for number in groups:
        if run and (number != run[-1] + 1 or sum(counts[each] for each in run) + counts[number] > MOST):
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _by_polars(file: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str]) -> list[str]:
    """Those columns that Polars is to decode."""
    if file.metadata.num_rows < LEAST or polars() is None:
        return []
    leaves = {file.metadata.schema.column(at).path: at for at in range(file.metadata.num_columns)}
    names = file.schema_arrow.names
    chosen = []
    for name in columns:
        kind = file.schema_arrow.field(name).type
        if names.count(name) == 1 and name in leaves and _is_number(kind):
            chunks = [file.metadata.row_group(number).column(leaves[name]) for number in groups]
            if all(chunk.physical_type != "INT96" and chunk.compression in PACKINGS for chunk in chunks):
                chosen.append(name)
    return chosen


def _is_number(kind: pa.DataType) -> bool:
    return str(kind) in NUMBERS or (pa.types.is_timestamp(kind) and kind.unit != "s")


def _alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether types are the same but for the name of their zone."""
    both = pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted)
    if both and found.tz is not None and wanted.tz is not None:
        return bool(found.unit == wanted.unit)
    return bool(found == wanted)


def _numbers(path: str, columns: list[str], start: int, end: int) -> dict[str, pa.Array]:
    """Some rows of a file by Polars; nothing if it cannot read them: pyarrow then says why, or can."""
    pl = polars()
    assert pl is not None
    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        rows = frame.select(pl.col(columns)).slice(start, end - start).collect()
    except (pl.exceptions.PolarsError, OSError):
        return {}
    if rows.columns != columns or len(rows) != end - start:  # a name that is a pattern to Polars
        return {}
    return dict(zip(columns, map(one_array, rows.to_arrow().columns), strict=True))


@cache
def polars() -> Any:
    """Polars, or None where it is not installed; with as many threads as pyarrow has, if this is the first import."""
    try:
        with _threads(pa.cpu_count()):
            import polars

            polars.thread_pool_size()  # they are made here, and stay as they are
    except ImportError:
        return None
    return polars


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """While this is open, Polars makes so many threads, unless the user has said how many, or it has made them."""
    name = "POLARS_MAX_THREADS"
    if name in os.environ or "polars" in sys.modules:
        yield
        return
    os.environ[name] = str(count)
    try:
        yield
    finally:
        del os.environ[name]
