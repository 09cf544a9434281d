"""Operations over random columns, each with what it has to give for the rows of a window, by definition."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import framefold as ff

from ..support.toys import Longest
from . import numeric
from .brute import discrete, mode
from .by_definition import (
    UNIT,
    Verdict,
    WindowOfKey,
    check_geometric_mean,
    check_variance,
    exact_sum,
    near,
    of_values,
    order,
    rounded,
    same,
    sizes,
)

Values = dict[str, Any]
"""The columns of one row."""

Right = Callable[[Any, Sequence[Values]], Verdict]
"""What is wrong with a result, given the rows of its window in their order; None: nothing."""


# --- columns --------------------------------------------------------------------------------------------------------

NASTY = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e300, 1e16, -1e16, 5e-324, 0.0, 0.1, 1.0, -1.0]
OUTLIERS = [1e200, -1e200, 1e308, 9.97e36, -1e20, 1e16]
TEXTS = ["", "a", "aa", "b", "é", "\uffff", "😀", "a" * 20]
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()]
STRINGS = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
HAS_VIEWS = int(pa.__version__.split(".")[0]) >= 20
"""Whether pyarrow reads and writes views: older versions end the process where a file has them."""
STRINGS += [pa.string_view()] if HAS_VIEWS else []
LEVELS = ["low", "mid", "high"]
"""Categories whose order is not that of their text."""
UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}
# Python subtracts and compares times of one zone by its clock, so none that changes is among them.
ZONES = [None, "UTC", "Etc/GMT-5"]


def bounds(type: pa.DataType) -> tuple[int, int]:
    info = np.iinfo(type.to_pandas_dtype())
    return int(info.min), int(info.max)


def floats(chance: random.Random) -> float:
    kind = chance.randrange(6)
    if kind == 0:
        return chance.choice(NASTY)
    return chance.choice([float(chance.randint(-8, 8)), chance.gauss(0, 1e3), 1e9 + chance.randrange(10) / 1000, 0.1])


def columns(chance: random.Random, rows: int, outlying: Sequence[bool]) -> dict[str, pa.Array]:
    """Random columns of that many rows; a row that is `outlying` has floats of an extreme size."""
    whole = chance.choice(INTEGERS)
    low, high = bounds(whole)
    few = [max(low, -3), 0, 1, 2, 5]
    # Sums of a few rows of 64 bits stay within the type.
    extremes = [max(low, -(2**57)), min(high, 2**57)]
    floating = chance.choice([pa.float64(), pa.float64(), pa.float64(), pa.float32()])
    plain = chance.random() < 0.5

    def drawn(draw: Callable[[], Any]) -> list[Any]:
        return [None if chance.random() < 0.15 else draw() for _ in range(rows)]

    unit = chance.choice(sorted(UNITS))
    durations = drawn(lambda: chance.choice([0, 1, -7, 86_400, chance.randint(-(10**6), 10**6)]))
    times = drawn(lambda: chance.choice([0, -1, 1_583_650_800, chance.randint(10**9 - 10**8, 10**9)]))
    levels = pa.array(drawn(lambda: chance.randrange(len(LEVELS))), chance.choice([pa.int8(), pa.int32()]))

    def real() -> list[Any]:
        some = drawn(lambda: chance.gauss(0, 10) if plain else floats(chance))
        if floating == pa.float32():
            with np.errstate(over="ignore"):
                return [None if x is None else float(np.float32(x)) for x in some]
        return [chance.choice(OUTLIERS) if far else x for x, far in zip(some, outlying, strict=True)]

    return {
        "x": pa.array(real(), floating),
        "y": pa.array(drawn(lambda: chance.choice([chance.gauss(3, 2), 0.5, 7.25])), pa.float64()),
        "w": pa.array(drawn(lambda: chance.choice([0.25, 1.0, 2.0, 3.5])), pa.float64()),
        "i": pa.array(drawn(lambda: chance.choice(few if chance.random() < 0.8 else extremes)), whole),
        "s": pa.array(drawn(lambda: chance.choice(TEXTS)), pa.string()).cast(chance.choice(STRINGS)),
        "b": pa.array(drawn(lambda: chance.choice([b"", b"\x00", b"\xff", b"a\x00"])), pa.binary()),
        "flag": pa.array(drawn(lambda: chance.random() < 0.5), pa.bool_()),
        "d": pa.array(drawn(lambda: Decimal(chance.randint(-999, 999)).scaleb(-2)), pa.decimal128(10, 2)),
        "l": pa.array(drawn(lambda: [chance.choice([None, 0.5, 2.0]) for _ in range(chance.randrange(4))])),
        "u": pa.array(durations, pa.duration(unit)),
        "at": pa.array(times, pa.timestamp("s")).cast(pa.timestamp(unit, chance.choice(ZONES))),
        "level": pa.DictionaryArray.from_arrays(levels, pa.array(LEVELS), ordered=True),
    }


# --- right results --------------------------------------------------------------------------------------------------


def known(rows: Sequence[Values], *names: str) -> list[Any]:
    """The values of a column that are not null; of several, the tuples without any null."""
    if len(names) == 1:
        return [row[names[0]] for row in rows if row[names[0]] is not None]
    tuples = [tuple(row[name] for name in names) for row in rows]
    return [each for each in tuples if None not in each]


def gives(right: Callable[[Sequence[Values]], Any]) -> Right:
    """Results that are equal to this; NaN equals NaN, also within lists."""

    def check(got: Any, rows: Sequence[Values]) -> Verdict:
        wanted = right(rows)
        if isinstance(wanted, dict) and isinstance(got, dict) and got.keys() == wanted.keys():
            got, wanted = list(got.values()), list(wanted.values())
        if isinstance(wanted, list) and isinstance(got, list) and len(got) == len(wanted):
            return next((said for said in map(same, got, wanted) if said), None)
        return same(got, wanted)

    return check


def of(column: str, function: Callable[[list[Any]], Any], none: Any = None) -> Right:
    """Results that are equal to a function of a column's values that are not null; `none` where there is no value."""
    return gives(lambda rows: function(values) if (values := known(rows, column)) else none)


def exactly(total: Any, values: Sequence[Any], got: Any) -> Verdict:
    """The float nearest to a sum; or, where values cancel, as near as two floats are: 2**-95 of their sizes."""
    if not isinstance(total, Fraction):
        return same(got, total)
    size = sizes(values)
    if got == rounded(total) or size > Fraction(2**1023):
        return None
    close = isinstance(got, float) and math.isfinite(got)
    lost = len(values) * size * Fraction(1, 2**95)
    return None if close and abs(Fraction(got) - total) <= lost else f"{got!r} should be {rounded(total)!r}"


def sums(column: str, some: Callable[[list[Any]], list[Any]] = list) -> Right:
    """Of the values, or of those that a function makes of them."""

    def check(got: Any, rows: Sequence[Values]) -> Verdict:
        values = some(known(rows, column))
        return exactly(exact_sum(values), values, got)

    return check


def averages(column: str) -> Right:
    def check(got: Any, rows: Sequence[Values]) -> Verdict:
        values = known(rows, column)
        total = exact_sum([Fraction(x) if isinstance(x, int) else x for x in values])
        if not isinstance(total, Fraction):
            return same(got, total)
        size = sizes(values)
        return near(got, total / len(values), size * Fraction(1, 2**95), size > Fraction(2**1023))

    return check


def judged(check: Callable[[Any, WindowOfKey], Verdict], column: str) -> Right:
    """Results of which a verdict on the values of a column finds nothing wrong."""
    return lambda got, rows: check(got, of_values(known(rows, column)))


def paired(right: Callable[[list[Any]], Any], agree: Callable[[Any, Any, list[Any]], bool]) -> Right:
    """Results that agree with a function of the pairs of y and w."""

    def check(got: Any, rows: Sequence[Values]) -> Verdict:
        own = known(rows, "y", "w")
        return None if agree(got, right(own), own) else f"{got!r} should be {right(own)!r}"

    return check


def quantile(values: Sequence[Any], share: float) -> Fraction | float | None:
    """The interpolated quantile, exact; NaN where a NaN takes part."""
    if not values:
        return None
    in_order = sorted(values, key=order)
    at = Fraction(share) * (len(in_order) - 1)
    low, part = int(at), at - int(at)
    two = in_order[low : low + 2] if part else [in_order[low]]
    if not all(math.isfinite(x) for x in two):
        if len(two) == 2 and two[0] == two[1]:
            return two[0]
        return two[0] if len(two) == 1 else math.nan if any(map(math.isnan, two)) else None
    exact = [Fraction(x) for x in two]
    return exact[0] if len(two) == 1 else exact[0] + (exact[1] - exact[0]) * part


def quantiles(column: str, share: float) -> Right:
    def check(got: Any, rows: Sequence[Values]) -> Verdict:
        values = known(rows, column)
        right = quantile(values, share)
        if right is None and values:  # between a number and an infinity: whatever arithmetic gives
            return None
        if isinstance(right, Fraction):
            largest = max(abs(Fraction(x)) for x in values if math.isfinite(x))
            return near(got, right, 4 * UNIT * largest, True)
        return same(got, right)

    return check


def ranked(function: Callable[[list[int]], Any]) -> Callable[[list[str]], Any]:
    """A function of categories, by one of their places in the order; a result of places is one of categories."""

    def right(levels: list[str]) -> Any:
        found = function(list(map(LEVELS.index, levels)))
        return [LEVELS[place] for place in found] if isinstance(found, list) else LEVELS[found]

    return right


def distinct(values: list[Any]) -> list[Any]:
    return [x for _, x in sorted({order(x): x for x in values}.items())]


def extent(values: list[Any]) -> Any:
    low, high = least(values), greatest(values)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.float64(high) - np.float64(low)) if isinstance(low, float) else high - low


def least(values: list[Any]) -> Any:
    return min(values, key=order)


def greatest(values: list[Any]) -> Any:
    return max(values, key=order)


def arg(column: str, by: str, sign: int, rank: Callable[[Any], Any] = order) -> Right:
    def right(rows: Sequence[Values]) -> Any:
        there = [row for row in rows if row[by] is not None]
        return (min if sign < 0 else max)(there, key=lambda row: rank(row[by]))[column] if there else None

    return gives(right)


def bits(ufunc: np.ufunc) -> Callable[[list[int]], int]:
    return lambda values: int(ufunc.reduce(np.array(values, object)))


def ratio(got: Any, rows: Sequence[Values]) -> Verdict:
    """A sum by a count, which is rounded twice."""
    values = known(rows, "y")
    if len(values) < 2:
        return averages("y")(got, rows)
    right = rounded(exact_sum(values)) / len(values)
    alike = got is not None and math.isclose(got, right, rel_tol=1e-14, abs_tol=1e-300)
    return None if alike else f"{got!r} should be {right!r}"


def grouped(got: Any, rows: Sequence[Values]) -> Verdict:
    there: dict[str, list[Any]] = {}
    for row in rows:
        if row["s"] is not None:
            there.setdefault(row["s"], []).append(row["i"])
    right = {s: sum(x for x in i if x is not None) if any(x is not None for x in i) else None for s, i in there.items()}
    return same(dict(got), right)


class Spread(ff.AggregateOperation):
    """Greatest less least of integers, as a user writes it."""

    state = {"low": "int64", "high": "int64", "n": "int64"}

    def create(self) -> Any:
        return {"low": 2**62, "high": -(2**62), "n": 0}

    def accumulate(self, frames: ff.Frames, x: Any) -> Any:
        x = x.astype("int64")
        return {"low": frames.min(x), "high": frames.max(x), "n": frames.count(x)}

    def combine(self, a: Any, b: Any) -> Any:
        low, high = np.minimum(a["low"], b["low"]), np.maximum(a["high"], b["high"])
        return {"low": low, "high": high, "n": a["n"] + b["n"]}

    def finish(self, a: Any) -> Any:
        return np.where(a["n"] > 0, a["high"] - a["low"], -1)


@dataclass(frozen=True)
class Case:
    """An operation over named columns, and what its result must be."""

    columns: tuple[str, ...]
    make: Callable[..., Any]
    right: Right


def case(columns: str, make: Callable[..., Any], right: Right) -> Case:
    return Case(tuple(columns.split()), make, right)


NOTHING = dt.timedelta()
CASES: dict[str, Case] = {
    "rows": case("", ff.Count, gives(len)),
    "count": case("x", ff.Count, of("x", len, 0)),
    "count_if": case("flag", ff.CountIf, of("flag", sum, 0)),
    "sum": case("x", ff.Sum, sums("x")),
    "sum y": case("y", ff.Sum, sums("y")),
    "sum of integers": case("i", ff.Sum, sums("i")),
    "sum of decimals": case("d", ff.Sum, sums("d")),
    "average": case("x", ff.Average, averages("x")),
    "average of integers": case("i", ff.Average, averages("i")),
    "weighted": case("y w", ff.WeightedAverage, paired(numeric.weighted, numeric.near_weighted)),
    "geometric": case("w", ff.GeometricMean, judged(check_geometric_mean, "w")),
    "variance": case("x", ff.Variance, judged(check_variance(1), "x")),
    "variance of integers": case("i", lambda i: ff.Variance(i, ddof=0), judged(check_variance(0), "i")),
    "covariance": case("y w", ff.Covariance, paired(*numeric.covariance(1))),
    "distinct sum": case("x", ff.DistinctSum, sums("x", distinct)),
    "count distinct": case("x", ff.CountDistinct, of("x", lambda values: len(distinct(values)), 0)),
    "count distinct texts": case("s", ff.CountDistinct, of("s", lambda values: len(set(values)), 0)),
    "set": case("s", ff.CollectSet, of("s", distinct, [])),
    "set of floats": case("x", ff.CollectSet, of("x", distinct, [])),
    "list": case("s", ff.CollectList, of("s", list, [])),
    "list of floats": case("x", ff.CollectList, of("x", list, [])),
    "concat": case("s", lambda s: ff.Concat(s, "-"), of("s", "-".join)),
    "mode": case("x", ff.Mode, of("x", mode)),
    "mode of texts": case("s", ff.Mode, of("s", mode)),
    "histogram": case("s", ff.Histogram, lambda got, rows: same(dict(got), Counter(known(rows, "s")))),
    "min": case("x", ff.Min, of("x", least)),
    "max": case("x", ff.Max, of("x", greatest)),
    "min of texts": case("s", ff.Min, of("s", min)),
    "max of bytes": case("b", ff.Max, of("b", max)),
    "range": case("x", ff.Range, of("x", extent)),
    "range of integers": case("i", ff.Range, of("i", extent)),
    "first": case("x", ff.First, of("x", lambda values: values[0])),
    "last": case("s", ff.Last, of("s", lambda values: values[-1])),
    "first n": case("s", lambda s: ff.FirstN(s, 3), of("s", lambda values: values[:3], [])),
    "last n": case("x", lambda x: ff.LastN(x, 2), of("x", lambda values: values[-2:], [])),
    "top": case("x", lambda x: ff.TopN(x, 3), of("x", lambda values: sorted(values, key=order, reverse=True)[:3], [])),
    "bottom": case("s", lambda s: ff.BottomN(s, 2), of("s", lambda values: sorted(values)[:2], [])),
    "arg min": case("s x", ff.ArgMin, arg("s", "x", -1)),
    "arg max": case("i y", ff.ArgMax, arg("i", "y", 1)),
    "median": case("x", ff.Median, quantiles("x", 0.5)),
    "median of integers": case("i", ff.Median, quantiles("i", 0.5)),
    "quantile": case("x", lambda x: ff.Quantile(x, 0.9), quantiles("x", 0.9)),
    "bit and": case("i", ff.BitAnd, of("i", bits(np.bitwise_and))),
    "bit xor": case("i", ff.BitXor, of("i", bits(np.bitwise_xor))),
    "bool and": case("flag", ff.BoolAnd, of("flag", all)),
    "filtered": case("x flag", lambda x, flag: ff.Filtered(ff.Sum(x), flag),
        lambda got, rows: sums("x")(got, [row for row in rows if row["flag"]])),
    "mapped": case("y", lambda y: ff.Mapped(ff.Max("z"), lambda values: values * 2, y),
        of("y", lambda values: 2 * max(values))),
    "flat mapped": case("l", lambda items: ff.FlatMapped(ff.Sum(items)),
        sums("l", lambda lists: [item for items in lists for item in items if item is not None])),
    "grouped": case("i s", lambda i, s: ff.GroupedBy(ff.Sum(i), s), grouped),
    "all of": case("x s", lambda x, s: ff.AllOf(most=ff.Max(x), last=ff.Last(s)),
        gives(lambda rows: {"most": max(known(rows, "x"), key=order, default=None),
        "last": (known(rows, "s") or [None])[-1]})),
    "reducing": case("i", lambda i: ff.Reducing(i, 0, np.bitwise_xor, np.bitwise_xor),
        of("i", bits(np.bitwise_xor), 0)),
    "then": case("flag", lambda flag: ff.CountIf(flag).then(lambda n: n + 1),
        of("flag", lambda values: sum(values) + 1, 1)),
    "ratio": case("y", lambda y: ff.Sum(y) / ff.Count(y), ratio),
    "sum of durations": case("u", ff.Sum, of("u", lambda values: sum(values, NOTHING))),
    "distinct sum of durations": case("u", ff.DistinctSum, of("u", lambda values: sum(set(values), NOTHING))),
    "longest of": case("u flag", lambda u, flag: ff.Filtered(ff.Max(u), flag),
        gives(lambda rows: max(known([row for row in rows if row["flag"]], "u"), default=None))),
    "range of durations": case("u", ff.Range, of("u", extent)),
    "discrete of durations": case("u", lambda u: ff.Quantile(u, 0.5, method="discrete"),
        of("u", lambda values: discrete(values, 0.5))),
    "range of times": case("at", ff.Range, of("at", extent)),
    "latest": case("at", ff.Max, of("at", max)),
    "set of times": case("at", ff.CollectSet, of("at", distinct, [])),
    "first time": case("at", ff.First, of("at", lambda values: values[0])),
    "least category": case("level", ff.Min, of("level", ranked(min))),
    "greatest category": case("level", ff.Max, of("level", ranked(max))),
    "set of categories": case("level", ff.CollectSet, of("level", ranked(distinct), [])),
    "top categories": case("level", lambda level: ff.TopN(level, 2),
        of("level", ranked(lambda places: sorted(places)[::-1][:2]), [])),
    "mode of categories": case("level", ff.Mode, of("level", ranked(mode))),
    "by category": case("i level", ff.ArgMax, arg("i", "level", 1, LEVELS.index)),
    "all of categories": case("level u", lambda level, u: ff.AllOf(most=ff.Max(level), total=ff.Sum(u)),
        gives(lambda rows: {"most": max(known(rows, "level"), key=LEVELS.index, default=None),
        "total": sum(known(rows, "u"), NOTHING) if known(rows, "u") else None})),
    "own in Python": case("s", Longest, of("s", lambda values: max(values, key=len), "")),
    "own": case("i", Spread, of("i", lambda values: max(values) - min(values), -1)),
}  # fmt: skip
