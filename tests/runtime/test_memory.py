"""What a query keeps in memory: values once, beside its events and its results."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.limits import limits
from ..support.stages import merged, partials_of, raise_mmap_threshold
from ..support.stages import results_in_chunks as results
from ..support.states import alike_to_arrow

ROWS = 1 << 19


@pytest.mark.parametrize(
    ("operation", "window", "times"),
    [
        (ff.Median("x"), ff.sliding(3600, every=60), 3),
        (ff.Median("x"), ff.tumbling(3600), 4),
        (ff.Median("x"), ff.around(time=(-3600, 0)), 2),
        (ff.CountDistinct("i"), ff.around(time=(-3600, 0)), 1),  # nothing that the events do not have
        (ff.Median("x"), ff.last_rows(1000), 3),  # the ranks and the row numbers
        (ff.LastN("x", 3), ff.last_rows(1000), 2),
    ],
    ids=lambda each: str(each),
)
def test_values_are_in_memory_a_few_times(operation: Any, window: Any, times: float) -> None:
    raise_mmap_threshold()  # which asks for memory once, and does not use it
    rng = np.random.default_rng(0)
    values, data = rng.normal(size=ROWS), rng.integers(0, 1000, ROWS)
    query = ff.events(pa.table({"t": np.arange(ROWS), "x": values, "i": data}), time="t").window(window)
    tracemalloc.start()
    try:
        # What a thread works with is little then.
        with limits(batch_rows=1 << 14, chunk_windows=1 << 13, range_chunk_bytes=1 << 18):
            found = query.aggregate(x=operation)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) > ROWS // 3600
    assert (peak - found.nbytes) / values.nbytes < times


def test_merging_lists_copies_only_those_that_it_combines() -> None:
    t, x = np.arange(100_000), np.random.default_rng(2).integers(0, 10**6, 100_000)
    plan = ff.events(pa.table({"t": t, "x": x}), time="t").window(ff.tumbling(1000))._query({"m": ff.Median("x")})[1]
    cuts = [0, 40_500, 70_250, 100_000]  # in the midst of two frames
    given = [
        partials_of(plan, pa.table({"t": t[begin:end], "x": x[begin:end]}), number)
        for number, (begin, end) in enumerate(pairwise(cuts))
    ]
    together = merged(given)
    column = plan.state_columns["m"]["items"][0]

    def places(tables: list[pa.Table]) -> set[int]:
        return {chunk.values.buffers()[1].address for table in tables for chunk in table.column(column).chunks}

    assert len(together) == 100
    assert places([each.table for each in given]) <= places([together.table]), "those of all batches are still in use"
    found = pa.concat_tables(results(together))["m"].to_pylist()
    assert found == np.median(x.reshape(100, 1000), axis=1).tolist()


def test_counts_of_one_are_in_memory_once() -> None:
    kinds = np.zeros(5000), np.zeros(5000, np.int64), np.ones(5000, np.int64), np.arange(5000)
    for kind, offsets in zip(kinds, (False, False, False, True), strict=True):
        some, more = (alike_to_arrow(each, offsets=offsets) for each in (kind, kind.copy()))
        assert some.buffers()[1].address == more.buffers()[1].address
        assert some.equals(pa.array(kind)), "and are what they were"
    for other in (-np.zeros(5000), np.ones(5000), np.full(5000, 2), np.ones(5000, np.int32), np.ones(5, np.int64)):
        apart = alike_to_arrow(other)
        assert apart.buffers()[1].address == other.__array_interface__["data"][0]
        assert np.array_equal(np.signbit(apart.to_numpy()), np.signbit(other))
    almost = np.arange(5000)
    almost[7] = 8
    assert alike_to_arrow(almost, offsets=True).to_pylist() == almost.tolist()
