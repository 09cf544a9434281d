"""``framefold demo``: a day of taxi trips in sliding windows, in a terminal."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.text import Text

from .. import Average, Count, EngineError, QueryError, events, parquet, sliding
from ..events import Windowed
from .job import has_spark, own_session
from .output import preview
from .replacing import new_file
from .trips import DAY, ZONES, make_trips

CODE = """\
ff.events(trips, time="pickup", by="zone")
  .window(ff.sliding("1 hour", every="1 minute"))
  .aggregate(speed=ff.Average("speed"), trips=ff.Count())"""
ZONE = ZONES[0]
HOUR = np.timedelta64(3600, "s")


def run_demo(rows: int, seed: int, *, keep: str | None, engine: str, master: str | None) -> None:
    """Make trips, run the main job on them, show what came out, and check that both engines agree.

    Parameters
    ----------
    rows, seed
        How many trips, and which.
    keep
        The folder to keep them in; a temporary one where None.
    engine
        ``"spark"`` or ``"local"``.
    master
        Where Spark runs; None: on this machine, or where spark-submit says.

    Raises
    ------
    EngineError
        If Spark is not installed, or if the engines do not agree.
    """
    if engine == "spark" and not has_spark():
        raise EngineError("Spark is not installed: pip install 'framefold[spark]', or use --engine local")
    if keep is not None and (not Path(keep).parent.is_dir() or (Path(keep).exists() and not Path(keep).is_dir())):
        raise QueryError(f"--keep {keep!r} cannot be made a folder; expected the name of one in a folder that exists")
    console = Console(highlight=False)
    kept: AbstractContextManager[str] = TemporaryDirectory(prefix="framefold-") if keep is None else nullcontext(keep)
    with kept as folder:
        path = Path(folder) / "trips.parquet"
        _title(console, "A day of taxi trips")
        with _timed(console, f"making {rows:,} trips") as took:
            trips = make_trips(rows, seed)
            path.parent.mkdir(exist_ok=True)
            with new_file(str(path)) as new:
                pq.write_table(trips, new, row_group_size=max(1, rows // 4))
        size = path.stat().st_size / 1e6
        console.print(f"{rows:,} trips from {len(ZONES)} zones, {size:.1f} MB of Parquet, made in {took():.1f} s.")
        if keep is not None:
            console.print(f"They are in {path}.", soft_wrap=True)
        _title(console, "The job: how fast is each zone, over the last hour, every minute?")
        console.print(Text(CODE, style="cyan"))
        local = _query(parquet(path))
        if engine == "local":
            result = _run(console, local, "the local engine")
        else:
            result = _on_spark(console, path, master)
        _show(console, result)
        if engine == "spark":
            _compare(console, result, local)


def _query(trips: Any) -> Windowed[Any]:
    return events(trips, time="pickup", by="zone").window(sliding("1 hour", every="1 minute"))


def _aggregate(query: Windowed[Any]) -> pa.Table:
    result = query.aggregate(speed=Average("speed"), trips=Count())
    return result if isinstance(result, pa.Table) else result.toArrow()


def _on_spark(console: Console, path: Path, master: str | None) -> pa.Table:
    with ExitStack() as stack:
        with _timed(console, "starting Spark") as took:
            spark = stack.enter_context(own_session("framefold demo", master))
        console.print(f"\nSpark {spark.version} started on {spark.conf.get('spark.master')} in {took():.1f} s.")
        return _run(console, _query(parquet(path, spark=spark)), "Spark")


def _run(console: Console, query: Windowed[Any], engine: str) -> pa.Table:
    console.print()
    for line in str(query.explain(speed=Average("speed"), trips=Count())).splitlines():
        label, _, text = line.strip().partition("  ")
        if not text:
            console.print(f"[bold]How {label} will do it[/bold]")
            continue
        # A hanging indent, so that long explanations stay readable in 80 columns.
        wrapped = Text(text.strip()).wrap(console, max(20, console.width - 4))
        console.print(Text(f"  {label}", style="cyan"))
        for part in wrapped:
            console.print(Text("    ") + part)
    with _timed(console, f"running on {engine}") as took:
        result = _aggregate(query)
    again = ""
    if engine == "Spark":  # whose first job is mostly the JVM warming up
        with _timed(console, "running once more") as second:
            result = _aggregate(query)
        again = f", {second():.2f} s the second time"
    zones = pc.count_distinct(result["zone"]).as_py()
    _title(console, f"{len(result):,} windows of {zones} zones in {took():.2f} s on {engine}{again}")
    return result


def _show(console: Console, result: pa.Table) -> None:
    day = result.filter(pc.equal(result["zone"], ZONE))
    start = day["window"].combine_chunks().field("start")
    starts = np.asarray(start)
    noons = [np.searchsorted(starts, DAY + each * HOUR) for each in (4, 8, 18)]
    rows = [index for noon in noons for index in (noon, noon + 1) if index < len(day)]
    console.print(preview(day.take(pa.array(rows, pa.int64()))))
    whole = (starts >= DAY) & (starts <= DAY + 23 * HOUR)
    hours = (starts[whole] - DAY) / HOUR + 1
    shown = day.filter(pa.array(whole))
    width = min(console.width, 100)
    for name, title in (("speed", "average speed, km/h"), ("trips", "trips")):
        console.print(_plot(hours, shown[name].to_numpy(), f"{ZONE}: {title}, over the hour before", width))


def _plot(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], title: str, width: int) -> Text:
    try:
        from plotext import figure
    except ImportError:  # it is made of machine code, which not every machine can run
        return Text(f"({title}: no plot, since plotext does not run here)")
    figure.clear()
    figure.plot_size(width, 12)
    known = ~np.isnan(y.astype(float))
    signal = figure.signal(x[known].tolist(), y[known].tolist(), marker="braille")
    signal.lines()
    figure.draw(signal)
    ticks = range(0, 25, 3)
    figure.ruler("x").lim(0, 24)
    figure.ruler("x").ticks(list(ticks), [f"{tick:02}:00" for tick in ticks])
    low, high = float(np.nanmin(y)), float(np.nanmax(y))
    step = _round_step((high - low) / 4)
    heights = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    figure.ruler("y").lim(heights[0], heights[-1])
    figure.ruler("y").ticks(heights.tolist(), [f"{height:g}" for height in heights])
    text = figure.build().string(colorless=True)
    lines = [Text(f"\n{title}", style="bold"), *(Text(line.rstrip(), style="cyan") for line in text.splitlines())]
    return Text("\n").join(lines)


def _round_step(step: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, ... that is at least a step.

    >>> _round_step(3), _round_step(170.0)
    (5, 200)
    """
    powers = (int(10**exponent) for exponent in range(12))
    return next(power * digit for power in powers for digit in (1, 2, 5) if power * digit >= step)


def _compare(console: Console, result: pa.Table, query: Windowed[Any]) -> None:
    """Say that the local engine gives the same; EngineError if it does not."""
    with _timed(console, "running on the local engine") as took:
        local = _aggregate(query)
    console.print()
    exact = ["zone", "window", "trips"]
    same = len(result) == len(local) and all(
        result[name].combine_chunks().cast(local.schema.field(name).type).equals(local[name].combine_chunks())
        for name in exact
    )
    gap = np.inf
    if same:
        one, other = (table["speed"].to_numpy() for table in (result, local))
        same = bool((np.isnan(one) == np.isnan(other)).all())
        gap = float(np.nanmax(np.abs(one - other) / np.abs(other), initial=0.0))
    if not same or gap > 1e-12:
        raise EngineError("the local engine and Spark do not give the same windows, which is a bug in framefold")
    how = "bit for bit" if gap == 0 else f"averages to within {gap:.0e}"
    console.print(
        f"[green]✓[/green] The local engine took {took():.2f} s, with no Spark, and gives the same windows, {how}."
    )


def _title(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]")
    console.print("─" * min(len(text), console.width), style="dim")


@contextmanager
def _timed(console: Console, what: str) -> Iterator[Any]:
    """Time a step, with a spinner on a terminal; yields a function that gives its seconds."""
    began, ended = clock.perf_counter(), None

    def took() -> float:
        return (ended or clock.perf_counter()) - began

    with console.status(f"{what} ...") if console.is_terminal else nullcontext():
        yield took
    ended = clock.perf_counter()
