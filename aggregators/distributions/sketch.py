"""What operations share whose states are sketches of Apache DataSketches.

A state is the serialized sketch, which all libraries of Apache DataSketches can read; the identity is empty bytes.
There is no deduct: windows slide by two-stacks.
"""

from __future__ import annotations

import importlib
import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.aggregate import StateFunctions
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.operation import AggregateOperation, Operation, State
from ..errors import ColumnError, EngineError, QueryError, installing
from ..ordered.sorted_merge import distinct_rows
from ..states.arrays import Ints

Output = Literal["value", "sketch"]


def library() -> Any:
    """The package ``datasketches``; EngineError where it is not installed."""
    try:
        return importlib.import_module("datasketches")
    except ImportError:
        raise EngineError(f"sketches need datasketches; expected it installed: {installing('sketches')}") from None


class Sketch(AggregateOperation):
    """The base of operations whose state is a sketch.

    Parameters
    ----------
    column
        Values, or serialized sketches.
    output
        ``"value"``, or ``"sketch"`` for the serialized sketch.
    of_sketches
        Whether the column holds serialized sketches to be merged.
    """

    state = {"sketch": pa.large_binary()}
    result_parameters: ClassVar[Collection[str]] = ("output",)
    commutative = True  # estimates of unions in another order are within the same bounds

    def __init__(self, column: ColumnLike, *, output: Output = "value", of_sketches: bool = False) -> None:
        super().__init__(column)
        library()
        if output not in ("value", "sketch"):
            raise QueryError(f"output= of {self!r} is {output!r}; expected 'value' or 'sketch'")
        self.output = output
        self.of_sketches = of_sketches

    def bind(self, *types: pa.DataType) -> StateFunctions:
        binary = pa.types.is_binary(types[0]) or pa.types.is_large_binary(types[0])
        if self.of_sketches and not binary:
            raise ColumnError(f"{self!r} needs a column of serialized sketches; {self.columns[0]!r} is {types[0]}")
        return self.changed(result=pa.binary() if self.output == "sketch" else self.type_of_value(types[0]))

    def type_of_value(self, type: pa.DataType) -> pa.DataType:
        """The type of the result for a column of a type; ColumnError where the operation does not take it."""
        raise AssertionError("written by every sketch")

    def create(self) -> Mapping[str, Any]:
        return {"sketch": b""}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        if self.of_sketches:
            sketches = [self.union(each.to_pylist()) for each in frames.group(columns[0])]
        else:
            sketches = self.sketched(frames, columns[0])
        return {"sketch": serialized(sketches)}

    def combine(self, a: State, b: State) -> State:
        x, y = a["sketch"], b["sketch"]
        return {"sketch": np.frompyfunc(self._joined, 2, 1)(x, y)}

    def _joined(self, a: bytes, b: bytes) -> bytes:
        return self.union([a, b]) if a and b else a or b

    def finish(self, a: State) -> Any:
        sketches: list[bytes] = a["sketch"].tolist()
        if self.output == "sketch":
            none = self.union([])
            return pa.array([each or none for each in sketches], type=pa.binary())
        return pa.array([self.value(each) for each in sketches], type=self.result)

    def sketched(self, frames: Frames, values: Values) -> list[bytes]:
        """The sketch of each frame's values."""
        raise AssertionError("written by every sketch")

    def sketch_each(self, sizes: Ints, update: Callable[[Any, slice], None]) -> list[bytes]:
        """The serialized sketch of each frame; ``update`` takes a sketch and the slice of the frame's items."""
        made = []
        for start, stop in itertools.pairwise([0, *np.cumsum(sizes).tolist()]):
            sketch = self.empty()
            update(sketch, slice(start, stop))
            made.append(self.bytes_of(sketch))
        return made

    def empty(self) -> Any:
        """A sketch of no values."""
        raise AssertionError("written by every sketch")

    def bytes_of(self, sketch: Any) -> bytes:
        """Serialize a sketch."""
        made: bytes = sketch.serialize()
        return made

    def read(self, sketch: bytes) -> Any:
        """Deserialize a sketch."""
        raise AssertionError("written by every sketch")

    def union(self, sketches: Sequence[bytes]) -> bytes:
        """The union of serialized sketches; the empty sketch where there are none."""
        union = self.empty()
        feed(union.merge, map(self.read, sketches))
        return self.bytes_of(union)

    def value(self, sketch: bytes) -> Any:
        """The result of a serialized sketch; empty bytes are a sketch of no values."""
        raise AssertionError("written by every sketch")


def serialized(sketches: Sequence[bytes]) -> NDArray[Any]:
    """A column of serialized sketches."""
    column = np.empty(len(sketches), object)
    column[:] = sketches
    return column


def feed(update: Callable[..., object], *items: Iterable[Any]) -> None:
    """Call a sketch's update with each item."""
    deque(map(update, *items), maxlen=0)


def require_int(operation: Operation, argument: str, value: object, least: int, most: int) -> int:
    """QueryError unless an argument is an integer within bounds."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise QueryError(f"{argument}= of {operation!r} is {value!r}; expected an integer from {least} to {most}")
    return value


def require_items(operation: Operation, type: pa.DataType) -> None:
    """ColumnError unless values of a type can be items of a sketch: anything but nested types."""
    if pa.types.is_nested(type) or pa.types.is_null(type):
        raise ColumnError(f"{operation!r} cannot tell values of {operation.columns[0]!r} apart, which is {type}")


def items(values: Values) -> tuple[NDArray[Any], bool]:
    """Values as items of a sketch, and whether the items are numbers.

    Integers, floats and strings are items as they are, so that sketches of other libraries can be merged; booleans,
    dates, times, timestamps and durations are the integers that store them, binaries strings of their bytes (Latin-1),
    decimals strings of their digits.
    """
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "f":
            numbers = values.astype(np.float64) + 0.0  # -0.0 is 0.0
            return np.where(np.isnan(numbers), np.nan, numbers), True
        if values.dtype.kind in "mM":
            return values.view(np.int64), True
        return (values.view(np.int64) if values.dtype == np.uint64 else values.astype(np.int64)), True
    if pa.types.is_time(values.type):
        return values.view(f"int{values.type.bit_width}").to_numpy().astype(np.int64), True
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return cast("NDArray[Any]", values.to_numpy(zero_copy_only=False)), False
    texts = [each.decode("latin-1") if isinstance(each, bytes) else str(each) for each in values.to_pylist()]
    return np.array(texts, dtype=object), False


def distinct_items(frames: Frames, values: Values) -> tuple[NDArray[Any], Ints, Ints, bool]:
    """The distinct items, frame by frame; the count of each; the number of each frame's; whether they are numbers."""
    found, numbers = items(values)
    ranks = np.unique(found.view(np.int64), return_inverse=True)[1] if numbers else _codes(found)
    rows, starts, count = distinct_rows(frames, ranks)
    rows = rows[starts]
    return found[rows], count, np.bincount(frames.index[rows], minlength=frames.size), numbers


def _codes(texts: NDArray[Any]) -> Ints:
    codes = pa.array(texts, type=pa.large_string()).dictionary_encode().indices.to_numpy()
    return cast("Ints", codes.astype(np.int64))
