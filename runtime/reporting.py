"""What queries tell the logger ``framefold``.

At INFO the way that is taken, at WARNING what is fallen back on. Callers ask first whether anybody listens at INFO: the
words take time.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache

from .explain import ways
from .partials.partials import Partials
from .plan.plan import Plan

LOGGER = logging.getLogger("framefold")
LOGGER.addHandler(logging.NullHandler())  # nothing is printed unless the program has set up logging


def report_way(plan: Plan, engine: str, stages: Sequence[tuple[str, str]]) -> None:
    """How each output slides, and where each stage runs; see :func:`~framefold.runtime.explain.explain`."""
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
    LOGGER.info("%s has %s partials%s, %s bytes", where, f"{len(merged):,}", of, f"{merged.table.nbytes:,}")


@cache
def warn_of_numpy() -> None:
    """That there are no compiled loops, once in a process."""
    LOGGER.warning(
        "numpy does what compiled loops would do faster: framefold was installed without a compiler, or for another "
        "Python or system than this one"
    )
