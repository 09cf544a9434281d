"""The state of a stream as stored partials, which another query can go on from."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ....aggregators.errors import EngineError, QueryError
from ....aggregators.states.arrays import Ints
from ....runtime.frames.numbered import NumberedWindows
from ....runtime.partials.partials import Partials
from ....runtime.plan.plan import PHASES, Plan, differing, fingerprint
from ....runtime.sources.untrusted import untrusted
from ....runtime.streams.scope import holds
from ..asked import view_of
from ..before import require_states
from ..commits import Commit, StoredFile, checked
from ..layout import Layout, frames_of
from ..table import Change, Table, Written, about, run_of

STREAM = "stream"
"""Under which name a commit says of which stream its partials are."""

INPUTS = ("first", "rows")
"""The window inputs that are stored: of the first one any tick of a frame will do, such as its start."""


@dataclass(frozen=True)
class Exported:
    """What there is to know of the state of a stream, beside its partials.

    Parameters
    ----------
    checkpoint, batch
        Of which checkpoint it is, as of which micro-batch.
    watermark, gone
        The tick up to which windows are closed, and that up to which they take no more events.
    reach
        The tick from which on all partials are there; None where events between windows are left out.
    query
        The fingerprint of the query, with ``until``.
    columns
        Where the fields of each output's state are.
    """

    checkpoint: str
    batch: int
    watermark: int
    gone: int
    reach: int | None
    query: dict[str, Any]
    columns: dict[str, Any]

    @classmethod
    def of(cls, commit: Commit, path: str) -> Exported:
        """What a commit says; EngineError where it is of no stream's state."""
        try:
            found: Exported = checked(cls, commit.about[STREAM])
        except (KeyError, TypeError, ValueError) as error:
            raise EngineError(
                f"there is no state of a stream in {path!r}; expected what .export_state(...) has written"
            ) from error
        return found


class GoneOn(NamedTuple):
    """From what a query goes on.

    Parameters
    ----------
    table, layout, files
        Where the partials are, how they lie, and in which files.
    watermark, gone
        Up to which ticks its windows are closed, and take no more events.
    """

    table: Table
    layout: Layout
    files: Sequence[StoredFile]
    watermark: int
    gone: int


def why_not_stored(plan: Plan) -> str | None:
    """Why the state of a stream cannot be stored for another query, in words; None where it can."""
    if plan.until is not None:
        return "events have an end"
    if plan.cells:
        return "columns are of several windows, as of a lookback"
    if holds(plan):
        return "events are held back, since single ones matter"
    for each in plan.axis.windows:
        if not isinstance(each, NumberedWindows) or each.frame_bounds(np.empty(0, np.int64)) is None:
            return f"{each.named} have no frames with bounds of their own"
        if each.emits_empty:
            return "windows without an event are asked for (empty='emit')"
    if not {*plan.window_inputs} <= {*INPUTS}:
        return "min_samples= counts the samples of each output"
    return None


def layout_of(plan: Plan, since: Mapping[str, int] | None = None) -> Layout:
    """How the partials of a stream lie at rest: in its own frames."""
    return Layout.over(plan, plan.events_schema, INPUTS, since or {})


def stored_rows(layout: Layout, partials: Partials, run: str) -> pa.Table:
    """The merged partials of a shard as rows."""
    bounds = bounds_of(partials)
    (first,) = layout.plan.state_columns[layout.plan.input_state("first")]["tick"]
    table = partials.table.drop_columns([first]) if first in partials.table.column_names else partials.table
    return layout.rows(Partials(layout.plan, table.append_column(first, pa.array(bounds[0]))), run, bounds)


def bounds_of(partials: Partials) -> tuple[Ints, Ints]:
    """The first tick of the frame of each partial, and the first one after it."""
    windows = partials.plan.axis.windows
    if len(windows) == 1:
        found = [windows[0].frame_bounds(partials.frames)]
    else:  # a shared frame is what one of each kind have in common
        ticks = partials.window_inputs()["first"]
        found = [each.frame_bounds(each.frames(ticks, None)[0]) for each in windows]
    starts, ends = zip(*(each for each in found if each is not None), strict=True)
    return np.maximum.reduce(starts), np.minimum.reduce(ends)


def exported(plan: Plan, checkpoint: str, batch: int, watermark: int, gone: int, query: Mapping[str, Any]) -> Exported:
    """What is to be said of the state of a plan; ``query`` is the fingerprint in it."""
    whole = [each for each in plan.axis.windows if isinstance(each, NumberedWindows) and each.left_out is None]
    reach = min((first_needed(each, gone) for each in whole), default=None)
    return Exported(checkpoint, batch, watermark, gone, reach, {**query}, plan.state_columns)


def store(table: Table, layout: Layout, said: Exported, run: str, written: Written) -> None:
    """Commit the files of a state; nothing where it is there already.

    Raises
    ------
    EngineError
        If other partials are there.
    """

    def added(before: Commit, change: Change) -> Commit:
        change.written.extend(written.files)
        if before.run(run):
            return before
        require_free(before, table)
        said_of = about(layout) | {STREAM: asdict(said)}
        return Commit(before.number, said_of, (run_of(run, written),), tuple(written.files))

    table.change(layout, added, check=False)


def require_free(commit: Commit, table: Table) -> None:
    """EngineError where partials are stored."""
    if commit.number:
        raise EngineError(
            f"there are stored partials in {table.commits.path!r} already; expected a path where there are none"
        )


def gone_on(table: Table, said: Exported, commit: Commit, plan: Plan, lateness: int, *, skip: bool) -> GoneOn:
    """From what a plan goes on, with the windows that open when the state ends, or with ``skip`` those it is whole for.

    Parameters
    ----------
    table, said, commit
        What is stored.
    plan
        The query that is to go on.
    lateness
        How long after they have closed its windows take late events, in ticks.

    Raises
    ------
    QueryError
        If it asks for something that is not there: other keys, shorter frames, or windows that reach further back.
    """
    new = require_same(said, plan)
    end = commit.end
    since = dict.fromkeys(new, end) if end is not None else {}
    layout = layout_of(plan, since)
    frames_of(plan, *table.bounds(layout, commit.parts))
    same = not {"windows", PHASES} & differing(said.query, fingerprint(plan)).keys()
    if not same and said.reach is None:
        raise QueryError(
            "the exported state has no events of times between windows, which other windows would have; expected "
            "the same windows"
        )
    bounds = ([] if same else [said.reach]) + ([end] if since else [])
    whole = max((tick for tick in bounds if tick is not None), default=None)
    watermark, gone = said.watermark, max(said.gone, said.watermark - lateness)
    for windows in plan.axis.windows:
        assert isinstance(windows, NumberedWindows)
        if whole is None or (first := first_needed(windows, gone)) >= whole:
            continue
        if not skip:
            word = plan.times.word
            named = f"{new[0]!r}, a new output," if since else "the exported state"
            raise QueryError(
                f"{windows.named} that are open reach back to {word(first - layout.after)}, and {named} has events "
                f"from {word(whole - layout.after)} on only; expected windows that reach less far back, no new "
                "outputs, or skip_incomplete=True, which leaves out windows that begin earlier"
            )
        last = windows.window_ids(view_of(windows, np.array([whole - 1]))).last
        watermark = gone = max(watermark, int(windows.closing_by_id(last)[0]))
    return GoneOn(table, layout, commit.parts, watermark, gone)


def require_same(said: Exported, plan: Plan) -> list[str]:
    """The outputs of a plan that are not stored; QueryError where others are not as they are stored.

    EngineError where nobody can tell.
    """
    there, asked = said.query, fingerprint(plan)
    with untrusted(
        "the exported state says nothing of its query that can be read", "what .export_state(...) has written"
    ):
        common = [name for name in plan.outputs if name in there["outputs"]]
        types = [dict(each.removesuffix(")").split(" (", 1) for each in of["columns"]) for of in (there, asked)]
        more = [
            *((name, types[0][name], kind) for name, kind in types[1].items() if name in types[0]),
            *((f"columns of {name}", said.columns[name], plan.state_columns[name]) for name in common),
        ]
        require_states(there, asked, common, more, "the exported state is")
    return [name for name in plan.outputs if name not in common]


def first_needed(windows: NumberedWindows, gone: int) -> int:
    """The first tick of the windows that take events when those up to a tick take no more."""
    number = windows.closed_by(gone) + 1

    def before(tick: int) -> bool:
        return bool(windows.window_ids(view_of(windows, np.array([tick]))).last[0] < number)

    low, high, step = gone, gone, 1
    while not before(low):
        low, step = low - step, 2 * step
    while before(high):
        high, step = high + step, 2 * step
    return low + bisect_left(range(low, high), True, key=lambda tick: not before(tick))
