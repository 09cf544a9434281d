"""Random events in random windows, every operation: equal to the definition, whatever the way."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..oracles.by_definition import Grid, windows
from ..oracles.operations import any_type, numeric, users
from ..oracles.rows import Check, assert_windows
from ..strategies import events as strategies
from ..strategies.events import Problem, problems
from ..support import stages
from ..support.examples import examples
from ..support.inner import place_of
from ..support.plans import Plan, bind, trusting

FLOAT, INT = pa.float64(), pa.int64()
Cases = Mapping[str, tuple[Any, Check]]


def window_of(grid: Grid) -> Any:
    return ff.sliding(grid.size, grid.every, offset=grid.offset, closed=grid.closed, empty=grid.empty, gaps="allow")


def run_locally(problem: Problem, values: pa.DataType, cases: Cases) -> None:
    """The query as a user puts it, its events in several batches."""
    batches = [batch for table in problem.batches(values) for batch in table.to_batches()]
    reader = pa.RecordBatchReader.from_batches(problem.table(values).schema, batches)
    outputs = {name: operation for name, (operation, _) in cases.items()}
    result = ff.events(reader, time="t", by="key").window(window_of(problem.grid)).aggregate(**outputs)
    assert_windows(result, windows(problem.events, problem.grid), {name: check for name, (_, check) in cases.items()})


def query_of(problem: Problem, values: pa.DataType, cases: Cases) -> Plan:
    outputs = {name: operation for name, (operation, _) in cases.items()}
    schema = problem.table(values).schema
    plan = bind(schema, time="t", by=["key"], window=window_of(problem.grid), outputs=outputs, null_time="error")
    return trusting(plan)  # as tasks trust the states that others have made


@contextmanager
def sliding_by(way: str) -> Iterator[None]:
    """Make every operation slide by two-stacks; or by deduct, wherever one is written."""
    forced = property(lambda bound: (way == "deduct" and bound.operation.has("deduct"), "a test says so"))
    with patch.object(*place_of("deducts"), forced):
        yield


def run_in_parts(problem: Problem, values: pa.DataType, cases: Cases) -> None:
    """The stages one by one, as tasks do it that finish in any order and merge by the way."""
    query = query_of(problem, values, cases)
    shuffle = random.Random(problem.seed)
    partials = [stages.accumulate(query, batch, part) for part, batch in enumerate(problem.batches(values))]
    shuffle.shuffle(partials)
    result = stages.results(query, pa.concat_tables(partials))
    assert_windows(result, windows(problem.events, problem.grid), {name: check for name, (_, check) in cases.items()})


SMALL = st.integers(0, 2)
PROBLEMS: dict[str, tuple[pa.DataType, st.SearchStrategy[Problem], Cases, int]] = {
    "floats": (FLOAT, problems(strategies.floats), numeric(), 800),
    "integers": (INT, problems(strategies.integers), numeric(), 600),
    "own operations": (INT, problems(SMALL, most=40), users(), 300),
    "float32": (pa.float32(), problems(st.floats(width=32, allow_infinity=True)), any_type(), 200),
    **{str(type): (type, problems(values, most=12), any_type(), 60)
        for type, values in ((pa.string(), st.sampled_from(["", "a", "aa", "b", "é"])),
        (pa.binary(), st.binary(max_size=2)), (pa.bool_(), st.booleans()), (pa.date32(), st.dates()),
        (pa.int8(), st.integers(-128, 127)), (pa.decimal128(38, 3), st.decimals(-(10**20), 10**20, places=3)),
        (pa.uint64(), st.integers(0, 2**64 - 1)))},
}  # fmt: skip
"""Types of values, problems, operations, and how many problems a thorough run has."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROBLEMS)
def test_by_definition(name: str) -> None:
    """As a user asks; or in parts, sliding by deduct or by two-stacks: then all that need order are given it."""
    values, strategy, cases, count = PROBLEMS[name]

    @examples(count)
    @given(strategy, st.sampled_from(["query", "deduct", "two-stacks"]))
    def check(problem: Problem, way: str) -> None:
        if way == "query":
            run_locally(problem, values, cases)
            return
        in_order = sorted(problem.events, key=lambda event: event.time)
        with sliding_by(way):
            run_in_parts(replace(problem, events=in_order) if name == "own operations" else problem, values, cases)

    check()
