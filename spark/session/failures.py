"""An error of a task that another try would only repeat, such as a user's own: it is not tried again.

Spark tries every task four times, wherever it likes. So the first task that fails leaves its report in the folder of
its executor, for all others of its stage: these stop at once. What the driver collects has the report in place of rows,
and is no failure to Spark at all: then no task is tried twice, and the executor is soon done with all that wait.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pyspark import TaskContext

from ...aggregators.errors import EngineError
from ..convert.partials_codec import Batches
from .cache import write
from .errors import framefolds_own

MAY_PASS = (OSError, MemoryError, ImportError, EngineError)
"""What may not happen on another try, or on another machine: files, connections, memory, packages, Spark itself."""


class StageFailed(Exception):
    """A task is not run, since another one of its stage has failed; with the report of that."""


def tried_once(
    produce: Callable[[Batches], Batches], rows: Batches, failed: Callable[[str], Batches] | None
) -> Batches:
    """What a task produces of its rows, once.

    Parameters
    ----------
    produce
        Runs the task.
    rows
        Its input. An error of Spark's in it is never a user's.
    failed
        Makes batches of a report, in place of an error; None raises the error.
    """
    place, broken = _place(), False
    if place.is_file():
        report = place.read_text(encoding="utf-8", errors="replace")
        if failed is None:
            raise _again(report)
        yield from failed(report)
        return

    def given() -> Batches:
        nonlocal broken
        try:
            yield from rows
        except Exception:
            broken = True
            raise

    try:
        yield from produce(given())
    except Exception as error:
        if broken or may_pass(error):
            raise
        report = traceback.format_exc()
        with suppress(OSError):  # no room: then tasks are tried again
            write(place, report.encode(errors="replace"))  # the first one stays
        if failed is None:
            raise
        yield from failed(report)


def may_pass(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, is one that may not happen again."""
    return error is not None and (isinstance(error, MAY_PASS) or may_pass(error.__cause__))


def _again(report: str) -> Exception:
    """The error of a report: framefold's own with its sentence, and the traceback of its cause as a note."""
    if (own := framefolds_own(report)) is None:
        return StageFailed(report)
    own.add_note(report.rpartition(CAUSE)[0] or report)
    return own


CAUSE = "\nThe above exception was the direct cause of the following exception:\n"
"""What Python writes between the traceback of a cause and that of the error it led to."""


def _place() -> Path:
    """The report of a stage. Stages have other numbers each time that a DataFrame is computed."""
    from pyspark import SparkFiles

    context = TaskContext.get()
    assert context is not None
    return Path(SparkFiles.getRootDirectory(), f"framefold-stage-{context.stageId()}-failed")
