"""Merged partials to results: in chunks that fit memory, whose windows are slid and finished."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.errors import OperationError
from ...aggregators.ranges.item_ranges import is_range
from ...aggregators.states import large
from ...aggregators.states.arrays import Bools, Floats, Ints
from ...aggregators.states.large import fitting, is_limited, joined, runs, take
from ...aggregators.states.objects import HeldObjects, Objects
from ...aggregators.states.ragged import RaggedField, leaves
from ...aggregators.states.rows import take as states_at
from ..columns.key_codes import one_array
from ..columns.malloc import raise_mmap_threshold
from ..frames.window_ranges import WindowIds, entering
from ..intervals import coverage
from ..intervals.lifespans import Lifespans, lifespans, states_of_lifespans
from ..partials.fill import filled_up
from ..partials.partials import Partials
from ..plan.plan import Plan
from ..sliding.slide import choose
from ..sliding.tiles import RangeFacts
from ..windows import MAX_WINDOWS, Coverage, PartialsView, Ranges, Windows
from .layout import lay_out, spread
from .over_ranges import Column, results_over

Found = Ranges | Coverage | Lifespans
"""The windows of one kind over a chunk: ranges of its rows, or what each of its rows is in."""

CHUNK_WINDOWS = 1 << 18
"""Windows that are slid at a time: few enough that threads get equal shares, and reuse each other's memory."""

CHUNK_BYTES, CHUNK_BYTES_OF_RANGES, CHUNK_BYTES_OF_LISTS = 64 << 20, 8 << 20, 4 << 20
"""Bytes of partials that are slid at a time; ranges of values need codes, too, and states that are lists grow."""

BYTES_OF_VALUE = 32
"""Bytes of a partial, about, that cost as much as a window does."""


class Chunk(NamedTuple):
    """Some merged partials, and how each kind of windows sees them."""

    partials: Partials
    views: list[PartialsView]

    @property
    def plan(self) -> Plan:
        """What is computed."""
        return self.partials.plan


class Wanted(Protocol):
    """Which windows are wanted of all that there are over some partials."""

    def numbers(self, windows: Windows) -> tuple[int, int] | None:
        """The numbers of the first and the last one wanted, so that no others are made; None: all are to be."""

    def among(self, windows: Windows, found: Ranges | Coverage, view: PartialsView) -> Ints | None:
        """The places of the wanted ones among those that are made; None: all of them."""


def results(merged: Partials, chunk_windows: int | None = None, wanted: Wanted | None = None) -> Iterator[pa.Table]:
    """The results of merged partials of whole keys, sorted by key and window, in chunks of bounded size.

    Parameters
    ----------
    merged
        From :func:`~framefold.runtime.partials.merge.merge`.
    chunk_windows
        About how many windows a chunk has, see :func:`chunks`; :data:`CHUNK_WINDOWS` where None.
    wanted
        The windows that are wanted; None: all.

    Yields
    ------
    At least one table of the plan's ``result_schema``, maybe empty.
    """
    for chunk in chunks(merged, chunk_windows or CHUNK_WINDOWS):
        yield results_of(chunk, wanted)


def results_of(chunk: Chunk, wanted: Wanted | None = None) -> pa.Table:
    """The results of one of the :func:`chunks`, whatever thread works on it; see :func:`results`."""
    raise_mmap_threshold()
    windows = windows_of(chunk) if wanted is None else wanted_windows(chunk, wanted)
    return finish(chunk, windows, results_of_windows(chunk.partials, windows))


def wanted_windows(chunk: Chunk, wanted: Wanted) -> list[Found]:
    """The windows of each kind over a chunk that are wanted."""
    kinds = chunk.plan.axis.windows
    numbers = [wanted.numbers(windows) for windows in kinds]
    views = [
        view if within is None else replace(view, within=common(within, view.within))
        for view, within in zip(chunk.views, numbers, strict=True)
    ]
    found = windows_of(chunk._replace(views=views))
    for at, (windows, view) in enumerate(zip(kinds, views, strict=True)):
        each = found[at]
        kept = wanted.among(windows, each.ranges if isinstance(each, Lifespans) else each, view)
        found[at] = each if kept is None else each.where(kept)
    return found


def common(some: tuple[int, int], others: tuple[int, int] | None) -> tuple[int, int]:
    """The first and the last number that are in both of two runs."""
    return some if others is None else (max(some[0], others[0]), min(some[1], others[1]))


def windows_of(chunk: Chunk) -> list[Found]:
    """The windows of each kind over a chunk."""
    plan = chunk.plan
    if plan.until is None:
        return [plan.axis.ranges(number, view) for number, view in enumerate(chunk.views)]
    return [lifespans(each, view) for each, view in zip(plan.axis.windows, chunk.views, strict=True)]


def results_of_windows(partials: Partials, windows: list[Found]) -> Iterator[Iterator[Column]]:
    """For each output the results of each kind of windows that it is over, to be taken before those of the next one."""
    plan = partials.plan
    facts = [RangeFacts(each.low, each.high) if isinstance(each, Ranges) else None for each in windows]
    for name in plan.outputs:
        states = partials.states(name)
        finish = partial(finished_in_runs, plan, name, longest_texts(partials, name))
        yield (
            finished_over(plan, name, states, number, windows[number], finish, facts[number])
            for number in plan.over[name]
        )


def finished_over(
    plan: Plan,
    name: str,
    states: State,
    number: int,
    found: Found,
    finish: Callable[[State], Column],
    facts: RangeFacts | None = None,
) -> Column:
    """The results of an output, or a window input, over one kind of windows; ``finish`` makes them of states."""
    bound = plan.states[name]
    if isinstance(found, Ranges):
        ranges = facts or RangeFacts(found.low, found.high)
        return results_over(bound, states, ranges, choose(plan, name, number).way, finish)
    way = coverage.choose(plan, name, number).way
    if isinstance(found, Coverage):
        return finish(coverage.cover(bound, states, found.first, found.last, len(found.row), way))
    whole = plan.axis.windows[number].whole_frames
    return finish(states_of_lifespans(bound, states, found, whole, way))


def too_few(partials: Partials, name: str, windows: list[Found]) -> Iterator[Bools | None]:
    """For each kind of windows of an output: a mask of the windows below min_samples, or None."""
    plan = partials.plan
    for number in plan.over[name]:
        least = plan.axis.windows[number].min_samples
        if not least or name not in plan.samples:
            yield None
            continue
        samples = plan.input_state(plan.samples[name])
        states, count = partials.states(samples), plan.states[samples].finish
        few: Bools = finished_over(plan, samples, states, number, windows[number], count).to_numpy() < least
        yield few if few.any() else None


def finish(chunk: Chunk, windows: list[Found], results: Iterable[Iterable[Column]]) -> pa.Table:
    """The results of a chunk: keys, windows, ``at`` where windows have it, outputs; sorted by key and window.

    Parameters
    ----------
    chunk
        The partials that the windows are over.
    windows
        The windows of each kind.
    results
        For each output, the results of the windows of each kind that it is over. They are taken one after the other.
    """
    plan, kinds = chunk.plan, [each.ranges if isinstance(each, Lifespans) else each for each in windows]
    several = None if len(kinds) == 1 else lay_out(kinds, chunk.views[0].starts)
    rows = several or kinds[0]
    taken = None if each_row(rows.row, len(chunk.partials)) else pa.array(rows.row)
    bounds = [plan.times.bounds(rows.start), plan.times.bounds(rows.end, never=plan.until is not None)]
    if pa.types.is_struct(kind := plan.result_schema.types[len(plan.by)]):
        bounds = [pa.StructArray.from_arrays(bounds, fields=list(kind))]
    columns = [one_array(column) for column in chunk.partials.table.columns[: len(plan.by)]]
    columns = columns if taken is None else [take(column, taken) for column in columns]
    columns = [
        fitting(plan.values_of_key(number, column), plan.result_schema.types[number])
        for number, column in enumerate(columns)
    ]
    columns += bounds
    if plan.axis.stamped:
        assert rows.at is not None
        at = plan.times.bounds(rows.at)
        columns.append(at if several is None else pc.if_else(several.stamped, at, pa.scalar(None, at.type)))
    for name, each_kind in zip(plan.outputs, results, strict=True):
        finished = list(each_kind)
        if name in plan.samples:
            few = too_few(chunk.partials, name, windows)
            finished = [each if no is None else without(each, no) for each, no in zip(finished, few, strict=True)]
        if several is None:
            columns += finished
        else:
            columns.append(spread(finished, [several.places[number] for number in plan.over[name]], len(rows.row)))
    return pa.Table.from_arrays(columns, schema=plan.result_schema)


def longest_texts(partials: Partials, name: str) -> dict[str, int]:
    """The bytes of the longest text of each field of an output's states that may have any."""
    return {
        key: max(large.longest_text(partials.table.column(column)) for column in columns)
        for key, columns in partials.plan.state_columns[name].items()
        if isinstance(partials.plan.outputs[name].fields[key], (RaggedField, Objects))
    }


def finished_in_runs(plan: Plan, name: str, longest: Mapping[str, int], states: State) -> Column:
    """The results of an output's states, in several arrays where one has no room for them.

    Raises
    ------
    OperationError
        If it has none for the result of a single state.
    """
    bound = plan.outputs[name]
    found: list[Ints] = []
    for key, length in longest.items():
        kind = bound.fields[key]
        assert isinstance(kind, (RaggedField, Objects))
        sizes = kind.sizes(states[key], length)
        found += [] if sizes is None else [sizes]
    if not found:
        return bound.finish(states)
    each = np.maximum.reduce(found)
    if is_limited(bound.result) and int(each.max()) > large.ARRAY_BYTES:
        raise OperationError(
            f"{bound.spec!r} for {name!r} has {int(each.max()):,} items or bytes of text in one window, and a value of "
            f"{bound.result} has room for {large.ARRAY_BYTES:,}; expected shorter windows, or a column of large strings"
        )
    return joined([bound.finish(states_at(states, run)) for run in runs(each)])


def each_row(rows: Ints, count: int) -> bool:
    """Whether some rows are all of ``count``, one after the other."""
    return len(rows) == count and is_range(rows)


def without(column: pa.Array | pa.ChunkedArray, some: Bools) -> pa.Array | pa.ChunkedArray:
    """A column with nulls at some places."""
    return fitting(take(column, pa.array(np.arange(len(column)), mask=some)), column.type)


def views_of(merged: Partials) -> list[PartialsView]:
    """How each kind of windows sees merged partials; the windows of each row are numbered here, once."""
    assert merged.starts is not None
    first = pa.array(merged.starts)
    keys = tuple(one_array(take(column, first)) for column in merged.table.columns[: len(merged.plan.by)])
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
    counts = windows_of_keys(plan, views)
    kinds = [kind for bound in plan.outputs.values() for kind in bound.fields.values()]
    sizes = {chunk_bytes(plan, bound) for bound in plan.outputs.values()}
    stores = [leaf.store for kind in kinds for leaf in leaves(kind) if isinstance(leaf, HeldObjects)]
    held = sum(int(store.bytes) for store in stores)
    rows = max(1, min(sizes) * len(merged) // max(merged.table.nbytes + held, 1))
    ends = np.append(starts[1:], len(merged))
    weights = np.maximum(counts / windows, (ends - starts) / rows)
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
            yield from chunks_of_key(merged, views[0], keys, own, some)
        elif span is not None and heavy[first]:
            yield from chunks_of_frames(merged, views[0], keys, own, some, span)
        else:
            yield _part(merged, views, keys, own)


def chunk_bytes(plan: Plan, bound: BoundAggregate) -> int:
    """The bytes of partials of a chunk for an output."""
    if not any(isinstance(kind, (RaggedField, Objects)) for kind in bound.fields.values()):
        return CHUNK_BYTES
    return CHUNK_BYTES_OF_RANGES if bound.answers_ranges and plan.until is None else CHUNK_BYTES_OF_LISTS


def _part(
    merged: Partials, views: list[PartialsView], keys: slice, rows: slice, within: tuple[int, int] | None = None
) -> Chunk:
    parts = [view.part(keys, rows, within) for view in views]
    part = Partials(merged.plan, merged.table.slice(rows.start, rows.stop - rows.start), parts[0].starts)
    return Chunk(part, parts)


def chunks_of_key(merged: Partials, view: PartialsView, keys: slice, rows: slice, windows: int) -> Iterator[Chunk]:
    """One key, some of its windows at a time by their numbers: the rows that are in these, and those next to them."""
    own = view.part(keys, rows)
    ids = own.ids
    assert ids is not None
    begin, counts = windows_of_rows(own, ids, merged.plan.axis.windows[0])
    cuts = cuts_of_key(own, ids, begin, counts, windows)
    size = max(1.0, merged.table.nbytes / len(merged) / BYTES_OF_VALUE)
    again = (sum(last - first for first, last, *_ in cuts) - len(own.frames)) * size
    if (times := again / max(counts.sum(), len(own.frames) * size)) > 1:  # what chunks share must not cost most
        cuts = cuts_of_key(own, ids, begin, counts, math.ceil(windows * times))
    for first, last, *within in cuts:
        yield _part(merged, [view], keys, slice(rows.start + first, rows.start + last), (within[0], within[1]))


def chunks_of_frames(
    merged: Partials, view: PartialsView, keys: slice, rows: slice, windows: int, span: tuple[int, int]
) -> Iterator[Chunk]:
    """One key, the windows of some of its rows at a time: these, and the rows that such windows take in."""
    frames = view.frames[rows]
    begin = np.arange(0, len(frames), windows)
    own = frames[begin], frames[np.append(begin[1:], len(frames)) - 1]
    first, last = (np.searchsorted(frames, own[0] - span[0]), np.searchsorted(frames, own[1] + span[1], side="right"))
    if (times := (last - first).sum() / len(frames)) > 2 and len(begin) > 1:  # what chunks share must not cost most
        yield from chunks_of_frames(merged, view, keys, rows, math.ceil(windows * times), span)
        return
    for begins, ends, *within in zip(first.tolist(), last.tolist(), *(each.tolist() for each in own), strict=True):
        yield _part(merged, [view], keys, slice(rows.start + begins, rows.start + ends), (within[0], within[1]))


def cuts_of_key(
    own: PartialsView, ids: WindowIds, begin: Ints, counts: Floats, windows: int
) -> list[tuple[int, int, int, int]]:
    """The chunks of a key with about some windows each: the first row, the one past the last, the windows' numbers."""
    reached = np.cumsum(counts)
    cuts = np.arange(windows, reached[-1], windows)
    row = np.searchsorted(reached, cuts, side="left")
    tops = begin[row] + (cuts - (reached - counts)[row]).astype(np.int64) - 1
    high = np.append(tops, ids.last.max())
    low = np.append(ids.first.min(), tops + 1)
    first = np.maximum(np.searchsorted(ids.last, low, side="left") - 1, 0)
    last = np.minimum(np.searchsorted(ids.first, high, side="right") + 1, len(own.frames))
    return list(zip(first.tolist(), last.tolist(), low.tolist(), high.tolist(), strict=True))


def windows_of_rows(view: PartialsView, ids: WindowIds, windows: Windows) -> tuple[Ints, Floats]:
    """The first window that each row brings, and how many it brings."""
    begin = entering(ids, view.starts, windows.emits_empty)
    counts = ids.last + 1.0 - begin
    return begin, np.maximum(counts, 0.0, out=counts)


def windows_of_keys(plan: Plan, views: list[PartialsView]) -> Floats:
    """About how many windows each key has; as many as partials where their kind does not say."""
    starts = views[0].starts
    total = np.zeros(len(starts))
    for windows, view in zip(plan.axis.windows, views, strict=True):
        if view.ids is not None:
            total += np.add.reduceat(windows_of_rows(view, view.ids, windows)[1], starts)
        else:
            total += view.ends - starts
    return total


def result_bytes(merged: Partials) -> float:
    """About how many bytes the results of merged partials take; of lists and strings, only where each ends."""
    if not len(merged):
        return 0.0
    plan = merged.plan
    merged = filled_up(merged) if plan.axis.fill_frames else merged
    keys, some = len(plan.by), 1 << 10
    row = sum(pa.nulls(some, kind).nbytes for kind in plan.result_schema.types[keys:]) / some
    own = sum(column.nbytes for column in merged.table.columns[:keys]) / len(merged)
    return float(windows_of_keys(plan, views_of(merged)).sum() * (row + own))
