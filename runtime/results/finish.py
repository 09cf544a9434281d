"""The results of chunks of merged partials: their windows are slid, then laid out as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.operation import State
from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import fitting, longest_text, take
from ...aggregators.states.objects import Objects
from ...aggregators.states.ragged import RaggedField
from ..columns.malloc import raise_mmap_threshold
from ..frames.partials_view import PartialsView
from ..frames.window_ranges import Coverage, Ranges
from ..frames.windows import Windows
from ..intervals.coverage import cover
from ..intervals.lifespans import Lifespans, lifespans, states_of_lifespans
from ..partials.partials import Partials
from ..sliding.range_facts import RangeFacts
from ..sliding.slide import way_of
from ..tuning import CHUNK_WINDOWS
from .beside import beside
from .chunks import Chunk, chunks
from .filled import filled
from .layout import lay_out, spread
from .over_ranges import Column, Finish, finished_in_runs, results_over

Found = Ranges | Coverage | Lifespans
"""The windows of one kind over a chunk: ranges of its rows, or what each of its rows is in."""


class Wanted(Protocol):
    """Which windows over some partials to compute."""

    def numbers(self, windows: Windows) -> tuple[int, int] | None:
        """(first, last) number of the wanted windows, so that no others are made; None: make all."""

    def among(self, windows: Windows, found: Ranges | Coverage, view: PartialsView) -> Ints | None:
        """Indices of the wanted windows in the ranges that were made, ascending; None: all."""


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
    parts = chunks(merged, chunk_windows or CHUNK_WINDOWS)
    found = (results_of(chunk, wanted) for chunk in parts)
    yield from filled(merged.plan, found) if merged.plan.filled else found


def results_of(chunk: Chunk, wanted: Wanted | None = None) -> pa.Table:
    """The results of one of the :func:`chunks`, whatever thread works on it; see :func:`results`."""
    raise_mmap_threshold()
    windows = windows_of(chunk) if wanted is None else wanted_windows(chunk, wanted)
    return finish(chunk, windows, results_of_windows(chunk.partials, windows))


def counted_results(number: int, chunk: Chunk, wanted: Wanted | None = None) -> tuple[int, pa.Table]:
    """How many partials a chunk has, and its results; whatever its number."""
    return len(chunk.partials), results_of(chunk, wanted)


def wanted_windows(chunk: Chunk, wanted: Wanted) -> list[Found]:
    """The windows of each kind over a chunk that are wanted."""
    kinds = chunk.plan.axis.windows
    numbers = [wanted.numbers(windows) for windows in kinds]
    views = [
        view if within is None else replace(view, within=common(within, view.within or within))
        for view, within in zip(chunk.views, numbers, strict=True)
    ]
    found = windows_of(chunk._replace(views=views))
    for at, (windows, view) in enumerate(zip(kinds, views, strict=True)):
        each = found[at]
        kept = wanted.among(windows, each.ranges if isinstance(each, Lifespans) else each, view)
        found[at] = each if kept is None else each.where(kept)
    return found


def common(some: tuple[int, int], others: tuple[int, int]) -> tuple[int, int]:
    """The first and the last number that are in both of two runs."""
    return max(some[0], others[0]), min(some[1], others[1])


def windows_of(chunk: Chunk) -> list[Found]:
    """The windows of each kind over a chunk."""
    plan = chunk.plan
    if plan.until is None:
        return [plan.axis.ranges(number, view) for number, view in enumerate(chunk.views)]
    return [lifespans(each, view) for each, view in zip(plan.axis.windows, chunk.views, strict=True)]


def results_of_windows(partials: Partials, windows: list[Found]) -> Iterator[Iterator[Column]]:
    """For each output: the results of each kind of its windows. Take them before those of the next output."""
    plan = partials.plan
    facts = {at: RangeFacts(each.low, each.high) for at, each in enumerate(windows) if isinstance(each, Ranges)}
    irregular = [at for at, each in facts.items() if len(facts) > 1 and len(each.low) and not each.in_runs]
    joined: dict[tuple[int, ...], RangeFacts] = {}
    for name in plan.outputs:
        states, bound = partials.states(name), plan.states[name]
        finish = partial(finished_in_runs, plan.outputs[name], longest_texts(partials, name))
        numbers, together = tuple(at for at in irregular if at in plan.over[name]), dict[int, Column]()
        if len(numbers) > 1 and way_of(bound) == "kernels":  # these pass over the states once for all ranges of a tile
            if numbers not in joined:
                joined[numbers] = RangeFacts.joined([facts[at] for at in numbers])
            whole, start = results_over(bound, states, joined[numbers], finish), 0
            for at in numbers:
                size = len(facts[at].low)
                together[at], start = whole.slice(start, size), start + size
        yield (
            together[at]
            if at in together
            else finished_over(bound, states, plan.axis.windows[at], windows[at], finish, facts.get(at))
            for at in plan.over[name]
        )


def finished_over(
    bound: BoundAggregate,
    states: State,
    windows: Windows,
    found: Found,
    finish: Finish,
    facts: RangeFacts | None = None,
) -> Column:
    """The results of an output, or a window input, over one kind of windows; ``finish`` makes them of states."""
    if isinstance(found, Ranges):
        return results_over(bound, states, facts or RangeFacts(found.low, found.high), finish)
    if isinstance(found, Coverage):
        return finish(cover(bound, states, found.first, found.last, len(found.row)))
    return finish(states_of_lifespans(bound, states, found, windows.whole_frames))


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
    if plan.axis.beside is not None:
        return beside(chunk, kinds, outputs_of(chunk, windows, results))
    several = None if len(kinds) == 1 else lay_out(kinds, plan.apart, chunk.views[0], plan.until is not None)
    rows = several or kinds[0]
    bounds = [plan.times.bounds(rows.start), plan.times.bounds(rows.end, never=plan.until is not None)]
    if pa.types.is_struct(kind := plan.result_schema.types[len(plan.by)]):
        bounds = [pa.StructArray.from_arrays(bounds, fields=list(kind))]
    columns = chunk.keys_of(rows.row)
    columns += bounds
    if plan.axis.stamped:
        assert rows.at is not None
        at = plan.times.bounds(rows.at)
        columns.append(at if several is None else pc.if_else(several.stamped, at, pa.scalar(None, at.type)))
    for name, finished in outputs_of(chunk, windows, results):
        if several is None:
            columns += finished
        else:
            columns.append(spread(finished, [several.places[number] for number in plan.over[name]], len(rows.row)))
    return pa.Table.from_arrays(columns, schema=plan.result_schema)


def outputs_of(
    chunk: Chunk, windows: list[Found], results: Iterable[Iterable[Column]]
) -> Iterator[tuple[str, list[Column]]]:
    """The name of each output, and its results over each kind of its windows: null where these have too few samples."""
    plan = chunk.plan
    for name, each_kind in zip(plan.outputs, results, strict=True):
        finished = list(each_kind)
        if name in plan.samples:
            pairs = zip(plan.over[name], finished, strict=True)
            finished = [with_samples(chunk.partials, name, number, windows[number], each) for number, each in pairs]
        if plan.filled.get(name) == "linear":
            finished = [each.cast(pa.float64(), safe=False) for each in finished]
        yield name, finished


def with_samples(partials: Partials, name: str, number: int, found: Found, results: Column) -> Column:
    """The results of an output over one kind of windows, null where these have less than its ``min_samples``."""
    plan = partials.plan
    windows, samples = plan.axis.windows[number], plan.input_state(plan.samples[name])
    if not windows.min_samples:
        return results
    counts = plan.states[samples]
    count = finished_over(counts, partials.states(samples), windows, found, counts.finish, None)
    few = count.to_numpy() < windows.min_samples
    return fitting(take(results, pa.array(np.arange(len(few)), mask=few)), results.type) if few.any() else results


def longest_texts(partials: Partials, name: str) -> dict[str, int]:
    """The bytes of the longest text of each field of an output's states that may have any."""
    return {
        key: max(longest_text(partials.table.column(column)) for column in columns)
        for key, columns in partials.plan.state_columns[name].items()
        if isinstance(partials.plan.outputs[name].fields[key], (RaggedField, Objects))
    }
