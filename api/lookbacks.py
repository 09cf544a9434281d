"""Lookbacks: several windows that end at the same times, whose results are columns of one row."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .aggregators.contract.operation import Operation
from .aggregators.durations import MICROSECONDS, Length, positive, unit_named, written
from .aggregators.errors import ColumnError, QueryError, nearest, shown
from .aggregators.states.arrays import Ints
from .engines import Labels, labels_in
from .runtime.columns.plain import plain, plain_type
from .runtime.columns.sorting import differs
from .runtime.columns.ticks import Duration, TimeColumn
from .runtime.local import LocalEngine
from .runtime.plan.bind import A_WINDOW
from .runtime.plan.window_inputs import own_name
from .runtime.windows.around import around
from .runtime.windows.calendar import business, in_calendar, reach_of
from .runtime.windows.from_table import FromAnchors
from .runtime.windows.spec import BOUNDS, Bounds, Spec, one_of
from .runtime.windows.stepped import SteppedBack

__all__ = ["lookback"]

UNITS = {
    "year": "y", "quarter": "q", "month": "mo",
    "day": "d", "hour": "h", "minute": "m", "second": "s", "millisecond": "ms", "microsecond": "us",
}  # fmt: skip
"""Units as names of columns have them, as Polars writes them; largest first."""

FEW_EDGES = 1 << 12
"""The most edges between which frames are made, where lookbacks end at times that are given."""

ONE_UNIT = re.compile(r"\s*(\d+)\s*([a-zA-Z]+)\s*")
"""A duration of one unit, in words."""


@dataclass(frozen=True, eq=False)
class Lookback:
    """Windows of some sizes that end at the same times; made by :func:`lookback`."""

    sizes: tuple[Duration, ...]
    at: Labels | None
    every: Duration | None
    closed: str
    timezone: str | None

    def __str__(self) -> str:
        where = "each event" if self.at is None else "each row of another table"
        where = where if self.every is None else f"every {self.every}"
        return f"{', '.join(map(str, self.sizes))} up to {where}"

    @property
    def of(self) -> str:
        """What has each its windows, if there are no steps, in words."""
        return "each event" if self.at is None else "the rows of at="

    @cached_property
    def suffixes(self) -> list[str]:
        """What the names of outputs end with, for each size."""
        return list(map(suffix, self.sizes))

    def windows(self, by: Sequence[str]) -> tuple[Spec, ...]:
        """The windows of each size, for events with some key columns."""
        closed: Any = self.closed
        if self.every is not None:
            every, zone = self.every, self.timezone
            return tuple(SteppedBack(size, self.sizes, every, closed, zone) for size in self.sizes)
        if self.at is None:
            zero: Any = 0 if isinstance(written(self.sizes[0], "lookback()"), int) else datetime.timedelta(0)
            pairs = ((before(size), zero) for size in self.sizes)
            return tuple(around(time=pair, closed=closed, timezone=self.timezone) for pair in pairs)
        if "at" in by:
            raise QueryError(
                "by= names 'at', the column of times in lookback(at=); expected another: rename the column"
            )
        names = [*by, "at"]
        source = LocalEngine(self.at.source).with_fields(names).source
        for name in names:
            if name not in source.schema.names:
                raise ColumnError(f"lookback(at=) lacks the column {name!r}; {nearest(name, source.schema.names)}")
        labels, rows, start = source.batches(names).read_all(), self.at.rows, own_name("#start", names)
        kind = plain_type(labels.schema.field("at").type)
        column, times = labels.column("at"), TimeColumn("at", kind, "lookback(at=)")
        if column.null_count:
            raise ColumnError(
                f"the column 'at' of lookback(at=) is null in {column.null_count} rows; expected a time in every row, "
                "as null_time= is of events only"
            )
        ticks = times.ticks(plain(column, kind))
        starts = [reach_of(times, size, "lookback()", self.timezone).back().of(ticks) for size in self.sizes]
        how = ("at", tuple(by), "at", None, self.closed, "emit", rows, *self.edges(ticks, starts))
        tables = (labels.append_column(start, times.bounds(each)) for each in starts)
        return tuple(FromAnchors(table, start, *how, str(size)) for size, table in zip(self.sizes, tables, strict=True))

    def edges(self, ticks: Ints, starts: Sequence[Ints]) -> tuple[Ints, bool]:
        """Where windows from some ticks on, up to others, cut the axis, and whether at every tick between two edges.

        So they do where they are many: frames would hardly have two events of a key.
        """
        begin, stop = int(self.closed in ("right", "neither")), int(self.closed in ("right", "both"))

        def cuts(some: slice) -> Ints:
            found = np.sort(np.concatenate([ticks[some] + stop, *(each[some] + begin for each in starts)]))
            return found[differs(found)]

        found = cuts(slice(FEW_EDGES))
        if len(found) <= FEW_EDGES < len(ticks):
            found = cuts(slice(None))
        if len(found) <= FEW_EDGES:
            return found, False
        return np.array([min(map(np.min, starts)) + begin, ticks.max() + stop]), True


def lookback(
    *sizes: Duration,
    at: Any = None,
    every: Duration | None = None,
    closed: Bounds = "left",
    timezone: str | None = None,
) -> Lookback:
    """Windows of several sizes that end at each event, or at given times: one row each, with a column for each size.

    ``.window(ff.lookback(...))`` gives what ``.with_columns`` does, also by ``.aggregate``: the events, or the rows of
    ``at``, with all their columns and in their order. With ``every`` it gives a row for each key and step of time: the
    keys, ``at``, the outputs. An output ``spent`` becomes ``spent_1h``, ``spent_7d`` and so on. One with windows of its
    own, which may be a size, keeps its name: ``ff.Sum("x").over("1 hour") / ff.Sum("x").over("7 days")``. Windows
    without an event are there, too. Streams have those with ``every``, also in ``.latest(...)``.

    Parameters
    ----------
    *sizes
        How far windows look back, such as ``"1 hour"`` or ``"1 month"``. A day is 24 hours; months, quarters and years
        go by the calendar, back to the same day of another month, or its last one. ``"5 business days"`` go back from
        a time on a Wednesday to the same time on the Wednesday before; see :func:`business_days`.
    at
        A table with the key columns of the events, under their names, and a column ``at``, of the type of their time:
        anything that speaks Arrow, or a Spark DataFrame, which is collected. None: each event.
    every
        A step, such as ``"1 hour"``: windows end at each one, as long as the longest has an event of the key.
    closed
        Which ends belong to a window. ``"left"`` leaves out what is at the time itself, ``"both"`` takes it in.
    timezone
        The zone of months, and of days and weeks of ``every``, as for :func:`sliding`.

    Raises
    ------
    QueryError
        If there are no sizes, or a size is not above zero, or comes twice.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = ff.events(pa.table({"t": [1, 5, 9], "x": [1, 2, 4]}), time="t")
    >>> events.window(ff.lookback(5, 10)).aggregate(sum=ff.Sum("x")).to_pydict()
    {'t': [1, 5, 9], 'x': [1, 2, 4], 'sum_5': [None, 1, 2], 'sum_10': [None, 1, 3]}
    >>> labels = pa.table({"id": ["b", "a"], "at": [10, 2]})
    >>> events.window(ff.lookback(5, at=labels)).aggregate(n=ff.Count()).to_pydict()
    {'id': ['b', 'a'], 'at': [10, 2], 'n_5': [2, 1]}
    >>> events.window(ff.lookback(4, 8, every=4)).aggregate(n=ff.Count()).to_pydict()
    {'at': [4, 8, 12, 16], 'n_4': [1, 1, 1, 0], 'n_8': [1, 2, 2, 1]}
    """
    if not sizes:
        raise QueryError("lookback() is given no size; expected some, such as ff.lookback('1 hour', '7 days')")
    for size in sizes:
        check_size(size)
    one_of("closed", closed, BOUNDS)
    if every is not None:
        if at is not None:
            raise QueryError("lookback() is given both at= and every=; expected one of them")
        positive(every, "every", calendar=True)
    found = Lookback(sizes, None if at is None else labels_in(at, ["at"]), every, closed, timezone)
    for name, count in Counter(found.suffixes).items():
        if count > 1:
            raise QueryError(f"lookback() has {name!r} twice; expected sizes that differ")
    return found


def told_apart(windows: Sequence[Spec | Lookback]) -> tuple[tuple[Spec, ...], Lookback | None]:
    """Windows, or a lookback instead; QueryError where it is not alone, or something is neither."""
    lookback = next((each for each in windows if isinstance(each, Lookback)), None)
    if lookback is not None and len(windows) > 1:
        raise QueryError("window() is given a lookback and other windows; expected it alone")
    specs = tuple(each for each in windows if isinstance(each, Spec))
    for window in windows:
        if not isinstance(window, (Spec, Lookback)):
            raise QueryError(f"window is {shown(window)}; expected {A_WINDOW}")
    return specs, lookback


def check_size(size: Any) -> None:
    """QueryError unless a size is above zero, and of months or of other units, as far as is known."""
    positive(size, "lookback()", calendar=True)
    in_calendar(size, "lookback()")
    if isinstance(size, int) and size <= 0:
        raise QueryError(f"lookback() is given the size {size}; expected sizes above zero")


def suffix(size: Duration) -> str:
    """A size as the name of a column has it.

    >>> suffix("7 days"), suffix("24 hours"), suffix("90min"), suffix(5), suffix(datetime.timedelta(hours=36))
    ('7d', '24h', '90m', '5', '36h')
    >>> suffix("1 month"), suffix("2 years"), suffix("1 year 6 months")
    ('1mo', '2y', '18mo')
    >>> suffix("5 business days")
    '5bd'
    """
    length = written(size, "lookback()")
    if not isinstance(length, Length):
        return str(length)
    if length.business is not None:
        return f"{length.business.count}bd"
    word = ONE_UNIT.fullmatch(size) if isinstance(size, str) else None
    if word is not None and unit_named(word[2]) in UNITS:
        return word[1] + UNITS[unit_named(word[2])]
    if length.calendar:
        return f"{length.months}{UNITS['month']}"
    unit = next(word for word in UNITS if word in MICROSECONDS and length.microseconds % MICROSECONDS[word] == 0)
    return f"{length.microseconds // MICROSECONDS[unit]}{UNITS[unit]}"


def before(size: Duration) -> Any:
    """A size before an event, as :func:`~framefold.around` takes it."""
    length = written(size, "lookback()")
    if not isinstance(length, Length):
        return -length
    if length.business is not None:
        back = length.business.times(-length.business.count)
        return str(back) if isinstance(size, str) else back
    if isinstance(size, str) and ONE_UNIT.fullmatch(size):
        return f"-{size.strip()}"
    return f"-{length.months} months" if length.calendar else -datetime.timedelta(microseconds=length.microseconds)


def outputs_over(
    lookback: Lookback, windows: Sequence[Spec], by: Sequence[str], outputs: Mapping[str, Operation]
) -> dict[str, Operation]:
    """Each output over each window of a lookback, under names of their own; those with their own windows as they are.

    A size as a window of its own is another window of the lookback.
    """
    known = dict(zip(lookback.suffixes, lookback.sizes, strict=True))
    parts = [own for output in outputs.values() for windows_of in output.windows_of_parts() for own in windows_of]
    for size in (own for own in parts if not isinstance(own, Spec)):
        check_size(size)
        if business(known.setdefault(suffix(size), size), "lookback()") != business(size, "lookback()"):
            raise QueryError(f"lookback() has {suffix(size)!r} twice; expected sizes that differ")
    if len(known) > len(lookback.sizes):
        windows = replace(lookback, sizes=tuple(known.values())).windows(by)
    of_size = dict(zip(known, windows, strict=True))

    def by_size(own: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(each if isinstance(each, Spec) else of_size[suffix(each)] for each in own)

    def over(output: Operation, windows: Spec) -> Operation:
        return output.with_windows(lambda own: own or (windows,))

    found: dict[str, Operation] = {}
    for name, output in outputs.items():
        output = output.with_windows(by_size)
        own = {name: output}
        if not all(output.windows_of_parts()):
            own = {f"{name}_{word}": over(output, each) for word, each in zip(lookback.suffixes, windows, strict=False)}
        for new in own:
            if new in found:
                raise QueryError(f"two outputs of a lookback would be called {new!r}; expected other names")
        found |= own
    return found
