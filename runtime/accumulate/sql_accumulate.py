"""Partials that a database makes, which groups the events by SQL.

Events come in under plain names: ``c0``, ``c1``, ... for ``plan.columns``, and ``ticks``. Steps are computed as ``v0``,
``v1``, .... Each group has the keys ``k0``, ..., ``frame``, the steps that divide it further, and the aggregates
``a0``, .... The text is Spark's SQL, with no name of a user's in it: Spark replaces ``${...}`` in all that it parses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.contract.operation import State
from ...aggregators.contract.sql_spec import PLACEHOLDER, ROW_LIMIT, SMALL_ROW_LIMIT, SqlSpec, put
from ...aggregators.errors import EngineError, NullTimeError
from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import one_array
from ..columns.plain import normalised, plain
from ..columns.ticks import LIMIT, null_times
from ..frames.windows import Numbering
from ..partials.partials import Partials
from ..plan.plan import Plan

TICKS, FRAME = "ticks", "frame"
ROWS = "count(*)"
SUBGROUP_BITS = 12
"""The bits of a step that divides groups further."""


class TooManyRows(EngineError):
    """There are more events of one key and frame than a database sums exactly."""


def why_not(plan: Plan) -> str | None:
    """Why a database cannot make the partials of a plan; None where it can."""
    if plan.in_rows:
        return "the windows are counted in rows"
    if plan.until is not None:
        return "the events have an end"
    if plan.ordered:
        return "the order of events matters to an operation"
    for each in plan.axis.windows:
        if each.fill is not None and each.fill.keys is not None:
            return "windows are given for keys without an event, too"
        if each.numberings is None:
            return f"SQL has no simple number for the frames of {each.describe()}"
    found = numberings(plan)
    if (len(found) > 1 or found[0].first) and most_frames(plan) > LIMIT // 2:
        return "the steps of the windows are so short that the numbers of frames may not fit"
    for name, bound in plan.outputs.items():
        if bound.sql_spec is None:
            return f"{name}={bound.spec!r} is not made of SQL aggregates"
    return None


def numberings(plan: Plan) -> list[Numbering]:
    """How the frames of a plan are numbered."""
    return [by for each in plan.axis.windows for by in each.numberings or ()]


def most_frames(plan: Plan) -> int:
    """The bound of the magnitudes of frame numbers."""
    limit = 1 << 31 if pa.types.is_date(plan.times.type) else LIMIT
    return sum(parts(by) * (limit // by.width + 2) for by in numberings(plan))


def parts(by: Numbering) -> int:
    """The number of frames in a step."""
    return 2 if by.first else 1


def step(by: Numbering) -> str:
    """The step of a tick, rounded down, without intermediate overflow."""
    start, whole = by.origin % by.width, by.origin // by.width
    if not start and not whole:
        return f"if({TICKS} < 0, ({TICKS} + 1) div {by.width} - 1, {TICKS} div {by.width})"
    below = [f"if({TICKS} % {by.width} < 0, 1, 0)"] if by.width > 1 else []
    below += [f"if(pmod({TICKS}, {by.width}) < {start}, 1, 0)"] if start else []
    below += [f"({whole})"] if whole else []
    return " - ".join([f"{TICKS} div {by.width}", *below])


def frame(by: Numbering) -> str:
    """The frame of a tick by one numbering."""
    return f"2 * ({step(by)}) + if({second(by)}, 1, 0)" if by.first else step(by)


def second(by: Numbering) -> str:
    """Whether a tick is in the second part of its step."""
    start = by.origin % by.width
    into = f"pmod({TICKS}, {by.width})" if not start else f"pmod(pmod({TICKS}, {by.width}) - {start}, {by.width})"
    return f"{into} >= {by.first}"


@dataclass
class SqlAccumulate:
    """The SQL that makes the partials of a plan for which :func:`why_not` is None."""

    plan: Plan
    small_counts: bool = False
    """Whether at most ``SMALL_ROW_LIMIT`` events are expected per key and frame, which makes sums cheaper."""
    steps: list[dict[str, str]] = field(default_factory=list)
    """Expressions for each event by name, in stages: the first of the events' columns, later ones of earlier ones."""
    subgroup_by: list[str] = field(default_factory=list)
    """The steps that divide the events of one key and frame further."""
    aggregates: dict[str, str] = field(default_factory=dict)
    """The aggregates of each group by name."""

    def __post_init__(self) -> None:
        self._inputs = {name: f"c{place}" for place, name in enumerate(self.plan.columns)}
        self._names: dict[str, str] = {}
        self._depths: dict[str, int] = {TICKS: 0}
        self._planes: dict[str, dict[str, str]] = {}
        self.rows = self._aggregate(ROWS)
        for output, bound in self.plan.states.items():
            spec = bound.sql_spec
            assert spec is not None
            variant = spec.small_count_variant if self.small_counts else None
            self._planes[output] = self._add(variant or spec, bound.columns)

    def _add(self, spec: SqlSpec, columns: Sequence[str]) -> dict[str, str]:
        """The columns of the groups that one operation reads. Equal texts are computed once."""
        names = {TICKS: TICKS}
        names |= {str(place): self._inputs[name] for place, name in enumerate(columns)}
        for name, text in spec.steps.items():
            used = [names[word] for word in PLACEHOLDER.findall(text)]
            depth = 1 + max((self._depths.get(each, -1) for each in used), default=-1)
            names[name] = self._step(put(text, names), depth)
        self.subgroup_by += [names[name] for name in spec.subgroup_by if names[name] not in self.subgroup_by]
        planes = {name: self._aggregate(put(text, names)) for name, text in spec.aggregates.items()}
        return planes | {name: names[name] for name in spec.subgroup_by}

    def _step(self, text: str, depth: int) -> str:
        if text not in self._names:
            name = f"v{len(self._depths) - 1}"
            self._names[text], self._depths[name] = name, depth
            self.steps += [{} for _ in range(depth + 1 - len(self.steps))]
            self.steps[depth][name] = text
        return self._names[text]

    def _aggregate(self, text: str) -> str:
        if text not in self._names:
            self._names[text] = f"a{len(self.aggregates)}"
            self.aggregates[self._names[text]] = text
        return self._names[text]

    @cached_property
    def in_frame(self) -> list[str]:
        """The columns of ``subgroup_by`` that are packed with the frame: grouping by fewer columns is faster."""
        room = (LIMIT // most_frames(self.plan)).bit_length() - 1
        return self.subgroup_by[: max(room - 1, 0) // SUBGROUP_BITS]

    @cached_property
    def groups(self) -> dict[str, str]:
        """The expressions to group by besides the keys, by name."""
        number = " + ".join(f"({frame(by)})" for by in numberings(self.plan))
        for name in self.in_frame:
            number = f"({number}) * {1 << SUBGROUP_BITS} + ({name} + {1 << SUBGROUP_BITS - 1})"
        return {FRAME: number, **{name: name for name in self.subgroup_by if name not in self.in_frame}}

    def _unpack(self, numbers: Ints) -> dict[str, Ints]:
        """The frame and the steps that are packed with it."""
        found = {}
        for name in reversed(self.in_frame):
            found[name] = (numbers & ((1 << SUBGROUP_BITS) - 1)) - (1 << SUBGROUP_BITS - 1)
            numbers = numbers >> SUBGROUP_BITS
        return {FRAME: numbers, **found}

    @cached_property
    def inside(self) -> str | None:
        """Whether a tick is in any window; None where all are, or those in none count for their keys."""
        found = numberings(self.plan)
        if self.plan.axis.keeps_gaps:
            return None
        return None if any(by.second for by in found) else " or ".join(f"not ({second(by)})" for by in found)

    def partials(self, groups: pa.Table) -> Partials:
        """Groups as partials, to be merged where there are several of one key and frame.

        Raises
        ------
        NullTimeError
            If there is an event without a time.
        TooManyRows
            If a frame has more events than its sums are exact for.
        """
        plan = self.plan
        if groups.column(FRAME).null_count:
            if plan.null_time == "error":
                raise NullTimeError(null_times(plan.time, *self.without_time(groups)))
            groups = groups.filter(pc.is_valid(groups.column(FRAME)))
        if not len(groups):
            return Partials.none(plan)
        columns = {name: one_array(groups.column(name)) for name in groups.column_names}
        rows = columns[self.rows].to_numpy()
        most = SMALL_ROW_LIMIT if self.small_counts else ROW_LIMIT
        if rows.max() > most:
            raise TooManyRows(
                f"a frame has {rows.max():,} events of one key, and Spark's sums are exact for {most:,}; "
                "expected shorter steps, or .options(accumulate='python')"
            )
        columns |= {name: pa.array(of) for name, of in self._unpack(columns[FRAME].to_numpy()).items()}
        frames = columns[FRAME].to_numpy()
        keys = [
            normalised(plain(columns[f"k{place}"], plan.partials_schema.types[place])) for place in range(len(plan.by))
        ]
        ranks = np.zeros(len(frames), np.int64)
        for name in self.subgroup_by:
            ranks = (ranks << SUBGROUP_BITS) + columns[name].to_numpy()
        states = {
            output: bound.read({name: columns[column] for name, column in self._planes[output].items()})
            for output, bound in plan.states.items()
        }
        self._guard(frames, states)
        return Partials.of_states(plan, keys, [frames, ranks], states)

    def without_time(self, groups: pa.Table) -> tuple[int, int]:
        """How many events of some groups have no time, and how many there are."""
        rows, frames = groups.column(self.rows), groups.column(FRAME)
        return pc.sum(rows.filter(pc.is_null(frames)), min_count=0).as_py(), pc.sum(rows, min_count=0).as_py()

    def _guard(self, frames: Ints, states: dict[str, State]) -> None:
        """Refuse times so near the ends of their type that a window would reach beyond, as ``frames`` does."""
        inputs = [name for name in ("first", "last") if name in self.plan.window_inputs]
        if "first" in inputs:
            first, last = (np.asarray(states[self.plan.input_state(inputs[at])]["tick"]) for at in (0, -1))
            ends = [first.min(), last.max()]
        else:
            (by,) = numberings(self.plan)
            start, end = (int(each) // parts(by) * by.width + by.origin for each in (frames.min(), frames.max()))
            ends = [max(start, -LIMIT), min(end + by.width - 1, LIMIT - 1)]
        for windows in self.plan.axis.windows:
            windows.frames(np.array(ends, np.int64), None)
