"""Merged partials in chunks that fit memory: some keys, or some windows of a large one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from ...aggregators.loops.by_numpy import entering
from ...aggregators.states.arrays import Floats, Ints
from ...aggregators.states.large import bytes_of, fitting, one_array
from ...aggregators.states.objects import HeldObjects, Objects
from ...aggregators.states.ragged import RaggedField, leaves
from ..frames.partials_view import PartialsView, WindowIds
from ..frames.window_ranges import MAX_WINDOWS
from ..frames.windows import Windows
from ..partials.fill import filled_up
from ..partials.partials import Partials
from ..plan.plan import Plan
from ..tuning import BYTES_OF_VALUE, CHUNK_BYTES, CHUNK_BYTES_OF_LISTS

MIN_CUT = 2
"""In chunks, the bytes of a key from which on it is cut for them."""

Cut: TypeAlias = tuple[int, int, int, int]
"""A chunk of a key: its first row, the one past its last, and the first and the last number of its windows."""


class Chunk(NamedTuple):
    """Some merged partials, and how each kind of windows sees them."""

    partials: Partials
    views: list[PartialsView]

    @property
    def plan(self) -> Plan:
        """The plan of the partials."""
        return self.partials.plan

    def keys_of(self, rows: Ints) -> list[pa.Array | pa.ChunkedArray]:
        """The keys of some partials, as a result has them."""
        columns, types = self.partials.keys_at(rows), self.plan.result_schema.types
        return [fitting(self.plan.values_of_key(at, column), types[at]) for at, column in enumerate(columns)]


def views_of(merged: Partials) -> list[PartialsView]:
    """How each kind of windows sees merged partials; the windows of each row are numbered here, once."""
    assert merged.starts is not None
    keys = tuple(map(one_array, merged.keys_at(merged.starts)))
    return merged.plan.axis.views(PartialsView(merged.frames, merged.starts, merged.window_inputs(), keys))


def chunks(merged: Partials, windows: int) -> Iterator[Chunk]:
    """Merged partials in chunks, sorted by key and window; at least one.

    Parameters
    ----------
    merged
        Merged partials.
    windows
        About how many windows a chunk has. A key with more is a chunk of its own, and is cut into several where its
        windows are numbered, sliding, calendar and cumulating ones, or have frames of their own that they are around.
    """
    plan = merged.plan
    merged = filled_up(merged) if plan.axis.fill_frames else merged
    views, starts = views_of(merged), merged.starts
    assert starts is not None
    if not len(starts):
        yield Chunk(merged, views)
        return
    kinds = [kind for bound in plan.outputs.values() for kind in bound.fields.values()]
    lists = any(isinstance(kind, (RaggedField, Objects)) for kind in kinds)
    stores = [leaf.store for kind in kinds for leaf in leaves(kind) if isinstance(leaf, HeldObjects)]
    held = sum(int(store.bytes) for store in stores)
    most = CHUNK_BYTES_OF_LISTS if lists else CHUNK_BYTES
    size = bytes_of(merged.table, most >> 6) + held
    ends = views[0].ends
    by_bytes = (ends - starts) / max(1, most * len(merged) // max(size, 1))
    by_bytes[(by_bytes > 1) & (by_bytes < MIN_CUT)] = 1  # to cut them costs more than they take
    counts = windows_of_keys(plan, views)
    weights = np.maximum(counts / windows, by_bytes)
    if weights.sum() <= 1:
        yield Chunk(merged, views)
        return
    heavy = weights > 1
    fresh = np.diff(np.floor(np.cumsum(weights) - weights), prepend=-1.0) > 0
    fresh |= heavy
    fresh[1:] |= heavy[:-1]
    kind = plan.axis.windows[0]
    alone = plan.until is None and len(plan.axis.windows) == 1
    span = kind.frame_span if alone else None
    for first, last in itertools.pairwise([*np.flatnonzero(fresh).tolist(), len(starts)]):
        keys, own = slice(first, last), slice(int(starts[first]), int(ends[last - 1]))
        some = max(1, int(counts[first] / weights[first]))
        if alone and kind.chunkable and heavy[first] and counts[first] <= MAX_WINDOWS:
            cuts = cuts_of_key(merged, views[0].part(keys, own), some)
        elif span is not None and heavy[first]:
            cuts = cuts_of_frames(views[0].frames[own], some, span)
        else:
            yield _part(merged, views, keys, own)
            continue
        for begin, end, *within in cuts:
            yield _part(merged, views, keys, slice(own.start + begin, own.start + end), (within[0], within[1]))


def _part(
    merged: Partials, views: list[PartialsView], keys: slice, rows: slice, within: tuple[int, int] | None = None
) -> Chunk:
    made = {id(view): view.part(keys, rows, within) for view in views}
    parts = [made[id(view)] for view in views]
    part = Partials(merged.plan, merged.table.slice(rows.start, rows.stop - rows.start), parts[0].starts)
    return Chunk(part, parts)


def cuts_of_key(merged: Partials, own: PartialsView, windows: int) -> list[Cut]:
    """One key, some of its windows at a time by their numbers: the rows that are in these, and those next to them."""
    assert own.ids is not None
    (first, last), size = own.ids, max(1.0, merged.table.nbytes / len(merged) / BYTES_OF_VALUE)
    begin, counts = windows_of_rows(own, own.ids, merged.plan.axis.windows[0])
    reached = np.cumsum(counts)

    def cuts_of(windows: int) -> list[Cut]:
        cuts = np.arange(windows, reached[-1], windows)
        row = np.searchsorted(reached, cuts, side="left")
        tops = begin[row] + (cuts - (reached - counts)[row]).astype(np.int64) - 1
        high, low = np.append(tops, last.max()), np.append(first.min(), tops + 1)
        begins = np.maximum(np.searchsorted(last, low, side="left") - 1, 0)
        ends = np.minimum(np.searchsorted(first, high, side="right") + 1, len(first))
        return _cuts(begins, ends, low, high)

    cuts = cuts_of(windows)
    again = (sum(end - begin for begin, end, *_ in cuts) - len(first)) * size
    times = again / max(counts.sum(), len(first) * size)  # what chunks share must not cost most
    return cuts_of(math.ceil(windows * times)) if times > 1 else cuts


def cuts_of_frames(frames: Ints, windows: int, span: tuple[int, int]) -> list[Cut]:
    """One key, the windows of some of its rows at a time: these, and the rows that such windows take in."""
    begin = np.arange(0, len(frames), windows)
    low, high = frames[begin], frames[np.append(begin[1:], len(frames)) - 1]
    first, last = np.searchsorted(frames, low - span[0]), np.searchsorted(frames, high + span[1], side="right")
    if (times := (last - first).sum() / len(frames)) > 2 and len(begin) > 1:  # what chunks share must not cost most
        return cuts_of_frames(frames, math.ceil(windows * times), span)
    return _cuts(first, last, low, high)


def _cuts(*columns: Ints) -> list[Cut]:
    return list(zip(*(column.tolist() for column in columns), strict=True))


def windows_of_rows(view: PartialsView, ids: WindowIds, windows: Windows) -> tuple[Ints, Floats]:
    """The first window that each row brings, and how many it brings."""
    begin = entering(ids.first, ids.last, view.starts, windows.emits_empty)
    counts = ids.last + 1.0 - begin
    return begin, np.maximum(counts, 0.0, out=counts)


def windows_of_keys(plan: Plan, views: list[PartialsView]) -> Floats:
    """About how many windows each key has; as many as partials where their kind does not say."""
    starts, ends = views[0].starts, views[0].ends
    total = np.zeros(len(starts))
    for windows, view in zip(plan.axis.windows, views, strict=True):
        if view.given is not None:
            total += view.given.counts
        elif view.ids is None:
            total += ends - starts
        else:
            total += np.add.reduceat(windows_of_rows(view, view.ids, windows)[1], starts)
    return total


def result_bytes(merged: Partials) -> float:
    """About how many bytes the results of merged partials take; of lists and strings, only where each ends."""
    if not len(merged):
        return 0.0
    plan = merged.plan
    merged = filled_up(merged) if plan.axis.fill_frames else merged
    keys, some = len(plan.by), 1 << 10
    row = sum(pa.nulls(some, kind).nbytes for kind in plan.result_schema.types[len(plan.result_keys) :]) / some
    own = sum(column.nbytes for column in merged.table.columns[:keys]) / len(merged)
    return float(windows_of_keys(plan, views_of(merged)).sum() * (row + own))
