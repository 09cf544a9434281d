"""The types of a state's fields: columns to operations, planes in Arrow.

A state is columns. An operation declares a type for each of its fields:

======================  =========================================================================
declared                what ``combine``, ``deduct`` and ``finish`` see
======================  =========================================================================
``"int64"``, ``"bool"``   a numpy array of that type; any numpy type of fixed width goes
``"float64"``           the same; plain float arithmetic, so the state slides by two-stacks
``"compensated"``       a :class:`~framefold.aggregators.states.fields.Compensated` column
``"exact"``             an :class:`~framefold.aggregators.states.limbs.Exact` column (two limbs; ``"exact128"``: four)
``"object"``            a numpy array of Python objects, pickled in Arrow
an Arrow type           a numpy array of Python values (strings, decimals, ...)
a dict of planes        a :class:`~framefold.aggregators.states.ragged.Ragged` column: lists of items
======================  =========================================================================

One 1e16, NaN or inf would spoil a plain float sum that slides by subtraction. Compensated sums have the rounding error
of every addition in a second float, and special values, which cannot be subtracted, in columns of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import EngineError, OperationError
from . import alike
from .arrays import Floats
from .categories import Categories, codes_or_values
from .double_double import to_odd, two_sum
from .limbs import Exact, ExactField
from .objects import Objects
from .ragged import Ragged, RaggedField, vector_fields

HUGE, SHIFT = 2.0**960, 128
"""Values from this magnitude on are special, and kept divided by 2**SHIFT: 2**63 smaller ones sum without overflow."""

IDEMPOTENT = (np.minimum, np.maximum, np.fmin, np.fmax, np.logical_and, np.logical_or, np.bitwise_and, np.bitwise_or)
"""Functions that give a value joined with itself as it is."""

NAN, POSITIVE, NEGATIVE, BIG = range(4)
"""The columns of ``special_values``: the numbers of NaN, +inf and -inf, and the sum of huge values / 2**SHIFT.

What rounding loses of the last one is in the two floats of ordinary values.
"""


@dataclass(slots=True, eq=False, repr=False)
class Compensated:
    """A column of float sums, each kept as the unevaluated sum of two floats.

    Adds and subtracts like any array; ``value()`` gives plain floats. Of fields declared ``"compensated"``.

    Parameters
    ----------
    high, low
        float64 columns of equal length; ``low`` is what rounding lost of ``high``.
    special_values
        None, or a float64 array of shape (length, 4); its columns are ``NAN`` to ``BIG``.

    Examples
    --------
    >>> big = Compensated.of([1e16]) + Compensated.of([1.0])
    >>> (big - Compensated.of([1e16])).value()
    array([1.])
    >>> (Compensated.of([np.inf]) + Compensated.of([2.0]) - Compensated.of([np.inf])).value()
    array([2.])
    """

    high: Floats
    low: Floats
    special_values: Floats | None = None

    __array_ufunc__ = None  # numpy must leave + and - to this class

    @classmethod
    def of(cls, values: Any) -> Compensated:
        """A column of the values as they are, nothing lost yet."""
        high = np.asarray(values, dtype=np.float64)
        ordinary = np.abs(high) < HUGE
        if bool(ordinary.all()):
            return cls(high, np.zeros_like(high))
        huge = np.where(~ordinary & np.isfinite(high), np.ldexp(high, -SHIFT), 0.0)
        special = np.column_stack([np.isnan(high), high == np.inf, high == -np.inf, huge])
        return cls(np.where(ordinary, high, 0.0), np.zeros_like(high), special)

    @classmethod
    def concatenate(cls, columns: Sequence[Compensated]) -> Compensated:
        """The columns one after the other."""
        special = None
        if any(column.special_values is not None for column in columns):
            special = np.concatenate(
                [c.special_values if c.special_values is not None else np.zeros((len(c), 4)) for c in columns]
            )
        return cls(np.concatenate([c.high for c in columns]), np.concatenate([c.low for c in columns]), special)

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, rows: Any) -> Compensated:
        return Compensated(
            self.high[rows], self.low[rows], None if self.special_values is None else self.special_values[rows]
        )

    def __neg__(self) -> Compensated:
        return Compensated(-self.high, -self.low, None if self.special_values is None else -self.special_values)

    def __add__(self, other: Compensated) -> Compensated:
        if not isinstance(other, Compensated):
            return NotImplemented
        total, lost = two_sum(self.high, other.high)
        high, low = two_sum(total, lost + (self.low + other.low))
        if self.special_values is None or other.special_values is None:
            return Compensated(high, low, other.special_values if self.special_values is None else self.special_values)
        special = self.special_values + other.special_values
        special[:, BIG], lost = two_sum(self.special_values[:, BIG], other.special_values[:, BIG])
        return Compensated(high, low, special).with_lost(lost)

    def with_lost(self, lost: Floats) -> Compensated:
        """The sums together with what rounding lost of those of huge values, in units of ``2**SHIFT``."""
        if self.special_values is None or not lost.any():
            return self
        total, rest = two_sum(self.high, np.ldexp(lost, SHIFT))
        high, low = two_sum(total, rest + self.low)
        special, heavy = self.special_values.copy(), np.abs(high) >= HUGE
        special[:, BIG], back = two_sum(special[:, BIG], np.ldexp(np.where(heavy, high, 0.0), -SHIFT))
        return Compensated(np.where(heavy, np.ldexp(back, SHIFT), high), low, special)

    def __sub__(self, other: Compensated) -> Compensated:
        """Subtract ``other``; counts of NaN and inf are subtracted too."""
        if not isinstance(other, Compensated):
            return NotImplemented
        return self + (-other)

    def value(self, divisor: Any = 1) -> Floats:
        """Each sum, divided by the divisor, as one float; NaN and inf as in IEEE 754."""
        if self.special_values is None:
            total: Floats = self.high + self.low
            return total / divisor if np.ndim(divisor) or divisor != 1 else total
        nan, positive, negative, big = (self.special_values[:, column] for column in range(4))
        shift = np.where(np.abs(big) < HUGE / 2.0**SHIFT, 0, SHIFT)  # the sum of smaller ones is a float
        total, lost = two_sum(np.ldexp(big, SHIFT - shift), np.ldexp(self.high, -shift))
        total = total + to_odd(*two_sum(lost, np.ldexp(self.low, -shift)))
        with np.errstate(over="ignore"):
            total = np.ldexp(total / divisor, shift)
        total = np.where(positive > 0, np.inf, total)
        total = np.where(negative > 0, -np.inf, total)
        total = np.where((nan > 0) | ((positive > 0) & (negative > 0)), np.nan, total)
        return total

    def magnitude(self) -> Floats:
        """An upper bound of each sum's magnitude, to bound rounding errors; inf where it has huge values."""
        size = np.abs(self.high)
        return size if self.special_values is None else np.where(self.special_values[:, BIG] != 0, np.inf, size)


Column: TypeAlias = NDArray[Any] | Compensated | Exact | Ragged


@dataclass(frozen=True)
class Plain:
    """A numpy array of a fixed-width type; what is said of its methods holds for all fields."""

    dtype: np.dtype[Any]
    pickles = False
    """Whether its planes have Python objects by pickle, at whatever depth: who reads them may run code."""

    @property
    def exact(self) -> bool:
        """Whether combining and deducting never loses anything."""
        return self.dtype.kind in "biumM"

    @property
    def planes(self) -> dict[str, pa.DataType]:
        """The Arrow columns that hold it: a suffix of the name each ("" for only one), and the type."""
        return {"": pa.from_numpy_dtype(self.dtype)}

    def full(self, value: Any, length: int) -> NDArray[Any]:
        """A column of one value."""
        return np.full(length, value, self.dtype)

    def column(self, values: Any) -> NDArray[Any]:
        """What an operation returned as a column of the field; TypeError or ValueError where it does not fit."""
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

    def to_arrow(self, column: Any) -> list[pa.Array]:
        """The planes of a column."""
        if column.dtype == self.dtype == bool and column.all():
            return [alike.trues(len(column))]
        return [
            alike.to_arrow(column) if column.dtype == self.dtype == np.int64 else pa.array(column, type=self.planes[""])
        ]

    def from_arrow(self, planes: Sequence[pa.Array]) -> NDArray[Any]:
        """The column of its planes; EngineError where these are pickles, and the field does not trust them."""
        if self.dtype.kind in "biu" and planes[0].null_count:
            raise EngineError("a state is damaged: a number of it is null")
        if self.dtype == bool and planes[0].true_count == len(planes[0]):
            return np.ones(len(planes[0]), bool)
        array: NDArray[Any] = planes[0].to_numpy(zero_copy_only=False)
        return array.astype(self.dtype, copy=False)

    def of_pickles(self, change: Callable[[], Objects]) -> Plain:
        """The field, with another in place of each field of pickles in it."""
        return self


@dataclass(frozen=True)
class CompensatedField:
    """A :class:`Compensated` column; the planes of special values are null where there are none."""

    exact = True
    pickles = False

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

    def to_arrow(self, column: Any) -> list[pa.Array]:
        if column.special_values is None:
            special = [alike.nulls(len(column))] * 4
        else:
            special = [pa.array(column.special_values[:, i]) for i in range(BIG + 1)]
        return [pa.array(column.high), alike.to_arrow(column.low), *special]

    def from_arrow(self, planes: Sequence[pa.Array]) -> Compensated:
        high, low, *rest = planes
        special = None
        if any(plane.null_count < len(plane) for plane in rest):
            special = np.column_stack([plane.fill_null(0.0).to_numpy(zero_copy_only=False) for plane in rest])
        return Compensated(high.to_numpy(zero_copy_only=False), low.to_numpy(zero_copy_only=False), special)

    def of_pickles(self, change: Callable[[], Objects]) -> CompensatedField:
        return self


Field: TypeAlias = Plain | CompensatedField | ExactField | Objects | RaggedField
"""One field of a state: its columns, and their conversion to Arrow and back."""


def joins_exactly(function: Any, kind: Field) -> bool:
    """Whether a numpy function joins a field, and loses nothing in whatever order."""
    if isinstance(kind, Plain):
        return function in IDEMPOTENT or (function is np.add and kind.dtype.kind in "iu")
    return function is np.add and isinstance(kind, (CompensatedField, ExactField))


def numpy_type(type: pa.DataType) -> np.dtype[Any] | None:
    """The numpy type that holds an Arrow type's values as they are, or None where numpy has none.

    >>> numpy_type(pa.timestamp("us", "UTC")), numpy_type(pa.string())
    (dtype('<M8[us]'), None)
    """
    if isinstance(type, Categories):
        return np.dtype(np.int32)
    if pa.types.is_boolean(type) or pa.types.is_integer(type) or pa.types.is_floating(type):
        return np.dtype({"halffloat": "float16", "float": "float32", "double": "float64"}.get(str(type), str(type)))
    if pa.types.is_timestamp(type):
        return np.dtype(f"datetime64[{type.unit}]")
    if pa.types.is_duration(type):
        return np.dtype(f"timedelta64[{type.unit}]")
    if pa.types.is_date(type):
        return np.dtype("datetime64[D]" if pa.types.is_date32(type) else "datetime64[ms]")
    return None


def to_values(column: pa.Array) -> Any:
    """A column without nulls as ``accumulate`` gets it: numpy where its type has one, Arrow otherwise."""
    if numpy_type(column.type) is None:
        return column
    return codes_or_values(column).to_numpy(zero_copy_only=False)


def field(declared: Any) -> Field:
    """The field of a declaration in ``state``.

    Raises
    ------
    OperationError
        If the declaration is not one of a field.
    """
    if isinstance(declared, pa.DataType):  # first, as it compares with words by their meaning
        dtype = numpy_type(declared)
        return Objects(declared) if dtype is None else Plain(dtype)
    if declared == "compensated":
        return CompensatedField()
    if declared in ("exact", "exact128"):
        return ExactField(2 if declared == "exact" else 4)
    if declared in ("object", object):
        return Objects()
    if isinstance(declared, Mapping):
        items = {name: field(kind) for name, kind in declared.items()}
        for name, kind in items.items():
            if list(kind.planes) != [""]:
                raise OperationError(
                    f"a state field is a list of items whose {name!r} is declared as {declared[name]!r}; expected a "
                    "numpy type of fixed width such as 'float64', 'object', or an Arrow type"
                )
        return RaggedField(tuple(items.items()))
    try:
        dtype = np.dtype(declared)
        pa.from_numpy_dtype(dtype)
    except (TypeError, pa.ArrowNotImplementedError) as error:
        expected = "a numpy type of fixed width such as 'float64', 'compensated', 'exact', 'object', or an Arrow type"
        raise OperationError(
            f"a state field is declared as {declared!r}; expected {vector_fields(declared) or expected}"
        ) from error
    return Plain(dtype)
