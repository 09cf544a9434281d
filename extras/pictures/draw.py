"""Windows as a picture: a time line with their frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from ...aggregators.errors import EngineError, QueryError, needing, shown
from ...aggregators.states.arrays import Ints
from ...aggregators.sums.sums import Count
from ...runtime.columns.key_codes import key_codes
from ...runtime.columns.plain import normalised, plain
from ...runtime.columns.ticks import Duration, TimeColumn
from ...runtime.frames.windows import WindowSpec
from ...runtime.local import LocalEngine, run
from ...runtime.plan.bind import bind
from ...runtime.plan.plan import Plan
from ...runtime.sources.arrow import Source

if TYPE_CHECKING:
    import drawsvg

WIDTH, LEFT, RIGHT = 860, 90, 20
"""The width of a picture, and the margins of the time line, in pixels."""

ROW, GAP = 16, 5
"""The height of a bar, and the space between two, in pixels."""

MOST_EVENTS, MOST_WINDOWS = 200, 60
"""The most events and windows that a picture can show legibly."""

WINDOW, FRAME, INK = "#2563eb", "#e2e8f0", "#0f172a"
KEYS = ("#c2410c", "#15803d", "#7c3aed", "#b45309", "#0e7490", "#be185d")


@runtime_checkable
class Drawable(Protocol):
    """Events with the names of their columns, as ``ff.events`` gives them.

    Their engine's ``first_events(names, time, most)`` gives columns of events, as far as there are such: of the first
    ``most`` and one more, or of all, and whether they are all.
    """

    engine: Any
    time: str
    by: Sequence[str]
    until: str | None
    longest: Duration | None
    ties: Sequence[str]
    names: Sequence[str]


def draw(spec: WindowSpec, events: Any) -> Any:
    """The picture of :meth:`framefold.runtime.windows.spec.Spec.draw`."""
    if isinstance(events, Drawable):
        names = [*events.names, *spec.columns]
        table, complete = events.engine.first_events(names, events.time, MOST_EVENTS)
        of = {name: getattr(events, name) for name in ("time", "by", "until", "longest", "ties")}
        return picture(spec, table, complete, of)
    source = Source(pa.table({"time": times_of(events)}))
    return picture(spec, *LocalEngine(source).first_events(["time"], "time", MOST_EVENTS), {"time": "time", "by": ()})


def times_of(given: Any) -> pa.Array | pa.ChunkedArray:
    """A list or a column of times, such as a Series of pandas or Polars; EngineError if it is something else."""
    column = not hasattr(given, "columns") and any(hasattr(given, name) for name in ("__array__", "__arrow_c_stream__"))
    if not column and not isinstance(given, (list, tuple)):
        raise EngineError(f"draw() is given {shown(given)}; expected ff.events(...), or a list of times")
    return given if isinstance(given, (pa.Array, pa.ChunkedArray)) else pa.array(given)


def picture(spec: WindowSpec, table: pa.Table, complete: bool, of: Mapping[str, Any]) -> Any:
    """The picture of a table of events, the first of them or all; ``of`` names columns as ``ff.events`` does."""
    with needing("pictures need", "draw"):
        import drawsvg as svg
    if not len(table):
        raise QueryError("draw() is given 0 events; expected 1 or more")
    title = str(spec)
    if len(table) > MOST_EVENTS:
        title += f"; the first {MOST_EVENTS}" + (f" of {len(table):,} events" if complete else " events")
        if of["time"] in table.schema.names:  # what else is wrong with it is said below
            table = table.sort_by(of["time"])
        table = table.slice(0, MOST_EVENTS)
    plan = bind(table.schema, window=spec, outputs={"events": Count()}, null_time="drop", **of)
    result = run(Source(table), plan)
    if not 0 < len(result) <= MOST_WINDOWS:
        raise QueryError(f"draw() has {len(result)} windows; expected 1 to {MOST_WINDOWS}: take other events, or fewer")
    return Picture(svg, title, plan, table, result).drawing


class Picture:
    """One picture, from top to bottom: title, events (a row a key), frames, windows (a row each), the time line."""

    def __init__(self, svg: Any, title: str, plan: Plan, table: pa.Table, result: pa.Table) -> None:
        self.svg = svg
        self.times = plan.times
        bounds = [ticks_of(plan.times, result["window"].combine_chunks().field(side)) for side in ("start", "end")]
        events = ticks_of(plan.times, table[plan.time])
        ends = events if plan.until is None else ticks_of(plan.times, table[plan.until.name])
        self.least = int(min(bounds[0].min(), events.min()))
        self.most = int(max(bounds[1].max(), ends.max()))
        keys, owners = np.split(key_rows(plan, table, result), [len(table)])
        rows = int(keys.max()) + 1 + len(result)
        self.height = 3 * ROW + (ROW + GAP) * (rows + 2) + 2 * ROW
        self.drawing: drawsvg.Drawing = svg.Drawing(WIDTH, self.height)
        self.drawing.append(svg.Rectangle(0, 0, WIDTH, self.height, fill="white"))
        self._text(title, LEFT, ROW, 13, weight="bold")
        self.top = 2 * ROW
        self._events(plan, table, events, ends, keys)
        self._frames(plan, events)
        self._windows(result, bounds, owners)
        self._axis()

    def x(self, tick: float) -> float:
        """The x coordinate of a tick."""
        return LEFT + (tick - self.least) / max(self.most - self.least, 1) * (WIDTH - LEFT - RIGHT)

    def _text(
        self, text: str, x: float, y: float, size: int = 10, anchor: str = "start", weight: str = "normal"
    ) -> None:
        label = self.svg.Text(
            text, size, x, y, fill=INK, text_anchor=anchor, font_weight=weight, font_family="sans-serif"
        )
        self.drawing.append(label)

    def _label(self, text: str, y: float) -> None:
        self._text(text, LEFT - 8, y + ROW * 0.7, anchor="end")

    def _events(self, plan: Plan, table: pa.Table, events: Ints, ends: Ints, keys: Ints) -> None:
        names = {int(key): row for row, key in reversed(list(enumerate(keys.tolist())))}
        for key, row in sorted(names.items()):
            words = ", ".join(str(table[name][row].as_py()) for name in plan.by)
            self._label(words or "events", self.top + key * (ROW + GAP))
        for tick, end, key in zip(events.tolist(), ends.tolist(), keys.tolist(), strict=True):
            y = self.top + key * (ROW + GAP) + ROW / 2
            color = KEYS[key % len(KEYS)]
            if plan.until is not None:
                line = self.svg.Line(self.x(tick), y, self.x(end), y, stroke=color, stroke_width=3, stroke_opacity=0.7)
                self.drawing.append(line)
            self.drawing.append(self.svg.Circle(self.x(tick), y, 4, fill=color, fill_opacity=0.85))
        self.top += (ROW + GAP) * (int(keys.max()) + 1)

    def _frames(self, plan: Plan, events: Ints) -> None:
        """Draw the frames that have events; where frames have no bounds, draw the times of events."""
        (windows,) = plan.axis.windows
        found = None
        if windows.unit == "time" and not plan.axis.each_row:
            frames, inside = windows.frames(events, None)
            frames = np.unique(frames if inside is None else frames[inside])
            found = windows.frame_bounds(frames)
        self._label("frames", self.top)
        if found is None:
            for tick in np.unique(events).tolist():
                x = self.x(tick)
                tip = self.svg.Line(x, self.top + 2, x, self.top + ROW - 2, stroke="#94a3b8", stroke_width=3)
                self.drawing.append(tip)
        else:
            for start, end in zip(*(side.tolist() for side in found), strict=True):
                left, right = self.x(max(start, self.least)), self.x(min(end, self.most))
                box = self.svg.Rectangle(left, self.top, max(right - left, 1), ROW, fill=FRAME, stroke="#94a3b8")
                self.drawing.append(box)
        self.top += ROW + GAP

    def _windows(self, result: pa.Table, bounds: list[Ints], owners: Ints) -> None:
        counts = result["events"].to_pylist()
        at = ticks_of(self.times, result["at"]).tolist() if "at" in result.column_names else [None] * len(counts)
        places = zip(*(side.tolist() for side in bounds), counts, at, owners.tolist(), strict=True)
        for number, (start, end, count, stamp, key) in enumerate(places):
            y = self.top + number * (ROW + GAP)
            left, width = self.x(start), max(self.x(end) - self.x(start), 3)
            color = KEYS[key % len(KEYS)] if int(owners.max()) else WINDOW
            bar = self.svg.Rectangle(left, y, width, ROW, fill=color, fill_opacity=0.18, stroke=color, rx=3)
            self.drawing.append(bar)
            self._text(str(count), left + width / 2, y + ROW * 0.72, anchor="middle")
            if stamp is not None:
                x = self.x(stamp)
                self.drawing.append(self.svg.Lines(x - 4, y - 3, x + 4, y - 3, x, y + 4, fill=color, close=True))
        self._label("windows", self.top)
        self.top += (ROW + GAP) * len(counts)

    def _axis(self) -> None:
        y = self.top + ROW / 2
        self.drawing.append(self.svg.Line(LEFT, y, WIDTH - RIGHT, y, stroke=INK))
        length = len(self.times.word(self.least).removesuffix("+00:00")) * 6 + 30
        marks = int(np.clip((WIDTH - LEFT - RIGHT) // length, 2, 6))
        for tick in np.unique(np.linspace(self.least, self.most, marks).astype(np.int64)).tolist():
            x = self.x(tick)
            self.drawing.append(self.svg.Line(x, y - 3, x, y + 3, stroke=INK))
            edge = "start" if tick == self.least else "end" if tick == self.most else "middle"
            self._text(self.times.word(tick).removesuffix("+00:00"), x, y + ROW, anchor=edge)


def ticks_of(times: TimeColumn, column: pa.Array | pa.ChunkedArray) -> Ints:
    """A column of times as ticks."""
    return times.ticks(plain(column, times.type if times.type == column.type else times.bound_type))


def key_rows(plan: Plan, *tables: pa.Table) -> Ints:
    """The number of each row's key, table after table; keys are numbered in order of appearance."""
    columns = [
        normalised(pa.concat_arrays([plain(table[name], plan.result_schema.field(name).type) for table in tables]))
        for name in plan.by
    ]
    codes, _ = key_codes(columns, sum(map(len, tables)), ordered=False)
    _, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]
