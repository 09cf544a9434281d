"""Filtered: an operation over some of the events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..contract.aggregate import StateFunctions, accumulate_where
from ..contract.bound import BoundAggregate
from ..contract.column_expressions import ColumnLike, column_name, kind_of
from ..contract.column_functions import single_values
from ..contract.frames import Frames, Values, valid_rows
from ..contract.operation import OfOthers, Operation, State, require_operation
from ..contract.sample_columns import samples
from ..contract.wrapped import Wrapped
from ..errors import ColumnError, OperationError, QueryError, shown
from ..states.arrays import Bools
from ..states.categories import plain_values, values_type
from ..states.fields import to_values

__all__ = ["Filtered"]


class Filtered(OfOthers):
    """An operation over the events that pass a test; as ``FILTER (WHERE ...)`` in SQL.

    Parameters
    ----------
    operation
        What is computed.
    predicate
        The name of a boolean column, an expression that computes one, such as :func:`~framefold.expr`, or a function
        of whole columns (numpy arrays, Arrow arrays where numpy has no type for them) that gives a boolean array.
        Events where it is null, or one of its columns is, do not pass.
    *columns
        The columns that the function takes; those of the operation unless given.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "x": [3, -5, 4], "paid": [True, True, None]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(3))
    >>> result = query.aggregate(
    ...     gains=ff.Filtered(ff.Sum("x"), lambda x: x > 0), paid=ff.Filtered(ff.Count(), "paid")
    ... )
    >>> result.select(["gains", "paid"]).to_pylist()
    [{'gains': 7, 'paid': 2}]
    """

    def __init__(self, operation: Operation, predicate: ColumnLike | Callable[..., Any], *columns: ColumnLike) -> None:
        if isinstance(predicate, Operation) and not isinstance(operation, Operation):
            what = repr(operation) if isinstance(operation, str) else "the predicate"
            raise QueryError(f"Filtered is given {what} first; expected ff.Filtered({predicate!r}, {what})")
        self.operation = require_operation("Filtered", operation)
        if kind_of(predicate) is not None:
            predicate = column_name(predicate, "Filtered")
        if not isinstance(predicate, str) and not callable(predicate):
            raise QueryError(
                f"the predicate of Filtered({operation!r}) is {shown(predicate)}; expected a function of columns, or "
                "the name of a boolean column"
            )
        if isinstance(predicate, str) and any(map(callable, columns)):
            raise QueryError(
                f"Filtered is given the column {predicate!r} before the function; expected ff.Filtered({operation!r}, "
                f"function, {predicate!r})"
            )
        if isinstance(predicate, str) and columns:
            raise QueryError(
                f"Filtered by the column {predicate!r} is also given the columns {columns!r}; expected none"
            )
        tested = (predicate,) if isinstance(predicate, str) else columns or operation.columns
        if not tested:
            raise QueryError(
                f"Filtered({operation!r}) has no columns to test; expected their names after the predicate"
            )
        self.predicate = predicate
        super().__init__(*operation.columns, *tested)

    def __repr__(self) -> str:
        tested = ", ".join(map(repr, self.columns[len(self.operation.columns) :]))
        return f"Filtered({self.operation!r}, {tested})"

    def bind(self, *types: pa.DataType) -> StateFunctions:
        own = len(self.operation.columns)
        inner = BoundAggregate("Filtered", self.operation, types[:own])
        if isinstance(self.predicate, str):
            if not pa.types.is_boolean(types[own]):
                raise ColumnError(f"{self!r} needs a boolean column; {self.predicate!r} is {types[own]}")
        else:
            self._try(list(map(values_type, types[own:])))
        return Passing(self, inner)

    def _try(self, types: Sequence[pa.DataType]) -> None:
        """OperationError where the predicate gives no booleans; it may fail on made-up values."""
        columns = samples(types, 16)
        if columns is None:
            return
        try:
            with np.errstate(all="ignore"):
                given = cast(Callable[..., Any], self.predicate)(*map(to_values, columns))
        except Exception as error:
            if (hint := single_values(error)) is not None:
                raise OperationError(
                    f"the predicate of {self!r} failed ({type(error).__name__}: {error}): {hint}"
                ) from None
            return
        self.booleans(given, 16)

    def passing(self, columns: Sequence[pa.Array]) -> Bools:
        """Which rows pass, given the columns to test."""
        if isinstance(self.predicate, str):
            return self.booleans(columns[0], len(columns[0]))
        valid = valid_rows(columns)
        rows = len(columns[0])
        if valid is None:
            return self.booleans(self.predicate(*map(to_values, columns)), rows)
        passing = np.zeros(rows, bool)
        known = [column.filter(pa.array(valid)) for column in columns]
        if len(known[0]):
            passing[valid] = self.booleans(self.predicate(*map(to_values, known)), len(known[0]))
        return passing

    def booleans(self, given: Any, rows: int) -> Bools:
        """The booleans that a predicate returned; null is False."""
        if isinstance(given, (pa.Array, pa.ChunkedArray)) and pa.types.is_boolean(given.type):
            given = pc.fill_null(given, False).to_numpy(zero_copy_only=False)
        if isinstance(given, np.ma.MaskedArray):
            given = given.filled(False)
        found = np.asarray(given)
        if found.dtype != bool or found.shape != (rows,):
            raise OperationError(
                f"the predicate of {self!r} returned {found.dtype} of shape {found.shape}; expected {rows} booleans"
            )
        return found


class Passing(Wrapped):
    """A bound operation over the rows that pass."""

    spec: Filtered

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        own = len(self.inner.columns)
        passing = self.spec.passing(list(map(plain_values, columns[own:])))
        if passing.all():
            return self.inner.accumulate(frames, columns[:own])
        return accumulate_where(frames, passing, columns[:own], self.inner.accumulate, self.inner.identity)
