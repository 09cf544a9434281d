"""The stages of a plan on tables, for tests that run one by itself."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from framefold.aggregators.states.large import one_array
from framefold.runtime.accumulate.accumulate import accumulate as partials_of
from framefold.runtime.columns.malloc import raise_mmap_threshold
from framefold.runtime.intervals.coverage import cover, over_frames, way_of
from framefold.runtime.partials.combine import combine_groups
from framefold.runtime.partials.merge import merge as merged
from framefold.runtime.partials.partials import Partials
from framefold.runtime.results import blocks
from framefold.runtime.results.blocks import Blocked, in_window_blocks
from framefold.runtime.results.chunks import chunks
from framefold.runtime.results.finish import results as results_in_chunks
from framefold.runtime.results.over_ranges import results_over
from framefold.runtime.sliding import slide as sliding
from framefold.runtime.sliding.range_facts import RangeFacts

from .plans import BoundAggregate, Plan


def slide(bound: BoundAggregate, states: Any, low: Any, high: Any, way: Any = None) -> Any:
    """The states of window ranges."""
    return sliding.slide(bound, states, RangeFacts(low, high), way)


def accumulate(plan: Plan, events: pa.Table, batch_rank: int) -> pa.Table:
    """The partials of a portion of events, as a table."""
    return partials_of(plan, events, batch_rank).table


def merge(plan: Plan, partials: pa.Table) -> pa.Table:
    """One partial for each key and frame, as a table."""
    return merged(Partials(plan, partials)).table


def in_batches(plan: Plan, events: pa.Table, count: int) -> pa.Table:
    """The partials of events in at most so many batches, which are done in any order."""
    rows = -(-len(events) // count)
    partials = [accumulate(plan, events.slice(part * rows, rows), part) for part in range(count)]
    random.Random(count).shuffle(partials)
    return pa.concat_tables(partials)


def results(plan: Plan, partials: pa.Table) -> pa.Table:
    """The results of partials of any portions."""
    return pa.concat_tables(results_in_chunks(merged(Partials(plan, partials))))


def over_ranges(bound: BoundAggregate, states: Mapping[str, Any], low: Any, high: Any) -> pa.Array:
    """The results of an operation that answers ranges, for half-open ranges of rows of its states."""
    return results_over(bound, states, RangeFacts(low, high))


def states_of(plan: Plan, partials: pa.Table, name: str) -> Any:
    """The states of an output in partials."""
    return Partials(plan, partials).states(name)


def release(plan: Plan, partials: pa.Table) -> None:
    """Let go of the held objects of all partials but these."""
    Partials(plan, partials).release_others()


def with_neighbours(blocked: Plan, plan: Plan, partials: pa.Table) -> pa.Table:
    """Partials of a plan, with copies of those that the blocks beside their own need as well."""
    return blocks.with_neighbours(blocked, Partials(plan, partials)).table
