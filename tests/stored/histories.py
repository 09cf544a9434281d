"""A random history of a stored table, beside the events that should be in it."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

FRAME, BLOCK, END = 60, 240, 5760
"""Minutes: of a frame, of what changes keep whole, and of all events, of four days."""

LONG = 12
"""Steps in the longest windows."""

FIRST = dt.datetime(2024, 1, 1)
Row = dict[str, Any]

OUTPUTS: dict[str, dict[str, ff.Operation]] = {
    "any": {
        "n": ff.Count(), "s": ff.Sum("x"), "y": ff.Sum("y"), "top": ff.Max("x"), "middle": ff.Median("x"),
        "different": ff.CountDistinct("x"),
    },
    "exact": {"n": ff.Count(), "s": ff.Sum("x"), "mean": ff.Average("x")},
    "ordered": {"n": ff.Count(), "all": ff.CollectList("x"), "grown": ff.Delta("x"), "last": ff.Last("y")},
}  # fmt: skip
"""Outputs of which events may come in any order; may be taken out, too; come in whole frames."""


TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
ALIKE: dict[pa.DataType, list[pa.DataType]] = {
    pa.timestamp("us"): [pa.timestamp("ns"), pa.timestamp("ms"), pa.timestamp("s")],
    pa.int64(): [pa.int32(), pa.float64(), pa.float32()], pa.int32(): [pa.int16(), pa.int64(), pa.float64()],
    pa.float64(): [pa.float64()], pa.string(): TEXTS, pa.large_string(): TEXTS,
}  # fmt: skip
"""Types in which the same values may come; times that are numbers are integers."""

WIDER: list[tuple[pa.DataType, Any]] = [(pa.int64(), 2**33), (pa.float64(), 0.5)]
"""Types that a column of small integers gets later, and the unit of its values then."""


class History:
    """A stored table that a seed makes and changes.

    Parameters
    ----------
    kind
        Of ``OUTPUTS``.
    spark
        A session, which writes and reads every other time.
    """

    def __init__(self, path: Path, seed: int, kind: str, spark: Any = None) -> None:
        self.chance = random.Random(seed)
        self.path, self.kind, self.outputs, self.spark = path, kind, OUTPUTS[kind], spark
        self.timed = spark is None and self.chance.random() < 0.5
        self.format = self.chance.choice(["parquet", "parquet", "delta"])
        self.closed: Any = self.chance.choice(["left", "left", "right"])
        self.after = int(self.closed == "right")
        self.coarse, self.expired = 0, None
        text = self.chance.choice([pa.string(), pa.large_string()])
        number = pa.int64() if kind == "exact" else self.chance.choice([pa.int64(), pa.float64()])
        self.wider, self.unit = list[Any](), 1
        if self.format == "parquet" and self.chance.random() < 0.5:
            number, self.wider = pa.int32(), WIDER[: 1 if kind == "exact" else 2]
        times = pa.timestamp("us") if self.timed else pa.int64()
        self.types = {"t": times, "k": text, "x": number, "y": pa.float64()}
        self.first = True
        self.blocks = self.chance.sample(range(END // BLOCK - 1), END // BLOCK - 1)
        self.runs: list[str] = []
        self.touched: list[Row] | None = None
        self.events: list[Row] = []
        # One event of a key of its own, which nothing takes away, so that the last frame is always there.
        self._append([self.row(END - 1 + self.after) | {"k": "z"}])
        self.append()

    @property
    def stored(self) -> ff.StoredPartials:
        """The table, opened anew."""
        spark = self.spark if self.chance.random() < 0.5 else None
        frame = ff.tumbling(self.length(FRAME), closed=self.closed)
        return ff.partials(self.path, time="t", by="k", frame=frame, format=self.format, spark=spark, **self.outputs)

    def length(self, minutes: int) -> Any:
        return f"{minutes} minutes" if self.timed else minutes

    def moment(self, minutes: int) -> Any:
        return FIRST + dt.timedelta(minutes=minutes) if self.timed else minutes

    def minutes(self, moment: Any) -> int:
        return int((moment - FIRST) / dt.timedelta(minutes=1)) if self.timed else moment

    def row(self, minute: int) -> Row:
        chance = self.chance
        minute -= (minute - self.after) % FRAME * (chance.random() < 0.2)  # the first time of a frame
        values = {"x": chance.randrange(-50, 50) * self.unit, "y": chance.gauss(0, 1e6)}
        return {"t": minute, "k": chance.choice(["a", "b", None])} | values

    def table(self, rows: list[Row]) -> pa.Table:
        columns = {name: [row[name] for row in rows] for name in self.types}
        columns["t"] = [self.moment(minute) for minute in columns["t"]]
        return pa.table({name: pa.array(values, self.types[name]) for name, values in columns.items()})

    def alike(self, table: pa.Table) -> pa.Table:
        """The same events in other types, as other tools would give them; those of the first run stay."""
        if self.first:
            return table
        for at, name in enumerate(table.column_names):
            column, own = table[name], self.types[name]
            if name == "x" and self.unit != 1:
                continue
            if column.null_count == len(column):
                column = pa.nulls(len(column))
            elif pa.types.is_dictionary(kind := self.chance.choice(ALIKE[own][: 1 if name == "t" else None])):
                column = column.dictionary_encode()
            else:
                column = column.cast(kind)
            table = table.set_column(at, name, column)
        return table

    def data(self, rows: list[Row]) -> Any:
        """Rows as data of one of the engines."""
        table = self.table(rows)
        if self.spark is not None and self.chance.random() < 0.5:
            return self.spark.createDataFrame(table)
        return self.alike(table)

    def block(self, row: Row) -> int:
        return int(row["t"] - self.after) // BLOCK

    def name(self) -> str:
        self.runs.append(f"run {len(self.runs)}")
        return self.runs[-1]

    def _append(self, rows: list[Row]) -> None:
        if not self.first and self.chance.random() < 0.2:
            rows = [row | {"y": None} for row in rows]
        run = self.stored.append(self.data(rows), run=self.name())
        self.first = False
        kept = [row for row in rows if row["t"] - self.after >= (self.expired or 0)]
        assert (run.added, run.events, run.expired) == (True, len(kept), len(rows) - len(kept))
        self.events += kept
        self.touched = rows

    # Changes, each with what it does to the events.

    def append(self) -> None:
        """Add events of all times; of one block that is new, where order counts. Then again, which changes nothing."""
        first, length = (self.blocks.pop() * BLOCK, BLOCK) if self.kind == "ordered" else (0, END)
        count = self.chance.randrange(1, 60)
        self._append([self.row(first + self.after + self.chance.randrange(length)) for _ in range(count)])
        before, again = self.stored.table.commits.latest(), self.chance.choice(self.runs)
        assert not self.stored.append(self.data([self.row(7)]), run=again).added
        assert self.stored.table.commits.latest() == before

    def widen(self) -> None:
        """From now on events have values that the type of the first ones does not hold."""
        (self.types["x"], self.unit), *self.wider = self.wider
        if self.blocks:
            self.append()

    def refresh(self) -> None:
        first = self.chance.randrange((self.expired or 0) // BLOCK, END // BLOCK - 1)
        until = self.chance.randrange(first, END // BLOCK - 1) + 1
        blocks = range(first, until if self.kind != "ordered" else first + 1)
        rows = [self.row(self.after + self.chance.randrange(END)) for _ in range(80)]
        bounds = {"since": self.moment(blocks.start * BLOCK), "until": self.moment(blocks.stop * BLOCK)}
        keys = self.chance.choice([None, None, ["a"], ["b", None], ["?"]])
        new, old = (
            [row for row in of if self.block(row) in blocks and (keys is None or row["k"] in keys)]
            for of in (rows, self.events)
        )
        missing = set() if keys is not None else {row["k"] for row in old} - {row["k"] for row in new}
        name = self.chance.choice([None, f"corrected {len(self.runs)}"])
        if missing:
            with pytest.raises(ff.QueryError, match=rf"given no events of {len(missing)} keys .* expected all events"):
                self.stored.refresh(self.data(rows), run=name, **bounds)
        more = {"keys": keys, "drop_missing": bool(missing)}
        run = self.stored.refresh(self.data(rows), run=name, **bounds, **more)
        assert (run.added, run.events) == (True, len(new))
        self.runs.append(run.run)
        again = self.stored.refresh(self.data([]), run=run.run, **bounds, **more)
        assert (again, again.added) == (run, False)
        self.events = [row for row in self.events if not any(row is other for other in old)] + new
        self.blocks = [block for block in self.blocks if block not in blocks]
        self.touched = new + old

    def delete(self) -> None:
        recent = [row for row in self.events if row["t"] - self.after >= max(self.coarse, self.expired or 0)]
        gone = [row for row in recent if row["k"] != "z" and self.chance.random() < 0.3]
        self.stored.delete(self.data(gone), run=self.name())
        self.events = [row for row in self.events if not any(row is other for other in gone)]
        self.touched = gone or None
        if not gone:  # which is no run
            self.runs.pop()

    def forget(self) -> None:
        keys = self.chance.sample(["a", "b", None], self.chance.choice([1, 1, 2]))
        self.stored.forget(keys if self.chance.random() < 0.5 else pa.table({"k": pa.array(keys, pa.string())}))
        self.events = [row for row in self.events if row["k"] not in keys]
        self.touched = None

    def compact(self) -> None:
        self.stored.compact()
        self.touched = None

    def coarsen(self) -> None:
        size, older = self.chance.choice([120, 240]), self.chance.randrange(600, END)
        self.stored.coarsen(self.length(size), older=self.length(older))
        self.coarse = max(self.coarse, (END - older) // size * size)
        self.touched = None

    def roll_up(self) -> None:
        self.stored.roll_up(self.length(self.chance.choice([1440, 2880]) if self.timed else END))

    def expire(self) -> None:
        older = self.chance.randrange(END // BLOCK // 2, END // BLOCK) * BLOCK
        self.stored.expire(self.length(older))
        self.expired = max(END - older, self.expired or 0)
        self.events = [row for row in self.events if row["t"] - self.after >= self.expired]
        self.touched = None

    def vacuum(self) -> None:
        """Delete what nothing reads: the files of the last commit stay."""
        self.stored.vacuum(0)
        named = {file.path for file in self.stored.table.commits.latest().named}
        assert {path.relative_to(self.path).as_posix() for path in self.path.rglob("*.parquet")} == named

    def change(self) -> str:
        """Change something; gives the name of the change."""
        changes: list[Callable[[], None]] = [
            *(self.append,) * 4, *(self.refresh, self.compact, self.roll_up) * 2, self.coarsen, self.forget,
            self.vacuum,
        ]  # fmt: skip
        changes += [self.widen] * 3 * bool(self.wider)
        changes += [*[self.delete] * 4 * (self.kind == "exact"), self.expire]
        change = self.chance.choice(changes)
        change = self.compact if change == self.append and not self.blocks else change
        change()
        return change.__name__

    # Questions, and their answers by one query over the events.

    def windows(self) -> tuple[list[Any], int, int, int]:
        """Windows, their step, and the step and the first of all ends that a lookup may ask for: 0 for none."""
        step = FRAME if not self.coarse and self.chance.random() < 0.5 else BLOCK
        closed = {"closed": self.closed}

        def sliding(times: int, every: int = 1, **more: Any) -> Any:
            return ff.sliding(self.length(times * step), every=self.length(every * step), **closed, **more)

        every = self.length(step)
        cumulating = ff.cumulating(self.length(4 * step), every=every, **closed)
        lookback: Any = ff.lookback(every, self.length(LONG * step), every=every, **closed)
        choices: list[tuple[list[Any], int, int]] = [
            ([sliding(3)], 1, 0), ([sliding(3), sliding(1), sliding(LONG)], 1, 0), ([lookback], 1, 0),
            ([sliding(3), cumulating], 1, 0), ([sliding(3, 2)], 2, 1), ([sliding(2, 3, gaps="allow")], 3, 2),
            ([sliding(4, 2), cumulating, sliding(3, 3)], 0, 0), ([sliding(4, min_fill="full")], 0, 0),
            ([sliding(4, empty="emit")], 0, 0), ([ff.landmark(self.moment(0), every=every, **closed)], 0, 0),
        ]  # fmt: skip
        specs, every_end, first_end = self.chance.choice(choices[: 7 if self.expired is not None else None])
        return specs, step, every_end * step, first_end * step

    def bounds(self, row: Row, longest: int) -> tuple[int, int]:
        """From where on a row of a result has events, and up to where."""
        if "at" in row:
            return self.minutes(row["at"]) - longest, self.minutes(row["at"])
        return self.minutes(row["window"]["start"]), self.minutes(row["window"]["end"])

    def ask(self) -> None:
        """Ask for windows in every way, and compare them with those of a query over all events."""
        specs, step, every, first = self.windows()
        query = ff.events(self.table(self.events), time="t", by="k").window(*specs)
        rows = [(row, *self.bounds(row, LONG * step)) for row in query.aggregate(**self.outputs).to_pylist()]
        rows = [row for row in rows if self.expired is None or row[1] >= self.expired]
        stored = self.stored
        windows = stored.window(*specs)
        assert stored.runs()["run"].to_pylist() == self.runs

        def same(found: Any, wanted: list[Row]) -> None:
            table = found if isinstance(found, pa.Table) else found.toArrow()
            assert table.to_pylist() == wanted, (specs, self.format, self.timed)

        same(windows.aggregate(), [row for row, _, _ in rows])
        grain = self.chance.choice([1, step])  # bounds of windows, or any times
        after, until = (self.chance.randrange(-step, END + 12 * step) // grain * grain for _ in range(2))
        wanted = [row for row, _, end in rows if after < end <= until]
        same(windows.ending(self.moment(after), self.moment(until)).aggregate(), wanted)
        until = after + self.chance.choice([1, step])
        names = query.aggregate(n=ff.Count()).column_names
        wanted = [{name: row[name] for name in names} for row, _, end in rows if after < end <= until]
        same(windows.ending(self.moment(after), self.moment(until)).aggregate("n"), wanted)
        if every:
            at = -((first - after) // every) * every + first
            wanted = [row for row, _, end in rows if row["k"] in ("b", None) and end == at]
            for _ in range(2):
                same(windows.lookup(["b", None, "?"], at=self.moment(after)), wanted)
        if self.touched is not None:
            times = {(row["k"], row["t"] - self.after) for row in self.touched}
            wanted = [row for row, begin, end in rows if any(k == row["k"] and begin <= t < end for k, t in times)]
            same(stored.changed(run=self.runs[-1]).window(*specs).aggregate(), wanted)
