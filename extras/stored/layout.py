"""How partials lie at rest: a row for each key, frame, run, with a state's fields as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ...aggregators.errors import EngineError, QueryError
from ...aggregators.states.alike import zeros
from ...aggregators.states.arrays import Bools, Ints
from ...aggregators.states.large import fitting, one_array
from ...runtime.columns.sorting import differs
from ...runtime.columns.ticks import DAY, describe
from ...runtime.frames.partials_view import is_column
from ...runtime.frames.windows import Windows, WindowSpec
from ...runtime.partials.merge import merge
from ...runtime.partials.partials import Partials, misfit
from ...runtime.plan.plan import BATCH_RANK, FRAME, Plan, named_states, partials_schema
from ...runtime.plan.window_inputs import window_input
from ...runtime.streams.late_events import matched
from .commits import Commit
from .stored_types import SAID, is_wider, joined_types, types_of
from .wider_states import OtherStatesError, converted, require_convertible

Together = Callable[[Ints], "tuple[Ints, Bools] | None"]
Binds = Callable[[pa.Schema], Plan]

START, END, RUN = "frame_start", "frame_end", "run"
"""The columns of stored partials between keys and states: a frame's bounds, and the run that brought the events."""

EXPECTED = "expected windows that begin and end where stored frames do, or shorter frames"

KEPT = ("first", "last", "rows")
"""The window inputs that are stored beside the outputs, so that any windows over them have theirs."""


@dataclass(frozen=True)
class Layout:
    """The layout of one table of stored partials.

    ::

        customer  frame_start          frame_end            run         n.count  spent.sum  ...
        "a"       2026-11-26 07:00:00  2026-11-26 08:00:00  2026-11-26        2       25.0
        "a"       2026-11-26 08:00:00  2026-11-26 09:00:00  2026-11-26        1        3.5

    Parameters
    ----------
    plan
        The query whose partials are stored: outputs over tumbling windows, each of which is a frame.
    events_schema
        The columns of the events that it is of, with the types that they come in.
    since
        The ticks from which on there are the outputs that were added later: files may lack these.
    binds
        Gives the plan for events of other types; None where these stay.
    earlier
        The columns of the events in the types that they had before they became wider.
    """

    plan: Plan
    events_schema: pa.Schema
    since: Mapping[str, int] = field(default_factory=dict)
    binds: Binds | None = field(default=None, compare=False, repr=False)
    earlier: tuple[pa.Schema, ...] = ()

    @classmethod
    def of(cls, binds: Binds, events: pa.Schema, frame: WindowSpec, since: Mapping[str, int]) -> Layout:
        """The layout for events of a schema, by the plan of outputs over frames; QueryError where these are none."""
        bound = binds(events)
        if bound.in_rows or len(bound.axis.windows) > 1 or any(map(is_column, bound.window_inputs)):
            raise QueryError(f"frame is {frame}; expected a duration, such as '1 hour'")
        own = pa.schema([events.field(name) for name in bound.columns])
        return replace(cls.over(bound, own, KEPT, since), binds=binds)

    @classmethod
    def over(cls, plan: Plan, events: pa.Schema, inputs: Sequence[str], since: Mapping[str, int]) -> Layout:
        """The layout of the partials of a plan, with some window inputs beside its outputs."""
        kept, by = {name: window_input(name) for name in inputs}, plan.by
        keys = [plan.partials_schema.field(number) for number in range(len(by))]
        states = partials_schema(keys, named_states(kept, plan.outputs), until=False)
        if taken := sorted({*by} & {START, END, RUN, *states.names[len(by) :]} - {FRAME, BATCH_RANK}):
            raise QueryError(f"by= names {taken[0]!r}, the name of a column of stored partials; expected another")
        return cls(replace(plan, window_inputs=kept, partials_schema=states), events, since)

    def typed(self, schema: pa.Schema, earlier: Sequence[pa.Schema] = ()) -> Layout:
        """The layout for events of the same columns in other types."""
        assert self.binds is not None
        types = types_of(schema)
        own = pa.schema([each.with_type(types.get(each.name, each.type)) for each in self.events_schema])
        found = Layout.over(self.binds(own), own, KEPT, self.since)
        return replace(found, binds=self.binds, earlier=tuple(earlier))

    @cached_property
    def written(self) -> list[Layout]:
        """The layouts of files, by the numbers of their types; the last one is this one."""
        return [*map(self.typed, self.earlier), self]

    def as_of(self, commit: Commit) -> tuple[Layout, int]:
        """The layout that a table has after a commit once it has this one's types, too; the number of these in it.

        Raises
        ------
        EngineError
            If no type of a column holds the values of both.
        """
        if self.binds is None or not commit.filled:
            return self, len(self.earlier)
        schemas = commit.schemas
        there, own = types_of(schemas[-1]), types_of(self.events_schema)
        both = joined_types(schemas[-1], self.events_schema)
        if not is_wider(schemas[-1], both):
            return self, len(self.earlier)
        wide, same = types_of(both), [{**own, **types_of(each)} == own for each in schemas]
        if all(there.get(name, kind) == kind for name, kind in wide.items()):
            earlier = schemas[:-1]
        else:
            earlier = schemas
        if wide == own:
            number = len(earlier)
        elif True in same:
            number = same.index(True)
        else:  # others have made some other column wider meanwhile
            earlier = [*schemas, self.events_schema]
            number = len(schemas)
        if wide == own and types_of_all(earlier) == types_of_all(self.earlier):
            return self, number
        return self.typed(both, earlier), number

    def require_convertible(self, there: Layout) -> None:
        """EngineError where states in the files of a layout of narrower types cannot be made states of this one."""
        if there is self:
            return
        types = [types_of(each.events_schema) for each in (there, self)]
        for name, bound in self.plan.outputs.items():
            own, wide = ([of[column] for column in bound.columns] for of in types)
            if own != wide:
                require_convertible(there.plan.outputs[name], bound, own, wide)

    def widened(self, rows: pa.Table, there: Layout, names: Sequence[str]) -> pa.Table:
        """Some columns of rows that lie as a layout of narrower types has them; they have :meth:`needed` ones."""
        made: dict[str, pa.Array | pa.ChunkedArray] = {}
        partials = Partials(there.plan, rows)
        for name, columns in self._states_of(names).items():
            old, new = there.plan.states[name], self.plan.states[name]
            if not there.changes(self, name):
                made |= {column: rows.column(column) for column in columns}
                continue
            try:
                states = converted(old, new, partials.states(name))
            except OtherStatesError as error:
                raise self._not_held(there, old.columns) from error
            arrays = (plane for key, kind in new.fields.items() for plane in kind.to_arrow(states[key]))
            made |= dict(zip(columns, arrays, strict=True))
        schema = pa.schema([self.schema.field(name) for name in names])
        try:
            found = [made[name] if name in made else rows.column(name) for name in names]
            return pa.table([fitting(column, each.type) for column, each in zip(found, schema, strict=True)], schema)
        except pa.ArrowInvalid as error:
            raise self._not_held(there, self.plan.by) from error

    def needed(self, there: Layout, names: Sequence[str]) -> list[str]:
        """The columns of rows in a layout of narrower types that :meth:`widened` makes some columns of."""
        states = there._states_of(there.schema.names)
        of_states = [column for name in self._states_of(names) for column in states[name]]
        return [*(name for name in names if name in self.own), *of_states]

    def changes(self, other: Layout, name: str) -> bool:
        """Whether an output is of columns that have other types in another layout."""
        own, others = types_of(self.events_schema), types_of(other.events_schema)
        return name in self.plan.outputs and any(own[each] != others[each] for each in self.plan.states[name].columns)

    def _states_of(self, names: Sequence[str]) -> dict[str, list[str]]:
        """The columns of each state that has any of some columns."""
        columns = {name: [one for each in of.values() for one in each] for name, of in self.plan.state_columns.items()}
        return {name: of for name, of in columns.items() if not {*of}.isdisjoint(names)}

    def _not_held(self, there: Layout, columns: Sequence[str]) -> EngineError:
        """The error for values of a column that its wider type does not hold."""
        own, old = types_of(self.events_schema), types_of(there.events_schema)
        name = next((each for each in columns if own[each] != old[each]), columns[0])
        return EngineError(
            f"{SAID} the column {name!r} as {old[name]}, with values that {own[name]}, which the events need, does "
            f"not hold; expected it cast to {old[name]}, or another path"
        )

    @property
    def own(self) -> tuple[str, ...]:
        """The columns before those of states."""
        return (*self.plan.by, START, END, RUN)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a file."""
        plan = self.plan
        keys = [plan.partials_schema.field(number).with_name(name) for number, name in enumerate(plan.by)]
        others = {*plan.keys, FRAME, BATCH_RANK}
        planes = [field for field in plan.partials_schema if field.name not in others]
        bounds = [pa.field(name, plan.times.bound_type, False) for name in (START, END)]
        own = [*bounds, pa.field(RUN, pa.string(), False)]
        return pa.schema([*keys, *own, *planes])

    def wrong(self, found: pa.Table, schema: pa.Schema, rows: int) -> str:
        """What rows of a file should be, in words, as they are not; none where some columns are right."""
        if wrong := misfit(found, in_parquet(schema), self._never_null & {*schema.names}):
            return wrong
        if len(found) != rows:
            return "as many rows"
        if END in schema.names and (self.ends(found) <= self.starts(found)).any():
            return f"each {END} after {START}"
        return "an event in each" if len(schema) == len(self.schema) and (self.counts(found) < 1).any() else ""

    @cached_property
    def _never_null(self) -> set[str]:
        """The columns of which each row has a value."""
        return {START, END, RUN, *self.plan.full_columns} - {FRAME, BATCH_RANK}

    def rows(self, partials: Partials, run: str, bounds: tuple[Ints, Ints] | None = None) -> pa.Table:
        """Merged partials as rows of a table; their frames' bounds are those of the plan unless they are given."""
        table = partials.table
        bounds = bounds or self.plan.axis.windows[0].frame_bounds(partials.frames)
        assert bounds is not None
        columns = dict(zip((START, END), map(self.plan.times.bounds, bounds), strict=True))
        columns[RUN] = pa.array(np.full(len(table), run), pa.string())
        columns |= dict(zip(self.plan.by, table.columns, strict=False))
        schema = self.schema
        return pa.table([columns[name] if name in columns else table.column(name) for name in schema.names], schema)

    def starts(self, rows: pa.Table) -> Ints:
        """The first tick of the frame of each row."""
        return self.plan.times.ticks(one_array(rows.column(START)))

    def ends(self, rows: pa.Table) -> Ints:
        """The first tick after the frame of each row."""
        return self.plan.times.ticks(one_array(rows.column(END)))

    def counts(self, rows: pa.Table) -> Ints:
        """The number of events of each row."""
        (column,) = self.plan.state_columns[self.plan.input_state("rows")]["count"]
        return cast(Ints, one_array(rows.column(column)).to_numpy())

    def keys(self, rows: pa.Table) -> list[pa.Array]:
        """The key columns."""
        return [one_array(rows.column(name)) for name in self.plan.by]

    def in_frame(self, rows: pa.Table, frames: pa.Table) -> Bools:
        """Which rows have the key and the start of a frame of others."""
        keys = zip(self.keys(rows), self.keys(frames), strict=True)
        return matched(keys, self.starts(rows), self.starts(frames))

    def by_length(self, rows: pa.Table) -> Iterator[tuple[int, Partials]]:
        """Rows as merged partials, those of frames of one length after another, by the ticks at which these start."""
        starts, ends = self.starts(rows), self.ends(rows)
        for length in np.unique(ends - starts).tolist():
            mine = np.flatnonzero(ends - starts == length)
            yield length, merge(self._in_frames(rows.take(pa.array(mine)), self.plan, starts[mine], starts[mine]))

    def merged(self, rows: pa.Table, run: str) -> pa.Table:
        """Rows with one for each key and frame."""
        parts = (self.rows(each, run, (each.frames, each.frames + length)) for length, each in self.by_length(rows))
        return pa.concat_tables([rows[:0], *parts])

    def changed(self, rows: pa.Table, plan: Plan) -> tuple[list[pa.Array], Ints]:
        """The keys of rows, as partials of a query have them, and the ticks at which their frames start."""
        types = [plan.partials_schema.field(name).type for name in plan.keys]
        return list(map(fitting, self.keys(rows), types)), self.starts(rows)

    @property
    def after(self) -> int:
        """How many ticks after their start the first time in frames is: 1 where they are ``(start, end]``."""
        return after_start(self.plan.axis.windows[0])

    def word(self, tick: int) -> str:
        """The first tick of a frame as its bound, in words."""
        return self.plan.times.word(tick - self.after)

    def is_bound(self, tick: int) -> bool:
        """Whether a frame starts at a tick."""
        return self.begin(tick) == tick

    def begin(self, tick: int) -> int:
        """The start of the frame that a tick is in."""
        return int(self.bounds(np.array([tick]))[0][0])

    def bounds(self, ticks: Ints) -> tuple[Ints, Ints]:
        """The starts of the frames that ticks are in, and their ends."""
        bounds = self.plan.axis.windows[0].frame_bounds(self.plan.axis.frames(ticks, None)[0])
        assert bounds is not None
        return bounds

    def completed(self, rows: pa.Table, names: Sequence[str]) -> pa.Table:
        """Rows with the states of no events in some columns, if these are of outputs that were added after them."""
        added = [column for (name, _, _), column in planes_of(self.plan).items() if name in self.since]
        wanted = {*names} - {*rows.column_names}
        if not (missing := [name for name in added if name in wanted]):
            return rows
        keys = [pa.nulls(len(rows), self.plan.partials_schema.field(name).type) for name in self.plan.keys]
        none = Partials.without_events(self.plan, keys, np.zeros(len(rows), np.int64)).table
        for name in missing:
            rows = rows.append_column(self.schema.field(name), none.column(name))
        return rows

    def days(self, rows: pa.Table) -> Ints | None:
        """The day, since the epoch, on which the frame of each row starts; None where times are plain numbers."""
        type = self.plan.times.bound_type
        if pa.types.is_integer(type):
            return None
        starts = self.starts(rows)
        return starts if pa.types.is_date(type) else starts // DAY

    def columns(self, plan: Plan) -> list[str]:
        """The columns that :meth:`partials` reads, in their order."""
        needed = {*self.plan.by, START, END, *self._stored(plan).values()}
        return [name for name in self.schema.names if name in needed]

    def partials(
        self, rows: pa.Table, plan: Plan, together: Together | None = None, in_frames: bool = True
    ) -> Partials:
        """Rows of a table as partials of a query over the same events, in the frames of its windows.

        Parameters
        ----------
        rows
            With the :meth:`columns` at least.
        plan
            The query.
        together
            Has frames that are no shorter than the windows that are wanted need; see :meth:`Asked.together`.
        in_frames
            Whether each row has to be inside one frame of the query; else ``together`` has the frames.

        Raises
        ------
        QueryError
            If a stored frame is not inside one frame of the query.
        """
        starts, ends = self.starts(rows), self.ends(rows)
        runs = np.flatnonzero(differs(starts, ends)) if len(starts) else np.empty(0, np.intp)
        frames, inside = frames_of(plan, starts[runs], ends[runs], self.plan) if in_frames else (starts[runs], None)
        if together is not None and (found := together(starts[runs])) is not None:
            frames, inside = plan.axis.frames(found[0], None)[0], found[1]
        lengths = np.diff(runs, append=len(starts))
        frames, inside = np.repeat(frames, lengths), None if inside is None else np.repeat(inside, lengths)
        partials = self._in_frames(rows, plan, frames, starts)
        if inside is not None and not inside.all():
            return Partials(plan, partials.table.filter(pa.array(inside)))
        return partials

    def _in_frames(self, rows: pa.Table, plan: Plan, frames: Ints, starts: Ints) -> Partials:
        """Rows as partials of a query in frames of its own."""
        own = {column: rows.column(name) for column, name in zip(plan.keys, self.plan.by, strict=True)}
        # Those of one frame are combined in the order of their times, as events are.
        own |= {FRAME: pa.array(frames), BATCH_RANK: pa.array(starts if plan.ordered else zeros(len(starts)))}
        own |= {column: rows.column(name) for column, name in self._stored(plan).items()}
        own |= {column: pa.array(starts) for column in plan.partials_schema.names if column not in own}
        schema = plan.partials_schema
        table = pa.Table.from_arrays([fitting(own[each.name], each.type) for each in schema], schema=schema)
        return Partials(plan, table)

    def _stored(self, plan: Plan) -> dict[str, str]:
        """The column of a table that is each of a query's planes, but for first ticks where any of a frame will do."""
        exact = "last" in plan.window_inputs or any(  # a stream that asks for last needs first, too
            "first" in each.window_inputs | each.stream_inputs for each in plan.axis.windows
        )
        any_will_do = not exact and tuple(plan.window_inputs) != KEPT
        left_out = self.plan.input_state("first") if any_will_do else None
        of, stored = {name: self._state_of(plan, name) for name in plan.states}, planes_of(self.plan)
        return {
            column: stored[of[name], key, plane]
            for (name, key, plane), column in planes_of(plan).items()
            if of[name] != left_out
        }

    def _state_of(self, plan: Plan, name: str) -> str:
        """The name among the stored states of a state of a query."""
        for own in plan.window_inputs:
            if plan.input_state(own) == name:
                if own not in KEPT:
                    raise QueryError(
                        "min_samples= asks for the number of samples of each output, which stored partials lack; "
                        "expected ff.Count() among the outputs, and the windows without it"
                    )
                return self.plan.input_state(own)
        if not plan.cells:
            return name
        spec = plan.outputs[name].spec  # of a column beside others, such as one of several over it
        return next(own for own, bound in self.plan.outputs.items() if bound.spec.is_alike(spec))


def types_of_all(schemas: Iterable[pa.Schema]) -> list[dict[str, pa.DataType]]:
    """The types of columns of several schemas."""
    return [*map(types_of, schemas)]


def planes_of(plan: Plan) -> dict[tuple[str, str, str], str]:
    """The columns of the states of a plan, by the name of each state, its field, and the plane of that."""
    return {
        (name, key, plane): column
        for name, fields in plan.state_columns.items()
        for key, columns in fields.items()
        for plane, column in zip(plan.states[name].fields[key].planes, columns, strict=True)
    }


@lru_cache
def in_parquet(schema: pa.Schema) -> pa.Schema:
    """The columns of a file that a table of some columns is written to: some types have other names there."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    return pq.read_schema(pa.BufferReader(sink.getvalue()))


def after_start(windows: Windows) -> int:
    """How many ticks after its start the first time in a window is."""
    return int(getattr(windows, "closed", "left") in ("right", "neither"))


def after_end(windows: Windows) -> int:
    """How many ticks after its end the first time after a window is."""
    return int(getattr(windows, "closed", "left") in ("right", "both"))


def frames_of(plan: Plan, starts: Ints, ends: Ints, own: Plan | None = None) -> tuple[Ints, Bools | None]:
    """The frame of a query that each stored frame is in, and which are in any window (None: all).

    ``own`` is what frames were stored by, where some may be longer by now.

    Raises
    ------
    QueryError
        If a stored frame is not in one frame of the query.
    """
    if plan.in_rows:
        raise QueryError(f"{plan.axis.windows[0].named} are of single events, and partials of frames; {EXPECTED}")
    for windows in plan.axis.windows:
        cut = np.flatnonzero(windows.cuts(starts, ends))
        if len(cut):
            first, beyond = int(starts[cut[0]]), int(ends[cut[0]])
            found = f"from {plan.times.word(first)} to {plan.times.word(beyond)}"
            if own is not None and np.ptp(own.axis.frames(np.array([first, beyond - 1]), None)[0]):
                raise QueryError(
                    f"{windows.named} cut in two the frame {found}, which coarsen() has made of shorter ones; expected "
                    "windows that begin and end where stored frames do, or later ones only: .ending(after)"
                )
            raise QueryError(f"{windows.named} cut the stored frame {found} in two; {EXPECTED}{wanted(plan)}")
    return plan.axis.frames(starts, None)


def wanted(plan: Plan) -> str:
    """Which frames windows can be put together from, in words; none where their frames are not at constant steps."""
    steps = [each.numberings for each in plan.axis.windows]
    if any(each is None for each in steps):
        return ""
    numbers = [number for each in steps for of in each or () for number in (of.origin % of.width, of.width, of.first)]
    return f", here such as of {describe(math.gcd(*numbers), plan.times.type)}"
