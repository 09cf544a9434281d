"""One ``framefold run``: its arguments checked, then run on one of the engines."""

from __future__ import annotations

import importlib.util
import os
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from rich.console import Console
from rich.markup import escape

from ... import QueryError, events, expr
from ...aggregators.contract.operation import Operation
from ...aggregators.errors import EngineError, installing, without_secrets
from ...aggregators.states.memory import memory
from ...events import Windowed
from ...reading import SparkFiles
from ...runtime.explain import Explanation
from .arguments import MASTER, check_shared, is_cluster, read_aggregates, split
from .inputs import STANDARD, Inputs, UnknownFileSystemError, is_address, kind_of, open_files, without_standard_input
from .messages import ShownSource
from .output import WINDOW, check_new, check_out, preview, write_dataframe, write_stdout, write_table
from .overlap import check_apart
from .windows import read_windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from rich.progress import Progress


SHARE_OF_MEMORY = 4
"""``--engine auto`` takes the local engine for files of up to 1 / SHARE_OF_MEMORY of the memory."""

# Spark's default is a type that Parquet has deprecated, and that others read without its zone.
OF_RESULTS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}


GRID = ("every", "offset", "timezone", "closed", "empty", "gaps")
"""The options of the command line that windows have."""


@dataclass(frozen=True)
class Job:
    """The arguments of ``framefold run``; ``grid`` has those of windows."""

    events: list[str]
    time: str
    window: str
    agg: list[str]
    where: str | None
    by: list[str] | None
    grid: Mapping[str, str | None]
    until: str | None
    null_time: str
    out: str | None
    no_replace: bool
    format: str | None
    out_format: str | None
    engine: str | None
    master: str | None
    combine: str
    explain: bool
    preview: int

    def start(self) -> None:
        """Check everything that can be checked, then run the job, or explain it.

        Raises
        ------
        QueryError
            For a mistake in the arguments, before Spark starts.
        FramefoldError
            If the events have no result.
        """
        self._check_arguments()
        with without_standard_input(self.events, self.format) as paths:
            try:
                inputs = open_files(paths, self.format)
            except UnknownFileSystemError:
                if self.engine == "local" or not has_spark():
                    raise
                self._with_readers_of_spark()
            else:
                self._of_files(inputs)

    def _check_arguments(self) -> None:
        """What is wrong whatever the events are: an EngineError, or a QueryError."""
        if self.engine == "spark":
            require_spark()
        if self.out == STANDARD and self._out_kind is None:
            raise QueryError("--out '-' is standard output, which has no extension; expected --out-format")
        if self.out and self.out != STANDARD:
            check_apart(self.out, self.events)
            if self.no_replace:
                check_new(self.out)
        if self.master is not None and self.engine != "local" and has_spark():
            check_shared(self.master, self._places)

    def _of_files(self, inputs: Inputs) -> None:
        """Run the job on files that pyarrow reaches, too."""
        engine = self.engine or default_engine()
        if engine == "auto":
            engine = self._fitting_engine(inputs)
        if hint := inputs.time_hint(self.time):
            raise QueryError(hint)
        keys, outputs, plan = self._checked(inputs.schema, inputs.files.paths, spark=engine == "spark")
        inputs.require([self.time, *keys, *(column for each in outputs.values() for column in each.columns)])
        if engine == "spark":
            with self._session() as spark:
                self._on_spark(SparkFiles(inputs.files, spark), keys, outputs)
        elif self.explain:
            print(plan)
        else:
            self._locally(inputs, keys, outputs)

    def _checked(
        self, schema: pa.Schema, paths: Sequence[str], *, spark: bool
    ) -> tuple[list[str], dict[str, Operation], Explanation]:
        """The keys, the outputs and the plan of a query, which is right for events of a schema."""
        keys = [key for each in self.by or [] for key in split(each, schema.names)]
        outputs = read_aggregates(self.agg, schema.names)
        of_nothing = self._query(schema.empty_table(), keys)
        plan = of_nothing.explain(**outputs)
        if self.out:
            columns = pa.schema([each for each in of_nothing.aggregate(**outputs).schema if each.name != WINDOW])
            check_out(self.out, paths, columns, spark=spark, kind=self._out_kind)
        return keys, outputs, plan

    def _query(self, data: Any, keys: list[str]) -> Windowed[Any]:
        spec = read_windows(self.window, self.grid)
        of = events(data, self.time, keys, until=self.until, null_time=cast(Any, self.null_time))
        if self.where is not None:
            of = of.where(expr(self.where))
        return of.window(spec).options(combine=cast(Any, self.combine))

    @property
    def _out_kind(self) -> str | None:
        """The kind of a result on standard output; None where its extension says it."""
        return (self.out_format or self.format) if self.out == STANDARD else None

    @property
    def _places(self) -> list[str]:
        """What tasks on other machines have to reach: the driver writes Arrow files and standard output itself."""
        by_driver = self.out is None or self.out == STANDARD or kind_of(self.out) == "arrow"
        return [*self.events, *([] if by_driver or self.out is None else [self.out])]

    def _fitting_engine(self, inputs: Inputs) -> str:
        """The engine that ``--engine auto`` takes, with a note that says why."""
        size, room = inputs.bytes, memory() // SHARE_OF_MEMORY
        found = f"{size / 1e6:,.1f} MB of files"
        if self.master is not None and is_cluster(self.master):
            engine, why = "spark", f"since --master is {self.master}"
        elif not has_spark():
            engine, why = "local", "since Spark is not installed"
        elif size <= room:
            engine, why = "local", f"which can hold {found}"
        else:
            engine, why = "spark", f"for {found}, more than 1/{SHARE_OF_MEMORY} of this machine's memory"
        note(f"--engine auto takes {'Spark' if engine == 'spark' else 'the local engine'}, {why}")
        return engine

    @contextmanager
    def _session(self) -> Iterator[SparkSession]:
        """Spark, whose machines have all that is named."""
        with own_session("framefold run", self.master, progress=Console(stderr=True).is_terminal) as spark:
            check_shared(spark.conf.get("spark.master") or "local", self._places)
            yield spark

    def _with_readers_of_spark(self) -> None:
        """Run the job on files that only Spark's file systems reach."""
        kinds = sorted({self.format or kind_of(path) for path in self.events})
        if len(kinds) > 1 or kinds == ["arrow"] or not all(map(is_address, self.events)):
            raise QueryError(
                f"{self.events[0]!r} is on a file system that only Spark has, and is given with others or as Arrow; "
                "expected addresses of Parquet, CSV or JSON files of one kind"
            )
        with self._session() as spark:
            reader = spark.read.format(kinds[0]).option("header", True).option("inferSchema", True)
            df = reader.load(self.events)
            schema = df.limit(0).toArrow().schema
            keys, outputs, _ = self._checked(schema, [], spark=True)
            self._on_spark(df, keys, outputs)

    def _locally(self, inputs: Inputs, keys: list[str], outputs: dict[str, Operation]) -> None:
        began = clock.perf_counter()
        with _progress() as progress:
            result = self._query(ShownSource(inputs.files, progress), keys).aggregate(**outputs)
        self._destination.take_table(result, began)

    def _on_spark(self, data: Any, keys: list[str], outputs: dict[str, Operation]) -> None:
        query = self._query(data, keys)
        if self.explain:
            print(query.explain(**outputs))
            return
        began = clock.perf_counter()
        self._destination.take_dataframe(query.aggregate(**outputs), began)

    @property
    def _destination(self) -> Destination:
        return Destination(self.out, self._out_kind, self.preview)


@dataclass(frozen=True)
class Destination:
    """Where the rows of a result go, and how many of them are shown; ``kind`` is that on standard output."""

    out: str | None
    kind: str | None
    preview: int
    noun: str = "window"

    def take_table(self, result: pa.Table, began: float, engine: str = "the local engine") -> None:
        if self.kind:
            write_stdout(result, self.kind)
        elif self.out:
            write_table(result, self.out)
        self._report(result.slice(0, self.preview), len(result), clock.perf_counter() - began, engine)

    def take_dataframe(self, result: DataFrame, began: float) -> None:
        from pyspark.sql import Observation, functions

        from ...spark.engine.driver import COMPUTED

        spark = result.sparkSession
        engine = f"Spark ({spark.conf.get('spark.master')})"
        if self.kind:
            self.take_table(result.toArrow(), began, engine)
            return
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
        self._report(rows, total, clock.perf_counter() - began, engine)

    def _report(self, rows: pa.Table, total: int, seconds: float, engine: str) -> None:
        if self.preview and self.out != STANDARD:
            Console().print(preview(rows, total, self.noun))
        counted = f"1 {self.noun}" if total == 1 else f"{total:,} {self.noun}s"
        where = f", written to {'standard output' if self.out == STANDARD else self.out}" if self.out else ""
        note(f"{counted} in {seconds:.1f} s on {engine}{where}")


def has_spark() -> bool:
    """Whether pyspark is installed; does not import it."""
    return importlib.util.find_spec("pyspark") is not None


def require_spark(instead: str = ", or use --engine local") -> None:
    """EngineError unless pyspark is installed; it says what may be done instead."""
    if not has_spark():
        raise EngineError(f"Spark is not installed: {installing('spark')}{instead}")


def default_engine() -> str:
    """Spark where it is installed, else the local engine, with a note."""
    if has_spark():
        return "spark"
    note("Spark is not installed, so the local engine runs this; --engine local says so without this note")
    return "local"


def note(message: str) -> None:
    """Say something on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[dim]{escape(without_secrets(message))}[/dim]")


def _progress() -> Progress:
    from rich.progress import MofNCompleteColumn, Progress

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
    from ...spark.session.errors import translated
    from ...spark.session.session import active_session, connected, is_submitted, local_session, submitted_session

    submitted = master is None and is_submitted()
    remote = os.environ.get("SPARK_REMOTE") if master is None else master if master.startswith("sc://") else None
    master = master or "local[*]"
    if not MASTER.fullmatch(master):
        raise QueryError(
            f"--master is {master!r}; expected local[*], local[N], spark://HOST:PORT, yarn, k8s://HOST:PORT or "
            "sc://HOST:PORT"
        )
    there = active_session()
    if there is not None:
        spark = there
    elif remote:
        spark = connected(remote, **OF_RESULTS)
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
        if there is None:
            spark.stop()


@contextmanager
def stream_session(app: str, master: str | None, partitions: int | None = None) -> Iterator[SparkSession]:
    """A session that is set as streams need it, with some partitions of states; None: with as many as it has."""
    from ...spark.session.conf_overrides import replaced_conf
    from ...spark.session.settings import PARTITIONS, of_streams

    with ExitStack() as stack:
        with without_stderr():  # Spark's workers of streams greet there
            spark = stack.enter_context(own_session(app, master))
        partitions = partitions or int(spark.conf.get(PARTITIONS) or 1)
        stack.enter_context(replaced_conf(spark, of_streams(partitions)))
        yield spark


@contextmanager
def without_stderr() -> Iterator[None]:
    """What is started here has no stderr."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
