"""An error of a task that another try would only repeat, such as a user's own: it is not tried again.

Spark tries every task four times, wherever it likes. So the first task that fails leaves its report in the folder of
its executor, for all others of its stage: these stop at once. What the driver collects has the report in place of rows,
and is no failure to Spark at all: then no task is tried twice, and the executor is soon done with all that wait.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext

from ...aggregators.errors import EngineError
from .cache import write
from .errors import framefolds_own

Batches = Iterator[pa.RecordBatch]

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
    given = _Given(rows)
    if (report := _reported()) is not None:
        if failed is None:
            raise _again(report)
        yield from failed(report)
        return
    try:
        yield from produce(given)
    except Exception as error:
        if given.broken or may_pass(error):
            raise
        report = traceback.format_exc()
        _leave(report)
        if failed is None:
            raise
        yield from failed(report)


def may_pass(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, is one that may not happen again."""
    return error is not None and (isinstance(error, MAY_PASS) or may_pass(error.__cause__))


def _again(report: str) -> Exception:
    """The error of a report: framefold's own with its sentence, and the report as a note."""
    if (own := framefolds_own(report)) is None:
        return StageFailed(report)
    own.add_note(report)
    return own


class _Given:
    """A task's input, and whether it has failed."""

    def __init__(self, rows: Batches) -> None:
        self.rows, self.broken = rows, False

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> pa.RecordBatch:
        try:
            return next(self.rows)
        except StopIteration:
            raise
        except BaseException:
            self.broken = True
            raise


def _reported() -> str | None:
    try:
        return _place().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _leave(report: str) -> None:
    """Leave a report; the first one stays."""
    with suppress(OSError):  # no room: then tasks are tried again
        write(_place(), report.encode(errors="replace"))


def _place() -> Path:
    """The report of a stage. Stages have other numbers each time that a DataFrame is computed."""
    from pyspark import SparkFiles

    context = TaskContext.get()
    assert context is not None
    return Path(SparkFiles.getRootDirectory(), f"framefold-stage-{context.stageId()}-failed")
