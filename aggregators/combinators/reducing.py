"""Reducing: a fold by a function of two values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.aggregate import StateFunctions, TypedOperation
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.operation import Operation, State
from ..errors import OperationError, QueryError
from ..numeric.grouped import canonical
from ..ordered.sort_keys import restored
from ..ordered.sorted_merge import rows_by_frame
from ..states.fields import IDEMPOTENT, Plain, field
from ..states.objects import Objects

__all__ = ["Reducing"]

Function = Callable[[Any, Any], Any]


class Reducing(Operation):
    """The fold of a column's values in time order by an associative function; the identity where there are none.

    Nulls are left out. Whether the function is commutative is inferred by a trial.

    Parameters
    ----------
    column
        Any type. Values without a numpy type (strings, decimals, ...) come as arrays of Python objects.
    identity
        The neutral element of ``combine``.
    combine
        An associative numpy function or other element-wise function of two arrays of values.
    deduct
        Its inverse: removes the right operand from the left one, which begins with it. Windows slide by it where the
        values are integers; where they are floats ``-`` would not be exact (see :class:`Sum` for one that is).
    type
        The Arrow type of values and result: that of the column unless given, int64 or uint64 for narrower integers.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [12, 18, 7], "word": ["a", "b", "c"]})
    >>> query = ff.events(events, time="t").window(ff.sliding(2, every=1))
    >>> query.aggregate(
    ...     gcd=ff.Reducing("x", 0, np.gcd), text=ff.Reducing("word", "", lambda a, b: a + b)
    ... ).select(["gcd", "text"]).to_pydict()
    {'gcd': [12, 6, 1, 7], 'text': ['a', 'ab', 'bc', 'c']}
    """

    uses_order = True

    def __init__(
        self, column: ColumnLike, identity: Any, combine: Function, deduct: Function | None = None, *, type: Any = None
    ) -> None:
        super().__init__(column)
        for name, function in (("combine", combine), ("deduct", deduct)):
            if not callable(function) and not (name == "deduct" and function is None):
                raise QueryError(f"{name} of {self!r} is {function!r}; expected a function of two arrays")
        if type is not None and not isinstance(type, pa.DataType):
            raise QueryError(f"type= of {self!r} is {type!r}; expected an Arrow type, such as pa.float64()")
        self.identity = identity
        self.join = combine
        self.inverse = deduct
        self.type = type

    def bind(self, *types: pa.DataType) -> StateFunctions:
        type = self.type
        if type is None:
            type = types[0]
            if pa.types.is_integer(type):
                type = pa.uint64() if pa.types.is_unsigned_integer(type) else pa.int64()
        return (Reduction if self.inverse is None else InvertibleReduction)(self, type)


class Reduction(TypedOperation):
    """A reduction of values of one type."""

    spec: Reducing
    has_user_combine = True

    def __init__(self, spec: Reducing, type: pa.DataType) -> None:
        super().__init__(spec)
        self.result = type
        self.state = {"value": type}
        self.field = cast("Plain | Objects", field(type))
        try:
            given = np.float16(spec.identity) if pa.types.is_float16(type) else spec.identity
            identity = pa.scalar(given, type)
            self.identity = self.field.from_arrow([pa.array([identity], type)])[0]
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, OverflowError) as error:
            raise QueryError(f"identity of {spec!r} is {spec.identity!r}; expected a value of {type}") from error

    def create(self) -> Mapping[str, Any]:
        return {"value": self.identity}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        column = columns[0] if isinstance(columns[0], pa.Array) else pa.array(columns[0])
        values = self.field.from_arrow([column.cast(self.result)])
        order = rows_by_frame(frames, frames.order)
        values = values[order]
        sizes = frames.count()
        starts = np.cumsum(sizes) - sizes
        if isinstance(self.spec.join, np.ufunc):
            return {"value": self._same_type(self.spec.join.reduceat(values, starts), values)}
        while len(values) > frames.size:  # neighbours, then neighbours of those, ...
            place = np.arange(len(values)) - np.repeat(starts, sizes)
            left = np.flatnonzero(place % 2 == 0)
            alone = place[left] + 1 == np.repeat(sizes, sizes)[left]
            joined = values[left]
            pair = left[~alone]
            joined[~alone] = self._called("combine", self.spec.join, values[pair], values[pair + 1])
            values = joined
            sizes = (sizes + 1) // 2
            starts = np.cumsum(sizes) - sizes
        return {"value": values}

    def combine(self, a: State, b: State) -> State:
        return {"value": self._called("combine", self.spec.join, a["value"], b["value"])}

    def finish(self, a: State) -> Any:
        picks = self.spec.join in IDEMPOTENT
        return restored(canonical(a["value"]) if picks else a["value"], self.result)

    def _called(self, name: str, function: Function, a: Any, b: Any) -> NDArray[Any]:
        """The result of a user's function of two read-only columns."""
        a, b = a.view(), b.view()
        a.flags.writeable = b.flags.writeable = False
        joined = np.asarray(function(a, b))
        if joined.shape != a.shape:
            raise OperationError(
                f"{name} of {self!r} returned an array of shape {joined.shape}; expected {len(a)} values"
            )
        return self._same_type(joined, a)

    def _same_type(self, joined: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        if joined.dtype == values.dtype:
            return joined
        if not np.can_cast(joined.dtype, values.dtype, "same_kind"):
            raise OperationError(
                f"the functions of {self!r} return {joined.dtype} for values of {values.dtype}; expected the same type"
            )
        return joined.astype(values.dtype)


class InvertibleReduction(Reduction):
    """A reduction with an inverse."""

    def deduct(self, a: State, b: State) -> State:
        return {"value": self._called("deduct", cast(Function, self.spec.inverse), a["value"], b["value"])}
