"""Objects with zero, reduce, merge, finish, as Spark's Aggregator has them, in windows of every engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..oracles.duck import asked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTE = 60_000_000  # of microseconds


class Mean:
    """As in the documentation of Spark 4.4; without a ``bufferSchema`` a value comes as it is."""

    def zero(self) -> Any:
        return (0.0, 0)

    def reduce(self, buffer: Any, value: Any) -> Any:
        return (buffer[0] + value, buffer[1] + 1)

    def merge(self, buffer1: Any, buffer2: Any) -> Any:
        return (buffer1[0] + buffer2[0], buffer1[1] + buffer2[1])

    def finish(self, buffer: Any) -> Any:
        return buffer[0] / buffer[1] if buffer[1] else None


class NullShare(Mean):
    """The share of nulls, which only an aggregator that Spark could call gets to see."""

    bufferSchema = "nulls long, rows long"
    outputType = pa.float64()

    def reduce(self, buffer: Any, value: Any) -> Any:
        (only,) = value
        return (buffer[0] + (only is None), buffer[1] + 1)


class Total(Mean):
    """Added up; of several columns a row is a tuple."""

    start: Any = 0.0

    def zero(self) -> Any:
        return self.start

    def reduce(self, buffer: Any, value: Any) -> Any:
        return buffer + (value[0] * value[1] if isinstance(value, tuple) else value)

    def merge(self, buffer1: Any, buffer2: Any) -> Any:
        return buffer1 + buffer2

    def finish(self, buffer: Any) -> Any:
        return buffer


class Route(Total):
    """Letters one after the other: merge does not commute."""

    start = ""


def outputs() -> dict[str, Any]:
    return {
        "mean": ff.from_aggregator(Mean(), "x"),
        "nulls": ff.from_aggregator(NullShare(), "x"),
        "turnover": ff.from_aggregator(Total(), "n", "n"),
        "path": ff.from_aggregator(Route(), "s", result="string"),
    }


ROWS: list[tuple[int, str, float | None, int, str]] = [
    (minute * MINUTE, "ab"[minute % 2], None if minute % 5 == 3 else minute / 4, minute % 7, chr(97 + minute % 26))
    for minute in range(60)
]


def table() -> pa.Table:
    names = ("t", "k", "x", "n", "s")
    events = pa.table(dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True)))
    return events.set_column(0, "t", events["t"].cast(pa.timestamp("us", "UTC")))


def expected() -> set[tuple[Any, ...]]:
    """By DuckDB: every window's own rows."""
    query = f"""
        select start * {MINUTE}, k, avg(x), avg((x is null)::int), sum(n * n)::double, string_agg(s, '' order by t)
        from events, range(-10, 60, 5) as starts(start)
        where epoch_us(t) // {MINUTE} between start and start + 14 group by start, k"""
    return set(asked(query, events=table()).fetchall())


def found_in(results: pa.Table) -> set[tuple[Any, ...]]:
    starts = results["window"].combine_chunks().field("start").cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    return set(zip(starts, *(results[name].to_pylist() for name in ("k", *outputs())), strict=True))


def query(events: Any) -> Any:
    return ff.events(events, time="t", by="k").window(ff.sliding("15 minutes", every="5 minutes"))


def test_local() -> None:
    results = query(table()).aggregate(**outputs())
    assert found_in(results) == expected()
    assert results.schema.field("nulls").type == pa.float64()


def test_spark_in_a_batch_and_as_a_stream(spark: SparkSession, tmp_path: Path, rocksdb: None) -> None:
    from pyspark.sql.types import DoubleType, StringType

    class OfSpark(NullShare):
        """Its type is Spark's."""

        outputType = DoubleType()

    of_spark = outputs() | {"nulls": ff.from_aggregator(OfSpark(), "x")}
    later = (ROWS[-1][0] + 1440 * MINUTE, "later", 1.0, 1, "z")
    closing = pa.Table.from_pylist([dict(zip(table().column_names, later, strict=True))])
    closing = closing.set_column(0, "t", closing["t"].cast(pa.timestamp("us", "UTC")))
    events = pa.concat_tables([table(), closing])
    for number in range(4):  # a file is a micro-batch
        path = tmp_path / f"{number}.parquet"
        pq.write_table(events.slice(number * 17, 17), path)
        os.utime(path, (number, number))
    files = spark.read.parquet(str(tmp_path))
    batch = query(files).aggregate(**of_spark).filter("k <> 'later'").toArrow()
    stream = spark.readStream.schema(files.schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path))
    streaming = query(stream.withWatermark("t", "1 minute"))
    with pytest.raises(ff.QueryError, match=r"as pickles: .* expected .stream\(trust_checkpoint=True\)"):
        streaming.aggregate(**of_spark)
    writer = streaming.stream(trust_checkpoint=True).aggregate(**of_spark).writeStream.format("memory")
    started = writer.queryName("of_aggregators").trigger(availableNow=True).start()
    assert started.awaitTermination(300)
    streamed = spark.table("of_aggregators").toArrow()
    assert found_in(batch) == found_in(streamed) == expected()

    class OfNoType(Mean):
        outputType = StringType("UNICODE")

    with pytest.raises(ff.OperationError, match="outputType of OfNoType is string collate UNICODE, which framefold"):
        ff.from_aggregator(OfNoType(), "x")


def test_laws() -> None:
    for operation in outputs().values():
        ff.check_laws(operation, table(), examples=20)


def test_broken_laws_are_found() -> None:
    def mean_of_means(self: Any, buffer1: Any, buffer2: Any) -> Any:
        if not (buffer1[1] and buffer2[1]):
            return buffer1 if buffer1[1] else buffer2
        return ((buffer1[0] / buffer1[1] + buffer2[0] / buffer2[1]) / 2, 1)

    def in_place(self: Any, buffer1: Any, buffer2: Any) -> Any:
        buffer1[0] += buffer2[0]
        buffer1[1] += buffer2[1]
        return buffer1

    def of(**methods: Any) -> Any:
        return type("Broken", (Mean,), methods)()

    there = [0.0, 0]
    broken = {
        r"identity: merge\(a, zero\) is|identity: merge\(zero, a\) is": of(zero=lambda self: (1.0, 1)),
        r"associativity: \(a b\) c is": of(merge=mean_of_means),
        "purity: a merge or finish changed": of(
            zero=lambda self: [0.0, 0], reduce=lambda self, buffer, x: [buffer[0] + x, buffer[1] + 1], merge=in_place
        ),
        "purity: zero gives the same object each time, which reduce changes": of(
            zero=lambda self: there, reduce=lambda self, buffer, x: in_place(self, buffer, (x, 1)), merge=in_place
        ),
    }
    for law, aggregator in broken.items():
        operation = ff.from_aggregator(aggregator, "x")
        for each in (operation, ff.Filtered(operation, "kept")):
            with pytest.raises(ff.OperationError, match=f"breaks the law of {law}"):
                query(table().append_column("kept", pa.array([True] * len(table())))).aggregate(x=each)
    with pytest.raises(ff.LawError, match=r"split: merge\(reduce\(a\), reduce\(b\)\)"):
        ff.check_laws(ff.from_aggregator(of(reduce=lambda self, buffer, x: (x, 1)), "x"), table())


@pytest.mark.parametrize("method", ["zero", "reduce", "merge", "finish"])
def test_a_missing_method_is_named(method: str) -> None:
    lacking = type("Lacking", (), {name: getattr(Mean, name) for name in vars(Mean) if name[0] != "_"})
    delattr(lacking, method)
    said = rf"from_aggregator is given .*Lacking, which has no {method}; expected .* zero, reduce, merge, finish"
    with pytest.raises(ff.OperationError, match=said):
        ff.from_aggregator(lacking(), "x")


def test_other_mistakes_are_said() -> None:
    with pytest.raises(ff.OperationError, match=r"is given the class Mean; expected an object: Mean\(\)"):
        ff.from_aggregator(Mean, "x")
    with pytest.raises(ff.OperationError, match="from_aggregator of Mean names no column"):
        ff.from_aggregator(Mean())
    with pytest.raises(ff.OperationError, match=r"from_aggregator\(Mean, 'x'\)"):
        query(table()).aggregate(x=ff.from_aggregator(Mean(), "x", result="no such type"))
