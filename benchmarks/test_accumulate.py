"""Rows to partials, by operation: ``pytest benchmarks``."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from framefold.aggregators import Frames, Operation
from framefold.aggregators.contract.bound import BoundAggregate

from .accumulate import BATCH, OPERATIONS, batches


@pytest.mark.parametrize("operation", OPERATIONS, ids=repr)
def test_accumulate_a_million_rows(benchmark: BenchmarkFixture, operation: Operation) -> None:
    (index, size, ticks, values) = batches(BATCH)[0]
    bound = BoundAggregate("x", operation, [pa.float64()] * len(operation.columns))
    columns = [values] * len(operation.columns)
    state = benchmark(lambda: bound.accumulate(Frames(index, size, ticks), columns))
    assert all(len(column) == size for column in state.values())
