"""Random queries: any windows, operations, types and names, in any layout, are what the definitions say."""

from __future__ import annotations

import datetime as dt
import math
import os
import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import framefold as ff

from ..oracles.random_operations import CASES, HAS_VIEWS, LEVELS, columns
from ..strategies.windows import Problem
from ..support.limits import limits
from ..support.loops import without_loops
from ..windows.test_random import CONSTRUCTORS, got_rows, right_windows, said_of, table_of, window_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::framefold.GapsWarning"),  # steps and sizes are drawn apart
    pytest.mark.filterwarnings("ignore::framefold.CalendarWarning"),
]

QUERIES = 80
"""How many queries a seed has."""
SEEDS = range(100)
FEW = 3
"""How many seeds `make test` runs."""

LETTERS = pa.chunked_array([["a", "b", "c", "z"]])
NAMES = [
    "#rank", "#first", "${env:HOME}", "${spark.my.v}", "a.b", "`", '"', "'; --", "x y", "é", "#samples of x",
    "window.start", "it's", "new\nline", "back\\slash\\n", "50%_%s", "{0}", "${system:user.home}",
]  # fmt: skip
LAYOUTS = [
    "table", "batches", "small", "numpy", *(["views"] if HAS_VIEWS else []), "file", "decoded file", "arrow file",
    "polars",
]  # fmt: skip


TWICE = dt.datetime(2024, 11, 3, 5, 30, tzinfo=dt.UTC)
"""Half past one in New York, which comes again after an hour."""
KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["a", "b", "c", "z"]),
    "int8": (pa.int8(), [-128, 0, 5, 127]),
    "int64": (pa.int64(), [-(2**63), 0, 2**53 + 1, 2**63 - 1]),
    "uint64": (pa.uint64(), [0, 2**63, 2**63 + 1, 2**64 - 1]),
    "floats": (pa.float64(), [-math.inf, 0.0, 0.5, math.nan]),
    "decimals": (pa.decimal128(20, 3), [Decimal("-1.5"), Decimal("0.001"), Decimal(10**15), Decimal(10**16)]),
    "wide decimals": (pa.decimal128(38, 0), [Decimal(-(10**37)), Decimal(0), Decimal(7), Decimal(10**37)]),
    "dates": (pa.date32(), [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]),
    "times": (pa.timestamp("ms", "America/New_York"), [TWICE + dt.timedelta(hours=hours) for hours in (-9, 0, 1, 24)]),
    "seconds": (pa.timestamp("s"), [dt.datetime(year, 12, 31) for year in (1, 1677, 2263, 9999)]),
    "durations": (pa.duration("ms"), [dt.timedelta(hours=hours) for hours in (-1, 0, 1, 24)]),
    "bytes": (pa.binary(), [b"", b"\x00", b"\x00\x00", b"\xff"]),
    "fixed bytes": (pa.binary(2), [b"\x00\x00", b"\x00\xff", b"a\x00", b"\xff\x00"]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "c", "z"]),
    "categories": (pa.dictionary(pa.int8(), pa.string(), ordered=True), ["low", "mid", "more", "high"]),
    "structs": (pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.string()), ("d", pa.date32())]))]),
        [{"a": None, "b": None}, {"a": 1, "b": {"c": None, "d": dt.date(2024, 1, 1)}},
        {"a": 1, "b": {"c": "x", "d": None}}, {"a": 2, "b": None}]),
}  # fmt: skip
"""Types of keys, with the values for keys a, b, c and z, in their order."""


def keyed(kind: str, keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """The keys a, b, c and z as values of another type."""
    type, values = KEYS[kind]
    codes = pc.index_in(keys, LETTERS.chunk(0))
    if pa.types.is_dictionary(type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.cast(pa.int8()), values, ordered=type.ordered)
            for chunk in codes.chunks
        ]
        return pa.chunked_array(chunks, type)
    return pa.array(values, type).take(codes)


def with_outliers(problem: Problem, chance: random.Random) -> tuple[Problem, list[bool]]:
    """The problem with some more events of another key among its own, and which they are."""
    rows = [(row, False) for row in problem.rows]
    if problem.keyed:
        for _ in range(chance.randrange(4)):
            if problem.rows:
                beside = replace(chance.choice(problem.rows), key="z")
                rows.insert(chance.randint(0, len(rows)), (beside, True))
    if chance.random() < 0.3:  # beside other windows of the same key
        rows = [(row, far or chance.random() < 0.1) for row, far in rows]
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
    if layout == "polars":
        levels = pl.Enum(LEVELS)
        ordered = [pa.types.is_dictionary(field.type) and field.type.ordered for field in table.schema]
        frame = pl.from_arrow(table)
        return frame.with_columns(
            pl.nth(number).cast(pl.String).cast(levels) for number, one in enumerate(ordered) if one
        )
    if layout == "arrow file":
        path = folder / "events.arrow"
        with pa.ipc.new_file(path, table.schema) as file:
            for batch in table.to_batches(max_chunksize=3):
                file.write_batch(batch)
        return ff.files(str(path), format="arrow")
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
    kind = chance.choice(sorted(KEYS)) if seed % 2 else "text"
    table = table_of(problem)
    table = table.set_column(table.schema.get_field_index("key"), "key", keyed(kind, table["key"]))
    letters = {repr(value): letter for value, letter in zip(keyed(kind, LETTERS).to_pylist(), "abcz", strict=True)}
    windows = window_of(problem, lambda keys: keyed(kind, keys))
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
        said = f"{windows} as {layout}, keys are {kind}, {outputs}"
        with ExitStack() as stack:
            if layout in ("small", "batches"):
                few = problem.batch
                stack.enter_context(limits(batch_rows=few, pending_partials=few, chunk_windows=few))
            if layout == "numpy":
                stack.enter_context(without_loops())
            try:
                events = ff.events(laid_out(table, layout, folder), **said_of(problem))
                result = events.window(windows).aggregate(**outputs)
            except Exception as error:
                raise AssertionError(f"{said}: {type(error).__name__}: {error}\n{table.to_pydict()}") from error
        rows = got_rows(result)
        found = [(letters.get(repr(row["key"])), row["start"], row["end"], row["at"]) for row in rows]
        assert found == want, f"{said}\n{found}\n{want}"
        for row, window in zip(rows, right, strict=True):
            own = [values[number] for number in window.rows]
            for name, case in chosen.items():
                wrong = case.right(row[odd.get(name, name)], own)
                assert not wrong, f"{said}\nkey {window.key!r} [{window.start}, {window.end}) {name}: {wrong}\nof {own}"


def seeds() -> list[Any]:
    """All seeds, most of them for `make slow`; in CI some of these."""
    some = SEEDS[: 12 if os.environ.get("CI") else len(SEEDS)]
    return [pytest.param(seed, marks=[pytest.mark.slow] if seed >= FEW else []) for seed in some]


@pytest.mark.sampled(3)
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
