"""Columns of Python values."""

from __future__ import annotations

import io
import itertools
import operator
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import EngineError
from ..tuning import OBJECT_SAMPLE
from . import large

NAMES = pickle.STACK_GLOBAL
"""The byte before a function or a class in what pickle makes; it may be one of a number, too."""

MAX_HELD_BYTES = 16 << 20
"""Bytes of held values, as if pickled; values beyond are pickled, as others take several times as much."""


@dataclass(frozen=True)
class Objects:
    """A numpy array of Python values: pickled ones, or those of an Arrow type that numpy has no type for."""

    type: pa.DataType | None = None
    trusted: bool = False
    """Whether pickles are read: who can write them can run code where they are."""
    exact = False  # whether they lose anything is known only to the operation

    @property
    def pickles(self) -> bool:
        return self.type is None

    @property
    def planes(self) -> dict[str, pa.DataType]:
        return {"": self.type if self.type is not None else pa.large_binary()}

    def full(self, value: Any, length: int) -> NDArray[Any]:
        return self.column([value] * length)

    def column(self, values: Any) -> NDArray[Any]:
        if isinstance(values, np.ndarray) and values.dtype == object:
            return values
        if isinstance(values, (pa.Array, pa.ChunkedArray)):
            values = values.to_pylist()
        array = np.empty(len(values), object)
        array[:] = list(values)
        return array

    def sizes(self, column: NDArray[Any], longest: int) -> NDArray[np.int64] | None:
        """The bytes of each text; None where an array has room for all, or they are none, as ``longest`` is theirs."""
        return None if len(column) * longest <= large.ARRAY_BYTES else large.sizes_of_values(column)

    def to_arrow(self, column: Any) -> list[pa.Array]:
        values = column.tolist()
        if self.type is None:
            values = pickled(values)
        return [pa.array(values, type=self.planes[""])]

    def from_arrow(self, planes: Sequence[pa.Array]) -> NDArray[Any]:
        values = planes[0].to_pylist()
        if self.pickles and values and not self.trusted:
            raise EngineError(
                "a state is Python objects, and comes as pickles that nobody has said can be trusted: they may run any "
                "code; expected .stream(trust_checkpoint=True) where it is from a checkpoint"
            )
        return self.column(list(map(pickle.loads, values)) if self.pickles else values)

    def of_pickles(self, change: Callable[[], Objects]) -> Objects:
        return change() if self.pickles else self


class Pickle(bytes):
    """A value by pickle, among others that are as they are."""


class Store:
    """Values under consecutive numbers, as they are, while they are not too large. For one thread."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.least = 0  # the number of the first one
        self.bytes = 0.0
        self.pickles = False

    def add(self, values: list[Any]) -> int:
        """Add values; the number of the first one."""
        first = self.least + len(self.values)
        some = pickled(values[:: len(values) // OBJECT_SAMPLE + 1])  # whatever cannot be pickled fails here as on Spark
        self.bytes += sum(map(len, some)) * len(values) / max(len(some), 1)
        if self.bytes > MAX_HELD_BYTES:
            values, self.pickles = list(map(Pickle, pickled(values))), True
        self.values.extend(values)
        return first

    def at(self, numbers: NDArray[np.int64]) -> list[Any]:
        """The values of some numbers."""
        found = list(map(self.values.__getitem__, (numbers - self.least).tolist()))
        return [pickle.loads(each) if type(each) is Pickle else each for each in found] if self.pickles else found

    def release(self, least: int) -> None:
        """Forget the values before a number."""
        kept = len(self.values) + self.least - least
        self.bytes *= kept / max(len(self.values), 1)
        del self.values[: least - self.least]
        self.least = least


@dataclass(frozen=True, eq=False)
class HeldObjects(Objects):
    """Python values that stay in this process: their plane has the numbers under which they are held."""

    store: Store = field(default_factory=Store)

    @property
    def pickles(self) -> bool:
        return False

    @property
    def planes(self) -> dict[str, pa.DataType]:
        return {"": pa.int64()}

    def to_arrow(self, column: Any) -> list[pa.Array]:
        first = self.store.add(column.tolist())
        return [pa.array(np.arange(first, first + len(column)))]

    def from_arrow(self, planes: Sequence[pa.Array]) -> NDArray[Any]:
        return self.column(self.store.at(planes[0].to_numpy()))


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
