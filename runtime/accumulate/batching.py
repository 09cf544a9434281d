"""Events are accumulated a portion at a time: a small one, which takes little memory, where that leaves few partials.

Where events come in the order of time, a few of them have nearly as few frames as their number says, and what they are
accumulated from stays in the cache. Where they come in no order, a portion has nearly all frames and keys of the whole,
and small ones would leave more partials than there are states: then portions are as large as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

LEAST = 1 << 19
"""So many events are accumulated at a time, where they leave few partials: with fewer, calls take longer than work."""

MOST = 1 << 20
"""And so many where they leave many."""

BYTES = 64 << 20
"""No more than so many bytes of events are gathered, whatever their number."""

A_PARTIAL = 4
"""Few partials are those of more events than this each."""


def accumulated(
    accumulate: Callable[[pa.Table], pa.Table], batches: Iterable[pa.RecordBatch | pa.Table]
) -> Iterator[pa.Table]:
    """The partials of events, portion by portion; small batches are put together, large ones are portions as they are.

    What comes out depends on the events and their batches only.

    Parameters
    ----------
    accumulate
        The partials of a portion.
    batches
        Events, in the order in which they are accumulated.

    Examples
    --------
    >>> events = pa.table({"t": range(10)})
    >>> list(map(len, accumulated(lambda portion: portion, events.to_batches(max_chunksize=3))))
    [10]
    """
    held: list[pa.Table] = []
    found: pa.Table | None = None  # partials of the first that are held, too many to be let go like this
    enough = LEAST
    rows = size = 0
    for batch in batches:
        if held and rows + len(batch) > MOST:  # put together they would be more than is ever needed
            yield accumulate(pa.concat_tables(held)) if found is None else found
            held, found, rows, size = [], None, 0, 0
        held.append(batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch]))
        rows += len(batch)
        size += batch.nbytes
        found = None
        del batch  # or it would be held while the next one is read
        if rows < enough and size < BYTES:
            continue
        found = accumulate(pa.concat_tables(held))
        if enough < MOST and rows < MOST and size < BYTES and len(found) * A_PARTIAL > rows:
            enough = MOST
            continue
        held, rows, size = [], 0, 0  # let go of before the partials are worked on
        yield found
        found = None
    if held:
        yield accumulate(pa.concat_tables(held)) if found is None else found
