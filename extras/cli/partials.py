"""The commands of ``framefold partials``."""

from __future__ import annotations

from typing import Annotated

import typer

from .running import Running

# Nothing of framefold's: help is there before pyarrow would be.

app = typer.Typer(
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Partials at rest: computed once, run by run, and read by any windows.",
)

PathOf = Annotated[str, typer.Argument(metavar="PATH", help="The folder of the partials, or its address.")]
Windows = Annotated[
    list[str],
    typer.Option("--window", metavar="LENGTH|KIND:...", help="Windows, as for framefold run; several by several."),
]
Every = Annotated[
    str | None, typer.Option(metavar="STEP", help="From a window's start to the next; LENGTH if left out.")
]
Outputs = Annotated[list[str] | None, typer.Option("--output", metavar="NAME", help="An output; all if left out.")]
After = Annotated[str | None, typer.Option(metavar="TIME", help="Only windows that end later.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Only windows that end by then.")]
Out = Annotated[str | None, typer.Option(metavar="FILE", help="The result: .parquet, .csv, .json or .arrow.")]
Preview = Annotated[int, typer.Option(min=0, metavar="N", help="How many rows of the result to show.")]
Trust = Annotated[bool, typer.Option("--trust", help="Read states that are pickles: who can write there can run code.")]


@app.command(cls=Running)
def create(
    path: PathOf,
    time: Annotated[str, typer.Option(metavar="COLUMN", help="The time of each event.")],
    frame: Annotated[
        str, typer.Option(metavar="LENGTH", help="How long frames are: '1 hour', or 60 for integer times.")
    ],
    agg: Annotated[list[str], typer.Option(metavar="NAME=OP:COLUMN", help="An output, as for framefold run.")],
    by: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A key; several by several.")] = None,
    format: Annotated[str | None, typer.Option(metavar="KIND", help="parquet, or delta: a Delta Lake table.")] = None,
) -> None:
    """Say what is kept, before the first events come.

    [bold]framefold partials create lake --time at --by k --frame "1 day" --agg n=count --agg spent=sum:x[/bold]
    """
    from .at_rest import create as of

    of(path, time, frame, agg, by or [], format)


@app.command(cls=Running)
def append(
    path: PathOf,
    events: Annotated[list[str], typer.Argument(metavar="EVENTS...", help="Files, as for framefold run.")],
    run: Annotated[str, typer.Option(metavar="NAME", help="A name, such as the day: a run is added once.")],
    format: Annotated[str | None, typer.Option(help="The kind of events, where no extension says it.")] = None,
) -> None:
    """Add events as a run, all or none; nothing where the run is in."""
    from .at_rest import append as of

    of(path, events, run, format)


@app.command(cls=Running)
def window(
    path: PathOf,
    window: Windows,
    every: Every = None,
    after: After = None,
    until: Until = None,
    output: Outputs = None,
    out: Out = None,
    preview: Preview = 10,
    trust: Trust = False,
) -> None:
    """Give windows over all that is kept."""
    from .at_rest import give, opened

    give(opened(path, trust), window, every, (after, until), output or [], out, preview)


@app.command(cls=Running)
def changed(
    path: PathOf,
    window: Windows,
    run: Annotated[str, typer.Option(metavar="NAME", help="The run that has changed them.")],
    every: Every = None,
    after: After = None,
    until: Until = None,
    output: Outputs = None,
    out: Out = None,
    preview: Preview = 10,
    trust: Trust = False,
) -> None:
    """Give the windows that a run has changed."""
    from .at_rest import give, opened

    give(opened(path, trust).changed(run=run), window, every, (after, until), output or [], out, preview)


@app.command(cls=Running)
def runs(path: PathOf) -> None:
    """List the runs that are in."""
    from .at_rest import runs as of

    of(path)


@app.command(cls=Running)
def compact(path: PathOf, trust: Trust = False) -> None:
    """Merge the files of each day."""
    from .at_rest import opened

    opened(path, trust).compact()


@app.command(cls=Running)
def rollup(
    path: PathOf,
    frame: Annotated[str, typer.Option(metavar="LENGTH", help="How long they are, such as '30 days'.")],
    trust: Trust = False,
) -> None:
    """Keep longer frames beside the others, of which long windows that end at some time are put together."""
    from .arguments import number
    from .at_rest import opened

    opened(path, trust).roll_up(number(frame))


@app.command(cls=Running)
def expire(
    path: PathOf,
    older: Annotated[str, typer.Option(metavar="LENGTH", help="How long before the last frame: '2 years'.")],
    trust: Trust = False,
) -> None:
    """Take away the frames that are older than some time."""
    from .arguments import number
    from .at_rest import opened

    opened(path, trust).expire(number(older))
