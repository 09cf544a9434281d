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
from .by_definition import UNIT, Verdict, exact_sum, exact_variance, near, order, rounded, same, sizes

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


def sums(column: str) -> Right:
    def check(got: Any, rows: Sequence[Values]) -> Verdict:
        values = known(rows, column)
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


def distinct_sums(column: str) -> Right:
    def check(got: Any, rows: Sequence[Values]) -> Verdict:
        values = list({order(x): x for x in known(rows, column)}.values())
        return exactly(exact_sum(values), values, got)

    return check


def variances(column: str, ddof: int) -> Right:
    def check(got: Any, rows: Sequence[Values]) -> Verdict:
        values = [float(x) for x in known(rows, column)]
        exact = exact_variance(values, ddof)
        if not isinstance(exact, Fraction):
            return same(got, exact)
        largest = max(abs(Fraction(x)) for x in values)
        allowed = (len(values) + 4) * 8 * UNIT * exact + (len(values) * 4 * UNIT * largest) ** 2
        return near(got, exact, allowed, largest**2 * len(values) > Fraction(2**1020))

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


def ranked(right: Callable[[list[int]], Any]) -> Right:
    """Of the categories, by their places in the order; a result of places is one of categories."""

    def check(got: Any, rows: Sequence[Values]) -> Verdict:
        found = right([LEVELS.index(level) for level in known(rows, "level")])
        wanted = (
            [LEVELS[place] for place in found] if isinstance(found, list) else None if found is None else LEVELS[found]
        )
        return same(got, wanted)

    return check


def by_level(rows: Sequence[Values]) -> Any:
    there = [row for row in rows if row["level"] is not None]
    return max(there, key=lambda row: LEVELS.index(row["level"]))["i"] if there else None


def modes(rows: Sequence[Values], column: str) -> Any:
    values = {order(x): x for x in known(rows, column)}
    counts = Counter(map(order, known(rows, column)))
    return values[min(counts, key=lambda x: (-counts[x], x))] if counts else None


def distinct(rows: Sequence[Values], column: str) -> list[Any]:
    return [x for _, x in sorted({order(x): x for x in known(rows, column)}.items())]


def ranged(column: str) -> Right:
    def check(got: Any, rows: Sequence[Values]) -> Verdict:
        values = known(rows, column)
        if not values:
            return same(got, None)
        low, high = min(values, key=order), max(values, key=order)
        with np.errstate(over="ignore", invalid="ignore"):
            return same(got, float(np.float64(high) - np.float64(low)) if isinstance(low, float) else high - low)

    return check


def arg(column: str, by: str, sign: int) -> Callable[[Sequence[Values]], Any]:
    def right(rows: Sequence[Values]) -> Any:
        there = [row for row in rows if row[by] is not None]
        if not there:
            return None
        best = (min if sign < 0 else max)(order(row[by]) for row in there)
        return next(row[column] for row in there if order(row[by]) == best)

    return right


def top(column: str, n: int, reverse: bool) -> Callable[[Sequence[Values]], Any]:
    return lambda rows: sorted(known(rows, column), key=order, reverse=reverse)[:n]


def bits(column: str, ufunc: np.ufunc) -> Callable[[Sequence[Values]], Any]:
    def right(rows: Sequence[Values]) -> Any:
        values = known(rows, column)
        return int(ufunc.reduce(np.array(values, object))) if values else None

    return right


def geometric(got: Any, rows: Sequence[Values]) -> Verdict:
    values = known(rows, "w")
    if not values or got is None:
        return same(got, None if not values else 0)
    right = math.exp(math.fsum(map(math.log, values)) / len(values))
    return None if math.isclose(got, right, rel_tol=1e-12) else f"{got!r} should be {right!r}"


def weighted(got: Any, rows: Sequence[Values]) -> Verdict:
    pairs = [(Fraction(y), Fraction(w)) for y, w in known(rows, "y", "w")]
    if not pairs:
        return same(got, None)
    size = sum(abs(y) * w for y, w in pairs)
    total = sum(w for _, w in pairs)
    return near(got, sum(y * w for y, w in pairs) / total, 4 * UNIT * size / total)


def covariances(got: Any, rows: Sequence[Values]) -> Verdict:
    pairs = [(Fraction(y), Fraction(w)) for y, w in known(rows, "y", "w")]
    if len(pairs) < 2:
        return same(got, None)
    means = [sum(side) / len(pairs) for side in zip(*pairs, strict=True)]
    exact = sum((y - means[0]) * (w - means[1]) for y, w in pairs) / (len(pairs) - 1)
    largest = max(max(abs(y), abs(w)) for y, w in pairs)
    return near(got, exact, 64 * len(pairs) * UNIT * largest**2)


def joined(rows: Sequence[Values]) -> Any:
    values = known(rows, "s")
    return "-".join(values) if values else None


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


def spread(rows: Sequence[Values]) -> int:
    values = known(rows, "i")
    return max(values) - min(values) if values else -1


@dataclass(frozen=True)
class Case:
    """An operation over named columns, and what its result must be."""

    columns: tuple[str, ...]
    make: Callable[..., Any]
    right: Right


def case(columns: str, make: Callable[..., Any], right: Right) -> Case:
    return Case(tuple(columns.split()), make, right)


CASES: dict[str, Case] = {
    "rows": case("", ff.Count, gives(len)),
    "count": case("x", ff.Count, gives(lambda rows: len(known(rows, "x")))),
    "count_if": case("flag", ff.CountIf, gives(lambda rows: sum(known(rows, "flag")))),
    "sum": case("x", ff.Sum, sums("x")),
    "sum y": case("y", ff.Sum, sums("y")),
    "sum of integers": case("i", ff.Sum, sums("i")),
    "sum of decimals": case("d", ff.Sum, sums("d")),
    "average": case("x", ff.Average, averages("x")),
    "average of integers": case("i", ff.Average, averages("i")),
    "weighted": case("y w", ff.WeightedAverage, weighted),
    "geometric": case("w", ff.GeometricMean, geometric),
    "variance": case("x", ff.Variance, variances("x", 1)),
    "variance of integers": case("i", lambda i: ff.Variance(i, ddof=0), variances("i", 0)),
    "covariance": case("y w", ff.Covariance, covariances),
    "distinct sum": case("x", ff.DistinctSum, distinct_sums("x")),
    "count distinct": case("x", ff.CountDistinct, gives(lambda rows: len(distinct(rows, "x")))),
    "count distinct texts": case("s", ff.CountDistinct, gives(lambda rows: len(distinct(rows, "s")))),
    "set": case("s", ff.CollectSet, gives(lambda rows: distinct(rows, "s"))),
    "set of floats": case("x", ff.CollectSet, gives(lambda rows: distinct(rows, "x"))),
    "list": case("s", ff.CollectList, gives(lambda rows: known(rows, "s"))),
    "list of floats": case("x", ff.CollectList, gives(lambda rows: known(rows, "x"))),
    "concat": case("s", lambda s: ff.Concat(s, "-"), gives(joined)),
    "mode": case("x", ff.Mode, gives(lambda rows: modes(rows, "x"))),
    "mode of texts": case("s", ff.Mode, gives(lambda rows: modes(rows, "s"))),
    "histogram": case("s", ff.Histogram, lambda got, rows: same(dict(got), Counter(known(rows, "s")))),
    "min": case("x", ff.Min, gives(lambda rows: min(known(rows, "x"), key=order, default=None))),
    "max": case("x", ff.Max, gives(lambda rows: max(known(rows, "x"), key=order, default=None))),
    "min of texts": case("s", ff.Min, gives(lambda rows: min(known(rows, "s"), default=None))),
    "max of bytes": case("b", ff.Max, gives(lambda rows: max(known(rows, "b"), default=None))),
    "range": case("x", ff.Range, ranged("x")),
    "range of integers": case("i", ff.Range, ranged("i")),
    "first": case("x", ff.First, gives(lambda rows: next(iter(known(rows, "x")), None))),
    "last": case("s", ff.Last, gives(lambda rows: next(reversed(known(rows, "s")), None))),
    "first n": case("s", lambda s: ff.FirstN(s, 3), gives(lambda rows: known(rows, "s")[:3])),
    "last n": case("x", lambda x: ff.LastN(x, 2), gives(lambda rows: known(rows, "x")[-2:])),
    "top": case("x", lambda x: ff.TopN(x, 3), gives(top("x", 3, True))),
    "bottom": case("s", lambda s: ff.BottomN(s, 2), gives(top("s", 2, False))),
    "arg min": case("s x", ff.ArgMin, gives(arg("s", "x", -1))),
    "arg max": case("i y", ff.ArgMax, gives(arg("i", "y", 1))),
    "median": case("x", ff.Median, quantiles("x", 0.5)),
    "median of integers": case("i", ff.Median, quantiles("i", 0.5)),
    "quantile": case("x", lambda x: ff.Quantile(x, 0.9), quantiles("x", 0.9)),
    "bit and": case("i", ff.BitAnd, gives(bits("i", np.bitwise_and))),
    "bit xor": case("i", ff.BitXor, gives(bits("i", np.bitwise_xor))),
    "bool and": case("flag", ff.BoolAnd, gives(lambda rows: all(known(rows, "flag")) if known(rows, "flag") else None)),
    "filtered": case(
        "x flag",
        lambda x, flag: ff.Filtered(ff.Sum(x), flag),
        lambda got, rows: sums("x")(got, [row for row in rows if row["flag"]]),
    ),
    "mapped": case(
        "y",
        lambda y: ff.Mapped(ff.Max("z"), lambda values: values * 2, y),
        gives(lambda rows: max((2 * y for y in known(rows, "y")), default=None)),
    ),
    "flat mapped": case(
        "l",
        lambda items: ff.FlatMapped(ff.Sum(items)),
        lambda got, rows: sums("z")(got, [{"z": z} for items in known(rows, "l") for z in items]),
    ),
    "grouped": case("i s", lambda i, s: ff.GroupedBy(ff.Sum(i), s), grouped),
    "all of": case(
        "x s",
        lambda x, s: ff.AllOf(most=ff.Max(x), last=ff.Last(s)),
        gives(
            lambda rows: {
                "most": max(known(rows, "x"), key=order, default=None),
                "last": next(reversed(known(rows, "s")), None),
            }
        ),
    ),
    "reducing": case(
        "i",
        lambda i: ff.Reducing(i, 0, np.bitwise_xor, np.bitwise_xor),
        gives(lambda rows: bits("i", np.bitwise_xor)(rows) or 0),
    ),
    "then": case(
        "flag", lambda flag: ff.CountIf(flag).then(lambda n: n + 1), gives(lambda rows: sum(known(rows, "flag")) + 1)
    ),
    "ratio": case(
        "y",
        lambda y: ff.Sum(y) / ff.Count(y),
        lambda got, rows: (
            averages("y")(got, rows)
            if len(known(rows, "y")) < 2
            else None
            if got is not None
            and math.isclose(
                got, rounded(exact_sum(known(rows, "y"))) / len(known(rows, "y")), rel_tol=1e-14, abs_tol=1e-300
            )
            else f"{got!r}"
        ),
    ),
    "sum of durations": case(
        "u", ff.Sum, gives(lambda rows: sum(known(rows, "u"), dt.timedelta()) if known(rows, "u") else None)
    ),
    "distinct sum of durations": case(
        "u",
        ff.DistinctSum,
        gives(lambda rows: sum(set(known(rows, "u")), dt.timedelta()) if known(rows, "u") else None),
    ),
    "longest of": case(
        "u flag",
        lambda u, flag: ff.Filtered(ff.Max(u), flag),
        gives(lambda rows: max((row["u"] for row in rows if row["flag"] and row["u"] is not None), default=None)),
    ),
    "range of durations": case(
        "u", ff.Range, gives(lambda rows: max(known(rows, "u")) - min(known(rows, "u")) if known(rows, "u") else None)
    ),
    "discrete of durations": case(
        "u",
        lambda u: ff.Quantile(u, 0.5, method="discrete"),
        gives(
            lambda rows: (
                sorted(known(rows, "u"))[max(0, math.ceil(len(known(rows, "u")) / 2) - 1)] if known(rows, "u") else None
            )
        ),
    ),
    "range of times": case(
        "at",
        ff.Range,
        gives(lambda rows: max(known(rows, "at")) - min(known(rows, "at")) if known(rows, "at") else None),
    ),
    "latest": case("at", ff.Max, gives(lambda rows: max(known(rows, "at"), default=None))),
    "set of times": case("at", ff.CollectSet, gives(lambda rows: distinct(rows, "at"))),
    "first time": case("at", ff.First, gives(lambda rows: next(iter(known(rows, "at")), None))),
    "least category": case("level", ff.Min, ranked(lambda places: min(places, default=None))),
    "greatest category": case("level", ff.Max, ranked(lambda places: max(places, default=None))),
    "set of categories": case("level", ff.CollectSet, ranked(lambda places: sorted(set(places)))),
    "top categories": case(
        "level", lambda level: ff.TopN(level, 2), ranked(lambda places: sorted(places, reverse=True)[:2])
    ),
    "mode of categories": case(
        "level",
        ff.Mode,
        ranked(lambda places: min(Counter(places), key=lambda x: (-Counter(places)[x], x), default=None)),
    ),
    "by category": case("i level", ff.ArgMax, gives(by_level)),
    "all of categories": case(
        "level u",
        lambda level, u: ff.AllOf(most=ff.Max(level), total=ff.Sum(u)),
        gives(
            lambda rows: {
                "most": max(known(rows, "level"), key=LEVELS.index, default=None),
                "total": sum(known(rows, "u"), dt.timedelta()) if known(rows, "u") else None,
            }
        ),
    ),
    "own in Python": case("s", Longest, gives(lambda rows: max(known(rows, "s"), key=len, default=""))),
    "own": case("i", Spread, gives(spread)),
}
