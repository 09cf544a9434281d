"""The operators of relations on streams of Spark's: those that only add rows."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ....aggregators.errors import QueryError
from ....spark.convert.names import column
from ..join_spec import JoinSpec
from ..names import FROM, TO, TS
from .frames import DataFrameOperators, Sides
from .instants import instant, kind_of, ticks

WATERMARK = "spark.watermarkDelayMs"


class StreamOperators(DataFrameOperators):
    """The operators on streams; deletes are none of them."""

    engine_name = "Spark, a stream"
    streaming = True

    def stamp(self, time: str, kind: t.DataType) -> Column:
        return column(time)  # as it is, for its watermark

    def join(self, left: DataFrame, right: DataFrame, how: JoinSpec) -> DataFrame:
        """The pairs by Spark's own join of two streams, which forgets rows once their validity is over.

        Raises
        ------
        QueryError
            If a side has no watermark on its time, or a row may be valid for ever: then nothing would be forgotten.
        """
        for name, side, lasts in zip(("left", "right"), (left, right), how.lasts, strict=True):
            if TS not in side.columns or WATERMARK not in side.schema[TS].metadata:
                raise QueryError(
                    f"join of streams: the {name} has no watermark on the time of its rows; expected "
                    "df.withWatermark(...) before ff.events(...)"
                )
            if lasts is None:
                raise QueryError(
                    f"join of streams: rows of the {name} may be valid for ever, and none could be forgotten; expected "
                    "ff.sliding, ff.tumbling or ff.cumulating of fixed length, or a batch, as in foreachBatch"
                )
        sides = Sides(left, right, how)
        one, other = (f.col(sides.spelt(side, TS)) for side in (0, 1))
        meet = [f.col(a) == f.col(b) for a, b in sides.keys]
        meet += [f.col("#lf") < f.col("#ru"), f.col("#rf") < f.col("#lu")]
        # By these, which follow from the others, Spark knows when a row can meet no other.
        for this, that, lasts in ((other, one, how.lasts[0]), (one, other, how.lasts[1])):
            meet.append(this <= that + f.expr(f"interval {lasts} microseconds"))
        return sides.pairs(sides.left.join(sides.right, reduce(Column.__and__, meet)))

    def stamped(self, results: DataFrame, every: int) -> DataFrame:
        """Results of windows as rows that are valid from the end of their window for a step."""
        kind = kind_of(results, "window_end")
        end = ticks(results, "window_end")
        others = [column(name) for name in results.columns if name not in ("window_start", "window_end")]
        return results.select(*others, instant(kind, end).alias(FROM), instant(kind, end + every).alias(TO))
