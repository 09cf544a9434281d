"""The cases of algebra.json through the front door, on both engines: rows, states, changes, update patterns."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from .cases import Definition, Row, algebra, bag, frozen, netted, relation, tables
from .queries import Asked, asked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = algebra()["cases"]
ORIGIN, TICK = dt.datetime(2026, 1, 1), dt.timedelta(minutes=1)


def told(changes: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Changes as the cases have them."""
    return [
        (row["at"], row["change"], frozen({k: v for k, v in row.items() if k not in ("at", "change", "weight")}))
        for row in changes
    ]


def replayed(changes: list[Row]) -> Counter[Any]:
    """Changes by instant and row."""
    found: Counter[Any] = Counter()
    for (at, change, row), weight in zip(told(changes), (each["weight"] for each in changes), strict=True):
        assert weight == {"insert": 1, "delete": -1}[change]
        found[(at, row)] += weight
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    found, expected = relation(case["query"], tables(case["events"])), case["expected"]
    assert netted(found.rows().to_pylist()) == netted(expected["rows"])
    for instant, state in expected["states"].items():
        assert bag(found.at(int(instant)).to_pylist()) == bag(state)
    changes = told(found.changes().to_pylist())
    given = [(at, change, frozen(row)) for at, change, row in expected["changes"]]
    assert Counter(changes) == Counter(given)
    assert [each[:2] for each in changes] == [each[:2] for each in given]  # by instant, deletes first
    both = [*told(found.inserts().to_pylist()), *told(found.deletes().to_pylist())]
    assert Counter(both) == Counter(given)
    assert found.pattern.removeprefix("strictly ") == case["pattern"]
    assert str(found.updates) in str(found.explain())


def interpreted(spark: SparkSession, part: int) -> AbstractContextManager[None]:
    """Without code of Spark's own for each query, which takes most of the time of small ones; the first part has it."""
    from ..support.spark_results import conf

    slow = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    return conf(spark, slow if part else {})


def on_spark(spark: SparkSession, asking: Iterable[tuple[Any, Any]]) -> list[tuple[Counter[Any], Counter[Any]]]:
    """For each query and its events what changes by its rows, and by its changes, in one job."""
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema

    def frame(table: pa.Table) -> Any:  # Connect's client knows no schema of an empty table
        schema = None if len(table) else from_arrow_schema(table.schema)
        return spark.createDataFrame(table if schema is None else [], schema).coalesce(1)  # type: ignore[call-overload]

    wanted = []
    for number, (query, events) in enumerate(asking):
        found = relation(query, tables(events), frame)
        for view, rows in enumerate((found.rows(), found.changes())):
            row = f.to_json(f.struct("*"), {"ignoreNullFields": "false"}).alias("row")
            wanted.append(rows.select(f.lit(2 * number + view).alias("view"), row))
    whole = wanted[0]
    for each in wanted[1:]:
        whole = whole.union(each)
    found = [[] for _ in wanted]  # type: ignore[assignment]
    for view, row in whole.collect():
        found[view].append(json.loads(row))  # type: ignore[attr-defined]
    return [
        (netted(rows), replayed(changes))
        for rows, changes in zip(found[::2], found[1::2], strict=True)  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 9))])
def test_cases_on_spark(spark: SparkSession, part: int) -> None:
    cases = CASES[part::9]
    with interpreted(spark, part):
        found = on_spark(spark, [(case["query"], case["events"]) for case in cases])
    for case, (rows, changes) in zip(cases, found, strict=True):
        expected = netted(case["expected"]["rows"])
        assert (rows, changes) == (expected, expected), case["id"]


def agree(asked: Asked, found: Any) -> None:
    """A relation on the local engine is what the definition says, in each view."""
    definition = Definition(asked.events, asked.horizon)
    expected = definition.changes(asked.query)
    assert netted(found.rows().to_pylist()) == expected
    assert replayed(found.changes().to_pylist()) == expected
    states = definition.states(asked.query)
    every: dict[int, list[Row]] = {instant: [] for instant in range(0, asked.horizon + 1, 3)}
    for row in found.states(3, since=0, until=asked.horizon).to_pylist():
        every[row.pop("at")].append(row)
    for instant, rows in every.items():
        assert bag(rows) == bag(row for _, row in states[instant])
    assert bag(found.at(7).to_pylist()) == bag(row for _, row in states[7])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(110))
def test_random_query(seed: int) -> None:
    query = asked(seed)
    agree(query, relation(query.query, tables(query.events)))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_more_random_queries(part: int) -> None:
    for seed in range(110 + part * 110, 220 + part * 110):
        query = asked(seed)
        agree(query, relation(query.query, tables(query.events)))


PARTS = 7 if os.environ.get("CI") else 32
"""How many times five queries Spark is asked: CI has a fixed budget."""


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))])
def test_random_queries_on_spark(spark: SparkSession, part: int) -> None:
    """Five at a time, 160 in all, and fewer in CI; seeds 23 apart go through kinds of windows and shapes."""
    queries = [asked(5000 + 23 * (5 * part + number)) for number in range(5)]
    with interpreted(spark, part):
        found = on_spark(spark, [(each.query, each.events) for each in queries])
    for number, (query, (rows, changes)) in enumerate(zip(queries, found, strict=True)):
        expected = Definition(query.events, query.horizon).changes(query.query)
        assert (rows, changes) == (expected, expected), number


@pytest.mark.parametrize("seed", range(9000, 9055))
def test_timestamps_are_as_integers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick of integers is a minute of timestamps, naive or in UTC, or a day: as long windows give the same rows."""
    from . import cases as relation_cases

    kind = ("naive", "UTC", "date")[seed % 3]
    query, plain, origin = asked(seed), relation_cases.windows, ORIGIN.replace(tzinfo=dt.UTC if kind == "UTC" else None)
    origin = dt.datetime(1970, 1, 1) if kind == "date" else origin  # from which days are counted
    tick, unit = (dt.timedelta(days=1), "days") if kind == "date" else (TICK, "minutes")
    type = {"naive": pa.timestamp("us"), "UTC": pa.timestamp("us", "UTC"), "date": pa.date32()}[kind]

    def time(ticks: int) -> Any:
        found = origin + tick * ticks
        return found.date() if kind == "date" else found

    expected = Definition(query.events, query.horizon).changes(query.query)

    def minutes(window: Any) -> Any:
        spec = plain(window)
        if window["kind"] == "landmark":
            bounds = {name: time(window[name]) for name in ("since", "until") if name in window}
            return ff.landmark(closed="both", **bounds)
        if window["kind"] == "rows":
            return spec
        length = {name: f"{getattr(spec, name)} {unit}" for name in ("size", "every", "offset")}
        return ff.sliding(**length, closed=spec.closed, gaps="allow")

    def timed(table: pa.Table) -> pa.Table:
        times = pa.array([time(t) for t in table["t"].to_pylist()], type)
        return table.set_column(0, "t", times)

    def in_ticks(value: Any) -> Any:
        if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            value = dt.datetime.combine(value, dt.time())
        return (value - origin) // tick if isinstance(value, dt.datetime) else value

    monkeypatch.setattr(relation_cases, "windows", minutes)
    monkeypatch.setattr(relation_cases, "literal", lambda value, name: (
        f"{'date' if kind == 'date' else 'timestamp'} '{time(value)}'" if name == "ts" else repr(value)
    ))  # fmt: skip
    rows = relation(query.query, tables(query.events), timed).rows().to_pylist()
    assert netted({name: in_ticks(value) for name, value in row.items()} for row in rows) == expected
