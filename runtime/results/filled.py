"""What filled outputs are in windows where they have no value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import one_array, take
from ..columns.key_codes import encode
from ..columns.plain import normalised
from ..columns.sorting import differs
from ..plan.bind import AT
from ..plan.plan import Plan


def filled(plan: Plan, results: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Results, sorted by key and window, of which filled outputs have values where they were null.

    The last rows of a table are held back until the next one has come, as far as this may fill them, or they this.
    """
    held: pa.Table | None = None
    for table in results:
        held = table if held is None else pa.concat_tables([held, table])
        if not len(held):
            continue
        begin = key_begins(plan, held)
        held = with_values(plan, held, begin)
        lines = [name for name, how in plan.filled.items() if how == "linear"]
        known = [int(known_before(held.column(name), begin)[-1]) for name in lines]
        kept = min([len(held) - 1, *(place for place in known if place >= 0)])
        yield held.slice(0, kept)
        held = held.slice(kept)
    if held is not None:
        yield held


def key_begins(plan: Plan, results: pa.Table) -> Ints:
    """The first row of the key of each row."""
    if not plan.by:
        return np.zeros(len(results), np.int64)
    codes = [encode(normalised(one_array(column)), False)[0] for column in results.columns[: len(plan.by)]]
    return np.maximum.accumulate(np.where(differs(*codes), np.arange(len(results)), 0))


def known_before(column: pa.ChunkedArray, begin: Ints) -> Ints:
    """The last row up to each one that has a value, of the same key; -1 where there is none."""
    places = np.arange(len(column))
    found = np.maximum.accumulate(np.where(column.is_valid().to_numpy(), places, -1))
    return np.where(found >= begin, found, -1)


def known_after(column: pa.ChunkedArray, begin: Ints) -> Ints:
    """The first row from each one on that has a value, of the same key; -1 where there is none."""
    rows = len(column)
    places = np.where(column.is_valid().to_numpy(), np.arange(rows), rows)
    found = np.minimum.accumulate(places[::-1])[::-1]
    return np.where(np.append(begin, -1)[found] == begin, found, -1)


def with_values(plan: Plan, results: pa.Table, begin: Ints) -> pa.Table:
    """Results with the values that are known of filled outputs; ``begin`` is the first row of the key of each."""
    for name, how in plan.filled.items():
        at, column = results.schema.get_field_index(name), results.column(name)
        if not column.null_count:
            continue
        before = known_before(column, begin)
        if how == "last":
            made = take(column, pa.array(before, mask=before < 0))
        else:
            made = between(column, before, known_after(column, begin), times(plan, results))
        results = results.set_column(at, results.schema.field(at), made)
    return results


def between(column: pa.ChunkedArray, before: Ints, after: Ints, times: Ints) -> pa.Array:
    """Values on the lines between those that are known."""
    values = pc.fill_null(column, 0.0).to_numpy()
    known = (before >= 0) & (after >= 0)
    low, high = np.where(known, before, 0), np.where(known, after, 0)
    with np.errstate(all="ignore"):
        share = (times - times[low]) / np.maximum(times[high] - times[low], 1)
        found = np.where(low == high, values[low], values[low] * (1 - share) + values[high] * share)
    return pa.array(found, pa.float64(), mask=~known)


def times(plan: Plan, results: pa.Table) -> Ints:
    """The time of each window: its ``at``, where it has one, or its end."""
    if plan.axis.stamped:
        column = results.column(AT)
    else:
        bounds = results.column(len(plan.by))
        column = pc.struct_field(bounds, 1) if pa.types.is_struct(bounds.type) else results.column(len(plan.by) + 1)
    kind = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    ticks: Ints = column.cast(kind).to_numpy().astype(np.int64)
    return ticks
