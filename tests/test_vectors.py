"""The cases of hazelcast_flink.json and semantics.json: what Jet, Flink, StreamInsight, Trill and others give."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from .oracle import Grid
from .rows import ticks
from .vector_cases import AWAITED, CASES, LATE_IN_THE_ORIGINAL, ONE_WINDOW_ONLY, Case, all_ids, load, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TIMES = [pa.int64(), pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.date32()]


class Collect(ff.PythonOperation):
    """All values in time order, as JSON."""

    result = "string"

    def create(self) -> list[Any]:
        return []

    def accumulate(self, state: list[Any], value: Any) -> list[Any]:
        return [*state, value]

    def combine(self, a: list[Any], b: list[Any]) -> list[Any]:
        return a + b

    def finish(self, state: list[Any]) -> str:
        return json.dumps(state)


class CountDistinct(ff.PythonOperation):
    """How many different values there are."""

    result = "int64"

    def create(self) -> frozenset[Any]:
        return frozenset()

    def accumulate(self, state: frozenset[Any], value: Any) -> frozenset[Any]:
        return state | {value}

    def combine(self, a: frozenset[Any], b: frozenset[Any]) -> frozenset[Any]:
        return a | b

    def finish(self, state: frozenset[Any]) -> int:
        return len(state)


def outputs() -> dict[str, Any]:
    """Every operation that a case asks for; each case reads its own."""
    return {
        "count": ff.Count(),
        "count_v": ff.Count("v"),
        "count_s": ff.Count("s"),
        "sum": ff.Sum("v"),
        "sum_d": ff.Sum("d"),
        "min": ff.Min("v"),
        "max": ff.Max("v"),
        "avg": ff.Average("v"),
        "max_x": ff.Max("x"),
        "min_f": ff.Min("f"),
        "list_v": Collect("v"),
        "list_s": Collect("s"),
        "distinct_s": CountDistinct("s"),
    }


def answer(case: Case, row: dict[str, Any]) -> Any:
    """What a row of the result says for the operation of a case."""
    strings = any(event.get("s") for event in case.events)
    match case.operation:
        case "count_nonnull":
            return row["count_s" if strings else "count_v"]
        case "list":
            return json.loads(row["list_s" if strings else "list_v"] or "[]")
        case "set":
            return sorted(set(json.loads(row["list_s"] or "[]")))
        case "multi":
            return [row[name] for name in ("count", "sum_d", "max_x", "min_f", "distinct_s")]
        case operation:
            return row[operation.removesuffix("_nonnull")]


def wanted(case: Case) -> list[tuple[Any, ...]]:
    rows = case.expected
    if case.operation == "multi":  # the sum of decimals is a decimal
        rows = [
            (*row[:3], [value if n != 1 else Decimal(str(value)) for n, value in enumerate(row[3])]) for row in rows
        ]
    return sorted(rows, key=str)


def rows_of(case: Case, result: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The rows of a result as those of a case: start, end, key, answer."""
    rows = [
        (ticks(row["window"]["start"]), ticks(row["window"]["end"]), row["key"], answer(case, row)) for row in result
    ]
    if case.id.split()[0] in ONE_WINDOW_ONLY:
        rows = [row for row in rows if row[:2] == case.expected[0][:2]]
    return sorted(rows, key=str)


def window_of(grid: Grid, time: pa.DataType) -> Any:
    """The grid as a window; its ticks are seconds of a timestamp and days of a date."""
    size, every, offset = grid.size, grid.every, grid.offset
    if not pa.types.is_integer(time):
        unit = "days" if pa.types.is_date(time) else "seconds"
        size, every, offset = f"{size} {unit}", f"{every} {unit}", f"{offset} {unit}"  # type: ignore[assignment]
    return ff.sliding(size, every, offset=offset, closed=grid.closed)


@pytest.mark.parametrize("time", TIMES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_local(case: Case, time: pa.DataType) -> None:
    events = ff.events(table(case.events, time), time="t", by="key")
    result = events.window(window_of(case.grid, time)).aggregate(**outputs())
    assert rows_of(case, result.to_pylist()) == wanted(case)


@pytest.fixture(scope="session")
def on_spark(spark: SparkSession) -> dict[Any, list[dict[str, Any]]]:
    """The results of the queries that ran so far, so that all cases of one grid share one."""
    return {}


@pytest.mark.parametrize("combine", ["driver", "executors"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_spark(case: Case, combine: str, spark: SparkSession, on_spark: dict[Any, list[dict[str, Any]]]) -> None:
    if (case.grid, combine) not in on_spark:
        together = [
            table(other.events).append_column("case", pa.array([other.id] * len(other.events)))
            for other in CASES
            if other.grid == case.grid
        ]
        frame = spark.createDataFrame(pa.concat_tables(together)).repartition(2)
        events = ff.events(frame, time="t", by=["case", "key"]).options(combine=combine)
        result = events.window(window_of(case.grid, pa.int64())).aggregate(**outputs())
        on_spark[case.grid, combine] = result.toArrow().to_pylist()
    own = [row for row in on_spark[case.grid, combine] if row["case"] == case.id]
    assert rows_of(case, own) == wanted(case)


def test_every_case_is_run_or_awaited() -> None:
    run = {case.id.split()[0] for case in CASES} | {"SI-07", "HZ-12"}
    awaited = [name for names in AWAITED.values() for name in names]
    assert sorted(run | set(awaited)) == sorted(all_ids())
    assert len(awaited) == len(set(awaited))
    # these run as far as a batch on a grid has what they ask for
    assert run & set(awaited) == {*LATE_IN_THE_ORIGINAL, "X-01"}


def aligned_days() -> tuple[pa.Table, Any, list[Any]]:
    """SI-07: days that begin at nine."""
    [vector] = [vector for vector in load("semantics.json") if vector["id"] == "SI-07"]
    times = [dt.datetime.fromisoformat(text) for text in vector["input"]]
    windows = sorted({tuple(map(dt.datetime.fromisoformat, pair)) for pair in vector["expected"]})
    expected = [
        (start, end, vector["expected"].count([f"{x:%Y-%m-%dT%H:%M:%SZ}" for x in (start, end)]))
        for start, end in windows
    ]
    # Only the phase of an alignment matters.
    window = ff.tumbling(f"{vector['params']['size_h']} hours", offset="9 hours")
    return pa.table({"t": pa.array(times, pa.timestamp("us", tz="UTC"))}), window, expected


def test_alignment_local() -> None:
    events, window, expected = aligned_days()
    result = ff.events(events, time="t").window(window).aggregate(n=ff.Count()).to_pylist()
    assert [(row["window"]["start"], row["window"]["end"], row["n"]) for row in result] == expected


@pytest.mark.parametrize("combine", ["driver", "executors"])
def test_alignment_spark(combine: str, spark: SparkSession) -> None:
    events, window, expected = aligned_days()
    query = ff.events(spark.createDataFrame(events), time="t").options(combine=combine).window(window)
    result = query.aggregate(n=ff.Count()).toArrow().to_pylist()
    assert [(row["window"]["start"], row["window"]["end"], row["n"]) for row in result] == expected
