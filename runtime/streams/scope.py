"""Which queries a stream answers, and how: with partials as they come, or with events held back."""

from __future__ import annotations

from dataclasses import replace

from ..plan.plan import Plan, named_states, partials_schema
from ..plan.window_inputs import window_input
from ..windows import Windows
from ..windows.around import AroundRows, AroundTime
from ..windows.cumulating import Cycles
from ..windows.from_table import Anchored
from ..windows.landmark import Bounded
from ..windows.last_rows import RowSteps, TimeCounts
from ..windows.policy import Triggered
from ..windows.session import Sessions
from ..windows.sliding import TickSteps
from ..windows.snapshot import Snapshots


def counted(plan: Plan) -> Plan:
    """A plan whose partials have what a stream must know of them beside what the windows need.

    The number of their events, so that dropped ones can be counted; and of some kinds their row numbers, their first
    and their last time.
    """
    names = {"rows"}
    if plan.in_rows:
        names |= {"rank", "first", "last"}
    elif holds(plan) or any(getattr(each, "empty", "skip") == "emit" for each in plan.axis.windows):
        names |= {"first", "last"}
    elif any(isinstance(each, Anchored) for each in plan.axis.windows):
        names |= {"first"}
    inputs = plan.window_inputs | {name: window_input(name) for name in sorted(names)}
    keys = [plan.partials_schema.field(at) for at in range(len(plan.by))]
    schema = partials_schema(keys, named_states(inputs, plan.outputs), plan.until is not None)
    return replace(plan, window_inputs=inputs, partials_schema=schema)


def holds(plan: Plan) -> bool:
    """Whether events are held back until the watermark has passed them, for an answer that depends on their order."""
    windows = plan.axis.windows
    if plan.ordered or plan.in_rows or any(each.emit != "every" for each in windows):
        return True
    return any(depends_on_others(each, len(windows)) for each in windows)


def depends_on_others(windows: Windows, kinds: int) -> bool:
    """Whether windows that are still open, or to come, depend on events whose own have closed."""
    if isinstance(windows, (TickSteps, Cycles)):
        return getattr(windows, "min_fill", "partial") == "full"
    if isinstance(windows, Sessions):
        return kinds > 1 or windows.longest is not None
    if isinstance(windows, Anchored):
        return not windows.keys
    return not isinstance(windows, Snapshots)


def close_as_they_end(plan: Plan) -> bool:
    """Whether windows close where they end, so that no result is of a window that an earlier watermark has passed."""
    return all(
        (isinstance(each, (TickSteps, Cycles)) and each.closed == "left")
        or (isinstance(each, Sessions) and not each.merge_touching)
        for each in plan.axis.windows
    )


def in_sequence(plan: Plan) -> bool:
    """Whether some windows count partials, so that all of them must be there from the first one that is needed."""
    return any(isinstance(each, (RowSteps, TimeCounts, AroundRows, AroundTime)) for each in plan.axis.windows)


def why_not(plan: Plan) -> str | None:
    """Why a stream cannot answer a query, in words; None where it can."""
    windows = plan.axis.windows
    if plan.until is not None:
        if plan.axis.each_row:
            return "events have an end, and the order of events matters to an operation"
        if plan.ties:
            return "events have an end, and ties= asks for an order of those of one time"
        if holds(plan):
            return "events have an end, and windows depend on those before them"
        if any(getattr(each, "empty", "skip") == "emit" for each in windows):
            return "events have an end, and empty='emit' asks for windows without one"
    for each in windows:
        if each.fill is not None:
            return "windows are filled (fill_from=, fill_to=), and which keys there are is known at the end only"
        if isinstance(each, Anchored) and each.keys and each.empty == "emit":
            return "windows of given keys are given without an event, too; expected empty='skip'"
        if isinstance(each, Triggered) and each.evict.kind == "delta" and each.min_fill == "full":
            return "min_fill='full' depends on the first eviction of each key, however long ago it was"
        if len(windows) == 1:
            continue
        if isinstance(each, Triggered) or (isinstance(each, TimeCounts) and each.every > 1):
            return f"there are several kinds of windows in one pass, among them {each.named}"
        if isinstance(each, Bounded):
            return f"there are several kinds of windows in one pass, among them {each.named}"
        if getattr(each, "empty", "skip") == "emit" and not isinstance(each, Anchored):
            return "there are several kinds of windows in one pass, and empty='emit' asks for those without an event"
    return None


def why_no_revisions(plan: Plan) -> str | None:
    """Why closed windows cannot take late events and be given again, in words; None where they can."""
    windows = plan.axis.windows
    if len(windows) > 1 or not isinstance(windows[0], (TickSteps, Cycles)):
        return f"a late event can change which windows there are of {windows[0].named}, not only what is in them"
    if holds(plan):
        return "the answer depends on the order of events, which are held back until the watermark has passed them"
    if plan.until is not None:
        return "events have an end"
    if windows[0].empty == "emit":
        return "windows without an event are asked for"
    return None
