"""One ``framefold run``: its arguments checked, then run on one of the engines."""

from __future__ import annotations

import importlib.util
import re
import time as clock
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from rich.console import Console
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress

from .. import QueryError, events, sliding
from ..aggregators.contract.operation import Operation
from ..aggregators.errors import EngineError
from ..events import Windowed
from ..reading import SparkFiles
from ..runtime.sources.arrow import Reader, Readers
from ..runtime.sources.file_source import FileSource
from ..runtime.sources.files import Files
from .arguments import number, read_aggregates, split
from .inputs import TEXT, Inputs, open_files
from .output import WINDOW, check_out, preview, write_dataframe, write_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


MASTER = re.compile(
    r"local(\[(\*|[1-9]\d*)(,\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|(spark|k8s)://.+|yarn", re.ASCII | re.IGNORECASE
)
"""The master URLs of Spark; for others its JVM prints a traceback."""

# Spark's default is a type that Parquet has deprecated, and that others read without its zone.
OF_RESULTS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}


@dataclass(frozen=True)
class Job:
    """The arguments of ``framefold run``."""

    events: list[str]
    time: str
    by: list[str]
    size: str
    every: str
    offset: str
    closed: str
    empty: str
    gaps: str
    null_time: str
    agg: list[str]
    out: str | None
    engine: str | None
    master: str | None
    combine: str
    preview: int

    def start(self, *, explain: bool) -> None:
        """Check everything that can be checked, then run the job, or explain it.

        Raises
        ------
        QueryError
            For a mistake in the arguments, before Spark starts.
        FramefoldError
            If the events have no result.
        """
        engine = self.engine or default_engine()
        if engine == "spark" and not has_spark():
            raise EngineError("Spark is not installed: pip install 'framefold[spark]', or use --engine local")
        inputs = open_files(self.events)
        keys = [key for each in self.by for key in split(each, inputs.schema.names)]
        outputs = read_aggregates(self.agg, inputs.schema.names)
        needed = list(
            dict.fromkeys([self.time, *keys, *(column for each in outputs.values() for column in each.columns)])
        )
        if hint := inputs.time_hint(self.time):
            raise QueryError(hint)
        of_nothing = self._query(inputs.schema.empty_table(), keys)
        plan = of_nothing.explain(**outputs)
        inputs.require(needed)
        if self.out:
            columns = pa.schema([each for each in of_nothing.aggregate(**outputs).schema if each.name != WINDOW])
            check_out(self.out, inputs.files.paths, columns, spark=engine == "spark")
        if engine == "spark":
            self._on_spark(inputs, keys, outputs, explain=explain)
        elif explain:
            print(plan)
        else:
            self._locally(inputs, keys, outputs)

    def _query(self, data: Any, keys: list[str]) -> Windowed:
        closed, empty = cast(Any, self.closed), cast(Any, self.empty)
        spec = sliding(
            number(self.size), number(self.every), offset=number(self.offset), closed=closed, empty=empty,
            gaps=self.gaps,
        )  # fmt: skip
        return events(data, self.time, keys, null_time=self.null_time).window(spec).options(combine=self.combine)

    def _locally(self, inputs: Inputs, keys: list[str], outputs: dict[str, Operation]) -> None:
        began = clock.perf_counter()
        with _progress() as progress:
            result = self._query(ShownSource(inputs.files, progress), keys).aggregate(**outputs)
        if self.out:
            write_table(result, self.out)
        self._report(result.slice(0, self.preview), len(result), clock.perf_counter() - began, "the local engine")

    def _on_spark(self, inputs: Inputs, keys: list[str], outputs: dict[str, Operation], *, explain: bool) -> None:
        from pyspark.sql import Observation, functions

        from ..spark.engine.driver import COMPUTED

        with own_session("framefold run", self.master, progress=Console(stderr=True).is_terminal) as spark:
            query = self._query(SparkFiles(inputs.files, spark), keys)
            if explain:
                print(query.explain(**outputs))
                return
            began = clock.perf_counter()
            result: DataFrame = query.aggregate(**outputs)
            total = COMPUTED.get(result)
            if total is None and self.preview:
                result = result.cache()  # its first rows are shown after it is counted or written
            if self.out and total is None:
                counted = Observation()  # as it is written
                write_dataframe(result.observe(counted, functions.count(functions.lit(1)).alias("n")), self.out)
                total = counted.get["n"]
            elif self.out:
                write_dataframe(result, self.out)
            total = result.count() if total is None else total
            rows = result.limit(self.preview).toArrow() if self.preview else pa.table({})
            self._report(rows, total, clock.perf_counter() - began, f"Spark ({spark.conf.get('spark.master')})")

    def _report(self, rows: pa.Table, total: int, seconds: float, engine: str) -> None:
        if self.preview:
            Console().print(preview(rows, total))
        windows = "1 window" if total == 1 else f"{total:,} windows"
        where = f", written to {self.out}" if self.out else ""
        _note(f"{windows} in {seconds:.1f} s on {engine}{where}")


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


def has_spark() -> bool:
    """Whether pyspark is installed; does not import it."""
    return importlib.util.find_spec("pyspark") is not None


def default_engine() -> str:
    """Spark where it is installed, else the local engine, with a note."""
    if has_spark():
        return "spark"
    _note("Spark is not installed, so the local engine runs this; --engine local says so without this note")
    return "local"


def _note(message: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[dim]{escape(message)}[/dim]")


def _progress() -> Progress:
    console = Console(stderr=True)
    console.quiet = not console.is_terminal  # some versions of rich end even progress that is not shown with a new line
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def own_session(app: str, master: str | None, *, progress: bool = False) -> Iterator[SparkSession]:
    """A Spark session that is stopped at the end, unless it was there before.

    Where spark-submit has started this process, it is the one that was asked for there. Else the log is off: a failure
    is one sentence of the command line. Spark shows its progress on stderr, if asked to.
    """
    from pyspark.sql import SparkSession

    from ..spark.session.errors import translated
    from ..spark.session.session import is_submitted, local_session, submitted_session

    submitted = master is None and is_submitted()
    master = master or "local[*]"
    if not MASTER.fullmatch(master):
        raise QueryError(
            f"--master is {master!r}; expected local[*], local[N], spark://HOST:PORT, yarn or k8s://HOST:PORT"
        )
    if there := SparkSession.getActiveSession() is not None:
        spark = local_session(app, master)
    elif submitted:
        spark = submitted_session(app, **OF_RESULTS)
    else:
        settings = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": str(progress).lower()}
        spark = local_session(app, master, **OF_RESULTS, **settings)
    try:
        yield spark
    except Exception as error:
        # A lazy job raises framefold's own errors where its rows are read.
        if own := translated(error, spark):
            raise own from error
        raise
    finally:
        if not there:
            spark.stop()
