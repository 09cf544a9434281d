"""The local engine on Parquet against two stages written by hand in DuckDB and in Polars.

Two stages: one row a key and minute first, then windows over those few rows. Each contender reads the file with all
cores in this process, every round runs all of them in turns, and results are compared first.
``python -m benchmarks.local --rows 8000000`` prints a table as Markdown.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import framefold as ff

from .events import ROW_GROUP, write_events

OURS = "framefold, local engine"
SUM_AND_COUNT = ("total", "events")
OPERATIONS: dict[str, ff.Operation] = {
    "total": ff.Sum("x"),
    "events": ff.Count(),
    "least": ff.Min("x"),
    "most": ff.Max("x"),
    "mean": ff.Average("x"),
    "spread": ff.Variance("x", ddof=0),
}
FIRST = {
    "total": "sum(x)",
    "events": "count(*)",
    "least": "min(x)",
    "most": "max(x)",
    "squares": "sum((x - 50) * (x - 50))",
}
"""The first stage's columns, as SQL; a good user takes something near the mean off before squaring."""
SECOND = {
    "total": "sum(total)",
    "events": "sum(events)",
    "least": "min(least)",
    "most": "max(most)",
    "squares": "sum(squares)",
}
LAST = {
    "mean": "total / events",
    "spread": "squares / events - (total / events - 50) * (total / events - 50)",
}
NEEDS = {"mean": ("total", "events"), "spread": ("total", "events", "squares")}


@dataclass(frozen=True)
class Case:
    """What is asked of a file of events: some of :data:`OPERATIONS` over ``size`` minutes every ``every``."""

    name: str
    path: Path
    outputs: Sequence[str] = SUM_AND_COUNT
    size: int = 60
    every: int = 1

    @property
    def stored(self) -> list[str]:
        """The columns of the first stage."""
        return list(dict.fromkeys(column for name in self.outputs for column in NEEDS.get(name, (name,))))


def framefold(case: Case) -> pa.Table:
    """framefold's local engine on the file."""
    windows = ff.sliding(f"{case.size} minutes", every=f"{case.every} minutes")
    query = ff.events(ff.parquet(case.path), time="t", by="k").window(windows)
    result: pa.Table = query.aggregate(**{name: OPERATIONS[name] for name in case.outputs})
    return result


def duckdb_first(case: Case) -> str:
    """The first stage in DuckDB: a row a key and step."""
    columns = ", ".join(f"{FIRST[name]} AS {name}" for name in case.stored)
    step = f"epoch_us(t) // {case.every * 60_000_000}"
    return f"SELECT k, {step} AS step, {columns} FROM read_parquet('{case.path}') GROUP BY ALL"


def duckdb_results(case: Case) -> str:
    """The outputs of the second stage's columns."""
    return ", ".join(f"{LAST.get(name, name)} AS {name}" for name in case.outputs)


def duckdb_range(case: Case) -> pa.Table:
    """DuckDB, a range of steps up to that of each row: no windows that end in a step without an event."""
    columns = ", ".join(f"{SECOND[name]} OVER w AS {name}" for name in case.stored)
    steps = case.size // case.every
    return duckdb.sql(
        f"""
        WITH first AS ({duckdb_first(case)}), second AS (
          SELECT k, step - {steps - 1} AS start, {columns} FROM first
          WINDOW w AS (PARTITION BY k ORDER BY step RANGE BETWEEN {steps - 1} PRECEDING AND CURRENT ROW)
        )
        SELECT k, make_timestamp(start * {case.every * 60_000_000}) AS start, {duckdb_results(case)} FROM second
        """
    ).to_arrow_table()


def duckdb_all(case: Case) -> pa.Table:
    """DuckDB, every window: the first stage filled up to a row for each key's every step, sorted."""
    columns = ", ".join(f"{SECOND[name]} OVER w AS {name}" for name in case.stored)
    steps = case.size // case.every
    return duckdb.sql(
        f"""
        WITH first AS MATERIALIZED ({duckdb_first(case)}), every_step AS (
          SELECT k, unnest(range(min(step) - {steps - 1}, max(step) + 1)) AS step FROM first GROUP BY k
        ), second AS (
          SELECT k, step AS start, count(first.step) OVER w AS filled, {columns}
          FROM every_step LEFT JOIN first USING (k, step)
          WINDOW w AS (PARTITION BY k ORDER BY step ROWS BETWEEN CURRENT ROW AND {steps - 1} FOLLOWING)
        )
        SELECT k, make_timestamp(start * {case.every * 60_000_000}) AS start, {duckdb_results(case)} FROM second
        WHERE filled > 0 ORDER BY k, start
        """
    ).to_arrow_table()


def polars_first(case: Case) -> pl.LazyFrame:
    """The first stage in Polars: a row a key and step, sorted."""
    x = pl.col("x")
    columns = {
        "total": x.sum(),
        "events": pl.len(),
        "least": x.min(),
        "most": x.max(),
        "squares": ((x - 50) ** 2).sum(),
    }
    step = pl.col("t").dt.truncate(f"{case.every}m").alias("start")
    return pl.scan_parquet(case.path).group_by("k", step).agg(**{name: columns[name] for name in case.stored})


def polars_second(case: Case) -> dict[str, pl.Expr]:
    """The columns of the second stage."""
    of = {"least": pl.col("least").min(), "most": pl.col("most").max()}
    return {name: of.get(name, pl.col(name).sum()) for name in case.stored}


def polars_results(case: Case, windows: pl.LazyFrame) -> pa.Table:
    """The outputs of the second stage's columns, computed."""
    outputs = [pl.sql_expr(LAST.get(name, name)).alias(name) for name in case.outputs]
    return windows.select("k", "start", *outputs).collect().to_arrow()


def polars_rolling(case: Case) -> pa.Table:
    """Polars, a rolling range up to each row: no windows that end in a step without an event."""
    steps = polars_first(case).sort("k", "start").rolling("start", period=f"{case.size}m", group_by="k")
    shift = pl.col("start").dt.offset_by(f"-{case.size - case.every}m")
    return polars_results(case, steps.agg(**polars_second(case)).with_columns(shift))


def polars_dynamic(case: Case) -> pa.Table:
    """Polars, every window: ``group_by_dynamic`` over the rows of the first stage."""
    steps = polars_first(case).sort("k", "start")
    windows = steps.group_by_dynamic(
        "start",
        every=f"{case.every}m",
        period=f"{case.size}m",
        offset=f"-{case.size - case.every}m",
        group_by="k",
    )
    return polars_results(case, windows.agg(**polars_second(case)))


CONTENDERS: dict[str, Callable[[Case], pa.Table]] = {
    OURS: framefold,
    "Polars, two stages, rolling": polars_rolling,
    "Polars, two stages, every window": polars_dynamic,
    "DuckDB, two stages, RANGE": duckdb_range,
    "DuckDB, two stages, every window": duckdb_all,
}
"""Those with every window give what we give; the others leave out windows whose last step has no event."""


def wrong(case: Case, ours: pa.Table, theirs: pa.Table) -> int:
    """How many windows of another's result differ from ours, or are not among ours; floats may differ by rounding."""
    start = pa.chunked_array([chunk.field("start") for chunk in ours.column("window").chunks])
    flat = ours.drop_columns(["window"]).append_column("start", pc.cast(start, pa.timestamp("us")))
    theirs = theirs.set_column(1, "start", pc.cast(theirs.column("start"), pa.timestamp("us")))
    connection = duckdb.connect()
    connection.register("ours", flat)
    connection.register("theirs", theirs)
    same = " AND ".join(f"abs(a.{name} - b.{name}) <= 1e-8 * (1 + abs(b.{name}))" for name in case.outputs)
    query = f"SELECT count(*) FROM theirs b LEFT JOIN ours a USING (k, start) WHERE NOT coalesce({same}, false)"
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


@dataclass
class Timed:
    """A contender's seconds, round by round, and what it gave."""

    rows: int
    differing: int
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median of its seconds."""
        return statistics.median(self.seconds)


def measure(
    case: Case, rounds: int = 5, contenders: dict[str, Callable[[Case], pa.Table]] = CONTENDERS
) -> dict[str, Timed]:
    """Each contender's times for a case, in turns, after its results were compared with ours.

    Raises
    ------
    SystemExit
        If the results are not the same.
    """
    ours = framefold(case)
    found = {}
    for name, contender in contenders.items():
        theirs = contender(case) if name != OURS else ours
        found[name] = Timed(len(theirs), 0 if name == OURS else wrong(case, ours, theirs))
        if found[name].differing or ("every window" in name and len(theirs) != len(ours)):
            raise SystemExit(
                f"{case.name}: {name} has {len(theirs)} windows, {found[name].differing} differ from our {len(ours)}"
            )
        del theirs
    del ours
    for _ in range(rounds):
        for name, contender in contenders.items():
            wall, cpu = time.perf_counter(), time.process_time()
            contender(case)
            found[name].seconds.append(time.perf_counter() - wall)
            found[name].cpu.append(time.process_time() - cpu)
    return found


def ratio(found: dict[str, Timed], name: str) -> float:
    """How long ours takes against a contender: the median over pairs of one round."""
    pairs = zip(found[OURS].seconds, found[name].seconds, strict=True)
    return statistics.median(ours / theirs for ours, theirs in pairs)


def table(found: dict[str, Timed]) -> list[str]:
    """Times of one case as lines of Markdown."""
    return [
        "| contender | windows | seconds | CPU seconds | ours takes, of its time |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(
            f"| {name} | {of.rows:,} | {of.median:.3f} | {statistics.median(of.cpu):.3f} | {ratio(found, name):.2f} |"
            for name, of in found.items()
        ),
    ]


def write_like(source: Path, path: Path, keys: int | None) -> None:
    """The same events with other keys: so many integers instead, or strings where None."""
    with pq.ParquetFile(source) as events, pq.ParquetWriter(path, _schema(events.schema_arrow, keys)) as writer:
        rng = np.random.default_rng(11)
        for group in range(events.num_row_groups):
            table = events.read_row_group(group)
            if keys is None:
                k = pc.binary_join_element_wise("customer", table.column("k").cast(pa.string()), "-")
            else:
                k = pa.array(rng.integers(0, keys, len(table)))
            writer.write_table(table.set_column(1, "k", k), row_group_size=ROW_GROUP)


def _schema(schema: pa.Schema, keys: int | None) -> pa.Schema:
    return schema.set(1, pa.field("k", pa.string() if keys is None else pa.int64()))


def cases(folder: Path, rows: int, keys: int = 100) -> list[Case]:
    """The reference job first, then what may cost at most twice as much an event; their files are written."""
    reference, strings, million = (folder / f"{name}.parquet" for name in ("reference", "strings", "million"))
    write_events(reference, rows, keys)
    write_like(reference, strings, None)
    write_like(reference, million, 1_000_000)
    return [
        Case(f"reference: sum and count, {keys} keys", reference),
        Case("strings as keys", strings),
        Case("four aggregates at once", reference, ("total", "events", "least", "most")),
        Case("minimum", reference, ("least",)),
        Case("maximum", reference, ("most",)),
        Case("variance", reference, ("spread",)),
        Case("1,000,000 keys, 12 h every 6 h", million, SUM_AND_COUNT, 720, 360),
    ]


def per_event(found: dict[str, dict[str, Timed]], rows: int) -> list[str]:
    """Ours in all cases as lines of Markdown: nanoseconds an event, against the first case, and against the others."""
    first = next(iter(found.values()))[OURS].median
    lines = ["| case | ns an event | of the reference | fastest other | ours takes, of its time |"]
    lines.append("| --- | ---: | ---: | --- | ---: |")
    for name, of in found.items():
        best = min((each for each in of if each != OURS), key=lambda each: of[each].median)
        own = of[OURS].median
        lines.append(f"| {name} | {own / rows * 1e9:.1f} | {own / first:.2f} | {best} | {ratio(of, best):.2f} |")
    return lines


def main() -> None:
    """Compare, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--all", action="store_true", help="also strings, a million keys, other aggregates")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.all:
            todo = cases(Path(folder), asked.rows, asked.keys)
        else:
            todo = [Case("reference", Path(folder) / "reference.parquet")]
            write_events(todo[0].path, asked.rows, asked.keys)
        found = {case.name: measure(case, asked.rounds) for case in todo}
    print("\n".join(table(next(iter(found.values())))))
    if asked.all:
        print("\n" + "\n".join(per_event(found, asked.rows)))


if __name__ == "__main__":
    main()
