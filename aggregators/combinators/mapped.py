"""Operations over columns that a function computes: Mapped, FlatMapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa

from ..contract.aggregate import StateFunctions, accumulate_where
from ..contract.bound import BoundAggregate
from ..contract.column_expressions import ColumnLike, Expression, kind_of
from ..contract.column_functions import apply
from ..contract.frames import Frames, Values
from ..contract.lists import is_list, unfold
from ..contract.operation import Operation, State, require_operation
from ..contract.sample_columns import samples
from ..contract.wrapped import Wrapped
from ..errors import ColumnError, OperationError, QueryError

__all__ = ["FlatMapped", "Mapped"]


class Mapped(Operation):
    """An operation over columns that a function computes.

    Parameters
    ----------
    operation
        What is computed. The function returns as many columns as it names; these need not exist where the function
        takes others.
    function
        From whole columns (numpy arrays, Arrow arrays where numpy has no type for them) without nulls to a column of
        as many rows, or a tuple of columns for an operation that has several. The result is null where an argument is.
        Or an expression, such as :func:`~framefold.expr`, that computes the column of an operation of one.
    *columns
        The columns that the function takes; those of the operation unless given.
    type
        The Arrow type of what the function returns, or a tuple of them; inferred by a trial where None. Python's
        decimals then have 38 digits and the scale seen in the trial, at most 18, as in Spark.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1], "price": [3.0, 4.0], "pieces": [2, 10]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(2))
    >>> turnover = ff.Mapped(ff.Sum("turnover"), lambda price, pieces: price * pieces, "price", "pieces")
    >>> query.aggregate(turnover=turnover)["turnover"].to_pylist()
    [46.0]
    """

    drops_nulls = False

    def __init__(
        self,
        operation: Operation,
        function: Callable[..., Any] | Expression | None,
        *columns: ColumnLike,
        type: Any = None,
    ) -> None:
        name = self.__class__.__name__
        if isinstance(function, Operation) and callable(operation):
            raise QueryError(f"{name} is given the function first; expected ff.{name}({function!r}, function)")
        self.operation = require_operation(name, operation)
        if kind_of(function) is not None:
            if columns or len(operation.columns) != 1:
                raise QueryError(
                    f"{name}({operation!r}) is given an expression, which computes one column of the columns that it "
                    "names; expected an operation of one column, and none after the expression"
                )
            function, columns = None, (cast(ColumnLike, function),)
        else:
            self._require_function(name, function)
        if not (columns or operation.columns):
            raise QueryError(f"{name}({operation!r}) has no columns to take; expected their names")
        super().__init__(*(columns or operation.columns))
        self.function = cast("Callable[..., Any] | None", function)
        self.count = len(operation.columns) or 1  # one column of lists where their items are counted
        self.made = None if type is None else list(type) if isinstance(type, (tuple, list)) else [type]
        if self.made is not None and len(self.made) != self.count:
            raise QueryError(f"type= of {self!r} has {len(self.made)} types; expected {self.count}")
        for each in self.made or ():
            if not isinstance(each, pa.DataType):
                raise QueryError(f"type= of {self!r} is {each!r}; expected an Arrow type, such as pa.float64()")

    def _require_function(self, name: str, function: Any) -> None:
        if not callable(function):
            raise QueryError(f"{name}({self.operation!r}) is given {function!r}; expected a function of columns")
        if not self.operation.columns:
            raise QueryError(f"{name}({self.operation!r}) has nothing to map to: the operation takes no column")

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.operation!r}, {', '.join(map(repr, self.columns))})"

    def bind(self, *types: pa.DataType) -> StateFunctions:
        made = self.types_made(types)
        return MappedColumns(self, BoundAggregate(self.__class__.__name__, self.operation, made), made)

    def types_made(self, types: Sequence[pa.DataType]) -> list[pa.DataType]:
        """The types of what the function returns for columns of these types."""
        if self.function is None:
            return list(types)
        if self.made is not None:
            return self.made
        columns = samples(types, 16)
        problem: Exception | None = None
        if columns is not None:
            try:
                with np.errstate(all="ignore"):
                    made = apply(self, self.function, columns, None, self.count)
                if not any(pa.types.is_null(column.type) for column in made):
                    return [column.type for column in made]
            except OperationError:
                raise
            except Exception as error:
                problem = error
        failed = "" if problem is None else f", as it fails on made-up events ({problem.__class__.__name__}: {problem})"
        raise OperationError(
            f"the type of what the function of {self!r} returns cannot be told{failed}; declare it, such as "
            "type=pa.float64()"
        ) from problem


class MappedColumns(Wrapped):
    """A bound operation over the columns that a function computes."""

    spec: Mapped

    def __init__(self, spec: Mapped, inner: BoundAggregate, made: list[pa.DataType]) -> None:
        super().__init__(spec, inner)
        self.made = made

    def mapped(self, columns: Sequence[pa.Array]) -> Sequence[pa.Array]:
        """The columns that the function computes."""
        if self.spec.function is None:
            return columns
        return apply(self, self.spec.function, columns, self.made, self.spec.count)

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return self.inner.accumulate(frames, self.mapped(columns))


class FlatMapped(Mapped):
    """An operation over the items of lists: each item is a row of its event.

    Null and empty lists have no items. Of several columns those without lists repeat their value for each item; lists
    of one event must be of one length.

    Parameters
    ----------
    operation
        What is computed over the items; :class:`Count` without a column counts them.
    function
        From columns to a column with one list a row (an Arrow list column, or a list of lists), or a tuple of columns
        for an operation that has several. None where the columns have lists already.
    *columns
        The columns that the function takes, or those with the lists; those of the operation unless given.
    type
        As for :class:`Mapped`: a list type.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1], "tags": [["a", "b"], ["b"]], "text": ["to be", "or not to be"]})
    >>> query = ff.events(events, time="t").window(ff.tumbling(2))
    >>> result = query.aggregate(
    ...     tags=ff.FlatMapped(ff.Count(), None, "tags"),
    ...     longest=ff.FlatMapped(ff.Max("word"), lambda text: pa.compute.split_pattern(text, " "), "text"),
    ... )
    >>> result.select(["tags", "longest"]).to_pylist()
    [{'tags': 3, 'longest': 'to'}]
    """

    def __init__(
        self, operation: Operation, function: Callable[..., Any] | None = None, *columns: ColumnLike, type: Any = None
    ) -> None:
        super().__init__(operation, function, *columns, type=type)
        if function is None:
            self.compares = None
        if function is None and operation.columns and len(self.columns) != len(operation.columns):
            raise QueryError(f"{self!r} is given {len(self.columns)} columns; expected {len(operation.columns)}")

    def _require_function(self, name: str, function: Any) -> None:
        if function is not None and not callable(function):
            raise QueryError(
                f"{name}({self.operation!r}) is given {function!r}; expected a function of columns or None"
            )

    def bind(self, *types: pa.DataType) -> StateFunctions:
        made = self.types_made(types)
        if not any(map(is_list, made)):
            what = "whose function returns" if self.function is not None else "has"
            raise ColumnError(f"{self!r} needs lists; {what} {', '.join(map(str, made))}")
        items = [type.value_type if is_list(type) else type for type in made]
        return Unfolded(self, BoundAggregate("FlatMapped", self.operation, items[: len(self.operation.columns)]), made)


class Unfolded(MappedColumns):
    """A bound operation over items of lists."""

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        lengths, items = unfold(self, self.mapped(columns))
        filled = lengths > 0
        inner = self.inner

        def accumulate(some: Frames, _: Sequence[pa.Array]) -> State:
            return inner.accumulate(some.repeated(lengths[filled]), items[: len(inner.columns)])

        return accumulate_where(frames, filled, [], accumulate, inner.identity)
