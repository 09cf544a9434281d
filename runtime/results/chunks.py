"""Results a piece at a time: some keys, or some windows of a key that has very many, so that memory stays in bounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.states.fields import Objects, RaggedField
from ..columns.key_codes import one_array
from ..frames.partials_view import WindowIds, entering
from ..partials.partials import FRAME
from ..windows import MAX_WINDOWS, Ints, PartialsView
from ..windows.spec import Windows
from .layout import results_of_keys, window_inputs_of

if TYPE_CHECKING:
    from ..plan.plan import Plan

WINDOWS = 1 << 19
"""So many windows are slid at a time."""

BYTES, BYTES_OF_LISTS = 64 << 20, 4 << 20
"""And so many bytes of partials; states that are lists grow while they slide."""


def results_in_pieces(
    plan: Plan, partials: pa.Table, starts: NDArray[np.intp], most: int | None = None
) -> Iterator[pa.Table]:
    """The results of merged partials, one piece after the other, sorted by key and window.

    Parameters
    ----------
    query, partials, starts
        As :func:`~framefold.runtime.results.layout.results_of_keys` takes them.
    most
        About how many windows a piece has; :data:`WINDOWS` where None. A key with more is a piece of its own, and cut
        into several where its windows are numbered: those of :func:`sliding`, of calendars, and cumulating ones.

    Yields
    ------
    At least one table, maybe empty.
    """
    most = WINDOWS if most is None else most
    if not len(starts):
        yield results_of_keys(plan, partials, starts)
        return
    counts = windows_of_keys(plan, partials, starts)
    lists = any(isinstance(kind, (RaggedField, Objects)) for of in plan.outputs.values() for kind in of.fields.values())
    rows = max(1, (BYTES_OF_LISTS if lists else BYTES) * len(partials) // max(partials.nbytes, 1))
    ends = np.append(starts[1:], len(partials))
    weights = np.maximum(counts / most, (ends - starts) / rows)
    heavy = weights > 1
    fresh = np.diff(np.floor(np.cumsum(weights) - weights), prepend=-1.0) > 0
    fresh |= heavy
    fresh[1:] |= heavy[:-1]
    groups = np.flatnonzero(fresh)
    for first, last in itertools.pairwise([*groups.tolist(), len(starts)]):
        begin, end = int(starts[first]), int(ends[last - 1])
        some = partials.slice(begin, end - begin)
        if most < counts[first] <= MAX_WINDOWS and chunkable(plan):
            yield from _results_of_one_key(plan, some, most)
        else:
            yield results_of_keys(plan, some, starts[first:last] - begin)


def chunkable(plan: Plan) -> bool:
    """Whether the windows of one key can be had some at a time."""
    return plan.until is None and len(plan.axis.windows) == 1 and plan.axis.windows[0].chunkable


def windows_of_keys(plan: Plan, partials: pa.Table, starts: Ints) -> NDArray[np.float64]:
    """About how many windows each key has; as many as partials where their kind does not say."""
    frames = one_array(partials.column(FRAME)).to_numpy()
    sizes = np.diff(np.append(starts, len(frames))).astype(np.float64)
    if plan.until is not None:
        return sizes
    window_inputs = window_inputs_of(plan, partials) if len(plan.axis.windows) > 1 else {}
    total = np.zeros(len(starts))
    for each in plan.axis.windows:
        own = each.frames(window_inputs["first"], window_inputs.get("rank"))[0] if window_inputs else frames
        numbers = each.window_ids(PartialsView(own, starts))
        total += sizes if numbers is None else np.add.reduceat(_counts(each, numbers, starts)[1], starts)
    return total


def bytes_of_results(plan: Plan, partials: pa.Table, starts: Ints) -> float:
    """About how many bytes the results of merged partials take: what they do not say counts as nothing."""
    if not len(starts):
        return 0.0
    keys = len(plan.by)
    row = sum(width(kind) for kind in plan.result_schema.types[keys:])
    own = sum(column.nbytes for column in partials.columns[:keys]) / len(partials)
    return float(windows_of_keys(plan, partials, starts).sum() * (row + own))


def width(kind: pa.DataType) -> float:
    """The bytes of a value; 0 where they differ."""
    if pa.types.is_struct(kind):
        return sum(width(field.type) for field in kind)
    try:
        return float(kind.bit_width / 8)
    except ValueError:
        return 0.0


def _counts(windows: Windows, numbers: WindowIds, starts: Ints) -> tuple[Ints, NDArray[np.float64]]:
    """The first window that each row brings, and how many it brings."""
    begin = entering(numbers, starts, getattr(windows, "empty", "skip"))
    return begin, (numbers.last.astype(np.float64) + 1 - begin).clip(0)


def _results_of_one_key(plan: Plan, partials: pa.Table, most: int) -> Iterator[pa.Table]:
    """The windows of one key by their numbers, so many at a time, from the rows around them."""
    windows, one = plan.axis.windows[0], np.zeros(1, np.intp)
    frames = one_array(partials.column(FRAME)).to_numpy()
    numbers = cast(WindowIds, windows.window_ids(PartialsView(frames, one)))
    begin, counts = _counts(windows, numbers, one)
    reached = np.cumsum(counts)
    cuts = np.arange(most, reached[-1], most)
    row = np.searchsorted(reached, cuts, side="left")
    tops = (begin[row] + (cuts - (reached - counts)[row]).astype(np.int64) - 1).tolist()
    low = int(numbers.first.min())
    for high in [*tops, int(numbers.last.max())]:
        first = max(int(np.searchsorted(numbers.last, low, side="left")) - 1, 0)
        last = int(np.searchsorted(numbers.first, high, side="right")) + 1
        yield results_of_keys(plan, partials.slice(first, last - first), one, (low, high))
        low = high + 1
