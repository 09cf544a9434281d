"""The states of windows to results: keys, window bounds, and what each operation's ``finish`` makes of its states."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.contract.operation import State
from ..columns.key_codes import one_array
from ..plan.plan import Plan
from ..windows import Coverage, Ranges
from .chunks import Chunk
from .layout import lay_out, spread


def finish(plan: Plan, chunk: Chunk, windows: list[Ranges | Coverage], states: Iterable[Iterable[State]]) -> pa.Table:
    """The results of a chunk: keys, ``window``, ``at`` where windows have it, outputs; sorted by key and window.

    Parameters
    ----------
    plan
        What is computed.
    chunk
        The partials that the windows are over.
    windows
        The windows of each kind.
    states
        For each output, the states of the windows of each kind that it is over. They are taken one after the other.
    """
    several = None if len(windows) == 1 else lay_out(windows, chunk.views[0].starts)
    rows = several or windows[0]
    taken = pa.array(rows.row)
    bounds = pa.StructArray.from_arrays(
        [plan.times.bounds(ticks) for ticks in (rows.start, rows.end)],
        fields=list(plan.result_schema.field("window").type),
    )
    columns = [one_array(column).take(taken) for column in chunk.partials.table.columns[: len(plan.by)]]
    columns.append(bounds)
    if plan.axis.stamped:
        assert rows.at is not None
        at = plan.times.bounds(rows.at)
        columns.append(
            at if isinstance(rows, (Ranges, Coverage)) else pc.if_else(rows.stamped, at, pa.scalar(None, at.type))
        )
    for (name, bound), slid in zip(plan.outputs.items(), states, strict=True):
        finished = [bound.finish(each) for each in slid]
        if several is None:
            columns += finished
        else:
            columns.append(spread(finished, [several.places[number] for number in plan.over[name]], len(rows.row)))
    return pa.Table.from_arrays(columns, schema=plan.result_schema)
