"""Row groups of Parquet on this machine, decoded by Polars where it is installed, and by pyarrow where it is not.

Most of the time of reading Parquet goes into unpacking pages. The wheels of pyarrow hold a Snappy made for any
processor, and those of Polars one that is half as quick again; of dictionaries and integers it makes less work, too.
Columns that both read as the same numbers come from Polars, all others, such as text, from pyarrow.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
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

KEPT = "dirty_decay_ms:60000"
"""Polars gives memory back that it has not used for half a second, and the system clears every page before it gives it
out again: a tenth of the work of a job that comes a second after another. So it keeps it for a minute, as long as
Spark keeps a Python worker (jemalloc(3), on opt.dirty_decay_ms)."""


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
        The names of columns that the file has.
    rows
        A batch has so many at most.
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
        schema, metadata = self.file.schema_arrow, self.file.metadata
        for sequence in _sequences(groups, self._counts):
            done = 0
            if self.path is not None and (quick := by_polars(metadata, schema, sequence, self.columns)):
                done = yield from self._streamed(self.path, sequence, quick)
            for number in sequence[done:]:  # one by one: what is read ahead of several is held until the last of them
                yield from self.file.iter_batches(self.rows, [number], list(self.columns), use_threads=self.threads)

    @cached_property
    def _counts(self) -> list[int]:
        metadata = self.file.metadata
        return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    def _streamed(self, path: str, sequence: list[int], quick: list[str]) -> Generator[pa.RecordBatch, None, int]:
        """Row groups that follow one another, some of the columns by Polars.

        Returns how many of them came: all, unless Polars cannot read them, or reads them as something else.
        """
        types = {name: self.file.schema_arrow.field(name).type for name in self.columns}
        others = [name for name in self.columns if name not in quick]
        portions = list(_portions(sequence, self._counts))
        lengths = [sum(self._counts[number] for number in portion) for portion in portions]
        numbers = _numbers(path, quick, sum(self._counts[: sequence[0]]), lengths, self.ahead)
        done = 0
        for portion, found in zip(portions, numbers, strict=False):
            if not all(_alike(array.type, types[name]) for name, array in found.items()):
                break
            if others:
                rest = self.file.read_row_groups(portion, others, use_threads=self.threads)
                found |= {name: one_array(rest.column(name)) for name in others}
                del rest
            whole = pa.RecordBatch.from_arrays([found[name].cast(types[name]) for name in types], list(types))
            found.clear()
            for place in range(0, len(whole), self.rows):
                yield whole.slice(place, self.rows)
            del whole  # or it would be held while the next one is read
            done += len(portion)
        return done


def _sequences(groups: Sequence[int], counts: Sequence[int]) -> Iterator[list[int]]:
    """Row groups that follow one another, either all of ``BATCH_ROWS`` rows at most or all of more."""
    sequence: list[int] = []
    for number in groups:
        last = sequence[-1] if sequence else number
        if sequence and (number != last + 1 or (counts[number] > BATCH_ROWS) != (counts[last] > BATCH_ROWS)):
            yield sequence
            sequence = []
        sequence.append(number)
    if sequence:
        yield sequence


def _portions(sequence: Sequence[int], counts: Sequence[int]) -> Iterator[list[int]]:
    """Row groups that follow one another, as many as have ``BATCH_ROWS`` rows together."""
    portion: list[int] = []
    rows = 0
    for number in sequence:
        if portion and rows + counts[number] > BATCH_ROWS:
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
    path: str, columns: list[str], start: int, lengths: Sequence[int], ahead: int
) -> Iterator[dict[str, pa.Array]]:
    """Rows of a file by Polars from ``start`` on, so many at a time; fewer where it cannot read them.

    Each are a scan of their own: one scan of all would unpack more and more of them, however long nobody asks for them.
    What Polars cannot read pyarrow can, or says why it cannot.
    """
    pl = polars()
    try:
        frame = pl.scan_parquet(path, glob=False, hive_partitioning=False).select(pl.col(columns))
        frame.collect_schema()  # which the frame keeps: or every scan would read it once more
        starts = itertools.accumulate(lengths, initial=start)
        begun = (
            (frame.slice(at, length).collect_batches(), length) for at, length in zip(starts, lengths, strict=False)
        )
        under_way = deque(itertools.islice(begun, 1 + ahead))
        while under_way:
            scan, length = under_way.popleft()
            found = list(scan)
            whole = sum(map(len, found)) == length
            if not whole or not found or found[0].columns != columns:  # a name may be a pattern to Polars
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
        with _settings({"POLARS_MAX_THREADS": str(pa.cpu_count()), "_RJEM_MALLOC_CONF": KEPT}):
            import polars

            polars.thread_pool_size()  # they are made here, and stay as they are
    except ImportError:
        return None
    return polars if hasattr(polars.LazyFrame, "collect_batches") else None


@contextmanager
def _settings(wanted: Mapping[str, str]) -> Iterator[None]:
    """While this is open, Polars finds some settings, unless the user has made them, or it has been imported."""
    ours = {} if "polars" in sys.modules else {name: how for name, how in wanted.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]
