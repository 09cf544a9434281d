"""The command line: ``framefold`` with ``run``, ``sql``, ``partials``, ``stream``, ``submit``, ``demo``."""

from __future__ import annotations

import enum
import gc
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, cast

import typer
from typer.core import TyperOption

from .partials import app as partials
from .plain import plain_arguments
from .running import Interrupted, Running, running
from .stream import app as stream_states

# Nothing of framefold's: help is there before pyarrow would be.

Engine = enum.StrEnum("Engine", ["spark", "local"])
AnyEngine = enum.StrEnum("AnyEngine", ["auto", "spark", "local"])
Format = enum.StrEnum("Format", ["parquet", "csv", "json", "arrow"])
Closed = enum.StrEnum("Closed", ["left", "right"])
Empty = enum.StrEnum("Empty", ["skip", "emit"])
Combine = enum.StrEnum("Combine", ["auto", "driver", "executors"])
Gaps = enum.StrEnum("Gaps", ["warn", "allow"])
NullTime = enum.StrEnum("NullTime", ["error", "drop"])

MISTAKE, FAILURE, INTERRUPTED = 2, 1, 130

# Click's exception for wrong arguments; newer versions of typer bring a click of their own.
_Usage = cast(type[Exception], next(each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException"))

MASTER_HELP = "Where Spark runs, or sc://HOST:PORT, a server of Spark Connect; local[*] if left out."

app = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False)
app.add_typer(partials, name="partials")
app.add_typer(stream_states, name="stream")


@app.callback(invoke_without_command=True)
def framefold(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Sliding-window aggregates of files of events, on Apache Spark or without it."""
    if version:
        from ... import __version__

        print(f"framefold {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


class _Run(Running):
    """``framefold run``, whose help names the operations that there are."""

    def get_help(self, ctx: Any) -> str:
        from .arguments import OPERATIONS

        for each in self.params:
            if isinstance(each, TyperOption):
                each.help = each.help and each.help.replace("OPERATIONS", ", ".join(OPERATIONS))
        return super().get_help(ctx)


@app.command(cls=_Run)
def run(
    events: Annotated[
        list[str],
        typer.Argument(
            metavar="EVENTS...",
            help="Parquet, CSV, JSON or Arrow files; folders, patterns, addresses; - is standard input.",
        ),
    ],
    time: Annotated[str, typer.Option(metavar="COLUMN", help="The time of each event.")],
    window: Annotated[
        str,
        typer.Option(
            metavar="LENGTH|KIND:...",
            help="How long windows are: '1 hour', '1 month', or 60 for integer times. Or a kind of windows: "
            "'session:30 minutes', last_rows:10, 'cumulating:1 day', landmark:since=2024-05-01, around:rows=-2,0, "
            "'policy:evict=count 3', snapshot.",
        ),
    ],
    agg: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=OP:COLUMN",
            help="An output: n=count, speed=average:speed, r=correlation:delay,distance, p=quantile:delay:q=0.5,0.9. "
            "OP is one of OPERATIONS.",
            autocompletion=lambda incomplete: completed(incomplete),
        ),
    ],
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="Which events, as ff.expr has it: \"speed > 20 and zone <> 'x'\".")
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A key; several as K1,K2 or by several --by.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(metavar="STEP", help="From one window's start to the next; LENGTH if left out.")
    ] = None,
    offset: Annotated[str | None, typer.Option(metavar="SHIFT", help="Moves windows, from 1970-01-01 or 0.")] = None,
    timezone: Annotated[str | None, typer.Option(metavar="ZONE", help="Whose days and months: Europe/Berlin.")] = None,
    closed: Annotated[Closed | None, typer.Option(help="Which end belongs to a window; left if left out.")] = None,
    empty: Annotated[Empty | None, typer.Option(help="What is done with windows without an event; skip.")] = None,
    gaps: Annotated[Gaps | None, typer.Option(help="What is said where STEP is above LENGTH; warn.")] = None,
    until: Annotated[str | None, typer.Option(metavar="COLUMN", help="The end of each event, if they last.")] = None,
    null_time: Annotated[NullTime, typer.Option(help="What events without a time are.")] = NullTime.error,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where the result goes: .parquet, .csv, .json or .arrow. The local engine writes one file, Spark a "
            "folder of part files (but one .arrow file). An earlier result is replaced. - is standard output.",
        ),
    ] = None,
    no_replace: Annotated[
        bool, typer.Option("--no-replace", help="Refuse an --out that exists, before anything runs.")
    ] = False,
    format: Annotated[Format | None, typer.Option(help="The kind of events, where no extension says it.")] = None,
    out_format: Annotated[Format | None, typer.Option(help="The kind of result on standard output; FORMAT.")] = None,
    engine: Annotated[
        AnyEngine | None,
        typer.Option(help="Spark, where it is installed, if left out; auto: the local one for files that fit."),
    ] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help=MASTER_HELP)] = None,
    combine: Annotated[Combine, typer.Option(help="Where Spark combines partials.")] = Combine.auto,
    explain: Annotated[bool, typer.Option("--explain", help="Say how it would be done; run nothing.")] = False,
    preview: Annotated[int, typer.Option(min=0, metavar="N", help="How many rows of the result to show.")] = 10,
) -> None:
    """Aggregate events over sliding windows.

    [bold]framefold run trips.parquet --time pickup --by zone --window "1 hour" --every "1 minute" --agg n=count[/bold]
    """
    given: dict[str, Any] = locals().copy()  # the arguments, by the names that the job has for them
    from .job import GRID, Job

    said = {name: each.value if isinstance(each, enum.Enum) else each for name, each in given.items()}
    Job(grid={name: said.pop(name) for name in GRID}, **said).start()


@app.command(cls=Running)
def sql(
    query: Annotated[str, typer.Argument(metavar="SELECT", help="A query over windows, as ff.sql has it.")],
    table: Annotated[
        list[str],
        typer.Option(metavar="NAME=PATH", help="A table of the query: files, folders, patterns or addresses."),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Where the result goes: .parquet, .csv, .json or .arrow; - is standard output."
        ),
    ] = None,
    format: Annotated[Format | None, typer.Option(help="The kind of files, where no extension says it.")] = None,
    out_format: Annotated[Format | None, typer.Option(help="The kind of result on standard output; FORMAT.")] = None,
    engine: Annotated[Engine | None, typer.Option(help="Spark, where it is installed, if left out.")] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help=MASTER_HELP)] = None,
    preview: Annotated[int, typer.Option(min=0, metavar="N", help="How many rows of the result to show.")] = 10,
) -> None:
    """Answer a query over windows in SQL.

    [bold]framefold sql "SELECT ... FROM HOP(trips, pickup, INTERVAL '1 minute', INTERVAL '1 hour')" --table
    trips=trips.parquet[/bold]
    """
    given: dict[str, Any] = locals().copy()
    from .in_sql import run_sql

    said = {name: each.value if isinstance(each, enum.Enum) else each for name, each in given.items()}
    run_sql(said.pop("query"), said.pop("table"), **said)


@app.command(cls=Running)
def demo(
    rows: Annotated[int, typer.Option(min=1000, max=100_000_000, help="How many trips to make.")] = 200_000,
    seed: Annotated[int, typer.Option(min=0, help="Other trips for another seed.")] = 7,
    keep: Annotated[str | None, typer.Option(metavar="DIR", help="A folder to keep the trips in.")] = None,
    engine: Annotated[Engine, typer.Option(help="What to run it on.")] = Engine.spark,
    master: Annotated[str | None, typer.Option(metavar="URL", help=MASTER_HELP)] = None,
    stream: Annotated[bool, typer.Option("--stream", help="A stream instead, seen as its windows close.")] = False,
    seconds: Annotated[int, typer.Option(min=1, help="How long the stream goes on.")] = 60,
) -> None:
    """A day of made-up taxi trips in sliding windows: a table, a plot, and a check that both engines agree."""
    if stream:
        from .live.live import run_live

        run_live(seconds, seed, master=master)
        return
    from .demo import run_demo

    run_demo(rows, seed, keep=keep, engine=engine.value, master=master)


@app.command(cls=Running, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def submit(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[OPTIONS OF SPARK-SUBMIT] JOB [ARGUMENTS]",
            help="JOB is a Python file, `run`, `stream` or `demo`, with its arguments.",
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the line of spark-submit; run nothing.")] = False,
    manifest: Annotated[
        bool, typer.Option("--manifest", help="Print the Spark operator's SparkApplication of the job; run nothing.")
    ] = False,
    environment: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="A virtual environment that executors get and run, or an archive of one."),
    ] = None,
    log: Annotated[str | None, typer.Option(metavar="FILE", help="Where the whole log is kept.")] = None,
) -> int:
    """Run a job on a cluster, by spark-submit, with what executors need.

    [bold]framefold submit --master yarn --num-executors 10 job.py 2024-05-17[/bold]
    """
    from .submit import submit_job

    return submit_job(arguments, dry_run=dry_run, manifest=manifest, environment=environment, log=log)


def completed(incomplete: str) -> list[str]:
    """What ``NAME=OP`` may go on with.

    >>> completed("r=corr"), completed("r")
    (['r=correlation'], [])
    """
    from .arguments import ALIASES, OPERATIONS

    name, equals, word = incomplete.partition("=")
    return [f"{name}={each}" for each in (*OPERATIONS, *ALIASES) if each.startswith(word)] if equals else []


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 2 for a mistake in the arguments, 1 for a failure.

    Parameters
    ----------
    argv
        The arguments; those of this process where None.

    Examples
    --------
    >>> from framefold.extras.cli.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    framefold ...
    0
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows question marks, not a traceback
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        given = plain_arguments(run, words[1:]) if words[:1] == ["run"] else None
        if given is None:
            code = app(args=words, prog_name="framefold", standalone_mode=False)
            return code if isinstance(code, int) else 0
        with running():
            run(**given)
        return 0
    except _Usage as error:
        return _say(cast(Any, error).format_message().replace("Value error, ", ""), MISTAKE)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _failed(error, of_python=words[:1] == ["stream"])


def _failed(error: Exception, *, of_python: bool) -> int:
    """Say what has failed, in a sentence; what is neither framefold's nor Spark's is raised again."""
    from ... import FramefoldError, OperationError, QueryError
    from .messages import as_commands, as_options, essence, from_spark, with_notes

    worded = as_commands if of_python else as_options
    if isinstance(error, QueryError | OperationError):
        return _say(worded(str(error)), MISTAKE)
    if isinstance(error, FramefoldError):
        return _say(worded(with_notes(str(error), error)), FAILURE)
    if isinstance(error, MemoryError):
        return _say(with_notes("there is not enough memory for this", error), FAILURE)
    if isinstance(error, Interrupted):
        return _say(with_notes("interrupted", error), INTERRUPTED)
    if from_spark(error):
        return _say(with_notes(f"Spark failed: {worded(essence(str(error)))}", error), FAILURE)
    raise error


def process() -> int:
    """Run the command line in a process of its own, which pyarrow leaves without pandas where it can.

    At the first array that it makes, pyarrow imports pandas to ask whether it was given one of its own; that takes as
    long as a small job does. Only Spark needs it here.
    """
    gc.set_threshold(50_000)  # nearly all that is imported stays, and is not looked through again and again
    arguments = sys.argv[1:]
    engine = " ".join(arguments).replace("--engine=", "--engine ")
    if arguments[:1] == ["run"] and "--engine local" in engine and "pandas" not in sys.modules:
        import pyarrow as pa

        sys.meta_path.insert(0, cast(Any, _WithoutPandas))
        try:
            pa.array([])
        finally:
            sys.meta_path.remove(cast(Any, _WithoutPandas))
    return main(arguments)


class _WithoutPandas:
    """A finder of modules for which there is no pandas."""

    @staticmethod
    def find_spec(name: str, *where: object) -> None:
        if name == "pandas":
            raise ImportError(name)


def _say(message: str, code: int) -> int:
    sentence = " ".join(message.split()).rstrip(".")
    typer.echo(f"framefold: {sentence}", err=True)
    return code
