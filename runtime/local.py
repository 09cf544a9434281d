"""The local engine: the whole pipeline in one process, with no Spark."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ..aggregators.errors import DroppedEventsWarning, NullTimeError
from .query import Query
from .times import null_times

BATCH = 1 << 20
"""Events are accumulated so many at a time."""

PENDING = 1 << 21
"""Partials are merged when there are so many of them."""


def run(source: pa.RecordBatchReader, query: Query) -> pa.Table:
    """The results of a query over batches of events.

    Parameters
    ----------
    source
        Events, with at least the query's columns.

    Raises
    ------
    NullTimeError
        If events have no time, with their number, unless the query drops those (a DroppedEventsWarning then has it).
    """
    partials = [query.partials_schema.empty_table()]
    nulls = events = 0
    for part, batch in enumerate(in_time_order(source, query) if query.ordered else large(source)):
        events += len(batch)
        missing = batch.column(query.time).null_count
        nulls += missing
        if nulls and query.null_time == "error":
            continue  # the error below tells how many there are in all
        partials.append(query.accumulate(batch, part))
        if sum(map(len, partials)) > PENDING and len(partials) > 2:
            partials = [query.merge(pa.concat_tables(partials))]
    if nulls and query.null_time == "error":
        raise NullTimeError(null_times(query.time, nulls, events))
    if nulls:
        warnings.warn(
            f"{nulls} of {events} events have no time {query.time!r} and were dropped", DroppedEventsWarning, 2
        )
    return query.results(pa.concat_tables(partials))


def large(source: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """The events in tables of about one size: small batches are put together, large ones cut."""
    waiting: list[pa.RecordBatch] = []
    for batch in source:
        for start in range(0, len(batch), BATCH):
            waiting.append(batch.slice(start, BATCH))
            if sum(map(len, waiting)) >= BATCH:
                yield pa.Table.from_batches(waiting)
                waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def in_time_order(source: pa.RecordBatchReader, query: Query) -> Iterator[pa.Table]:
    """All events in time order, those of one time as they came: for operations that depend on it."""
    events = source.read_all().select(query.columns)
    order = pc.sort_indices(events.column(query.time))  # stable, as Arrow documents
    yield from large(events.take(order).to_reader())
