"""Partials without an event, which make the windows of each key reach given times."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Ints
from .merge import merge
from .partials import Partials


def filled_up(merged: Partials) -> Partials:
    """Merged partials, with one more where a key has none at or before the first time, or at or after the last."""
    plan, starts = merged.plan, merged.starts
    frames = plan.axis.fill_frames
    if frames is None or starts is None or not len(merged):
        return merged
    first, last = frames
    found, rows, numbers = merged.frames, [], []
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
    keys = [key.take(taken) for key in merged.keys]
    return merge([merged.unmerged(), Partials.without_events(plan, keys, np.concatenate(numbers))])
