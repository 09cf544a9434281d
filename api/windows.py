"""Windows from another data set, in Arrow or on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .aggregators.contract.column_expressions import unquoted
from .aggregators.errors import ColumnError, nearest
from .engines import labels_in
from .runtime.local import LocalEngine
from .runtime.windows.from_table import FromAnchors
from .runtime.windows.spec import BOUNDS, Bounds, Empty, check_words, one_of

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
        Its key columns, as many as the events have; then a window is for the events of its key, and a null is equal to
        no key. Where None, every window is for every key that has events.
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
