"""How the windows of each output are put together: chosen here, obeyed by the pipeline, printed by ``explain``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...aggregators.intervals.time_weighted import lifetimes_of
from ..intervals import coverage
from ..plan.plan import Plan
from ..sliding import slide
from ..sliding.block_scan import has_columns


@dataclass(frozen=True)
class SlidingChoice:
    """How one output goes over one kind of windows.

    Parameters
    ----------
    stage
        ``"slide"`` for ranges of rows, ``"cover"`` for windows of interval events and others that are no ranges,
        ``"clip"`` for lives of interval events, which are slid after they are clipped to frames.
    slide, cover
        The ways of :func:`~framefold.runtime.sliding.slide.slide` and
        :func:`~framefold.runtime.intervals.coverage.cover`; None where nothing is covered.
    words
        The way, its cost, and why.
    """

    stage: Literal["slide", "cover", "clip"]
    slide: slide.Way
    cover: coverage.Way | None
    words: str


def choose(plan: Plan, output: str, number: int) -> SlidingChoice:
    """The choice for an output over one kind of windows, by its number on the axis."""
    bound, windows = plan.outputs[output], plan.axis.windows[number]
    ranges = slide.way_of(bound)
    runs = coverage.way_of(bound) if plan.until is not None or windows.runs else None
    deducts, why = bound.deducts
    if plan.until is not None and lifetimes_of(bound) is not None:
        words = "slides by deduct over clipped lifetimes (5 element operations a frame at most)"
        return SlidingChoice("clip", ranges, runs, words)
    if plan.until is not None and runs is not None:
        words = {
            "deduct": f"covers by deduct (2 element operations a window, however long events live): {why}",
            "tree": f"covers by a tree over the windows (O(log n) element operations a window): {why}",
            "copies": "covers by copies (an element operation for each window of each event): order matters",
        }[runs]
        return SlidingChoice("cover", ranges, runs, words)
    if windows.runs:
        cost = "2" if runs == "deduct" else "O(log n)"
        words = f"slides by what is in each window, row by row ({cost} element operations a window): {why}"
        return SlidingChoice("cover", ranges, runs, words)
    if windows.frames_in_window == 1 and len(plan.axis.windows) == 1:
        words = "slides by nothing to slide (no element operations): a window is one frame"
    elif not windows.forward:
        words = "slides by a range tree (O(log n) element operations a window) where windows move back: they may"
    else:
        cost = "2 element operations a window" if deducts else "at most 3 element operations a window"
        words = f"slides by {'deduct' if deducts else 'two-stacks'} ({cost}): {why}"
        if ranges == "kernels":
            words += "; by kernels, without calls"
        elif ranges == "deduct or two-stacks" and has_columns(bound):
            words += "; long runs of windows by two-stacks side by side (3), in fewer calls"
    return SlidingChoice("slide", ranges, runs, words)
