"""Files of one folder whose columns have different types: the wider one, as Spark has it, or a sentence."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.command_line import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR = 3_600_000_000
TIMES = [0, 5, HOUR, 3 * HOUR]
NAIVE, ZONED = pa.timestamp("us"), pa.timestamp("us", "UTC")


def folder(place: Path, first: pa.Array, second: pa.Array, format: str = "parquet") -> Path:
    """Two files with a column ``t`` of different types, and another one."""
    for name, column in (("a", first), ("b", second)):
        table, path = pa.table({"t": column, "x": pa.array(range(len(column)))}), place / f"{name}.{format}"
        pq.write_table(table, path) if format == "parquet" else pa.feather.write_feather(table, path)
    return place


def times(type: pa.DataType) -> pa.Array:
    return pa.array(TIMES, pa.int64()).cast(pa.timestamp("us")).cast(type)


def hours(events: Any, **options: Any) -> tuple[bool, list[tuple[int, int]]]:
    """Whether windows have a zone; their starts, and the events in each, by time and by key alike."""
    by_time = ff.events(events, time="t").window(ff.tumbling("1 hour")).options(**options).aggregate(n=ff.Count())
    by_key = ff.events(events, time="x", by="t").window(ff.tumbling(10)).options(**options).aggregate(n=ff.Count())
    one, other = (each if isinstance(each, pa.Table) else each.toArrow() for each in (by_time, by_key))
    assert other["t"].cast(pa.int64()).to_pylist() == TIMES
    assert other["n"].to_pylist() == [2] * 4
    start = one["window"].combine_chunks().field("start")
    return start.type.tz is not None, list(zip(start.cast(pa.int64()).to_pylist(), one["n"].to_pylist(), strict=True))


WANTED = [(0, 4), (HOUR, 2), (3 * HOUR, 2)]
KINDS: dict[str, tuple[pa.DataType, pa.DataType, bool]] = {
    "zone first": (ZONED, NAIVE, True),
    "no zone first": (NAIVE, ZONED, False),
    "units": (pa.timestamp("ms", "UTC"), ZONED, True),
    "another zone": (pa.timestamp("us", "Europe/Berlin"), ZONED, True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_times_of_two_kinds_locally(tmp_path: Path, kind: str) -> None:
    first, second, zoned = KINDS[kind]
    files = folder(tmp_path, *(pa.array(TIMES, NAIVE).cast(each, safe=False) for each in (first, second)))
    if kind == "units":  # milliseconds lose five microseconds
        files = folder(
            tmp_path, pa.array([0, 0, HOUR, 3 * HOUR], NAIVE).cast(first), pa.array(TIMES, NAIVE).cast(second)
        )
        found = ff.events(ff.parquet(files), time="t").window(ff.tumbling("1 hour")).aggregate(last=ff.Max("t"))
        assert found["last"].cast(pa.int64()).to_pylist() == [5, HOUR, 3 * HOUR]
        return
    assert hours(ff.parquet(files)) == (zoned, WANTED)


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["zone first", "no zone first"])
def test_times_of_two_kinds_on_spark(tmp_path: Path, kind: str, spark: SparkSession) -> None:
    """Once a raw TypeError from the bounds in their footers."""
    first, second, zoned = KINDS[kind]
    files = folder(tmp_path, times(first), times(second))
    read = spark.read.parquet(str(files))
    assert (dict(read.dtypes)["t"] == "timestamp") == zoned
    assert sorted((row["t"].timestamp(), row["count"]) for row in read.groupBy("t").count().collect()) == sorted(
        (tick / 1e6, 2) for tick in TIMES
    )
    assert hours(read) == hours(ff.parquet(files, spark=spark)) == (zoned, WANTED)


def test_integers_of_two_widths_are_the_wider_whichever_comes_first(tmp_path: Path) -> None:
    narrow, wide = pa.array([1, 2], pa.int32()), pa.array([1 << 40, 2], pa.int64())
    for number, pair in enumerate([(narrow, wide), (wide, narrow)]):
        (tmp_path / str(number)).mkdir()
        files = folder(tmp_path / str(number), *pair)
        found = ff.events(ff.parquet(files), time="t").window(ff.tumbling(10)).aggregate(n=ff.Count())
        assert found["n"].to_pylist() == [3, 1]


APART: dict[str, tuple[pa.Array, pa.Array]] = {
    "int64 and timestamp[us]": (pa.array([1, 2]), pa.array([1, 2], NAIVE)),
    "timestamp[us] and string": (pa.array([1, 2], NAIVE), pa.array(["a", "b"])),
    "date32[day] and timestamp[us]": (pa.array([1, 2], pa.date32()), pa.array([1, 2], NAIVE)),
    "decimal128(3, 1) and double": (pa.array([1, 2], pa.decimal128(3, 1)), pa.array([1.0, 2.0])),
}


@pytest.mark.parametrize("kind", APART)
@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize("flipped", [False, True])
def test_types_that_do_not_fit_are_named_and_only_where_they_are_used(
    tmp_path: Path, kind: str, format: str, flipped: bool
) -> None:
    columns, names = (list(each)[:: -1 if flipped else 1] for each in (APART[kind], kind.split(" and ")))
    folder(tmp_path, *columns, format=format)
    both = "the column 't' is {} in '.*a.{}' and {} in '.*b.{}'; expected types of which one"
    events = ff.events(ff.files(str(tmp_path), format=format), time="x")  # type: ignore[call-overload]
    with pytest.raises(ff.QueryError, match=both.format(re.escape(names[0]), format, re.escape(names[1]), format)):
        events.window(ff.tumbling(10)).aggregate(last=ff.Last("t"))
    assert events.window(ff.tumbling(10)).aggregate(n=ff.Count())["n"].to_pylist() == [4]


@pytest.mark.spark
def test_types_that_spark_does_not_read_are_one_sentence(tmp_path: Path, spark: SparkSession) -> None:
    files = folder(tmp_path, pa.array([1, 2], pa.int64()), pa.array(["a", "b"]))
    sentence = "^the column 't' is bigint for Spark and BINARY in '.*b.parquet'; exp"
    for source in (ff.parquet(files, spark=spark), spark.read.parquet(str(files))):
        query = ff.events(source, time="t").window(ff.tumbling(10))
        with pytest.raises(ff.EngineError, match=sentence):
            query.aggregate(n=ff.Count()).collect()
        for accumulate in ("spark", "python"):  # before anything is computed
            lazy = query.options(combine="executors", accumulate=accumulate)
            with pytest.raises(ff.EngineError, match=sentence):
                lazy.aggregate(n=ff.Count())
    filtered = ff.events(spark.read.parquet(str(files)).where("t > 0"), time="t").window(ff.tumbling(10))
    with pytest.raises(ff.EngineError, match="the column 't' is bigint for Spark"):
        filtered.options(combine="executors").aggregate(n=ff.Count())
    renamed = spark.read.parquet(str(files)).selectExpr("x as t")  # the file's own t is not read
    result = ff.events(renamed, time="t").window(ff.tumbling(10)).options(combine="executors").aggregate(n=ff.Count())
    assert sum(row.n for row in result.collect()) == 4


def test_bounds_of_several_kinds_are_not_compared() -> None:
    pytest.importorskip("pyspark")
    from ..support.spark_parts import span_of

    def footer(column: pa.Array) -> Any:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"t": column}), sink)
        return pq.read_metadata(pa.BufferReader(sink.getvalue()))

    columns = [times(NAIVE), times(ZONED), pa.array([1, 2]), pa.array([1.5]), pa.array(["a"]), pa.array([dt.date.max])]
    footers = [footer(column) for column in columns]
    for at, one in enumerate(footers):
        for other in footers[at + 1 :]:
            assert span_of([one, other], "t") is span_of([other, one], "t") is None
    assert span_of([footers[0], footers[0]], "t") == 3 * HOUR
    assert span_of([footers[2], footers[2]], "t") == 1


def test_the_command_line_says_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = ["--time", "x", "--window", "10", "--agg", "n=count", "--engine", "local"]
    assert main(["run", str(folder(tmp_path, times(ZONED), times(NAIVE))), *query]) == 0
    for name, zone in (("a", ""), ("b", "Z")):
        (tmp_path / f"{name}.csv").write_text(f"x,t\n1,2024-05-01 10:00:00{zone}\n")
    assert main(["run", str(tmp_path / "*.csv"), *query]) == 2
    said = capsys.readouterr().err
    assert "the column 't' is timestamp[s] in" in said
    assert "timestamp[s, tz=UTC] in" in said
    assert "expected times with a zone in all of them, or in none" in said
