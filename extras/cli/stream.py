"""The commands of ``framefold stream``."""

from __future__ import annotations

from typing import Annotated

import typer

from .running import Running

# Nothing of framefold's: help is there before pyarrow would be.

app = typer.Typer(
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="The state of a stream that has stopped, for another query that goes on from it.",
)

QueryOf = Annotated[
    str,
    typer.Argument(
        metavar="QUERY",
        help="FILE.py:FUNCTION or MODULE:FUNCTION. The function takes a SparkSession, and returns the stream in "
        "windows and its outputs.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where Spark runs, or sc://HOST:PORT, a server of Spark Connect; local[*]."),
]


@app.command(cls=Running)
def export(
    query: QueryOf,
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="The checkpoint of the query.")],
    into: Annotated[str, typer.Argument(metavar="INTO", help="A path or address where nothing is stored yet.")],
    master: Master = None,
) -> None:
    """Store the state of a query that has ended. Its checkpoint stays as it is.

    [bold]framefold stream export pipeline.py:trips checkpoint state[/bold]
    """
    from .moving import export_state

    export_state(query, checkpoint, into, master)


@app.command("import", cls=Running)
def import_(
    query: QueryOf,
    exported: Annotated[str, typer.Argument(metavar="EXPORTED", help="What framefold stream export has stored.")],
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="Where the new one is to be: a path where nothing is.")
    ],
    skip_incomplete: Annotated[
        bool,
        typer.Option("--skip-incomplete", help="Leave out windows that begin before all their events are stored."),
    ] = False,
    partitions: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Of the state, as the query will be started with; those of Spark here."),
    ] = None,
    master: Master = None,
) -> None:
    """Make a checkpoint for a new query, which goes on where the old one has stopped.

    The time up to which windows are closed is printed: those that end later are the new query's.

    [bold]framefold stream import pipeline.py:trips_by_hour state new-checkpoint[/bold]
    """
    from .moving import import_state

    import_state(query, exported, checkpoint, master, skip_incomplete, partitions)
