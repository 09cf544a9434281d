"""Which events are late: those of partials of which no window is open any more."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..columns.key_codes import key_codes, normalised, one_array, pack, plain, span
from ..frames.window_ranges import Mask
from ..partials.merge import Partials
from ..plan.plan import Plan
from ..windows import Ints
from .held_events import ticks_of


def among(plan: Plan, some: Partials, others: Partials) -> Mask:
    """Which of some partials have the key and frame of one of others."""
    columns = [[one_array(each.table.column(name)) for each in (some, others)] for name in plan.keys]
    return matched(columns, some.frames(), others.frames())


def late_events(plan: Plan, events: pa.Table, late: Partials) -> Mask:
    """Which events are in one of some partials."""
    columns = [
        [normalised(plain(events.column(name), plan.input_schema.field(name).type)), one_array(late.table.column(mine))]
        for name, mine in zip(plan.by, plan.keys, strict=True)
    ]
    return matched(columns, plan.axis.frames(ticks_of(plan, events), None)[0], late.frames())


def matched(keys: list[list[pa.Array]], frames: Ints, others: Ints) -> Mask:
    """Which rows have a key and frame that one of other rows has; each key column is given of both."""
    rows = len(frames)
    codes = key_codes([pa.concat_arrays(both) for both in keys], rows + len(others), ordered=False)
    packed, _ = pack([codes, span(np.concatenate([frames, others]))], rows + len(others))
    found: Mask = np.isin(packed[:rows], packed[rows:])
    return found
