"""Row groups of Parquet on this machine, decoded by Polars where it is installed, else by pyarrow.

Polars decodes pages faster. Columns that both read as the same numbers come from Polars, all others, such as text, from
pyarrow.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from ...aggregators.states.large import one_array
from ...aggregators.states.nested import any_in
from ..tuning import READ_ROWS
from .parquet_opening import with_instants

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MIN_DECODED_ROWS = 1 << 19
"""The rows of files, one or several, that are worth the time of importing Polars."""

rows_of_files: Counter[str] = Counter()
"""The rows that this process has read so far, under ``"read"``: a task may read many small files."""

NUMBERS = frozenset(
    map(str, [*(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())])
) | {"float", "double", "bool", "date32[day]"}
"""Types that both read alike, besides timestamps that are not of 96 bits."""

PACKINGS = frozenset({"SNAPPY", "UNCOMPRESSED", "ZSTD", "GZIP"})

MEMORY = "dirty_decay_ms:60000"
"""For how long Polars keeps memory that it has freed (jemalloc(3), opt.dirty_decay_ms): a minute, as Spark keeps a
Python worker. The default is half a second, after which the pages of the next job are cleared again."""


def decoded(
    file: pq.ParquetFile, path: str | None, columns: Sequence[str], groups: Sequence[int], threads: bool
) -> Iterator[pa.RecordBatch]:
    """Columns of row groups, in their order, in batches of at most ``READ_ROWS`` rows.

    Parameters
    ----------
    file
        Opened by pyarrow, which also says how columns of text come.
    path
        Where it is on this machine; None if it is elsewhere, and pyarrow is to read it.
    columns
        Columns that the file has.
    groups
        The numbers of the row groups.
    threads
        Whether pyarrow may decode columns side by side.
    """
    metadata = file.metadata
    schema = with_instants(file.schema_arrow, metadata)
    types = dict(zip(schema.names, schema.types, strict=True))
    counts = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    portions = list(_portions(groups, counts))
    numbers = _numbers(file, path, columns, [each for each in portions if counts[each[0]] <= READ_ROWS], counts)
    for portion in portions:
        # Larger row groups pyarrow reads a batch at a time; Polars would decode them anew for each.
        found = next(numbers, None) if counts[portion[0]] <= READ_ROWS else None
        if found is None:
            for number in portion:  # one by one: what is read ahead of several is held until the last of them
                for batch in file.iter_batches(READ_ROWS, [number], list(columns), use_threads=threads):
                    yield _as(batch.columns, batch.schema.names, types)
                    del batch  # or it would be held while the next one is read
            continue
        if others := [name for name in columns if name not in found]:
            rest = file.read_row_groups(portion, others, use_threads=threads)
            found |= {name: one_array(rest.column(name)) for name in others}
            del rest
        arrays = [found.pop(name) for name in columns]
        yield _as(arrays, columns, types)
        del arrays  # or they would be held while the next ones are read


def _as(arrays: Sequence[pa.Array], names: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    """Columns with their types in the file; those that have them already are not copied."""
    columns = [
        each if each.type == types[name] else each.cast(types[name]) for each, name in zip(arrays, names, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, list(names))


def _portions(groups: Sequence[int], counts: Sequence[int]) -> Iterator[list[int]]:
    """Row groups that follow one another, as many as have ``READ_ROWS`` rows together, or one that has more."""
    portion: list[int] = []
    rows = 0
    for number in groups:
        if portion and (number != portion[-1] + 1 or rows + counts[number] > READ_ROWS):
            yield portion
            portion, rows = [], 0
        portion.append(number)
        rows += counts[number]
    if portion:
        yield portion


def _is_number(kind: pa.DataType) -> bool:
    return str(kind) in NUMBERS or (pa.types.is_timestamp(kind) and kind.unit != "s")


def _unknown(kind: pa.DataType) -> bool:
    """Whether Polars cannot open a file with such a column, and says so in many lines on stderr."""
    if pa.types.is_dictionary(kind):
        return _unknown(kind.value_type)
    zone = kind.tz if pa.types.is_timestamp(kind) else None
    return pa.types.is_decimal256(kind) or (zone is not None and not _is_named(zone))


@cache
def _is_named(zone: str) -> bool:
    """Whether a zone has a name, as +02:00 does (Etc/GMT-2), and +05:30 does not."""
    try:
        ZoneInfo(re.sub(r"^[+-]\d\d:00$", "UTC", zone))
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return False
    return True


def _alike(found: pa.DataType, expected: pa.DataType) -> bool:
    """Whether types are the same but for the name of their zone."""
    both = pa.types.is_timestamp(found) and pa.types.is_timestamp(expected)
    if both and found.tz is not None and expected.tz is not None:
        return bool(found.unit == expected.unit)
    return bool(found == expected)


def _numbers(
    file: pq.ParquetFile, path: str | None, columns: Sequence[str], portions: Sequence[list[int]], counts: Sequence[int]
) -> Iterator[dict[str, pa.Array]]:
    """The columns that Polars decodes, by portion; fewer portions where it cannot, or gives other types.

    Each is a scan of its own: one scan of all would decode more and more of them, however late they are wanted. What
    Polars cannot read pyarrow can, or says why it cannot.
    """
    metadata, schema = file.metadata, file.schema_arrow
    rows_of_files["read"] += sum(counts[number] for portion in portions for number in portion)
    if path is None or not portions or max(metadata.num_rows, rows_of_files["read"]) < MIN_DECODED_ROWS:
        return
    if any(any_in(kind, _unknown) for kind in schema.types) or (pl := polars()) is None:
        return
    leaves = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}
    chosen = []
    for name in columns:
        if len(schema.get_all_field_indices(name)) == 1 and name in leaves and _is_number(schema.field(name).type):
            chunks = [metadata.row_group(number).column(leaves[name]) for each in portions for number in each]
            if all(chunk.physical_type != "INT96" and chunk.compression in PACKINGS for chunk in chunks):
                chosen.append(name)
    if not chosen:
        return
    starts = list(itertools.accumulate(counts, initial=0))
    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(pl.col(chosen))
        frame.collect_schema()  # kept by the frame: otherwise every scan would read it again
        for portion in portions:
            length = sum(counts[number] for number in portion)
            found = list(frame.slice(starts[portion[0]], length).collect_batches())
            if not found or sum(map(len, found)) != length or found[0].columns != chosen:  # a name may be a pattern
                return
            rows = pl.concat(found).to_arrow()
            arrays = dict(zip(chosen, map(one_array, rows.columns), strict=True))
            if not all(_alike(array.type, schema.field(name).type) for name, array in arrays.items()):
                return
            del found, rows
            yield arrays
            del arrays  # or they would be held while the next ones are read
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return


@cache
def polars() -> Any:
    """Polars, or None where it is not installed or too old; made with as many threads as pyarrow has."""
    wanted = {"POLARS_MAX_THREADS": str(pa.cpu_count()), "_RJEM_MALLOC_CONF": MEMORY}
    ours = {} if "polars" in sys.modules else {name: how for name, how in wanted.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        import polars

        polars.thread_pool_size()  # they are made here, and stay as they are
    except ImportError:
        return None
    finally:
        for name in ours:
            del os.environ[name]
    return polars if hasattr(polars.LazyFrame, "collect_batches") else None
