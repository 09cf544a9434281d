"""Row numbers over many tasks, and blocks of rows with their neighbours, without Spark."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.spark.input import row_numbers

from ..support import stages
from ..support.inner import place_of
from ..support.limits import limits
from ..support.plans import Plan, bind
from ..support.stages import blocks, with_neighbours
from .test_tasks import KEYS, rank


def tasks_of(keys: list[tuple[float | None, str | None]], cuts: list[int], size: int) -> list[list[pa.RecordBatch]]:
    """Sorted events as the tasks get them: batches of some rows, columns x and the two keys."""
    numbers, texts = zip(*keys, strict=True) if keys else ((), ())
    table = pa.table(
        {
            "x": pa.array(range(len(keys)), pa.int64()),
            "a": pa.array(numbers, pa.float64()),
            "b": pa.array(texts, pa.string()),
        }
    )
    edges = [0, *sorted(min(cut, len(keys)) for cut in cuts), len(keys)]
    pieces = [table.slice(start, end - start) for start, end in pairwise(edges)]
    return [piece.to_batches(max_chunksize=size) for piece in pieces]


@given(st.lists(KEYS, max_size=60), st.lists(st.integers(0, 60), max_size=8), st.integers(1, 9), st.integers(0, 2))
def test_rows_are_numbered_over_all_tasks(keys: list[Any], cuts: list[int], size: int, columns: int) -> None:
    keys.sort(key=rank)
    pieces = tasks_of(keys, cuts, size)
    at = [1, 2][:columns]
    counted = []
    for number, batches in enumerate(pieces):
        with patch.object(*place_of("number of a task"), lambda number=number: number):
            counted += list(row_numbers.ends(columns, (batch.select(at or [0]) for batch in batches)))
    random.Random(size).shuffle(counted)
    given = (
        row_numbers.offsets(pa.Table.from_batches(counted))
        if counted
        else row_numbers.Offsets(*np.zeros((2, 0), np.int64))
    )
    found = []
    for number, batches in enumerate(pieces):
        with patch.object(*place_of("number of a task"), lambda number=number: number):
            numbered = row_numbers.with_row_numbers(batches, at, given)
            found += [each for batch in numbered for each in batch.column(3).to_pylist()]
    groups = [rank(key)[: (0, 2, 4)[columns]] for key in keys]
    assert found == [groups[:row].count(group) for row, group in enumerate(groups)]


def test_other_events_than_were_counted_are_an_error() -> None:
    batches = tasks_of([(0.0, "a")] * 5, [], 2)[0]
    counted = pa.Table.from_batches(list(row_numbers.ends(2, (batch.select([1, 2]) for batch in batches))))
    given = row_numbers.offsets(counted)
    for some in (batches[:-1], [*batches, batches[0]]):
        with pytest.raises(ff.EngineError, match="counted 5 events"):
            list(row_numbers.with_row_numbers(some, [1, 2], given))
    number = patch.object(*place_of("number of a task"), lambda: 3)
    with number, pytest.raises(ff.EngineError, match="counted 0 events"):
        list(row_numbers.with_row_numbers(batches, [1, 2], given))


def query(window: Any, by: list[str]) -> Plan:
    schema = pa.schema({"t": pa.int64(), "k": pa.string(), "x": pa.int64()})
    outputs = {"x": ff.CollectList("x"), "low": ff.Min("x"), "n": ff.Count()}
    return bind(schema, time="t", by=by, window=window, outputs=outputs)


fills = st.sampled_from(["partial", "full"])
last = st.builds(ff.last_rows, st.integers(1, 9), st.integers(1, 6), min_fill=fills)
around = st.builds(
    lambda ends, fill: ff.around(rows=(min(ends), max(ends)), min_fill=fill),
    st.tuples(st.integers(-5, 5), st.integers(-5, 5)),
    fills,
)


@given(
    st.one_of(last, around),
    st.lists(st.tuples(st.sampled_from([None, "a", "b"]), st.integers(0, 3)), min_size=1, max_size=40),
    st.lists(st.integers(0, 40), max_size=5),
    st.sampled_from([1, 2, 5]),
    st.booleans(),
)
def test_blocks_change_nothing(
    window: Any, events: list[tuple[str | None, int]], cuts: list[int], width: int, keyed: bool
) -> None:
    asked = query(window, ["k"] if keyed else [])
    events.sort(key=lambda event: (event[0] is not None, event[0] or "") if keyed else ())
    keys = [event[0] if keyed else None for event in events]
    times = np.cumsum([event[1] for event in events])
    numbers = [keys[:row].count(key) for row, key in enumerate(keys)]
    table = pa.table({"t": times, "k": pa.array(keys, pa.string()), "x": range(len(keys)), "#rank": numbers})
    edges = [0, *sorted(min(cut, len(keys)) for cut in cuts), len(keys)]
    partials = [
        stages.accumulate(asked, table.slice(start, end - start), part)
        for part, (start, end) in enumerate(pairwise(edges))
    ]
    with limits(row_block=width):
        in_blocks = blocks.in_blocks(asked)
    assert in_blocks is not None
    shuffled = pa.concat_tables([with_neighbours(in_blocks, asked, each) for each in partials])
    by_block = stages.results(in_blocks, shuffled)
    assert by_block.column_names == [*asked.by, "#block", *asked.result_schema.names[len(asked.by) :]]
    assert by_block.drop_columns("#block").equals(stages.results(asked, pa.concat_tables(partials)))
    # A block is as wide as it should be, and no partial is in more than its own and the two next to it.
    widths = np.asarray(numbers) // in_blocks.axis.width  # type: ignore[attr-defined]
    assert set(by_block["#block"].to_pylist()) <= set(widths.tolist())
    assert len(shuffled) <= 3 * sum(map(len, partials))


def test_what_needs_a_whole_key_is_not_in_blocks() -> None:
    for window in (ff.landmark(), ff.policy(ff.by_count(3)), ff.sliding(4, 1), [ff.last_rows(2), ff.last_rows(3)]):
        assert blocks.in_blocks(query(window, ["k"])) is None
    assert blocks.in_blocks(query(ff.last_rows(10**18, 2**62), ["k"])) is None


def test_blocks_are_as_wide_as_windows_reach() -> None:
    def width(window: Any) -> int:
        found = blocks.in_blocks(query(window, []))
        assert found is not None
        assert isinstance(found.axis, blocks.Blocks)
        return found.axis.width

    assert width(ff.last_rows(10)) == 1 << 17
    assert width(ff.last_rows(1 << 20)) == (1 << 20) - 1
    assert width(ff.last_rows(1 << 21, 1000)) == 131_072_000
    assert width(ff.around(rows=(-3, 1 << 18))) == 1 << 18


def test_a_column_named_as_ours() -> None:
    schema = pa.schema({"t": pa.int64(), "#block": pa.string()})
    asked = bind(schema, time="t", by=["#block"], window=ff.last_rows(2), outputs={"#block_": ff.Count()})
    found = blocks.in_blocks(asked)
    assert found is not None
    assert found.by == ("#block", "#block__")
