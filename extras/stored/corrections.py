"""What corrects a stored table: events taken out of its partials, keys removed from it."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

import numpy as np
import pyarrow as pa

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.errors import QueryError
from ...runtime.partials.partials import Partials
from .commits import Commit, Run
from .layout import START, Layout
from .table import Change, Table, Written, is_of_keys, run_of
from .upkeep import names


def delete(table: Table, layout: Layout, part: Partials, run: str) -> Run:
    """Take merged partials of events out of those that are stored.

    Raises
    ------
    QueryError
        If an output has no exact deduct, or there are no such events.
    """
    given, word = layout.rows(part, run), layout.word
    starts = layout.starts(given)
    first, until = (int(starts.min()), int(layout.ends(given).max())) if len(given) else (0, 0)
    refresh = f"expected .refresh(..., since={word(first)!r}, until={word(until)!r}) with the events left"
    inexact = [f"{name} ({why})" for name, bound in layout.plan.outputs.items() if (why := why_not(bound))]
    if inexact:
        raise QueryError(
            f"the events to be deleted are in {len(np.unique(starts))} frames, and cannot be taken out of "
            f"{', '.join(inexact)}; {refresh}"
        )

    is_in = False

    def deleted(before: Commit, change: Change) -> Commit:
        nonlocal is_in
        is_in = before.run(run) is not None
        if is_in or not len(given):
            return before
        layout, rows = change.layout, change.given(given)
        near = [each for each in before.parts if each.first < until and each.end > first]
        found = {each: layout.in_frame(table.read(layout, [each], [*layout.plan.by, START]), rows) for each in near}
        touched = [each for each in near if found[each].any()]
        there = [table.read(layout, [each]).filter(pa.array(found[each])) for each in touched]
        total = layout.merged(pa.concat_tables([rows[:0], *there]), run)
        left = without(layout, total, rows, run)
        if left is None:
            raise QueryError(
                f"the events to be deleted are not all in stored frames of that length, from {word(first)} to "
                f"{word(until)}; {refresh}"
            )
        files = [each for each in before.files if each not in touched]
        files += change.rewritten(touched, lambda stored: ~layout.in_frame(stored, rows))
        some = layout.counts(left) > 0
        new = change.write(left.filter(pa.array(some)), (run,), names(touched))
        marks = change.marked(total.filter(pa.array(~some)), run)
        taken_out = run_of(run, Written(new, -int(layout.counts(rows).sum())))
        return replace(before, runs=(*before.runs, taken_out), files=(*files, *new, *marks))

    found = table.change(layout, deleted).run(run) or run_of(run, Written([], 0))
    return replace(found, added=not is_in)


def why_not(bound: BoundAggregate) -> str:
    """Why states cannot be taken out of states, in words; none where they can."""
    exact, why = bound.deducts
    if not exact:
        return f"{bound.spec!r}: {why}"
    return f"{bound.spec!r}: its sums of floats are rounded" if bound.compensated else ""


def without(layout: Layout, total: pa.Table, rows: pa.Table, run: str) -> pa.Table | None:
    """Rows without others of the same keys and frames; None where there are others, or fewer events."""
    pairs = list(zip_longest(layout.by_length(total), layout.by_length(rows), fillvalue=(0, None)))
    left = [rows[:0]]
    for (length, whole), (other, part) in pairs:
        if length != other or whole is None or part is None or not np.array_equal(whole.frames, part.frames):
            return None
        left.append(layout.rows(deducted(layout, whole, part), run, (whole.frames, whole.frames + length)))
    found = pa.concat_tables(left)
    return found if layout.counts(found).min(initial=0) >= 0 else None


def deducted(layout: Layout, whole: Partials, part: Partials) -> Partials:
    """Partials without others of the same keys and frames.

    The first and the last time of a frame stay as they are: they are in it, whichever events are left.
    """
    plan = layout.plan
    states = {name: whole.states(name) for name in plan.states}
    for name in (plan.input_state("rows"), *plan.outputs):
        states[name] = plan.states[name].deduct(states[name], part.states(name))
    return Partials.of_states(plan, whole.keys, [whole.frames, np.zeros(len(whole), np.int64)], states)


def forget(table: Table, layout: Layout, keys: pa.Table) -> list[str]:
    """Remove the rows of some keys; gives the files that have them still, which only earlier commits name."""
    gone: list[str] = []

    def forgotten(before: Commit, change: Change) -> Commit:
        files = change.rewritten(before.files, lambda rows: ~is_of_keys(rows, keys))
        gone[:] = [each.path for each in before.files if each not in files]
        gone.extend(each.path for each in before.rollups if not {*gone}.isdisjoint(each.of))
        return replace(before, files=tuple(files)) if gone else before

    table.change(layout, forgotten)
    return gone
