"""Operations that take any type, or any type of numbers, against sorting and counting each window's own values."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles import brute
from ..oracles.brute import ANY, OF_VALUES, Row, assert_right, close, column, expected, known, ordered, table_of
from ..oracles.ways import one_window
from ..support.plans import BoundAggregate

SECOND = dt.timedelta(seconds=1)
NUMBERS = ["int8", "uint64", "float64", "float32", "short decimal", "long decimal"]


def best(rows: list[Row], place: int, greatest: bool) -> list[Row]:
    """The rows that are not null at a place, best first; of equal ones the earlier first, as sorting is stable."""
    return sorted(
        (row for row in rows if row[place] is not None), key=lambda row: ordered(row[place]), reverse=greatest
    )


def linear(values: list[Any], share: float) -> float:
    """By the definition, with the place as a fraction; NaN is the greatest."""
    values = sorted(values, key=ordered)
    place = Fraction(str(share)) * (len(values) - 1)
    low, part = math.floor(place), float(place - math.floor(place))
    a, b = float(values[low]), float(values[math.ceil(place)])
    return a if a == b or part == 0 else a * (1 - part) + b * part


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ANY)
@pytest.mark.parametrize("operation", OF_VALUES, ids=repr)
def test_every_type(operation: Any, kind: str) -> None:
    assert_right(operation, table_of(x=column(kind)), lambda rows: OF_VALUES[operation](known(rows)), windows=[(5, 2)])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "operation", [each for each in OF_VALUES if not isinstance(each, (ff.First, ff.Last))], ids=repr
)
def test_every_window(operation: Any) -> None:
    table = table_of(x=pa.array(np.random.default_rng(0).integers(0, 40, 220)))
    assert_right(operation, table, lambda rows: OF_VALUES[operation](known(rows)), windows=[(1, 1), (24, 3), (3, 8)])


OTHER_TYPES = [
    ("timestamp", pa.timestamp("ms", "UTC")),
    ("timestamp", pa.timestamp("s")),
    ("date", pa.date64()),
    ("time", pa.time32("s")),
    ("string", pa.large_string()),
    ("string", pa.string_view()),
    ("string", pa.dictionary(pa.int8(), pa.string())),
    ("long decimal", pa.decimal256(60, 3)),
    ("float32", pa.float16()),
    ("int8", pa.int16()),
    ("boolean", pa.bool_()),
    ("binary", pa.large_binary()),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "type"), OTHER_TYPES, ids=str)
def test_extremes_of_other_types(kind: str, type: pa.DataType) -> None:
    """Of single values, too: infinities and the limits of integers are values."""
    table = table_of(x=column(kind).cast(type, safe=False))
    for operation in (ff.Min("x"), ff.Max("x")):
        right = OF_VALUES[next(each for each in OF_VALUES if isinstance(each, operation.__class__))]
        assert_right(operation, table, lambda rows, right=right: right(known(rows)), windows=[(1, 1), (5, 2)])
        if type not in (pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
            assert BoundAggregate("x", operation, [type]).result == type


@pytest.mark.parametrize("type", [pa.timestamp("ns"), pa.timestamp("ns", "Europe/Berlin"), pa.duration("ns")], ids=str)
def test_nanoseconds_are_kept(type: pa.DataType) -> None:
    table = pa.table({"t": [0, 0, 0], "x": pa.array([1003, 1001, 1002], pa.int64()).cast(type)})
    result = ff.events(table, time="t").window(ff.tumbling(1)).aggregate(low=ff.Min("x"), high=ff.Max("x"))
    assert [result[name].combine_chunks().view(pa.int64())[0].as_py() for name in ("low", "high")] == [1001, 1003]


# --- several columns -------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ANY)
def test_values_at_extremes_of_every_type(kind: str) -> None:
    """The value may be null; an event whose `by` is null is left out."""
    table = table_of(who=column("string", seed=1), x=column(kind), small=column("int8", seed=3))
    for of, by, greatest in (("who", "x", False), ("who", "x", True), ("x", "small", True)):
        right = lambda rows, greatest=greatest: next((row[0] for row in best(rows, 1, greatest)), None)  # noqa: E731
        assert_right((ff.ArgMax if greatest else ff.ArgMin)(of, by), table, right, windows=[(5, 2)])


@pytest.mark.parametrize("greatest", [True, False])
def test_companions(greatest: bool) -> None:
    """They come with the value, null where they are; ties are broken by the earlier event."""
    table = table_of(x=column("float64"), a=column("string", seed=1), b=column("timestamp", seed=2))

    def right(rows: list[Row]) -> Any:
        return [dict(zip(("x", "a", "b"), row, strict=True)) for row in best(rows, 0, greatest)[:4]]

    assert_right((ff.TopN if greatest else ff.BottomN)("x", 4, "a", "b"), table, right)


@pytest.mark.parametrize("kind", ANY)
@pytest.mark.parametrize("first", [True, False])
def test_ties_are_broken_by_a_column_of_every_type(kind: str, first: bool) -> None:
    """Among events of one time: by the column, then by input order; also where all events are of one time."""
    table = table_of(x=column("string", seed=1), tie=column(kind), id=pa.array(range(220)))
    operation = (ff.First if first else ff.Last)("x", ties="tie")

    def right(rows: list[Row]) -> Any:
        known = [(*row[:-3], ordered(row[-3]), *row[-2:]) for row in rows if None not in (row[-3], row[-1])]
        return (min if first else max)(known)[-1] if known else None

    rows = expected(table.append_column("time", table["t"]), ["time", "tie", "id", "x"], 5, 2, right)
    found = ff.events(table, time="t", by="key").window(ff.sliding(5, every=2)).aggregate(x=operation)
    assert {(row["key"], row["window"]["start"]): row["x"] for row in found.to_pylist()} == rows
    if kind in ("float64", "string"):
        at_once = table.set_column(0, "t", pa.array([7] * len(table)))
        order = lambda rows: right([(tie, at, x) for at, (x, tie) in enumerate(rows)])  # noqa: E731
        assert_right(operation, at_once, order, windows=[(3, 1)])


@pytest.mark.parametrize(
    "kinds", [("string", "binary"), ("float64", "long decimal"), ("int8", "string"), ("date", "time")]
)
def test_pairs_of_values(kinds: tuple[str, str]) -> None:
    """Pairs count, whatever their bytes put together would be: ("a", "ab") is not ("aa", "b")."""
    table = table_of(x=column(kinds[0], seed=1), y=column(kinds[1], seed=2))

    def right(rows: list[Row]) -> int:
        whole = [row for row in rows if None not in row]
        return len({tuple("NaN" if value != value else value for value in row) for row in whole})

    assert_right(ff.CountDistinct("x", "y"), table, right, windows=[(5, 2), (24, 3)])


# --- numbers, times and texts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["int8", "float32", "short decimal", "long decimal"])
def test_distinct_sum(kind: str) -> None:
    def right(rows: list[Row]) -> Any:
        values = list(brute.counted(known(rows)))
        if values and all(isinstance(value, float) and math.isfinite(value) for value in values):
            return float(sum(map(Fraction, values)))
        with localcontext(prec=60):
            return sum(values, type(values[0])(0)) if values else None

    assert_right(ff.DistinctSum("x"), table_of(x=column(kind)), right, windows=[(5, 2), (24, 3)])


def test_many_values_and_many_frames() -> None:
    """More than fit an array of counts: the same by sorting."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2**62, 500)[rng.integers(0, 500, 3000)]
    table = pa.table({"t": rng.integers(0, 50, 3000), "key": np.zeros(3000, int), "x": values})
    assert_right(ff.CountDistinct("x"), table, lambda rows: len(brute.counted(known(rows))), windows=[(5, 2)])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [*NUMBERS, "normal"])
def test_quantiles(kind: str) -> None:
    normal = pa.array(np.random.default_rng(3).normal(size=220))
    table = table_of(x=normal if kind == "normal" else column(kind))
    right = lambda rows: [linear(known(rows), q) for q in brute.SHARES] if known(rows) else None  # noqa: E731
    assert_right(ff.Quantile("x", brute.SHARES), table, right, close, windows=[(1, 1), (24, 3)])
    middle = lambda rows: linear(known(rows), 0.5) if known(rows) else None  # noqa: E731
    assert_right(ff.Median("x"), table, middle, close, windows=[(5, 2)])


def test_the_share_is_what_is_written() -> None:
    """0.07 * 100 is 7.000000000000001 in floats, one rank too far."""
    assert one_window(range(100), x=ff.Quantile("x", 0.07, method="discrete")) == {"x": 6}


BINS = [
    *itertools.product(
        ["int8", "float64", "float32", "short decimal"], [[-3, 0, 2, 127], [-2.5, 1.5], [0.5, 0.75, math.inf]]
    ),
    ("date", [dt.date(1905, 1, 1), brute.DAY, brute.DAY + dt.timedelta(2)]),
    ("timestamp", [brute.NOON.replace(year=1910, month=3), brute.NOON, brute.NOON + SECOND]),
    ("timestamp", [brute.NOON.astimezone(dt.timezone(dt.timedelta(hours=5))), brute.NOON.replace(year=2030)]),
    ("duration", [dt.timedelta(hours=-1), dt.timedelta(0), dt.timedelta(1)]),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "edges"), BINS, ids=str)
def test_bins(kind: str, edges: list[Any]) -> None:
    def right(rows: list[Row]) -> list[int]:
        counts = [sum(low <= value < high for value in known(rows)) for low, high in itertools.pairwise(edges)]
        counts[-1] += known(rows).count(edges[-1])
        return counts

    assert_right(ff.Histogram("x", bins=edges), table_of(x=column(kind)), right, windows=[(5, 2), (24, 3)])


def test_bins_of_numpy_times_and_large_integers() -> None:
    times = np.array(["2024-01-01", "2024-01-03", "2024-01-09"], "datetime64[s]")
    for x in (pa.array(times.astype("datetime64[ns]")), pa.array(times.astype("datetime64[D]"))):
        edges = times if x.type == pa.timestamp("ns") else times.astype("datetime64[D]")
        assert one_window(x, n=ff.Histogram("x", bins=edges)) == {"n": [1, 2]}
    for type, least in [(pa.int64(), 2**53), (pa.uint64(), 2**53), (pa.uint64(), 2**64 - 3)]:
        bins = [least, least + 1, least + 2]
        assert one_window(pa.array(bins[:2], type), n=ff.Histogram("x", bins=bins)) == {"n": [1, 1]}


def test_concat() -> None:
    framed = ff.Concat("x", "; ", prefix="<", suffix=">")
    for operation, text in ((framed, lambda values: f"<{'; '.join(values)}>"), (ff.Concat("x"), "".join)):
        right = lambda rows, text=text: text(known(rows)) if known(rows) else None  # noqa: E731
        assert_right(operation, table_of(x=column("string")), right, windows=[(5, 2), (24, 3)])


def test_lists_of_lists() -> None:
    table = table_of(x=pa.array([None if each is None else [each, None] for each in column("int8").to_pylist()]))
    assert_right(ff.CollectList("x"), table, known, windows=[(5, 2)])


@pytest.mark.parametrize(
    ("operation", "types", "result"),
    [
        (ff.ArgMin("y", "x"), [pa.string(), pa.float32()], pa.string()),
        (ff.TopN("x", 1), [pa.float32()], pa.list_(pa.float32())),
        (ff.TopN("x", 1, "y"), [pa.float32(), pa.string()], pa.list_(pa.struct({"x": pa.float32(), "y": pa.string()}))),
        (ff.DistinctSum("x"), [pa.decimal128(4, 2)], pa.decimal128(14, 2)),
    ],
    ids=repr,
)
def test_types_of_results(operation: Any, types: list[pa.DataType], result: pa.DataType) -> None:
    assert BoundAggregate("x", operation, types).result == result


def test_columns_of_nulls_and_numbers_beyond_their_type() -> None:
    table = pa.table({"t": [0, 1], "x": pa.array([None, None], pa.string()), "y": ["a", "b"]})
    query = ff.events(table, time="t").window(ff.tumbling(2))
    row = query.aggregate(a=ff.ArgMax("y", "x"), b=ff.TopN("x", 2, "y"), c=ff.ArgMin("x", "y")).to_pylist()[0]
    assert (row["a"], row["b"], row["c"]) == (None, [], None)
    nothing = {"q": ff.Quantile("x", [0.5]), "m": ff.Median("x"), "d": ff.Quantile("x", 0.5, method="discrete")}
    assert one_window(pa.array([None], pa.int64()), **nothing) == dict.fromkeys(nothing)
    with pytest.raises(ff.SumOverflowError):
        one_window([2**63 - 1, 2**63 - 1, 1], x=ff.DistinctSum("x"))
    assert one_window(pa.array([Decimal("1.5")] * 3, pa.decimal128(4, 2)), x=ff.DistinctSum("x")) == {
        "x": Decimal("1.50")
    }
