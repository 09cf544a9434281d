"""The functions of tasks that read files; a task reads the part of the plan with its number."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from ...aggregators.errors import EngineError
from ...runtime.expressions import functions  # noqa: F401  # a condition may call them
from ...runtime.sources.formats import READERS, conformed
from ..convert.partials_codec import Batches, batches
from ..input.row_numbers import partition_id
from ..session.staging import Task
from .scan import Part, ReadPlan


def with_own_events(read_plan: ReadPlan, function: Task, *given: Any) -> Batches:
    """A function of tasks, given the events of the files that this task reads in place of its rows, which come last.

    Tasks follow the order of the files, and so do the ranks of their batches. pyarrow has a thread for each core of a
    task, by OMP_NUM_THREADS, which Spark sets.

    Raises
    ------
    EngineError
        If the task's row is not its own number; that is known last, since over TCP rows may come late.
    """
    *arguments, rows = given
    number = partition_id()
    own = read_plan.tasks[number : number + 1]
    yield from function(*arguments, read(read_plan, itertools.chain.from_iterable(own)))
    numbers = [each for batch in rows for each in batch.column(0).to_pylist()]
    if numbers != [number][: len(read_plan.tasks)]:
        raise EngineError(f"task {number} that reads files was given the numbers {numbers}; expected its own")


def hand_over(read_plan: ReadPlan, rows: Batches) -> Batches:
    """The events of the tasks whose numbers are in the rows, as rows for Spark, whatever plan they are part of."""
    for batch in rows:
        for number in batch.column(0).to_pylist():
            for events in read(read_plan, read_plan.tasks[number]):
                yield from batches(pa.Table.from_batches([events]))
                del events  # or they would be held while the next ones are read


def keep(read_plan: ReadPlan, rows: Batches) -> Batches:
    """The events that meet the condition, of events that Spark reads."""
    for batch in rows:
        columns = [column.cast(field.type) for column, field in zip(batch.columns, read_plan.schema, strict=True)]
        yield from met(read_plan, pa.RecordBatch.from_arrays(columns, schema=read_plan.schema))


def read(read_plan: ReadPlan, parts: Iterable[Part]) -> Batches:
    """The events of a task, in the order of the files, a batch at a time."""
    reader = READERS[read_plan.format]
    for part in parts:
        for batch in reader.read(read_plan.system, part.file, part.row_groups, read_plan.schema):
            if batch.num_rows:
                yield from met(read_plan, conformed(batch, read_plan.schema, part.partition, part.file.path))
            del batch  # or it would be held while the next one is read


def met(read_plan: ReadPlan, batch: pa.RecordBatch) -> Batches:
    """The events of a batch that meet the condition, with the columns of the plan."""
    if read_plan.condition is None:
        yield batch.select(list(read_plan.columns))
        return
    table = pa.Table.from_batches([batch]).filter(read_plan.condition).select(list(read_plan.columns))
    yield from table.to_batches()
