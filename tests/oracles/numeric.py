"""Random windows of awkward columns by every way of getting to a result, against an oracle on each window's rows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import framefold as ff

from ..support.plans import Operation
from .ways import by_window, every_way, rows_of_windows

Row = tuple[Any, ...]
Right = Callable[[list[Row]], Any]
Agree = Callable[[Any, Any, list[Row]], bool]
WINDOWS = [(5, 2), (24, 3), (3, 8)]

NEAR = [1e9 + k / 1000 for k in (0, 1, 2, 5, 9, 9, 3)]
HUGE_AMONG_ONES = [1.0, 1.0, 1e16, 1.0, -1.0, 1.0, 2.0]
EXTREME = [1e300, 1.0, -1e300, 1e-300, 3e-300, 1.7e308, -1.7e308, 5e-324]
CANCELLING = [0.1, -0.1, 1e8, -1e8, 3.3, -3.3, 1e-9]
RARE = [math.nan, math.inf, -math.inf, 1.0, 2.5, 3.0, -4.0, 1.0, 7.0, 8.0, 0.0, -0.0]
STREAMS = {"near": NEAR, "huge": HUGE_AMONG_ONES, "extreme": EXTREME, "cancelling": CANCELLING, "rare": RARE}


def close(tolerance: float = 1e-13) -> Agree:
    """Equal up to a relative error; None and NaN only where they are right."""

    def agree(got: Any, right: Any, rows: list[Row]) -> bool:
        if got is None or right is None or isinstance(got, int):
            return bool(got == right)
        if math.isnan(right):
            return math.isnan(got)
        return got == right or math.isclose(got, right, rel_tol=tolerance, abs_tol=1e-300)

    return agree


EQUAL = close()


def exactly(got: Any, right: Any, rows: list[Row]) -> bool:
    """Equal, and of one type."""
    return type(got) is type(right) and (got == right or (got != got and right != right))


def root(square: Fraction) -> Fraction:
    """The square root of a fraction, to 60 digits."""
    with localcontext(prec=60):
        return Fraction((Decimal(square.numerator) / Decimal(square.denominator)).sqrt())


def rounded(value: Fraction) -> float:
    """The nearest float; inf beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def table_of(columns: Mapping[str, pa.Array], seed: int) -> pa.Table:
    """Events of two keys at random times, some of them alike."""
    times = np.random.default_rng(seed).integers(0, 60, len(next(iter(columns.values()))))
    return pa.table({"t": times, "key": times * 7 % 11 % 2, **columns})


def drawn(values: Sequence[Any], length: int, seed: int, type: pa.DataType | None = None) -> pa.Array:
    """A column of values drawn with repetition, one in eight null."""
    chosen = random.Random(seed).choices(values, k=length)
    gaps = np.random.default_rng(seed).random(length) < 0.125
    return pa.array([None if gap else value for gap, value in zip(gaps, chosen, strict=True)], type or pa.float64())


def assert_right(
    operation: Operation, columns: Mapping[str, pa.Array], right: Right, agree: Agree = EQUAL, laws: bool = True
) -> None:
    """Check an operation on these columns: its laws, and windows on the local engine, by both ways and in batches."""
    for seed, (size, every) in enumerate(WINDOWS):
        table = table_of(columns, seed)
        of_windows = rows_of_windows(table, "key", operation.columns, size, every)
        known = {window: [row for row in rows if None not in row] for window, rows in of_windows.items()}
        right_ones = {window: right(rows) for window, rows in known.items()}
        for name, result in every_way(operation, table, "key", size, every):
            found = by_window(result, "key")
            assert found.keys() == known.keys(), name
            for window, got in found.items():
                want = right_ones[window]
                said = f"{operation!r} by {name}, window ({size}, {every}) {window}: {got!r}, not {want!r}"
                assert agree(got, want, known[window]), f"{said} of {known[window]}"
    if laws:
        ff.check_laws(operation, table_of(columns, 0), examples=10)
