"""What windows over events in the order of time have, row by row: without sorting, without partials.

Of windows of all rows of a key so far, each key has its running state. Those of a row or two are looked up. Sums over
other windows are differences of running sums. Each field of a state is gone through once; results have the bits of
those of windows that slide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.frames import Frames
from ...aggregators.contract.operation import State
from ...aggregators.contract.wrapped import Parts, each_ones
from ...aggregators.numeric.float_sums import largest_of
from ...aggregators.ranges.item_ranges import ascends, rises
from ...aggregators.states.alike import are_numbers, are_ones, are_zeros, numbers, ones
from ...aggregators.states.arrays import Bools, Floats, Ints
from ...aggregators.states.fields import HUGE, Column, Compensated, CompensatedField, Plain
from ...aggregators.states.large import joined, one_array
from ...aggregators.states.limbs import Exact, ExactField
from ...aggregators.states.objects import Objects
from ...aggregators.states.ragged import RaggedField
from ...aggregators.states.rows import take
from ..columns.key_codes import span
from ..columns.sorting import stable_order
from ..frames.windows import RowsBack
from ..plan.cells import Taken, values_of
from ..plan.plan import Plan
from ..sliding.prefix_sums import three_adders
from ..sliding.range_facts import RangeFacts
from ..sliding.slide import all_true
from ..threads import at_once, parts_of
from ..tuning import CHUNK_WINDOWS, KEYS_ROWS
from .beside import at_rows
from .over_ranges import Column as Results
from .over_ranges import results_over

LEAST, GREATEST = (np.fmin, np.minimum, np.logical_and), (np.maximum, np.fmax, np.logical_or)
FOLDED = {np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "?")}
"""The functions and the types of fields that are folded; of floats, fmin and maximum alone."""


FEW = 8
"""The results of windows are joined from states where these are fewer than one in this many."""


def is_answered(bound: BoundAggregate, reach: RowsBack | None) -> bool:
    """Whether an operation is computed row by row over windows, unless its values forbid it.

    ``reach`` says how far these reach back in rows; None: they are those of some time.
    """
    if bound.untrusted:
        return False
    if isinstance(bound.operation, Parts) and bound.spec.joins_results:
        return all(is_answered(part, reach) for part in bound.joined_parts.values())
    if picks(bound) is not None and bound.types[0] == bound.result:
        return True
    if keeps_items(bound):
        return False
    if picks(bound) is not None or (reach is not None and reach.first == reach.last):
        return True
    if reach is not None and reach.first is None:
        return bound.has_kernels and all(can_fold(bound.ufuncs[key], kind) for key, kind in bound.fields.items())
    if bound.answers_ranges:  # about one centre a key, which those of times far apart may be far from
        return reach is not None and bound.operation.centred is not None
    return is_summed(bound)


def picks(bound: BoundAggregate) -> str | None:
    """Whether the result of a window is that of its first or its last row with a value; None: of others, too."""
    return bound.operation.picks if bound.answers_ranges else None


def keeps_items(bound: BoundAggregate) -> bool:
    """Whether states have items or objects, of whose results an array may not have room for those of all rows."""
    return any(isinstance(kind, (RaggedField, Objects)) for kind in bound.fields.values())


def is_summed(bound: BoundAggregate) -> bool:
    """Whether states are sums, so that those of windows are differences of running ones.

    With floats in one field at most: a running sum is one thread's, and whole keys are slid by all.
    """
    kinds = bound.fields.items()
    if sum(isinstance(kind, CompensatedField) for _, kind in kinds) > 1:
        return False
    return bound.has_kernels and all(bound.ufuncs[key] is np.add and can_fold(np.add, kind) for key, kind in kinds)


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
        self.codes, self.size, self.ticks = codes, size, ticks
        self.frames = Frames(numbers(len(codes)), len(codes), ticks, None, ones(len(codes)))
        self._before: dict[int, Ints] = {0: numbers(len(codes))}

    def before(self, count: int) -> Ints:
        """For each row the one ``count`` rows of its key before it; -1 for none."""
        if count not in self._before:
            ring = np.full((self.size, count + 1), -1)
            loops.rows_before(self.codes, ring, self._before.setdefault(count, np.empty(len(self.codes), np.int64)))
        return self._before[count]

    def so_far(self, seen: Bools | None, first: bool) -> Ints:
        """For each row the first or the last one of its key up to it that is seen (None: all are); -1 for none."""
        found = np.empty(len(self.codes), np.int64)
        mask = None if seen is None else seen.view(np.int8)
        loops.rows_so_far(self.codes, mask, first, np.full(self.size, -1), found)
        return found

    def as_of(self, wanted: NDArray[np.int32], until: Ints, seen: Bools | None = None) -> Ints:
        """The last row below each tick of a wanted key, of those that are seen (None: all are); -1 for none."""
        order = None
        if not ascends(until):
            order = stable_order(*span(until))
            until, wanted = until[order], wanted[order]
        rows = np.empty(len(wanted), np.int64)
        mask = None if seen is None else seen.view(np.int8)
        loops.rows_as_of(
            self.codes, self.ticks, mask, wanted, np.ascontiguousarray(until), np.full(self.size, -1), rows
        )
        if order is None:
            return rows
        found = np.empty_like(rows)
        found[order] = rows
        return found

    @cached_property
    def backwards(self) -> Keys:
        """The rows in the reverse order, in which their ticks ascend, too."""
        return Keys(np.ascontiguousarray(self.codes[::-1]), self.size, np.ascontiguousarray(~self.ticks[::-1]))

    @cached_property
    def ranks(self) -> Ints:
        """Which row of its key each one is, from 1 on; and 0, which is for -1."""
        return running_sums(ones(len(self.codes)), self)

    @cached_property
    def at_different_times(self) -> bool:
        """Whether no two rows have one time."""
        return rises(self.ticks)


class Looking(Protocol):
    """Windows whose rows are looked up in events as they come."""

    @property
    def keys(self) -> Keys:
        """The rows."""

    def picked(self, seen: Bools | None, first: bool) -> Ints | None:
        """The row of each window that is its first or last one seen (None: all are), or has no value, -1 for none.

        None: unknown.
        """

    def there(self) -> Ints:
        """The number of each window that is not left out; -1 for others."""

    def folded(self, bound: BoundAggregate, states: State) -> Results | None:
        """The results of windows over states of one row each; None where these cannot be folded."""


@dataclass(frozen=True)
class Reaching:
    """The window of each row, as far as it reaches back."""

    keys: Keys
    reach: RowsBack

    def picked(self, seen: Bools | None, first: bool) -> Ints | None:
        reach, keys = self.reach, self.keys
        if reach.first is None:
            return keys.before(0) if seen is None and not first else keys.so_far(seen, first)
        oldest, newest = keys.before(reach.first), keys.before(reach.last)
        rows, other = (oldest, newest) if first else (newest, oldest)
        if reach.first > reach.last and (seen is not None or (first and not reach.full)):
            if reach.first - reach.last == 1:
                rows = np.where((rows >= 0) if seen is None else (rows >= 0) & seen[rows], rows, other)
            elif first and seen is not None:
                return None
            elif first:
                rows = np.where((oldest < 0) & (newest >= 0), keys.so_far(None, True), oldest)
            else:
                latest = np.append(keys.so_far(seen, False), -1)[newest]
                rows = np.where(latest > keys.before(reach.first + 1), latest, -1)
        return np.where(oldest < 0, -1, rows) if reach.full and rows is not oldest else rows

    def there(self) -> Ints:
        reach, keys = self.reach, self.keys
        far = reach.first if reach.full and reach.first is not None else reach.last
        return np.where(keys.before(far) < 0, -1, keys.before(0)) if far else keys.before(0)

    def folded(self, bound: BoundAggregate, states: State) -> Results | None:
        reach, keys = self.reach, self.keys
        if reach.first == reach.last:
            return results_at(bound.finish(states), keys.before(reach.last))
        if reach.first is None:
            made = at_once(lambda key: folded(bound.ufuncs[key], states[key], bound.identity[key], keys,
                                              rounds(bound)), list(states))  # fmt: skip
            return finished(bound, dict(zip(states, made, strict=True)), len(keys.codes))
        found = self.between.results(bound, states)
        return found if found is None or not (reach.full or reach.last) else results_at(found, self.there())

    @cached_property
    def between(self) -> Between:
        """The rows of windows that reach back some rows."""
        assert self.reach.first is not None
        return Between(self.keys, self.keys.before(self.reach.first + 1), self.keys.before(self.reach.last))


@dataclass(frozen=True)
class AsOf:
    """Windows of some time.

    Parameters
    ----------
    keys
        The rows.
    wanted
        The number of the key of each window, -1 for one without rows.
    begin, stop
        The first tick of each window, and the first one after it.
    """

    keys: Keys
    wanted: NDArray[np.int32]
    begin: Ints
    stop: Ints

    def picked(self, seen: Bools | None, first: bool) -> Ints:
        if first:  # the last one of those that come in the reverse order
            given = np.ascontiguousarray(self.wanted[::-1]), -self.stop[::-1], -self.begin[::-1]
            back = AsOf(self.keys.backwards, *given)
            rows = back.picked(None if seen is None else np.ascontiguousarray(seen[::-1]), False)[::-1]
            return np.where(rows < 0, -1, len(self.keys.codes) - 1 - rows)
        rows = self.between.last if seen is None else self.keys.as_of(self.wanted, self.stop, seen)
        early = self.keys.ticks[rows] < self.begin  # of the last row where there is none
        return np.where(early | (rows < 0), -1, rows) if early.any() else rows

    def there(self) -> Ints:
        return numbers(len(self.wanted))

    def folded(self, bound: BoundAggregate, states: State) -> Results | None:
        return self.between.results(bound, states)

    @cached_property
    def between(self) -> Between:
        """The rows of windows."""
        return Between(self.keys, *at_once(partial(self.keys.as_of, self.wanted), [self.begin, self.stop]))


@dataclass(frozen=True)
class Around(AsOf):
    """Windows of some time around each row."""

    @cached_property
    def between(self) -> Between:
        def row(until: Ints) -> Ints:
            if self.keys.at_different_times and until[0] - self.keys.ticks[0] in (0, 1):
                return self.keys.before(1 - int(until[0] - self.keys.ticks[0]))
            return self.keys.as_of(self.wanted, until)

        return Between(self.keys, *at_once(row, [self.begin, self.stop]))


@dataclass(frozen=True)
class Between:
    """Windows of the rows of a key that come after one, up to another: -1 for none."""

    keys: Keys
    before: Ints
    last: Ints

    @cached_property
    def counts(self) -> Ints:
        """How many rows each window has."""
        ranks = self.keys.ranks
        after = ranks[:-1] if are_numbers(self.last) else ranks[self.last]
        return after - ranks[self.before]

    @cached_property
    def widest(self) -> int:
        """The most rows that a window has, 1 at least."""
        return max(int(self.counts.max(initial=1)), 1)

    def results(self, bound: BoundAggregate, states: State) -> Results | None:
        """The results of windows over states of one row each; None where these are to slide."""
        if bound.operation.centred is not None:
            return self.centred(bound, states)
        made = self.sums(states, rounds(bound))
        return finished(bound, made, len(self.last))

    def centred(self, bound: BoundAggregate, states: State) -> Results | None:
        """The results of sums about a centre for each key, none of which has too many rows for that."""
        operation = bound.operation
        if int(self.keys.ranks.max()) > CHUNK_WINDOWS:
            return None

        def about() -> tuple[State, Any] | None:
            with np.errstate(all="ignore"):
                found: tuple[State, Any] | None = operation.about_codes(states, self.keys.codes, self.keys.size)
                return found

        tasks: list[Callable[[], Any]] = [about, lambda: self.widest]
        made, _ = at_once(lambda task: task(), tasks)
        if made is None:
            return None
        sums, unit = self.sums(made[0], False), made[1]
        if any(column is None for column in sums.values()):
            return None

        def results(rows: slice) -> tuple[Any, Bools, Ints]:
            with np.errstate(all="ignore"):
                return operation.finish_centred(take(sums, rows), unit[self.keys.codes[self.last[rows]]])

        parts = blocks(len(self.last))
        found = at_once(results, parts)
        for part, (values, _, rows) in zip(parts, found, strict=True):
            if len(rows):
                few = self.joined(operation.joined, made[0], states, rows + part.start)
                if few is None:
                    return None
                values[rows] = few
        return joined([pa.array(values, mask=none) for values, none, _ in found])

    def joined(self, bound: BoundAggregate, sums: State, states: State, windows: Ints) -> Floats | None:
        """The results of some windows that are not empty, as another operation joins states; None where they slide.

        Windows of one value have 0; they are looked for where there are many.
        """
        found = np.zeros(len(windows))
        several = np.ones(len(windows), bool)
        if int(self.counts[windows].sum()) * FEW > len(self.keys.codes):
            several = ~self.alike(sums, windows)
        last, counts = self.last[windows[several]], self.counts[windows[several]]
        offsets = np.append(0, np.cumsum(counts))
        if int(offsets[-1]) * FEW > len(self.keys.codes):
            return None
        rows = np.empty(int(offsets[-1]), np.int64)
        if not loops.rows_of_windows(self.keys.codes, last, offsets, rows):
            return None
        if len(last):
            ranges = RangeFacts(offsets[:-1], offsets[1:])
            found[several] = one_array(results_over(bound, take(states, rows), ranges)).to_numpy()
        return found

    def alike(self, states: State, windows: Ints) -> Bools:
        """Which of some windows, none of which is empty, have rows whose sums are the same."""
        previous = self.keys.before(1)
        columns = [part for each in states.values() if isinstance(each, Compensated) for part in (each.high, each.low)]
        changes = (previous >= 0) & np.logical_or.reduce([each != each[previous] for each in columns])
        running = running_sums(changes.astype(np.int64), self.keys)
        after = np.empty(len(previous) + 1, np.int64)
        after[previous] = numbers(len(previous))
        before = self.before[windows]
        first = np.where(before < 0, -1, after[before])
        found: Bools = running[self.last[windows]] == running[first]
        return found

    def sums(self, states: State, rounded: bool) -> dict[str, Column | None]:
        """The sums of fields of states, of floats ``rounded`` to one; None for one that has to slide."""
        assert self.widest
        return dict(zip(states, at_once(lambda key: self.sum(states[key], rounded), list(states)), strict=True))

    def sum(self, column: Column, rounded: bool) -> Column | None:
        """The sums of a field."""
        if isinstance(column, Compensated):
            return plane_sums(column, self.keys, rounded, self)
        if isinstance(column, Exact):
            return Exact([self.sum_of_integers(limb) for limb in column.limbs])
        return self.sum_of_integers(cast(Ints, column))

    def sum_of_integers(self, values: Ints) -> Ints:
        """The sums of integers, modulo 2**64."""
        if are_ones(values):
            return self.counts
        running = running_sums(values, self.keys)
        return running[self.last] - running[self.before]


def rounds(bound: BoundAggregate) -> bool:
    """Whether sums of floats are rounded to one, as they are results."""
    found: bool = getattr(bound.operation, "rounds", False)
    return found


def finished(bound: BoundAggregate, made: dict[str, Column | None], rows: int) -> Results | None:
    """The results of states, by several threads where they are many; None where a field is not there."""
    if any(column is None for column in made.values()):
        return None
    return joined(at_once(lambda some: bound.finish(take(made, some)), blocks(rows)))


def blocks(rows: int) -> list[slice]:
    """Rows in parts that the processor's cache holds, as many as there are."""
    return [slice(start, min(start + KEYS_ROWS, rows)) for start in range(0, rows, KEYS_ROWS)] or [slice(0, 0)]


def results_of(bound: BoundAggregate, inputs: Sequence[pa.Array], windows: Looking) -> Results | None:
    """The results of windows over inputs; None where these cannot be looked up."""
    if isinstance(bound.operation, Parts) and bound.spec.joins_results:
        given = each_ones(bound.joined_parts, inputs)
        made = {name: results_of(part, given[name], windows) for name, part in bound.joined_parts.items()}
        parts = {name: one_array(results) for name, results in made.items() if results is not None}
        if len(parts) < len(made):
            return None
        joined_results = bound.joined(parts)  # null where there is no window, but for structs, whose fields are
        return results_at(joined_results, windows.there()) if pa.types.is_struct(bound.result) else joined_results
    if (which := picks(bound)) is not None and inputs[0].type == bound.result:
        column = inputs[0]
        seen = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
        rows = windows.picked(seen, which == "first")
        return None if rows is None else results_at(column, rows)
    if keeps_items(bound):
        return None
    states = bound.accumulate(windows.keys.frames, inputs)
    if which is None:
        return windows.folded(bound, states)
    seen = states["seen"]
    rows = windows.picked(None if seen.all() else seen, which == "first")
    return None if rows is None else results_at(bound.finish(states), rows)


def cells_over(
    plan: Plan, columns: Mapping[str, pa.Array], windows: Sequence[Looking]
) -> list[pa.Array | pa.ChunkedArray] | None:
    """The columns of a plan's results over its kinds of windows; None where one of them cannot be looked up."""
    found: dict[Taken, Results] = {}
    for name, bound in plan.outputs.items():
        for number in plan.over[name]:
            results = results_of(bound, [columns[column] for column in bound.columns], windows[number])
            if results is None:
                return None
            found[Taken(name, number)] = results
    return [values_of(cell, found.__getitem__) for cell in plan.cells.values()]


def folded(function: Any, column: Column, identity: Column, keys: Keys, rounded: bool) -> Column | None:
    """A field of the rows of each key so far; sums of floats are ``rounded`` to one; None where it has to slide."""
    if isinstance(column, Compensated):
        return plane_sums(column, keys, rounded)
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


def plane_sums(column: Compensated, keys: Keys, rounded: bool, between: Between | None = None) -> Compensated | None:
    """The sums of floats of the rows of each key so far, or between others; None where they have to slide."""
    lows = None if are_zeros(column.low) or not column.low.any() else np.ascontiguousarray(column.low)
    largest, largest_low = largest_of(column.high), 0.0 if lows is None else largest_of(lows)
    if column.special_values is not None or not (largest < HUGE and largest_low < HUGE):
        return None
    rows = len(keys.codes) if between is None else len(between.last)
    sums, lost = np.empty(rows), None if rounded else np.empty(rows)
    adders = three_adders(largest, largest_low, len(keys.codes) if between is None else between.widest)
    before, last = (None, None) if between is None else (between.before, between.last)
    last = None if last is None or (rows == len(keys.codes) and are_numbers(last)) else last
    high = np.ascontiguousarray(column.high)
    if not loops.plane_sums_so_far(high, lows, keys.codes, keys.size, before, last, adders, sums, lost):
        return None
    return Compensated(sums, np.broadcast_to(0.0, rows) if lost is None else lost)


def running_sums(values: Ints, keys: Keys) -> Ints:
    """The sums of integers of each key so far, modulo 2**64, and 0, which is for -1."""
    found = np.empty(len(values) + 1, np.int64)
    loops.sums_so_far(np.ascontiguousarray(values), keys.codes, np.zeros(keys.size, np.int64), found[:-1])
    found[-1] = 0
    return found


def sums_so_far(values: Ints, keys: Keys) -> Ints:
    """The sums of integers of each key so far, modulo 2**64."""
    return running_sums(values, keys)[:-1]


def results_at(column: Results, rows: Ints) -> Results:
    """The values of a column at some rows, null at -1; by several threads where they are many."""
    if are_numbers(rows):
        return column
    return joined(at_once(lambda some: at_rows(column, rows[some]), parts_of(len(rows))))
