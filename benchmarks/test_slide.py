"""Partials to windows, by operation and by width: ``pytest benchmarks``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import framefold as ff
from framefold.aggregators import Frames, Operation
from framefold.aggregators.binding import Bound
from framefold.runtime.slide import slide

FRAMES = 1 << 20


class LogSum(ff.AggregateOperation):
    """What a user writes: the generic way."""

    state = {"log_sum": "float64"}

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"log_sum": frames.sum(np.log(x))}

    def combine(self, a: Any, b: Any) -> Any:
        return {"log_sum": a["log_sum"] + b["log_sum"]}

    def finish(self, a: Any) -> Any:
        return a["log_sum"]


OPERATIONS: list[Operation] = [ff.Count(), ff.Sum("x"), ff.Average("x"), ff.Max("x"), ff.Variance("x"), LogSum("x")]


@pytest.mark.parametrize("width", [10, 1000, 10_000])
@pytest.mark.parametrize("operation", OPERATIONS, ids=repr)
def test_slide_over_a_million_frames(benchmark: BenchmarkFixture, operation: Operation, width: int) -> None:
    values = pa.array(np.random.default_rng(7).normal(50.0, 10.0, FRAMES))
    bound = Bound("x", operation, [pa.float64()] * len(operation.columns))
    index = np.arange(FRAMES)
    states = bound.accumulate(Frames(index, FRAMES, index), [values] * len(operation.columns))
    low, high = np.maximum(index - width + 1, 0), index + 1
    slid = benchmark(lambda: slide(bound, states, low, high))
    assert all(len(column) == FRAMES for column in slid.values())
