"""Columns of lists.

As in Arrow: one flat array a plane for the items of all states, and the offsets at which each state's begin.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import EngineError
from . import alike, large
from .arrays import Bools, Index, Ints
from .memory import require_memory

VECTOR = re.compile(r"(\w+)\[(\w*)\]")
"""A numpy type and a number in brackets: how one may try to declare a vector."""


class Ragged:
    """A column of lists of items; an item has a value in each plane.

    An operation gets one where its state declares a field as a dict of planes, such as
    ``{"items": {"value": "float64", "time": "int64"}}``.

    Parameters
    ----------
    lengths
        The number of items of each state, shape (states,).
    planes
        The items' values, plane by plane, each of shape (items,); those of one state follow one another.

    Examples
    --------
    >>> a = Ragged(np.array([2, 0]), {"value": np.array([1.0, 2.0])})
    >>> b = Ragged(np.array([1, 1]), {"value": np.array([3.0, 4.0])})
    >>> (a + b).lists("value")
    [[1.0, 2.0, 3.0], [4.0]]
    """

    __slots__ = ("offsets", "planes")
    __array_ufunc__ = None  # numpy must leave + to this class

    def __init__(self, lengths: Ints, planes: Mapping[str, NDArray[Any]]) -> None:
        self.offsets: Ints = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=self.offsets[1:])
        self.planes = dict(planes)

    @classmethod
    def at(cls, offsets: Ints, planes: Mapping[str, NDArray[Any]]) -> Ragged:
        """A column of the offsets at which the lists of the states begin, and the last one ends."""
        made = cls.__new__(cls)
        made.offsets, made.planes = offsets, dict(planes)
        return made

    @classmethod
    def one_each(cls, planes: Mapping[str, NDArray[Any]]) -> Ragged:
        """A column of lists of one item, by planes of which there is one at least."""
        return cls.at(alike.numbers(len(next(iter(planes.values()))) + 1), planes)

    @classmethod
    def concatenate(cls, columns: Sequence[Ragged]) -> Ragged:
        """The columns one after the other."""
        planes = {name: np.concatenate([column.planes[name] for column in columns]) for name in columns[0].planes}
        return cls(np.concatenate([column.lengths for column in columns]), planes)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Ints:
        """The number of items of each state."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> Index:
        """Which state each item is of."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def place(self) -> Ints:
        """The place of each item in its list, from 0."""
        return np.arange(int(self.offsets[-1])) - np.repeat(self.offsets[:-1], self.lengths)

    def __getitem__(self, rows: Any) -> Ragged:
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            offsets = self.offsets[start : max(start, stop) + 1]
            planes = {name: plane[offsets[0] : offsets[-1]] for name, plane in self.planes.items()}
            return Ragged.at(offsets - offsets[0] if offsets[0] else offsets, planes)
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        self.require_memory(int(ends[-1]) if len(ends) else 0)
        items = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(
            self.offsets[:-1][rows] - (ends - lengths), lengths
        )
        return Ragged(lengths, {name: plane[items] for name, plane in self.planes.items()})

    def __add__(self, other: Ragged) -> Ragged:
        """Each state's items, then those of the other's."""
        if not isinstance(other, Ragged):
            return NotImplemented
        lengths = self.lengths + other.lengths
        self.require_memory(int(lengths.sum()))
        start = np.cumsum(lengths) - lengths
        ours = np.repeat(start - self.offsets[:-1], self.lengths) + np.arange(int(self.offsets[-1]))
        theirs = np.repeat(start + self.lengths - other.offsets[:-1], other.lengths) + np.arange(int(other.offsets[-1]))
        planes = {}
        for name, plane in self.planes.items():
            joined = np.empty(len(ours) + len(theirs), np.result_type(plane, other.planes[name]))
            joined[ours], joined[theirs] = plane, other.planes[name]
            planes[name] = joined
        return Ragged(lengths, planes)

    def require_memory(self, items: int) -> None:
        """QueryError where lists of that many such items take more than this machine's memory."""
        require_memory(items, np.dtype(np.int64).itemsize + sum(plane.itemsize for plane in self.planes.values()))

    def replaced(self, **planes: NDArray[Any]) -> Ragged:
        """The same lists with other values in some planes."""
        return Ragged.at(self.offsets, self.planes | planes)

    def only(self, items: Bools) -> Ragged:
        """The lists with some of the items only."""
        lengths = np.bincount(self.owner[items], minlength=len(self))
        return Ragged(lengths, {name: plane[items] for name, plane in self.planes.items()})

    def ordered(self, *keys: NDArray[Any]) -> Ragged:
        """Each list sorted by keys of its items, the first one foremost; items of equal keys stay in order."""
        order = np.lexsort((*reversed(keys), self.owner))
        return Ragged(self.lengths, {name: plane[order] for name, plane in self.planes.items()})

    def head(self, count: int) -> Ragged:
        """The first ``count`` items of each list."""
        return self.only(self.place < count)

    def tail(self, count: int) -> Ragged:
        """The last ``count`` items of each list."""
        return self.only(np.repeat(self.lengths, self.lengths) - self.place <= count)

    def runs(self, *planes: str) -> Index:
        """The first item of each run of items of one list that are equal in some planes."""
        owner = self.owner
        new = np.ones(len(owner), bool)
        if len(owner):
            new[1:] = owner[1:] != owner[:-1]
            for name in planes:
                plane = self.planes[name]
                new[1:] |= plane[1:] != plane[:-1]
        return np.flatnonzero(new)

    def lists(self, plane: str) -> list[list[Any]]:
        """The lists of one plane, as Python has them."""
        values = self.planes[plane].tolist()
        bounds = self.offsets.tolist()
        return [values[start:stop] for start, stop in itertools.pairwise(bounds)]


@dataclass(frozen=True)
class RaggedField:
    """A :class:`Ragged` column; each plane is a list column in Arrow."""

    items: tuple[tuple[str, Any], ...]  # each field's name, and a field of numpy arrays
    exact = False  # whether items can be taken out again is known only to the operation

    @property
    def pickles(self) -> bool:
        return any(kind.pickles for _, kind in self.items)

    @cached_property
    def planes(self) -> dict[str, pa.DataType]:
        return {name: pa.large_list(kind.planes[""]) for name, kind in self.items}

    def full(self, value: Any, length: int) -> Ragged:
        return Ragged.at(np.zeros(length + 1, np.int64), {name: kind.full(0, 0) for name, kind in self.items})

    def column(self, values: Any) -> Ragged:
        if not isinstance(values, Ragged):
            raise TypeError(f"{type(values).__name__}, not Ragged")
        return values.replaced(**{name: kind.column(values.planes[name]) for name, kind in self.items})

    def to_arrow(self, column: Any) -> list[pa.Array]:
        offsets = alike.to_arrow(column.offsets, offsets=True)
        return [
            pa.LargeListArray.from_arrays(offsets, large.one_array(kind.to_arrow(column.planes[name])[0]))
            for name, kind in self.items
        ]

    def sizes(self, column: Any, longest: int) -> Ints | None:
        """How much of the room of an array each list takes, by its items and their text; None where all fit it.

        ``longest`` is the length of the longest text among the items of such planes.
        """
        total = int(column.offsets[-1])
        if total * max(longest, 1) <= large.ARRAY_BYTES:
            return None
        found: Ints = column.lengths
        for name, kind in self.items:
            if large.is_text(kind.planes[""]):
                text = large.sizes_of_values(column.planes[name])
                found = np.maximum(found, large.sums_of(text, column.lengths))
        return found

    def from_arrow(self, planes: Sequence[pa.Array]) -> Ragged:
        offsets, *others = (plane.offsets.to_numpy().astype(np.int64, copy=False) for plane in planes)
        values = {
            name: kind.from_arrow([flattened(plane)]) for (name, kind), plane in zip(self.items, planes, strict=True)
        }
        fits = (np.array_equal(each - each[0], offsets - offsets[0]) for each in others)
        if any(plane.null_count for plane in planes) or not all(fits):
            raise EngineError("a state is damaged: its lists of items do not have as many items in each plane")
        return Ragged.at(offsets - offsets[0] if offsets[0] else offsets, values)

    def of_pickles(self, change: Any) -> RaggedField:
        return RaggedField(tuple((name, kind.of_pickles(change)) for name, kind in self.items))


def flattened(lists: pa.LargeListArray) -> pa.Array:
    """The items of lists, one after the other: without a look at each where none is null."""
    if lists.null_count:
        return lists.flatten()
    edges = lists.offsets
    return lists.values[edges[0].as_py() : edges[-1].as_py()]


def leaves(kind: Any) -> list[Any]:
    """The fields that a field is made of: of lists one for each plane, of any other the field itself."""
    return [each for _, each in kind.items] if isinstance(kind, RaggedField) else [kind]


def vector_fields(declared: Any) -> str | None:
    """How a state has a vector, for a field that is declared as one, such as ``"float64[4]"``; None for others.

    >>> vector_fields("float64[4]")
    "a vector as a field for each place, such as {f'v{i}': 'float64' for i in range(4)}, or a dict of planes"
    """
    found = VECTOR.fullmatch(declared) if isinstance(declared, str) else None
    if found is None:
        return None
    fields = f"{{f'v{{i}}': {found[1]!r} for i in range({found[2] or 'n'})}}"
    return f"a vector as a field for each place, such as {fields}, or a dict of planes"
