"""A result as a chart of Altair's."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import ColumnError, QueryError, nearest, needing, shown
from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import one_array
from ...engines import Engine, engine_for, in_arrow
from ...notebook import Described
from ...runtime.columns.plain import plain, plain_type
from ...runtime.columns.ticks import TimeColumn
from ...runtime.local import LocalEngine
from ...runtime.plan.bind import AT, BOUNDS, WINDOW
from ...runtime.windows.calendar import require_zone
from ...runtime.windows.spec import one_of

if TYPE_CHECKING:
    import altair

__all__ = ["plot"]

Kind: TypeAlias = Literal["lines", "heat"]

MOST_KEYS: dict[str, int] = {"lines": 20, "heat": 200}
"""The most keys of which colours, or rows, can be told apart."""

MOST_ROWS = 50_000
"""The most rows of a chart, which holds them as text: some megabytes."""

DAYS, MOST_TICKS = 4, 10
"""Of more days than these each tick is a day or longer; how many ticks there is room for."""

CLOCKS = ((720, "%H:%M"), (12, "%H:%M:%S"), (0, "%H:%M:%S.%L"))
"""What a tick says of the clock, by the seconds that an axis is long at least."""

SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""How many units of a duration are a second."""


class Shown(NamedTuple):
    """Which columns of a result say what."""

    times: tuple[str, ...]
    """The two ends of windows, or the time of each row."""
    keys: tuple[str, ...]
    outputs: tuple[str, ...]


def plot(
    result: Any,
    /,
    *outputs: str,
    kind: Kind = "lines",
    band: tuple[str, str] | None = None,
    time: str | None = None,
    by: str | Sequence[str] | None = None,
    timezone: str | None = None,
) -> altair.Chart | altair.LayerChart:
    """A result as lines, bands or a heat map: a chart of Altair, to go on with as such.

    Windows side by side are drawn as steps, from start to end; a line through windows that overlap has the value of
    each at its end; and results for each event are drawn at its time ``at``. A line ends where a window is missing, or
    its value is null, and goes on after it. Each key has a colour; several outputs are below one another, or have
    colours where there is no key.

    Parameters
    ----------
    result
        What ``.aggregate`` gives, also in pandas, Polars or DuckDB, or as a DataFrame of Spark or its rows collected.
    *outputs
        Columns of numbers; all that the result has where none is named. Durations are shown in seconds.
    kind
        ``"lines"``; or ``"heat"``: one output as colours, windows from left to right, keys from top to bottom.
    band
        Two columns between which a band is drawn, such as two quantiles; with one output besides, or none.
    time, by
        Columns of the times and keys of rows, where the result has no window, as beside events. A dotted name is a
        field of a struct.
    timezone
        The zone of the times that are shown; None for the one that they have, on Spark that of the session.

    Raises
    ------
    EngineError
        If Altair is not installed: the extra ``plot`` brings it.
    QueryError
        If a column is unknown or of another type, or there are no windows, or too many of them or of keys.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> trips = pa.table({"t": [1, 2, 12], "driver": ["ann", "bob", "ann"]})
    >>> result = ff.events(trips, time="t", by="driver").window(ff.tumbling(10)).aggregate(n=ff.Count())
    >>> chart = ff.plot(result, "n").properties(title="Trips")
    >>> chart.to_dict()["encoding"]["color"]["field"]
    'driver'
    """
    with needing("plot() needs", "plot"):
        import altair
    one_of("kind", kind, tuple(MOST_KEYS))
    if isinstance(result, Described):
        raise QueryError("plot() is given a query; expected its result, that of .aggregate(...)")
    if band is not None and (isinstance(band, str) or len(band) != 2):
        raise QueryError(f"band= is {band!r}; expected two columns, such as ('low', 'high')")
    try:
        engine = engine_for(as_columns(result))
    except QueryError as error:
        expected = "a result: a table of Arrow, pandas or Polars, or a DataFrame of Spark"
        raise QueryError(f"plot() is given {shown(result)}; expected {expected}") from error
    found = columns_of(engine, outputs, band or (), time, by)
    if kind == "heat":
        require_grid(found, band)
    elif band and len(found.outputs) > 1:
        raise QueryError(f"plot(band=) is given {len(found.outputs)} outputs besides; expected one, or none")
    table = rows_of(engine, list(dict.fromkeys([*found.keys, *found.times, *found.outputs, *(band or ())])))
    times = TimeColumn(found.times[0], table.schema.field(found.times[0]).type)
    drawing = Drawing(altair, found, times, zone_of(engine, times, timezone), table)
    if (keys := len(drawing.texts.dictionary)) > MOST_KEYS[kind]:
        instead = ", or kind='heat'" if kind == "lines" else ""
        raise QueryError(
            f"plot(kind={kind!r}) is given {keys:,} keys; expected at most {MOST_KEYS[kind]}: "
            f"keep some of them{instead}"
        )
    chart: altair.Chart | altair.LayerChart = drawing.heat() if kind == "heat" else drawing.lines(band or ())
    return chart


def as_columns(result: Any) -> Any:
    """A result as data that has columns, also where it is rows that Spark has collected."""
    if isinstance(result, list) and result and all(hasattr(row, "asDict") for row in result):
        return pa.Table.from_pylist([row.asDict(recursive=True) for row in result])
    pandas = sys.modules.get("pandas")
    framed = pandas is not None and isinstance(result, pandas.DataFrame) and WINDOW in result.columns
    if framed and all(hasattr(each, "asDict") for each in result[WINDOW]):  # toPandas() makes rows of structs
        return result.assign(**{WINDOW: [each.asDict() for each in result[WINDOW]]})
    return result


def columns_of(
    engine: Engine, outputs: Sequence[str], band: Sequence[str], time: str | None, by: str | Sequence[str] | None
) -> Shown:
    """Which columns say what: those before the window are keys, those behind it and its ``at`` are outputs.

    Raises
    ------
    QueryError
        If there is no window and no time, or a column is unknown, or of a type that cannot be shown.
    """
    names = engine.schema([]).names
    if hasattr(engine, "still_open"):
        raise QueryError("plot() is given a stream; expected results that are there, such as some that were written")
    struct = (f"{WINDOW}.start", f"{WINDOW}.end")
    place = next((at for at, name in enumerate(names) if name in (WINDOW, struct[0], BOUNDS[0])), None)
    if place is None and time is None:
        listed = ", ".join(map(repr, names))
        raise QueryError(
            f"plot() finds no window in the columns {listed}; expected a result with one, or time= and by="
        )
    ends = BOUNDS if place is None or names[place] == BOUNDS[0] else struct
    others = names if place is None else names[place + (1 if names[place] == WINDOW else 2) :]
    keys = (by,) if isinstance(by, str) else tuple(names[: place or 0] if by is None else by)
    used = list(dict.fromkeys([*keys, *outputs, *band, *([time] if time else ends)]))
    schema = engine.with_fields(used).schema(used)
    for name in used:
        if name not in schema.names:
            raise ColumnError(f"plot() names {name!r}, which the result lacks; {nearest(name, names)}")
    times = (time,) if time else ends
    for name in times:
        TimeColumn(name, schema.field(name).type, "plot()")
    if not time and others[:1] == [AT] and schema.field(AT).type == schema.field(ends[0]).type:
        times, others = (AT,), others[1:]
    for name in keys:
        if pa.types.is_nested(kind := schema.field(name).type):
            raise ColumnError(f"plot() has the key {name!r} of type {kind}; expected single values, such as its fields")
    for name in (*outputs, *band):
        if not is_number(kind := schema.field(name).type):
            raise ColumnError(
                f"plot() is given {name!r}, which is {kind}; expected a column of numbers" + such_as(schema.field(name))
            )
    numbers = [name for name in others if name not in (*keys, *times, *ends) and is_number(schema.field(name).type)]
    if not (outputs or band or numbers):
        fields = (such_as(engine.schema([]).field(name)) for name in others if name not in (*keys, *times, *ends))
        raise QueryError("plot() finds no column of numbers; expected the name of one" + next(filter(None, fields), ""))
    return Shown(times, keys, tuple(dict.fromkeys(outputs or (() if band else numbers))))


def require_grid(found: Shown, band: Sequence[str] | None) -> None:
    """QueryError unless a heat map can be made: of one output of windows with two ends."""
    given = f"{len(found.outputs)} outputs"
    if len(found.times) == 1:
        given = f"rows by {found.times[0]!r}"
    elif band:
        given = "a band"
    elif len(found.outputs) == 1:
        return
    raise QueryError(f"plot(kind='heat') is given {given}; expected one output of windows along the time line")


def is_number(type: pa.DataType) -> bool:
    """Whether values are shown as numbers, durations as seconds."""
    of = pa.types
    return any(kind(type) for kind in (of.is_integer, of.is_floating, of.is_decimal, of.is_boolean, of.is_duration))


def such_as(field: pa.Field) -> str:
    """The end of a sentence that names the numbers in a struct, such as the last price of a bar; of others nothing."""
    inside = field.type.fields if pa.types.is_struct(field.type) else ()
    names = [f"{field.name}.{each.name}" for each in inside if is_number(each.type)]
    return f", such as {names[-1]!r}" if names else ""


def rows_of(engine: Engine, names: Sequence[str]) -> pa.Table:
    """Some columns of a result, and their rows if a chart can hold them.

    Raises
    ------
    QueryError
        If there are too many, or none.
    """
    found = engine.with_fields(names)
    if isinstance(found, LocalEngine):
        table = found.source.batches(names).read_all().select(names)
    else:
        table = in_arrow(cast(Any, found).df.limit(MOST_ROWS + 1), names).select(names)
    if not 0 < len(table) <= MOST_ROWS:
        rows = f"{len(table):,}" if isinstance(found, LocalEngine) or not table else "more"
        raise QueryError(
            f"plot() is given {rows} rows; expected 1 to {MOST_ROWS:,}: some of the keys, a part of the time, or "
            "windows of longer steps"
        )
    return table


def zone_of(engine: Engine, time: TimeColumn, timezone: str | None) -> str | None:
    """The zone in which times are shown: the one that is asked for, the session's on Spark, or their own."""
    if timezone is not None:
        require_zone(time, timezone)
        return timezone
    own: str | None = getattr(time.type, "tz", None)
    session = getattr(getattr(engine, "df", None), "sparkSession", None)
    return own if own is None or session is None else session.conf.get("spark.sql.session.timeZone")


class Drawing:
    """The rows of a result by key and time, and the charts that are made of them."""

    def __init__(self, altair: Any, shown: Shown, time: TimeColumn, zone: str | None, table: pa.Table) -> None:
        table = table.filter(reduce(pc.and_, (pc.is_valid(table[name]) for name in shown.times)))
        columns = [*shown.keys, *shown.times]
        by = pa.table({str(at): plain(table[name], plain_type(table[name].type)) for at, name in enumerate(columns)})
        order = pc.sort_indices(by, [(name, "ascending") for name in by.column_names])
        by = by.take(order).combine_chunks()
        self.altair, self.shown, self.time, self.zone, self.table = altair, shown, time, zone, table.take(order)
        self.stamped, self.key = len(shown.times) == 1, ", ".join(shown.keys)
        self.starts, self.ends = (time.ticks(one_array(by[str(at)])) for at in (len(shown.keys), len(columns) - 1))
        texts = [pc.fill_null(one_array(each).cast(pa.string()), "null") for each in by.columns[: len(shown.keys)]]
        joined = pc.binary_join_element_wise(*texts, ", ") if texts else pa.array([""] * len(by))
        self.texts = joined.dictionary_encode()
        self.codes = self.texts.indices.to_numpy()
        same = self.codes[1:] == self.codes[:-1]
        self.overlap = bool((same & (self.starts[1:] < self.ends[:-1])).any())
        steps = np.diff(self.ends)
        self.step = int(steps[same & (steps > 0)].min(initial=np.iinfo(np.int64).max))
        """The least time from a window of a key to the next one."""

    def lines(self, band: Sequence[str]) -> Any:
        """A line for each key and output, and a band."""
        alt, outputs = self.altair, self.shown.outputs
        several, steps = len(outputs) > 1, not (self.stamped or self.overlap)
        x = self.shown.times[0] if self.stamped else BOUNDS[0 if steps else 1]
        rows = (
            [{**row, "#output": name} for name in outputs for row in self.runs(x, {"#value": name}, steps)]
            if several
            else self.runs(x, {name: name for name in (*outputs, *band)}, steps)
        )
        channels = [alt.X(**self.along(x)), alt.Detail(field="#run", type="nominal")]
        output = {"field": "#output", "type": "nominal", "sort": list(outputs), "title": None}
        if self.key:
            channels += [alt.Color(**self.keyed()), *([alt.Row(**output)] if several else ())]
        elif several:
            channels.append(alt.Color(**output))
        chart = alt.Chart({"values": rows}, width=600, height=200).encode(*channels)
        if several and self.key:
            chart = chart.resolve_scale(y="independent")
        how = {"interpolate": "step-after" if steps else "linear"}
        layers = []
        if band:
            low = number(band[0], zero=False) | {"title": None if outputs else " to ".join(band)}
            layers.append(chart.mark_area(opacity=0.25, **how).encode(alt.Y(**low), alt.Y2(field=escaped(band[1]))))
        if outputs:
            y = number("#value", zero=False) | {"title": None} if several else number(outputs[0], zero=False)
            # The round ends of a line without length are a dot: a window by itself.
            layers.append(chart.mark_line(strokeCap="round", **how).encode(alt.Y(**y)))
        return layers[0] if len(layers) == 1 else alt.layer(*layers)

    def heat(self) -> Any:
        """A colour for each window, in a row for each key."""
        alt, (value,) = self.altair, self.shown.outputs
        numbers, rows = self.there({value: value})
        starts = self.ends - self.step if self.overlap else self.starts
        shown = {"#from": starts, BOUNDS[0]: self.starts, BOUNDS[1]: self.ends}
        times = {name: self.texts_of(ticks[rows]) for name, ticks in shown.items()}
        x, y = self.along("#from", "window"), self.keyed()
        unit = {} if x["type"] == "quantitative" else {"timeUnit": "utcyearmonthdatehoursminutes"}
        tips = [alt.Tooltip(field=name, type=x["type"], title=name, **unit) for name in BOUNDS]
        tips.append(alt.Tooltip(**number(value)))
        chart = alt.Chart({"values": self.rows(rows, times | numbers)}, width=600).mark_rect()
        chart = chart.encode(alt.X(**x), alt.X2(field=BOUNDS[1]), alt.Color(**number(value)))
        if not self.key:
            return chart.encode(tooltip=tips)
        return chart.encode(alt.Y(**y), tooltip=[alt.Tooltip(field=y["field"], type="nominal", title=self.key), *tips])

    def there(self, named: Mapping[str, str]) -> tuple[dict[str, Any], Ints]:
        """Columns of numbers under other names, and the rows in which all of them are there."""
        columns = {name: as_numbers(self.table[column]) for name, column in named.items()}
        rows = np.flatnonzero(np.logical_and.reduce([np.isfinite(each) for each in columns.values()]))
        return {name: each[rows] for name, each in columns.items()}, rows

    def runs(self, x: str, named: Mapping[str, str], steps: bool) -> list[dict[str, Any]]:
        """What lines go through: a column ``#run`` has the number of the line, which ends where a window is missing."""
        numbers, rows = self.there(named)
        codes, starts, ends = self.codes[rows], self.starts[rows], self.ends[rows]
        if self.stamped:
            apart = np.diff(rows) > 1
        else:
            apart = (starts[1:] > ends[:-1]) | (self.overlap & (np.diff(ends) > 1.5 * self.step))  # months differ
        run = np.cumsum(np.append(True, (codes[1:] != codes[:-1]) | apart)[: len(rows)])
        times = ends if self.overlap else starts
        if steps:  # the last one of each goes on to its end
            last = np.flatnonzero(np.append(np.diff(run) > 0, True)[: len(rows)])
            every = np.append(np.arange(len(rows)), last)
            rows, run, times = rows[every], run[every], np.append(times, ends[last])
            numbers = {name: each[every] for name, each in numbers.items()}
        return self.rows(rows, {x: self.texts_of(times), "#run": run} | numbers)

    def rows(self, rows: Ints, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows of a chart: the key, and columns."""
        keys = {self.key: self.texts.take(pa.array(rows))} if self.key else {}
        return cast(list[dict[str, Any]], pa.table(keys | dict(columns)).to_pylist())

    def texts_of(self, ticks: Ints) -> pa.Array:
        """Ticks as a chart reads them: numbers, or what clocks of the zone show, as if it were in UTC."""
        if pa.types.is_integer(self.time.type):
            return pa.array(ticks)
        times = self.time.bounds(ticks)
        if self.zone is not None:
            times = pc.local_timestamp(times.cast(pa.timestamp("us", self.zone)))
        return pc.strftime(times.cast(pa.timestamp("ms"), safe=False), format="%Y-%m-%dT%H:%M:%SZ")

    def along(self, name: str, title: str | None = None) -> dict[str, Any]:
        """The channel of a time."""
        title = (title or name) + ("" if self.zone is None else f" ({self.zone})")
        if pa.types.is_integer(self.time.type):
            return {"field": escaped(name), "type": "quantitative", "title": title, "scale": {"zero": False}}
        scaled = {"field": escaped(name), "type": "temporal", "title": title, "scale": {"type": "utc"}}
        ends = np.array([self.starts.min(), self.ends.max()]) if len(self.starts) else np.zeros(2, np.int64)
        return scaled | {"axis": ticks_between(*self.texts_of(ends).to_pylist())}

    def keyed(self) -> dict[str, Any]:
        """The channel of the keys."""
        keys = self.texts.dictionary.to_pylist()
        return {"field": escaped(self.key), "type": "nominal", "title": self.key, "sort": keys}


def ticks_between(first: str, last: str) -> dict[str, Any]:
    """The axis of times, as text: each tick has its clock and day, or its day and year.

    Vega's own labels say what is new at a tick, such as noon. If it leaves out every other tick, all labels may be
    equal.
    """
    since, until = (np.datetime64(each[:-1]) for each in (first, last))
    span = (until - since) / np.timedelta64(1, "s")
    day, year = "utcFormat(datum.value, '%b %d')", "utcFormat(datum.value, '%Y')"
    if span > DAYS * 86_400:
        step = math.ceil(span / 86_400 / MOST_TICKS)
        ticks = {"tickCount": {"interval": "day", "step": step}} if step <= 2 else {}
        return ticks | {"labelExpr": f"[{day}, {year}]"}
    clock = next(form for least, form in CLOCKS if span >= least)
    return {"labelExpr": f"[utcFormat(datum.value, '{clock}'), {day}]"}


def number(name: str, **scale: Any) -> dict[str, Any]:
    """The channel of a column of numbers."""
    return {"field": escaped(name), "type": "quantitative", "title": name, **({"scale": scale} if scale else {})}


def escaped(name: str) -> str:
    """A column as Vega-Lite names it: dots and brackets would be a way into an object."""
    return re.sub(r"""([.\[\]\\'"])""", r"\\\1", name)


def as_numbers(column: pa.ChunkedArray) -> Any:
    """Numbers as floats, durations in seconds; NaN where there is none."""
    if pa.types.is_duration(column.type):
        return as_numbers(column.cast(pa.int64())) / SECOND[column.type.unit]
    return one_array(column).cast(pa.float64()).to_numpy(zero_copy_only=False)
