"""What a shard of a stream keeps of values: each distinct one of a frame once, with its count, and no more."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.shards import Shard, counted
from ..support.stages import partials_of as accumulate
from .test_shard import SCHEMA, Dict, plan_of

ITEM_BYTES, PARTIAL_BYTES = 16, 80
"""A value and its count; and at most what a key and frame take beside their values."""


def kept_bytes(operation: object, rows: int, distinct: int) -> tuple[int, int]:
    """The bytes that a shard keeps while no window has closed, and what its values and partials may take."""
    rng = np.random.default_rng(5)
    ticks, keys, values = rng.integers(0, 3_600, rows), rng.integers(0, 3, rows), rng.integers(0, distinct, rows)
    plan = counted(plan_of(ff.sliding("1 hour", every="1 minute"), m=operation))
    store = Dict()
    shard = Shard(plan, store)
    for number, part in enumerate(np.array_split(np.arange(rows), 4)):
        list(shard.advance(0))
        times = pa.array(ticks[part] * 1_000_000).cast(SCHEMA.field("t").type)
        columns = [times, pa.array(keys[part].astype(str)), pa.array(values[part])]
        shard.add(accumulate(plan, pa.table(columns, schema=SCHEMA), number))
    frames = ticks // 60
    items = len(np.unique(np.stack([frames, keys, values]), axis=1).T)
    partials = len(np.unique(np.stack([frames, keys]), axis=1).T)
    return sum(table.nbytes for table in store.tables.values()), ITEM_BYTES * items + PARTIAL_BYTES * partials


@pytest.mark.parametrize(
    "operation", [ff.Median("x"), ff.Quantile("x", [0.1, 0.9]), ff.CountDistinct("x"), ff.Mode("x")]
)
@pytest.mark.parametrize("distinct", [10, 100_000])
def test_a_shard_keeps_each_value_of_a_frame_once(operation: object, distinct: int) -> None:
    kept, most = kept_bytes(operation, 20_000, distinct)
    assert 0 < kept <= most
