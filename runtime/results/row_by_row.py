"""What windows over events in the order of time have, row by row: without sorting, without partials.

Of windows of all rows of a key so far, each key has its running state. Those of a row or two are looked up. Sums over
other windows are differences of running sums. Each field of a state is gone through once; results have the bits of
those of windows that slide.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

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
from ..sliding.prefix_sums import three_adders
from ..sliding.range_facts import RangeFacts
from ..sliding.slide import rounds
from ..threads import at_once
from ..tuning import CHUNK_WINDOWS, KEYS_ROWS
from .beside import results_at
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
    so_far, kinds = reach is not None and reach.first is None, bound.fields
    if bound.answers_ranges and not so_far:  # about one centre a key, which those of times far apart may be far from
        return reach is not None and bound.operation.centred is not None
    # A running sum of floats is one thread's, and whole keys are slid by all.
    if not so_far and sum(isinstance(kind, CompensatedField) for kind in kinds.values()) > 1:
        return False
    joins = bound.ufuncs
    return bound.has_kernels and all(
        (so_far or joins[key] is np.add) and can_fold(joins[key], kind) for key, kind in kinds.items()
    )


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


@dataclass(frozen=True)
class Looking(ABC):
    """Windows whose rows are looked up in events as they come.

    Parameters
    ----------
    keys
        The rows.
    """

    keys: Keys

    @abstractmethod
    def picked(self, seen: Bools | None, first: bool) -> Ints | None:
        """The row of each window that is its first or last one seen (None: all are), or has no value, -1 for none.

        None: unknown.
        """

    @abstractmethod
    def there(self) -> Ints:
        """The number of each window that is not left out; -1 for others."""

    @cached_property
    @abstractmethod
    def between(self) -> Between:
        """The rows of windows."""

    def joined(self, bound: BoundAggregate, states: State) -> Results | None:
        """The results of windows over states of one row each; None where these are to slide."""
        return self.between.results(bound, states)


@dataclass(frozen=True)
class Reaching(Looking):
    """The window of each row, as far as it reaches back."""

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

    def joined(self, bound: BoundAggregate, states: State) -> Results | None:
        reach, keys = self.reach, self.keys
        if reach.first == reach.last:
            return results_at(bound.finish(states), keys.before(reach.last))
        found = super().joined(bound, states)
        return found if found is None or not (reach.full or reach.last) else results_at(found, self.there())

    @cached_property
    def between(self) -> Between:
        first, keys = self.reach.first, self.keys
        return Between(keys, None if first is None else keys.before(first + 1), keys.before(self.reach.last))


@dataclass(frozen=True)
class AsOf(Looking):
    """Windows of some time.

    Parameters
    ----------
    wanted
        The number of the key of each window, -1 for one without rows; the codes of :attr:`keys` for one around each.
    begin, stop
        The first tick of each window, and the first one after it.
    """

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

    @cached_property
    def between(self) -> Between:
        return Between(self.keys, *at_once(self.last_below, [self.begin, self.stop]))

    def last_below(self, until: Ints) -> Ints:
        """The last row of the key of each window below a tick; -1 for none."""
        keys = self.keys
        if self.wanted is keys.codes and keys.at_different_times and until[0] - keys.ticks[0] in (0, 1):
            return keys.before(1 - int(until[0] - keys.ticks[0]))
        return keys.as_of(self.wanted, until)


@dataclass(frozen=True)
class Between:
    """Windows of the rows of a key after one, up to another: -1 for none; of all up to it where ``before`` is None."""

    keys: Keys
    before: Ints | None
    last: Ints

    @cached_property
    def end_at_each(self) -> bool:
        """Whether there is a window for each row, of which this is the last one."""
        return len(self.last) == len(self.keys.codes) and are_numbers(self.last)

    @cached_property
    def counts(self) -> Ints:
        """How many rows each window has."""
        return self.differences(self.keys.ranks)

    @cached_property
    def widest(self) -> int:
        """As many rows as a window has at most, 1 at least."""
        return len(self.keys.codes) if self.before is None else max(int(self.counts.max(initial=1)), 1)

    def results(self, bound: BoundAggregate, states: State) -> Results | None:
        """The results of windows over states of one row each; None where these are to slide."""
        if bound.operation.centred is not None:
            return self.centred(bound, states)
        made = self.fields(states, rounds(bound), bound)
        if any(column is None for column in made.values()):
            return None
        return joined(at_once(lambda some: bound.finish(take(made, some)), blocks(len(self.last))))

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
        sums, unit = self.fields(made[0], False), made[1]
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
        assert self.before is not None
        before = self.before[windows]
        first = np.where(before < 0, -1, after[before])
        found: Bools = running[self.last[windows]] == running[first]
        return found

    def fields(self, states: State, rounded: bool, bound: BoundAggregate | None = None) -> dict[str, Column | None]:
        """The fields of windows, sums or as an operation joins them; None for one that has to slide.

        Sums of floats are ``rounded`` to one.
        """
        assert self.widest

        def made(key: str) -> Column | None:
            function, column = np.add if bound is None else bound.ufuncs[key], states[key]
            if isinstance(column, Compensated):
                return self.float_sums(column, rounded)
            if isinstance(column, Exact):
                return Exact([self.int_sums(limb) for limb in column.limbs])
            if function is np.add:
                return self.int_sums(cast(Ints, column))
            assert bound is not None
            return extremes_so_far(function, column, bound.identity[key], self.keys)

        few = len(self.last) < KEYS_ROWS >> 4  # a thread would take longer to begin
        return dict(zip(states, map(made, states) if few else at_once(made, list(states)), strict=True))

    def int_sums(self, values: Ints) -> Ints:
        """The sums of integers, modulo 2**64."""
        return self.counts if are_ones(values) else self.differences(running_sums(values, self.keys))

    def differences(self, running: Ints) -> Ints:
        """The sums of windows by those of each key so far, and 0, which is for -1."""
        upto = running[:-1] if self.end_at_each else running[self.last]
        return upto if self.before is None else upto - running[self.before]

    def float_sums(self, column: Compensated, rounded: bool) -> Compensated | None:
        """The sums of floats; None where they have to slide."""
        lows = None if are_zeros(column.low) or not column.low.any() else np.ascontiguousarray(column.low)
        largest, largest_low = largest_of(column.high), 0.0 if lows is None else largest_of(lows)
        if column.special_values is not None or not (largest < HUGE and largest_low < HUGE):
            return None
        keys, rows, last = self.keys, len(self.last), None if self.end_at_each else self.last
        sums, lost = np.empty(rows), None if rounded else np.empty(rows)
        adders = three_adders(largest, largest_low, self.widest)
        high = np.ascontiguousarray(column.high)
        if not loops.plane_sums_so_far(high, lows, keys.codes, keys.size, self.before, last, adders, sums, lost):
            return None
        return Compensated(sums, np.broadcast_to(0.0, rows) if lost is None else lost)


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
        return windows.joined(bound, states)
    seen = states["seen"]
    rows = windows.picked(None if seen.all() else seen, which == "first")
    return None if rows is None else results_at(bound.finish(states), rows)


def extremes_so_far(function: Any, column: Column, identity: Column, keys: Keys) -> NDArray[Any]:
    """The least or greatest values of the rows of each key so far."""
    values: NDArray[Any] = np.ascontiguousarray(column)
    if values.dtype == bool and values.all():
        return values
    found = np.empty_like(values)
    best = np.repeat(np.asarray(identity, values.dtype), keys.size)
    kind = np.int8 if values.dtype == bool else values.dtype
    loops.extremes_so_far(values.view(kind), keys.codes, function in LEAST, best.view(kind), found.view(kind))
    return found


def running_sums(values: Ints, keys: Keys) -> Ints:
    """The sums of integers of each key so far, modulo 2**64, and 0, which is for -1."""
    found = np.empty(len(values) + 1, np.int64)
    loops.sums_so_far(np.ascontiguousarray(values), keys.codes, np.zeros(keys.size, np.int64), found[:-1])
    found[-1] = 0
    return found
