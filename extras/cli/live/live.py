"""A live view of a stream in a terminal."""

from __future__ import annotations

import time as clock
from collections import Counter
from contextlib import ExitStack, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from .... import Average, Count, EngineError, events, parquet, sliding, stream_metrics
from ....events import Windowed
from ..job import require_spark, stream_session
from .trips_stream import SCHEMA, ZONES_SHOWN, TripsStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CODE = """\
ff.events(trips.withWatermark("pickup", "3 seconds"), time="pickup", by="zone")
  .window(ff.sliding("10 seconds", every="1 second"))
  .aggregate(speed=ff.Average("speed"), trips=ff.Count())"""
OUTPUTS: dict[str, Any] = {"speed": Average("speed"), "trips": Count()}
BARS, SHOWN = "▁▂▃▄▅▆▇█", 30
REFRESH = 0.25


class View:
    """What the stream has given, and what its last micro-batch has said of itself."""

    def __init__(self) -> None:
        self.given: list[pa.Table] = []
        self.last: dict[str, list[tuple[Any, float, int]]] = {}
        self.said: dict[str, Any] = {}
        self.windows = 0

    def take(self, results: DataFrame, number: int) -> None:
        """The results of a micro-batch."""
        table = results.toArrow()
        self.given.append(table)
        self.windows += len(table)
        last = {zone: [*found] for zone, found in self.last.items()}
        for row in table.to_pylist():
            last.setdefault(row["zone"], []).append((row["window"]["end"], row["speed"], row["trips"]))
        # At once, since another thread shows it.
        self.last = {zone: sorted(found, key=lambda each: each[0])[-SHOWN:] for zone, found in last.items()}

    def __rich__(self) -> Group:
        table = Table("zone", "until", "km/h", "trips", "speed, window by window", expand=False)
        for zone in ZONES_SHOWN:
            if found := self.last.get(zone):
                end, speed, trips = found[-1]
                table.add_row(zone, f"{end:%H:%M:%S}", f"{speed:.1f}", str(trips), bars([each[1] for each in found]))
        return Group(table, Text(self.line(), style="dim"))

    def line(self) -> str:
        """What is given and kept, in words."""
        kept = f"{self.said.get('partials', 0)} partials kept, {self.said.get('late_events', 0)} late events"
        lag = self.said.get("lag_ms")
        behind = "" if lag is None else f", the watermark {lag / 1000:.1f} s behind the clock"
        return f"{self.windows:,} windows given, {kept}{behind}"


def bars(values: list[float]) -> str:
    """Numbers as bars.

    >>> bars([1.0, 2.0, 3.0])
    '▁▄█'
    """
    low, high = min(values), max(values)
    return "".join(BARS[int((value - low) / ((high - low) or 1) * (len(BARS) - 1))] for value in values)


def run_live(seconds: float, seed: int, *, master: str | None) -> None:
    """Run a stream for some seconds and show it; then check that what it gave and what is open are the batch.

    Parameters
    ----------
    seconds
        How long trips come in.
    seed
        Which zones and speeds they have.
    master
        Where Spark runs; None: on this machine.

    Raises
    ------
    EngineError
        If Spark is not installed, or if the stream and the batch do not agree.
    """
    require_spark("; streams need it")
    console = Console(highlight=False)
    console.print(f"\n[bold]How fast is each zone, over the last ten seconds, every second? For {seconds:g} s[/bold]")
    console.print(Text(CODE, style="cyan"))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="framefold-")))
        trips, checkpoint = folder / "trips", folder / "checkpoint"
        trips.mkdir()
        spark = stack.enter_context(stream_session("framefold demo", master, 2))
        stream = spark.readStream.schema(SCHEMA).parquet(str(trips)).withWatermark("pickup", "3 seconds")
        asked = windowed(stream)
        view = View()
        writer = asked.aggregate(**OUTPUTS).writeStream.queryName("speed of each zone").foreachBatch(view.take)
        source = TripsStream(trips, seed)
        source.write(-1)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(processingTime="1 second").start()
        stack.callback(query.stop)
        source.start()
        stack.callback(source.stop)
        watch(console, view, query, seconds)
        source.stop()
        query.processAllAvailable()
        query.stop()
        compare(console, view, asked.still_open(str(checkpoint), **OUTPUTS).toArrow(), trips)


def windowed(trips: Any) -> Windowed[Any]:
    """The query."""
    return events(trips, time="pickup", by="zone").window(sliding("10 seconds", every="1 second"))


def watch(console: Console, view: View, query: Any, seconds: float) -> None:
    """Show a query: on a terminal as a table that changes, elsewhere a line for each micro-batch that gave windows."""
    until, told = clock.monotonic() + seconds, 0
    with Live(view, console=console) if console.is_terminal else nullcontext():
        while clock.monotonic() < until and query.isActive:
            clock.sleep(REFRESH)
            if query.lastProgress is not None:
                said = stream_metrics(query.lastProgress)
                view.said = said if said.get("shards") else view.said
            if not console.is_terminal and view.windows > told:
                told = view.windows
                console.print(view.line())
    if not query.isActive and query.exception() is not None:
        raise query.exception()


def compare(console: Console, view: View, rest: pa.Table, trips: Path) -> None:
    """Say that the stream has given what the batch does; EngineError if it has not."""
    given, still, batch = rows(view.given), rows([rest]), rows([windowed(parquet(str(trips))).aggregate(**OUTPUTS)])
    if given + still != batch:
        raise EngineError("the stream and the batch do not give the same windows, which is a bug in framefold")
    console.print(
        f"\n[green]✓[/green] {given.total():,} windows that have closed, each once, and {still.total():,} that are "
        "open in the checkpoint: those of the batch over the same trips, bit for bit."
    )


def rows(tables: list[pa.Table]) -> Counter[tuple[Any, ...]]:
    """How often there is each row."""
    found: Counter[tuple[Any, ...]] = Counter()
    for table in tables:
        start = pc.struct_field(table["window"], "start").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
        columns = [table["zone"].to_pylist(), start.to_pylist(), table["trips"].to_pylist()]
        found.update(zip(*columns, map(repr, table["speed"].to_pylist()), strict=True))
    return found
