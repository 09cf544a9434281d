"""Row groups of Parquet on this machine, decoded by Polars where it is installed, and by pyarrow where it is not.

Polars unpacks pages in two thirds of the time. Columns that both read as the same numbers come from Polars, all others,
such as text, from pyarrow.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..columns.key_codes import one_array
from .arrow import BATCH_ROWS

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MIN_ROWS = 1 << 19
"""Files with fewer rows are not worth the tenth of a second that importing Polars takes."""

NUMBERS = frozenset(
    map(str, [*(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())])
) | {"float", "double", "bool", "date32[day]"}
"""Types that both read alike; timestamps, unless they are the old ones of 96 bits, come on top."""

PACKINGS = frozenset({"SNAPPY", "UNCOMPRESSED", "ZSTD", "GZIP"})

MEMORY = "dirty_decay_ms:60000"
"""For how long Polars keeps memory that it has freed (jemalloc(3), opt.dirty_decay_ms): a minute, as Spark keeps a
Python worker. By default half a second, after which the next job pays for clearing its pages again."""


@dataclass(frozen=True)
class Decoder:
    """How row groups of a file are decoded.

    Parameters
    ----------
    file
        Opened by pyarrow, which also says how columns of text come.
    path
        Where it is on this machine; None if it is elsewhere, and pyarrow is to read it.
    columns
        Columns that the file has.
    rows
        The most rows of a batch.
    threads
        Whether pyarrow may decode columns side by side.
    ahead
        How many portions of ``BATCH_ROWS`` rows Polars decodes while one is worked on.
    """

    file: pq.ParquetFile
    path: str | None
    columns: Sequence[str]
    rows: int
    threads: bool
    ahead: int

    def batches(self, groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """The columns of row groups, by their numbers, in their order."""
        metadata = self.file.metadata
        counts = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        portions = list(_portions(groups, counts))
        small = [portion for portion in portions if counts[portion[0]] <= BATCH_ROWS]
        decoded = self._by_polars(small, counts)
        for portion in portions:
            # Larger row groups pyarrow reads a batch at a time; Polars would decode them anew for each.
            numbers = next(decoded, None) if counts[portion[0]] <= BATCH_ROWS else None
            if numbers is not None:
                yield from self._joined(portion, numbers)
                continue
            for number in portion:  # one by one: what is read ahead of several is held until the last of them
                yield from self.file.iter_batches(self.rows, [number], list(self.columns), use_threads=self.threads)

    def _by_polars(self, portions: list[list[int]], counts: list[int]) -> Iterator[dict[str, pa.Array]]:
        """The columns that Polars decodes, by portion; fewer portions where it cannot, or gives other types."""
        schema, groups = self.file.schema_arrow, list(itertools.chain.from_iterable(portions))
        if self.path is None or not (columns := by_polars(self.file.metadata, schema, groups, self.columns)):
            return
        starts = list(itertools.accumulate(counts, initial=0))
        spans = [(starts[portion[0]], sum(counts[number] for number in portion)) for portion in portions]
        for found in _numbers(self.path, columns, spans, self.ahead):
            if not all(_alike(array.type, schema.field(name).type) for name, array in found.items()):
                return
            yield found

    def _joined(self, groups: list[int], found: dict[str, pa.Array]) -> Iterator[pa.RecordBatch]:
        """Row groups of which Polars has decoded some columns, with the others."""
        if others := [name for name in self.columns if name not in found]:
            rest = self.file.read_row_groups(groups, others, use_threads=self.threads)
            found |= {name: one_array(rest.column(name)) for name in others}
            del rest
        types = [self.file.schema_arrow.field(name).type for name in self.columns]
        arrays = [found.pop(name).cast(type) for name, type in zip(self.columns, types, strict=True)]
        whole = pa.RecordBatch.from_arrays(arrays, list(self.columns))
        del arrays
        for place in range(0, len(whole), self.rows):
            yield whole.slice(place, self.rows)


def _portions(groups: Sequence[int], counts: Sequence[int]) -> Iterator[list[int]]:
    """Row groups that follow one another, as many as have ``BATCH_ROWS`` rows together, or one that has more."""
    portion: list[int] = []
    rows = 0
    for number in groups:
        if portion and (number != portion[-1] + 1 or rows + counts[number] > BATCH_ROWS):
            yield portion
            portion, rows = [], 0
        portion.append(number)
        rows += counts[number]
    if portion:
        yield portion


def by_polars(metadata: pq.FileMetaData, schema: pa.Schema, groups: Sequence[int], columns: Sequence[str]) -> list[str]:
    """Those columns of some row groups of a file that Polars is to decode."""
    small = all(metadata.row_group(number).num_rows <= BATCH_ROWS for number in groups)
    if not small or metadata.num_rows < MIN_ROWS or polars() is None:
        return []
    leaves = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}
    chosen = []
    for name in columns:
        if schema.names.count(name) == 1 and name in leaves and _is_number(schema.field(name).type):
            chunks = [metadata.row_group(number).column(leaves[name]) for number in groups]
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


def _numbers(
    path: str, columns: list[str], spans: Sequence[tuple[int, int]], ahead: int
) -> Iterator[dict[str, pa.Array]]:
    """Columns of spans of rows (the first, and how many) of a file by Polars; fewer spans where it cannot read them.

    Each is a scan of its own: one scan of all would decode more and more of them, however late they are wanted. What
    Polars cannot read pyarrow can, or says why it cannot.
    """
    pl = polars()
    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(pl.col(columns))
        frame.collect_schema()  # which the frame keeps: or every scan would read it once more
        begun = ((frame.slice(start, length).collect_batches(), length) for start, length in spans)
        under_way = deque(itertools.islice(begun, 1 + ahead))
        while under_way:
            scan, length = under_way.popleft()
            found = list(scan)
            if not found or sum(map(len, found)) != length or found[0].columns != columns:  # a name may be a pattern
                return
            rows = pl.concat(found).to_arrow()
            arrays = dict(zip(columns, map(one_array, rows.columns), strict=True))
            del scan, found, rows
            yield arrays
            del arrays  # or they would be held while the next ones are read
            under_way.extend(itertools.islice(begun, 1))
    except (pl.exceptions.PolarsError, OSError):
        return


@cache
def polars() -> Any:
    """Polars, or None where it is not installed or too old; made with as many threads as pyarrow has."""
    try:
        with _settings({"POLARS_MAX_THREADS": str(pa.cpu_count()), "_RJEM_MALLOC_CONF": MEMORY}):
            import polars

            polars.thread_pool_size()  # they are made here, and stay as they are
    except ImportError:
        return None
    return polars if hasattr(polars.LazyFrame, "collect_batches") else None


@contextmanager
def _settings(wanted: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the import of Polars, except those that are set; none once it is imported."""
    ours = {} if "polars" in sys.modules else {name: how for name, how in wanted.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]
