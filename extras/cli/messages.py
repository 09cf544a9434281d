"""What the command line says on stderr."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import typer

from ... import CalendarWarning, DroppedEventsWarning, FarTimesWarning, GapsWarning
from ...runtime.sources.arrow import Reader, Readers
from ...runtime.sources.file_source import FileSource
from ...runtime.sources.files import Files, one_line
from .inputs import TEXT

if TYPE_CHECKING:
    from rich.progress import Progress
OURS = (CalendarWarning, DroppedEventsWarning, FarTimesWarning, GapsWarning)
"""The warnings that are shown as sentences."""


def with_notes(message: str, error: BaseException) -> str:
    """A message and the notes of its error, such as what a failed write has left behind."""
    return "; ".join([message, *getattr(error, "__notes__", ())])


@contextmanager
def told_warnings() -> Iterator[None]:
    """Warnings of framefold as sentences on stderr, each once."""
    with warnings.catch_warnings():
        told: set[str] = set()
        for each in OURS:
            warnings.simplefilter("always", each)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, OURS):
                if str(message) not in told:  # a query is checked before it is run
                    typer.echo(f"framefold: {as_options(str(message))}", err=True)
                told.add(str(message))
            else:
                usual(message, category, *where, **more)

        warnings.showwarning = show
        yield


def as_options(message: str) -> str:
    """A message of the Python API in the words of the command line.

    >>> as_options("time= names the unknown column 'pikup'; did you mean 'pickup'?")
    "--time names the unknown column 'pikup'; did you mean 'pickup'?"
    """
    message = re.sub(r"^(time|by)= ", r"--\1 ", message)
    message = re.sub(r"^size is ", "--window is ", message)
    message = re.sub(r"^(every|offset|timezone) is ", r"--\1 is ", message)
    message = re.sub(r"(, or times)?: time=F\..*$", "", message)  # no option takes an expression
    message = re.sub(r"\b(timezone|offset)='([^']*)'", r"--\1 '\2'", message)
    return re.sub(
        r"\b(null_time|empty|closed|combine|gaps)=['\"](\w+)['\"]",
        lambda it: f"--{it[1].replace('_', '-')} {it[2]}",
        message,
    )


def as_commands(message: str) -> str:
    """A message of a query that is the user's own Python, with commands in the place of two methods.

    >>> as_commands("time= names the unknown column 'x'; there are none")
    "time= names the unknown column 'x'; there are none"
    >>> as_commands("there is no state of a stream in 'state'; expected what .export_state has written")
    "there is no state of a stream in 'state'; expected what framefold stream export has written"
    """
    message = message.replace("skip_incomplete=True", "--skip-incomplete")
    return re.sub(r"\.?\b(ex|im)port_state(\(\.*\))?", r"framefold stream \1port", message)


def from_spark(error: Exception) -> bool:
    """Whether an exception is one of Spark's."""
    return any(each.__module__.split(".")[0] in ("pyspark", "py4j") for each in type(error).__mro__)


def essence(report: str) -> str:
    r"""The essence of a report by Spark: the failed operation and the first cause.

    >>> essence("Job aborted: [FAILED_READ] Error reading a.csv.  SQLSTATE: 1\nCaused by: a.B: it is torn")
    'Error reading a.csv: it is torn'
    >>> essence("An exception was thrown: framefold.NullTimeError: the time is null\nTraceback")
    'the time is null'
    """
    if ours := re.search(r"framefold\.(?:\w+\.)*\w+Error: (.*)", report):
        return ours[1]
    named = re.search(r"\[[A-Z0-9_.]+\] (.*?)\.?(?:\s+SQLSTATE.*)?$", report, re.MULTILINE)
    causes = re.findall(r"^\s*Caused by: [\w.$]+: (.*)$", report, re.MULTILINE)
    lines = [line.strip() for line in report.splitlines() if line.strip()]
    parts = [named[1] if named else lines[0] if lines else "it does not say why", *causes[-1:]]
    return ": ".join(dict.fromkeys(one_line(Exception(part)) for part in parts))


class ShownSource(FileSource):
    """The events in files, with a display of how many have been read."""

    shows_progress = True

    def __init__(self, files: Files, progress: Progress) -> None:
        super().__init__(files)
        known = files.format not in TEXT and not progress.disable
        self.progress = progress
        self.task = progress.add_task("reading events", total=self.data.count_rows() if known else None)

    def batches(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """See :meth:`Source.batches`."""
        found = super().batches(columns)
        return pa.RecordBatchReader.from_batches(found.schema, self._shown(lambda: found))

    def readers(self, columns: Sequence[str], dictionaries: Sequence[str]) -> Readers | None:
        """See :meth:`Source.readers`."""
        found = super().readers(columns, dictionaries)
        return found and Readers((partial(self._shown, read) for read in found.readers), found.threads)

    def _shown(self, read: Reader) -> Iterator[Any]:
        for batch in read():
            self.progress.update(self.task, advance=len(batch))
            yield batch
            del batch  # or it would be held while the next one is read
