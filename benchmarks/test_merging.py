"""Partials of many batches to one a group, by operation: ``pytest benchmarks``."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from framefold.runtime.partials.merge import merge

from .merging import OPERATIONS, SPREAD, partials, query


@pytest.mark.parametrize("kind", SPREAD)
@pytest.mark.parametrize("name", OPERATIONS)
def test_merge_a_million_partials(benchmark: BenchmarkFixture, name: str, kind: str) -> None:
    plan = query(OPERATIONS[name])
    parts = partials(plan, 1_000_000, 10, SPREAD[kind])
    merged = benchmark(lambda: merge(parts))
    assert len(merged) == len(parts[0])
