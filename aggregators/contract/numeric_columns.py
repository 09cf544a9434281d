"""What operations on columns of numbers, with a float as result, have in common."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa

from ..errors import ColumnError
from ..sums.sums import is_number
from .operation import AggregateOperation, State


class OfNumbers(AggregateOperation):
    """An operation on columns of numbers of any kind, none of which is told from another by its order."""

    result: pa.DataType = pa.float64()
    commutative = True

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        what = "a column" if len(types) == 1 else "columns"
        for column, type in zip(self.columns, types, strict=True):
            if not is_number(type):
                raise ColumnError(
                    f"{self!r} needs {what} of numbers (integers, floats or decimals); {column!r} is {type}"
                )
        return self


class OfSums(OfNumbers):
    """An operation on columns of numbers, all fields of whose state are sums."""

    @property
    def ufuncs(self) -> dict[str, np.ufunc]:  # type: ignore[override]  # by the state
        """Sums, all of them."""
        return dict.fromkeys(self.state, np.add)

    def combine(self, a: State, b: State) -> State:
        return {field: cast(Any, a[field]) + cast(Any, b[field]) for field in self.state}
