"""What stages ask of windows, whatever their kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from ...aggregators.states.arrays import Bools, Ints
from ..columns.ticks import NEVER, TimeColumn
from .filling import Fill
from .live_frames import LiveFrames, changed, join_intervals
from .partials_view import GivenRows, PartialsView, WindowIds
from .window_ranges import Coverage, Ranges

Pattern: TypeAlias = Literal["monotonic", "weakest", "weak", "strict"]
"""How a relation is updated: it only grows; rows end in the order in which they came; in another order, but when is
known as they come; or that is not known."""

TypeOf = Callable[[str, str], pa.DataType]
"""The type of a column by its name, for an argument that messages name."""


class Numbering(NamedTuple):
    """Frames numbered by integer division of ticks: steps, or their two parts.

    Attributes
    ----------
    origin, width
        A tick's step is ``(tick - origin) // width``, which is its number where steps are whole.
    first
        The ticks of the first part of each step, where it has two. Parts have the numbers ``2 * step`` and
        ``2 * step + 1``. 0: steps are whole.
    second
        Whether the second parts are in any window.
    """

    origin: int
    width: int
    first: int = 0
    second: bool = True


class RowsBack(NamedTuple):
    """The window of each row as a range of rows of its key, by distance from the row itself, none of them after it.

    Attributes
    ----------
    first, last
        How many rows before its own the first and the last row of a window are; ``first`` None: the key's first row.
    full
        Whether windows that would begin before the key's first row are left out.
    """

    first: int | None
    last: int
    full: bool


class RowOrder(NamedTuple):
    """SQL of a DataFrame's events in the order of their key: its columns, the tick of a row, the order of rows."""

    keys: str
    tick: str
    order: str

    @property
    def by_key(self) -> str:
        """The rows of a key, for a window function."""
        return f"partition by {self.keys}" if self.keys else ""

    @property
    def over(self) -> str:
        """The rows of a key in their order, for a window function."""
        return f"{self.by_key} order by {self.order}"


class WindowSpec(ABC):
    """Windows as a user writes them, as far as a plan asks: bound to a time column they are :class:`Windows`."""

    intervals: ClassVar[Literal["never", "also", "only"]] = "never"
    """Whether windows are for events with an end."""
    of_durations: ClassVar[bool] = True
    """Whether durations say what the windows are, so that these must fit the time."""

    columns: tuple[str, ...] = ()
    """The input columns that the windows themselves need, besides the time."""

    @abstractmethod
    def __str__(self) -> str:
        """The windows in words."""

    @abstractmethod
    def bind(self, time: TimeColumn, type_of: TypeOf) -> Windows:
        """The windows on a time column, in its ticks."""


@dataclass(frozen=True, kw_only=True)
class Windows(ABC):
    """Windows in ticks of a time column.

    Parameters
    ----------
    emit
        ``"on_change"`` leaves out a window that has the same events as the one before it.
    stamp
        ``"start"`` or ``"end"`` give results a time ``at``: that end of their window. With ``"own"`` the windows give
        them one, with ``"interval"`` results have none.
    gaps
        ``"warn"`` for a warning where windows leave out times or rows.
    min_samples
        The least number of events of an output in a window, below which its result is null.
    fill
        From when to when windows without an event are given, and for which keys; None: where keys have events.
    columns
        The input columns whose values are window inputs.
    closed
        Which ends belong to a window: ``"left"``, ``"right"``, ``"both"`` or ``"neither"``.
    empty
        ``"emit"`` for windows without an event, too; ``"skip"`` for those that have some.
    moved
        Where windows were in earlier versions, for a warning; nothing where they were the same.

    Attributes
    ----------
    unit
        What frames divide: ``"time"``, or ``"rows"``, the rows of each key in their order.
    window_inputs
        What the windows need of every partial: ``"rows"`` (how many events it has), ``"first"`` and ``"last"`` (their
        least and greatest tick), ``"rank"`` (their least row number), or, where a frame is one row, the values of a
        column by its name.
    """

    time: TimeColumn
    emit: str = "every"
    stamp: str = "interval"
    gaps: str = "allow"
    min_samples: int = 0
    fill: Fill | None = None
    columns: tuple[str, ...] = ()
    closed: str = "left"
    empty: str = "skip"
    moved: str = field(default="", compare=False, repr=False)
    unit: ClassVar[Literal["time", "rows"]] = "time"
    window_inputs: ClassVar[frozenset[str]] = frozenset()
    whole_frames: ClassVar[bool] = False
    """Whether interval events live all through every frame they are in."""
    endless: ClassVar[bool] = False
    """Whether windows, few enough, take in interval events that never end."""
    forward: ClassVar[bool] = True
    """Whether both ends of the ranges only move forward."""
    counts_rows: ClassVar[bool] = False
    """Whether a window is found by counting rows, so that a stream keeps all from the first one on that is needed."""
    given: ClassVar[bool] = False
    """Whether there are windows whatever the events: some may have none, or be of a key that has none."""
    merging: ClassVar[bool] = False
    """Whether an event may join two windows, so that one in a window that has closed may be in an open one."""
    runs: ClassVar[bool] = False
    """Whether a window may lack rows between its first and last, so that windows are a Coverage."""
    alone_in_streams: ClassVar[bool] = False
    """Whether a stream cannot have them with another kind in the same pass."""
    one_for_each: ClassVar[Literal["event", "label", "step"] | None] = None
    """What has at most one window for each row: the events, or another table; None: neither.

    ``"step"``: windows of several kinds have the same keys and times ``at``, in the same order.

    Where it is events, :meth:`ranges` have a row of the window's event, or of others of its frame, as ``row``;
    where it is another table, the numbers of its rows as ``of``.
    """

    @cached_property
    def after_start(self) -> int:
        """How many ticks after its start the first one of a window is: one where the start is not in it."""
        return int(self.closed in ("right", "neither"))

    @cached_property
    def after_end(self) -> int:
        """How many ticks after its end the first one is that is too late for a window: one where the end is in it."""
        return int(self.closed in ("right", "both"))

    def cuts_as(self, other: Windows) -> bool:
        """Whether another kind has the same frames, and neither leaves out an event that the other has."""
        return False

    def rows_given(self, view: PartialsView) -> GivenRows | None:
        """The rows of another table that windows are for, by the keys of partials; None where there is none."""
        return None

    def same_rows(self, other: Windows) -> bool:
        """Whether another kind has the same :meth:`rows_given`."""
        return False

    @property
    def before_all(self) -> int:
        """The frame of partials without events, for keys that windows bring themselves."""
        return -1

    @property
    def tick_span(self) -> tuple[int, int] | None:
        """The ticks that a window around an event takes in before and after it, where frames are ticks; else None."""
        return None

    @property
    def row_span(self) -> tuple[int, int] | None:
        """(lookback, lookahead): the rows a window takes in before and after its own; None: any number."""
        return None

    @property
    def rows_back(self) -> RowsBack | None:
        """The rows up to its own that each row's window has, all of them in windows; None where it is otherwise."""
        return None

    @property
    def ticks_around(self) -> tuple[int, int] | None:
        """The first tick of each event's window, and the first one after it, by distance from its own; else None."""
        return None

    @property
    def step(self) -> int:
        """Where windows have a row span: no frame straddles a multiple of this many rows."""
        return 1

    @property
    def frame_span(self) -> tuple[int, int] | None:
        """The frames that a window takes in before and after its own, where each has one, or one an event; else None.

        Such a window has the number of its frame.
        """
        return self.tick_span or (self.row_span if self.step == 1 and self.emit == "every" else None)

    def keys_of_their_own(self, types: list[pa.DataType]) -> list[pa.Array] | None:
        """The keys that windows are given for, whether these have events or not; None: for those that have."""
        return None if self.fill is None or self.fill.keys is None else list(self.fill.keys)

    @property
    def anchor_keys(self) -> Sequence[tuple[str, pa.Array]]:
        """The names and columns of the keys of anchors, where each window is for the events of its key."""
        return ()

    def with_anchor_keys(self, keys: tuple[pa.Array, ...]) -> Windows:
        """The same with these columns for :attr:`anchor_keys`: of the types that hold the keys of the events, too."""
        return self

    @property
    def anchor_ticks(self) -> tuple[Ints, Ints] | None:
        """The tick from which each anchor's window has events of its key, and the first one after it.

        None where there are no anchors with keys, or some have no window.
        """
        return None

    @property
    def anchor_frames(self) -> tuple[Ints, Ints] | None:
        """The first frame of each anchor's window, and the first one after it; None where there are no anchors."""
        return None

    def of_anchors(self, rows: Ints, keys: pa.Array, ticks: tuple[int, int]) -> Windows | None:
        """The same of some anchors, with other keys: a single column; None where each event's tick is no frame.

        All events have frames, from the first of ``ticks`` to the last.
        """
        return None

    @property
    def samples_in_words(self) -> str:
        """What ``fill`` and ``min_samples`` ask for, in words that follow others."""
        words = "" if self.fill is None else self.fill.words + (" for given keys" if self.fill.keys else "")
        return f"{words}, null below {self.min_samples} samples" if self.min_samples else words

    @property
    def named(self) -> str:
        """The kind of windows, in words."""
        return self.describe()

    @property
    def left_out(self) -> str | None:
        """The share of time, or of rows, in no window, in words; None: nothing, or it depends on the events."""
        return None

    @property
    def block(self) -> tuple[int, int] | None:
        """(origin, width) in ticks: no frame straddles two of ``(ticks - origin) // width``; None: unknown."""
        return self.numberings[0][:2] if self.numberings else None

    @property
    def numberings(self) -> tuple[Numbering, ...] | None:
        """Numberings whose sum is the number of a frame; None where integer division does not give it.

        Where there are any, Spark SQL makes partials without asking :meth:`frames`, so that some may be in no window:
        :meth:`ranges` leaves them out.
        """
        return None

    @property
    def frames_in_window(self) -> int | None:
        """The number of frames in a window, where it is constant."""
        return None

    def frames(self, ticks: Ints, ranks: Ints | None = None) -> tuple[Ints, Bools | None]:
        """The frame of each event, never falling with time, and which events are in any window (None: all).

        A frame a row, or a frame a tick, where windows do not say otherwise.
        """
        if self.unit == "time":
            return ticks, None
        assert ranks is not None
        return ranks, None

    def frames_unchecked(self, ticks: Ints) -> Ints:
        """The frames of times that lie between times already passed to :meth:`frames`: without its checks of range."""
        return self.frames(ticks, None)[0]

    def cuts(self, first: Ints, until: Ints) -> Bools:
        """Which runs of ticks, from one on and up to another, have ticks in other windows than the first one."""
        cut: Bools = self.frames(first, None)[0] != self.frames(until - 1, None)[0]
        return cut

    def reached(self, found: Ranges | Coverage) -> Ints:
        """The start of each window; of several that are in one row, that of the longest."""
        return found.start

    @abstractmethod
    def ranges(self, partials: PartialsView) -> Ranges | Coverage:
        """Every window over partials, also those that ``emit`` leaves out; some partials may be in none."""

    def window_ids(self, partials: PartialsView) -> WindowIds | None:
        """The first and the last window of each row, where they have consecutive numbers; None: about one a row."""
        return None

    @property
    def chunkable(self) -> bool:
        """Whether a key's windows can be made in chunks, by their numbers: they depend only on the rows in them."""
        return False

    def emitted(self, ranges: Ranges | Coverage, partials: PartialsView) -> Ranges | Coverage:
        """Windows without those that ``emit`` leaves out, with the times that ``stamp`` gives them."""
        on_change = self.emit == "on_change"
        if isinstance(ranges, Coverage):
            return ranges.where(changed(ranges.first, ranges.last, partials.key[ranges.row])) if on_change else ranges
        if on_change and len(ranges.low):
            key, empty = partials.key[ranges.row], ranges.high == ranges.low
            same = (ranges.low[1:] == ranges.low[:-1]) & (ranges.high[1:] == ranges.high[:-1])
            same = (same | (empty[1:] & empty[:-1])) & (key[1:] == key[:-1])
            ranges = ranges.where(np.concatenate([[True], ~same]))
        if self.stamp in ("start", "end") and ranges.at is None:
            ranges = ranges._replace(at=ranges.end if self.stamp == "end" else ranges.start)
        return ranges

    # Of a stream: when windows close, and what is kept until then. Without any of this a kind of windows is answered
    # from all events that the watermark has passed, in their order.

    @property
    def emits_empty(self) -> bool:
        """Whether windows without an event are asked for."""
        return self.empty == "emit"

    @property
    def closes_at_end(self) -> bool:
        """Whether every window closes where it ends."""
        return False

    @property
    def stream_inputs(self) -> frozenset[str]:
        """What a stream needs of every partial beside :attr:`window_inputs`."""
        return frozenset({"first", "last"} if self.emits_empty else ())

    def why_no_stream(self, alone: bool) -> str | None:
        """Why a stream cannot answer them, in words; None where it can. ``alone``: no other kind is in its pass."""
        if alone or not self.alone_in_streams:
            return None
        return f"there are several kinds of windows in one pass, among them {self.named}"

    def needs_order(self, alone: bool) -> bool:
        """Whether windows that are open, or to come, depend on events whose own have closed: then events are held back.

        ``alone`` says that no other kind is in the same pass.
        """
        return True

    def closing_ticks(self, ranges: Ranges | Coverage, view: PartialsView) -> Ints:
        """For each window the first tick from which on no event changes it, or brings it about.

        Parameters
        ----------
        ranges
            The windows over some partials, all of them or some.
        view
            These partials.
        """
        return (ranges.end if ranges.at is None else np.maximum(ranges.end, ranges.at)) + 1

    def next_closing(self, ranges: Ranges | Coverage, view: PartialsView, watermark: int) -> int:
        """The first of their closing ticks beyond a watermark; :data:`NEVER` where there is none."""
        ticks = self.closing_ticks(ranges, view)
        return int(ticks[ticks > watermark].min(initial=NEVER))

    def closed_after(self, ticks: Ints, forget: int) -> Ints:
        """For events at some times the tick by which all windows have closed that a key has if nothing comes after.

        Windows that wait for more rows do not close then, and are not meant. ``forget`` is how long after its last
        event a key has windows without one, in ticks.
        """
        return np.full(len(ticks), NEVER)

    def open_rows(self, view: PartialsView, watermark: int) -> Bools:
        """Which partials are in a window that a watermark has not closed: new ones that are in none are late."""
        return np.ones(len(view.frames), bool)

    def needed_rows(self, view: PartialsView, watermark: int, alone: bool) -> Bools:
        """Which partials have to be kept once the windows that a watermark closes are given."""
        return self.open_rows(view, watermark)

    def condensed(self, view: PartialsView, watermark: int) -> tuple[str, Ints] | None:
        """A column to rewrite before partials are stored, so that one stands for many; None: they stay as they are.

        Its name is ``"frame"`` or that of a window input.
        """
        return None

    def frame_bounds(self, frames: Ints) -> tuple[Ints, Ints] | None:
        """The first tick of each frame and the first after it; None where frames have no bounds by themselves."""
        return None

    def live_frames(self, partials: PartialsView, first: Ints, until: Ints) -> LiveFrames:
        """The frames in which interval events live.

        Parameters
        ----------
        partials
            Their partials.
        first, until
            A tick in the frame in which the events of each partial start, and one in that in which they end.
        """
        begin, end = self.frames(first, None)[0], self.frames(until, None)[0]
        live = join_intervals(self.describe(), partials, begin, end)
        bounds = self.frame_bounds(live.frames.frames)
        return live if bounds is None else live._replace(ticks=bounds[1] - bounds[0])

    @abstractmethod
    def describe(self) -> str:
        """The windows in words."""

    @property
    def phase(self) -> str:
        """Where the steps of windows begin, as text; kept states fit no windows of another one."""
        return ""

    def describe_frames(self) -> str:
        """How the axis is cut, in words."""
        return "one frame a row" if self.unit == "rows" else "one frame a time"


@dataclass(frozen=True, kw_only=True)
class WithValidity(Windows):
    """Windows with a rule that says from when to when an event is in them: relations are made by these only."""

    valid_by: ClassVar[Literal["time", "rows"]] = "time"
    """What says when an event is in the state of windows: its time, or the rows of its key."""

    def pattern(self, partitioned: bool) -> Pattern:
        """How the state of windows is updated; ``partitioned`` says whether keys have windows of their own."""
        return "weakest"

    @abstractmethod
    def validity(self, ticks: Ints, starts: Ints) -> tuple[Ints, Ints]:
        """From which tick on each event is in the state of the windows, and from which on no longer.

        The state at an instant is what is in the window that ended last by then; :data:`NEVER` is an end that never
        comes. An event for which both are equal is in no state. Events are sorted by key, whose first rows are
        ``starts``, then time.
        """

    @property
    def valid_for(self) -> int | None:
        """The most ticks from an event's time to the end of its validity; None where it may go on for ever."""
        return None

    def validity_sql(self, rows: RowOrder) -> list[dict[str, str]] | None:
        """The same in SQL, step by step: columns added in each, at last ``valid_from`` and ``valid_to``.

        A null ``valid_from`` is of an event that is in no state, a null ``valid_to`` never comes. None: not in SQL.
        """
        return None
