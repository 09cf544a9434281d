"""The local engine from file to result: ``pytest benchmarks``."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import framefold as ff

from .events import write_events


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("events") / "events.parquet"
    write_events(path, 1_000_000, 100)
    return path


@pytest.mark.parametrize("minutes", [10, 60, 600])
def test_a_million_events_of_a_day(benchmark: BenchmarkFixture, events: Path, minutes: int) -> None:
    query = ff.events(ff.parquet(events), time="t", by="k").window(ff.sliding(f"{minutes} minutes", every="1 minute"))
    result = benchmark(lambda: query.aggregate(total=ff.Sum("x"), events=ff.Count()))
    assert 100 * (1430 + minutes) < len(result) <= 100 * (1439 + minutes)
