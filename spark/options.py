"""How a query runs, or which windows its result has: choices that never change its values."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from ..aggregators.durations import positive
from ..aggregators.errors import QueryError
from ..runtime.columns.ticks import Duration, Instant

WAYS = ("auto", "driver", "executors")
ACCUMULATORS = ("auto", "spark", "python")
READERS = ("auto", "spark")
LATE = ("drop", "drop_partial", "update")
SHAPES = ("struct", "flat")


class Choices(TypedDict, total=False):
    """The arguments of ``.options(...)``, as editors know them: the fields of :class:`Options`."""

    combine: Literal["auto", "driver", "executors"]
    max_driver_partials: int
    accumulate: Literal["auto", "spark", "python"]
    read: Literal["auto", "spark"]
    shards: int | None
    checkpoint: str | os.PathLike[str] | None
    trust_checkpoint: bool
    forget: Duration | None
    watermark: str | None
    ahead: Duration | None
    early: Duration | None
    late: Literal["drop", "drop_partial", "update"]
    allowed_lateness: Duration | None
    window: Literal["struct", "flat"]
    history: Any
    until: Instant | None


@dataclass(frozen=True)
class Options:
    """Where partials are combined, how many of them the driver may take, and what makes them.

    Parameters
    ----------
    combine
        ``"driver"``: the partials are collected and slid on the driver; the query runs at once, and the rows of the
        DataFrame are in order; an EngineError where results take more than 1 GiB. ``"executors"``: the partials are
        shuffled by key and slid by tasks, in chunks of results; lazy, nothing runs before the DataFrame is used (but
        for windows counted in rows events are sorted and numbered at once, and persisted until the DataFrame is no
        longer needed). ``"auto"``: the partials go to the driver if there are few enough of them, and results come from
        there if they take at most 256 MiB, and from tasks to which it sends the partials if those take less; else
        executors do both.
    max_driver_partials
        The most partials, one for each (key, frame) and task, that ``"auto"`` takes to the driver. Where there are
        more, other tasks may merge those of several tasks first, and have at most as many left. Where windows are
        counted in rows, the most events.
    accumulate
        ``"spark"``: Spark SQL accumulates, and only partials come to Python; an error where it cannot. ``"python"``:
        tasks accumulate, in mapInArrow or where they read files. ``"auto"``: tasks for files, and for DataFrames Spark
        SQL where it can.
    read
        ``"spark"``: Spark reads files and DataFrames. ``"auto"``: tasks read files where they can, also those of a
        DataFrame that is nothing but a scan of Parquet files; Spark reads any other.
    shards
        Of a stream: into how many parts keys are dealt, each of which slides at once; None for as many as Spark's state
        has partitions.
    checkpoint
        Of a stream: the ``checkpointLocation`` that its results are started with. If there is the state of another
        query, that is an error when the query is written, and not with the first new event.
    trust_checkpoint
        Of a stream: whether states that are Python objects may be in the checkpoint, as pickles. Who can write there
        can then run code in the query.
    forget
        Of a stream: how long after its last event a key is kept that later windows depend on, such as ``"1 day"``, and
        is given windows without an event (``empty="emit"``). None: for ever.
    watermark
        Of a stream that has none on its time: how long late events are waited for, as ``withWatermark`` takes it.
    ahead
        Of a stream with ``watermark``: how far beyond the clock of the cluster times may be, such as ``"1 hour"``.
        Events of later times are dropped, and counted, before they can close the windows of all others.
    early
        Of a stream: how often windows that are still open are given, too, with what they have by then, such as
        ``"1 minute"`` by the clock. The result then has a column ``provisional``, and is for the output mode update.
    late
        Of a stream: ``"drop"`` for events whose windows have all closed, ``"drop_partial"`` for those of which any
        has, so that no window lacks one that a later window has; or ``"update"``: they enter closed windows
        for ``allowed_lateness`` more, and these are given again. The result then has a column ``revision``, and is for
        the output mode update.
    allowed_lateness
        Of a stream with ``late="update"``: how long after it has closed a window takes late events, by the watermark.
    window
        ``"struct"``: a result has a column ``window`` with ``start`` and ``end``. ``"flat"``: columns ``window_start``
        and ``window_end``.
    history
        Of a stream: a DataFrame, or ``ff.events`` of one, of the events before ``until``, from which a new checkpoint
        starts; windows that end by then are not given.
    until
        The time from which on events are the stream's: those of the history, and of the stream, on the other side of
        it are left out.

    Raises
    ------
    QueryError
        If a choice is not one of these.

    Examples
    --------
    >>> Options(combine="driver").max_driver_partials
    5000000
    """

    combine: str = "auto"
    max_driver_partials: int = 5_000_000
    accumulate: str = "auto"
    read: str = "auto"
    shards: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    trust_checkpoint: bool = False
    forget: Duration | None = None
    watermark: str | None = None
    ahead: Duration | None = None
    early: Duration | None = None
    late: str = "drop"
    allowed_lateness: Duration | None = None
    window: str = "struct"
    history: Any = field(default=None, repr=False, compare=False)
    until: Instant | None = None

    def __post_init__(self) -> None:
        words = {"combine": WAYS, "accumulate": ACCUMULATORS, "read": READERS, "late": LATE, "window": SHAPES}
        for name, known in words.items():
            if getattr(self, name) not in known:
                ways = ", ".join(repr(way) for way in known)
                raise QueryError(f"{name} is {getattr(self, name)!r}, expected one of {ways}")
        bound = self.max_driver_partials
        if isinstance(bound, bool) or not isinstance(bound, int) or bound < 0:
            raise QueryError(f"max_driver_partials is {bound!r}, expected a whole number of at least 0")
        for name in ("forget", "ahead", "early", "allowed_lateness"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name)
        if self.ahead is not None and self.watermark is None:
            raise QueryError(
                f"ahead is {self.ahead!r}, but the watermark is not framefold's, and has seen such times; expected "
                "watermark='10 minutes', or how long late events are waited for, and a stream without withWatermark"
            )
        if (self.late == "update") is not (self.allowed_lateness is not None):
            raise QueryError(
                f"late is {self.late!r} and allowed_lateness {self.allowed_lateness!r}; expected late='update' with "
                "allowed_lateness='10 minutes', or how long closed windows take late events, or neither"
            )
        if (self.history is None) is not (self.until is None):
            raise QueryError(
                f"history is {'not ' * (self.history is None)}given and until is {self.until!r}; expected both: the "
                "events before a time, and this time"
            )
        shards = self.shards
        if shards is not None and (isinstance(shards, bool) or not isinstance(shards, int) or shards < 1):
            raise QueryError(f"shards is {shards!r}, expected a whole number of at least 1")
