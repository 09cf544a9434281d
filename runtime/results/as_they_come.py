"""Results beside rows from events that are in the order of time, which are not sorted for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ...aggregators import loops
from ...aggregators.states.alike import numbers
from ..accumulate.time_order import Keyed, codes_of_keys
from ..columns.malloc import raise_mmap_threshold
from ..columns.plain import plain
from ..frames.windows import Windows
from ..plan.cells import Taken, values_of
from ..plan.plan import Plan
from ..tuning import MAX_SPARSE
from .over_ranges import Column
from .row_by_row import AsOf, Keys, Looking, Reaching, is_answered, results_of


def goes_row_by_row(plan: Plan) -> bool:
    """Whether all outputs of a plan are computed row by row over all of their windows, where events are in order."""
    kinds = plan.axis.windows
    if any(each.rows_back is None and each.ticks_around is None for each in kinds):
        return False
    over = [(bound, kinds[number].rows_back) for name, bound in plan.outputs.items() for number in plan.over[name]]
    return leaves_none_out(plan) and all(is_answered(bound, reach) for bound, reach in over)


def is_as_of(plan: Plan) -> bool:
    """Whether all results of a plan are computed row by row over windows of labels, of which none is left out."""
    kinds = plan.axis.windows
    if not (leaves_none_out(plan) and all(is_answered(bound, None) for bound in plan.outputs.values())):
        return False
    return all(each.anchor_ticks is not None and each.same_rows(kinds[0]) for each in kinds)


def leaves_none_out(plan: Plan) -> bool:
    """Whether there is a compiled loop for results, none of which is changed afterwards."""
    return loops.compiled and plan.until is None and not plan.samples and not plan.filled


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
    kinds = plan.axis.windows
    farthest = max((reach.first or 0 if reach else 0 for reach in (each.rows_back for each in kinds)), default=0)
    given = inputs_in_order(plan, events, keyed, farthest + 3) if goes_row_by_row(plan) else None
    if given is None:
        return None
    inputs, keys = given
    return looked_up(plan, inputs, [looking(each, keys) for each in kinds], [])


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
    if (given := inputs_in_order(plan, events, keyed, 1)) is None:
        return None
    (inputs, keys), kinds = given, plan.axis.windows
    first = np.full(keys.size, -1)
    first[keys.codes[::-1]] = numbers(len(events))[::-1]  # where a code repeats, numpy keeps what is assigned last
    wanted = codes_of_keys(events, plan.by, first, [key for _, key in kinds[0].anchor_keys]).astype(np.int32)
    windows = [AsOf(keys, wanted, *each.anchor_ticks) for each in kinds if each.anchor_ticks is not None]
    return looked_up(plan, inputs, windows, [pa.array(numbers(len(wanted)))])


def inputs_in_order(plan: Plan, events: pa.Table, keyed: Keyed, kept: int) -> tuple[dict[str, pa.Array], Keys] | None:
    """The inputs and keys of events in the order of time; None where they are not, or have too many keys.

    ``kept`` is how many numbers a loop keeps for each key.
    """
    rows = len(events)
    if not rows or keyed.by_time is not None or keyed.size * kept > max(MAX_SPARSE, 4 * rows):
        return None
    raise_mmap_threshold()
    types = plan.input_schema
    inputs = {name: plain(events.column(name), types.field(name).type) for name in plan.inputs}
    codes = np.concatenate(keyed.codes).astype(np.int32, copy=False)
    return inputs, Keys(codes, keyed.size, plan.times.ticks(inputs[plan.time]))


def looked_up(
    plan: Plan, inputs: dict[str, pa.Array], windows: Sequence[Looking], beside: list[pa.Array]
) -> pa.Table | None:
    """The results over each kind of windows, beside columns that come first; None where these cannot be looked up."""
    found: dict[Taken, Column] = {}
    for name, bound in plan.outputs.items():
        for number in plan.over[name]:
            results = results_of(bound, [inputs[column] for column in bound.columns], windows[number])
            if results is None:
                return None
            found[Taken(name, number)] = results
    cells = [values_of(cell, found.__getitem__) for cell in plan.cells.values()]
    return pa.Table.from_arrays([*beside, *cells], schema=plan.result_schema)


def looking(windows: Windows, keys: Keys) -> Looking:
    """The windows of each row, which reach back some rows, or else have some ticks around it."""
    if (reach := windows.rows_back) is not None:
        return Reaching(keys, reach)
    windows.frames(keys.ticks[[0, -1]])  # refuses times around which there are no others
    around = windows.ticks_around
    assert around is not None
    begin, stop = around
    return AsOf(keys, keys.codes, keys.ticks + begin, keys.ticks + stop)
