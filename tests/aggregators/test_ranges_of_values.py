"""Questions about ranges of values against lists of each range's own: compiled loops, and numpy alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from framefold.aggregators.ranges import distinct, order_statistics, ordering
from framefold.aggregators.ranges.codes import codes_of
from framefold.aggregators.ranges.item_ranges import ItemRanges
from framefold.aggregators.ranges.run_sums import Runs

from ..support.loops import loops, needs_loops


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


def own(values: Any, ranges: ItemRanges) -> Iterator[list[Any]]:
    """The values of each filled range, in their order."""
    values = values[ranges.items].tolist()
    for low, high in zip(ranges.begin.tolist(), ranges.end.tolist(), strict=True):
        yield values[low:high]


def test_order_statistics(way: str) -> None:
    for values, weights, _, ranges in drawn():
        codes = codes_of(values[ranges.items], ranges)
        for weight in (None, weights[ranges.items]):
            total = ranges.sums(weight)
            for share in (0.0, 0.3, 0.5, 1.0):
                ranks = ((total - 1) * share).astype(np.int64)
                found = order_statistics.select(codes, weight, ranges, ranks)
                keys = [values[ranges.items][codes.first[each]].tolist() for each in found]
                times = weights if weight is not None else np.ones(500, np.int64)
                for at, (of, often) in enumerate(zip(own(values, ranges), own(times, ranges), strict=True)):
                    each = sorted(value for value, count in zip(of, often, strict=True) for _ in range(count))
                    rank = int(ranks[at])
                    assert (keys[0][at], keys[1][at]) == (each[rank], each[min(rank + 1, len(each) - 1)])


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
        for number, (of, often) in enumerate(zip(own(values, ranges), own(weights, ranges), strict=True)):
            known: Counter[int] = Counter()
            for value, count in zip(of, often, strict=True):
                known[value] += count
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


@needs_loops
def test_loops_refuse_what_they_would_read_beyond() -> None:
    code, one = np.array([0, 1, 0], np.int32), np.array([0])
    found, counts = np.empty(1, np.int32), np.empty(1, np.int64)
    for low, high, codes in (([0], [4], 2), ([-1], [2], 2), ([2], [2], 2), ([0], [3], 1), ([0, 0], [3, 2], 2)):
        bounds = np.array(low), np.array(high)
        with pytest.raises(ValueError, match="ranges must be of items"):
            loops.count_distinct(code, codes, *bounds, np.empty(len(low), np.int64))
        with pytest.raises(ValueError, match="ranges must be of items"):
            loops.most_frequent(code, None, codes, *bounds, np.empty(len(low), np.int32))
    whole = np.array([0]), np.array([3])
    with pytest.raises(ValueError, match="a range has fewer codes"):
        loops.list_codes(code, None, 2, *whole, np.array([0, 3]), np.empty(3, np.int32), None)
    with pytest.raises(ValueError, match="a rank for each"):
        loops.select(code, None, 2, *whole, np.empty(0, np.int64), found, found.copy())
    loops.select(code, None, 2, *whole, np.array([3]), found, found.copy())
    assert found.tolist() == [-1], "there is no such rank"
    with pytest.raises(ValueError, match="a count for each"):
        loops.list_codes(code, None, 2, *whole, np.array([0, 2]), np.empty(2, np.int32), counts)
    with pytest.raises(ValueError, match="a place for each"):
        loops.order_values(one, np.empty(2, np.intp))
    shares = np.array([1]), 2, np.empty(1)
    for low, high in ((0, 3), (-1, 0)):
        rows = (np.array([each], np.int32) for each in (low, high))
        with pytest.raises(ValueError, match="such rows"):
            loops.interpolate(np.zeros(3), *rows, *shares)
    with pytest.raises(ValueError, match="a rest for each"):
        loops.interpolate(np.zeros(3), code, code, *shares)
