"""Approximate numbers of distinct values, by HyperLogLog, CPC or theta sketches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import pyarrow as pa

from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..errors import QueryError
from .sketch import Output, Sketch, distinct_items, feed, library, require_int, require_items

__all__ = [
    "ApproxCountDistinct",
    "ThetaSketch",
    "theta_difference",
    "theta_estimate",
    "theta_intersection",
    "theta_union",
]

EMPTY = "\0"
"""The item of the empty string; the library ignores empty strings."""


class DistinctSketch(Sketch):
    """A sketch that counts distinct values."""

    precision: int

    def type_of_value(self, type: pa.DataType) -> pa.DataType:
        if not self.of_sketches:
            require_items(self, type)
        return pa.int64()

    def sketched(self, frames: Frames, values: Values) -> list[bytes]:
        found, _, sizes, numbers = distinct_items(frames, values)
        each = found.tolist()
        if not numbers:
            each = [text or EMPTY for text in each]
        return self.sketch_each(sizes, lambda sketch, own: feed(sketch.update, each[own]))

    def value(self, sketch: bytes) -> int:
        return round(self.read(sketch).get_estimate()) if sketch else 0


class ApproxCountDistinct(DistinctSketch):
    """The number of distinct values of a column, estimated by a sketch; 0 where it has none.

    The relative standard error is 1.04 / sqrt(2 ** precision) for HyperLogLog (1.6 % at 12) and 0.59 / sqrt(2 **
    precision) for CPC; few values are counted exactly. As ``approx_count_distinct`` in Spark SQL; sketches of Spark's
    ``hll_sketch_agg`` can be merged. NaN is one value, -0.0 is 0.0. An estimate may vary with the split of events into
    batches. See P. Flajolet et al., "HyperLogLog", 2007; K. Lang, "Back to the future: an even more nearly optimal
    cardinality estimation algorithm", 2017 (CPC); the code is that of Apache DataSketches.

    Parameters
    ----------
    column
        Values of any type that is not nested, or serialized sketches.
    method
        ``"hll"`` or ``"cpc"``: half the bytes for the same error, but slower.
    precision
        The binary logarithm of the number of bins: 4 to 21 for HyperLogLog, 4 to 26 for CPC.
    output
        ``"value"``, or ``"sketch"`` for the serialized sketch.
    of_sketches
        Whether the column holds serialized sketches of the method, to be merged.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "who": ["a", "b", "a"]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> query.aggregate(n=ff.ApproxCountDistinct("who"))["n"].to_pylist()
    [2]
    """

    def __init__(
        self,
        column: ColumnLike,
        method: Literal["hll", "cpc"] = "hll",
        precision: int = 12,
        *,
        output: Output = "value",
        of_sketches: bool = False,
    ) -> None:
        super().__init__(column, output=output, of_sketches=of_sketches)
        if method not in ("hll", "cpc"):
            raise QueryError(f"method= of {self!r} is {method!r}; expected 'hll' or 'cpc'")
        self.method = method
        self.precision = require_int(self, "precision", precision, 4, 21 if method == "hll" else 26)

    def empty(self) -> Any:
        sketches = library()
        if self.method == "cpc":
            return sketches.cpc_sketch(self.precision)
        return sketches.hll_sketch(self.precision, sketches.tgt_hll_type.HLL_8)

    def bytes_of(self, sketch: Any) -> bytes:
        made: bytes = sketch.serialize() if self.method == "cpc" else sketch.serialize_compact()
        return made

    def union(self, sketches: Sequence[bytes]) -> bytes:
        known = library()
        kind, *type = (known.cpc_union,) if self.method == "cpc" else (known.hll_union, known.tgt_hll_type.HLL_8)
        return self.bytes_of(united(kind(self.precision), map(self.read, sketches), *type))

    def read(self, sketch: bytes) -> Any:
        return (library().cpc_sketch if self.method == "cpc" else library().hll_sketch).deserialize(sketch)


class ThetaSketch(DistinctSketch):
    """The theta sketch of a column's distinct values: sets that can be intersected and subtracted afterwards.

    The relative standard error of an estimate is 1 / sqrt(2 ** precision - 1); up to 2 ** precision values are counted
    exactly. As ``theta_sketch_agg`` in Spark SQL 4.1. See A. Dasgupta et al., "A framework for estimating stream
    expression cardinalities", 2016; the code is that of Apache DataSketches.

    Parameters
    ----------
    column
        Values of any type that is not nested, or serialized sketches.
    precision
        The binary logarithm of the number of values kept: 5 to 26.
    output
        ``"sketch"`` for the serialized sketch, to be used with :func:`theta_union`, :func:`theta_intersection`,
        :func:`theta_difference` and :func:`theta_estimate`, or ``"value"`` for the number of distinct values.
    of_sketches
        Whether the column holds serialized sketches to be merged.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "seen": ["a", "b", "c"], "bought": ["b", "c", None]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> sets = query.aggregate(seen=ff.ThetaSketch("seen"), bought=ff.ThetaSketch("bought"))
    >>> ff.theta_estimate(ff.theta_difference(sets["seen"], sets["bought"])).to_pylist()
    [1.0]
    """

    def __init__(
        self, column: ColumnLike, precision: int = 12, *, output: Output = "sketch", of_sketches: bool = False
    ) -> None:
        super().__init__(column, output=output, of_sketches=of_sketches)
        self.precision = require_int(self, "precision", precision, 5, 26)

    def empty(self) -> Any:
        return library().update_theta_sketch(self.precision)

    def bytes_of(self, sketch: Any) -> bytes:
        made: bytes = sketch.compact().serialize()
        return made

    def union(self, sketches: Sequence[bytes]) -> bytes:
        made: bytes = united(library().theta_union(self.precision), map(self.read, sketches)).serialize()
        return made

    def read(self, sketch: bytes) -> Any:
        return library().compact_theta_sketch.deserialize(sketch)


def theta_union(a: Any, b: Any, precision: int = 12) -> pa.Array:
    """The unions of two columns of serialized theta sketches, row by row; null where either is null.

    >>> import framefold as ff
    >>> ff.theta_union([None], [None]).to_pylist()
    [None]
    """
    return _pairwise(lambda *both: united(library().theta_union(precision), both), a, b)


def theta_intersection(a: Any, b: Any) -> pa.Array:
    """The intersections of two columns of serialized theta sketches, row by row; null where either is null."""
    return _pairwise(lambda *both: united(library().theta_intersection(), both), a, b)


def theta_difference(a: Any, b: Any) -> pa.Array:
    """The set differences of two columns of serialized theta sketches, row by row; null where either is null."""
    return _pairwise(lambda x, y: library().theta_a_not_b().compute(x, y), a, b)


def theta_estimate(sketches: Any) -> pa.Array:
    """The estimated number of distinct values of each serialized theta sketch, float64; null where null."""
    read = library().compact_theta_sketch.deserialize
    given = _binary(sketches)
    return pa.array([None if each is None else read(each).get_estimate() for each in given], type=pa.float64())


def united(union: Any, sketches: Iterable[Any], *type: Any) -> Any:
    """What a union, or an intersection, of the library makes of sketches: a sketch, of a type where it asks for one."""
    feed(union.update, sketches)
    return union.get_result(*type)


def _pairwise(function: Callable[[Any, Any], Any], a: Any, b: Any) -> pa.Array:
    read = library().compact_theta_sketch.deserialize
    x, y = _binary(a), _binary(b)
    if len(x) != len(y):
        raise QueryError(f"columns of {len(x)} and of {len(y)} sketches are given; expected as many")
    made = [
        None if one is None or other is None else function(read(one), read(other)).serialize()
        for one, other in zip(x, y, strict=True)
    ]
    return pa.array(made, type=pa.binary())


def _binary(column: Any) -> list[bytes | None]:
    values: list[bytes | None] = column.to_pylist() if isinstance(column, (pa.Array, pa.ChunkedArray)) else list(column)
    return values
