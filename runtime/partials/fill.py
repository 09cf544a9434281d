"""Partials without an event, by which the windows of each key reach from and to given times."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Ints
from ..columns.key_codes import one_array
from ..plan.plan import Plan
from .merge import Partials, merge, without_events


def filled_up(plan: Plan, merged: Partials) -> Partials:
    """Merged partials, with one more where a key has none at or before the first time, or at or after the last."""
    frames, starts = plan.axis.fill_frames, merged.starts
    if frames is None or starts is None or not len(merged):
        return merged
    first, last = frames
    found, rows, numbers = merged.frames(), [], []
    ends = np.append(starts[1:], len(merged)) - 1
    for frame, at, short in ((first, starts, np.greater), (last, ends, np.less)):
        if frame is not None:
            # A partial of events in a gap is in no window, and so leads to none.
            missing: Ints = at if plan.axis.keeps_gaps else at[short(found[at], frame)]
            rows.append(missing)
            numbers.append(np.full(len(missing), frame))
    if not sum(map(len, rows)):
        return merged
    taken = pa.array(np.concatenate(rows))
    keys = [one_array(merged.table.column(name)).take(taken) for name in plan.keys]
    return merge(plan, [Partials(merged.table), without_events(plan, keys, np.concatenate(numbers))])
