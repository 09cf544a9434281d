"""A warm day from partials at rest, next to framefold, DuckDB from all events.

``python -m benchmarks.partials`` prints the tables as Markdown; the report has them by ``python -m benchmarks.run
--cases partials``. Events are Parquet files, one a day, in no order of keys. A warm day appends the events of one more
day to the partials of all days before, rolls up longer frames that have ended, then gives the windows that end with the
day: of all days, of 90, of 7; a count, a sum and a maximum of each key. The others read the events of all these days
for the same rows. Results are compared first; each round is another day.

DuckDB aggregates the events of each key between the starts of two windows, then puts these together; framefold looks
back from the end of the day. Both were faster than one condition, or all sliding windows, a size.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import framefold as ff

from .child import ROOT
from .holistic import Took, took
from .report import table

DAY = 86_400_000_000
FIRST = int(np.datetime64("2024-01-01", "us").astype(int))
OUTPUTS: dict[str, Any] = {"n": ff.Count(), "spent": ff.Sum("x"), "top": ff.Max("x")}
ROUNDS = 5
WARM = 2
"""Turns that are left out: in these the JVM compiles, and workers start."""
ROLLUPS = ("5 days", "30 days")
"""The longer frames beside the days."""

Day = Callable[[int], pa.Table]
"""The rows of the windows that end with a day: the key, then each output for each size."""


class Size(NamedTuple):
    """How many events there are: the days of the longest window, the events of each day, the keys."""

    days: int
    events: int
    keys: int

    def __str__(self) -> str:
        return f"{self.days} days of {self.events:,} events of {self.keys:,} keys"

    @property
    def sizes(self) -> list[int]:
        """The days of each window."""
        return [self.days, min(90, self.days // 2), min(7, self.days // 4)]


REPORTED, QUICK = Size(730, 500_000, 5_000), Size(20, 2_000, 50)


def events_of(day: int, size: Size) -> pa.Table:
    """The events of a day in the order of time."""
    draw = np.random.default_rng(day)
    times = np.sort(draw.integers(0, DAY, size.events)) + FIRST + day * DAY
    return pa.table({
        "t": pa.array(times, pa.timestamp("us", "UTC")),
        "k": draw.integers(0, size.keys, size.events),
        "x": np.round(100 * draw.random(size.events), 2),
    })  # fmt: skip


def end_of(day: int) -> pa.Scalar:
    return pa.scalar(FIRST + (day + 1) * DAY, pa.timestamp("us", "UTC"))


class Lake:
    """Events of all days and their partials, below a folder; the former are made once, and kept.

    Parameters
    ----------
    folder
        Where events are kept.
    size
        How many there are.
    """

    def __init__(self, folder: Path, size: Size) -> None:
        self.size, self.events = size, folder / f"partials-{size.days}-{size.events}-{size.keys}"
        self.events.mkdir(parents=True, exist_ok=True)
        for day in range(size.days + WARM + ROUNDS + 1):
            if not self.of(day).exists():
                beside = self.events / "beside"
                pq.write_table(events_of(day, size), beside, compression="zstd")
                beside.rename(self.of(day))

    def of(self, day: int) -> Path:
        return self.events / f"{day:04}.parquet"

    def before(self, day: int) -> list[str]:
        """The files of the longest window that ends with a day."""
        return [str(self.of(each)) for each in range(day + 1 - self.size.days, day + 1)]

    def partials(self, path: Path, spark: Any = None) -> Any:
        return ff.partials(path, time="t", by="k", frame="1 day", spark=spark, **OUTPUTS)


def bytes_in(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def side_by_side(found: pa.Table, sizes: list[int]) -> pa.Table:
    """A row for each key and window as a row for each key."""
    starts, ends = found["window"].combine_chunks().flatten()
    days = np.asarray(ends.cast("int64")) // DAY - np.asarray(starts.cast("int64")) // DAY
    columns = {}
    for at in sizes:
        some = found.filter(pa.array(days == at))
        columns |= {f"{name}_{at}d": some[name] for name in OUTPUTS} | {"k": some["k"]}
    return pa.table(columns)


def ways(lake: Lake, path: Path, spark: Any = None) -> dict[str, Day]:
    """The contenders."""
    size, stored = lake.size, lake.partials(path, spark)
    windows = [ff.sliding(f"{each} days", every="1 day") for each in size.sizes]

    def local(found: Any) -> pa.Table:
        return found if spark is None else found.toArrow()

    def warm(day: int) -> pa.Table:
        file = str(lake.of(day))
        stored.append(ff.parquet(file, spark=spark), run=str(day))
        for each in ROLLUPS:
            stored.roll_up(each)
        asked = stored.window(*windows).ending(end_of(day - 1).as_py(), end_of(day).as_py())
        return local(asked.aggregate())

    def from_events(day: int) -> pa.Table:
        labels = pa.table(
            {"k": np.arange(size.keys), "at": pa.array([end_of(day).as_py()] * size.keys, end_of(day).type)}
        )
        back = ff.lookback(*(f"{each} days" for each in size.sizes), at=labels)
        files = ff.parquet(*lake.before(day), spark=spark)
        return local(ff.events(files, time="t", by="k").window(back).aggregate(**OUTPUTS))

    def in_duckdb(day: int) -> pa.Table:
        end, columns = end_of(day).value, []
        for each in size.sizes:
            inside = f"filter (where part >= {size.days - each})"
            columns += [f"sum(n) {inside} as n_{each}d", f"sum(spent) {inside} as spent_{each}d"]
            columns.append(f"max(top) {inside} as top_{each}d")
        part = "case " + " ".join(
            f"when t >= make_timestamp({end - each * DAY}) then {size.days - each}" for each in reversed(size.sizes)
        )
        with duckdb.connect() as connection:
            connection.execute("set timezone = 'UTC'")
            return connection.sql(
                f"select k, {', '.join(columns)} from (select k, {part} end as part, count(*) as n, sum(x) as spent, "
                f"max(x) as top from read_parquet({lake.before(day)}) group by all) group by k order by k"
            ).to_arrow_table()

    return {
        "framefold, a warm day": warm,
        "framefold, from the events": from_events,
        "DuckDB, from the events": in_duckdb,
    }


def require_equal(found: dict[str, pa.Table], sizes: list[int]) -> None:
    """SystemExit unless all have the same rows, sums up to rounding."""
    first, *others = found
    mine = side_by_side(found[first], sizes)
    for peer in others:
        for name in [f"{output}_{each}d" for output in OUTPUTS for each in sizes]:
            one, other = (np.asarray(each[name].combine_chunks().cast(pa.float64())) for each in (mine, found[peer]))
            if len(one) != len(other) or not np.allclose(one, other, rtol=1e-12, atol=0):
                sys.exit(f"partials: {peer} differs from {first} in {name}")


def contest(lake: Lake, path: Path, rounds: int, spark: Any = None) -> list[str]:
    """The lines of a table: each round is a day, on which contenders take turns."""
    of, size = ways(lake, path, spark), lake.size
    require_equal({name: run(size.days) for name, run in of.items()}, size.sizes)
    found: dict[str, list[Took]] = {name: [] for name in of}
    for turn in range(WARM + rounds):
        for name in list(of)[:: -1 if turn % 2 else 1]:
            taken = took(lambda: of[name](size.days + 1 + turn))  # noqa: B023  # it runs at once
            found[name] += [taken] if turn >= WARM else []
    cells = []
    warm = next(iter(found.values()))
    for name, each in found.items():
        times = [one.wall / other.wall for one, other in zip(each, warm, strict=True)]
        cells.append(
            [name, *([f"{median(one.wall for one in each):.2f}", f"{median(times):.1f}"] if each else ["", ""])]
        )
    return table(["contender", "seconds", "times a warm day"], cells)


def at_rest(lake: Lake, path: Path) -> list[str]:
    """The bytes of all events, beside those of their partials."""
    events = sum(lake.of(day).stat().st_size for day in range(lake.size.days))
    kept = bytes_in(path)
    return table(
        ["", "bytes"], [["events", f"{events:,}"], ["partials", f"{kept:,} ({events / kept:.0f} times fewer)"]]
    )


def tables(size: Size = REPORTED, rounds: int = ROUNDS, folder: Path | None = None) -> dict[str, list[str]]:
    """Those of the report."""
    from framefold.spark.session.session import local_session

    lake = Lake(folder or ROOT / ".benchmarks" / "data", size)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "local")
        stored = lake.partials(path)
        cold = took(lambda: [stored.append(ff.parquet(str(lake.of(day))), run=str(day)) for day in range(size.days)])
        longer = took(lambda: [stored.roll_up(each) for each in ROLLUPS])
        sizes = [
            *at_rest(lake, path), "",
            f"The partials of all days were made in {cold.wall:.0f} s, a run each, and rolled up to frames of "
            f"{' and of '.join(ROLLUPS)} in {longer.wall:.1f} s.",
        ]  # fmt: skip
        shutil.copytree(path, on_spark := Path(place, "spark"))
        found = {f"Partials at rest: {size}": contest(lake, path, rounds), "Partials at rest, bytes": sizes}
        spark = local_session("partials")
        return found | {f"Partials at rest on Spark: {size}": contest(lake, on_spark, rounds, spark)}


def check() -> None:
    """SystemExit unless all have equal results on few events."""
    with tempfile.TemporaryDirectory() as folder:
        tables(QUICK, 0, Path(folder))


def main() -> None:
    """Compare, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS, choices=range(ROUNDS + 1))
    parser.add_argument("--size", type=int, nargs=3, metavar=("DAYS", "EVENTS", "KEYS"), default=REPORTED)
    asked = parser.parse_args()
    for title, text in tables(Size(*asked.size), asked.rounds).items():
        print("\n".join([f"## {title}", "", *text, ""]))


if __name__ == "__main__":
    main()
