"""A plan's way from events to results: accumulate, merge, slide, finish.

Engines accumulate batches of events and merge their partials where they like. Partials of whole keys come here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ..aggregators.contract.operation import State
from ..aggregators.states.rows import take
from .accumulate.accumulate import accumulate as accumulate
from .columns.malloc import raise_mmap_threshold
from .intervals.coverage import cover
from .intervals.lifespans import Lifespans, lifespans, states_of_lifespans
from .partials.merge import Partials, states_of
from .partials.merge import merge as merge
from .plan.plan import Plan
from .results.chunks import Chunk, chunks
from .results.finish import finish
from .results.sliding_choice import choose
from .sliding.slide import slide
from .windows import Coverage, Ranges

Windows = list[Ranges | Coverage | Lifespans]


def results(plan: Plan, merged: Partials, chunk_windows: int | None = None) -> Iterator[pa.Table]:
    """The results of merged partials of whole keys, sorted by key and window, in chunks of bounded size.

    Parameters
    ----------
    plan
        What is computed.
    merged
        From :func:`merge`.
    chunk_windows
        About how many windows a chunk has; see :func:`~framefold.runtime.results.chunks.chunks`.

    Yields
    ------
    At least one table of the plan's ``result_schema``, maybe empty.
    """
    raise_mmap_threshold()
    for chunk in chunks(plan, merged, chunk_windows):
        windows = windows_of(plan, chunk)
        ranges = [each.ranges if isinstance(each, Lifespans) else each for each in windows]
        states = (states_of_windows(plan, chunk.partials, name, windows) for name in plan.outputs)
        yield finish(plan, chunk, ranges, states)


def windows_of(plan: Plan, chunk: Chunk) -> Windows:
    """The windows of each kind over a chunk: ranges of its rows, or what interval events live in."""
    kinds = enumerate(zip(plan.axis.windows, chunk.views, strict=True))
    if plan.until is None:
        return [plan.axis.ranges(number, view) for number, (_, view) in kinds]
    return [
        lifespans(each, view, view.window_inputs["first"], view.window_inputs["until"]) for _, (each, view) in kinds
    ]


def states_of_windows(plan: Plan, partials: Partials, name: str, windows: Windows) -> Iterator[State]:
    """The states of an output over each kind of windows that it is over."""
    bound, states = plan.outputs[name], states_of(plan, partials, name)
    for number in plan.over[name]:
        found, choice = windows[number], choose(plan, name, number)
        if isinstance(found, Lifespans):
            yield states_of_lifespans(bound, states, found, plan.axis.windows[number].whole_frames, choice.cover)
        elif isinstance(found, Ranges):
            yield slide(bound, states, found.low, found.high, choice.slide)
        else:
            rows = np.flatnonzero(found.first <= found.last)
            yield cover(bound, take(states, rows), found.first[rows], found.last[rows], len(found.row), choice.cover)
