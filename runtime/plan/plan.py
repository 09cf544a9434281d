"""A query: what is asked of which columns, and its stages as functions of tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.frames import Frames
from ...aggregators.contract.operation import State
from ...aggregators.intervals.time_weighted import Lifetimes, lifetimes_of
from ..accumulate.group_ids import Coded, Groups, InTime, assign, key, numbers_of
from ..columns.key_codes import coded_or_plain, edges, plain
from ..columns.malloc import keep_at_hand
from ..columns.ticks import TimeColumn, drop_null_times, ends_of
from ..frames.partials_view import Mask
from ..partials.partials import merge, to_table
from ..results.chunks import results_in_pieces
from ..windows import Ints
from .axis import Axis
from .window_inputs import RANK, UNTIL_TICK


@dataclass(frozen=True)
class Plan:
    """A query bound to the schema of its events, by :func:`~framefold.runtime.plan.bind.bind`.

    It can be pickled and sent to executors.

    Attributes
    ----------
    ties
        The columns that order events of one time.
    axis
        The windows, on one axis.
    window_inputs
        What the windows must know of every partial.
    until
        The column of the ends of interval events.
    longest
        How long they live at most, in ticks; None for any length.
    over
        Which of the windows each output is over, by their numbers.
    input_schema, partials_schema, result_schema
        Arrow schemas of events, partials and results.
    """

    times: TimeColumn
    by: tuple[str, ...]
    ties: tuple[str, ...]
    axis: Axis
    window_inputs: dict[str, BoundAggregate]
    until: TimeColumn | None
    longest: int | None
    outputs: dict[str, BoundAggregate]
    over: dict[str, tuple[int, ...]]
    null_time: str
    input_schema: pa.Schema
    partials_schema: pa.Schema
    result_schema: pa.Schema

    @property
    def time(self) -> str:
        """The name of the time column."""
        return self.times.name

    @property
    def columns(self) -> list[str]:
        """The input columns the query needs: time, keys, what orders events, inputs of windows and operations."""
        return [name for name in self.input_schema.names if name != RANK]

    @property
    def states(self) -> dict[str, BoundAggregate]:
        """Whatever has a state in partials: the window inputs, and the outputs."""
        return self.window_inputs | self.outputs

    @property
    def clips(self) -> bool:
        """Whether some output is of the lives of interval events, clipped to each window."""
        return any(lifetimes_of(bound) is not None for bound in self.outputs.values())

    @property
    def in_rows(self) -> bool:
        """Whether the events must come with their row numbers in :data:`RANK`, sorted by key and row."""
        return self.axis.unit == "rows"

    @property
    def _keys(self) -> list[str]:
        """The names of the key columns in partials."""
        return list(self.partials_schema.names[: len(self.by)])

    @property
    def ordered(self) -> bool:
        """Whether some operation needs all events of one (key, frame) together and in time order."""
        return bool(self.ties) or not all(bound.commutative for bound in self.outputs.values())

    def accumulate(self, events: pa.Table | pa.RecordBatch, batch_rank: int) -> pa.Table:
        """A batch of events as partials: one row for each (key, frame) in it.

        Parameters
        ----------
        events
            Events with at least the query's columns, and :data:`RANK` where windows are counted in rows.
        batch_rank
            The rank of the batch in input order.

        Raises
        ------
        NullTimeError
            If an event has no time, unless the query drops those.
        """
        events = pa.table(events) if isinstance(events, pa.RecordBatch) else events
        events = events.select(self.input_schema.names)
        if self.null_time == "drop":
            events = drop_null_times(events, self.time)
        inputs = {self.time, *(column for bound in self.states.values() for column in bound.columns)} - {UNTIL_TICK}
        inputs |= set() if self.until is None else {self.until.name}
        inputs |= {RANK} if self.in_rows else set()
        types = self.input_schema
        columns = {name: plain(events.column(name), types.field(name).type) for name in inputs}
        ticks = self.times.ticks(columns[self.time])
        ends = None if self.until is None else ends_of(self.times, self.until, ticks, columns[self.until.name])
        if ends is not None and self.longest is not None:
            ends = ticks + np.minimum(ends - ticks, self.longest)
        if not len(ticks):
            return self.partials_schema.empty_table()
        ranks = columns[RANK].to_numpy() if self.in_rows else None
        frames, inside = self._numbers(ticks, ranks)
        if ends is None and inside is not None and not inside.all():
            return self.accumulate(events.filter(pa.array(inside)), batch_rank)
        # Frame by frame and not key by key: events that follow one another in time then add to neighbouring states.
        numbers = [frames] if ends is None else [frames, self._numbers(ends - 1, ranks)[0]]
        keys = [key(coded_or_plain(events.column(name), types.field(name).type)) for name in self.by]
        groups = assign([*numbers, *keys], len(ticks), counting=ends is not None or not self._takes_empty_frames)
        shared = self._frames(groups, ticks, ends, ranks)
        if ends is not None:
            columns[UNTIL_TICK] = pa.array(ends - 1)
        states = {
            name: bound.accumulate(shared, [columns[column] for column in bound.columns])
            for name, bound in sorted(self.states.items(), key=lambda state: not state[1].columns)  # sums count rows
        }
        first, *more = groups.values[: len(numbers)]
        parts = np.full(len(first), batch_rank, np.int64)
        made = to_table(self.partials_schema, groups.values[len(numbers) :], [first, parts, *more], self.states, states)
        if groups.counts is not None or (counts := shared.count()).all():
            return made
        return made.filter(pa.array(counts > 0))

    @cached_property
    def _takes_empty_frames(self) -> bool:
        return all(bound.takes_empty_frames for bound in self.states.values())

    def _numbers(self, ticks: Ints, ranks: Ints | None) -> tuple[Coded, Mask | None]:
        """The frames of events, and which events are in any window (None: all)."""
        if self.axis.unit == "time":  # frames follow the order of ticks: the edges tell which there may be
            (least, greatest), inside = self.axis.frames(np.array(edges(ticks)), None)
            if inside is None:
                return numbers_of(InTime(self.axis.frames_unchecked, ticks), least, greatest), None
        frames, inside = self.axis.frames(ticks, ranks)
        return numbers_of(frames, frames.min(), frames.max()), inside

    def _frames(self, groups: Groups, ticks: Ints, ends: Ints | None, ranks: Ints | None) -> Frames:
        """The rows of a batch in their frames; with their lives there, where an output asks for them."""
        if ends is None or not self.clips:
            return Frames(groups.index, groups.size, ticks, ranks, groups.counts)
        (windows,) = self.axis.windows
        stretches = [windows.frame_bounds(windows.frames(each, None)[0]) for each in (ticks, ends - 1)]
        if windows.whole_frames or stretches[0] is None or stretches[1] is None:
            head = tail = np.zeros(len(ticks), np.int64)
        else:
            head = np.minimum(ends, stretches[0][1]) - ticks
            tail = np.where(stretches[1][0] > ticks, ends - stretches[1][0], 0)
        return Lifetimes(groups.index, groups.size, ticks, head, tail, ranks)

    def empty_key_partials(self) -> pa.Table:
        """Partials without an event for the keys that have windows of their own; to be merged with the others."""
        types = [self.partials_schema.field(name).type for name in self._keys]
        tables = [self.partials_schema.empty_table()]
        for windows in self.axis.windows:
            keys = windows.keys_of_their_own(types)
            if keys is None:
                continue
            groups = assign([key(column) for column in keys], len(keys[0]) if keys else 1)
            count = groups.size
            states = {name: identities(bound, count) for name, bound in self.states.items()}
            numbers = [np.full(count, -1), np.zeros(count, np.int64)]
            columns = groups.values
            tables.append(to_table(self.partials_schema, columns, numbers, self.states, states))
        return self.merge(pa.concat_tables(tables)) if len(tables) > 1 else tables[0]

    def merge(self, partials: pa.Table) -> pa.Table:
        """Partials with one row for each (key, frame), sorted by them."""
        return self.by_key(partials)[0]

    def by_key(self, partials: pa.Table) -> tuple[pa.Table, NDArray[np.intp]]:
        """The same, and the first row of each key."""
        return merge(partials.select(self.partials_schema.names), self._keys, self.states)

    def results(self, partials: pa.Table) -> pa.Table:
        """Partials of whole keys as results: merged, slid, finished; sorted by key and window."""
        return pa.concat_tables(self.results_in_pieces(partials))

    def results_in_pieces(self, partials: pa.Table) -> Iterator[pa.Table]:
        """The same in pieces of bounded size, one after the other; at least one, maybe empty."""
        keep_at_hand()
        yield from results_in_pieces(self, *self.by_key(partials))


def identities(bound: BoundAggregate, count: int) -> State:
    """The identity, so many times."""
    return bound.scatter(count, np.empty(0, np.intp), {key: column[:0] for key, column in bound.identity.items()})
