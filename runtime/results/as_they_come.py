"""Results beside events that are in the order of time, which are not sorted for them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...aggregators import loops
from ..accumulate.time_order import Keyed
from ..columns.malloc import raise_mmap_threshold
from ..columns.plain import plain
from ..frames.windows import RowsBack, Windows
from ..plan.plan import Plan
from ..tuning import MAX_SPARSE
from .row_by_row import Around, Keys, Looking, Reaching, cells_over, is_answered


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
    if not rows or keyed.by_time is not None or not goes_row_by_row(plan):
        return None
    room = max(MAX_SPARSE, 4 * rows)
    if any(keyed.size * ((reach.first or 0 if reach else 0) + 3) > room for reach in reaches):
        return None
    raise_mmap_threshold()
    types, ticks = plan.input_schema, plan.times.ticks
    columns = {name: plain(events.column(name), types.field(name).type) for name in plan.inputs}
    keys = Keys(np.concatenate(keyed.codes).astype(np.int32, copy=False), keyed.size, ticks(columns[plan.time]))
    windows = [looking(each, reach, keys) for each, reach in zip(plan.axis.windows, reaches, strict=True)]
    cells = cells_over(plan, columns, windows)
    return None if cells is None else pa.Table.from_arrays(cells, schema=plan.result_schema)


def goes_row_by_row(plan: Plan) -> bool:
    """Whether all outputs of a plan are computed row by row over all of their windows, where events are in order."""
    if plan.until is not None or plan.samples or plan.filled or not loops.compiled:
        return False
    reaches = [windows.rows_back for windows in plan.axis.windows]
    if any(reach is None and each.ticks_around is None for each, reach in zip(plan.axis.windows, reaches, strict=True)):
        return False
    over = [(bound, reaches[number]) for name, bound in plan.outputs.items() for number in plan.over[name]]
    return all(is_answered(bound, reach) for bound, reach in over)


def looking(windows: Windows, reach: RowsBack | None, keys: Keys) -> Looking:
    """The windows of each row, which reach back some rows, or else have some ticks around it."""
    if reach is not None:
        return Reaching(keys, reach)
    windows.frames(keys.ticks[[0, -1]])  # refuses times around which there are no others
    around = windows.ticks_around
    assert around is not None
    begin, stop = around
    return Around(keys, keys.codes, keys.ticks + begin, keys.ticks + stop)
