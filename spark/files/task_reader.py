"""Tasks that read files by themselves: what Spark hands them is a number, which says which pieces are theirs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
from pyspark import TaskContext

from ...aggregators.errors import EngineError
from ...runtime.sources.files import one_line
from ...runtime.sources.formats import READERS
from ..convert.partials_codec import batches
from ..engine import tasks
from ..input.row_numbers import partition_id
from ..session.packaging import unpack
from ..session.worker import worker_context
from .scan import Part, ReadPlan


@dataclass(frozen=True)
class Reading:
    """A plan, and what is to be done with the events.

    Parameters
    ----------
    plan
        What is read, or only which condition events must meet.
    job
        What they are accumulated for, or None.
    most
        How many partials a task sends to the driver at most; see ``tasks.accumulate_to_ipc``.
    """

    read_plan: ReadPlan
    job: tasks.Job | None
    most: int | None = None


@lru_cache(maxsize=8)
def reading_in(payload: bytes) -> Reading:
    """What is in a payload; a worker that is used for many tasks opens it once."""
    reading: Reading = unpack(payload)
    return reading


def run(stage: str, payload: bytes, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A stage by its name; see ``tasks.run``."""
    reading = reading_in(payload)
    with worker_context(), threads_of_the_task():
        if stage == "keep":
            yield from kept(reading.read_plan, rows)
            return
        if stage == "hand_over":
            yield from handed_over(reading.read_plan, rows)
            return
        # Tasks have pieces in the order of the files, and so parts are numbered in it.
        number = partition_id()
        parts = itertools.chain.from_iterable(reading.read_plan.tasks[number : number + 1])
        events = read(reading.read_plan, parts)
        assert reading.job is not None
        if stage == "accumulate":
            yield from tasks.accumulate(reading.job, events)
        else:
            yield from tasks.accumulate_to_ipc(reading.job, events, reading.most)
        # What Spark hands to a task arrives up to 40 ms after it has started (TCP holds small packets back), so the
        # task begins with the number it must have, and looks at what it was given when all is done.
        given = [each for batch in rows for each in batch.column(0).to_pylist()]
        if given != [number][: len(reading.read_plan.tasks)]:
            raise EngineError(f"task {number} that reads files was given the numbers {given}; expected its own")


@contextmanager
def threads_of_the_task() -> Iterator[None]:
    """While this is open, pyarrow has a thread for each core of the task."""
    context = TaskContext.get()
    before = pa.cpu_count()
    pa.set_cpu_count(max(1, context.cpus() if context else 1))
    try:
        yield
    finally:
        pa.set_cpu_count(before)


def handed_over(read_plan: ReadPlan, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events of a task as rows for Spark: in whatever plan a user puts them, and so by the numbers it is given."""
    for batch in rows:
        for number in batch.column(0).to_pylist():
            for events in read(read_plan, read_plan.tasks[number]):
                yield from batches(pa.Table.from_batches([events]))
                del events  # as in read


def read(read_plan: ReadPlan, parts: Iterable[Part]) -> Iterator[pa.RecordBatch]:
    """The events of a task, in the order of the files, a batch at a time."""
    reader = READERS[read_plan.format]
    coded = [field.name for field in read_plan.schema if pa.types.is_dictionary(field.type)]
    for part in parts:
        for batch in reader.read(read_plan.system, part.file, part.pieces, read_plan.schema, coded):
            if batch.num_rows:
                yield from met(read_plan, conformed(batch, read_plan.schema, part))
            del batch  # or it would be held while the next one is read


def conformed(batch: pa.RecordBatch, schema: pa.Schema, part: Part) -> pa.RecordBatch:
    """A batch of a file with the columns of the plan: what the file lacks is in its folders' names, or null."""
    columns = []
    for field in schema:
        if field.name in part.partition:
            columns.append(as_type(pa.repeat(part.partition[field.name], batch.num_rows), field.type))
        elif field.name not in batch.schema.names:
            columns.append(pa.nulls(batch.num_rows, field.type))
        else:
            column = batch.column(field.name)
            try:
                columns.append(as_type(column, field.type))
            except pa.ArrowException as error:
                raise EngineError(
                    f"the column {field.name!r} of {part.file.path!r} is {column.type} and cannot be read as "
                    f"{field.type}: {one_line(error)}"
                ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def as_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """A column as another type, with a dictionary where that has one."""
    if column.type == kind:
        return column
    if pa.types.is_dictionary(kind):
        return as_type(column, kind.value_type).dictionary_encode()
    return column.cast(kind)


def kept(read_plan: ReadPlan, rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Those events of Spark's that meet the condition."""
    for batch in rows:
        columns = [column.cast(field.type) for column, field in zip(batch.columns, read_plan.schema, strict=True)]
        yield from met(read_plan, pa.RecordBatch.from_arrays(columns, schema=read_plan.schema))


def met(read_plan: ReadPlan, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Those events of a batch that meet the condition, with the columns that are handed on."""
    if read_plan.condition is None:
        yield batch.select(list(read_plan.columns))
        return
    table = pa.Table.from_batches([batch]).filter(read_plan.condition).select(list(read_plan.columns))
    yield from table.to_batches()
