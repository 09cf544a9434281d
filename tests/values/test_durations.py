"""Durations are summed, averaged, ranked and picked as durations, on every engine."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..oracles.ways import one_window
from ..support.command_line import main


def rounded(value: Fraction) -> int:
    """To the nearest integer, halves away from 0: as Spark's ``avg`` of intervals."""
    size = math.floor(abs(value) + Fraction(1, 2))
    return size if value > 0 else -size


def quantile(values: list[int], share: Fraction) -> int:
    """Towards 0, as Spark's ``percentile`` of intervals."""
    ordered, (place, rest) = sorted(values), divmod(share * (len(values) - 1), 1)
    low = ordered[int(place)]
    return int(low + (ordered[min(int(place) + 1, len(values) - 1)] - low) * rest)


OUTPUTS: dict[str, tuple[Any, Callable[[list[int]], Any]]] = {
    "sum": (ff.Sum("x"), sum), "mean": (ff.Average("x"), lambda x: rounded(Fraction(sum(x), len(x)))),
    "median": (ff.Median("x"), lambda x: quantile(x, Fraction(1, 2))),
    "quantiles": (
        ff.Quantile("x", [0.25, 0.9]), lambda x: [quantile(x, Fraction(1, 4)), quantile(x, Fraction(9, 10))]
    ),
    "taken": (ff.Quantile("x", 0.5, method="discrete"), lambda x: sorted(x)[(len(x) - 1) // 2]),
    "least": (ff.Min("x"), min), "greatest": (ff.Max("x"), max), "range": (ff.Range("x"), lambda x: max(x) - min(x)),
    "first": (ff.First("x"), lambda x: x[0]), "last": (ff.Last("x"), lambda x: x[-1]),
    "distinct": (ff.DistinctSum("x"), lambda x: sum(set(x))),
    "mode": (ff.Mode("x"), lambda x: max(sorted(x), key=x.count)),
    "top": (ff.TopN("x", 2), lambda x: sorted(x)[::-1][:2]),
}  # fmt: skip
"""Operations, and their results in ticks, by the values of a window in the order of time."""
OPERATIONS = {name: operation for name, (operation, _) in OUTPUTS.items()}


def ticks(column: pa.Array) -> list[Any]:
    """Durations, or lists of them, as integers."""
    if pa.types.is_list(column.type):
        return column.cast(pa.list_(pa.int64())).to_pylist()
    return column.cast(pa.int64()).to_pylist()


def random_events(unit: str, size: int) -> tuple[pa.Table, list[int | None]]:
    of = np.random.default_rng(size)
    values = [None if of.random() < 0.2 else int(v) for v in of.integers(-(2**size), 2**size, 60)]
    times = pa.array([1_000_000 * row for row in range(60)], pa.timestamp("us", "UTC"))
    return pa.table({"t": times, "x": pa.array(values, pa.duration(unit))}), values


@pytest.mark.parametrize(("unit", "size"), [("s", 2), ("s", 39), ("ms", 20), ("us", 2), ("us", 40), ("ns", 40)])
def test_all_units(unit: str, size: int) -> None:
    """Ranges are in microseconds."""
    table, values = random_events(unit, size)
    query = ff.events(table, time="t").window(ff.sliding("7 seconds", every="3 seconds", empty="emit"))
    result = query.aggregate(**OPERATIONS, n=ff.Count())
    scale = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 1}[unit]
    for name in OPERATIONS:
        column = result[name].combine_chunks()
        kept = column.type.value_type if pa.types.is_list(column.type) else column.type
        assert kept == pa.duration("us" if name == "range" and unit != "ns" else unit)
        for window, one in zip(result["window"].to_pylist(), ticks(column), strict=True):
            start = int(window["start"].timestamp())
            own = [value for value in values[max(start, 0) : start + 7] if value is not None]
            wanted = OUTPUTS[name][1](own) if own else [] if name == "top" else None
            assert one == (wanted * scale if name == "range" and wanted is not None else wanted), (name, own)


def durations(values: list[Any], unit: str = "us") -> pa.Array:
    return pa.array(values, pa.duration(unit))


def test_what_does_not_fit_and_what_does() -> None:
    most = 2**63 - 1
    sentence = r"^the sum of 'x' does not fit duration\[us\] in 1 of 1 windows; cast the"
    with pytest.raises(ff.SumOverflowError, match=sentence):
        one_window(durations([most, 1]), s=ff.Sum("x"))
    both = one_window(durations([2**62, 2**62, -(2**62)]), m=ff.Average("x"), q=ff.Median("x"), s=ff.Sum("x"))
    assert both["s"] // dt.timedelta(microseconds=1) == 2**62
    assert both["m"] // dt.timedelta(microseconds=1) == rounded(Fraction(2**62, 3))
    assert both["q"] // dt.timedelta(microseconds=1) == 2**62


def test_sums_of_nothing() -> None:
    hour = dt.timedelta(hours=1)
    sums = {"n": ff.Sum("x"), "h": ff.Sum("x", empty=hour), "z": ff.Sum("x", empty=0)}
    found = one_window(durations([None]), **sums, m=ff.Average("x"))
    assert (found["n"], found["h"], found["z"], found["m"]) == (None, hour, dt.timedelta(0), None)
    sentence = r"^empty= of Sum\('x'\) is 5, but 'x' is duration\[us\]; expected a timedelta or 0"
    with pytest.raises(ff.QueryError, match=sentence):
        one_window(durations([1]), n=ff.Sum("x", empty=5))
    with pytest.raises(ff.QueryError, match=r"which duration\[s\] cannot hold"):
        one_window(durations([1], "s"), n=ff.Sum("x", empty=dt.timedelta(microseconds=1)))
    numbers = ff.events(pa.table({"t": [0], "x": [1]}), time="t").window(ff.tumbling(1))
    with pytest.raises(ff.QueryError, match=r"but 'x' has numbers; expected one$"):
        numbers.aggregate(n=ff.Sum("x", empty=hour))
    for operation in (ff.Sum("s"), ff.Average("s"), ff.DistinctSum("s")):
        with pytest.raises(ff.ColumnError, match=r"needs a column of numbers .* or durations; 's' is string"):
            ff.events(pa.table({"t": [0], "s": ["a"]}), time="t").window(ff.tumbling(1)).aggregate(n=operation)


def test_files_of_the_command_line(tmp_path: Path) -> None:
    table = pa.table({"t": pa.array([0, 0], pa.timestamp("us", "UTC")), "x": pa.array([1000, 2000], pa.duration("ms"))})
    pq.write_table(table, tmp_path / "e.parquet")
    options = ["--time", "t", "--window", "1 second", "--agg", "s=sum:x", "--agg", "m=average:x", "--engine", "local"]
    readers: dict[str, Callable[[Path], Any]] = {
        "arrow": pyarrow.feather.read_table, "parquet": pq.read_table, "csv": pyarrow.csv.read_csv,
        "json": lambda out: pa.Table.from_pylist([json.loads(out.read_text().splitlines()[0])]),
    }  # fmt: skip
    for kind, read in readers.items():
        out = tmp_path / f"out.{kind}"
        assert main(["run", str(tmp_path / "e.parquet"), *options, "--out", str(out)]) == 0
        (found,) = read(out).select(["s", "m"]).to_pylist()
        if kind == "json":
            assert found["s"] != found["m"]
            continue
        if kind == "csv":
            found = {name: dt.timedelta(milliseconds=int(text)) for name, text in found.items()}
        assert found == {"s": dt.timedelta(seconds=3), "m": dt.timedelta(seconds=1.5)}


@pytest.mark.slow
def test_on_spark(spark: Any, rocksdb: None, tmp_path: Path) -> None:
    """Spark SQL, mapInArrow, executors, tasks that read what Spark has written, and a stream, as the local engine."""
    table, _ = random_events("us", 30)
    window = ff.sliding("7 seconds", every="3 seconds")
    local = ff.events(table, time="t").window(window).aggregate(**OPERATIONS).select(list(OPERATIONS))
    frame = spark.createDataFrame(table)

    def found(events: Any, names: list[str], **options: Any) -> pa.Table:
        query = ff.events(events, time="t").options(**options).window(window)
        return query.aggregate(**{name: OPERATIONS[name] for name in names}).toArrow().select(names)

    def same(events: Any, *names: str, **options: Any) -> None:
        one, wanted = found(events, list(names), **options), local.select(list(names))
        assert one.to_pylist() == wanted.to_pylist()
        assert one.schema.field(0).type == wanted.schema.field(0).type

    same(frame.repartition(3), "sum", "mean", "least", "greatest", accumulate="spark")
    same(frame.repartition(3), "sum", "mean", "median", accumulate="python")
    same(frame, *OPERATIONS, combine="executors")
    path = str(tmp_path / "events")
    frame.coalesce(1).write.parquet(path)
    same(ff.parquet(path, spark=spark), "sum", "mean", "median", "mode")
    stream = spark.readStream.schema(frame.schema).parquet(path).withWatermark("t", "0 seconds")
    outputs = {name: OPERATIONS[name] for name in ("sum", "mean", "median")}
    results = ff.events(stream, time="t").window(window).aggregate(**outputs)
    query = results.writeStream.format("memory").queryName("durations").trigger(availableNow=True).start()
    assert query.awaitTermination(300)
    streamed = spark.table("durations").orderBy("window").toArrow()
    assert len(streamed) > 10
    for name in outputs:
        assert streamed[name].to_pylist() == local[name].to_pylist()[: len(streamed)]
    theirs = frame.selectExpr("sum(x)", "avg(x)", "percentile(x, 0.25)").toArrow().to_pylist()[0]
    whole = ff.events(table, time="t").window(ff.tumbling("1 day"))
    ours = whole.aggregate(s=ff.Sum("x"), m=ff.Average("x"), q=ff.Quantile("x", 0.25)).to_pylist()[0]
    assert [ours[name] for name in "smq"] == list(theirs.values())
