"""Pairs of rows of equal keys whose validities overlap, by buckets of time: a hash join, however skewed keys are.

Buckets are ``2**shift`` ticks wide, and on each level 32 times as wide as on the one below. A row is on the lowest
level on which it is in 33 buckets at most, and is entered on higher ones where the other side has rows. So a pair meets
on the higher one of its two levels, and counts there in the bucket in which the later one of the two begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as f

from ....runtime.columns.ticks import NEVER
from ....spark.tuning import BUCKET_STEP
from .instants import ALWAYS

ALL = 63
"""Bits of the longest validity."""

OWN, BEGINS, PLACE = "#own", "#begins", "#place"
"""Of rows entered in a bucket: whether it is on their own level, whether they begin in it, and the tick in its middle,
which no other bucket has."""


def lasts(first: str, until: str) -> Column:
    """The bits of how long a row is valid; null where that has no end, or is beyond int64."""
    length = f.try_subtract(f.col(until), f.col(first)).cast("double")
    return f.when(f.col(until) < NEVER, f.floor(f.log2(length)).cast("int") + 1)


def level(bits: Column) -> Column:
    """The level of rows that last ``2**bits`` ticks or less."""
    above = f.coalesce(bits, f.lit(ALL)) - f.col("#base")
    return f.greatest(f.lit(0), f.floor((above + (BUCKET_STEP - 1)) / BUCKET_STEP).cast("int") - 1)


def measured(left: DataFrame, right: DataFrame) -> DataFrame:
    """One row: the bits of the narrowest buckets, the end of all begins, and where rows of each level are entered."""
    sides = [
        side.agg(
            f.avg(lasts(first, end)).alias("#mean"),
            f.max(first).alias("#high"),
            f.bit_or(f.call_function("shiftleft", f.expr("1L"), f.coalesce(lasts(first, end), f.lit(0)))).alias(found),
        )
        for side, first, end, found in ((left, "#lf", "#lu", "#found0"), (right, "#rf", "#ru", "#found1"))
    ]
    both = sides[0].unionByName(sides[1], allowMissingColumns=True).agg(
        f.least(f.coalesce(f.floor(f.min("#mean")) + 1, f.lit(ALL)), f.lit(ALL - 1)).cast("int").alias("#base"),
        (f.max("#high") + 1).alias("#high"), f.max("#found0").alias("#found0"), f.max("#found1").alias("#found1"),
    )  # fmt: skip

    def shifts(others: str) -> Column:
        """For rows of each level the buckets in which they are entered."""
        found = f.filter(f.sequence(f.lit(0), f.lit(ALL)), lambda bits: f.getbit(others, bits) == 1)
        found = f.transform(found, lambda bits: level(f.when(bits > 0, bits)))
        return f.transform(
            f.sequence(f.lit(0), f.lit(ALL // BUCKET_STEP)),
            lambda own: f.transform(
                f.array_union(f.array(own), f.filter(found, lambda each: each > own)),
                lambda each: f.col("#base") + BUCKET_STEP * each,
            ),
        )

    return both.select("#base", "#high", shifts("#found1").alias("#shifts0"), shifts("#found0").alias("#shifts1"))


def entered(side: DataFrame, measures: DataFrame, first: str, until: str, shifts: str) -> DataFrame:
    """Rows once for each bucket that they are in, on their own level and those above on which the other side is."""
    rows = side.crossJoin(f.broadcast(measures))
    rows = rows.withColumn("#shifts", f.col(shifts)[level(lasts(first, until))])
    rows = rows.withColumn("#shift", f.explode("#shifts"))
    ends = f.col(first), f.least(f.col(until), f.col("#high")) - 1
    bucket = [f.call_function("shiftright", each, f.col("#shift")) for each in ends]
    rows = rows.withColumn("#bucket", f.explode(f.sequence(*bucket)))
    place = f.expr("shiftleft(2 * `#bucket` + 1, `#shift` - 1)")
    return rows.select(
        *side.columns, place.alias(PLACE),
        (f.col("#shift") == f.col("#shifts")[0]).alias(OWN), (f.col("#bucket") == bucket[0]).alias(BEGINS),
    )  # fmt: skip


def overlap_join(left: DataFrame, right: DataFrame, keys: Sequence[tuple[str, str]]) -> DataFrame:
    """The pairs, with the columns of both.

    Parameters
    ----------
    left, right
        Rows with names of their own, valid from the ticks ``#lf`` and ``#rf`` on up to ``#lu`` and ``#ru``.
    keys
        Columns that are equal; a null is equal to nothing.
    """
    left, right = (not_null(side, [pair[at] for pair in keys]) for at, side in enumerate((left, right)))
    measures = measured(left, right)
    one, other = (
        entered(side, measures, f"#{mark}f", f"#{mark}u", f"#shifts{number}").withColumnsRenamed(
            {name: f"{name}{mark}" for name in (OWN, BEGINS, PLACE)}
        )
        for number, (side, mark) in enumerate(((left, "l"), (right, "r")))
    )
    # Places first: they tell more rows apart than keys do, and so sort faster.
    meet = [f.col(f"{PLACE}l") == f.col(f"{PLACE}r"), *(f.col(name) == f.col(of) for name, of in keys)]
    meet += [f.col("#lf") < f.col("#ru"), f.col("#rf") < f.col("#lu")]
    meet += [f.col(f"{name}l") | f.col(f"{name}r") for name in (OWN, BEGINS)]
    return one.join(other, reduce(Column.__and__, meet)).select(*left.columns, *right.columns)


def by_key(keys: Sequence[Column] | Sequence[str]) -> WindowSpec:
    """The rows of each key; of no keys all of them, of which PySpark warns where nothing is named."""
    return Window.partitionBy(*(keys or [f.lit(0)]))


def not_null(side: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows without those that have a null in a key, which is equal to nothing; a NaN is not one."""
    return side.where(reduce(Column.__and__, (f.col(name).isNotNull() for name in keys), f.lit(True)))


def gaps(right: DataFrame, keys: Sequence[str]) -> DataFrame:
    """When no row of a key is valid, for keys that have rows: from ``#rf`` up to ``#ru``."""
    before = by_key(keys).orderBy("#rf").rowsBetween(Window.unboundedPreceding, -1)
    reached = right.select(*keys, "#rf", "#ru", f.coalesce(f.max("#ru").over(before), f.lit(ALWAYS)).alias("#to"))
    some = reached.where(f.col("#to") < f.col("#rf"))
    within = some.select(*keys, f.col("#to").alias("#rf"), f.col("#rf").alias("#ru"))
    last = right.groupBy(*keys).agg(f.max("#ru").alias("#rf")) if keys else right.agg(f.max("#ru").alias("#rf"))
    after = last.where(f.col("#rf") < NEVER).withColumn("#ru", f.lit(NEVER))
    return within.unionByName(after)
