"""Random windows of awkward columns by every way of getting to a result, against an oracle on each window's rows."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa

import framefold as ff

from ..support import stages
from ..support.inner import place_of
from ..support.plans import Operation

Row = tuple[Any, ...]
Right = Callable[[list[Row]], Any]
Agree = Callable[[Any, Any, list[Row]], bool]
WINDOWS = [(5, 2), (24, 3), (3, 8)]
BATCHES = (1, 3, 17)

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
        rows = table.select(["key", "t", *operation.columns]).to_pylist()
        expected: dict[tuple[int, int], list[Row]] = {}
        for row in rows:
            values = tuple(row[name] for name in operation.columns)
            for start in range((row["t"] - size) // every * every + every, row["t"] + 1, every):
                own = expected.setdefault((row["key"], start), [])
                if None not in values:
                    own.append(values)
        window = ff.sliding(size, every=every, gaps="allow")
        windowed = ff.events(table, time="t", by="key").window(window)
        query = windowed._query({"x": operation})[1]
        results = {"engine": windowed.aggregate(x=operation)}
        for count in BATCHES:
            results[f"{count} batches"] = stages.results(query, stages.in_batches(query, table, count))
        for deducts in {False, query.outputs["x"].deducts[0]}:
            with patch.object(*place_of("deducts"), (deducts, "a test says so")):
                results["deduct" if deducts else "two-stacks"] = stages.results(
                    query, stages.accumulate(query, table, 0)
                )
        known = {which: right(own) for which, own in expected.items()}
        for name, result in results.items():
            found = {(row["key"], row["window"]["start"]): row["x"] for row in result.to_pylist()}
            assert found.keys() == expected.keys(), name
            for which, got in found.items():
                want = known[which]
                said = f"{operation!r} by {name}, window ({size}, {every}) {which}: {got!r}, not {want!r}"
                assert agree(got, want, expected[which]), f"{said} of {expected[which]}"
    if laws:
        ff.check_laws(operation, table_of(columns, 0), examples=10)
