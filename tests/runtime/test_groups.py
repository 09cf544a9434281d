"""Rows in groups: every way finds the same ones, whatever the types, and states are joined to the same bits."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

from ..oracles import brute
from ..support import stages
from ..support.columns import (
    add_or_append,
    assign,
    code_key,
    code_numbers,
    code_ordered,
    groups_by_sorting,
    groups_of,
    stable_order,
)
from ..support.inner import inner, place_of
from ..support.limits import limits
from ..support.loops import WHY_NOT, loops, needs_loops, without_loops
from ..support.plans import bind
from ..support.stages import partials_of as accumulate
from .test_partials import bits

ROWS = st.lists(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4), st.integers(5, 8)), max_size=30), max_size=5)
ORDERS: dict[str, Any] = {"key": lambda row: row, "frame": lambda row: (row[1], row[2], row[0]), "none": None}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("way", ["in places", "by runs", "by sorting", "dense codes", "by numpy"])
@given(ROWS)
def test_groups_are_those_of_equal_rows(way: str, order: str, batches: list[list[tuple[int, int, int]]]) -> None:
    if not loops.compiled and way in ("in places", "by runs"):
        pytest.skip(WHY_NOT)
    batches = [batch if order == "none" else sorted(set(batch), key=ORDERS[order]) for batch in batches]
    rows = list(itertools.chain(*batches)) or [(0, 0, 5)]
    key, *frames = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    bounds = {"places": 99 if way in ("in places", "by numpy") else 0, "min_run": 0 if way == "by runs" else 99}
    bounds |= {"packed_codes": 0} if way == "dense codes" else {}
    with limits(few_places=0, **bounds), without_loops() if way == "by numpy" else nullcontext():
        found = groups_of([code_ordered(pa.array(key))], list(map(code_numbers, frames)), len(rows))
    of_group = [rows[row] for row in found.first]
    assert [of_group[number] for number in found.group] == rows
    assert found.first.tolist() == list(map(rows.index, of_group))
    ordered = of_group if found.order is None else [of_group[number] for number in found.order]
    assert ordered == sorted(set(rows))


@needs_loops
def test_batches_by_frame_are_grouped_by_frame() -> None:
    keys, frames = np.tile(np.arange(5), 40), np.repeat(np.arange(20), 10)
    found = groups_of([code_ordered(pa.array(keys))], [code_numbers(frames)], 200)
    assert found.order is not None
    assert (np.diff(found.group) >= -4).all()  # keys of one frame are neighbours


@needs_loops
@pytest.mark.parametrize("spread", [1, 10_000])
@pytest.mark.parametrize("chunked", [True, False])
def test_compiled_joins_have_the_bits_of_numpys(chunked: bool, spread: int, limit: Callable[..., None]) -> None:
    rng = np.random.default_rng(spread)
    schema = pa.schema({"t": pa.int64(), "k": pa.int64(), "n": pa.int64(), "x": pa.float64()})
    outputs = {
        "sum": ff.Sum("x"), "mean": ff.Average("x"), "apart": ff.Variance("x"), "events": ff.Count(),
        "whole": ff.Sum("n"), "least": ff.Min("x"), "most": ff.Max("n"), "first": ff.First("n"), "odd": ff.BitAnd("n"),
    }  # fmt: skip
    plan = bind(schema, time="t", by=["k"], window=ff.tumbling(1), outputs=outputs)
    batches = []
    for rank in range(6):
        rows = rng.integers(1, 3000)
        x = rng.normal(1e3, 1.0, rows) * 10.0 ** rng.integers(-3, 4, rows)
        x[:: 500 + rank] = [np.nan, np.inf, 1e300, -0.0, 0.0, -1e300][rank]
        times = rng.integers(0, 60, rows) * spread
        events = {"t": times, "k": rng.integers(0, 9, rows), "n": rng.integers(-(2**50), 2**50, rows), "x": x}
        batches.append(stages.accumulate(plan, pa.table(events, schema), rank))
    limit(min_merge_chunk=0 if chunked else 1 << 12)
    table = pa.concat_tables(batches)
    with_loops = stages.merge(plan, table)
    with without_loops():
        by_pairs = stages.merge(plan, table)
    # Pairs of floats are added in another order by pairs: only what is exact is the same in any order.
    same = [name for name in table.column_names if name.split(".")[0] not in ("sum", "mean", "apart")]
    assert bits(with_loops.select(same)) == bits(by_pairs.select(same))
    results = [stages.results(plan, each).select(["sum", "mean", "apart"]) for each in (with_loops, by_pairs)]
    for name in ("sum", "mean", "apart"):
        np.testing.assert_allclose(*(each[name].to_numpy() for each in results), rtol=1e-15)


CODES, TWO, REAL = np.array([0, 2], np.int32), np.zeros(2, np.int64), np.zeros(2)
PAIRS = np.zeros(3), np.zeros(3)
ADDERS = (1.5, 1.5, 1.5)
THREE, REALS, MUST = np.zeros(3, np.int64), np.zeros(3), "must (be|lie|have)"
EMPTY = np.array([0, 1, 1]), np.array([1, 1, 2])
OTHERS = [  # ranges that are not all of three rows
    (np.array(begin), np.array(end))
    for begin, end in (
        ([2, 2, 1], [3, 4, 2]), ([0, -1, 0], [1, 1, 1]), ([0, 2, 0], [3, 1, 3]), ([1, 1, 1], [2, -(2**63), 2]),
        ([0, -(2**63), 0], [1, 2**63 - 1, 1]), ([2, 2, 9], [3, 3, 10]),
    )
]  # fmt: skip
REFUSED: list[tuple[str, tuple[Any, ...], str]] = [
    ("number_codes", (np.full(1, 5), np.zeros(2, np.int32)), "code 5 of a row is not among 2"),
    ("number_rows", (np.full(1, 1), np.array([0, 3], np.int32), np.zeros(1, np.intp)), "a code has no number"),
    ("unite", (np.arange(3), np.arange(2), np.zeros(4, np.int64)), "room for left and right"),
    ("number_ascending", (np.array([1, 4]), np.array([1, 3, 5]), 0, np.zeros(3, np.intp)), "a code is not among the v"),
    ("number_ascending", (TWO[:1], np.array([1, 3]), 0, np.zeros(3, np.intp)), "values and first must be of one len"),
    ("add_integers", (np.arange(3), np.zeros(2, np.intp), TWO), "values and index must be of one length"),
    ("add_integers", (np.arange(1), np.full(1, 2), TWO), "group 2 of a row is not among 2"),
    ("add_pairs", (*PAIRS, np.array([0, 1, 7]), REAL, REAL), "group 7 of a row is not among 2"),
    ("add_pairs", (*PAIRS, np.zeros(2, np.intp), REAL, REAL), "must be of one length"),
    ("sums_so_far", (TWO, CODES, TWO, TWO), "code 2 of a row is not among 2"),
    ("extremes_so_far", (REAL, CODES, True, REAL, REAL), "code 2 of a row is not among 2"),
    ("rows_so_far", (CODES, None, True, TWO, TWO), "code 2 of a row is not among 2"),
    ("rows_before", (CODES, np.full((2, 2), -1), TWO), "code 2 of a row is not among 2"),
    ("rows_as_of", (CODES, TWO, None, CODES, TWO + 1, np.full(2, -1), TWO), "code 2 of a row is not among 2"),
    ("rows_as_of", (CODES[:1], TWO[:1], None, CODES + 2, TWO, np.full(2, -1), TWO), "code 2 of a row is not"),
    ("rows_as_of", (CODES, TWO, None, CODES, np.array([1, 0]), np.full(3, -1), TWO), "ticks must ascend"),
    ("rows_as_of", (CODES, TWO, None, CODES, TWO, np.full(3, -1), TWO[:1]), "what is found must be of one len"),
    ("plane_sums_so_far", (REAL, None, CODES, 2, None, None, ADDERS, REAL, None), "code 2 of a row is not among"),
    ("plane_sums_so_far", (REAL, None, CODES, 3, TWO + 1, TWO, ADDERS, REAL, None), "does not end where it"),
    ("rows_of_windows", (CODES, TWO, np.array([0, 2, 3]), np.zeros(3, np.int64)), "as many rows of one code as there"),
    ("sums_about", ([TWO + 1, *[REAL] * 5], True, CODES, [np.zeros(2) for _ in range(4)], TWO, 2.0**420),
     "code 2 of a row is not among 2"),
    ("sort_by_bits", (THREE, THREE[:2], 0, 3), "of one length, and bits from 0 to 63"),
    *(("sort_by_bits", (THREE, THREE, *of), "bits from 0 to 63") for of in ((3, 2), (0, 64), (-1, 3))),
    ("group_sorted", (THREE, 2, THREE, THREE[:2], THREE), "of one length"),
    ("group_sorted", (np.array([0, 3, 1]), 2, THREE, THREE, THREE), "row 3 is not among 3"),
    ("order_codes", (THREE, THREE, np.zeros(2, np.intp)), "of one length"),
    ("order_codes", (np.full(1, 2), THREE, np.zeros(1, np.intp)), "code 2 of a row is not among 2"),
    *(("window_sums", (THREE, width, THREE), MUST) for width in (3, 0)),
    ("range_sums", (THREE, THREE[:2], THREE, THREE), MUST),
    *(("range_sums", (THREE, *ranges, THREE), "must be of rows") for ranges in OTHERS),
    *(("first_rows", (THREE, *of, THREE), MUST)
        for of in ((THREE, THREE, THREE[:2], THREE), (THREE[:2], THREE, THREE, THREE),
        (THREE, THREE, THREE - 1, THREE), (THREE, THREE, THREE + 3, THREE), (THREE, THREE + 4, THREE, THREE),
        (THREE + 1, THREE, THREE, THREE))),
    *(("plane_sums", (REALS, low, width, *of, ADDERS, sums, lost), MUST)
        for low, width, of, sums, lost in ((REAL, 2, (None, None), REAL, None),
        (REALS, 2, (None, None), REALS, None), (REALS, 2, (None, None), REAL, REALS),
        (REALS, 4, (None, None), REAL[:0], None), (REALS, 2, (THREE, THREE), REAL, None),
        (REALS, 2, (THREE, None), REALS, None), (REAL, 2, (THREE, THREE), REALS, None))),
    ("transpose", (np.zeros((2, 3), np.int64), np.zeros((2, 3), np.int64)), MUST),
    ("transpose", (np.zeros((2, 6), np.int64)[:, ::2], np.zeros((3, 2), np.int64)), MUST),
    ("range_extremes", (REALS, THREE[:2], THREE, True, REALS), "there must be"),
    ("range_extremes", (REALS, THREE, THREE, True, REAL), "there must be"),
    *(("range_extremes", (REALS, *ranges, least, REALS), "must be of rows, and not empty")
        for ranges in (*OTHERS, EMPTY) for least in (True, False)),
    ("range_extremes", (REALS[:0], THREE, THREE + 1, True, REALS), "must be of rows, and not empty"),
]  # fmt: skip


@needs_loops
@pytest.mark.parametrize(("loop", "arguments", "said"), REFUSED)
def test_loops_check_what_they_get(loop: str, arguments: tuple[Any, ...], said: str) -> None:
    own = [each.copy() if isinstance(each, np.ndarray) and each.data.contiguous else each for each in arguments]
    with pytest.raises((IndexError, ValueError), match=said):
        getattr(loops, loop)(*own)


@needs_loops
def test_loops_of_ranges_without_rows() -> None:
    """Sums by planes leave windows that are not of rows to another way."""
    assert not any(loops.plane_sums(REALS, REALS, 3, *ranges, ADDERS, REALS.copy(), None) for ranges in OTHERS)
    loops.range_extremes(np.zeros(0), THREE[:0], THREE[:0], True, np.zeros(0))


@needs_loops
def test_partials_are_added_to_those_of_the_same_frames_some_portions_before() -> None:
    """Three files, each of two row groups: the first half of the time, then the second one."""
    schema = pa.schema({"t": pa.int64(), "k": pa.int64(), "x": pa.int64()})
    plan = bind(schema, time="t", by=["k"], window=ff.tumbling(1), outputs={"sum": ff.Sum("x"), "most": ff.Max("x")})
    several: list[stages.Partials] = []
    for rank in range(6):
        half = np.arange(50) + 50 * (rank % 2)
        add_or_append(
            several, accumulate(plan, pa.table({"t": half, "k": half % 7, "x": half * (rank + 1)}, schema), rank)
        )
    assert list(map(len, several)) == [50, 50]
    rows = stages.results(plan, stages.merged(several).table).to_pylist()
    first = [(t % 7, t, *((9 * t, 5 * t) if t < 50 else (12 * t, 6 * t))) for t in range(100)]
    assert [(row["k"], row["window"]["start"], row["sum"], row["most"]) for row in rows] == sorted(first)


# Rows that are equal in every column, whatever its type and however many groups there are


VALUES: dict[pa.DataType, list[Any]] = {
    **{type: values for type, values in brute.VALUES.values() if not pa.types.is_floating(type)},
    pa.uint32(): [2**32 - 1, 0], pa.float32(): [0.0, -0.0, 1.5], pa.null(): [],
    pa.date32(): [datetime.date(2020, 2, 29), datetime.date(1, 1, 1)],
    pa.dictionary(pa.int8(), pa.string()): ["", "a", "é"], pa.time32("s"): [datetime.time(1), datetime.time(0)],
}  # fmt: skip


@pytest.mark.parametrize("type", VALUES, ids=str)
@given(data=st.data(), sparse=st.sampled_from([0, 1 << 18]), per_group=st.sampled_from([1, 2, 100]))
def test_equal_rows_are_together(type: pa.DataType, data: st.DataObject, sparse: int, per_group: int) -> None:
    """Where rows need not be counted, groups of all possible values come, unless there are too many of them."""
    value = st.sampled_from([*VALUES[type], None])
    rows = data.draw(st.lists(st.tuples(st.integers(-5, 5), value), min_size=1, max_size=20))
    column = pa.array([value for _, value in rows], type)
    frames, keys = [code_numbers(np.array([number for number, _ in rows]))], [code_key(column)]
    expected = list(zip([number for number, _ in rows], column.to_pylist(), strict=True))
    with limits(sparse_codes=sparse, assigned_block=7, rows_per_group=per_group):
        counted = assign(frames, keys, len(rows))
        possible = assign(frames, keys, len(rows), counting=False)
    for made in (counted, possible):
        groups = list(zip(made.values[0].tolist(), made.values[1].to_pylist(), strict=True))
        assert [groups[group] for group in made.index] == expected
        assert len(set(groups)) == len(groups) == made.size
        if made.counts is not None:
            assert made.counts.tolist() == [expected.count(each) for each in groups]
            assert made.counts.min() > 0
        if sparse:
            assert made.values[0].tolist() == sorted(made.values[0].tolist())
    assert counted.counts is not None
    every = frames[0].count * keys[0].count
    if every * per_group <= len(rows):
        assert (possible.counts, possible.size) == (None, every)
    else:
        assert possible.counts is not None


def test_a_dictionary_with_a_value_twice_or_null_and_numbers_far_apart() -> None:
    for values in (["b", "a", "b"], ["b", "a", None]):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 0]), pa.array(values))
        made = assign([], [code_key(column)], 5)
        assert [made.values[0][group].as_py() for group in made.index] == column.to_pylist()
        assert len(made.counts) == len(set(column.to_pylist()))
    made = assign([code_numbers(np.array([2**62, -(2**62), 2**62]))], [], 3)
    assert (made.index.tolist(), made.values[0].tolist()) == ([1, 0, 1], [-(2**62), 2**62])


def check_stable(codes: np.ndarray, size: int) -> None:
    assert stable_order(codes, size).tolist() == np.argsort(codes, kind="stable").tolist()


@given(st.lists(st.integers(0, 50), max_size=60), st.sampled_from([51, 52, 1 << 62]))
def test_sorting_is_stable(codes: list[int], size: int) -> None:
    check_stable(np.array(codes, np.int64), size)


@pytest.mark.parametrize("runs", [1, 2, 7, 50, 20_000])
def test_sorting_of_ascending_runs_is_stable(runs: int) -> None:
    codes = np.random.default_rng(runs).integers(0, 5_000, 20_000)
    for run in np.array_split(codes, runs):
        run.sort()
    for counted in (0, 1 << 30):
        with limits(counted_codes=counted):
            check_stable(codes, 5_000)


@pytest.mark.parametrize("size", [1, 2, 2_048, 2_049, 1 << 22, (1 << 22) + 1, 1 << 33, 1 << 44, 1 << 48])
def test_groups_by_sorting(size: int, way: str) -> None:
    """One digit to four, and more codes than are sorted by digits; numpy's ``unique`` says what the groups are."""
    rng = np.random.default_rng(size)
    codes = rng.choice(np.append(rng.integers(0, size, 6_000), [0, size - 1]), 10_000)
    group, first, counts, values = groups_by_sorting(codes.copy(), size)
    expected = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    assert all(map(np.array_equal, (values, first, group, counts), expected))
    check_stable(codes, size)


# Groups of all possible keys and frames, where some have no event

EVENT_COUNT = 500


def some_events() -> pa.Table:
    """Events of some keys in some frames only, with nulls, NaN and infinities."""
    chance = np.random.default_rng(2)
    ticks, drawn = np.sort(chance.choice([3, 14, 15, 92, 65, 35], EVENT_COUNT)), chance.integers(-50, 50, EVENT_COUNT)

    def column(value: Callable[[int], Any], type: pa.DataType) -> pa.Array:
        return pa.array([None if each % 7 == 0 else value(each) for each in drawn.tolist()], type)

    first = datetime.date(2020, 1, 1)
    return pa.table(
        {
            "t": ticks,
            "k": [f"key {each}" for each in (drawn % 4 + ticks % 5).tolist()],
            "x": column(lambda each: math.nan if each == 1 else math.inf if each == 2 else each / 3, pa.float64()),
            "plain": drawn / 3,
            "n": column(int, pa.int64()),
            "money": column(lambda each: Decimal(each) / 100, pa.decimal128(9, 2)),
            "name": column(str, pa.string()),
            "yes": column(lambda each: each > 0, pa.bool_()),
            "day": column(lambda each: first + datetime.timedelta(each), pa.date32()),
        }
    )


EVENTS = some_events()
GROUPS = set(zip((EVENTS["t"].to_numpy() // 10).tolist(), EVENTS["k"].to_pylist(), strict=True))
NUMBERS = ("x", "plain", "n", "money")
OUTPUTS = {
    "rows": ff.Count(),
    "known": ff.Count("x"),
    **{f"{kind.__name__} {of}": kind(of) for kind in (ff.Sum, ff.Average, ff.Variance, ff.StdDev) for of in NUMBERS},
    **{f"{kind.__name__} {of}": kind(of) for kind in (ff.Min, ff.Max) for of in (*NUMBERS, "name", "yes", "day")},
}


def accumulated(
    outputs: dict[str, Any], rows_per_group: float, limit: Callable[..., None]
) -> tuple[pa.Table, Any, Any]:
    """The partials, their results, and the groups that rows were assigned to."""
    plan = bind(EVENTS.schema, time="t", by=["k"], window=ff.sliding(20, every=10), outputs=outputs)
    limit(rows_per_group=rows_per_group)
    groups: list[Any] = []
    with patch.object(*place_of("assign"), lambda *of, **more: groups.append(inner_assign(*of, **more)) or groups[-1]):
        partials = stages.accumulate(plan, EVENTS, 0)
    return partials, stages.results(plan, partials), *groups


inner_assign = inner("assign")


@pytest.mark.parametrize("names", [list(OUTPUTS), *([name] for name in OUTPUTS)], ids=lambda names: names[0])
def test_frames_without_events_leave_nothing(names: list[str], limit: Callable[..., None]) -> None:
    outputs = {name: OUTPUTS[name] for name in names}
    expected, right, _ = accumulated(outputs, math.inf, limit)
    partials, results, groups = accumulated(outputs, 1, limit)
    assert groups.size > len(partials) == len(GROUPS)
    # Deviations are of one grid for all frames, of whichever these are: only what comes of them is the same.
    states = [name for name in partials.column_names if not name.startswith(("Variance", "StdDev"))]
    assert repr(partials.select(states).to_pylist()) == repr(expected.select(states).to_pylist())  # NaN is not itself
    assert repr(results.to_pylist()) == repr(right.to_pylist())


class Plain(ff.Sum):
    """A user's own."""


@pytest.mark.parametrize("operation", [Plain("x"), ff.Skewness("x"), ff.First("x"), ff.Sum("n").then(np.negative)])
def test_others_are_never_given_empty_frames(operation: Any, limit: Callable[..., None]) -> None:
    partials, _, groups = accumulated({"other": operation, "rows": ff.Count()}, 1, limit)
    assert len(partials) == len(GROUPS)
    assert groups.counts.all()


@pytest.mark.parametrize("kind", [ff.Sum, ff.Average, ff.Count, ff.Min])
def test_a_subclass_without_anything_of_its_own(kind: Any) -> None:
    own, query = type("Own", (kind,), {}), ff.events(EVENTS, time="t", by="k").window(ff.sliding(20, every=10))
    for column in ("plain", "n"):
        assert query.aggregate(x=own(column)) == query.aggregate(x=kind(column))
