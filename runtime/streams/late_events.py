"""Which events are late: those whose partial is in no open window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Bools, Ints
from ..columns.key_codes import key_codes, pack, span
from ..partials.partials import Partials
from .held_events import keys_of, ticks_of


def among(some: Partials, others: Partials) -> Bools:
    """Mask of the rows of ``some`` whose (key, frame) occurs in ``others``."""
    return matched(zip(some.keys, others.keys, strict=True), some.frames, others.frames)


def late_events(events: pa.Table, late: Partials) -> Bools:
    """Mask of the events whose (key, frame) is that of a late partial."""
    plan = late.plan
    keys = zip(keys_of(plan, events), late.keys, strict=True)
    return matched(keys, plan.axis.frames(ticks_of(plan, events), None)[0], late.frames)


def matched(keys: Iterable[Sequence[pa.Array]], frames: Ints, others: Ints) -> Bools:
    """Mask of the rows whose (key, frame) occurs among the others.

    Parameters
    ----------
    keys
        Each key column twice: for the rows, and for the others.
    frames, others
        The frames of the rows, and of the others.
    """
    rows = len(frames)
    codes = key_codes([pa.concat_arrays(both) for both in keys], rows + len(others), ordered=False)
    packed, _ = pack([codes, span(np.concatenate([frames, others]))], rows + len(others))
    found: Bools = np.isin(packed[:rows], packed[rows:])
    return found
