"""Columns of Python values."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


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

    def to_arrow(self, column: NDArray[Any]) -> list[pa.Array]:
        values = column.tolist()
        if self.type is None:
            values = pickled(values)
        return [pa.array(values, type=self.planes[""])]

    def from_arrow(self, planes: Sequence[pa.Array]) -> NDArray[Any]:
        values = planes[0].to_pylist()
        return self.column([cloudpickle.loads(value) for value in values] if self.type is None else values)


def pickled(values: Sequence[Any]) -> list[bytes]:
    """Each value by cloudpickle, which takes functions and classes of a script too; by one pickler for all."""
    file = io.BytesIO()
    pickler = cloudpickle.Pickler(file)
    made = []
    for value in values:
        pickler.dump(value)
        made.append(file.getvalue())
        pickler.clear_memo()
        file.seek(0)
        file.truncate()
    return made
