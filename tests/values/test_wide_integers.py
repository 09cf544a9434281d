"""Results of 64-bit integers and of decimals are rounded once, however many digits they have."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.ways import one_window

TYPES = [pa.int64(), pa.uint64(), pa.int32(), pa.decimal128(12, 3), pa.decimal128(18, 0), pa.decimal128(38, 5)]
SHARES = [0, 0.25, 0.5, Fraction(1, 3), 0.99, 0.123456789, 1]


def quantile(values: list[Any], share: Any) -> float:
    """By definition, in fractions, rounded at the end."""
    ordered = sorted(map(Fraction, values))
    place = Fraction(str(share)) if isinstance(share, float) else Fraction(share)
    whole_rows, rest = divmod(place.limit_denominator(10**9) * (len(ordered) - 1), 1)
    low = ordered[int(whole_rows)]
    found = low + (ordered[min(int(whole_rows) + 1, len(ordered) - 1)] - low) * rest
    return found.numerator / found.denominator  # Python divides integers with one rounding


def test_two_neighbours() -> None:
    values = [2**53 + 1, 2**53 + 2]
    wanted: dict[str, tuple[Any, Any]] = {
        "median": (ff.Median("x"), float(Fraction(sum(values), 2))),
        "quarter": (ff.Quantile("x", [0, 0.25, 1]), [float(2**53), 2.0**53 + 2, 2.0**53 + 2]),
        "taken": (ff.Quantile("x", 0.0, method="discrete"), 2**53 + 1),
        "mean": (ff.Average("x"), 9007199254740994.0),
        "weighted": (ff.WeightedAverage("x", "x"), float(Fraction(sum(x * x for x in values), sum(values)))),
        "mode": (ff.Mode("x"), 2**53 + 1),
        "distinct": (ff.DistinctSum("x"), 2**54 + 3),
        "range": (ff.Range("x"), 1),
        "top": (ff.TopN("x", 2), [2**53 + 2, 2**53 + 1]),
    }
    found = one_window(pa.array(values), **{name: operation for name, (operation, _) in wanted.items()})
    assert {name: found[name] for name in wanted} == {name: right for name, (_, right) in wanted.items()}


def some(type: pa.DataType, of: np.random.Generator) -> list[Any]:
    """Values of all sizes that a type can hold."""
    if pa.types.is_decimal(type):
        most, scale = 10**type.precision, type.scale
    else:
        most, scale = {pa.int64(): 2**63, pa.uint64(): 2**64, pa.int32(): 2**31}[type], 0
    values = []
    for _ in range(int(of.integers(1, 14))):
        size = int(of.integers(1, most.bit_length()))
        value = int.from_bytes(of.bytes(17), "little") % min(1 << size, most)
        value = -value if type != pa.uint64() and of.random() < 0.5 else value
        values.append(Decimal(value).scaleb(-scale) if pa.types.is_decimal(type) else value)
    return values


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_any_values(type: pa.DataType) -> None:
    of = np.random.default_rng(4)
    for _ in range(25):
        values = some(type, of)
        means = {} if pa.types.is_decimal(type) else {"mean": ff.Average("x")}
        found = one_window(pa.array(values, type), q=ff.Quantile("x", SHARES), median=ff.Median("x"), **means)
        assert found["q"] == [quantile(values, share) for share in SHARES]
        assert found["median"] == quantile(values, 0.5)
        if means:
            mean = Fraction(sum(values), len(values))
            assert found["mean"] == mean.numerator / mean.denominator


def test_weighted_means_of_any_integers() -> None:
    of = np.random.default_rng(5)
    for _ in range(40):
        rows = int(of.integers(1, 9))
        x, w = of.integers(-(2**62), 2**62, rows), of.integers(1, 2**62, rows)
        table = pa.table({"t": [0] * rows, "x": x, "w": w})
        query = ff.events(table, time="t").window(ff.tumbling(1)).aggregate(m=ff.WeightedAverage("x", "w"))
        exact = Fraction(sum(a * b for a, b in zip(x.tolist(), w.tolist(), strict=True)), sum(w.tolist()))
        assert abs(Fraction(query["m"][0].as_py()) - exact) <= abs(exact) * Fraction(2) ** -51
