"""Frames to windows, by operation: ``pytest benchmarks``."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from framefold.runtime.sliding.range_facts import RangeFacts
from framefold.runtime.sliding.slide import slide

from .sliding import of_keys, operations

ROWS = 1 << 20
OPERATIONS = operations(ROWS)


@pytest.mark.parametrize(("name", "bound", "states"), OPERATIONS, ids=[each[0] for each in OPERATIONS])
def test_slide_a_million_windows(benchmark: BenchmarkFixture, name: str, bound: object, states: object) -> None:
    low, high = of_keys(1, ROWS, 60)
    slid = benchmark(lambda: slide(bound, states, RangeFacts(low, high)))  # type: ignore[arg-type]
    assert all(len(column) == len(low) for column in slid.values())
