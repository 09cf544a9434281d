"""Random events in random windows, every operation: equal to the definition, whatever the way."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..oracles.by_definition import Event, Grid, windows
from ..oracles.operations import any_type, numeric, users
from ..oracles.rows import Check, assert_windows
from ..strategies import events as strategies
from ..strategies.events import Problem, problems
from ..support import stages
from ..support.examples import examples
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


def run_in_parts(problem: Problem, values: pa.DataType, cases: Cases) -> None:
    """The stages one by one, as tasks do it that finish in any order and merge by the way."""
    query = query_of(problem, values, cases)
    shuffle = random.Random(problem.seed)
    partials = [stages.accumulate(query, batch, part) for part, batch in enumerate(problem.batches(values))]
    shuffle.shuffle(partials)
    result = stages.results(query, pa.concat_tables(partials))
    assert_windows(result, windows(problem.events, problem.grid), {name: check for name, (_, check) in cases.items()})


@examples(700)
@given(problems(strategies.floats))
def test_floats(problem: Problem) -> None:
    run_locally(problem, FLOAT, numeric())


@examples(500)
@given(problems(strategies.integers))
def test_integers(problem: Problem) -> None:
    run_locally(problem, INT, numeric())


@examples(400)
@given(problems(strategies.floats))
def test_floats_in_parts(problem: Problem) -> None:
    run_in_parts(problem, FLOAT, numeric())


@examples(400)
@given(problems(strategies.integers))
def test_integers_in_parts(problem: Problem) -> None:
    run_in_parts(problem, INT, numeric())


@examples(250)
@given(problems(st.integers(0, 2), most=40))
def test_ordered_in_parts(problem: Problem) -> None:
    """Operations that need order are given the events of a key and frame in order of time."""
    in_order = replace(problem, events=sorted(problem.events, key=lambda event: event.time))
    run_in_parts(in_order, INT, users())


@examples(250)
@given(problems(st.integers(0, 2), most=40))
def test_own_operations(problem: Problem) -> None:
    run_locally(problem, INT, users())


@examples(200)
@given(problems(st.floats(width=32, allow_infinity=True)))
def test_narrow_floats(problem: Problem) -> None:
    run_locally(problem, pa.float32(), any_type())


OTHER_TYPES = {
    "string": (pa.string(), st.sampled_from(["", "a", "aa", "b", "é"])),
    "binary": (pa.binary(), st.binary(max_size=2)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates()),
    "decimal": (pa.decimal128(38, 3), st.decimals(-(10**20), 10**20, places=3)),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
}


@pytest.mark.parametrize("name", OTHER_TYPES)
def test_other_types(name: str) -> None:
    values, strategy = OTHER_TYPES[name]

    @examples(100)
    @given(problems(strategy, most=12))
    def check(problem: Problem) -> None:
        run_locally(problem, values, any_type())

    check()


def test_of_nothing() -> None:
    for cases in (numeric(), users()):
        run_locally(Problem(Grid(3, 2), [], 1, 0), INT, cases)


def test_far_apart() -> None:
    """One event in 1970 and one in 2262 are two frames, not as many as there are between them."""
    years = [Event(0, None, 1.5), Event(292 * 365 * 86_400_000_000, None, 2.5)]
    run_locally(Problem(Grid(3_600_000_000, 60_000_000), years, 1, 0), FLOAT, numeric())
