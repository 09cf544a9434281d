"""What queries tell whoever runs them, by warnings or by the logger ``framefold``.

To the logger: at INFO the way that is taken, at WARNING what is fallen back on. Words take time: they are
only made where anybody listens at INFO.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Sequence
from functools import cache

from ..aggregators.errors import DroppedEventsWarning
from .explain import ways
from .partials.partials import Partials
from .plan.plan import Plan

PACKAGE = __name__.partition(".")[0] + "."
LOGGER = logging.getLogger("framefold")
LOGGER.addHandler(logging.NullHandler())  # nothing is printed unless the program has set up logging


def warn(message: str, category: type[UserWarning]) -> None:
    """A warning at the line outside this package that has led to it."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_of_nulls(plan: Plan, nulls: int, events: int) -> None:
    """A DroppedEventsWarning where events have no time and were dropped."""
    if nulls:
        warn(f"{nulls} of {events} events have no time {plan.time!r} and were dropped", DroppedEventsWarning)


def report_way(plan: Plan, engine: str, stages: Sequence[tuple[str, str]]) -> None:
    """How each output slides, and where each stage runs; see :func:`~framefold.runtime.explain.explain`."""
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info("on %s: %s", engine, "; ".join(f"{label}: {text}" for label, text in [*ways(plan), *stages]))


def report_partials(merged: Partials, where: str, events: int | None = None) -> None:
    """How many partials there are once they are merged.

    Parameters
    ----------
    merged
        The partials.
    where
        Such as ``"the driver"``.
    events
        How many events they are of, if that is known.
    """
    of = "" if events is None else f" of {events:,} events"
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info("%s has %s partials%s, %s bytes", where, f"{len(merged):,}", of, f"{merged.table.nbytes:,}")


@cache
def warn_of_numpy() -> None:
    """That there are no compiled loops, once in a process."""
    LOGGER.warning(
        "numpy does what compiled loops would do faster: framefold was installed without a compiler, or for another "
        "Python or system than this one"
    )
