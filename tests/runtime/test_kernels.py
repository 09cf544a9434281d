"""Kernels against exact arithmetic and brute force: awkward values, ranges of every shape, blocks of every size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff
from framefold.runtime.sliding.range_facts import RangeFacts, runs_by_a_row
from framefold.runtime.sliding.slide import by_kernels
from framefold.runtime.sliding.sparse_table import extremes
from framefold.runtime.sliding.tiles import Tile, Workspace, tiles_in_any_order
from framefold.runtime.sliding.tiles import tiles as cut

from ..oracles import by_definition as oracle
from ..support.examples import times
from ..support.inner import inner, place_of
from ..support.limits import limit_of, limits
from ..support.loops import WAYS, by, needs_loops
from ..support.plans import BoundAggregate
from ..support.stages import slide
from ..support.states import Compensated
from . import ranges as known
from .ranges import FLOAT, FLOATS, INT, NASTY, TAME, Ranges, filled, floats, of_keys, ranges, regular

FORWARD = ("regular", "of keys", "forward", "growing")


@contextmanager
def blocks_of(windows: int, rows: int) -> Iterator[None]:
    with limits(block_windows=windows, block_rows=rows, regular_run=windows // 2 + 1):
        yield


def blocks(low: np.ndarray, high: np.ndarray) -> list[Tile]:
    return cut(low, high, runs_by_a_row(low, high))


SMALL = st.tuples(st.integers(1, 9), st.integers(1, 20))
"""Sizes of blocks: windows and rows."""


def full_ranges(rows: int, *shapes: str) -> st.SearchStrategy[Ranges]:
    """Ranges none of which is empty."""
    drawn = ranges(rows, shapes) if shapes else ranges(rows)
    return drawn.map(lambda drawn: filled(*drawn)).map(lambda full: full if len(full[0]) else regular(rows, 1))


# Blocks


@given(st.integers(1, 60).flatmap(full_ranges), SMALL, st.booleans())
def test_blocks_hold_every_window_once(ranges: Ranges, sizes: tuple[int, int], any_order: bool) -> None:
    """Of ranges that ascend, of one step or not, and of those in any order, which are put in one."""
    low, high = ranges
    any_order |= sorted(low) != low.tolist() or sorted(high) != high.tolist()
    with blocks_of(*sizes):
        order, tiles = tiles_in_any_order(low, high) if any_order else (None, blocks(low, high))
    order = np.arange(len(low)) if order is None else order
    assert sorted(order.tolist()) == list(range(len(low)))
    low, high = low[order], high[order]
    assert [tile.first for tile in tiles] == [0, *(tile.last for tile in tiles[:-1])]
    assert tiles[-1].last == len(low)
    most = max(sizes[1], (4 if any_order else 8) * int((high - low).max()))
    assert not any_order or len(tiles) == 1 or high.max() - low.min() > 2 * most
    for tile in tiles:
        part = slice(tile.first, tile.last)
        widths = high[part] - low[part]
        assert all(map(np.array_equal, tile.ranges(), (low[part] - low[part].min(), high[part] - tile.begin)))
        assert not tile.step or (set(np.diff(low[part])) <= {tile.step} and set(widths) == {tile.widest})
        assert tile.widest >= widths.max()
        assert any_order <= (tile.step == 0)
        assert tile.last == tile.first + 1 or tile.end - tile.begin <= most * (1 + any_order)


def test_blocks_of_long_runs() -> None:
    """Regular but for the ends of a run; where windows are wide, blocks share few rows."""
    tiles = blocks(*of_keys([200_000], [60]))
    assert [tile.step for tile in tiles] == [0, *[1] * (len(tiles) - 2), 0]
    assert all(tile.last - tile.first <= limit_of("block_windows") for tile in tiles)
    assert tiles[0].last == 59, "only where windows grow"
    tiles = blocks(*regular(3_000_000, 200_000))
    assert all(tile.step == 1 for tile in tiles)
    assert sum(tile.end - tile.begin for tile in tiles) <= 1.4 * 3_000_000


# Floats


def rounded(values: list[float]) -> float:
    """The correctly rounded sum, as IEEE 754 has it where it is not finite."""
    exact = oracle.exact_sum(values)
    return oracle.rounded(exact) if isinstance(exact, Fraction) else exact


def is_rounded(found: float, values: list[float]) -> bool:
    """Whether it is the correctly rounded sum; where two floats cannot tell a tie from what is nearly one, either."""
    expected = rounded(values)
    if found == expected or (math.isnan(expected) and math.isnan(found)):
        return True
    half = Fraction(math.ulp(found)) / 2
    return math.isfinite(found) and abs(Fraction(found) - sum(map(Fraction, values))) <= half * (1 + Fraction(1, 2**45))


def check_floats(high: list[float], low: list[float] | None, ranges: Ranges) -> np.ndarray:
    """Windows that are not doubtful are correctly rounded, all of them; slid, none is worse than its own values."""
    states, (begin, end) = floats(high, low), ranges
    slid, doubtful = by_kernels(FLOATS, states, RangeFacts(begin, end))
    assert np.array_equal(slid["frames"], end - begin)
    sums, again = slid["total"].value(), slide(FLOATS, states, begin, end)["total"].value()
    for window, (first, last) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        own = high[first:last] + (low[first:last] if low else [])
        if window in doubtful:  # huge values are added up as they are
            known.assert_own_values_only(float(again[window]), own)
        else:
            assert is_rounded(float(sums[window]), own), (window, ranges)
    return doubtful


@pytest.mark.parametrize("kind", ["nasty", "tame", "any"])
@times(4)
@given(data=st.data(), sizes=SMALL, way=st.sampled_from(WAYS))
def test_floats(kind: str, data: st.DataObject, sizes: tuple[int, int], way: str) -> None:
    """As values by themselves, and with low parts that no single float has room for; tame ones are never doubtful."""
    drawn = {"nasty": st.sampled_from(NASTY), "tame": st.sampled_from(TAME), "any": st.floats()}[kind]
    values = data.draw(st.lists(drawn, min_size=1, max_size=40))
    ranges = data.draw(full_ranges(len(values)))
    with blocks_of(*sizes), by(way):
        doubtful = check_floats(values, None, ranges)
        assert kind != "tame" or not len(doubtful)
        if kind != "nasty":
            check_floats(values, [value * 2.0**-60 for value in data.draw(st.permutations(values))], ranges)


@given(st.integers(-1074, 900), st.integers(0, 110), st.integers(1, 64), st.integers(0, 99), st.sampled_from(WAYS))
def test_floats_of_any_size_that_cancel(exponent: int, spread: int, width: int, seed: int, way: str) -> None:
    """Values over as many binary places as a window can need, each taken out again in reverse order."""
    chance = np.random.default_rng(seed)
    values = np.ldexp(chance.normal(size=100), exponent + chance.integers(0, spread + 1, 100))
    values = np.concatenate([values, -values[::-1]])
    with by(way):
        check_floats(values.tolist(), None, regular(200, width))


KINDS: dict[str, Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]] = {
    "integers": lambda chance, rows: (chance.integers(-(2**40), 2**40, rows).astype(float), np.zeros(rows)),
    "all sizes": lambda chance, rows: (chance.lognormal(0, 9, rows), np.zeros(rows)),
    "low ones": lambda chance, rows: (chance.normal(0, 1, rows), chance.normal(0, 2.0**-55, rows)),
    "cancelling": lambda chance, rows: (chance.normal(0, 1, rows) * 10.0 ** chance.integers(-8, 9, rows),
        np.zeros(rows)),
    "few bits": lambda chance, rows: (np.rint(chance.uniform(1000, 2000, rows)) / 1024,
        np.ldexp(chance.integers(-3, 4, rows), -60)),
    "nearly ties": lambda chance, rows: (1.0 + np.ldexp(chance.integers(0, 2**10, rows), -52),
        np.ldexp(chance.integers(-1, 2, rows), -53) + np.ldexp(chance.integers(-1, 2, rows), -66)),
    "all but ties": lambda chance, rows: (1.0 + 2.0**-52 * (np.arange(rows) % 2),
        np.arange(rows) % 2 * chance.choice([-1.0, 1.0], rows) * 2.0**-100 + (np.arange(rows) % 64 == 0) * 2.0**-54),
}  # fmt: skip
"""Values, and what is below their last digits."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("width", [2, 500, 30_000])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_rounded_correctly_and_what_that_lost_is_kept(kind: str, width: int, way: str) -> None:
    """In several blocks, regular and not; windows are sampled."""
    chance, rows = np.random.default_rng(width), max(5000, 2 * width)
    values, low = KINDS[kind](chance, rows)
    states = {"total": Compensated(values, low), "frames": np.ones(rows, np.int64)}
    ends = np.sort(chance.integers(0, rows, (300, 2)), axis=1)
    for begin, end in (of_keys([rows], [width]), regular(rows, width, 7), (ends[:, 0].copy(), ends[:, 1] + 1)):
        with by(way):
            slid, doubtful = by_kernels(FLOATS, states, RangeFacts(begin, end))
            with patch.object(type(FLOATS.operation), "rounds", False):
                kept = slide(FLOATS, states, begin, end)["total"]
        assert not len(doubtful)
        assert not slid["total"].low.any()
        assert np.array_equal(slid["total"].high, kept.high)
        for window in chance.integers(0, len(begin), min(150, 500_000 // (width + 2000))).tolist():
            part = slice(int(begin[window]), int(end[window]))
            own = [*values[part], *low[part]]
            assert kept.high[window] == math.fsum(own)
            lost = math.fsum([*own, -kept.high[window], -kept.low[window]])
            assert abs(lost) <= 2.0**-76 * kept.high[window] or values.min() < 0.5, "values of one size"


@needs_loops
@pytest.mark.parametrize("function", [np.fmin, np.minimum, np.fmax, np.maximum])
@pytest.mark.parametrize("odd", [[], [0.0], [-0.0], [0.0, -0.0], [np.nan], [np.inf, -np.inf]])
def test_irregular_extremes_have_the_bits_of_numpys(function: Any, odd: list[float]) -> None:
    rng = np.random.default_rng(len(odd))
    values = rng.normal(0, 1, 500)
    values[rng.choice(500, len(odd) * 20, replace=False)] = np.repeat(odd, 20)
    begin = np.sort(rng.integers(0, 480, 300))
    end = np.maximum.accumulate(np.minimum(begin + rng.integers(1, 30, 300), 500))
    block = Tile(0, 300, 0, 500, 0, int((end - begin).max()), begin, end)
    found = []
    for way in WAYS:
        out = np.empty(300)
        with by(way):
            extremes(values, function, block, Workspace(), out)
        found.append(out.tobytes())
    assert found[0] == found[1]


def test_states_that_only_an_operation_could_have_made() -> None:
    """Sums beyond the sizes that are kept apart, or a NaN among the ordinary ones: windows are rebuilt."""
    for odd in (2.0**1000, math.nan):
        column = Compensated(np.array([1.0, odd, 2.0, 3.0, 4.0]), np.zeros(5))
        states = {"total": column, "frames": np.ones(5, np.int64)}
        found = slide(FLOATS, states, *regular(5, 2))["total"].value()
        assert np.array_equal(found, [1.0 + odd, odd + 2.0, 5.0, 7.0], equal_nan=True)


def test_only_windows_with_a_huge_value_are_rebuilt() -> None:
    again: list[int] = []

    def watched(operation: Any, states: Any, low: np.ndarray, high: np.ndarray) -> Any:
        again.extend(low.tolist())
        return by_two_stacks(operation, states, low, high)

    by_two_stacks = inner("two-stacks")
    values = np.full(1000, 0.1)
    values[[400, 700, 800]] = 1e300, np.nan, np.inf
    with patch.object(*place_of("two-stacks"), watched):
        found = slide(FLOATS, floats(values), *regular(1000, 10))["total"].value()
    assert again == list(range(391, 401))
    assert [rounded([*values[row : row + 10]]) for row in range(991)] == pytest.approx(found, rel=0, nan_ok=True)


# Whatever may be joined twice


class Own(ff.AggregateOperation):
    """Any functions on any types of one field, whether zero is an identity of them or not."""

    commutative = True
    try_laws = False
    result = "int64"

    def __init__(self, type: str, function: np.ufunc) -> None:
        super().__init__("x")
        self.state = {"field": type}  # type: ignore[misc]
        self.ufuncs = {"field": function}

    def accumulate(self, frames: Any, *columns: Any) -> Any:
        return {"field": frames.count().astype(self.state["field"])}

    def combine(self, a: Any, b: Any) -> Any:
        return {"field": self.ufuncs["field"](a["field"], b["field"])}

    def finish(self, a: Any) -> Any:
        return a["field"].astype(np.int64)


TWICE = [
    ("float64", np.maximum), ("float64", np.fmin), ("float32", np.minimum), ("float64", np.fmax), ("int64", np.minimum),
    ("int16", np.fmax), ("uint8", np.bitwise_or), ("int64", np.bitwise_and), ("bool", np.logical_and),
    ("bool", np.logical_or), ("datetime64[us]", np.fmin), ("timedelta64[ns]", np.maximum), ("uint64", np.add),
    ("int8", np.add), ("int64", np.add),
]  # fmt: skip


@pytest.mark.parametrize(("type", "function"), TWICE, ids=str)
@given(data=st.data(), rows=st.integers(1, 40), seed=st.integers(0, 99), sizes=SMALL)
def test_functions_of_all_kinds(
    type: str, function: np.ufunc, data: Any, rows: int, seed: int, sizes: tuple[int, int]
) -> None:
    chance = np.random.default_rng(seed)
    values = chance.integers(0, 2**62, rows).view(np.int64) >> chance.integers(0, 62)
    column = values.astype(type) if type[0] != "f" else (values / 7.0).astype(type)
    if type[0] == "f":
        column[chance.random(rows) < 0.1] = np.nan
    elif column.dtype.kind in "mM":
        column[chance.random(rows) < 0.1] = "NaT"
    bound = BoundAggregate("own", Own(type, function), [INT])
    begin, end = data.draw(full_ranges(rows, *FORWARD))
    assert bound.has_kernels
    with blocks_of(*sizes), patch.object(*place_of("two-stacks"), None), patch.object(*place_of("deduct"), None):
        found = slide(bound, {"field": column}, begin, end)["field"]
    assert found.dtype == column.dtype
    as_it_is = {"dtype": type} if function is np.add else {}
    each = [function.reduce(column[a:b], **as_it_is) for a, b in zip(begin, end, strict=True)]
    np.testing.assert_array_equal(found, np.array(each, column.dtype))


# Which operations


def test_what_has_no_kernel() -> None:
    """Plain sums of floats lose digits; so does whatever is joined in a way of its own, or not by these functions."""
    assert not BoundAggregate("own", Own("float64", np.add), [INT]).has_kernels
    assert not BoundAggregate("own", Own("int64", np.multiply), [INT]).has_kernels
    assert not BoundAggregate("own", Own("bool", np.add), [INT]).has_kernels
    assert not BoundAggregate("most", ff.Max("x"), [pa.string()]).has_kernels
    assert not BoundAggregate("spread", ff.StdDev("x"), [FLOAT]).has_kernels


class Modulo(ff.Count):
    """Inherits what joins a count, and joins in another way."""

    def combine(self, a: Any, b: Any) -> Any:
        return {"count": (a["count"] + b["count"]) % 7}


class Named(ff.Count):
    """Inherits both."""


def test_an_inherited_function_does_not_stand_for_a_combine_written_later() -> None:
    assert BoundAggregate("n", Named(), []).has_kernels
    assert not BoundAggregate("n", Modulo(), []).has_kernels
    counts = {"count": np.array([3, 4, 5])}
    assert slide(BoundAggregate("n", Modulo(), []), counts, np.array([0]), np.array([3]))["count"].tolist() == [5]


class Wrong(Own):
    """Joins by one function and combines by another."""

    def combine(self, a: Any, b: Any) -> Any:
        return {"field": np.maximum(a["field"], b["field"])}


def test_functions_that_are_not_what_combine_does_are_refused() -> None:
    with pytest.raises(
        ff.OperationError, match="ufuncs of 'x' has add for field 'field'; expected what its combine does"
    ):
        BoundAggregate("x", Wrong("int64", np.add), [INT])
    with pytest.raises(ff.OperationError, match="ufuncs of 'x' has 'sum' for field 'field'; expected a numpy function"):
        BoundAggregate("x", Own("int64", "sum"), [INT])  # type: ignore[arg-type]
    wrong = Own("int64", np.add)
    wrong.ufuncs = {"total": np.add}
    with pytest.raises(ff.OperationError, match="ufuncs of 'x' names 'total'; expected fields of its state: 'field'"):
        BoundAggregate("x", wrong, [INT])
