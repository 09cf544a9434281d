"""Windows that are ranges of values, their codes, items, order statistics and keys, against Python's own lists."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff
from framefold.aggregators.ranges import distinct, order_statistics, ordering
from framefold.aggregators.ranges.codes import codes_of
from framefold.aggregators.ranges.item_ranges import ItemRanges, ascends, items_of, offsets_of, rises
from framefold.aggregators.ranges.run_sums import Runs

from ..support.states import Order


def drawn() -> Iterator[tuple[Any, Any, Any, ItemRanges]]:
    """Values, weights, bounds and the ranges of these: that move forward, apart, growing, in any order, nested."""
    for seed, different in enumerate((1, 3, 70, 5000, 2**62)):
        rng = np.random.default_rng(seed)
        values, weights = rng.integers(-different, different, 500), rng.integers(1, 6, 500)
        start = np.sort(rng.integers(0, 500, 80))
        edges = np.sort(rng.integers(0, 501, 41))
        any_start = rng.integers(0, 500, 80)
        for low, high in (
            (start, np.maximum.accumulate(np.minimum(start + rng.integers(0, 90, 80), 500))),
            (edges[:-1], edges[1:]),
            (np.zeros(41, np.int64), edges),
            (any_start, np.minimum(any_start + 40, 500)),
            (any_start, np.minimum(any_start + rng.integers(0, 200, 80), 500)),
        ):
            yield values, weights, (low, high), ItemRanges(np.arange(501), low, high)


def own(values: Any, ranges: ItemRanges, weights: Any = None) -> Iterator[list[Any]]:
    """The values of each filled range, in their order, as often as they weigh."""
    chosen = values[ranges.items]
    times = np.ones(len(chosen), int) if weights is None else weights[ranges.items]
    for low, high in zip(ranges.begin.tolist(), ranges.end.tolist(), strict=True):
        yield np.repeat(chosen[low:high], times[low:high]).tolist()


def test_order_statistics(way: str) -> None:
    for values, weights, _, ranges in drawn():
        codes = codes_of(values[ranges.items], ranges)
        for weight in (None, weights[ranges.items]):
            total = ranges.sums(weight)
            every = [sorted(of) for of in own(values, ranges, weights if weight is not None else None)]
            for share in (0.0, 0.3, 0.5, 1.0):
                ranks = ((total - 1) * share).astype(np.int64)
                found = order_statistics.select(codes, weight, ranges, ranks)
                keys = (values[ranges.items][codes.first[rows]].tolist() for rows in found)
                right = [
                    (of[rank], of[min(rank + 1, len(of) - 1)]) for of, rank in zip(every, ranks.tolist(), strict=True)
                ]
                assert list(zip(*keys, strict=True)) == right


def test_distinct_values(way: str) -> None:
    for values, weights, (low, high), ranges in drawn():
        codes = codes_of(values[ranges.items], ranges)
        right = [sorted(set(of)) for of in own(values, ranges)]
        counted = distinct.count_distinct(codes, ranges)
        assert counted.tolist() == list(map(len, right))
        spread = ranges.spread(counted)
        assert spread.tolist() == [len(set(values[a:b].tolist())) for a, b in zip(low, high, strict=True)]
        weight = weights[ranges.items]
        listed = distinct.list_codes(codes, weight, ranges, counted=True)
        most = distinct.most_frequent(codes, weight, ranges)
        assert (listed is None) == (most is None) == (way == "numpy" or not ranges.ascending)
        if listed is None or most is None:
            continue
        assert listed.weight is not None
        keys, counts = values[ranges.items][codes.first[listed.code]].tolist(), listed.weight.tolist()
        at = 0
        for number, of in enumerate(own(values, ranges, weights)):
            known = Counter(of)
            size = int(listed.lengths[number])
            assert list(zip(keys[at : at + size], counts[at : at + size], strict=True)) == sorted(known.items())
            best = min(known, key=lambda value: (-known[value], value))
            assert values[ranges.items][codes.first[most[number]]] == best
            at += size


def test_sums_of_runs() -> None:
    """Floats are added and taken off without loss, to the same bit as fractions, unless they differ too much."""
    rng = np.random.default_rng(3)
    first, last = rng.integers(0, 50, 300), rng.integers(0, 50, 300)
    runs = Runs(first, last, 50)
    for values in (
        rng.normal(size=300),
        rng.normal(size=300) * 10.0 ** rng.integers(-20, 20, 300),
        np.where(rng.random(300) < 0.5, 1e16, 1.0) * rng.choice([-1.0, 1.0], 300),
        np.full(300, 5e-324),
        np.zeros(300),
    ):
        pair = runs.sums_of_floats(values)
        assert pair is not None
        for window, total in enumerate((pair[0] + pair[1]).tolist()):
            inside = values[(first <= window) & (last >= window)].tolist()
            assert total == float(sum(map(Fraction, inside)))
    assert runs.sums_of_floats(np.array([1e300, 1e-300] * 150)) is None
    whole = rng.integers(-(2**62), 2**62, 300)
    right = [sum(whole[(first <= w) & (last >= w)].tolist()) for w in range(50)]
    assert [(each + 2**63) % 2**64 - 2**63 for each in right] == runs.sums(whole).tolist()


def test_stable_order(way: str) -> None:
    rng = np.random.default_rng(1)
    for values in (
        rng.integers(-5, 5, 1000),
        rng.integers(-(2**63), 2**63 - 1, 1000),
        np.array([2**63 - 1, -(2**63)] * 100),
        np.zeros(100, np.int64),
        np.zeros(0, np.int64),
        rng.normal(size=1000).view(np.int64)[::-1],
        rng.normal(size=60_000).view(np.int64),
        rng.integers(-5, 5, 60_000),
        # What is far from all others leaves these no upper bits by which they differ.
        np.append(np.arange(60_000)[::-1], [2**63 - 1, -(2**63)]),
        np.append(rng.integers(-500, 500, 60_000), [2**62, -(2**63)]),
        np.append(rng.integers(0, 1 << 20, 60_000) << 4, 2**63 - 1),
    ):
        assert ordering.stable_order(values).tolist() == sorted(range(len(values)), key=lambda row: values[row])


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
