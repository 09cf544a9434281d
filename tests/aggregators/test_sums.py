"""Count, Sum and Average against fractions and the decimal module."""

from __future__ import annotations

import decimal
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import framefold as ff

DIGITS = decimal.Context(prec=120)
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


def whole(values: list[Any], type: pa.DataType, operation: Any) -> Any:
    """The operation over one window with all values; it comes with its type."""
    table = pa.table({"t": np.arange(len(values)), "x": pa.array(values, type)})
    result = ff.events(table, time="t").window(ff.tumbling(1 << 40)).aggregate(y=operation)["y"]
    assert len(result) == 1
    return result[0].as_py(), result.type


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=8))
def test_sums_of_integers_are_exact_or_refused(values: list[int | None]) -> None:
    known = [value for value in values if value is not None]
    if not known:
        assert whole(values, pa.int64(), ff.Sum("x")) == (None, pa.int64())
    elif -(2**63) <= sum(known) < 2**63:
        assert whole(values, pa.int64(), ff.Sum("x")) == (sum(known), pa.int64())
    else:
        with pytest.raises(ff.SumOverflowError, match="'x' does not fit int64 in 1 of 1 windows"):
            whole(values, pa.int64(), ff.Sum("x"))


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_integers_add_up_in_64_bits(type: pa.DataType) -> None:
    """All but uint64 in int64; means are floats, of sums that do not wrap."""
    low, high = int(np.iinfo(str(type)).min), int(np.iinfo(str(type)).max)
    own = pa.uint64() if type == pa.uint64() else pa.int64()
    for value in (low, high):
        assert whole([value] * 3, type, ff.Average("x")) == (float(value), pa.float64())
        if type.bit_width < 64:
            assert whole([value] * 3, type, ff.Sum("x")) == (3 * value, own)
    assert whole([high - 7, 7], type, ff.Sum("x")) == (high, own)
    if type.bit_width == 64:
        with pytest.raises(ff.SumOverflowError, match=str(type)):
            whole([high, 1], type, ff.Sum("x"))


def test_an_overflow_is_of_a_window_not_of_what_passed_before() -> None:
    """Two of them are too much for int64, one is not; running sums may go beyond."""
    events = pa.table({"t": range(6), "x": [2**62] * 6})
    sums = ff.events(events, time="t").window(ff.sliding(1, 1)).aggregate(s=ff.Sum("x"))["s"].to_pylist()
    assert sums == [2**62] * 6
    with pytest.raises(ff.SumOverflowError, match="5 of 7 windows"):
        ff.events(events, time="t").window(ff.sliding(2, 1)).aggregate(s=ff.Sum("x"))


@given(
    st.lists(st.one_of(st.none(), st.integers(-(10**12), 10**12)), min_size=1, max_size=8),
    st.sampled_from([(13, 0), (13, 5), (20, 2), (38, 20)]),
)
def test_decimals(unscaled: list[int | None], digits: tuple[int, int]) -> None:
    precision, scale = digits
    values = [None if value is None else Decimal(value).scaleb(-scale, DIGITS) for value in unscaled]
    total, total_type = whole(values, pa.decimal128(precision, scale), ff.Sum("x"))
    mean, mean_type = whole(values, pa.decimal128(precision, scale), ff.Average("x"))
    assert total_type == pa.decimal128(min(38, precision + 10), scale)
    assert mean_type == pa.decimal128(min(38, precision + 4), scale + 4)
    known = [value for value in values if value is not None]
    if not known:
        assert (total, mean) == (None, None)
        return
    assert total == sum(known)
    exact = DIGITS.divide(DIGITS.create_decimal(sum(known)), Decimal(len(known)))
    step = Decimal(1).scaleb(-scale - 4)
    assert mean == exact.quantize(step, rounding=decimal.ROUND_HALF_UP, context=DIGITS)


@pytest.mark.parametrize("width", [width for width in (32, 64, 128, 256) if hasattr(pa, f"decimal{width}")])
def test_decimals_of_every_width(width: int) -> None:
    """The numbers are the same, however many bits Arrow keeps them in."""
    type = getattr(pa, f"decimal{width}")(9, 2)
    values = [Decimal("1.25"), Decimal("-3.50"), None, Decimal("2.00")]
    assert whole(values, type, ff.Sum("x"))[0] == Decimal("-0.25")
    assert whole(values, type, ff.Average("x"))[0] == Decimal("-0.083333")
    assert whole(values, type, ff.Min("x"))[0] == Decimal("-3.50")
    assert whole(values, type, ff.Last("x"))[0] == Decimal("2.00")


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_and_means_of_38_digits(sign: int) -> None:
    most = Decimal(sign * (10**38 - 1))
    assert whole([most], pa.decimal128(38, 0), ff.Sum("x"))[0] == most
    with pytest.raises(ff.SumOverflowError, match="decimal128"):
        whole([most, Decimal(sign)], pa.decimal128(38, 0), ff.Sum("x"))
    nearly = Decimal(sign * (10**34 - 1))
    assert whole([nearly, nearly], pa.decimal128(38, 0), ff.Average("x"))[0] == nearly


@pytest.mark.parametrize("value", [10**34, 9 * 10**37, -(10**38) + 1])
def test_a_mean_that_does_not_fit_is_refused(value: int) -> None:
    """The mean has 4 digits more after the point, for which 38 are too few: never a wrapped number."""
    with pytest.raises(ff.SumOverflowError, match="'x'"):
        whole([Decimal(value)], pa.decimal128(38, 0), ff.Average("x"))


def test_special_floats() -> None:
    for values, right in (([1e308, 1e308, -1e308], 1e308), ([5e-324, 5e-324], 1e-323), ([0.1] * 10, 1.0)):
        assert whole(values, pa.float64(), ff.Sum("x"))[0] == right


def test_means_of_huge_and_of_half_floats() -> None:
    assert whole([1.7e308] * 4, pa.float64(), ff.Average("x"))[0] == 1.7e308
    assert whole([np.float16(1), np.float16(2)], pa.float16(), ff.Average("x")) == (1.5, pa.float64())


def test_counts() -> None:
    assert whole([1, None, 3], pa.int64(), ff.Count()) == (3, pa.int64())
    for values, type, count in (([1, None, 3], pa.int64(), 2), ([None] * 2, pa.string(), 0), ([None], pa.null(), 0)):
        assert whole(values, type, ff.Count("x"))[0] == count


def test_the_sum_of_no_values() -> None:
    for type in (pa.int64(), pa.float64(), pa.decimal128(9, 2)):
        assert whole([None], type, ff.Sum("x"))[0] is None
        assert whole([None], type, ff.Sum("x", empty=0))[0] == 0
        assert whole([None], type, ff.Average("x"))[0] is None
    assert whole([None], pa.float64(), ff.Sum("x", empty=-1.5))[0] == -1.5
