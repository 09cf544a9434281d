"""Operations on numbers against exact fractions of each window's own values, however awkward these are."""

from __future__ import annotations

import datetime
import datetime as dt
import functools
import itertools
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import framefold as ff

from ..oracles.brute import WINDOWS, compare, expected
from ..oracles.by_definition import exact_variance
from ..oracles.numeric import ONE, STREAMS, TWO, assert_right, drawn, exactly, is_nearest
from ..oracles.ways import every_way, one_window
from ..support import stages
from ..support.plans import BoundAggregate, bind
from ..support.windows import TimeColumn

SERIES = {
    **STREAMS,
    "equal": [1 / 3],
    "equal, huge": [1e300],
    "zeros": [0.0, 1e200, 1e-200, -2.0, 3.0, 0.1, 7.0, 9.0],
    "one negative": [1.0, 2.0, 3.0, 4.5, 5.0, 6.0, 7.0, -1.0],
}
POSITIVE = {name: [abs(x) for x in values if not 0 < abs(x) < 1e-307] for name, values in STREAMS.items()}
"""Without values whose reciprocals overflow."""


MEANS = (ff.GeometricMean, ff.HarmonicMean, ff.RootMeanSquare)
OF_ONE = [
    (operation, name)
    for operation in ONE
    for name in SERIES
    if not isinstance(operation, MEANS) or name in POSITIVE or name == "one negative"
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("operation", "name"), OF_ONE, ids=repr)
def test_of_awkward_values(operation: Any, name: str) -> None:
    values = (POSITIVE if isinstance(operation, MEANS) and name in POSITIVE else SERIES)[name]
    assert_right(operation, {"x": drawn(values, 60, 5)}, *ONE[operation])


TYPES = [pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(12, 3)]
OF_FLOATS = [operation for operation in ONE if not isinstance(operation, (ff.Range, ff.Sum, ff.Average))]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("number", range(len(OF_FLOATS)))
def test_types(number: int) -> None:
    """All turn their columns to floats in the same way: two types of each operation."""
    for type in (TYPES[number % 4], TYPES[(number + number // 4 + 1) % 4]):
        assert_right(OF_FLOATS[number], {"x": drawn([1, 2, 3, 5, 100], 60, 4, type)}, *ONE[OF_FLOATS[number]])


@pytest.mark.parametrize("operation", [*ONE, ff.WeightedAverage("x", "w")], ids=repr)
def test_what_has_passed_through_leaves_nothing(operation: Any) -> None:
    values = np.ones(2000)
    values[[5, 200, 400, 600]] = [1e16, 1e300, math.inf, math.nan]
    table = pa.table({"t": np.arange(2000), "x": values, "w": values[::-1]})
    result = ff.events(table, time="t").window(ff.sliding(50, every=1)).aggregate(x=operation)["x"].to_pylist()
    right = ONE.get(operation, (lambda rows: 1.0,))[0]([(1.0,)] * 50)
    assert set(result[700:1300]) == {right}


# --- of two columns --------------------------------------------------------------------------------------------------


LINE = drawn(STREAMS["near"], 60, 1)
PAIRS = {
    "near": [drawn(STREAMS["near"], 60, seed) for seed in (0, 1)],
    "huge, cancelling": [drawn(STREAMS[name], 60, seed) for seed, name in enumerate(("huge", "cancelling"))],
    "cancelling, huge": [drawn(STREAMS[name], 60, seed) for seed, name in enumerate(("cancelling", "huge"))],
    "a line": [LINE, pa.array([None if x is None else 3 * (x - 1e9) + 7 for x in LINE.to_pylist()])],
    "equal": [drawn([0.1], 60, 0), drawn([1.0, 2.0, 3.0], 60, 1)],
    "to equal": [drawn([1.0, 2.0, 3.0], 60, 0), drawn([0.1], 60, 1)],
    "types": [drawn([1, 2, 3, 100], 60, 4, pa.int8()), drawn([1, 2, 9], 60, 5, pa.decimal128(9, 2))],
}
WEIGHTS = {
    f"{name}, {weights}": [drawn(STREAMS[name], 60, 1), drawn(weights, 60, 2)]
    for name, weights in zip(
        ("near", "huge", "cancelling"), ([1.0, 2.0, 0.5], [1.0, -1.0, 0.0], [1e-9, 1e9, 1e16]), strict=True
    )
} | {
    "not finite": [drawn([1.0, 2.0, math.inf, math.nan, 3.0, 4.0, 5.0], 60, 1), drawn([1.0, 2.0, 3.0], 60, 2)],
    "of infinite weight": [drawn([1.0, 2.0, 3.0], 60, 1), drawn([1.0, 2.0, 3.0, 4.0, 5.0, math.inf], 60, 2)],
    "narrow weights": [drawn([1, 2, 3, 5, 100], 60, 4, pa.float32()), drawn([1, 2, 9], 60, 5, pa.int16())],
}
SHAPES = {
    "extreme": [drawn(STREAMS["extreme"], 60, 1), drawn([1.0, 2.0, 3.0, 1e-200], 60, 2)],
    "not finite": [drawn([*range(12), math.nan, math.inf], 60, 1), drawn([1.0, 2.0, 3.5], 60, 2)],
}
OF_TWO = [
    *((operation, name, PAIRS[name]) for operation in TWO for name in PAIRS),
    *((next(iter(TWO)), name, columns) for name, columns in WEIGHTS.items()),
    *((operation, name, SHAPES[name]) for operation in [*TWO][2:4] for name in SHAPES),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("operation", "columns"), [pytest.param(o, c, id=f"{o!r} {n}") for o, n, c in OF_TWO])
def test_of_awkward_pairs(operation: Any, columns: list[pa.Array]) -> None:
    assert_right(operation, dict(zip("xy", columns, strict=True)), *TWO[operation])


TIMES = [pa.timestamp("s"), pa.timestamp("ms", "Europe/Berlin"), pa.timestamp("us", "UTC"), pa.timestamp("ns")]
PER_UNIT = {type: 1000**power for power, type in enumerate(TIMES)} | {pa.duration("us"): 10**6, pa.date64(): 86_400_000}


@pytest.mark.parametrize("type", [*PER_UNIT, pa.date32()], ids=str)
def test_time_as_x(type: pa.DataType) -> None:
    places = np.array([10, 11, 13, 20, 21])
    x = pa.array(places * PER_UNIT.get(type, 1)).cast(pa.int32() if type == pa.date32() else pa.int64()).cast(type)
    table = pa.table({"t": np.arange(5), "x": x, "y": places * 0.25 + 3})
    found = ff.events(table, time="t").window(ff.tumbling(5)).aggregate(l=ff.LinearTrend("x", "y"))["l"].to_pylist()
    assert found[0] == pytest.approx({"slope": 0.25, "intercept": 3.0}, rel=1e-12)


def test_the_definitions_are_scipys() -> None:
    chance = np.random.default_rng(3)
    x = chance.lognormal(size=1000)
    y = 2 * x + chance.normal(size=1000)
    table = pa.table({"t": np.arange(1000) % 40, "x": x, "y": y})
    operations = [*ONE, *TWO]
    outputs = {str(place): operation for place, operation in enumerate(operations)}
    row = ff.events(table, time="t").window(ff.tumbling(40)).aggregate(**outputs).to_pylist()[0]
    line = stats.linregress(x, y)
    right = [stats.gmean(x), stats.hmean(x), stats.pmean(x, 2), float(np.prod(x)), float(np.ptp(x)), stats.skew(x)]
    right = [x.sum(), x.mean(), *right]
    right += [stats.kurtosis(x), np.var(x, ddof=1), np.std(x), np.var(x, ddof=2), np.average(x, weights=y)]
    right += [np.cov(x, y)[0, 1], np.cov(x, y, ddof=0)[0, 1], line.rvalue]
    right += [{"slope": line.slope, "intercept": line.intercept}]
    for name, value in zip(outputs, right, strict=True):
        assert row[name] == pytest.approx(value, rel=1e-11), outputs[name]


# --- variances, to the last bit --------------------------------------------------------------------------------------

Maker = Callable[[np.random.Generator, int], np.ndarray]


def floats_of_sizes(low: int, high: int) -> Maker:
    return lambda chance, n: np.ldexp(
        chance.choice([-1.0, 1.0], n) * chance.uniform(1, 2, n), chance.integers(low, high, n)
    )


MAKERS: dict[str, Maker] = {
    "usual": lambda chance, n: chance.normal(50, 10, n),
    "near 1e9, a thousandth apart": lambda chance, n: 1e9 + 1e-3 * chance.integers(0, 9, n),
    "one unit in the last place apart": lambda chance, n: 0.1 + math.ulp(0.1) * chance.integers(0, 3, n),
    "1e16 among ones": lambda chance, n: np.where(chance.random(n) < 0.02, 1e16, chance.normal(1, 1, n)),
    "1e300 among ones": lambda chance, n: np.where(chance.random(n) < 0.05, 1e300, chance.normal(1, 1, n)),
    "1e-200 among zeros": lambda chance, n: np.where(chance.random(n) < 0.5, 1e-200, 0.0),
    "1e-200": lambda chance, n: chance.normal(0, 1e-200, n),
    "the largest": lambda chance, n: chance.choice([1.0, -1.0, 0.9], n) * 1.7976931348623157e308,
    "near 1e300": lambda chance, n: 1e300 + math.ulp(1e300) * chance.integers(0, 4, n),
    "the tiniest": lambda chance, n: 5e-324 * chance.integers(-5, 6, n),
    "all sizes": floats_of_sizes(-1074, 1023),
    "many sizes": floats_of_sizes(-60, 60),
    "about 2^420": floats_of_sizes(415, 425),
    "about 2^-420": floats_of_sizes(-425, -415),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(("size", "every", "parts"), [(12, 1, 1), (60, 20, 5), (300, 100, 3)])
def test_variances_are_correctly_rounded(size: int, every: int, parts: int, name: str) -> None:
    """Frames of one row and of many, in batches of any order."""
    chance = np.random.default_rng(len(name))
    values = MAKERS[name](chance, 300)
    table = pa.table({"t": np.arange(300), "x": values})
    outputs = {"v": ff.Variance("x"), "v0": ff.Variance("x", ddof=0), "s": ff.StdDev("x")}
    query = bind(table.schema, time="t", by=[], window=ff.sliding(size, every), outputs=outputs)
    batches = np.array_split(chance.permutation(300), parts)
    partials = [stages.accumulate(query, table.take(pa.array(rows)), part) for part, rows in enumerate(batches)]
    for row in stages.results(query, pa.concat_tables(partials)).to_pylist():
        own = values[max(row["window"]["start"], 0) : row["window"]["end"]].tolist()
        exact = Fraction(exact_variance(own, 0) or 0)
        assert is_nearest(row["v0"], exact), own
        if len(own) > 1:
            sample = exact * len(own) / (len(own) - 1)
            assert is_nearest(row["v"], sample), own
            assert is_nearest(row["s"], sample, 2), own


@pytest.mark.parametrize("doublings", [3, 25, 26, 27, 33])
def test_more_values_than_half_a_float_can_count(doublings: int) -> None:
    """So many copies of a few values, whose variance is that of one copy but for the divisor."""
    bound = BoundAggregate("x", ff.Variance("x"), [pa.float64()])
    few, other = [0.1, 0.7, 12.3, 1e5 / 3], [7.3, 1e5 / 7]

    def copies(values: list[float]) -> Any:
        frame = ff.Frames(np.zeros(len(values), np.intp), 1, np.arange(len(values)))
        state = bound.accumulate(frame, [pa.array(values)])
        for _ in range(doublings):
            state = bound.combine(state, state)
        return state

    found = bound.finish(bound.combine(copies(few), copies(other)))[0].as_py()
    one, count = exact_variance(few + other, 0), 6 * 2**doublings
    assert isinstance(one, Fraction)
    assert is_nearest(found, one * count / (count - 1))


@pytest.mark.parametrize("value", [1e300, 1e9, 1e-300, 0.0])
def test_an_empty_side_does_no_harm(value: float) -> None:
    """Its centre of 0 may be far from all values, which must not be added up about it."""
    bound = BoundAggregate("x", ff.StdDev("x"), [pa.float64()])
    state = bound.accumulate(ff.Frames(np.array([0, 0]), 1, np.arange(2)), [pa.array([value, value * 1.5])])
    for a, b in itertools.permutations([state, bound.identity]):
        assert bound.finish(bound.combine(a, b)) == bound.finish(state)
    assert bound.finish(bound.combine(bound.identity, bound.identity)).to_pylist() == [None]


# --- products, ranges, bits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 511, 512, 513, 300_000])
def test_many_factors_in_one_frame(rows: int) -> None:
    factors = np.where(np.arange(2 * rows) % 2 == 0, 2.0**-900, 2.0**900)
    factors[-1] = factors[-2] = -3.0
    events = ff.events(pa.table({"t": np.arange(2 * rows) % 2, "x": factors}), time="t")
    apart, whole = (events.window(ff.tumbling(n)).aggregate(p=ff.Product("x"))["p"].to_pylist() for n in (1, 2))
    assert (apart, whole) == ([-0.0, -math.inf] if rows > 1 else [-3.0, -3.0], [9.0])


DAY = dt.date(2024, 2, 28)
NOON = dt.datetime(2024, 3, 30, 12, 0, 0, 5, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
RANGES: list[tuple[pa.DataType, list[Any], pa.DataType]] = [
    (pa.int8(), [-128, 127, 0, 5], pa.int64()),
    (pa.uint32(), [0, 2**32 - 1, 7], pa.int64()),
    (pa.int64(), [-(2**62), 2**62 - 1, 0, 4], pa.int64()),
    (pa.uint64(), [0, 2**64 - 1, 2**63], pa.uint64()),
    (pa.decimal128(5, 2), [Decimal("-999.99"), Decimal("999.99"), Decimal("0.01")], pa.decimal128(6, 2)),
    (pa.decimal128(38, 2), [Decimal("1e30"), Decimal("-0.01"), Decimal("0.01")], pa.decimal128(38, 2)),
    (pa.date32(), [DAY, DAY + 5 * 86400 * SECOND, DAY.replace(year=1900)], pa.duration("us")),
    (pa.date64(), [DAY, DAY + 5 * 86400 * SECOND, DAY.replace(year=1900)], pa.duration("us")),
    (pa.timestamp("us", "UTC"), [NOON, NOON + SECOND / 8, NOON - 10**9 * SECOND], pa.duration("us")),
    (pa.timestamp("s", "UTC"), [NOON, NOON + SECOND, NOON - 10**9 * SECOND], pa.duration("us")),
    (pa.duration("ms"), [SECOND, 5 * SECOND, -SECOND / 4], pa.duration("us")),
]
BITS = {ff.BitAnd("x"): and_, ff.BitOr("x"): or_, ff.BitXor("x"): xor}
FLAGS = {ff.CountIf("x"): sum, ff.BoolAnd("x"): all, ff.BoolOr("x"): any}


def of_bits(type: pa.DataType) -> list[int]:
    """Values of a type of integers."""
    width = type.bit_width - (0 if "u" in str(type) else 1)
    return [0, 1, 6, 7, 2**width - 1, 2**width - 2, 2 ** (width - 1), *((-1, -2, -(2**width)) if width % 2 else ())]


def wide(values: list[Any]) -> Any:
    with localcontext(prec=60):
        return max(values) - min(values)


TYPED = [
    *((ff.Range("x"), type, values, wide, result) for type, values, result in RANGES),
    *(
        (operation, type, of_bits(type), functools.partial(reduce, join), type)
        for operation, join in BITS.items()
        for type in (pa.int8(), pa.uint8(), pa.int64(), pa.uint64())
    ),
    *(
        (operation, pa.bool_(), values, right, pa.int64() if right is sum else pa.bool_())
        for operation, right in FLAGS.items()
        for values in ([True, False], [True] * 9 + [False], [True] + [False] * 9)
    ),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("operation", "type", "values", "right", "result"), TYPED)
def test_of_each_type(operation: Any, type: Any, values: list[Any], right: Any, result: Any) -> None:
    empty = 0 if right is sum else None
    found = lambda rows: right([row[0] for row in rows]) if rows else empty  # noqa: E731
    assert_right(operation, {"x": drawn(values, 60, 2, type)}, found, exactly)
    bound = BoundAggregate("x", operation, [type])
    assert bound.result == result
    assert bound.deducts[0] == (operation in FLAGS or isinstance(operation, ff.BitXor))


@pytest.mark.parametrize("type", [pa.float16(), pa.float32()], ids=str)
def test_narrow_floats_are_subtracted_as_wide_ones(type: pa.DataType) -> None:
    assert one_window(pa.array([1000.0, 2.0**-10]).cast(type), r=ff.Range("x")) == {"r": 1000.0 - 2.0**-10}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([-(2**63), 1]),
        pa.array([Decimal("9" * 38), Decimal("-" + "9" * 38)], pa.decimal128(38, 0)),
        pa.array([-(2**62), 2**62], pa.timestamp("us")),
        pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()),
    ],
    ids=lambda values: str(values.type),
)
def test_ranges_that_are_too_wide(values: pa.Array) -> None:
    with pytest.raises(ff.SumOverflowError, match="the range of 'x' does not fit"):
        one_window(values, r=ff.Range("x"))


def test_what_cancels_is_still_a_window() -> None:
    assert one_window([5, 5], b=ff.BitXor("x")) == {"b": 0}


# --- Ewma ---

HALF_LIFE = 3


def weighted(rows: list[Any]) -> float | None:
    """The definition; weights are exact powers of two only where times are whole half lives apart."""
    known = [(time, float(value)) for time, value in rows if value is not None]
    if not known:
        return None
    if not all(math.isfinite(value) for _, value in known):
        return sum(value for _, value in known if not math.isfinite(value))
    last = known[-1][0]
    weights = [Fraction(0.5 ** ((last - time) / HALF_LIFE)) for time, _ in known]
    return float(sum(w * Fraction(value) for w, (_, value) in zip(weights, known, strict=True)) / sum(weights))


def near(scale: float) -> Callable[[Any, Any], bool]:
    def agree(got: Any, right: Any) -> bool:
        if got is None or right is None or math.isnan(right):
            return got is right or (got is not None and math.isnan(got))
        return got == right or math.isclose(got, right, rel_tol=1e-13, abs_tol=scale)

    return agree


EWMA_STREAMS = {
    "normal": ([0.1, 2.5, -3.75, 8.0], 1e-14),
    "near": ([1e9 + k / 1000 for k in (0, 1, 2, 5)], 1e-6),
    "rare": ([1.0, 2.0, 3.0, 1.0, 2.5, 4.0, math.inf, -math.inf, math.nan], 1e-14),
    "extreme": ([1.7e308, -1.7e308, 1.0, 5e-324], 1e294),
}


@pytest.mark.parametrize("stream", EWMA_STREAMS)
def test_every_way(stream: str) -> None:
    values, scale = EWMA_STREAMS[stream]
    rng = np.random.default_rng(4)
    times = rng.integers(0, 60, 220)
    x = pa.array([None if rng.random() < 0.1 else values[rng.integers(len(values))] for _ in times])
    table = pa.table({"t": times, "key": rng.integers(0, 2, 220), "x": x, "at": times})
    for size, every in WINDOWS:
        right = expected(table, ["at", "x"], size, every, weighted)
        for _, result in every_way(ff.Ewma("x", HALF_LIFE), table, "key", size, every):
            compare(result, right, near(scale))
    ff.check_laws(ff.Ewma("x", HALF_LIFE), pa.table({"x": x}), examples=8)


def test_rows_of_a_landmark(way: str) -> None:
    rng = np.random.default_rng(3)
    t, x = np.cumsum(rng.integers(0, 9, 200)), rng.normal(1e6, 1.0, 200)
    table = pa.table({"t": t, "k": np.arange(200) % 3, "x": pa.array(x, mask=rng.random(200) < 0.3)})
    found = ff.events(table, time="t", by="k").window(ff.landmark()).with_columns(m=ff.Ewma("x", HALF_LIFE))
    rows = table.to_pylist()
    for at, got in enumerate(found["m"].to_pylist()):
        right = weighted([(row["t"], row["x"]) for row in rows[at % 3 : at + 1 : 3]])
        assert got == right or math.isclose(got, right, rel_tol=1e-14)


def test_large_values_that_weigh_nothing_leave_nothing() -> None:
    """1e16 and 1e300 far in the past; and over long gaps weights are no floats any more, but zero."""

    def found(times: list[int], x: list[float], window: Any) -> list[Any]:
        query = ff.events(pa.table({"t": times, "x": x}), time="t").window(window)
        return query.aggregate(x=ff.Ewma("x", 1))["x"].to_pylist()

    times, x = [0, 1, *range(200, 260)], [1e16, -1e300, *[1.0] * 60]
    weights = [Fraction(1, 2 ** (259 - time)) for time in times]
    right = sum(w * Fraction(value) for w, value in zip(weights, x, strict=True)) / sum(weights)
    assert math.isclose(found(times, x, ff.tumbling(300))[0], float(right), rel_tol=1e-14)
    assert found(times, x, ff.sliding(100, every=10))[-10:] == [1.0] * 10
    assert found([0, 10**15, 10**15 + 1], [5.0, 3.0, 0.0], ff.tumbling(2 * 10**15)) == [1.0]


def test_half_lives() -> None:
    minute = datetime.timedelta(minutes=1)
    noon = datetime.datetime(2024, 1, 1, 12)
    table = pa.table({"t": [noon, noon + minute], "x": pa.array([3, 0])})
    query = ff.events(table, time="t").window(ff.tumbling("1 hour"))
    for half_life in ("1 minute", "60 seconds", minute):
        assert query.aggregate(x=ff.Ewma("x", half_life))["x"].to_pylist() == [1.0]


def test_half_lives_of_a_time_column() -> None:
    """A date counts in days."""
    bound = ff.Ewma("x", "2 days").at_times(TimeColumn("t", pa.date32()).duration)
    assert bound.ticks == 2
