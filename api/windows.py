"""Functions of windows that need an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa

from .aggregators.contract.column_expressions import unquoted
from .aggregators.errors import ColumnError, EngineError, nearest, shown
from .engines import in_arrow, labels_in
from .events import Events
from .runtime.draw import MOST_EVENTS
from .runtime.draw import draw as draw_table
from .runtime.local import LocalEngine
from .runtime.plan.bind import type_of
from .runtime.windows.from_table import FromAnchors
from .runtime.windows.spec import BOUNDS, Bounds, Empty, Spec, check_words, one_of
from .start import events

__all__ = ["windows_from"]


def windows_from(
    anchors: Any,
    *,
    start: str,
    end: str,
    by: str | Sequence[str] | None = None,
    at: str | None = None,
    obsolete: str | None = None,
    closed: Bounds = "left",
    empty: Empty = "emit",
) -> FromAnchors:
    """One window for each row of another data set: of any width, overlapping or not, in any order.

    Parameters
    ----------
    anchors
        Anything that speaks Arrow, or a Spark DataFrame, which is collected.
    start, end
        Its columns with the bounds of the windows, of the type of the events' time.
    by
        Its key columns, as many as the events have; then a window is for the events of its key. Where None, every
        window is for every key that has events.
    at
        Its column with the time that results are stamped with; ``start`` where None.
    obsolete
        A column of times that never fall; no window of a later row starts before them. Only checked.
    closed
        Which ends belong to a window: ``"left"``, ``"right"``, ``"both"`` or ``"neither"``.
    empty
        ``"emit"`` gives windows without an event too; ``"skip"`` leaves them out.

    Raises
    ------
    QueryError
        If a column is unknown; bounds are checked in ``.aggregate``.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = ff.events(pa.table({"t": [1, 2, 4, 9], "x": [1, 2, 3, 4]}), time="t")
    >>> anchors = pa.table({"from": [0, 3, 1], "to": [3, 10, 5]})
    >>> windows = ff.windows_from(anchors, start="from", end="to")
    >>> events.window(windows).aggregate(x=ff.Sum("x")).select(["at", "x"]).to_pydict()
    {'at': [0, 1, 3], 'x': [3, 6, 7]}
    """
    start, end, at, obsolete = map(unquoted, (start, end, at, obsolete))
    keys = tuple(map(unquoted, (by,) if isinstance(by, str) else by or ()))
    named = [("start", start), ("end", end), ("at", at), ("obsolete", obsolete), *(("by", key) for key in keys)]
    names = list(dict.fromkeys(name for _, name in named if name is not None))
    labels = labels_in(anchors, names)
    source = LocalEngine(labels.source).with_fields(names).source
    known = source.schema.names
    for argument, name in named:
        if name is not None and name not in known:
            raise ColumnError(f"{argument} names {name!r}, which the anchors lack; {nearest(str(name), known)}")
    one_of("closed", closed, BOUNDS)
    check_words(empty=empty)
    table = source.batches(names).read_all()
    return FromAnchors(table, start, end, keys, at or start, obsolete, closed, empty, labels.rows)


def draw(windows: Spec, of: Any) -> Any:
    """The picture of :meth:`Spec.draw`."""
    if not isinstance(of, Events):
        of = events(pa.table({"time": times_of(of)}), time="time")
    local = isinstance(of.engine, LocalEngine)
    names = [*of.names, *windows.columns]
    table = local_events(of, names) if local else first_on_spark(of, names)
    return draw_table(
        windows, table, time=of.time, by=of.by, until=of.until, longest=of.longest, ties=of.ties, all_of_them=local
    )


def times_of(given: Any) -> pa.Array | pa.ChunkedArray:
    """A list or a column of times, such as a Series of pandas or Polars; EngineError if it is something else."""
    column = not hasattr(given, "columns") and any(hasattr(given, name) for name in ("__array__", "__arrow_c_stream__"))
    if not column and not isinstance(given, (list, tuple)):
        raise EngineError(f"draw() is given {shown(given)}; expected ff.events(...), or a list of times")
    return given if isinstance(given, (pa.Array, pa.ChunkedArray)) else pa.array(given)


def local_events(of: Events[Any], names: Sequence[str]) -> pa.Table:
    """All events of the local engine, with those of the named columns that they have."""
    source = cast(LocalEngine, of.engine).with_fields(names).source
    return source.batches([name for name in dict.fromkeys(names) if name in source.schema.names]).read_all()


def first_on_spark(of: Events[Any], names: Sequence[str]) -> pa.Table:
    """Some columns of the first events on Spark, one more than a picture has."""
    engine = cast(Any, of.engine).with_fields(names)
    df = engine.df
    if df.isStreaming:
        raise EngineError("draw() is given a stream; expected events that are there, such as some that were written")
    type_of(engine.schema(names), of.time, "time=")
    time = df[f"`{of.time.replace('`', '``')}`"]
    return in_arrow(df.where(time.isNotNull()).orderBy(time).limit(MOST_EVENTS + 1), names)


Spec.drawer = draw
