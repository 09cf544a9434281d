"""Codes, lists and keys of values that windows are ranges of, against Python's own: compiled loops, and numpy alone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff
from framefold.aggregators.ranges.codes import codes_of
from framefold.aggregators.ranges.item_ranges import ItemRanges, ascends, items_of, offsets_of, rises

from ..support.loops import loops, needs_loops
from ..support.states import Order

VALUES = {
    "few": lambda rng, size: rng.integers(-3, 3, size),
    "of 41 bits": lambda rng, size: rng.integers(0, 1 << 41, size),
    "of 64 bits": lambda rng, size: rng.integers(-(2**63), 2**63 - 1, size),
    "edges": lambda rng, size: rng.choice([2**63 - 1, -(2**63), 0], size),
    "equal above, falling below": lambda rng, size: (rng.integers(0, 2, size) << 60) + np.arange(size)[::-1],
    "equal above": lambda rng, size: (rng.integers(0, 99, size) << 55) + rng.integers(0, 3, size),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("distinct", [True, False])
def test_codes_of_groups(way: str, kind: str, distinct: bool) -> None:
    """Groups of none in common, of one item up to more than are sorted by insertion."""
    rng = np.random.default_rng(5)
    sizes = np.array([1, 2, 3, 40, 48, 49, 300, 1, 7])
    ends = np.cumsum(sizes)
    values = VALUES[kind](rng, int(ends[-1])).astype(np.int64)
    ranges = ItemRanges(np.arange(len(values) + 1), ends - sizes, ends)
    found = codes_of(values, ranges, distinct=distinct)
    group = np.repeat(np.arange(len(sizes)), sizes).tolist()
    keys = [(g, v) if distinct else (g, v, row) for row, (g, v) in enumerate(zip(group, values.tolist(), strict=True))]
    ordered = sorted(set(keys))
    assert found.code.tolist() == [ordered.index(key) for key in keys]
    assert found.first.tolist() == [keys.index(key) for key in ordered]
    assert found.order.tolist() == sorted(range(len(keys)), key=keys.__getitem__)


def test_codes_of_nothing(way: str) -> None:
    none = np.empty(0, np.int64)
    assert [len(each) for each in codes_of(none, ItemRanges(np.arange(1), none, none))] == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["int64", "int32", "float64", "float32", "int16", "bool", object])
@pytest.mark.parametrize(("most", "last"), [(None, False), (1, False), (3, False), (3, True), (99, True)])
def test_items_of_ranges(way: str, dtype: Any, most: int | None, last: bool) -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(0, 99, 60).astype(dtype)
    offsets = np.cumsum([0, *rng.integers(0, 3, 40)])
    values = values[: offsets[-1]]
    low = np.sort(rng.integers(0, 40, 50))
    high = np.maximum.accumulate(np.minimum(low + rng.integers(0, 9, 50), 40))
    ranges = ItemRanges(offsets, low, high)
    found = offsets_of(ranges, most)
    items = items_of(values[ranges.items], ranges, found, last=last)
    own = [values[offsets[a] : offsets[b]].tolist() for a, b in zip(low, high, strict=True)]
    own = [each if most is None else each[-most:] if last else each[:most] for each in own if each]
    assert items.dtype == values.dtype
    assert [items[a:b].tolist() for a, b in itertools.pairwise(found.tolist())] == own


@pytest.mark.parametrize("size", [0, 1, 2, 1023, 1024, 1025, 5000])
def test_orders_of_integers(way: str, size: int) -> None:
    whole = np.arange(size)
    assert (rises(whole), ascends(whole)) == (True, True)
    for at in range(1, size, 511):
        equal, falling = whole.copy(), whole.copy()
        equal[at:] -= 1
        falling[at] = -1
        assert (rises(equal), ascends(equal)) == (False, True)
        assert (rises(falling), ascends(falling)) == (False, False)
    wide = np.array([-(2**63), 2**63 - 1])
    assert (rises(wide), rises(wide[::-1])) == (True, False)


@pytest.mark.parametrize("type", [pa.float64(), pa.float32()])
def test_keys_of_floats(way: str, type: pa.DataType) -> None:
    """They compare as floats do in Spark: NaN is one value above all others, and -0.0 is 0.0."""
    values = [float("nan"), -float("nan"), float("inf"), 3.5, 1e-30, 0.0, -0.0, -1e-30, -7.0, -float("inf")]
    keys = Order(ff.Median("x"), "x", type).keys(np.array(values, type.to_pandas_dtype()))
    assert keys.dtype == np.int64
    assert np.unique(keys, return_inverse=True)[1].tolist() == [7, 7, 6, 5, 4, 3, 3, 2, 1, 0]
    back = Order(ff.Median("x"), "x", type).values(keys)
    one = np.array([np.nan, np.nan, np.inf, 3.5, 1e-30, 0.0, 0.0, -1e-30, -7.0, -np.inf], type.to_pandas_dtype())
    assert (back.type, back.to_numpy().tobytes()) == (type, one.tobytes())


def test_each_row_a_frame() -> None:
    """What is reduced where each row is a frame is what it is where they are not in order."""
    values, shuffled = np.array([3.0, -0.0, np.nan, 2.0]), np.array([2, 0, 3, 1])
    alone = ff.Frames(np.arange(4), 4, np.array([5, 6, 7, 8]))
    others = ff.Frames(shuffled, 4, np.array([5, 6, 7, 8]))
    assert (alone.are_rows, others.are_rows) == (True, False)
    for name in ("min", "max", "first", "last"):
        found, other = getattr(alone, name)(values), getattr(others, name)(values)
        assert found.tobytes() == other[shuffled].tobytes(), name
        found[:] = 0.0
    assert values[0] == 3.0, "what is reduced is left as it is"


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.binary()])
def test_texts_that_are_only_handed_on(type: pa.DataType) -> None:
    """They need no dictionary: of several chunks, with nulls, empty and equal ones, of several keys."""
    texts = pa.chunked_array([["b", None, ""], ["a", "b", "b"], [], [None, "c"]], pa.string()).cast(type)
    data = pa.table({"t": [0, 1, 2, 3, 4, 5, 6, 7], "k": [1, 0, 1, 0, 1, 1, 0, 1], "s": texts})
    found = (
        ff.events(data, time="t", by="k")
        .window(ff.around(time=(-5, 0)))
        .aggregate(last=ff.LastN("s", 2), first=ff.FirstN("s", 2))
    )
    assert found["last"].type == pa.list_(type)
    rows = data.to_pylist()
    for row in found.to_pylist():
        inside = [each for each in rows if each["k"] == row["k"] and row["at"] - 5 <= each["t"] <= row["at"]]
        own = [each["s"] for each in inside if each["s"] is not None]
        assert (row["last"], row["first"]) == (own[-2:], own[:2])


@needs_loops
def test_loops_refuse_what_they_would_write_beyond() -> None:
    one, two = np.array([0]), np.array([0, 1])
    for edges, offsets in ((one, two - 1), (one + 1, two), (one, two[::-1].copy()), (one, np.array([0, 2]))):
        with pytest.raises(ValueError, match="ranges must be of the values"):
            loops.items_of_ranges(one.view("i8"), edges, False, offsets, one.copy().view("i8"))
    with pytest.raises(ValueError, match="a key for each"):
        loops.keys_of_floats(np.zeros(2), one)
    with pytest.raises(ValueError, match="a value for each"):
        loops.floats_of_keys(one, np.zeros(2))
    room = np.empty(2, np.int32), np.empty(2, np.intp), np.empty(2, np.intp)
    with pytest.raises(ValueError, match="a place for each"):
        loops.code_groups(one, one, True, *room)
    for starts in ([1], [0, 3], [0, 2, 1], []):
        with pytest.raises(ValueError, match="group"):
            loops.code_groups(two, np.array(starts, np.int64), True, *room)
