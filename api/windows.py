"""Functions of windows that need an engine: windows from another data set, and pictures of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from .aggregators.errors import EngineError
from .engines import in_arrow
from .events import Events
from .runtime.draw import draw as draw_table
from .runtime.local import LocalEngine
from .runtime.sources.arrow import Source
from .runtime.windows import Spec, from_table
from .runtime.windows.from_table import FromAnchors
from .runtime.windows.spec import Bounds, Empty
from .start import events


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
    keys = (by,) if isinstance(by, str) else tuple(by or ())
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
    if isinstance(of, (list, tuple, pa.Array, np.ndarray)):
        of = events(pa.table({"time": pa.array(of)}), time="time")
    if not isinstance(of, Events) or not isinstance(of.engine, LocalEngine):
        raise EngineError(f"draw() is given {of!r:.80}; expected ff.events(...) of Arrow data, or a list of times")
    source = of.engine.with_fields(of.names).source
    table = source.batches(source.schema.names).read_all()
    return draw_table(windows, table, time=of.time, by=of.by, until=of.until, longest=of.longest, ties=of.ties)


Spec.drawer = draw
