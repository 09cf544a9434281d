"""Min and Max of every type that has an order, against plain Python over each window."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

WIDTH = 3
UTC = datetime.UTC
moments = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 1, 1))
TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "float64": (pa.float64(), st.one_of(st.floats(), st.sampled_from([math.nan, math.inf, -math.inf, 0.0]))),
    "float32": (pa.float32(), st.floats(width=32)),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1, 2**53, 0])),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "bool": (pa.bool_(), st.booleans()),
    "timestamp": (pa.timestamp("us"), moments),
    "zoned": (pa.timestamp("ms", "UTC"), moments.map(lambda m: m.replace(microsecond=0, tzinfo=UTC))),
    "date32": (pa.date32(), st.dates()),
    "date64": (pa.date64(), st.dates()),
    "time32": (pa.time32("s"), st.times().map(lambda time: time.replace(microsecond=0))),
    "time64": (pa.time64("us"), st.times()),
    "duration": (pa.duration("us"), st.timedeltas(datetime.timedelta(-9999), datetime.timedelta(9999))),
    "string": (pa.string(), st.text(st.sampled_from("aAz\0é\ue000\U0001f600"), max_size=3)),
    "large_string": (pa.large_string(), st.text(max_size=2)),
    "binary": (pa.binary(), st.binary(max_size=2)),
    "fixed": (pa.binary(2), st.binary(min_size=2, max_size=2)),
    "decimal": (pa.decimal128(38, 5), st.decimals(-(10**22), 10**22, places=5)),
    "decimal256": (pa.decimal256(60, 1), st.decimals(-(10**20), 10**20, places=1)),
}


def slid(column: pa.Array, **outputs: Any) -> pa.Table:
    table = pa.table({"t": np.arange(len(column)), "x": column})
    return ff.events(table, time="t").window(ff.sliding(WIDTH, 1)).aggregate(**outputs)


def above(a: Any, b: Any) -> bool:
    """Whether a is above b; NaN is above every other value."""
    if isinstance(a, float) and math.isnan(a):
        return not math.isnan(b)
    if isinstance(a, str):  # by bytes, as Spark orders them
        return a.encode() > b.encode()
    return bool(a > b)


def equal(a: Any, b: Any) -> bool:
    return bool(a == b or (a != a and b != b))


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_in_windows(kind: str) -> None:
    type, strategy = TYPES[kind]

    @given(st.lists(st.one_of(strategy, strategy, st.none()), min_size=1, max_size=10))
    def check(values: list[Any]) -> None:
        result = slid(pa.array(values, type), low=ff.Min("x"), high=ff.Max("x"))
        assert result.schema.field("low").type == result.schema.field("high").type == type
        low, high = result["low"].to_pylist(), result["high"].to_pylist()
        for place in range(len(values)):
            own = [value for value in values[max(0, place - WIDTH + 1) : place + 1] if value is not None]
            if not own:
                assert low[place] is high[place] is None
                continue
            assert equal(low[place], reduce(lambda a, b: b if above(a, b) else a, own))
            assert equal(high[place], reduce(lambda a, b: b if above(b, a) else a, own))

    check()


def test_nanoseconds_are_kept() -> None:
    """To the last digit, in timestamps and durations; times of day with digits below a microsecond are refused."""
    with pytest.raises(ff.ColumnError, match=r"'x', which is time64\[ns\]; expected time64\[us\]"):
        slid(pa.array([1], pa.time64("ns")), low=ff.Min("x"))
    for type in (pa.timestamp("ns"), pa.timestamp("ns", "Europe/Berlin"), pa.duration("ns")):
        result = slid(pa.array([1003, 1001, 1002], pa.int64()).cast(type), low=ff.Min("x"), high=ff.Max("x"))
        found = [result[name].combine_chunks().view(pa.int64()).to_pylist()[2] for name in ("low", "high")]
        assert found == [1001, 1003], type


def test_half_floats() -> None:
    column = pa.array(np.array([1.5, np.nan, -2.5], np.float16))
    result = slid(column, low=ff.Min("x"), high=ff.Max("x"))
    assert result["low"].to_pylist()[2] == -2.5
    assert math.isnan(result["high"].to_pylist()[2])


def test_views_and_dictionaries() -> None:
    for column in (pa.array(["b", "a", None], pa.string_view()), pa.array(["b", "a", None]).dictionary_encode()):
        assert slid(column, low=ff.Min("x"))["low"].to_pylist()[2] == "a"


def test_infinities_are_values() -> None:
    result = slid(pa.array([math.inf, math.inf]), low=ff.Min("x"))
    assert result["low"].to_pylist()[:2] == [math.inf, math.inf]
    result = slid(pa.array([-math.inf, None]), high=ff.Max("x"))
    assert result["high"].to_pylist()[:2] == [-math.inf, -math.inf]


def test_limits_of_integers_are_values() -> None:
    """They stand for nothing at all where nothing was seen."""
    assert slid(pa.array([2**63 - 1, None, None, None]), low=ff.Min("x"))["low"].to_pylist()[:4] == [2**63 - 1] * 3 + [
        None
    ]
    assert slid(pa.array([False, None]), high=ff.Max("x"))["high"].to_pylist()[:2] == [False, False]


@pytest.mark.parametrize(
    "type", [pa.list_(pa.int64()), pa.struct([("a", pa.int8())]), pa.month_day_nano_interval()], ids=str
)
@pytest.mark.parametrize("operation", [ff.Min, ff.Max])
def test_types_without_an_order(operation: Any, type: pa.DataType) -> None:
    with pytest.raises(ff.ColumnError, match=r"order.*'x'"):
        slid(pa.array([None], type), y=operation("x"))


def test_decimals_of_one_value_and_many_digits() -> None:
    values = [Decimal("1.10"), Decimal("1.1"), Decimal("1.09")]
    assert slid(pa.array(values, pa.decimal128(5, 2)), low=ff.Min("x"))["low"].to_pylist()[2] == Decimal("1.09")
