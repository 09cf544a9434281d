"""Approximate quantiles (KLL, REQ, t-digest); frequent items."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.numeric_columns import floats, is_number
from ..errors import ColumnError, EngineError, QueryError
from ..ordered.sort_keys import restored
from ..ordered.sorted_merge import rows_by_frame
from ..states.fields import numpy_type
from .sketch import Output, Sketch, distinct_items, feed, library, require_int, require_items

__all__ = ["ApproxQuantile", "FrequentItems"]

LIMITS = {"kll": (8, 65535, 200), "req": (4, 1024, 12), "tdigest": (10, 65535, 200)}
"""The least, the greatest and the default k of each method."""


class ApproxQuantile(Sketch):
    """A quantile of a column of numbers, estimated by a sketch: a float64; null where there are no values.

    ===========  ============================================================================================
    method       error bound, at 99 % confidence
    ===========  ============================================================================================
    ``kll``      the rank of the result is within 1.33 % (at k = 200) of ``q``
    ``req``      the rank is within 3 % (at k = 12) of the distance between q and 1: best for high quantiles
    ``tdigest``  no proven bound; accurate at both ends; interpolates between values
    ===========  ============================================================================================

    KLL and REQ give a value of the column, exact for windows of up to some hundred values. For larger ones results
    differ from run to run, within the bounds: the library draws random bits without a seed. The t-digest is the same in
    every run. NaN is left out. See Z. Karnin, K. Lang and E. Liberty, "Optimal quantile approximation in streams",
    2016; G. Cormode et al., "Relative error streaming quantiles", 2021; T. Dunning, "The t-digest", 2021; the code is
    that of Apache DataSketches.

    Parameters
    ----------
    column
        Integers, floats or decimals, taken as float64; or serialized sketches.
    q
        From 0 to 1; a list of them for a list of results.
    method
        ``"kll"``, ``"req"`` or ``"tdigest"``.
    k
        The size of the sketch: 200 unless given, for REQ 12 (and even).
    output
        ``"value"``, or ``"sketch"`` for the serialized sketch (doubles).
    of_sketches
        Whether the column holds serialized sketches of the method, to be merged.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": range(100), "x": range(100)})
    >>> query = ff.events(events, time="t").window(ff.tumbling(100))
    >>> query.aggregate(x=ff.ApproxQuantile("x", [0.5, 0.9]))["x"].to_pylist()
    [[49.0, 89.0]]
    """

    result_parameters = ("q", "one", "output")

    def __init__(
        self,
        column: ColumnLike,
        q: float | Sequence[float],
        method: Literal["kll", "req", "tdigest"] = "kll",
        k: int | None = None,
        *,
        output: Output = "value",
        of_sketches: bool = False,
    ) -> None:
        super().__init__(column, output=output, of_sketches=of_sketches)
        if method not in LIMITS:
            raise QueryError(f"method= of {self!r} is {method!r}; expected 'kll', 'req' or 'tdigest'")
        self.one = not isinstance(q, (list, tuple))
        self.q: list[Any] = [q] if not isinstance(q, (list, tuple)) else list(q)
        for each in self.q:
            if not isinstance(each, (int, float)) or isinstance(each, bool) or not 0 <= each <= 1:
                raise QueryError(f"q= of {self!r} is {q!r}; expected a number from 0 to 1, or a list of them")
        least, most, usual = LIMITS[method]
        self.method = method
        self.k = require_int(self, "k", usual if k is None else k, least, most)
        if method == "req" and self.k % 2:
            raise QueryError(f"k= of {self!r} is {k!r}; expected an even number for REQ")

    def type_of_value(self, type: pa.DataType) -> pa.DataType:
        if not self.of_sketches and not is_number(type):
            raise ColumnError(f"{self!r} needs a column of numbers; {self.columns[0]!r} is {type}")
        return pa.float64() if self.one else pa.list_(pa.float64())

    def sketched(self, frames: Frames, values: Values) -> list[bytes]:
        numbers = floats(values)[rows_by_frame(frames, frames.order)]

        def update(sketch: Any, own: slice) -> None:
            if self.method == "req":  # the library takes arrays of float32 only
                feed(sketch.update, numbers[own][~np.isnan(numbers[own])].tolist())
            else:
                sketch.update(numbers[own])

        return self.sketch_each(frames.count(), update)

    def value(self, sketch: bytes) -> Any:
        read = self.read(sketch) if sketch else None
        if read is None or read.is_empty():
            return None
        if self.method == "tdigest":
            found = [read.get_quantile(each) for each in self.q]
        else:
            found = [read.get_quantile(each, True) for each in self.q]
        return found[0] if self.one else found

    def empty(self) -> Any:
        known = library()
        if self.method == "req":
            return known.req_items_sketch(self.k, True)
        return (known.kll_doubles_sketch if self.method == "kll" else known.tdigest_double)(self.k)

    def bytes_of(self, sketch: Any) -> bytes:
        made: bytes = sketch.serialize(library().PyDoublesSerDe()) if self.method == "req" else sketch.serialize()
        return made

    def read(self, sketch: bytes) -> Any:
        known = library()
        if self.method == "req":
            return known.req_items_sketch.deserialize(sketch, known.PyDoublesSerDe())
        if self.method == "kll":
            require_kll(sketch)
        return (known.kll_doubles_sketch if self.method == "kll" else known.tdigest_double).deserialize(sketch)


class FrequentItems(Sketch):
    """The most frequent values of a column and how often they occur, estimated by a sketch.

    A list of structs of ``item`` and ``count``, as ``approx_top_k`` of Spark SQL 4.1 gives, greatest count first and of
    equal counts the least item first; an empty list where there are no values. Counts are exact as long as a window
    has no more than 0.75 * 2 ** precision distinct values; beyond that they are too great by at most 3.5 / 2 **
    precision of the number of values, and no value more frequent than that is missing. See E. Cohen, D. Anderson et
    al., "A high-performance algorithm for identifying frequent items in data streams", 2017; the code is that of
    Apache DataSketches.

    Parameters
    ----------
    column
        Values of any type that is not nested, or serialized sketches.
    n
        The most items of a result.
    precision
        The binary logarithm of the size of the table of values and counts: 3 to 26.
    output
        ``"value"``, or ``"sketch"`` for the serialized sketch of strings; numbers are items as text.
    of_sketches
        Whether the column holds serialized sketches to be merged.
    type
        The type of the values in serialized sketches; ``pa.string()`` unless given.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2, 3], "who": ["a", "b", "a", "c"]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(4))
    >>> query.aggregate(who=ff.FrequentItems("who", 2))["who"].to_pylist()
    [[{'item': 'a', 'count': 2}, {'item': 'b', 'count': 1}]]
    """

    def __init__(
        self,
        column: ColumnLike,
        n: int = 10,
        precision: int = 12,
        *,
        output: Output = "value",
        of_sketches: bool = False,
        type: pa.DataType | None = None,
    ) -> None:
        super().__init__(column, output=output, of_sketches=of_sketches)
        self.n = require_int(self, "n", n, 1, 1 << 26)
        self.precision = require_int(self, "precision", precision, 3, 26)
        if type is not None and (not of_sketches or not isinstance(type, pa.DataType)):
            raise QueryError(f"type= of {self!r} is {type!r}; expected an Arrow type, with of_sketches=True only")
        self.type = pa.string() if type is None else type
        if output == "value":  # equal counts go by the items
            self.compares = slice(None)

    def bind(self, *types: pa.DataType) -> Any:
        bound: Any = super().bind(*types)
        bound.type = self.type if self.of_sketches else types[0]
        require_items(self, bound.type)
        dtype = numpy_type(bound.type)
        bound.number = None if dtype is None else float if dtype.kind == "f" else int
        if pa.types.is_time(bound.type):
            bound.number = int
        return bound

    def type_of_value(self, type: pa.DataType) -> pa.DataType:
        item = self.type if self.of_sketches else type
        return pa.list_(pa.struct([pa.field("item", item), pa.field("count", pa.int64())]))

    def sketched(self, frames: Frames, values: Values) -> list[bytes]:
        found, count, sizes, numbers = distinct_items(frames, values)
        each = found.tolist()
        if numbers:  # sketches of strings are faster than those of Python objects
            each = list(map(repr, each))
        weights = count.tolist()
        return self.sketch_each(sizes, lambda sketch, own: feed(sketch.update, each[own], weights[own]))

    def finish(self, a: Any) -> Any:
        if self.output == "sketch":
            return super().finish(a)
        found = [self._counted(each) if each else [] for each in a["sketch"].tolist()]
        best = [sorted(each, key=lambda row: (-row[1], row[0] != row[0], row[0]))[: self.n] for each in found]
        rows = list(itertools.chain.from_iterable(best))
        counts = pa.array([row[1] for row in rows], type=pa.int64())
        item = self._values([row[0] for row in rows])
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in best])]).astype(np.int32)
        structs = pa.StructArray.from_arrays([item, counts], fields=list(self.result.value_type))
        return pa.ListArray.from_arrays(pa.array(offsets), structs)

    def _counted(self, sketch: bytes) -> list[tuple[Any, int]]:
        """The items of a sketch and their counts."""
        rows = self.read(sketch).get_frequent_items(library().frequent_items_error_type.NO_FALSE_NEGATIVES)
        return [(row[0] if self.number is None else self.number(row[0]), row[1]) for row in rows]

    def _values(self, found: list[Any]) -> pa.Array:
        """Items of sketches as values of the column."""
        dtype = numpy_type(self.type)
        if dtype is not None:
            numbers = np.array(found, dtype=np.float64 if dtype.kind == "f" else np.int64)
            return restored(numbers.view(dtype) if dtype.kind in "mM" else numbers.astype(dtype), self.type)
        if pa.types.is_time(self.type):
            return pa.array(found, type=f"int{self.type.bit_width}").view(self.type)
        if "binary" in str(self.type):
            return pa.array([each.encode("latin-1") for each in found], type=self.type)
        return pa.array(found, type=pa.string()).cast(self.type)

    def empty(self) -> Any:
        return library().frequent_strings_sketch(self.precision)

    def read(self, sketch: bytes) -> Any:
        return library().frequent_strings_sketch.deserialize(sketch)

    number: Callable[[str], Any] | None = None
    """Parses a number; None where items are strings."""


def require_kll(sketch: bytes) -> None:
    """EngineError where a KLL sketch, which may be anybody's, is none: the library would read beyond its memory.

    Its levels must ascend within its capacity and weigh as many values as it says, and no item may be NaN.
    """
    try:
        preamble, _, _, flags, k, m, _ = struct.unpack_from("<BBBBHBB", sketch)
        if flags & (KLL_EMPTY | KLL_ONE_ITEM):
            return
        n, _, count = struct.unpack_from("<QHB", sketch, 8)
        levels = np.frombuffer(sketch, "<u4", count, 20).astype(np.int64)
        items = np.frombuffer(sketch, "<f8", offset=20 + 4 * count)[2:]
        sizes = np.diff(levels, append=kll_capacity(k, m, count))
        right = preamble == 5 and (sizes >= 0).all() and int(sizes.sum()) == len(items)
        right = right and sum(size << at for at, size in enumerate(sizes.tolist())) == n and not np.isnan(items).any()
    except (struct.error, ValueError):
        right = False
    if not right:
        raise EngineError("a KLL sketch is damaged: its levels do not fit its items; expected one of DataSketches")


KLL_EMPTY, KLL_ONE_ITEM, KLL_LEVELS = 1, 4, 60
"""Bits of a KLL sketch that has no levels, and the most levels of others."""


@cache
def kll_capacity(k: int, m: int, count: int) -> int:
    """The items that a KLL sketch of so many levels has room for; ValueError where there is none of such a kind."""
    if not 8 <= k <= 65535 or m != 8 or not 1 <= count <= KLL_LEVELS:
        raise ValueError("it is none of KLL's")

    def of_level(k: int, depth: int) -> int:
        if depth > 30:
            return of_level(of_level(k, depth // 2), depth - depth // 2)
        capacity: int = ((k << depth + 1) // 3**depth + 1) >> 1
        return capacity

    return sum(max(m, of_level(k, depth)) for depth in range(count))
