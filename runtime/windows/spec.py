"""What every kind of windows says: which frame an event is in, and which ranges of frames form windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.errors import EngineError, QueryError
from ..keys import pack, span
from ..times import TimeColumn

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
TypeOf = Callable[[str, str], pa.DataType]
"""The type of a column by its name, for an argument that messages name."""

MOST = 1 << 29
"""More windows than this do not fit one process's memory; the query is refused instead."""


class Ranges(NamedTuple):
    """The windows of a partials table, sorted by key and window (or by ``at``): half-open ranges of its rows.

    ``low`` and ``high`` bound the rows of each window, ``row`` is some row of its key (the one it belongs to, where the
    windows have a reach), ``start`` and ``end`` are its bounds in ticks, and ``at`` is the time its result is stamped
    with, where the windows have one.
    """

    low: Ints
    high: Ints
    row: Ints
    start: Ints
    end: Ints
    at: Ints | None = None

    def where(self, kept: Any) -> Ranges:
        """Some of the windows."""
        low, high, row, start, end = (column[kept] for column in self[:5])
        return Ranges(low, high, row, start, end, None if self.at is None else self.at[kept])


class Runs(NamedTuple):
    """Windows that are no ranges of rows: each row is in a run of windows.

    ``first`` and ``last`` are the first and the last window of each row's run, by their place among all of them; where
    a row is in none, ``first`` is above ``last``. The other columns are those of :class:`Ranges`.
    """

    first: Ints
    last: Ints
    row: Ints
    start: Ints
    end: Ints
    at: Ints | None = None


@dataclass(frozen=True)
class Pieces:
    """Partials as windows see them, sorted by key and frame.

    Parameters
    ----------
    frames
        The frame of each row; a row may be only a part of its frame, so numbers can repeat.
    starts
        The first row of each key.
    facts
        What the windows asked to know of each row, by name; see :attr:`Windows.facts`.
    keys
        The key columns, with one value for each key.
    """

    frames: Ints
    starts: Ints
    facts: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    keys: tuple[pa.Array, ...] = ()

    @cached_property
    def ends(self) -> Ints:
        """The row after the last one of each key."""
        return np.append(self.starts[1:], len(self.frames)).astype(np.int64)[: len(self.starts)]

    @cached_property
    def key(self) -> Ints:
        """The number of each row's key."""
        return np.repeat(np.arange(len(self.starts)), self.ends - self.starts)

    def locate(self, keys: Ints, positions: Ints, of: Ints | None = None) -> Ints:
        """The first row of each key (by number) whose frame, or other ascending number, is not below a position."""
        rows = self.frames if of is None else of
        numbers, size = span(np.concatenate([rows, positions]))
        packed, _ = pack([(np.concatenate([self.key, keys]), len(self.starts)), (numbers, size)], len(numbers))
        return np.searchsorted(packed[: len(rows)], packed[len(rows) :], side="left").astype(np.int64)


class Alive(NamedTuple):
    """The frames in which interval events live, in one list sorted by key and time, and the events' places in it.

    ``first`` and ``last`` are the frames in which the events of each partial start and end, ``frames`` are these frames
    as windows see them, and ``ticks`` says how long each is (None where that is not known).
    """

    first: Ints
    last: Ints
    frames: Pieces
    ticks: Ints | None


class Spec(ABC):
    """A window specification as a user writes it: frozen, printed in words, bound to a time column to be used."""

    intervals: ClassVar[Literal["never", "also", "only"]] = "never"
    """Whether windows are for events with an end."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that the windows themselves need, besides the time."""
        return ()

    @abstractmethod
    def __str__(self) -> str:
        """The windows in words."""

    @abstractmethod
    def bind(self, time: TimeColumn, type_of: TypeOf) -> Windows:
        """The windows on a time column, in its ticks."""

    def draw(self, events: Any) -> Any:
        """A picture of the windows over some events: events, frames, windows with their counts, and the time line.

        Parameters
        ----------
        events
            ``ff.events(...)`` of Arrow data with at most 200 events, or a list of times.

        Returns
        -------
        drawsvg.Drawing
            Notebooks show it; ``.as_svg()`` is its text, and ``.save_svg(path)`` writes it.

        Raises
        ------
        EngineError
            If drawsvg is not installed, or the events are on Spark.
        QueryError
            If there are too many events or windows for a picture, or none.

        Examples
        --------
        >>> import framefold as ff
        >>> picture = ff.sliding(4, every=2).draw([1, 2, 4])
        >>> picture.as_svg().count("<rect") >= 4
        True
        """
        from ..draw import draw

        if isinstance(events, (list, tuple, pa.Array, np.ndarray)):
            return draw(self, pa.table({"time": pa.array(events)}), time="time", by=(), until=None, ties=())
        source = getattr(getattr(events, "engine", None), "source", None)
        if source is None:
            raise EngineError(
                f"draw() is given {events!r:.80}; expected ff.events(...) of Arrow data, or a list of times"
            )
        table = source.batches(source.schema.names).read_all()
        return draw(self, table, time=events.time, by=events.by, until=events.until, ties=events.ties)


@dataclass(frozen=True, kw_only=True)
class Windows(ABC):
    """Windows in ticks of a time column.

    Parameters
    ----------
    emit
        ``"on_change"`` leaves out a window that has the same events as the one before it.
    stamp
        ``"start"`` or ``"end"`` give results a time ``at``: that end of their window.

    Attributes
    ----------
    axis
        What frames are stretches of: ``"time"``, or ``"rows"``, the rows of each key in their order.
    facts
        What must be known of every partial: ``"rows"`` (how many events it has), ``"first"`` and ``"last"`` (their
        least and greatest tick), ``"rank"`` (their least row number), or, where a frame is one row, the values of a
        column by its name.
    """

    time: TimeColumn
    emit: str = "every"
    stamp: str = "interval"
    axis: ClassVar[Literal["time", "rows"]] = "time"
    facts: ClassVar[frozenset[str]] = frozenset()
    whole_frames: ClassVar[bool] = False
    """Whether interval events live all through every frame they are in."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns whose values are facts."""
        return ()

    @property
    def reach(self) -> tuple[int, int] | None:
        """How many rows of its key a window takes in before and after the one it belongs to; None: any number."""
        return None

    @property
    def step(self) -> int:
        """Where windows have a reach: no frame straddles a multiple of so many rows."""
        return 1

    def check_keys(self, names: tuple[str, ...], types: list[pa.DataType]) -> None:  # noqa: B027  # most fit any
        """QueryError unless the windows fit the keys of the events."""

    def keys_of_their_own(self, types: list[pa.DataType]) -> list[pa.Array] | None:
        """Key columns with keys that have windows even without an event; None where only events have keys."""
        return None

    @property
    def stamped(self) -> bool:
        """Whether results have a time ``at``."""
        return self.stamp != "interval"

    @property
    def forward(self) -> bool:
        """Whether both ends of the ranges only move forward."""
        return True

    @property
    def runs(self) -> bool:
        """Whether windows may be no ranges of rows, but whatever of them is left."""
        return False

    @property
    def block(self) -> tuple[int, int] | None:
        """(origin, width) in ticks: no frame straddles two of ``(ticks - origin) // width``; None: unknown."""
        return None

    @property
    def frames_in_window(self) -> int | None:
        """How many frames a window has, where it is always the same number."""
        return None

    @abstractmethod
    def frames(self, ticks: Ints, ranks: Ints | None) -> tuple[Ints, Mask | None]:
        """The frame of each event, never falling with time, and which events are in any window (None: all)."""

    @abstractmethod
    def all_ranges(self, pieces: Pieces) -> Ranges | Runs:
        """Every window over partials."""

    def ranges(self, pieces: Pieces) -> Ranges | Runs:
        """The windows over partials whose results are wanted."""
        found = self.all_ranges(pieces)
        if isinstance(found, Runs):
            return found
        if self.emit == "on_change" and len(found.low):
            key = pieces.key[found.row]
            same = (found.low[1:] == found.low[:-1]) & (found.high[1:] == found.high[:-1]) & (key[1:] == key[:-1])
            found = found.where(np.concatenate([[True], ~same]))
        if self.stamp != "interval" and found.at is None:
            found = found._replace(at=found.end if self.stamp == "end" else found.start)
        return found

    def stretch(self, frames: Ints) -> tuple[Ints, Ints] | None:
        """The first tick of each frame and the first after it; None where frames have no bounds by themselves."""
        return None

    def alive(self, pieces: Pieces, first: Ints, until: Ints) -> Alive:
        """The frames in which interval events live.

        Parameters
        ----------
        pieces
            Their partials.
        first, until
            A tick in the frame in which the events of each partial start, and one in that in which they end.
        """
        begin, end = self.frames(first, None)[0], self.frames(until, None)[0]
        stretches = join_stretches(self.describe(), pieces, begin, end)
        bounds = self.stretch(stretches.frames.frames)
        return stretches if bounds is None else stretches._replace(ticks=bounds[1] - bounds[0])

    @abstractmethod
    def describe(self) -> str:
        """The windows in words."""

    @abstractmethod
    def describe_frames(self) -> str:
        """How the line is cut, in words."""


def one_of(argument: str, value: object, choices: Mapping[str, str] | tuple[str, ...]) -> None:
    """QueryError unless an argument is one of some words; a mapping says what each stands for."""
    if value not in tuple(choices):
        words = [
            f"{word!r} {choices[word]}".strip() if isinstance(choices, Mapping) else repr(word) for word in choices
        ]
        raise QueryError(f"{argument} is {value!r}; expected {', '.join(words[:-1])} or {words[-1]}")


def whole(argument: str, value: object, least: int) -> int:
    """An argument that counts something; QueryError unless it is an integer of at least so many."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise QueryError(f"{argument} is {value!r}; expected an integer of {least} or more")
    return int(value)


class Numbered(NamedTuple):
    """Windows by their numbers: ranges of rows, some row of the key, the number."""

    low: Ints
    high: Ints
    row: Ints
    number: Ints

    def where(self, kept: Any) -> Numbered:
        """Some of the windows."""
        return Numbered(*(column[kept] for column in self))


def numbered(windows: str, pieces: Pieces, first: Ints, last: Ints, empty: str = "skip") -> Numbered:
    """The windows over partials, where each frame is in a run of windows of consecutive numbers.

    Both ends of all ranges come from counting, without any search: a frame is the first one in the windows that
    take it in but not the frame before it, and the last one in those that do not take in the next.

    Parameters
    ----------
    windows
        What they are, for a message.
    pieces
        The partials.
    first, last
        The first and the last window that take in each row's frame, both ascending in each key; where none does,
        ``first`` is above ``last``.
    empty
        ``"emit"`` for all windows from a key's first to its last, ``"skip"`` for those with events.
    """
    covered = np.flatnonzero(first <= last)
    if len(covered) == len(first):
        return _numbered(windows, first, last, pieces.starts, empty)
    key = pieces.key[covered]
    anew = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])[: len(key)])
    found = _numbered(windows, first[covered], last[covered], anew, empty)
    rows = np.append(covered, len(first))
    low, filled = rows[found.low], found.high > found.low
    high = np.where(filled, rows[found.high - 1] + 1, low)
    return Numbered(low, high, rows[found.row], found.number)


def _numbered(windows: str, first: Ints, last: Ints, starts: Ints, empty: str) -> Numbered:
    rows = len(first)
    if not rows:
        none = np.empty(0, np.int64)
        return Numbered(none, none, none, none)
    ends = np.append(starts[1:], rows) - 1
    begin = np.empty_like(first)  # the first window that no earlier frame is in
    begin[1:] = last[:-1] + 1
    begin[starts] = first[starts]
    stop = np.empty_like(last)  # the first window that a later frame is in
    stop[:-1] = first[1:]
    stop[ends] = last[ends] + 1
    if empty == "skip":
        begin, stop = np.maximum(begin, first), np.minimum(stop, last + 1)
    entering, leaving = last + 1 - begin, stop - first
    total = float((last.astype(np.float64) + 1 - begin).sum())  # int64 may wrap where it is far too much
    if total > MOST:
        raise QueryError(
            f"{windows} are {total:.2g} over {rows} frames, more than one process can hold; expected a longer step, or "
            "empty='skip' where it is 'emit'"
        )
    low = np.repeat(np.arange(rows), entering)
    high = np.repeat(np.arange(1, rows + 1), leaving)
    before = np.cumsum(entering) - entering
    number = np.arange(len(low)) - np.repeat(before - begin, entering)
    return Numbered(np.minimum(low, high), high, low, number)


def join_stretches(windows: str, pieces: Pieces, begin: Ints, end: Ints) -> Alive:
    """The frames that stretches of consecutive frames take in together; ``begin`` ascends in each key."""
    key = pieces.key
    packed, _ = pack([(key, len(pieces.starts)), span(end)], len(end))
    longest = np.maximum.accumulate(packed)
    fresh = np.ones(len(begin), bool)
    reached = end[np.maximum.accumulate(np.where(packed == longest, np.arange(len(end)), 0))]
    fresh[1:] = (key[1:] != key[:-1]) | (begin[1:] > reached[:-1])
    heads = np.flatnonzero(fresh)
    lengths = reached[np.append(heads[1:], len(end))[: len(heads)] - 1] - begin[heads] + 1
    if float(lengths.astype(np.float64).sum()) > MOST:
        raise QueryError(
            f"{windows}: the events live in {float(lengths.astype(np.float64).sum()):.2g} frames, more than one "
            "process can hold; expected a longer step, or shorter lives"
        )
    offsets = np.cumsum(lengths) - lengths
    frames = np.repeat(begin[heads] - offsets, lengths) + np.arange(int(lengths.sum()))
    starts = offsets[np.searchsorted(key[heads], np.arange(len(pieces.starts)))].astype(np.int64)
    stretch = np.cumsum(fresh) - 1
    shift = (offsets - begin[heads])[stretch]
    return Alive(begin + shift, end + shift, Pieces(frames, starts, {}, pieces.keys), None)
