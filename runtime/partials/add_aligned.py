"""Partials of the same keys in the same frames added row by row, which saves a merge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.states.arrays import Ints
from ...aggregators.states.fields import Column, Compensated
from ...aggregators.states.limbs import Exact
from ..plan.plan import BATCH_RANK, FRAME
from ..tuning import NEAR_PARTIALS
from .partials import Partials


def add_or_append(several: list[Partials], each: Partials) -> None:
    """Append partials to several, or add them to late ones among these that are of the same keys and frames.

    Those of the same part of the time are some portions apart where files that span all of it have several row groups.
    """
    for place in range(len(several) - 1, max(len(several) - 1 - NEAR_PARTIALS, -1), -1):
        if len(several[place]) == len(each) and (both := add_aligned(several[place], each)) is not None:
            several[place] = both
            return
    several.append(each)


def add_aligned(before: Partials, after: Partials) -> Partials | None:
    """Partials of two batches in one, row by row, where both are of the same keys and frames; None where they are not.

    Batches that each have events of all times and keys, as of files that overlap in time, are: this takes a part of the
    time that finding their groups does. None also where an operation has no function of numpy's to join its states, and
    where order matters, or without compiled loops: :func:`combine_groups` then adds pairs of floats in another order.
    """
    plan = before.plan
    if len(before) != len(after) or plan.ordered or plan.until is not None or not loops.compiled:
        return None
    if not all(bound.has_kernels for bound in plan.states.values()):
        return None
    places = [name for name in plan.partials_schema.names if name in (*plan.keys, FRAME)]
    if any(not before.table.column(name).equals(after.table.column(name)) for name in places):
        return None
    rows = np.arange(len(before))
    states = {
        name: {
            key: added(bound.ufuncs[key], column, after.states(name)[key], rows)
            for key, column in before.states(name).items()
        }
        for name, bound in plan.states.items()
    }
    numbers = [before.column(name).to_numpy() for name in (FRAME, BATCH_RANK)]
    made = Partials.of_states(plan, before.keys, numbers, states)
    if before.events is None or after.events is None:
        return made
    events = before.events + after.events
    return made if events.all() else replace(made, events=events)


def added(function: np.ufunc, before: Column, after: Column, rows: Ints) -> Column:
    """The values of a field joined with others, row by row; as :func:`combine_groups` joins them, to the last bit."""
    if isinstance(before, Compensated):
        assert isinstance(after, Compensated)
        if before.special_values is not None or after.special_values is not None:
            return before + after
        sums, lows = before.high.copy(), before.low.copy()
        loops.add_pairs(*map(np.ascontiguousarray, (after.high, after.low, rows)), sums, lows)
        return Compensated(sums, lows)
    if isinstance(before, Exact):
        assert isinstance(after, Exact)
        return Exact([mine + theirs for mine, theirs in zip(before.limbs, after.limbs, strict=True)])
    with np.errstate(invalid="ignore"):
        found: NDArray[Any] = function(before, after)
    return found
