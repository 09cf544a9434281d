"""The start of a query: events of some data, whose type says what results are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack, overload

import pyarrow as pa

from .aggregators.contract.column_expressions import ColumnExpression, ColumnLike, column_name, kind_of, unquoted
from .aggregators.durations import positive
from .aggregators.errors import QueryError
from .engines import computed, engine_for
from .events import Events
from .reading import SparkFiles
from .runtime.columns.field_types import keys_in
from .runtime.columns.ticks import Duration
from .runtime.sources.arrow import Source
from .runtime.sources.files import Files
from .runtime.windows.spec import one_of
from .spark.options import Options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["events"]

NullTime: TypeAlias = Literal["error", "drop"]


class Named(TypedDict, total=False):
    """What :func:`events` takes by name; the rest it takes by place, too."""

    until: str | None
    longest: Duration | None
    ties: str | Sequence[str]
    null_time: NullTime


Keys: TypeAlias = str | Sequence[str] | None


@overload
def events(data: Files | Source, time: ColumnLike, by: Keys = None, **named: Unpack[Named]) -> Events[pa.Table]: ...
@overload
def events(
    data: DataFrame | SparkFiles, time: ColumnLike, by: Keys = None, **named: Unpack[Named]
) -> Events[DataFrame]: ...
@overload
def events(data: Any, time: ColumnLike, by: Keys = None, **named: Unpack[Named]) -> Events[pa.Table]: ...
def events(
    data: Any,
    time: ColumnLike,
    by: str | Sequence[str] | None = None,
    *,
    until: str | None = None,
    longest: Duration | None = None,
    ties: str | Sequence[str] = (),
    null_time: NullTime = "error",
) -> Events[Any]:
    """Events to aggregate over windows.

    Parameters
    ----------
    data
        A Spark DataFrame (classic or Connect), :func:`parquet` files, or anything that speaks Arrow: a pyarrow,
        pandas or Polars table, a DuckDB relation. Spark in, Spark out; Arrow in, Arrow out.
    time
        The column with each event's time: timestamps, dates or integers; or an expression for it, as aggregates take
        them: ``F.to_timestamp("at")`` of text on Spark, ``F.timestamp_seconds("at")`` of seconds since 1970, or
        ``pyarrow.compute.field("at").cast(pyarrow.timestamp("s"))``. Here and wherever a column is named, a name
        such as ``"window.start"`` that no column has is a field of a struct: results are events of further windows.
        Backticks are as in Spark: `` "`a.b`" `` is the column ``a.b``.
    by
        The key columns: one name, several, or none for one series of windows over everything. Structs go too, and
        results are sorted as Spark sorts them: nulls first, ordered dictionaries by their categories.
    until
        The column with each event's end, of the type of its time: interval events, which live from their time up to it
        and are in every window they overlap. None for events of one point in time.
    longest
        How long interval events live at most: what goes beyond is cut off.
    ties
        The columns that order events of one time, wherever their order matters; then they are in input order.
    null_time
        What to do with events without a time: ``"error"``, or ``"drop"`` to leave them out (``.dropped()`` gives them).
        A warning counts them, unless executors compute the result lazily. Labels and given windows need a time.

    Raises
    ------
    QueryError
        If the data or an argument cannot be used, or a key is unknown or can be none. Other columns are checked by
        ``.aggregate``, before anything runs.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> trips = pa.table({"at": [0, 30, 70], "driver": ["ann", "bob", "ann"], "speed": [20.0, 25.0, 30.0]})
    >>> result = ff.events(trips, time="at", by="driver").window(ff.tumbling(60)).aggregate(speed=ff.Average("speed"))
    >>> result.select(["driver", "speed"]).to_pydict()
    {'driver': ['ann', 'ann', 'bob'], 'speed': [20.0, 30.0, 25.0]}
    """
    if not isinstance(time, str) and kind_of(time) is None:
        raise QueryError(f"time= is {time!r}; expected the name of a column, or an expression")
    if by is not None and not isinstance(by, (str, list, tuple)):
        raise QueryError(f"by= is {by!r}; expected the name of a column, a list of names, or None")
    keys = [by] if isinstance(by, str) else list(by or [])
    if longest is not None:
        positive(longest, "longest")
    if until is not None and not isinstance(until, str):
        raise QueryError(f"until= is {until!r}; expected the name of a column, or None")
    if not isinstance(ties, (str, list, tuple)):
        raise QueryError(f"ties= is {ties!r}; expected the name of a column or a list of names")
    one_of("null_time", null_time, ("error", "drop"))
    order = [ties] if isinstance(ties, str) else list(ties)
    engine, of = engine_for(data), column_name(time, "time=")
    if isinstance(of, ColumnExpression):
        engine, names = computed(engine, {"time": of})
        of = names["time"]
    named = tuple(tuple(map(unquoted, names)) for names in (keys, order))
    made: Events[Any] = Events(engine, of, named[0], unquoted(until), longest, named[1], null_time, Options())
    if named[0] or named[1]:
        columns = [name for name in (*named[0], *named[1]) if isinstance(name, str)]
        keys_in(engine.with_fields(columns).schema(columns), *named)
    if longest is not None:
        made.check_durations([])
    return made
