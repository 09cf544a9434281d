"""Put streams that ruin sliding sums through framefold, pandas, Polars, DuckDB and Spark, and count what is wrong.

``python -m benchmarks.exactness`` writes the tables into ``docs/exactness.md``. Every result is compared with the
correctly rounded one, computed in integers from that window's own values.
"""

from __future__ import annotations

import itertools
import math
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import framefold as ff

Floats = NDArray[np.float64]
Rolling = Callable[[pa.Table, int], dict[str, Floats]]
"""From events and the length of windows to the results of all full windows of key 0, by operation."""

PAGE = Path(__file__).parents[1] / "docs" / "exactness.md"
BEGIN, END = "<!-- tables: python -m benchmarks.exactness -->", "<!-- end of tables -->"
OPERATIONS = {"sum": "Sum", "average": "Average", "variance": "Variance (ddof=1)", "deviation": "StdDev (ddof=1)"}
BESIDE = "1e200 in another key"
"""The stream with a key beside it."""
WRONG = 1e-9
"""From this relative error on a window is counted as wrong."""


def streams(rows: int, slides: int) -> dict[str, Floats]:
    """The streams by name: of ``rows`` values each, the long one of ``slides``."""
    rng = np.random.default_rng(7)
    ones = np.ones(rows)
    at = rows // 3

    def among_ones(**values: float) -> Floats:
        stream = ones.copy()
        for i, value in enumerate(values.values()):
            stream[at + 7 * i] = value
        return stream

    pairs = rng.normal(0, 1e6, rows // 2)
    cancelling = np.column_stack([pairs, rng.uniform(0, 1, rows // 2) - pairs]).ravel()
    return {
        "1e16 among ones": among_ones(a=1e16),
        "1e300 among ones": among_ones(a=1e300),
        "NaN": among_ones(a=np.nan),
        "+inf": among_ones(a=np.inf),
        "-inf": among_ones(a=-np.inf),
        "+inf and -inf": among_ones(a=np.inf, b=-np.inf),
        "signs that cancel": cancelling,
        "1e-10 to 1e20 mixed": rng.choice([-1.0, 1.0], rows) * 10 ** rng.uniform(-10, 20, rows),
        "near 1e9, 1e-3 apart": 1e9 + 1e-3 * rng.integers(0, 9, rows).astype(np.float64),
        BESIDE: np.round(rng.normal(50, 10, rows), 2),
        f"{slides:,} slides": np.round(rng.normal(50, 10, slides), 2),
    }


def events_of(stream: str, values: Floats) -> pa.Table:
    """The values of a stream as events ``x`` of key 0 at times ``t``; for one of the streams with another key ``k``."""
    events = pa.table({"t": np.arange(len(values)), "k": np.zeros(len(values), np.int64), "x": values})
    if stream != BESIDE:
        return events
    middle = len(values) // 3
    beside = pa.table({"t": [middle], "k": [1], "x": [1e200]})
    return pa.concat_tables([events[:middle], beside, events[middle:]])


def exact(values: Floats, size: int) -> dict[str, Floats]:
    """The correctly rounded results of all full windows, from integers."""
    finite = np.isfinite(values)
    ratios = [value.as_integer_ratio() for value in np.where(finite, values, 0.0).tolist()]
    unit = max(denominator for _, denominator in ratios)
    whole = [numerator * (unit // denominator) for numerator, denominator in ratios]
    sums = windows_of(whole, size)
    squares = windows_of([value * value for value in whole], size)
    spread = [size * square - total * total for total, square in zip(sums, squares, strict=True)]
    divisor = unit * unit * size * (size - 1)
    found = {
        "sum": [quotient(total, unit) for total in sums],
        "average": [quotient(total, unit * size) for total in sums],
        "variance": [quotient(each, divisor) for each in spread],
        "deviation": [root(each, divisor) for each in spread],
    }
    nan, positive, negative = (
        np.array(windows_of(flags.tolist(), size)) > 0
        for flags in (np.isnan(values), values == np.inf, values == -np.inf)
    )
    results = {name: np.array(column) for name, column in found.items()}
    for name, column in results.items():
        column[positive] = np.inf
        column[negative] = -np.inf
        column[nan | (positive & negative)] = np.nan
        if name in ("variance", "deviation"):
            column[nan | positive | negative] = np.nan
    return results


def windows_of(values: list[int], size: int) -> list[int]:
    """The sum of each full window of integers."""
    running = list(itertools.accumulate(values, initial=0))
    return [high - low for low, high in zip(running, running[size:], strict=False)]


def quotient(numerator: int, denominator: int) -> float:
    """A quotient of integers, correctly rounded; inf where it is too large for a float64."""
    try:
        return numerator / denominator
    except OverflowError:
        return np.inf if numerator > 0 else -np.inf


def root(numerator: int, denominator: int) -> float:
    """The square root of a quotient of integers, correctly rounded."""
    shift = max(0, 64 + (denominator.bit_length() - numerator.bit_length()) // 2 + 1)
    whole, rest = divmod(numerator << 2 * shift, denominator)
    down = math.isqrt(whole)
    beyond = rest > 0 or down * down < whole  # as one more bit, so that 65 bits round as all of them would
    return quotient(2 * down + beyond, 2 << shift)


def by_framefold(events: pa.Table, size: int) -> dict[str, Floats]:
    """framefold's local engine; the partial windows at both ends are left out."""
    query = ff.events(events, time="t", by="k").window(ff.sliding(size, every=1))
    result = query.aggregate(
        sum=ff.Sum("x"), average=ff.Average("x"), variance=ff.Variance("x"), deviation=ff.StdDev("x")
    )
    result = of_first_key(result)
    return {name: result[name].to_numpy()[size - 1 : len(result) - size + 1] for name in OPERATIONS}


def of_first_key(table: pa.Table) -> pa.Table:
    """The rows of key 0."""
    return table.filter(pc.equal(table["k"], 0))


def by_pandas(events: pa.Table, size: int) -> dict[str, Floats]:
    """pandas ``rolling``."""
    rolling = events.to_pandas().groupby("k")["x"].rolling(size)
    columns = {
        "sum": rolling.sum(),
        "average": rolling.mean(),
        "variance": rolling.var(),
        "deviation": rolling.std(),
    }
    return {name: column.loc[0].to_numpy()[size - 1 :] for name, column in columns.items()}


def by_polars(events: pa.Table, size: int) -> dict[str, Floats]:
    """Polars ``rolling_*``."""
    x = pl.col("x")
    columns = {
        "sum": x.rolling_sum(size),
        "average": x.rolling_mean(size),
        "variance": x.rolling_var(size),
        "deviation": x.rolling_std(size),
    }
    found = pl.DataFrame(events).select("k", **{name: column.over("k") for name, column in columns.items()})
    found = found.filter(pl.col("k") == 0)
    return {name: found[name].to_numpy()[size - 1 :] for name in columns}


def over(size: int, functions: Mapping[str, str]) -> str:
    """The query of the operations over the table ``events``, in SQL."""
    columns = ", ".join(f"{function}(x) OVER w AS {name}" for name, function in functions.items())
    window = f"PARTITION BY k ORDER BY t ROWS BETWEEN {size - 1} PRECEDING AND CURRENT ROW"
    return f"SELECT k, t, {columns} FROM events WINDOW w AS ({window}) ORDER BY t"


SQL = {"sum": "sum", "average": "avg", "variance": "var_samp", "deviation": "stddev_samp"}
KAHAN = {"sum": "fsum", "average": "favg"}


def by_duckdb(events: pa.Table, size: int, functions: Mapping[str, str] = SQL) -> dict[str, Floats]:
    """DuckDB ``OVER``."""
    connection = duckdb.connect()
    connection.register("events", events)
    table = of_first_key(connection.sql(over(size, functions)).to_arrow_table())
    return {name: table[name].to_numpy()[size - 1 :] for name in functions}


def by_duckdb_kahan(events: pa.Table, size: int) -> dict[str, Floats]:
    """DuckDB's sums with compensation."""
    return by_duckdb(events, size, KAHAN)


def by_spark(events: pa.Table, size: int) -> dict[str, Floats]:
    """Spark ``OVER``, in one partition for each key, as it must be."""
    from framefold.spark.session.session import local_session

    spark = local_session("exactness", "local[2]")
    spark.createDataFrame(events).createOrReplaceTempView("events")
    table = of_first_key(spark.sql(over(size, SQL)).toArrow())
    return {name: table[name].to_numpy()[size - 1 :] for name in OPERATIONS}


OURS = "**framefold**"
CONTENDERS: dict[str, Rolling] = {
    OURS: by_framefold,
    "pandas `rolling`": by_pandas,
    "Polars `rolling_*`": by_polars,
    "DuckDB `OVER`": by_duckdb,
    "DuckDB `OVER`, `fsum` and `favg`": by_duckdb_kahan,
}
SPARK: dict[str, Rolling] = {"Spark `OVER`": by_spark}


@dataclass(frozen=True, order=True)
class Errors:
    """How far results are off: how many windows are wrong, and the largest relative error."""

    wrong: int
    largest: float

    def __str__(self) -> str:
        largest = "0" if self.largest == 0 else "∞" if np.isinf(self.largest) else f"{self.largest:.0e}"
        return f"{largest}, **{self.wrong:,} wrong**" if self.wrong else largest


def errors(found: Floats, expected: Floats) -> Errors:
    """The errors of one operation on one stream; infinite where NaN, inf or 0 is wrong or missing."""
    with np.errstate(all="ignore"):
        off = np.abs(found - expected) / np.abs(expected)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    off = np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))
    return Errors(int(np.count_nonzero(off > WRONG)), float(off.max()))


Found = dict[str, dict[str, dict[str, Errors]]]
"""Errors by operation, contender and stream."""


def measure(contenders: Mapping[str, Rolling], given: Mapping[str, Floats], size: int) -> Found:
    """The errors of all contenders on all streams."""
    found: Found = {operation: {name: {} for name in contenders} for operation in OPERATIONS}
    for stream, values in given.items():
        expected = exact(values, size)
        for name, rolling in contenders.items():
            for operation, column in rolling(events_of(stream, values), size).items():
                found[operation][name][stream] = errors(column, expected[operation])
    return found


def tables(found: Found, given: Mapping[str, Floats], size: int) -> str:
    """The errors as Markdown, one table an operation."""
    import pyspark

    rows = min(map(len, given.values()))
    lines = [
        f"Windows of {size} values; {rows:,} values a stream, unless its name says otherwise. "
        f"framefold {ff.__version__}, "
        f"pandas {pd.__version__}, Polars {pl.__version__}, DuckDB {duckdb.__version__}, Spark {pyspark.__version__}, "
        f"Python {platform.python_version()}.",
    ]
    for operation, of in found.items():
        lines += ["", f"### {OPERATIONS[operation]}", "", "| | " + " | ".join(given) + " |"]
        lines.append("| --- |" + " ---: |" * len(given))
        for name, row in of.items():
            if row:
                lines.append(f"| {name} | " + " | ".join(map(str, row.values())) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, and put the tables where they belong in the page."""
    given, size = streams(10_000, 1_000_000), 60
    text = tables(measure(CONTENDERS | SPARK, given, size), given, size)
    page = PAGE.read_text()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    print(text)


if __name__ == "__main__":
    main()
