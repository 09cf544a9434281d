"""Results beside labels, from events that are in the order of time, which are not sorted for them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...aggregators import loops
from ...aggregators.states.alike import numbers
from ..accumulate.time_order import Keyed, codes_of_keys
from ..columns.malloc import raise_mmap_threshold
from ..columns.plain import plain
from ..plan.plan import Plan
from ..tuning import MAX_SPARSE
from .row_by_row import AsOf, Keys, cells_over, is_answered


def is_as_of(plan: Plan) -> bool:
    """Whether all results of a plan are computed row by row over windows of labels, of which none is left out."""
    kinds = plan.axis.windows
    if not loops.compiled or plan.until is not None or plan.samples or plan.filled:
        return False
    if not all(is_answered(bound, None) for bound in plan.outputs.values()):
        return False
    return all(each.anchor_ticks is not None and each.same_rows(kinds[0]) for each in kinds)


def results_as_of(plan: Plan, events: pa.Table, keyed: Keyed) -> pa.Table | None:
    """The numbers of labels, all of them in their order, and their results; None where this is not the way.

    Parameters
    ----------
    plan
        What is computed, with windows for each label.
    events
        With a time each.
    keyed
        Of the events.
    """
    rows, kinds = len(events), plan.axis.windows
    if not rows or keyed.by_time is not None or keyed.size > max(MAX_SPARSE, 4 * rows):
        return None
    raise_mmap_threshold()
    types = plan.input_schema
    columns = {name: plain(events.column(name), types.field(name).type) for name in plan.inputs}
    keys = Keys(
        np.concatenate(keyed.codes).astype(np.int32, copy=False), keyed.size, plan.times.ticks(columns[plan.time])
    )
    first = np.full(keyed.size, -1)
    first[keys.codes[::-1]] = numbers(rows)[::-1]  # where a code repeats, numpy keeps what is assigned last
    own = codes_of_keys(events, plan.by, first, [key for _, key in kinds[0].anchor_keys])
    wanted = own.astype(np.int32)
    windows = [AsOf(keys, wanted, *each.anchor_ticks) for each in kinds if each.anchor_ticks is not None]
    if (cells := cells_over(plan, columns, windows)) is None:
        return None
    return pa.Table.from_arrays([pa.array(numbers(len(wanted))), *cells], schema=plan.result_schema)
