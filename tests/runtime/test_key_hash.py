"""The hash by which keys are dealt to shards: the same for equal keys, in every process and release."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from framefold.runtime.streams.key_hash import hashes

from ..support.shards import shard_numbers

NAN = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
COLUMNS: dict[str, pa.Array] = {
    "text": pa.array(["a", "b", "", "ab", "ba", "a", None, "häßlich"]),
    "large text": pa.array(["a", "", None, "ab"], pa.large_string()),
    "bytes": pa.array([b"", b"\0", b"\0\0", None]),
    "integers": pa.array([0, 1, -1, 2**63 - 1, None]),
    "small integers": pa.array([0, 1, -1, None], pa.int8()),
    "unsigned": pa.array([0, 1, 2**64 - 1, None], pa.uint64()),
    "floats": pa.array([0.0, 1.5, -1.5, float("inf"), float("nan"), None]),
    "booleans": pa.array([True, False, None]),
    "decimals": pa.array([Decimal("1.50"), Decimal("-1.50"), None]),
    "dates": pa.array([datetime.date(2024, 1, 1), datetime.date(1969, 1, 1), None]),
    "times": pa.array([0, 1, None], pa.timestamp("us", tz="UTC")),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_different_values_differ_and_equal_ones_do_not(name: str) -> None:
    column = COLUMNS[name]
    found = hashes(column)
    by_value: dict[Any, set[int]] = {}
    for value, number in zip(column.to_pylist(), found.tolist(), strict=True):
        by_value.setdefault(repr(value), set()).add(number)
    assert all(len(numbers) == 1 for numbers in by_value.values())
    assert len(set(found.tolist())) == len(by_value)
    twice = pa.concat_arrays([column, column])
    assert hashes(twice.slice(3, len(column) - 3)).tolist() == found[3:].tolist()
    assert hashes(twice.slice(len(column))).tolist() == found.tolist()
    assert hashes(twice.dictionary_encode()).tolist() == [*found.tolist(), *found.tolist()]


def test_what_sql_takes_for_equal() -> None:
    zero, minus, one, other = hashes(pa.array([0.0, -0.0, float("nan"), NAN])).tolist()
    assert (zero, one) == (minus, other)
    assert hashes(pa.array([1.5], pa.float32())).tolist() == hashes(pa.array([1.5])).tolist()


def test_numbers_do_not_change_from_release_to_release() -> None:
    """A checkpoint knows keys by their shards."""
    keys = [pa.array(["a", "b", None, "a"]), pa.array([1, 2, 3, -1])]
    assert shard_numbers(keys, 4, 1000).tolist() == [797, 618, 725, 250]
    assert shard_numbers([], 2, 1000).tolist() == [0, 0]


@pytest.mark.parametrize("column", [pa.array(range(10_000)), pa.array([f"key {i}" for i in range(10_000)])])
def test_shards_are_about_equal(column: pa.Array) -> None:
    sizes = np.bincount(shard_numbers([column], 10_000, 7), minlength=7)
    assert sizes.min() > 10_000 / 7 * 0.9
    assert sizes.max() < 10_000 / 7 * 1.1
