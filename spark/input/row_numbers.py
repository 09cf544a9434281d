"""The row numbers of events in order over many tasks: each counts its rows, then numbers them from an offset.

A prefix sum in two passes (G. Blelloch, "Prefix sums and their applications", 1990). Two rows a task go to the driver,
for any number of keys and events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import types as t

from ...aggregators.errors import EngineError
from ...aggregators.states.arrays import Bools, Ints
from ...runtime.columns.key_codes import key_codes
from ...runtime.columns.plain import fields_of, normalised, plain, plain_type
from ..convert.partials_codec import Batches


@dataclass(frozen=True)
class Offsets:
    """How the rows of each partition are numbered.

    Parameters
    ----------
    before
        The number of rows of its first key in earlier partitions.
    rows
        The number of its rows.
    """

    before: Ints
    rows: Ints


def ends_schema(keys: Sequence[t.StructField]) -> t.StructType:
    """The schema of what each task counts: its first key and its last, in rows of their own if they differ."""
    counts = ("partition", "place", "count", "rows")
    return t.StructType([*keys, *(t.StructField(name, t.LongType()) for name in counts)])


def ends(keys: int, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Count the rows of a task's first key, of its last key, and of all.

    Parameters
    ----------
    keys
        The number of key columns, which come first.
    batches
        Sorted by key.
    """
    found: list[pa.RecordBatch] = []  # a row of the first key, and one of the last
    counts: list[int] = []
    before, rows = None, 0
    for batch in filled(batches):
        starts = np.flatnonzero(begins(before, batch, range(keys)))
        edges = np.append(starts, batch.num_rows)
        if counts:
            counts[-1] += int(edges[0])
        for at in sorted({0, len(starts) - 1}) if len(starts) else ():
            del found[1:], counts[1:]
            found.append(batch.slice(int(starts[at]), 1))
            counts.append(int(edges[at + 1] - edges[at]))
        before, rows = batch, rows + batch.num_rows
    for place, (row, count) in enumerate(zip(found, counts, strict=True)):
        numbers = [pa.array([number], pa.int64()) for number in (partition_id(), place, count, rows)]
        names = [*row.schema.names[:keys], "partition", "place", "count", "rows"]
        yield pa.RecordBatch.from_arrays([*row.columns[:keys], *numbers], names=names)


def offsets(counted: pa.Table) -> Offsets:
    """The offsets of all partitions, of what their tasks counted."""
    counted = counted.sort_by([("partition", "ascending"), ("place", "ascending")])
    keys = [normalised(plain(column, plain_type(column.type))) for column in counted.columns[:-4]]
    codes, _ = key_codes(keys, len(counted), ordered=False)
    partitions, places, counts, rows = (column.to_numpy() for column in counted.columns[-4:])
    sums = np.cumsum(counts) - counts  # rows of one key follow one another, over however many partitions
    fresh = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)])
    sums -= np.repeat(sums[fresh], np.diff(np.append(fresh, len(codes))))
    first = places == 0
    result = Offsets(*np.zeros((2, int(partitions.max(initial=-1)) + 1), np.int64))
    result.before[partitions[first]] = sums[first]
    result.rows[partitions[first]] = rows[first]
    return result


def with_row_numbers(batches: Iterable[pa.RecordBatch], keys: Sequence[int], given: Offsets) -> Batches:
    """A task's events with one more column, the last: the number of each row among those of its key.

    Parameters
    ----------
    batches
        The same as those that were counted.
    keys
        The positions of the key columns.
    given
        The offsets, from the counts of all tasks.

    Raises
    ------
    EngineError
        If they are not the same: an input that gives other rows each time it is read.
    """
    here = partition_id()
    known = here < len(given.rows)
    number, expected = (int(given.before[here]), int(given.rows[here])) if known else (0, 0)
    before, rows = None, 0
    for batch in filled(batches):
        fresh = begins(before, batch, keys)
        fresh[0] &= before is not None  # the first key may have begun in an earlier task
        places = np.arange(batch.num_rows)
        numbers = places - np.maximum.accumulate(np.where(fresh, places, -number))
        number, before, rows = int(numbers[-1]) + 1, batch, rows + batch.num_rows
        yield pa.RecordBatch.from_arrays([*batch.columns, pa.array(numbers)], names=[*batch.schema.names, "number"])
    if rows != expected:
        raise EngineError(
            f"task {here} counted {expected} events and was then given {rows}; expected the same both times: an input "
            "that depends on chance has to be saved first"
        )


def partition_id() -> int:
    """The number of the task among those of its stage."""
    context = TaskContext.get()
    return context.partitionId() if context else 0


def filled(batches: Iterable[pa.RecordBatch]) -> Batches:
    """The batches that have rows."""
    # Not a generator: it would hold a batch while the next one is read, and those of files are large.
    return filter(len, batches)


def begins(before: pa.RecordBatch | None, batch: pa.RecordBatch, columns: Iterable[int]) -> Bools:
    """Which rows of a batch differ from the row before in some columns; the first one of all does."""
    differs = np.zeros(batch.num_rows, dtype=bool)
    differs[0] = before is None
    for position in columns:
        column = batch.column(position)
        if before is not None:
            differs[0] |= bool(_unlike(before.column(position)[-1:], column[:1])[0])
        differs[1:] |= _unlike(column[:-1], column[1:])
    return differs


def _unlike(left: pa.Array, right: pa.Array) -> Bools:
    """Where two columns differ as Spark groups: null equals null, NaN equals NaN, -0.0 equals 0.0."""
    if pa.types.is_struct(left.type):
        parts = map(_unlike, fields_of(left), fields_of(right))
        null = pc.xor(left.is_null(), right.is_null()).to_numpy(zero_copy_only=False)
        differs: Bools = np.logical_or.reduce([null.astype(bool), *parts])
        return differs
    unlike = pc.fill_null(pc.not_equal(left, right), False)
    if pa.types.is_floating(left.type):
        both = pc.and_(pc.fill_null(pc.is_nan(left), False), pc.fill_null(pc.is_nan(right), False))
        unlike = pc.and_not(unlike, both)
    unlike = pc.or_(unlike, pc.xor(left.is_null(), right.is_null()))
    return np.asarray(unlike.to_numpy(zero_copy_only=False), dtype=bool)
