"""Columns of Python values."""

from __future__ import annotations

import io
import itertools
import operator
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

NAMES = pickle.STACK_GLOBAL
"""The byte before a function or a class in what pickle makes; it may be one of a number, too."""


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
        return self.column(list(map(pickle.loads, values)) if self.type is None else values)


def pickled(values: Sequence[Any]) -> list[bytes]:
    """Each value by pickle; by cloudpickle, which takes functions and classes of a script too, where it names any.

    cloudpickle takes ten times as long. Values are mostly alike, so that where the first one names any all are its.
    """
    cloud = by_cloudpickle()
    try:
        if not any(NAMES in each for each in by_pickle(values[:1])):
            made = by_pickle(values)
            if not any(map(operator.contains, made, itertools.repeat(NAMES))):
                return made
            return [cloud(value) if NAMES in found else found for value, found in zip(values, made, strict=True)]
    except Exception:  # of whatever a value is made of; cloudpickle can, or says why not
        pass
    return list(map(cloud, values))


def by_pickle(values: Sequence[Any]) -> list[bytes]:
    """Each value by pickle, with :data:`NAMES` among the bytes where it names a function or a class."""
    return list(map(pickle.dumps, values, itertools.repeat(pickle.HIGHEST_PROTOCOL)))


def by_cloudpickle() -> Callable[[Any], bytes]:
    """Function from a value to its bytes, by one pickler for all."""
    file = io.BytesIO()
    pickler = cloudpickle.Pickler(file)

    def dumps(value: Any) -> bytes:
        pickler.dump(value)
        made = file.getvalue()
        pickler.clear_memo()
        file.seek(0)
        file.truncate()
        return made

    return dumps
