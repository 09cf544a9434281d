"""Partials as windows see them: rows by key, then frame."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators import loops
from ...aggregators.states.alike import numbers
from ...aggregators.states.arrays import Bools, Ints
from ..columns.key_codes import MAX_PACKED, edges, pack, span
from ..columns.sorting import differs


class WindowIds(NamedTuple):
    """The numbers of the first and the last window that take in each frame."""

    first: Ints
    last: Ints


class GivenRows(NamedTuple):
    """The rows of another table that windows are for, by key: the number of each, and how many each key has."""

    number: Ints
    counts: Ints

    def part(self, keys: slice) -> GivenRows:
        """The rows of some keys, which are not all of them."""
        before = int(self.counts[: keys.start].sum())
        counts = self.counts[keys]
        return GivenRows(self.number[before : before + int(counts.sum())], counts)


def of_column(name: str) -> str:
    """The name of a window input that is the value of a column; those of others do not begin with ``#``."""
    return f"#{name}"


def is_column(window_input: str) -> bool:
    """Whether a window input is the value of a column."""
    return window_input.startswith("#")


class WindowInputs(Mapping[str, NDArray[Any]]):
    """What windows need of each of some rows, by name: made when it is first asked for, of these rows alone.

    Parameters
    ----------
    names
        The names.
    make
        Gives the values of a name for a slice of all rows.
    rows
        The rows.
    """

    def __init__(self, names: Collection[str], make: Callable[[str, slice], NDArray[Any]], rows: slice) -> None:
        self._names, self._make, self._rows, self._found = names, make, rows, dict[str, NDArray[Any]]()

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._found:
            self._found[name] = self._make(name, self._rows)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def part(self, rows: slice) -> WindowInputs:
        """The window inputs of some of the rows."""
        start = self._rows.start
        part = WindowInputs(self._names, self._make, slice(start + rows.start, start + rows.stop))
        part._found |= {name: values[rows] for name, values in self._found.items()}
        return part


@dataclass(frozen=True)
class PartialsView:
    """Partials as windows see them, sorted by key and frame.

    Parameters
    ----------
    frames
        The frame of each row; a row may be only a part of its frame, so numbers can repeat.
    starts
        The first row of each key.
    window_inputs
        What the windows need of each row, by name; see :attr:`Windows.window_inputs`.
    keys
        The key columns, with one value for each key.
    within
        The numbers of the first and the last window to compute, by :meth:`Windows.window_ids` or
        :attr:`Windows.frame_span`; None: all.
    inside
        Which rows are in any window of this kind; None: all.
    ids
        The windows of each row, where they are known already.
    given
        The rows that windows are for, where these are of another table, by key.
    untimed
        Whether nobody asks when windows begin and end.
    """

    frames: Ints
    starts: Ints
    window_inputs: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    keys: tuple[pa.Array, ...] = ()
    within: tuple[int, int] | None = None
    inside: Bools | None = None
    ids: WindowIds | None = None
    given: GivenRows | None = None
    untimed: bool = False

    def part(self, keys: slice, rows: slice, within: tuple[int, int] | None = None) -> PartialsView:
        """The view of some keys, and the rows of these, or some rows of one key."""
        part = self._of(rows, (self.starts[keys] - rows.start).clip(0), (key[keys] for key in self.keys), within)
        return part if self.given is None else replace(part, given=self.given.part(keys))

    def only(self, rows: Ints) -> PartialsView:
        """The view of some rows, in their order."""
        key = self.key[rows]
        starts = np.flatnonzero(differs(key))
        return self._of(rows, starts, (column.take(pa.array(key[starts])) for column in self.keys), self.within)

    def _of(
        self, rows: slice | Ints, starts: Ints, keys: Iterable[pa.Array], within: tuple[int, int] | None
    ) -> PartialsView:
        inputs = self.window_inputs
        return PartialsView(
            self.frames[rows],
            starts,
            inputs.part(rows)
            if isinstance(inputs, WindowInputs) and isinstance(rows, slice)
            else {name: values[rows] for name, values in inputs.items()},
            tuple(keys),
            within,
            None if self.inside is None else self.inside[rows],
            None if self.ids is None else WindowIds(self.ids.first[rows], self.ids.last[rows]),
            untimed=self.untimed,
        )

    @cached_property
    def ends(self) -> Ints:
        """The row after the last one of each key."""
        return np.append(self.starts[1:], len(self.frames)).astype(np.int64)[: len(self.starts)]

    @cached_property
    def key(self) -> Ints:
        """The number of each row's key."""
        return self.of_keys(np.arange(len(self.starts)))

    def around(self, first: int, last: int) -> tuple[Ints, Ints, bool]:
        """The rows from a first to a last one around each, as far as its key has them; whether none can be empty."""
        rows = len(self.frames)
        low, high = np.empty(rows, np.int64), np.empty(rows, np.int64)
        filled = loops.rows_around(self.starts.astype(np.int64, copy=False), first, last, low, high)
        return low, high if last else numbers(rows + 1)[1:], filled  # shared, where each ends at its own row

    def of_keys(self, each: Ints) -> Ints:
        """What each key has, for each row."""
        return np.repeat(each, self.ends - self.starts)

    def locate(self, keys: Ints, positions: Ints, of: Ints | None = None) -> Ints:
        """The first row of each key (by number) whose frame, or other ascending number, is not below a position."""
        rows = self.frames if of is None else of
        if loops.compiled:
            columns = (rows, self.starts.astype(np.int64, copy=False), self.ends, keys, positions)
            place: Ints = np.empty(len(keys), np.int64)
            loops.first_rows(*map(np.ascontiguousarray, columns), place)
            return place
        found = self._places if of is None else places_of(self.key, len(self.starts), of)
        if found is not None:
            packed, least, size = found
            wanted = keys * size + (positions - least).clip(0, size - 1)
            place = np.searchsorted(packed, wanted).astype(np.int64, copy=False)
            return place
        numbers, size = span(np.concatenate([rows, positions]))
        together, _ = pack([(np.concatenate([self.key, keys]), len(self.starts)), (numbers, size)], len(numbers))
        return np.searchsorted(together[: len(rows)], together[len(rows) :], side="left").astype(np.int64)

    def locate_again(self, keys: Ints, positions: Ints) -> Ints:
        """:meth:`locate`, once where the last positions were the same: windows of several kinds may end alike."""
        last = self._last
        same = last and (last[0] is keys or np.array_equal(last[0], keys))
        if not (same and np.array_equal(last[1], positions)):
            last[:] = keys, positions, self.locate(keys, positions)
        return last[2]

    @cached_property
    def _last(self) -> list[Ints]:
        return []

    @cached_property
    def key_given(self) -> Ints:
        """The number of the key of each row that is :attr:`given`."""
        counts = () if self.given is None else self.given.counts
        return np.repeat(np.arange(len(counts)), counts)

    @cached_property
    def _places(self) -> tuple[Ints, int, int] | None:
        return places_of(self.key, len(self.starts), self.frames)

    def from_place(self, place: Ints) -> Bools:
        """Mask of the rows from a place in their key on, and of each key's last row in any case."""
        first = np.minimum(self.starts + place.clip(0), self.ends - 1)
        found: Bools = np.arange(len(self.frames)) >= first[self.key]
        return found

    def first_of(self, mask: Bools) -> Ints:
        """For each key the first row that a mask has; one past the key's last row if it has none."""
        rows = np.where(mask, np.arange(len(mask)), np.iinfo(np.int64).max)
        return np.minimum(np.minimum.reduceat(rows, self.starts), self.ends)


def places_of(key: Ints, keys: int, numbers: Ints) -> tuple[Ints, int, int] | None:
    """Keys and numbers packed as one; the least number, and how many there may be with one above; None: no room."""
    least, greatest = edges(numbers) if len(numbers) else (0, 0)
    size = greatest - least + 2
    return None if size * max(keys, 1) > MAX_PACKED else (key * size + (numbers - least), least, size)
