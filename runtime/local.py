"""The local engine: the whole pipeline in one process, with no Spark."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..aggregators.errors import DroppedEventsWarning, NullTimeError
from .accumulate.threads import accumulated, is_ours
from .columns.key_codes import Ints, encode, key_codes, normalised, plain
from .columns.ticks import drop_null_times, null_times
from .plan.plan import Plan
from .plan.window_inputs import RANK
from .sources.arrow import Reader, Readers, Source

BATCH = 1 << 20
"""Events are accumulated so many at a time."""

PENDING = 1 << 19
"""Partials are merged when there are so many new ones, and no fewer than merged ones."""


def run(source: Source, plan: Plan) -> pa.Table:
    """The results of a query over events.

    Several threads accumulate, and those of files read them too; functions that a user wrote are called by this one.

    Parameters
    ----------
    source
        Events, with at least the query's columns.

    Raises
    ------
    NullTimeError
        If events have no time, with their number, unless the query drops those (a DroppedEventsWarning then has it).
    """
    pieces, threads = work_on(source, plan)
    partials = [plan.empty_key_partials()]
    nulls = events = 0
    for some in accumulated(plan, pieces, threads):
        events += some.events
        nulls += some.nulls
        partials += some.partials
        # As many new ones as there are merged ones: each is merged a few times only, however many there will be.
        if sum(map(len, partials[1:])) > max(PENDING, len(partials[0])):
            partials = [plan.merge(pa.concat_tables(partials))]
    if nulls and plan.null_time == "error":
        raise NullTimeError(null_times(plan.time, nulls, events))
    if nulls:
        warnings.warn(
            f"{nulls} of {events} events have no time {plan.time!r} and were dropped", DroppedEventsWarning, 2
        )
    return plan.results(pa.concat_tables(partials))


def work_on(source: Source, plan: Plan) -> Readers:
    """What reads the events, and how many threads work on them."""
    if not all(is_ours(bound.operation) for bound in plan.outputs.values()):
        return Readers(in_turn(source, plan), 1)
    if not (plan.ordered or plan.in_rows) and (readers := source.readers(plan.columns, plan.by)) is not None:
        return readers
    # One more than there are cores: numpy holds the interpreter while it adds to places, and the others wait for it.
    return Readers(in_turn(source, plan), pa.cpu_count() + 1)


def in_turn(source: Source, plan: Plan) -> Iterator[Reader]:
    """The events batch by batch, as they are read by this thread and those of pyarrow."""
    batches = source.batches(plan.columns)
    return map(ready, in_time_order(batches, plan) if plan.ordered or plan.in_rows else large(batches))


def ready(batch: pa.RecordBatch | pa.Table) -> Reader:
    """A piece of the events that has been read: one batch."""
    return partial(list, [batch])


def large(source: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The events in tables of about one size: small batches are put together, large ones cut."""
    waiting: list[pa.RecordBatch] = []
    for batch in source:
        for start in range(0, len(batch), BATCH):
            waiting.append(batch.slice(start, BATCH))
            if sum(map(len, waiting)) >= BATCH:
                yield pa.Table.from_batches(waiting)
                waiting = []
        del batch  # or it would be held while the next one is read
    if waiting:
        yield pa.Table.from_batches(waiting)


def in_time_order(source: pa.RecordBatchReader, plan: Plan) -> Iterator[pa.Table]:
    """All events by time, then by what breaks ties, then as they came; with their row numbers where they count."""
    events = source.read_all().select(plan.columns)
    column = events.column(plan.time)
    if column.null_count:  # these come first: they are only counted
        nulls = events.filter(pc.is_null(column))
        yield nulls.append_column(RANK, pa.array(np.zeros(len(nulls), np.int64))) if plan.in_rows else nulls
        events = drop_null_times(events, plan.time)
    types = plan.input_schema
    columns = {name: plain(events.column(name), types.field(name).type) for name in (*plan.ties, *plan.by)}
    times = plan.times.ticks(plain(events.column(plan.time), types.field(plan.time).type))
    ties = [encode(normalised(columns[name]), ordered=True)[0] for name in plan.ties]
    order = np.lexsort((*ties[::-1], times))  # stable
    if plan.in_rows:
        codes, _ = key_codes([normalised(columns[name]) for name in plan.by], len(events), ordered=False)
        events = events.append_column(RANK, pa.array(row_numbers(codes, order)))
    yield from large(events.take(pa.array(order)).to_reader())


def row_numbers(codes: Ints, order: NDArray[np.intp]) -> Ints:
    """The number of each row among those of its key, in an order of all rows."""
    by_key = order[np.argsort(codes[order], kind="stable")]
    sizes = np.bincount(codes) if len(codes) else np.empty(0, np.int64)
    numbers = np.empty(len(codes), np.int64)
    numbers[by_key] = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return numbers
