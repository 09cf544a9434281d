"""States of events in some types as the states of the same events in wider types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate, length, same
from ...aggregators.contract.frames import Frames
from ...aggregators.contract.operation import State
from ...aggregators.contract.sample_columns import sample
from ...aggregators.contract.wrapped import Wrapped
from ...aggregators.errors import EngineError, FramefoldError
from ...aggregators.ordered.pick import Pick
from ...aggregators.ordered.sort_keys import Order
from ...aggregators.states.arrays import Bools
from ...aggregators.states.fields import Compensated, CompensatedField, Plain
from ...aggregators.states.limbs import Exact, ExactField
from ...aggregators.states.objects import Objects
from ...aggregators.states.ragged import Ragged, RaggedField
from ...aggregators.states.rows import place
from .stored_types import SAID

ROWS = 64
"""Made-up events by which it is seen whether states can be made of others."""

FACTOR = 10**6
"""The greatest power of ten that wide integers are multiplied by at a time."""


class OtherStatesError(Exception):
    """States cannot be made of others: they keep something else, or values that the wider type does not hold."""


def require_convertible(
    old: BoundAggregate, new: BoundAggregate, types: Sequence[pa.DataType], wide: Sequence[pa.DataType]
) -> None:
    """EngineError unless states of events in some types are, by trial, those of the same events in wide types."""
    try:
        right = _is_right(old, new, types, wide)
    except (OtherStatesError, FramefoldError, pa.ArrowException, ValueError, TypeError):
        right = False
    if not right:
        name, kind, other = next(
            (name, kind, other) for name, kind, other in zip(old.columns, types, wide, strict=True) if kind != other
        )
        raise EngineError(
            f"{SAID} the column {name!r} as {kind}, and the states of {old.name!r} ({old.spec!r}) "
            f"are others for {other}, which the events need; expected it cast to {kind}, or another path"
        )


def _is_right(
    old: BoundAggregate, new: BoundAggregate, types: Sequence[pa.DataType], wide: Sequence[pa.DataType]
) -> bool:
    """Whether converted states of made-up events are those of the same events in wide types."""
    given = [_made_up(kind, at) for at, kind in enumerate(types)]
    frames = Frames(np.sort(np.arange(ROWS) % (ROWS // 2)).astype(np.intp), ROWS // 2, np.arange(ROWS))
    cast = [column.cast(kind) for column, kind in zip(given, wide, strict=True)]
    found, expected = converted(old, new, old.accumulate(frames, given)), new.accumulate(frames, cast)
    return all(same(found[key], expected[key]) for key in new.fields)


def _made_up(kind: pa.DataType, seed: int) -> pa.Array:
    """Made-up values of a type, half of them below 0 where it has such; all null where it has none."""
    if pa.types.is_null(kind):
        return pa.nulls(ROWS)
    column = sample(kind, ROWS, seed)
    if column is None:
        raise OtherStatesError
    signed = pa.types.is_signed_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return pa.concat_arrays([column[::2], pc.negate(column[1::2])]) if signed else column


def converted(old: BoundAggregate, new: BoundAggregate, states: State) -> State:
    """States of one operation as those of another, which is the same of columns in wider types.

    Those of no value become those of no value. OtherStatesError where the wider type does not hold a value.
    """
    size, made = length(states), dict[str, Any]()
    parts = dict[str, list[str]]()
    for key in new.fields:
        parts.setdefault(key.rpartition(".")[0], []).append(key)
    for part, keys in parts.items():
        own = [key for key in old.fields if key.rpartition(".")[0] == part]
        filled = np.zeros(size, bool)
        for key in own:
            filled |= ~_is_identity(states[key], old.identity[key], size)
        rows = np.flatnonzero(filled)
        for key in keys:
            of = key if key in old.fields else key.removesuffix("frames") + "count"
            if len(rows) and of not in old.fields:
                raise OtherStatesError
            column = _column(old, new, of, key, states[of][rows]) if len(rows) else new.identity[key][:0]
            made[key] = place(size, rows, column, new.identity[key])
    return made


def _is_identity(column: Any, identity: Any, size: int) -> Bools:
    """Which states of a field are those of no value."""
    none: Bools
    if isinstance(column, Ragged):
        none = column.lengths == 0
    elif isinstance(column, Exact):
        none = np.logical_and.reduce([limb == 0 for limb in column.limbs])
    elif isinstance(column, Compensated):
        none = (column.high == 0) & (column.low == 0)
        if column.special_values is not None:
            none &= ~column.special_values.any(axis=1)
    elif column.dtype.kind in "fmM" and identity[0] != identity[0]:
        none = np.isnan(column) if column.dtype.kind == "f" else np.isnat(column)
    else:
        none = np.broadcast_to(np.asarray(column == identity[0], bool), size)
    return none


def _column(old: BoundAggregate, new: BoundAggregate, of: str, key: str, column: Any) -> Any:
    """One field of states, made of a field of others."""
    kind, scale = new.fields[key], _scale(new) - _scale(old)
    if of != key:  # frames with a value, where there were counts of values
        return np.minimum(column, 1)
    if isinstance(column, Exact) and isinstance(kind, ExactField):
        wide = column.carried().widen(kind.limbs)
        for digits in range(scale, 0, -6):
            wide = wide.times(min(FACTOR, 10**digits))
        return wide
    if isinstance(column, Exact) and isinstance(kind, CompensatedField) and not _scale(old):
        return Compensated(*column.pairs())
    if isinstance(column, Compensated) and isinstance(kind, CompensatedField):
        return column
    if isinstance(column, Ragged) and isinstance(kind, RaggedField):
        fields = dict(kind.items)
        if {*fields} != {*column.planes}:
            raise OtherStatesError
        planes = {name: _recoded(old, new, name, fields[name], each) for name, each in column.planes.items()}
        return column.replaced(**planes)
    return _recoded(old, new, key, kind, column)


def _recoded(old: BoundAggregate, new: BoundAggregate, name: str, kind: Any, values: Any) -> NDArray[Any]:
    """Values of states, or of items, that may be numbers which stand for them, as a field has them."""
    orders = _orders(old), _orders(new)
    if not all(name in each for each in orders):
        return _values(kind, values)
    given, to = orders[0][name].values(values), orders[1][name]
    try:
        keys: NDArray[Any] = to.keys(given.cast(to.type))
    except pa.ArrowInvalid as error:
        raise OtherStatesError from error
    return keys


def _values(kind: Any, values: Any) -> NDArray[Any]:
    """Values of states as a field has them; OtherStatesError where it does not hold them."""
    if not isinstance(values, np.ndarray) or not isinstance(kind, (Plain, Objects)) or kind.pickles:
        raise OtherStatesError
    if isinstance(kind, Plain) and np.can_cast(values.dtype, kind.dtype, "safe") and values.dtype.kind != "i":
        return values.astype(kind.dtype)
    try:
        column = pa.array(values.tolist() if values.dtype == object else values).cast(kind.planes[""])
    except pa.ArrowInvalid as error:
        raise OtherStatesError from error
    return kind.column(column if isinstance(kind, Objects) else column.to_numpy(zero_copy_only=False))


def _scale(bound: BoundAggregate) -> int:
    """The digits after the point of the first column of an operation."""
    kind = bound.types[0] if bound.types else pa.null()
    return int(kind.scale) if pa.types.is_decimal(kind) else 0


def _orders(bound: BoundAggregate) -> dict[str, Order]:
    """The orders by which an operation keeps values as numbers, by the names of fields, or of planes of items."""
    operation: Any = bound.operation
    while isinstance(operation, Wrapped):
        operation = operation.inner.operation
    if isinstance(operation, Pick):
        return {f"key{at}": order for at, (order, _) in enumerate(operation.by) if order is not None}
    order = getattr(operation, "order", None)
    return {} if order is None else {"value": order, "rank": order}
