"""A plan: a query bound to the schema of its events. It has what is computed, not how.

All its windows share one axis: time, or the rows of each key, cut into frames.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ...aggregators.contract.aggregate import Bindable
from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.parameters import parameters_of
from ...aggregators.errors import ColumnError
from ...aggregators.states.arrays import Bools, Ints
from ...aggregators.states.categories import Categories
from ...aggregators.states.large import take
from ...aggregators.states.objects import HeldObjects, Objects
from ..columns.key_codes import edges
from ..columns.ticks import TimeColumn
from ..frames.own_frames import OwnFrames
from ..frames.partials_view import PartialsView, is_column
from ..frames.window_ranges import Coverage, Ranges
from ..frames.windows import Windows
from .cells import Cell, Taken
from .window_inputs import Earliest, own_name

FRAME, BATCH_RANK, UNTIL = "frame", "batch_rank", "until"
"""Columns of partials beside keys and states: the frame, the rank of its batch, the last frame of interval events."""

MOST_FRAMES = 1 << 62
"""Numbers of frames are below this, on either side of zero, where several kinds of windows share them."""


@dataclass(frozen=True)
class Axis:
    """The windows of a plan on one axis.

    With several kinds of windows, frames are cut wherever any kind cuts them: the number of a shared frame is the sum
    of the numbers of each kind, which changes exactly where one of these does, because none ever falls. Each kind finds
    its own frames by the first event of every partial. Where all kinds cut the same frames, these are as they are.
    """

    windows: tuple[Windows, ...]
    intervals: bool = False
    in_order: bool = False
    beside: Literal["event", "label", "step"] | None = None
    """What results are beside, row by row: the events, the table that windows are from, or steps of time for each key.

    None: rows of their own."""

    @property
    def each_row(self) -> bool:
        """Whether every row is a frame: interval events overlap, and may have to be combined in their order."""
        return self.intervals and self.in_order

    @cached_property
    def unit(self) -> str:
        """What frames are cut from: ``"rows"`` if any windows are counted in rows, else ``"time"``."""
        return "rows" if self.each_row or any(each.unit == "rows" for each in self.windows) else "time"

    @cached_property
    def alike(self) -> bool:
        """Whether all kinds have the frames of the first one; if results have rows of their own, only if it is alone.

        Streams give such results, and have stored partials by the sum of frames.
        """
        others = self.windows[1:]
        return not others or (self.beside is not None and all(map(self.windows[0].cuts_as, others)))

    @cached_property
    def window_inputs(self) -> tuple[str, ...]:
        """What the windows need of every partial."""
        window_inputs = {name for each in self.windows for name in each.window_inputs}
        if not self.alike:
            window_inputs |= {"first", *(["rank"] if self.unit == "rows" else [])}
        if self.intervals:
            window_inputs |= {"first", "until"}
        return tuple(sorted(window_inputs))

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that windows need."""
        return tuple(dict.fromkeys(column for each in self.windows for column in each.columns))

    @property
    def block(self) -> tuple[int, int] | None:
        """(origin, width) in ticks: no frame straddles two of ``(ticks - origin) // width``; None: unknown."""
        return next((each.block for each in self.windows if each.block is not None), None)

    @property
    def row_span(self) -> tuple[int, int] | None:
        """(lookback, lookahead): how many rows before and after its own a window takes in; None: any number."""
        spans = [each.row_span for each in self.windows if each.row_span is not None]
        if len(spans) < len(self.windows):
            return None
        return max(before for before, _ in spans), max(after for _, after in spans)

    @cached_property
    def fill_frames(self) -> tuple[int | None, int | None] | None:
        """The frames that windows are filled from and to; None where they are not. A time in a gap is of none."""
        fill = self.windows[0].fill
        if fill is None:
            return None
        found: list[int | None] = []
        for tick, beside in ((fill.first, 1), (fill.last, -1)):
            frames, inside = self.windows[0].frames(np.array([tick or 0]), None)
            within = inside is None or bool(inside[0])
            found.append(None if tick is None else int(frames[0]) + (0 if within else beside))
        return found[0], found[1]

    @cached_property
    def keeps_gaps(self) -> bool:
        """Whether events in no window count for their keys, which have windows wherever their events are."""
        fills = [each.fill for each in self.windows if each.fill is not None and each.left_out is not None]
        return any(None not in (fill.first, fill.last) for fill in fills)

    @property
    def before_all(self) -> int:
        """The frame of partials without events, for keys that windows bring themselves: before all others."""
        if not self.alike:
            return -MOST_FRAMES
        return self.windows[0].before_all if self.fill_frames is None else self.fill_frames[0] or 0

    @property
    def stamped(self) -> bool:
        """Whether results of any of the windows have a time ``at``."""
        return any(each.stamp != "interval" for each in self.windows)

    def frames(self, ticks: Ints, ranks: Ints | None) -> tuple[Ints, Bools | None]:
        """The frame of each event, and which events count: those in any window (None: all)."""
        if self.each_row:
            assert ranks is not None
            return ranks, None
        frames, inside = self.windows[0].frames(ticks, ranks)
        others = self.windows[1:]
        some = np.array(edges(ticks) if len(ticks) and others and self.alike else [], np.int64)
        for each in others:
            if self.alike:  # which only looks whether windows leave the range of their bounds
                each.frames(some, None if ranks is None else ranks[: len(some)])
                continue
            more, also = each.frames(ticks, ranks)
            if len(frames) and max(map(abs, edges(frames))) + max(map(abs, edges(more))) >= MOST_FRAMES:
                raise ColumnError(
                    f"the times {each.time.name!r} are too large for several windows in one pass; expected times "
                    "nearer to zero, or a query for each"
                )
            frames = frames + more
            inside = None if inside is None or also is None else inside | also
        return frames, None if self.keeps_gaps or self.beside == "event" else inside

    @cached_property
    def own_frames(self) -> OwnFrames | None:
        """The frames of each key by itself; None where all keys have the same.

        They are of results beside labels only: streams keep partials for more windows than these.
        """
        return OwnFrames.of(self.windows) if self.beside == "label" and self.alike and not self.intervals else None

    def frames_unchecked(self, ticks: Ints) -> Ints:
        """The frames of times between two that :meth:`frames` has checked."""
        return self.windows[0].frames_unchecked(ticks) if self.alike else self.frames(ticks, None)[0]

    def views(self, view: PartialsView) -> list[PartialsView]:
        """Partials as each kind of windows sees them: in its own frames, the windows of each row numbered."""
        if self.intervals:
            return [view for _ in self.windows]
        view = replace(view, untimed=self.beside in ("event", "label"))
        views = [view for _ in self.windows]
        if not self.alike or (len(self.windows) == 1 and self.beside == "event"):
            inputs = view.window_inputs
            # Where a single kind has no use for them, its frames are ticks, or row numbers.
            ticks, ranks = (inputs.get(name, view.frames) for name in ("first", "rank"))
            filled = inputs["rows"] > 0 if "rows" in inputs else np.ones(len(view.frames), bool)
            if not filled.all():  # partials without events are for given windows only, and before all others
                next_filled = np.where(filled, np.arange(len(filled)), len(filled) - 1)
                next_filled = np.minimum.accumulate(next_filled[::-1])[::-1]
                ticks, ranks = (np.where(filled[next_filled], each[next_filled], 0) for each in (ticks, ranks))
            views = []
            for each in self.windows:
                frames, inside = each.frames(ticks, ranks)
                if not filled.all():
                    if not each.given:
                        inside = filled if inside is None else inside & filled
                    else:
                        frames, inside = np.where(filled, frames, -1), None if inside is None else inside | ~filled
                views.append(replace(view, frames=frames, inside=None if inside is None or inside.all() else inside))
        for at, (each, own) in enumerate(zip(self.windows, views, strict=True)):
            if at and self.alike and each.same_rows(self.windows[0]):
                views[at] = views[0]  # the same one, which all of them look into
            else:
                ids, given = each.window_ids(own), each.rows_given(own)
                views[at] = own if ids is None and given is None else replace(own, ids=ids, given=given)
        return views

    def ranges(self, number: int, view: PartialsView) -> Ranges | Coverage:
        """The windows of one kind over its view of partials; only the numbers ``within``, if given."""
        windows = self.windows[number]
        if view.inside is None or view.inside.all():
            found = windows.ranges(view)
        else:  # partials that are in no window of this kind must not be in the midst of one
            rows = np.flatnonzero(view.inside)
            found = windows.ranges(view.only(rows)).among(rows, len(view.frames))
        if view.within is not None and windows.frame_span is not None:  # of one key: windows are in the order of frames
            assert isinstance(found, Ranges)
            first, last = view.within
            own = np.searchsorted(view.frames, first), np.searchsorted(view.frames, last, side="right")
            found = found.where(slice(*np.searchsorted(found.row, own)))
        return found if (windows.emit, windows.stamp) == ("every", "interval") else windows.emitted(found, view)

    def describe_frames(self) -> str:
        """How the axis is cut, in words."""
        if len(self.windows) == 1:
            return self.windows[0].describe_frames()
        cuts = "; ".join(dict.fromkeys(each.describe_frames() for each in self.windows))
        return f"cut wherever any of {len(self.windows)} kinds of windows is, and shared by them: {cuts}"


@dataclass(frozen=True)
class Plan:
    """The result of :func:`~framefold.runtime.plan.bind.bind`; it can be pickled and sent to executors.

    Attributes
    ----------
    ties
        The columns that order events of one time.
    axis
        The windows, on one axis.
    window_inputs
        What the windows need of every partial, by the windows' names for it.
    until
        The column of the ends of interval events.
    longest
        The longest life of interval events, in ticks; None for any length.
    over
        The windows of each output, by their numbers on the axis.
    cells
        What each column beside rows is made of; nothing where results have rows of their own, with a column an output.
    samples
        For each output over windows with ``min_samples``, the window input that counts its events.
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
    cells: dict[str, Cell]
    samples: dict[str, str]
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
        """The columns of the events that are read: time, end, keys, ties, inputs of windows and operations."""
        names: list[str] = self.input_schema.names
        return names[:-1] if self.in_rows else names

    @cached_property
    def columns_computed(self) -> dict[str, BoundAggregate]:
        """What computes each column of a result, but those of keys and windows."""
        return columns_computed(self.outputs, self.cells)

    @property
    def result_keys(self) -> tuple[str, ...]:
        """The key columns of a result, its first ones: none where it is beside rows that have them."""
        return self.by if self.axis.beside in (None, "step") else ()

    @property
    def rank(self) -> str:
        """The column of row numbers, which an engine adds to the events where windows are counted in rows."""
        assert self.in_rows
        return str(self.input_schema.names[-1])

    @property
    def events_schema(self) -> pa.Schema:
        """The schema of these columns."""
        return pa.schema([self.input_schema.field(name) for name in self.columns])

    @property
    def keys(self) -> list[str]:
        """The names of the key columns in partials."""
        return list(self.partials_schema.names[: len(self.by)])

    def values_of_key(self, number: int, column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """A key column of partials as one of the result: categories where it has codes of them."""
        at = self.input_schema.get_field_index(self.by[number])
        type = None if at < 0 else self.input_schema.field(at).type
        return take(type.values, column) if isinstance(type, Categories) else column

    @cached_property
    def full_columns(self) -> frozenset[str]:
        """The columns of partials, beside keys, that have a value in each row: those of integers and booleans."""
        full = (pa.types.is_integer, pa.types.is_boolean)
        fields = [self.partials_schema.field(at) for at in range(len(self.by), len(self.partials_schema))]
        return frozenset(each.name for each in fields if any(of(each.type) for of in full))

    @cached_property
    def only_library_code(self) -> bool:
        """Whether no function of a user's is called, which may not be fit for several threads."""
        return all(is_library_code(bound.operation) for bound in self.columns_computed.values())

    @cached_property
    def states(self) -> dict[str, BoundAggregate]:
        """The aggregates with a state in partials: window inputs and outputs."""
        return named_states(self.window_inputs, self.outputs)

    @cached_property
    def state_columns(self) -> dict[str, dict[str, list[str]]]:
        """The columns of partials that hold each field of each state."""
        return state_columns(self.states)

    def input_state(self, window_input: str) -> str:
        """The name of a window input among the states."""
        return list(self.states)[list(self.window_inputs).index(window_input)]

    @cached_property
    def inputs(self) -> set[str]:
        """The columns that times, ends and states are made from; row numbers are not among them."""
        of_events = [bound for bound in self.states.values() if not isinstance(bound.spec, Earliest)]
        names = {self.time, *(column for bound in of_events for column in bound.columns)}
        return names if self.until is None else names | {self.until.name}

    @property
    def clips(self) -> bool:
        """Whether some output is of lifetimes, clipped to each window."""
        return self.until is not None and any(bound.spec.of_lifetimes for bound in self.outputs.values())

    @property
    def why_all_end(self) -> str | None:
        """Why interval events must all have an end, in words; None where a null may stand for never."""
        if self.longest is not None:
            return None
        if (without := next((each.named for each in self.axis.windows if not each.endless), None)) is not None:
            return f"are in {without} for ever"
        lasting = next((bound for bound in self.outputs.values() if bound.spec.of_lifetimes), None)
        return None if lasting is None else f"{lasting.spec!r} is of how long they last"

    @cached_property
    def filled(self) -> dict[str, str]:
        """How outputs are filled, by the names of those that are."""
        return {name: bound.spec.filling for name, bound in self.outputs.items() if bound.spec.filling is not None}

    @cached_property
    def apart(self) -> list[int]:
        """A number for each kind of windows: kinds with other ones have rows of their own, at whatever bounds.

        Their windows have another end, lack rows in their midst, or are null below another number of samples for an
        output that is over both.
        """
        kinds = self.axis.windows
        samples = any(len({kinds[number].min_samples for number in over}) > 1 for over in self.over.values())
        told = [
            (each.closed, number if each.runs else None, each.min_samples if samples else 0)
            for number, each in enumerate(kinds)
        ]
        return list(map(list(dict.fromkeys(told)).index, told))

    @property
    def in_rows(self) -> bool:
        """Whether the events must come with their row numbers in :attr:`rank`, sorted by key and row."""
        return self.axis.unit == "rows"

    @property
    def ordered(self) -> bool:
        """Whether some operation needs all events of one (key, frame) together and in time order."""
        return bool(self.ties) or not all(bound.commutative for bound in self.outputs.values())


def columns_computed(outputs: dict[str, BoundAggregate], cells: Mapping[str, Cell]) -> dict[str, BoundAggregate]:
    """What computes each column of a result, but those of keys and windows."""
    made = {name: outputs[of.output] if isinstance(of, Taken) else of.operation for name, of in cells.items()}
    return made or outputs


def in_this_process(plan: Plan) -> Plan:
    """The plan for stages in one process: states that are Python objects are held as they are, and not pickled."""
    return _of_pickles(plan, HeldObjects)


def trusting(plan: Plan) -> Plan:
    """The plan for stages that read pickles: those that its own tasks have made, or of a checkpoint that is trusted."""
    return _of_pickles(plan, lambda: Objects(trusted=True))


def pickled_outputs(plan: Plan) -> list[str]:
    """The outputs whose states are Python objects, wholly or in part."""
    return [name for name, bound in plan.outputs.items() if any(kind.pickles for kind in bound.fields.values())]


def with_states(plan: Plan, **changed: Any) -> Plan:
    """A plan with other window inputs, outputs or the like, and the partials of these."""
    plan = replace(plan, **changed)
    keys = [plan.partials_schema.field(number) for number in range(len(plan.by))]
    return replace(plan, partials_schema=partials_schema(keys, plan.states, plan.until is not None))


def _of_pickles(plan: Plan, change: Callable[[], Objects]) -> Plan:
    if not pickled_outputs(plan):
        return plan
    outputs = {name: copy.copy(bound) for name, bound in plan.outputs.items()}
    for bound in outputs.values():
        bound.fields = {key: kind.of_pickles(change) for key, kind in bound.fields.items()}
    return with_states(plan, outputs=outputs)


def fingerprint(plan: Plan) -> dict[str, Any]:
    """What must be the same whenever states are used that are kept, in a checkpoint or at rest, as text."""
    states = {
        name: {key: [str(each) for each in kind.planes.values()] for key, kind in bound.fields.items()}
        for name, bound in plan.states.items()
    }
    return {
        "time": f"{plan.time} ({plan.times.type})",
        "by": [f"{field.name} ({field.type})" for field in plan.partials_schema][: len(plan.by)],
        "windows": [each.describe() for each in plan.axis.windows],
        PHASES: [each.phase for each in plan.axis.windows],
        "outputs": {name: str(bound.operation) for name, bound in plan.outputs.items()},
        "states": states,
        "columns": [f"{field.name} ({field.type})" for field in plan.events_schema],
        PARAMETERS: {name: parameters_of(bound.spec) for name, bound in plan.outputs.items()},
    }


PARAMETERS, PHASES = "parameters", "steps"
"""Of the outputs and of the windows in a fingerprint; what was kept before there was a release says nothing of them."""


def differing(there: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What is not the same in the fingerprint of kept states and in that of a query."""
    pairs = {name: (there.get(name), asked.get(name)) for name in {**asked, **there}}
    return {
        name: (old, new)
        for name, (old, new) in pairs.items()
        if old != new and (name not in (PARAMETERS, PHASES) or name in there)
    }


def changes(other: Mapping[str, tuple[Any, Any]]) -> str:
    """What :func:`differing` gives, in words; of states nothing where the query says enough, as they follow from it.

    >>> changes({"outputs": ({"n": "Count()"}, {"n": "Count()", "top": "Max('x')"})})
    'outputs: top is new'
    >>> changes({"by": (["k (string)"], []), "states": ({}, {"n": {}})})
    "by ['k (string)'] became []"
    """
    first = {
        name: pair for name, pair in other.items() if name in ("time", "by", "windows", PHASES, "outputs", "shards")
    }
    return "; ".join(change(name, *pair) for name, pair in (first or other).items())


def change(name: str, old: Any, new: Any) -> str:
    """What has become of a value, or of the values that it has by their names."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return f"{name} {old!r} became {new!r}"
    said = [f"{each} is new" for each in new if each not in old]
    said += [f"{each} is gone" for each in old if each not in new]
    said += [f"{each} {old[each]} became {new[each]}" for each in new if each in old and old[each] != new[each]]
    return f"{name}: {', '.join(said)}"


def with_key(plan: Plan, name: str) -> Plan:
    """A plan of partials with one more key, the last, of integers; it gets underscores where its name is taken."""
    while name in plan.partials_schema.names or name in plan.result_schema.names:
        name += "_"
    field, place = pa.field(name, pa.int64()), len(plan.by)
    return replace(
        plan,
        by=(*plan.by, name),
        partials_schema=plan.partials_schema.insert(place, field),
        result_schema=plan.result_schema.insert(place, field),
    )


def with_keys_numbered(plan: Plan) -> Plan:
    """A plan of the same events, sorted and with the number of each one's key in the place of keys and ties."""
    kept = [field for field in plan.input_schema if field.name in plan.inputs]
    key = pa.field(own_name("#key", plan.input_schema.names), pa.int64())
    schema = pa.schema([key, *kept, *([plan.input_schema.field(plan.rank)] if plan.in_rows else [])])
    states = partials_schema([key], plan.states, plan.until is not None)
    return replace(plan, by=(key.name,), ties=(), input_schema=schema, partials_schema=states)


def named_states(
    window_inputs: Mapping[str, BoundAggregate], outputs: Mapping[str, BoundAggregate]
) -> dict[str, BoundAggregate]:
    """The aggregates with a state, window inputs first: these get a ``#``, and more where an output has such a name."""
    found: dict[str, BoundAggregate] = {}
    for window_input, bound in window_inputs.items():
        name = own_name(window_input if is_column(window_input) else f"#{window_input}", [*outputs, *found])
        found[name] = bound
    return found | dict(outputs)


def state_columns(states: Mapping[str, BoundAggregate]) -> dict[str, dict[str, list[str]]]:
    """The columns of partials that hold each field of each state; with trailing underscores where one has the name."""
    taken = {FRAME, BATCH_RANK, UNTIL}
    found: dict[str, dict[str, list[str]]] = {}
    for output, bound in states.items():
        found[output] = {}
        for key, kind in bound.fields.items():
            found[output][key] = columns = []
            for plane in kind.planes:
                name = ".".join(filter(None, (output, key, plane)))
                while name in taken:
                    name += "_"
                taken.add(name)
                columns.append(name)
    return found


def partials_schema(keys: Sequence[pa.Field], states: Mapping[str, BoundAggregate], until: bool) -> pa.Schema:
    """The schema of partials: keys, :data:`FRAME`, :data:`BATCH_RANK`, :data:`UNTIL` if any, columns of states.

    Keys with the name of another of these columns get trailing underscores.
    """
    planes = [
        pa.field(name, type)
        for output, fields in state_columns(states).items()
        for key, names in fields.items()
        for name, type in zip(names, states[output].fields[key].planes.values(), strict=True)
    ]
    taken = {FRAME, BATCH_RANK, UNTIL, *(plane.name for plane in planes)}
    renamed = []
    for key in keys:
        while key.name in taken:
            key = key.with_name(f"{key.name}_")
        renamed.append(key)
        taken.add(key.name)
    numbers = [pa.field(name, pa.int64(), False) for name in (FRAME, BATCH_RANK, *([UNTIL] if until else []))]
    return pa.schema([*renamed, *numbers, *planes])


def is_library_code(value: Any) -> bool:
    """Whether an operation, or what it is made of, calls no function of a user's."""
    if value is None or isinstance(value, (str, int, float, pa.DataType)):
        return True
    if isinstance(value, BoundAggregate):
        return is_library_code(value.operation)
    if isinstance(value, Bindable):
        return not value.from_user and _from_a_library(type(value)) and is_library_code(vars(value))
    if isinstance(value, Mapping):
        return all(map(is_library_code, value.values()))
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return all(map(is_library_code, value))
    if isinstance(value, type) or not callable(value):
        return True
    return _from_a_library(value) and is_library_code(getattr(value, "__dict__", {}))


def _from_a_library(value: Any) -> bool:
    if isinstance(value, np.ufunc) and not any(set(types) - set("O->") for types in value.types):
        return False  # what np.frompyfunc makes of any function
    module = getattr(value, "__module__", None) or type(value).__module__
    return module.partition(".")[0] in (__package__.partition(".")[0], "numpy", "pyarrow")
