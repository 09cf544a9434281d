"""The fields of a state: how a column of them looks to an operation, and how it travels as Arrow.

A state is columns. An operation declares a type for each of its fields:

======================  =========================================================================
declared                what ``combine``, ``deduct`` and ``finish`` see
======================  =========================================================================
``"int64"``, ``"bool"``   a numpy array of that type; any numpy type of fixed width goes
``"float64"``           the same; plain float arithmetic, so the state slides by two-stacks
``"compensated"``       a :class:`~framefold.aggregators.states.compensated.Compensated` column
``"exact"``             an :class:`~framefold.aggregators.states.limbs.Exact` column (two limbs; ``"exact128"``: four)
``"object"``            a numpy array of Python objects, pickled in Arrow
an Arrow type           a numpy array of Python values (strings, decimals, ...)
a dict of planes        a :class:`~framefold.aggregators.states.ragged.Ragged` column: lists of items
======================  =========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import cloudpickle
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import OperationError
from .arrays import Index
from .compensated import BIG, Compensated
from .limbs import Exact
from .ragged import Ragged

Column: TypeAlias = NDArray[Any] | Compensated | Exact | Ragged
Rows: TypeAlias = Index | slice


class Field(Protocol):
    """One field of a state: its identity, and the way of its columns to Arrow and back."""

    @property
    def exact(self) -> bool:
        """Whether combining and deducting never loses anything."""

    @property
    def planes(self) -> dict[str, pa.DataType]:
        """The Arrow columns that hold it: a suffix of the name each ("" for only one), and the type."""

    def full(self, value: Any, length: int) -> Column:
        """A column of one value."""

    def column(self, values: Any) -> Column:
        """What an operation returned, as a column of this field; TypeError or ValueError where it cannot be one."""

    def to_arrow(self, column: Column) -> list[pa.Array]:
        """The planes of a column."""

    def from_arrow(self, planes: Sequence[pa.Array]) -> Column:
        """The column of its planes."""


@dataclass(frozen=True)
class Plain:
    """A numpy array of a fixed-width type."""

    dtype: np.dtype[Any]

    @property
    def exact(self) -> bool:
        return self.dtype.kind in "biumM"

    @property
    def planes(self) -> dict[str, pa.DataType]:
        return {"": pa.from_numpy_dtype(self.dtype)}

    def full(self, value: Any, length: int) -> NDArray[Any]:
        return np.full(length, value, self.dtype)

    def column(self, values: Any) -> NDArray[Any]:
        if isinstance(values, (Compensated, Exact)):
            raise TypeError(f"a {type(values).__name__} column")
        array: NDArray[Any] = np.asarray(values)
        if array.ndim != 1:
            raise ValueError(f"an array of {array.ndim} dimensions")
        if array.dtype != self.dtype:
            if not np.can_cast(array.dtype, self.dtype, "same_kind"):
                raise TypeError(f"values of type {array.dtype}")
            array = array.astype(self.dtype)
        return array

    def to_arrow(self, column: Column) -> list[pa.Array]:
        return [pa.array(cast(NDArray[Any], column), type=self.planes[""])]

    def from_arrow(self, planes: Sequence[pa.Array]) -> NDArray[Any]:
        array = planes[0].to_numpy(zero_copy_only=False)
        return cast(NDArray[Any], array if array.dtype == self.dtype else array.astype(self.dtype))


@dataclass(frozen=True)
class CompensatedField:
    """A :class:`Compensated` column; the planes of special values are null where there are none."""

    exact = True

    @property
    def planes(self) -> dict[str, pa.DataType]:
        return dict.fromkeys(("high", "low", "nan", "positive", "negative", "huge"), pa.float64())

    def full(self, value: Any, length: int) -> Compensated:
        return Compensated.of(np.full(length, value, np.float64))

    def column(self, values: Any) -> Compensated:
        if isinstance(values, Compensated):
            return values
        if isinstance(values, Exact) or np.asarray(values).dtype.kind not in "biuf":
            raise TypeError(f"{type(values).__name__}")
        if np.ndim(values) != 1:
            raise ValueError(f"an array of {np.ndim(values)} dimensions")
        return Compensated.of(values)

    def to_arrow(self, column: Column) -> list[pa.Array]:
        assert isinstance(column, Compensated)
        if column.special_values is None:
            special = [pa.nulls(len(column), pa.float64())] * 4
        else:
            special = [pa.array(column.special_values[:, i]) for i in range(BIG + 1)]
        return [pa.array(column.high), pa.array(column.low), *special]

    def from_arrow(self, planes: Sequence[pa.Array]) -> Compensated:
        high, low, *rest = planes
        special = None
        if any(plane.null_count < len(plane) for plane in rest):
            special = np.column_stack([plane.fill_null(0.0).to_numpy(zero_copy_only=False) for plane in rest])
        return Compensated(high.to_numpy(zero_copy_only=False), low.to_numpy(zero_copy_only=False), special)


@dataclass(frozen=True)
class ExactField:
    """An :class:`Exact` column of a fixed number of limbs."""

    limbs: int
    exact = True

    @property
    def planes(self) -> dict[str, pa.DataType]:
        return {f"limb{i}": pa.int64() for i in range(self.limbs)}

    def full(self, value: Any, length: int) -> Exact:
        return Exact.of(np.full(length, value, np.int64), self.limbs)

    def column(self, values: Any) -> Exact:
        if isinstance(values, Exact):
            return values
        array = np.asarray(values)
        if isinstance(values, Compensated) or array.dtype.kind not in "biu":
            raise TypeError(f"values of type {array.dtype}")
        return Exact.of(array, self.limbs)

    def to_arrow(self, column: Column) -> list[pa.Array]:
        assert isinstance(column, Exact)
        return [pa.array(limb) for limb in column.carried().limbs]

    def from_arrow(self, planes: Sequence[pa.Array]) -> Exact:
        return Exact([plane.to_numpy(zero_copy_only=False) for plane in planes])


@dataclass(frozen=True)
class Objects:
    """A numpy array of Python values: pickled ones, or those of an Arrow type that numpy has no type for."""

    type: pa.DataType | None = None
    exact = False  # whether they lose anything is known only to the operation

    @property
    def planes(self) -> dict[str, pa.DataType]:
        return {"": self.type if self.type is not None else pa.large_binary()}

    def full(self, value: Any, length: int) -> NDArray[Any]:
        array = np.empty(length, object)
        array[:] = [value] * length
        return array

    def column(self, values: Any) -> NDArray[Any]:
        if isinstance(values, np.ndarray) and values.dtype == object:
            return values
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            values = values.to_pylist()
        array = np.empty(len(values), object)
        array[:] = list(values)
        return array

    def to_arrow(self, column: Column) -> list[pa.Array]:
        values = cast(NDArray[Any], column).tolist()
        if self.type is None:
            values = [cloudpickle.dumps(value) for value in values]
        return [pa.array(values, type=self.planes[""])]

    def from_arrow(self, planes: Sequence[pa.Array]) -> NDArray[Any]:
        values = planes[0].to_pylist()
        return self.column([cloudpickle.loads(value) for value in values] if self.type is None else values)


@dataclass(frozen=True)
class RaggedField:
    """A :class:`Ragged` column; each plane is a list column in Arrow."""

    items: tuple[tuple[str, Plain | Objects], ...]
    exact = False  # whether items can be taken out again is known only to the operation

    @property
    def planes(self) -> dict[str, pa.DataType]:
        return {name: pa.large_list(kind.planes[""]) for name, kind in self.items}

    def full(self, value: Any, length: int) -> Ragged:
        return Ragged(np.zeros(length, np.int64), {name: kind.full(0, 0) for name, kind in self.items})

    def column(self, values: Any) -> Ragged:
        if not isinstance(values, Ragged):
            raise TypeError(f"{type(values).__name__}, not Ragged")
        return values.replaced(**{name: kind.column(values.planes[name]) for name, kind in self.items})

    def to_arrow(self, column: Column) -> list[pa.Array]:
        assert isinstance(column, Ragged)
        offsets = pa.array(column.offsets)
        return [
            pa.LargeListArray.from_arrays(offsets, kind.to_arrow(column.planes[name])[0]) for name, kind in self.items
        ]

    def from_arrow(self, planes: Sequence[pa.Array]) -> Ragged:
        lengths = pc.list_value_length(planes[0]).to_numpy(zero_copy_only=False)
        values = {
            name: kind.from_arrow([plane.flatten()]) for (name, kind), plane in zip(self.items, planes, strict=True)
        }
        return Ragged(lengths, values)


def numpy_type(type: pa.DataType) -> np.dtype[Any] | None:
    """The numpy type that holds an Arrow type's values as they are, or None where numpy has none.

    >>> numpy_type(pa.timestamp("us", "UTC")), numpy_type(pa.string())
    (dtype('<M8[us]'), None)
    """
    if pa.types.is_boolean(type) or pa.types.is_integer(type) or pa.types.is_floating(type):
        return np.dtype({"halffloat": "float16", "float": "float32", "double": "float64"}.get(str(type), str(type)))
    if pa.types.is_timestamp(type):
        return np.dtype(f"datetime64[{type.unit}]")
    if pa.types.is_duration(type):
        return np.dtype(f"timedelta64[{type.unit}]")
    if pa.types.is_date(type):
        return np.dtype("datetime64[D]" if pa.types.is_date32(type) else "datetime64[ms]")
    return None


def field(declared: Any) -> Field:
    """The field that a declaration in ``state`` stands for.

    Raises
    ------
    OperationError
        If it stands for none.
    """
    if declared == "compensated":
        return CompensatedField()
    if declared in ("exact", "exact128"):
        return ExactField(2 if declared == "exact" else 4)
    if declared in ("object", object):
        return Objects()
    if isinstance(declared, Mapping):
        return RaggedField(tuple((name, cast(Any, field(kind))) for name, kind in declared.items()))
    if isinstance(declared, pa.DataType):
        dtype = numpy_type(declared)
        return Objects(declared) if dtype is None else Plain(dtype)
    try:
        dtype = np.dtype(declared)
        pa.from_numpy_dtype(dtype)
    except (TypeError, pa.ArrowNotImplementedError) as error:
        raise OperationError(
            f"a state field is declared as {declared!r}; expected a numpy type of fixed width such as 'float64', "
            "'compensated', 'exact', 'object', or an Arrow type"
        ) from error
    return Plain(dtype)


def concatenate(columns: Sequence[Column]) -> Column:
    """Columns of one field, one after the other."""
    first: Any = columns[0]
    if len(columns) == 1:
        return columns[0]
    return type(first).concatenate(columns) if hasattr(first, "concatenate") else np.concatenate(cast(Any, columns))


def place(length: int, rows: Index, column: Column, rest: Column) -> Column:
    """A column of a length that has ``column`` at some rows and the one value of ``rest`` (length 1) elsewhere."""
    source = np.zeros(length, np.intp)
    source[rows] = np.arange(1, len(rows) + 1)
    return concatenate([rest, column])[source]
