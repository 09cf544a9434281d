"""Pairs of rows of equal keys whose validities overlap, by buckets of time: a hash join, however skewed keys are.

Buckets are ``2**bits`` ticks wide, and on each level 32 times as wide as on the one below. A row is on the lowest level
on which it is in 33 buckets at most, and is entered on higher ones where the other side has rows. So a pair meets on
the higher one of its two levels, and counts there in the bucket of the instant from which on both are valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from ...runtime.columns.ticks import NEVER
from .instants import ALWAYS

STEP = 5
"""Bits by which buckets are wider from level to level."""

FINITE = "#bits"


def lasts(first: str, until: str) -> Column:
    """The bits of how long a row is valid; null where that has no end, or no beginning."""
    length = f.col(until) - f.col(first)
    ends = (f.col(until) < NEVER) & (f.col(first) > ALWAYS)
    return f.when(ends, f.floor(f.log2(length.cast("double"))).cast("int") + 1)


def level(bits: Column, base: Column) -> Column:
    """The level of rows that last ``2**bits`` ticks or less."""
    return f.greatest(f.lit(0), f.floor((bits - base + (STEP - 1)) / STEP).cast("int") - 1)


def measured(left: DataFrame, right: DataFrame) -> DataFrame:
    """One row: the bits of the narrowest buckets, the bounds of all begins, and which levels each side has."""
    sides = [
        side.groupBy(lasts(first, until).alias(FINITE)).agg(
            f.count(f.lit(1)).alias("#rows"),
            f.min(f.when(f.col(first) > ALWAYS, f.col(first))).alias("#low"),
            f.max(f.col(first)).alias("#high"),
            f.lit(number).alias("#side"),
        )
        for number, (side, first, until) in enumerate(((left, "#lf", "#lu"), (right, "#rf", "#ru")))
    ]
    counted = sides[0].unionByName(sides[1])
    means = [
        f.sum(f.when(f.col("#side") == side, f.col(FINITE) * f.col("#rows")))
        / f.sum(f.when((f.col("#side") == side) & f.col(FINITE).isNotNull(), f.col("#rows")))
        for side in (0, 1)
    ]
    bounds = counted.agg(
        f.min("#low").alias("#low"), (f.max("#high") + 1).alias("#high"), f.least(*means).alias("#mean"),
        f.collect_list(f.struct("#side", FINITE)).alias("#found"),
    )  # fmt: skip
    whole = f.floor(f.log2((f.col("#high") - f.col("#low")).cast("double"))).cast("int") + 1
    base = f.least(f.coalesce(f.floor(f.col("#mean")).cast("int") + 1, whole), f.lit(62))
    bounds = bounds.select("#low", "#high", "#found", base.alias("#base"), whole.alias("#whole"))

    def levels(side: int) -> Column:
        own = f.filter("#found", lambda each: each["#side"] == side)
        return f.array_distinct(
            f.transform(own, lambda each: level(f.coalesce(each[FINITE], f.col("#whole")), f.col("#base")))
        )

    return bounds.select("#low", "#high", "#base", "#whole", levels(0).alias("#levels0"), levels(1).alias("#levels1"))


def entered(side: DataFrame, measures: DataFrame, first: str, until: str, others: str) -> DataFrame:
    """Rows once for each bucket that they are in, on their own level and those above on which the other side is."""
    rows = side.crossJoin(f.broadcast(measures))
    begin, end = f.greatest(f.col(first), f.col("#low")), f.least(f.col(until), f.col("#high"))
    own = level(f.coalesce(lasts(first, until), f.col("#whole")), f.col("#base"))
    rows = rows.withColumns({"#begin": begin, "#end": end, "#own": own}).where(f.col("#begin") < f.col("#end"))
    above = f.filter(others, lambda each: each > f.col("#own"))
    levels = f.when(f.array_max(others) > f.col("#own"), f.array_union(f.array("#own"), above)).otherwise(
        f.array("#own")
    )
    rows = rows.withColumn("#level", f.explode(levels))
    rows = rows.withColumn("#shift", f.least(f.col("#base") + STEP * f.col("#level"), f.lit(63)))
    ends = (f.expr("shiftright(`#begin`, `#shift`)"), f.expr("shiftright(`#end` - 1, `#shift`)"))
    rows = rows.withColumn("#bucket", f.explode(f.sequence(*ends)))
    return rows.drop("#low", "#high", "#base", "#whole", "#levels0", "#levels1", "#begin", "#end")


def overlap_join(left: DataFrame, right: DataFrame, keys: Sequence[tuple[str, str]]) -> DataFrame:
    """The pairs, with the columns of both.

    Parameters
    ----------
    left, right
        Rows with names of their own, valid from the ticks ``#lf`` and ``#rf`` on up to ``#lu`` and ``#ru``.
    keys
        Columns that are equal; a null is equal to nothing.
    """
    for side, names in ((0, [one for one, _ in keys]), (1, [other for _, other in keys])):
        if names:
            some = reduce(Column.__and__, (f.col(name).isNotNull() for name in names))
            left, right = (left.where(some), right) if side == 0 else (left, right.where(some))
    measures = measured(left, right)
    one, other = (
        entered(side, measures, first, until, others).withColumnsRenamed(
            {name: f"{name}{first}" for name in ("#own", "#level", "#shift", "#bucket")}
        )
        for side, first, until, others in ((left, "#lf", "#lu", "#levels1"), (right, "#rf", "#ru", "#levels0"))
    )
    meet = [f.col(name) == f.col(of) for name, of in keys]
    meet += [f.col(f"{name}#lf") == f.col(f"{name}#rf") for name in ("#level", "#bucket")]
    meet += [
        f.col("#lf") < f.col("#ru"), f.col("#rf") < f.col("#lu"),
        (f.col("#level#lf") == f.col("#own#lf")) | (f.col("#level#lf") == f.col("#own#rf")),
        f.col("#bucket#lf") == f.expr("shiftright(greatest(`#lf`, `#rf`), `#shift#lf`)"),
    ]  # fmt: skip
    found = one.join(other, reduce(Column.__and__, meet))
    inner = [f"{name}{side}" for name in ("#own", "#level", "#shift", "#bucket") for side in ("#lf", "#rf")]
    return found.drop(*inner)


def gaps(right: DataFrame, keys: Sequence[str]) -> DataFrame:
    """When no row of a key is valid, for keys that have rows: from ``#rf`` up to ``#ru``."""
    before = Window.partitionBy(*keys).orderBy("#rf").rowsBetween(Window.unboundedPreceding, -1)
    reached = right.select(*keys, "#rf", "#ru", f.coalesce(f.max("#ru").over(before), f.lit(ALWAYS)).alias("#to"))
    within = reached.where(f.col("#to") < f.col("#rf")).select(
        *keys, f.col("#to").alias("#rf"), f.col("#rf").alias("#ru")
    )
    last = right.groupBy(*keys).agg(f.max("#ru").alias("#rf")) if keys else right.agg(f.max("#ru").alias("#rf"))
    after = last.where(f.col("#rf") < NEVER).withColumn("#ru", f.lit(NEVER))
    return within.unionByName(after)
