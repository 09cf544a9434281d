"""Functions of windows that need an engine."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, cast

import pyarrow as pa

from .aggregators.contract.column_expressions import unquoted
from .aggregators.errors import EngineError, shown
from .engines import in_arrow
from .events import Events
from .runtime.draw import MOST_EVENTS
from .runtime.draw import draw as draw_table
from .runtime.local import LocalEngine
from .runtime.plan.bind import type_of
from .runtime.sources.arrow import Source
from .runtime.windows import from_table
from .runtime.windows.from_table import FromAnchors
from .runtime.windows.spec import Bounds, Empty, Spec
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
    """See ``framefold.runtime.windows.windows_from``, whose docstring this has."""
    start, end, at, obsolete = map(unquoted, (start, end, at, obsolete))
    keys = tuple(map(unquoted, (by,) if isinstance(by, str) else by or ()))
    names = list(dict.fromkeys(name for name in (start, end, at, obsolete, *keys) if name is not None))
    source = LocalEngine(Source(in_arrow(anchors, names))).with_fields(names).source
    known = set(names) <= set(source.schema.names)
    table = source.batches(names).read_all() if known else source.schema.empty_table()
    return from_table.windows_from(
        table, start=start, end=end, by=keys, at=at, obsolete=obsolete, closed=closed, empty=empty
    )


windows_from.__doc__ = from_table.windows_from.__doc__


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
    """All events of the local engine, with those columns that they have of some."""
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


def shown_in_notebooks(windows: Spec) -> str:
    """Windows in words, and as they were made."""
    return f"<div>{html.escape(str(windows))}<br><code>{html.escape(repr(windows))}</code></div>"


Spec._repr_html_ = shown_in_notebooks  # type: ignore[attr-defined]
Spec.drawer = draw
