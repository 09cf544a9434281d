"""What runs inside a task, without Spark: cutting, merging, flushing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.spark.engine import tasks

from ..support import stages
from ..support.plans import bind
from ..support.sources import File, Format
from ..support.spark_parts import Part, PartialsCodec, ReadPlan, output_schema, task_reader, to_spark
from ..support.spark_parts import wire_batches as batches

KEYS = st.tuples(st.sampled_from([None, -0.0, 0.0, 1.5, float("nan")]), st.sampled_from([None, "", "a", "b"]))


def rank(key: tuple[float | None, str | None]) -> tuple[int, float, bool, str]:
    """Equal for equal keys, in Spark's order."""
    number, text = key
    kind = 0 if number is None else 2 if number != number else 1
    return kind, number + 0.0 if number is not None and kind == 1 else 0.0, text is not None, text or ""


def job(schema: pa.Schema, by: list[str]) -> tasks.Job:
    query = bind(schema, time="t", by=by, window=ff.sliding(4, every=2), outputs={"n": ff.Count(), "x": ff.Sum("x")})
    kinds = [to_spark(schema.field(name).type) for name in by]
    return tasks.Job(query, output_schema(query.result_schema, [kind for kind in kinds if kind is not None]))


def events(rows: int, keys: int) -> pa.Table:
    numbers = np.random.default_rng(7)
    return pa.table(
        {"t": numbers.integers(0, 300, rows), "k": numbers.integers(0, keys, rows), "x": numbers.integers(0, 9, rows)}
    )


def sliced(table: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
    return iter(table.to_batches(max_chunksize=size))


@pytest.mark.parametrize("by", [[], ["k"]])
@pytest.mark.parametrize("bound", [3, 50, 1 << 20])
def test_bounds_change_nothing(by: list[str], bound: int, limit: Callable[..., None]) -> None:
    table = events(2_000, 11)
    work = job(table.schema, by)
    expected = stages.results(work.plan, stages.accumulate(work.plan, table, 0))
    limit(portion_rows=bound, max_portion_rows=bound)
    limit(task_held_bytes=bound, task_merged_rows=bound, task_slid_rows=bound)
    partials = pa.Table.from_batches(list(tasks.accumulate(work, sliced(table.select(work.plan.columns), 37))))
    places = [partials.column(name).to_pylist() for name in (*work.codec.key_names, "frame", "batch_rank")]
    rows = sorted(range(len(partials)), key=lambda row: [(each[row] is not None, each[row]) for each in places])
    merged = pa.Table.from_batches(list(tasks.merge(work, sliced(partials.take(rows), 13))))
    assert merged.num_rows <= partials.num_rows
    results = pa.Table.from_batches(list(tasks.slide(work, sliced(merged, 17))))
    assert results.to_pylist() == expected.to_pylist()


def test_parts_rise_with_the_input(limit: Callable[..., None]) -> None:
    table = events(100, 3)
    limit(portion_rows=10, max_portion_rows=10, task_held_bytes=1)
    parts = [
        part for batch in tasks.accumulate(job(table.schema, ["k"]), sliced(table, 10)) for part in batch["batch_rank"]
    ]
    assert [part.as_py() for part in parts] == sorted(part.as_py() for part in parts)


def test_partials_of_events_in_no_order_are_kept_and_added_to(limit: Callable[..., None]) -> None:
    table = events(3_000, 20)
    limit(portion_rows=300, max_portion_rows=300)
    work = job(table.schema, ["k"])
    different = len(stages.merge(work.plan, stages.accumulate(work.plan, table, 0)))
    size = sum(batch.nbytes for batch in tasks.accumulate(work, sliced(table, 300)))
    for bound, most in ((3 * size, different), (size // 10, 3_000)):
        limit(task_held_bytes=bound)
        found = sum(len(batch) for batch in tasks.accumulate(work, sliced(table, 300)))
        assert found == different if bound > size else different < found <= most


@pytest.mark.parametrize("condition", [None, pc.field("x") >= 0], ids=["all", "some"])
def test_a_batch_of_a_file_is_let_go_of_before_the_next_is_read(
    condition: pc.Expression | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, held = 1 << 19, []

    class Watched(Format):
        def _read(self, *_: Any) -> Iterator[pa.RecordBatch]:
            before = pa.total_allocated_bytes()
            for _ in range(4):
                for _ in range(100):  # a thread of Arrow's filter may let go of the last batch a moment later
                    if (size := pa.total_allocated_bytes() - before) < 8 * rows:
                        break
                    time.sleep(0.01)
                held.append(size)
                numbers = pc.bit_wise_and(pa.array(np.arange(rows)), 7)  # Arrow's own memory, which it keeps count of
                yield pa.RecordBatch.from_arrays([numbers, numbers, numbers], ["t", "k", "x"])
                del numbers

        def _layout(self, *_: Any) -> Any:
            raise NotImplementedError

    monkeypatch.setitem(task_reader.READERS, "watched", Watched())
    work = job(events(1, 1).schema, ["k"])
    plan = ReadPlan("watched", None, work.plan.input_schema, tuple(work.plan.columns), condition, (), "")
    part = Part(File("of no path", 0), (0,), {})
    found = tasks.accumulate_to_ipc(work, None, task_reader.read(plan, [part]))
    assert [batch["rows"].to_pylist() for batch in found] == [[8]]
    assert (len(held), held[0]) == (4, 0)
    assert max(held) < 8 * rows  # partials take less than a column


def test_nothing_in_nothing_out() -> None:
    work = job(events(0, 1).schema, ["k"])
    for stage in (tasks.accumulate, tasks.merge, tasks.slide):
        assert list(stage(work, iter([]))) == []
    empty = pa.RecordBatch.from_pylist([], schema=events(0, 1).schema)
    assert list(tasks.accumulate(work, iter([empty]))) == []


@given(st.lists(KEYS, max_size=40), st.integers(1, 7), st.integers(1, 12))
def test_equal_keys_are_never_parted(keys: list[tuple[float | None, str | None]], size: int, enough: int) -> None:
    schema = pa.schema([("a", pa.float64()), ("b", pa.string()), ("frame", pa.int64()), ("batch_rank", pa.int64())])

    keys.sort(key=rank)
    rows = [(*key, at, 0) for at, key in enumerate(keys)]
    columns = list(zip(*rows, strict=True)) or [[]] * 4
    table = pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
    cut = list(tasks._cut((batch for batch in table.to_batches(max_chunksize=size)), 2, enough))
    found = [[rank((row["a"], row["b"])) for row in pa.Table.from_batches(piece).to_pylist()] for piece in cut]
    assert [key for piece in found for key in piece] == [rank(key) for key in keys]
    assert all(piece for piece in found)
    for before, after in pairwise(found):
        assert before[-1] != after[0]


def test_states_travel_unchanged() -> None:
    schema = pa.schema(
        [
            ("k", pa.timestamp("us", tz="Asia/Kathmandu")), ("frame", pa.int64()), ("batch_rank", pa.int64()),
            ("u", pa.uint64()), ("d", pa.duration("ns")), ("t", pa.timestamp("ns")), ("s", pa.large_string()),
            ("b", pa.large_binary()), ("w", pa.uint32()), ("m", pa.decimal128(38, 10)),
        ]
    )  # fmt: skip
    row = [
        1_700_000_000_123_456, -5, 1 << 40, (1 << 64) - 1, -7, 123_456_789_123, "é", b"\x00\xff", 4_000_000_000, None,
    ]  # fmt: skip
    columns = [
        pa.array([value, None], pa.int64() if pa.types.is_temporal(field.type) else field.type)
        for value, field in zip(row, schema, strict=True)
    ]
    table = pa.table([column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema)
    wire = PartialsCodec(schema, 1)
    travelled = list(wire.encode(table))
    assert all(not pa.types.is_temporal(field.type) for field in travelled[0].schema)
    assert travelled[0].schema.names == ["k0", "frame", "batch_rank", *(f"s{at}" for at in range(7))]
    assert wire.decode(travelled).equals(table)
    assert wire.decode([]).equals(schema.empty_table())


def test_batches_are_small() -> None:
    table = pa.table({"b": [b"x" * (1 << 20)] * 40})
    assert max(batch.num_rows for batch in batches(table)) <= 16
    assert max(batch.num_rows for batch in batches(pa.table({"n": np.arange(200_000)}))) <= 65_536
