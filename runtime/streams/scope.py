"""Which queries a stream answers."""

from __future__ import annotations

from ..frames.numbered import NumberedWindows
from ..plan.plan import Plan, with_states
from ..plan.window_inputs import window_input


def counted(plan: Plan) -> Plan:
    """The plan with the window inputs that only a stream needs.

    These are the number of events of each partial, so that dropped ones can be counted; for some kinds of windows also
    its row number, first time and last time.
    """
    names = {"rows"}.union(*(each.stream_inputs for each in plan.axis.windows))
    if plan.in_rows:
        names |= {"rank", "first", "last"}
    elif holds(plan):
        names |= {"first", "last"}
    inputs = plan.window_inputs | {name: window_input(name) for name in sorted(names)}
    return with_states(plan, window_inputs=inputs)


def holds(plan: Plan) -> bool:
    """Whether a query depends on the order of events, which are then held back until the watermark has passed them."""
    windows = plan.axis.windows
    if plan.ordered or plan.in_rows or any(each.emit != "every" for each in windows):
        return True
    return any(each.needs_order(alone=len(windows) == 1) for each in windows)


def why_not(plan: Plan) -> str | None:
    """Why a stream cannot answer a query, in words; None where it can."""
    windows = plan.axis.windows
    if plan.axis.beside in ("event", "label"):
        return "its results are beside events or labels, and windows are given as they close"
    if plan.until is not None:
        if plan.axis.each_row:
            return "events have an end, and the order of events matters to an operation"
        if plan.ties:
            return "events have an end, and ties= asks for an order of those of one time"
        if holds(plan):
            return "events have an end, and windows depend on those before them"
        if any(each.emits_empty for each in windows):
            return "events have an end, and empty='emit' asks for windows without one"
    if plan.filled:
        return (
            f"{next(iter(plan.filled))} is filled, and its values in windows that were given before are not kept; fill "
            "its results where they are written"
        )
    for each in windows:
        if each.fill is not None:
            return "windows are filled (fill_from=, fill_to=), and which keys there are is known at the end only"
        if (why := each.why_no_stream(alone=len(windows) == 1)) is not None:
            return why
    return None


def why_no_revisions(plan: Plan) -> str | None:
    """Why closed windows cannot take late events and be given again, in words; None where they can."""
    windows = plan.axis.windows
    if len(windows) > 1 or not isinstance(windows[0], NumberedWindows):
        return f"a late event can change which windows there are of {windows[0].named}, not only what is in them"
    if holds(plan):
        return "the answer depends on the order of events, which are held back until the watermark has passed them"
    if plan.until is not None:
        return "events have an end"
    if windows[0].emits_empty:
        return "windows without an event are asked for"
    return None
