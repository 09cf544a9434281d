"""Results beside events that are in the order of time, row by row: without sorting, without partials.

For windows of the rows of a key so far, of which each key has its running state, and for windows of a row or two, which
are looked up. Each field of a state is folded in one pass; results have the bits of those of windows that slide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.frames import Frames
from ...aggregators.contract.wrapped import Parts, each_ones
from ...aggregators.numeric.float_sums import largest_of
from ...aggregators.states.alike import are_numbers, are_zeros, numbers, ones
from ...aggregators.states.arrays import Bools, Ints
from ...aggregators.states.fields import HUGE, Column, Compensated, CompensatedField, Plain
from ...aggregators.states.large import joined, one_array
from ...aggregators.states.limbs import Exact, ExactField
from ...aggregators.states.objects import Objects
from ...aggregators.states.ragged import RaggedField
from ..accumulate.time_order import Keyed
from ..columns.plain import plain
from ..frames.windows import RowsBack
from ..plan.cells import Taken, values_of
from ..plan.plan import Plan
from ..sliding.prefix_sums import three_adders
from ..sliding.slide import all_true
from ..threads import at_once, parts_of
from ..tuning import MAX_SPARSE
from .beside import at_rows
from .over_ranges import Column as Results

LEAST, GREATEST = (np.fmin, np.minimum, np.logical_and), (np.maximum, np.fmax, np.logical_or)
FOLDED = {np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "?")}
"""The functions and the types of fields that are folded; of floats, fmin and maximum alone."""


def results_as_they_come(plan: Plan, events: pa.Table, keyed: Keyed) -> pa.Table | None:
    """The results of a plan with a window for each event, in the order of events; None where this is not the way.

    Parameters
    ----------
    plan
        What is computed.
    events
        With a time each.
    keyed
        Of the events.
    """
    rows, reaches = len(events), [windows.rows_back for windows in plan.axis.windows]
    if not rows or keyed.by_time is not None or not loops.compiled or not fits(plan, reaches):
        return None
    room = max(MAX_SPARSE, 4 * rows)
    if any(keyed.size * ((reach.first or 0) + 2) > room for reach in reaches if reach is not None):
        return None
    types, ticks = plan.input_schema, plan.times.ticks
    columns = {name: plain(events.column(name), types.field(name).type) for name in plan.inputs}
    keys = Keys(np.concatenate(keyed.codes).astype(np.int32, copy=False), keyed.size, ticks(columns[plan.time]))
    found: dict[Taken, Results] = {}
    for name, bound in plan.outputs.items():
        for number in plan.over[name]:
            reach = reaches[number]
            assert reach is not None
            results = results_of(bound, [columns[column] for column in bound.columns], reach, keys)
            if results is None:
                return None
            found[Taken(name, number)] = results
    cells = [values_of(cell, found.__getitem__) for cell in plan.cells.values()]
    return pa.Table.from_arrays(cells, schema=plan.result_schema)


def fits(plan: Plan, reaches: list[RowsBack | None]) -> bool:
    """Whether all outputs of a plan are folded or picked over all of their windows."""
    if plan.until is not None or plan.samples or plan.filled:
        return False
    over = [(bound, reaches[number]) for name, bound in plan.outputs.items() for number in plan.over[name]]
    return all(reach is not None and is_folded(bound, reach) for bound, reach in over)


def is_folded(bound: BoundAggregate, reach: RowsBack) -> bool:
    """Whether an operation is computed row by row over windows, unless its values forbid it."""
    if bound.untrusted:
        return False
    if isinstance(bound.operation, Parts) and bound.spec.joins_results:
        return all(is_folded(part, reach) for part in bound.joined_parts.values())
    if picks(bound) is not None and bound.types[0] == bound.result:
        return True
    if keeps_items(bound):
        return False
    if reach.first == reach.last or picks(bound) is not None:
        return True
    if reach.first is not None or not bound.has_kernels:
        return False
    return all(can_fold(bound.ufuncs[key], kind) for key, kind in bound.fields.items())


def picks(bound: BoundAggregate) -> str | None:
    """Whether the result of a window is that of its first or its last row with a value; None: of others, too."""
    return bound.operation.picks if bound.answers_ranges else None


def keeps_items(bound: BoundAggregate) -> bool:
    """Whether states have items or objects, of whose results an array may not have room for those of all rows."""
    return any(isinstance(kind, (RaggedField, Objects)) for kind in bound.fields.values())


def can_fold(function: Any, kind: Any) -> bool:
    """Whether a loop joins the values of a field."""
    if not isinstance(kind, Plain):
        return isinstance(kind, (CompensatedField, ExactField))
    if function is np.add:
        return kind.dtype == np.int64
    if kind.dtype not in FOLDED or function not in (*LEAST, *GREATEST):
        return False
    return kind.dtype.kind != "f" or function in (np.fmin, np.maximum)


class Keys:
    """The key of each row, in the order of time; what is asked more than once is kept.

    Parameters
    ----------
    codes
        A number for each row, below ``size``.
    ticks
        The times of rows.
    """

    def __init__(self, codes: NDArray[np.int32], size: int, ticks: Ints) -> None:
        self.codes, self.size = codes, size
        self.frames = Frames(numbers(len(codes)), len(codes), ticks, None, ones(len(codes)))
        self._before: dict[int, Ints] = {0: numbers(len(codes))}

    def before(self, count: int) -> Ints:
        """For each row the one ``count`` rows of its key before it; -1 for none."""
        if count not in self._before:
            ring = np.full((self.size, count + 1), -1)
            loops.rows_before(self.codes, ring, self._before.setdefault(count, np.empty(len(self.codes), np.int64)))
        return self._before[count]

    def with_window(self, reach: RowsBack) -> Ints:
        """The number of each row that has a window, which is not left out; -1 for others."""
        far = reach.first if reach.full and reach.first is not None else reach.last
        return np.where(self.before(far) < 0, -1, self.before(0)) if far else self.before(0)

    def so_far(self, seen: Bools | None, first: bool) -> Ints:
        """For each row the first or the last one of its key up to it that is seen (None: all are); -1 for none."""
        found = np.empty(len(self.codes), np.int64)
        mask = None if seen is None else seen.view(np.int8)
        loops.rows_so_far(self.codes, mask, first, np.full(self.size, -1), found)
        return found


def results_of(bound: BoundAggregate, inputs: Sequence[pa.Array], reach: RowsBack, keys: Keys) -> Results | None:
    """The results of the windows of all rows, which those of the inputs are; None where these cannot be folded."""
    if isinstance(bound.operation, Parts) and bound.spec.joins_results:
        given = each_ones(bound.joined_parts, inputs)
        made = {name: results_of(part, given[name], reach, keys) for name, part in bound.joined_parts.items()}
        parts = {name: one_array(results) for name, results in made.items() if results is not None}
        if len(parts) < len(made):
            return None
        joined_results = bound.joined(parts)  # null where there is no window, but for structs, whose fields are
        return (
            results_at(joined_results, keys.with_window(reach)) if pa.types.is_struct(bound.result) else joined_results
        )
    if (which := picks(bound)) is not None and inputs[0].type == bound.result:
        column = inputs[0]
        seen = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
        rows = picked(seen, which == "first", reach, keys)
        return None if rows is None else results_at(column, rows)
    if keeps_items(bound):
        return None
    states = bound.accumulate(keys.frames, inputs)
    if which is not None:
        seen = states["seen"]
        rows = picked(None if seen.all() else seen, which == "first", reach, keys)
        return None if rows is None else results_at(bound.finish(states), rows)
    if reach.first == reach.last:
        return results_at(bound.finish(states), keys.before(reach.last))
    rounded: bool = getattr(bound.operation, "rounds", False)

    def fold(key: str) -> Column | None:
        return folded(bound.ufuncs[key], states[key], bound.identity[key], keys, rounded)

    made = dict(zip(states, at_once(fold, list(states)), strict=True))
    return None if any(column is None for column in made.values()) else bound.finish(made)


def picked(seen: Bools | None, first: bool, reach: RowsBack, keys: Keys) -> Ints | None:
    """The row of each window that is its first or last one seen (None: all are), or has no value; None: unknown."""
    if reach.first is None:
        return keys.before(0) if seen is None and not first else keys.so_far(seen, first)
    oldest, newest = keys.before(reach.first), keys.before(reach.last)
    rows, other = (oldest, newest) if first else (newest, oldest)
    if reach.first > reach.last and (seen is not None or (first and not reach.full)):
        if reach.first - reach.last > 1:
            return None
        rows = np.where((rows >= 0) if seen is None else (rows >= 0) & seen[rows], rows, other)
    return np.where(oldest < 0, -1, rows) if reach.full and rows is not oldest else rows


def folded(function: Any, column: Column, identity: Column, keys: Keys, rounded: bool) -> Column | None:
    """A field of the rows of each key so far; sums of floats are ``rounded`` to one; None where it has to slide."""
    rows = len(keys.codes)
    if isinstance(column, Compensated):
        largest = largest_of(column.high)
        if column.special_values is not None or not largest < HUGE:
            return None
        if not are_zeros(column.low) and column.low.any():
            return None
        sums, lost = np.empty(rows), None if rounded else np.empty(rows)
        adders = three_adders(largest, 0.0, rows)
        if not loops.plane_sums_so_far(np.ascontiguousarray(column.high), keys.codes, keys.size, adders, sums, lost):
            return None
        return Compensated(sums, np.broadcast_to(0.0, rows) if lost is None else lost)
    if isinstance(column, Exact):
        return Exact([sums_so_far(limb, keys) for limb in column.limbs])
    if all_true(column):
        return column
    values: NDArray[Any] = np.ascontiguousarray(column)
    if function is np.add:
        return sums_so_far(values, keys)
    found = np.empty_like(values)
    best = np.repeat(np.asarray(identity, values.dtype), keys.size)
    kind = np.int8 if values.dtype == bool else values.dtype
    loops.extremes_so_far(values.view(kind), keys.codes, function in LEAST, best.view(kind), found.view(kind))
    return found


def sums_so_far(values: Ints, keys: Keys) -> Ints:
    """The sums of integers of each key so far, modulo 2**64."""
    found = np.empty(len(values), np.int64)
    loops.sums_so_far(np.ascontiguousarray(values), keys.codes, np.zeros(keys.size, np.int64), found)
    return found


def results_at(column: Results, rows: Ints) -> Results:
    """The values of a column at some rows, null at -1; by several threads where they are many."""
    if are_numbers(rows):
        return column
    return joined(at_once(lambda some: at_rows(column, rows[some]), parts_of(len(rows))))
