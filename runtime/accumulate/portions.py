"""The portions of events that are accumulated at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

import pyarrow as pa

from ...aggregators.states.large import bytes_of
from ..partials.partials import Partials
from ..plan.plan import Plan
from ..sources.arrow import Reader
from ..tuning import EVENTS_PER_PARTIAL, MAX_PORTION_ROWS, PORTION_BYTES, PORTION_ROWS
from .accumulate import accumulate

Portion = TypeVar("Portion", bound=Sized)


def accumulate_reader(plan: Plan, number: int, read: Reader) -> tuple[int, int, list[Partials]]:
    """The number of a reader's events, the number without a time, and their partials.

    With ``null_time="error"`` it stops at the first null time. The batches are ranked by the reader's number.
    """
    events, nulls, time = 0, 0, plan.times.name

    def counted() -> Iterator[pa.RecordBatch | pa.Table]:
        nonlocal events, nulls
        for batch in read():
            events += len(batch)
            nulls += batch.column(time).null_count
            if not nulls or plan.null_time == "drop":
                yield batch
            del batch  # or it would be held while the next one is read

    ranks = itertools.count(number << 24)
    partials = list(in_portions(lambda portion: accumulate(plan, portion, next(ranks), with_empty=True), counted()))
    return events, nulls, partials


def in_portions(
    accumulate: Callable[[pa.Table], Portion], batches: Iterable[pa.RecordBatch | pa.Table]
) -> Iterator[Portion]:
    """The partials of events, portion by portion: small batches are concatenated, large ones are portions.

    Events in the order of time make few partials, however small a portion is, and a small one fits the cache. Each
    portion of events in no order has nearly all frames and keys of the whole: portions are then larger, so that there
    are fewer. The portions depend on the events and their batches only.

    Parameters
    ----------
    accumulate
        The partials of a portion.
    batches
        Events, in the order in which they are accumulated.

    Examples
    --------
    >>> events = pa.table({"t": range(10)})
    >>> list(map(len, in_portions(lambda portion: portion, events.to_batches(max_chunksize=3))))
    [10]
    """
    held: list[pa.Table] = []
    found: Portion | None = None  # the partials of what is held, where they are many
    enough = PORTION_ROWS
    rows = size = 0
    for batch in batches:
        if held and rows + len(batch) > MAX_PORTION_ROWS:
            yield accumulate(pa.concat_tables(held)) if found is None else found
            held, found, rows, size = [], None, 0, 0
        held.append(batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch]))
        rows += len(batch)
        size += bytes_of(batch, PORTION_BYTES >> 10)
        found = None
        del batch  # or it would be held while the next one is read
        if rows < enough and size < PORTION_BYTES:
            continue
        found = accumulate(pa.concat_tables(held))
        many = len(found) * EVENTS_PER_PARTIAL > rows
        if many and max(enough, rows) < MAX_PORTION_ROWS and size < PORTION_BYTES:
            enough = MAX_PORTION_ROWS
            continue
        held, rows, size = [], 0, 0  # the events are free before the partials are worked on
        yield found
        found = None
    if held:
        yield accumulate(pa.concat_tables(held)) if found is None else found
