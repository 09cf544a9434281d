"""``framefold demo``: a day of taxi trips in sliding windows, in a terminal."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.text import Text

from ... import Average, Count, EngineError, QueryError, events, parquet, sliding
from ...events import Windowed
from .job import own_session, require_spark
from .output import preview
from .replacing import new_file
from .trips import DAY, ZONES, make_trips

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    if engine == "spark":
        require_spark()
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
        result = _run(console, local, "the local engine")[0] if engine == "local" else _on_spark(console, path, master)
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
        result, seconds = _run(console, _query(parquet(path, spark=spark)), "Spark")
        _beside_window(console, spark, path, result, seconds)
        return result


def _beside_window(console: Console, spark: SparkSession, path: Path, result: pa.Table, seconds: float) -> None:
    """Say how long Spark's own ``window()`` takes for the same rows; EngineError if it does not give the same."""
    from pyspark.sql import functions as f

    from ...spark.files.spark_reader import spark_path

    trips = spark.read.parquet(spark_path(str(path)))
    hours = f.window("pickup", "1 hour", "1 minute")
    groups = trips.groupBy("zone", hours).agg(f.avg("speed").alias("speed"), f.count("*").alias("trips"))
    with _timed(console, "running Spark's own window()"):
        theirs = groups.orderBy("zone", "window").toArrow()
    with _timed(console, "running it once more") as took:
        groups.orderBy("zone", "window").toArrow()
    how = _agreement(result, theirs, "Spark's own window()")
    console.print(
        f"[green]✓[/green] Spark's own window(), which copies each trip into its 60 windows, took {took():.2f} s the "
        f"second time, [bold]{took() / seconds:.1f} times as long[/bold], and gives the same {len(theirs):,} "
        f"rows, {how}."
    )


def _run(console: Console, query: Windowed[Any], engine: str) -> tuple[pa.Table, float]:
    """The result, and the seconds of the last run."""
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
    again, seconds = "", took()
    if engine == "Spark":  # whose first job is mostly the JVM warming up
        with _timed(console, "running once more") as second:
            result = _aggregate(query)
        again, seconds = f", {second():.2f} s the second time", second()
    zones = pc.count_distinct(result["zone"]).as_py()
    _title(console, f"{len(result):,} windows of {zones} zones in {took():.2f} s on {engine}{again}")
    return result, seconds


def _show(console: Console, result: pa.Table) -> None:
    day = result.filter(pc.equal(result["zone"], ZONE))
    start = day["window"].combine_chunks().field("start")
    starts = np.asarray(start)
    noons = [np.searchsorted(starts, DAY + each * HOUR) for each in (4, 8, 18)]
    rows = [index for noon in noons for index in (noon, noon + 1) if index < len(day)]
    console.print(
        f"From {ZONE}, which has most trips, two windows from each of three hours: 04:00, when streets are empty, and "
        "the rush at 08:00 and 18:00."
    )
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
        return Text(f"({title}: no plot, since plotext, of the extra cli, does not run here)")
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
    how = _agreement(result, local, "the local engine")
    console.print(
        f"\n[green]✓[/green] The local engine took {took():.2f} s, with no Spark, and gives the same windows, {how}."
    )


def _agreement(result: pa.Table, other: pa.Table, whose: str) -> str:
    """How far two results are the same, in words; EngineError if they are not."""
    same = len(result) == len(other) and all(
        result[name].combine_chunks().cast(other.schema.field(name).type).equals(other[name].combine_chunks())
        for name in ("zone", "window", "trips")
    )
    gap = np.inf
    if same:
        one, two = (table["speed"].to_numpy() for table in (result, other))
        same = bool((np.isnan(one) == np.isnan(two)).all())
        gap = float(np.nanmax(np.abs(one - two) / np.abs(two), initial=0.0))
    if not same or gap > 1e-12:
        raise EngineError(f"framefold on Spark and {whose} do not give the same windows, which is a bug in framefold")
    return "bit for bit" if gap == 0 else f"averages to within {gap:.0e}"


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
