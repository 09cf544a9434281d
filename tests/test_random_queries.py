"""Random queries: any windows, operations, types and names, in any layout, are what the definitions say."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hypothesis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import framefold as ff
from framefold.runtime import local
from framefold.runtime.results import finish

from .random_operations import CASES, columns
from .test_windows_random import CONSTRUCTORS, got_rows, right_windows, said_of, table_of, window_of
from .windows_strategies import Problem

pytestmark = pytest.mark.filterwarnings("ignore::framefold.GapsWarning")  # steps and sizes are drawn apart

QUERIES = 100
"""How many queries a seed has."""
SEEDS = range(100)
FEW = 3
"""How many seeds `make test` runs."""

NAMES = [
    "#rank",
    "#first",
    "${env:HOME}",
    "${spark.my.v}",
    "a.b",
    "`",
    '"',
    "'; --",
    "x y",
    "é",
    "#samples of x",
    "window.start",
]
LAYOUTS = ["table", "batches", "small", "numpy", "views", "file", "decoded file"]


@contextmanager
def without_loops() -> Iterator[None]:
    """No module has its compiled loops."""
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if name.startswith("framefold.") and getattr(module, "loops", None) is not None:
                stack.enter_context(patch.object(module, "loops", None))
        yield


@contextmanager
def small(rows: int) -> Iterator[None]:
    """Batches, pending partials and chunks of windows of a few rows each."""
    with ExitStack() as stack:
        for module, name in ((local, "BATCH_ROWS"), (local, "PENDING_PARTIALS"), (finish, "CHUNK_WINDOWS")):
            stack.enter_context(patch.object(module, name, rows))
        yield


def with_outliers(problem: Problem, chance: random.Random) -> tuple[Problem, list[bool]]:
    """The problem with some more events of another key among its own, and which they are."""
    rows = [(row, False) for row in problem.rows]
    if problem.keyed:
        for _ in range(chance.randrange(4)):
            if problem.rows:
                beside = replace(chance.choice(problem.rows), key="z")
                rows.insert(chance.randint(0, len(rows)), (beside, True))
    return replace(problem, rows=[row for row, _ in rows]), [far for _, far in rows]


def laid_out(table: pa.Table, layout: str, folder: Path) -> Any:
    """The events as a user may have them."""
    if layout == "batches":
        batches = pa.Table.from_batches(table.to_batches(max_chunksize=2), table.schema).to_batches()
        return pa.RecordBatchReader.from_batches(table.schema, batches)
    if layout == "views":
        for number, field in enumerate(table.schema):
            views = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}
            if view := views.get(field.type):
                table = table.set_column(number, field.name, table.column(number).cast(view))
        return table
    if "file" in layout:
        path = folder / "events.parquet"
        pq.write_table(table, path, row_group_size=3)
        return ff.parquet(str(path))
    return table


def assert_right(problem: Problem, seed: int, layouts: Sequence[str], folder: Path) -> None:
    """Some operations over the events of the problem, in some layouts."""
    chance = random.Random(seed)
    problem, outlying = with_outliers(problem, chance)
    data = columns(chance, len(problem.rows), outlying)
    table = table_of(problem)
    names = dict(zip(data, chance.sample(NAMES, len(NAMES))[: len(data)], strict=False)) if seed % 3 == 0 else {}
    for name, column in data.items():
        table = table.append_column(names.get(name, name), column)
    chosen = {name: CASES[name] for name in chance.sample(sorted(CASES), chance.randint(1, 4))}
    odd = dict(zip(chosen, chance.sample(NAMES, len(chosen)), strict=True)) if seed % 4 == 0 else {}
    outputs = {
        odd.get(name, name): case.make(*(names.get(column, column) for column in case.columns))
        for name, case in chosen.items()
    }
    right = right_windows(problem)
    values = [dict(zip(data, row, strict=True)) for row in zip(*(c.to_pylist() for c in data.values()), strict=True)]
    want = [(w.key, w.start, w.end, w.at) for w in right]
    for layout in layouts:
        said = f"{window_of(problem)} as {layout}, {outputs}"
        with ExitStack() as stack:
            if layout in ("small", "batches"):
                stack.enter_context(small(problem.batch))
            if layout == "numpy":
                stack.enter_context(without_loops())
            try:
                events = ff.events(laid_out(table, layout, folder), **said_of(problem))
                result = events.window(window_of(problem)).aggregate(**outputs)
            except Exception as error:
                raise AssertionError(f"{said}: {type(error).__name__}: {error}\n{table.to_pydict()}") from error
        rows = got_rows(result)
        assert [(row["key"], row["start"], row["end"], row["at"]) for row in rows] == want, said
        for row, window in zip(rows, right, strict=True):
            own = [values[number] for number in window.rows]
            for name, case in chosen.items():
                wrong = case.right(row[odd.get(name, name)], own)
                assert not wrong, f"{said}\nkey {window.key!r} [{window.start}, {window.end}) {name}: {wrong}\nof {own}"


def seeds() -> list[Any]:
    """All seeds, most of them for `make slow`; in CI some of these."""
    some = SEEDS[: 20 if os.environ.get("CI") else len(SEEDS)]
    return [pytest.param(seed, marks=[pytest.mark.slow] if seed >= FEW else []) for seed in some]


@pytest.mark.parametrize("seed", seeds())
def test_random_queries(seed: int, tmp_path: Path) -> None:
    @hypothesis.seed(seed)
    @settings(max_examples=QUERIES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(
        st.sampled_from(sorted(CONSTRUCTORS)).flatmap(CONSTRUCTORS.__getitem__),
        st.integers(0, 2**32),
        st.lists(st.sampled_from(LAYOUTS[1:]), max_size=2, unique=True),
    )
    def check(problem: Problem, drawn: int, layouts: list[str]) -> None:
        assert_right(problem, drawn, ["table", *layouts], tmp_path)

    check()
