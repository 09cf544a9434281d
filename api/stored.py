"""Partials at rest: computed once, slid for ever."""

from __future__ import annotations

import datetime
import os
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .aggregators.contract.column_expressions import without_expressions
from .aggregators.contract.operation import Operation
from .aggregators.errors import EngineError, QueryError, nearest, shown
from .engines import Engine, engine_for
from .events import windows_in
from .runtime.columns.ticks import Duration, Instant, TimeColumn
from .runtime.local import LocalEngine, partials_of, results_of_partials, warn_of_nulls
from .runtime.partials.merge import merge
from .runtime.partials.partials import Partials
from .runtime.plan.bind import A_WINDOW, bind, require_output
from .runtime.plan.plan import Plan, pickled_outputs, trusting
from .runtime.results.extensions import with_extensions
from .runtime.sources.arrow import Source
from .runtime.stored.asked import Asked, EndingFirst
from .runtime.stored.commits import Commit, Run
from .runtime.stored.layout import RUN, Layout
from .runtime.stored.table import Table, check_fits, known, schema_of
from .runtime.windows.sliding import tumbling
from .runtime.windows.spec import Spec

__all__ = ["StoredPartials", "partials"]


def partials(
    path: str | os.PathLike[str],
    *,
    time: str,
    frame: Duration | Spec,
    by: str | Sequence[str] = (),
    ties: str | Sequence[str] = (),
    null_time: str = "error",
    trust: bool = False,
    spark: Any = None,
    **outputs: Operation,
) -> StoredPartials:
    """Partials that are kept in files: events are aggregated once, when they are added, and windows read states only.

    Parameters
    ----------
    path
        A folder, or its address, such as ``s3://bucket/payments``. It is made with the first events.
    time, by, ties, null_time
        Of the events, as in :func:`~framefold.events`.
    frame
        The length of the frames that states are kept for, such as ``"1 hour"``; or tumbling windows, such as
        ``ff.tumbling("1 day", timezone="Europe/Berlin")``. Windows can be asked for whose bounds are those of frames.
    trust
        Whether states that are Python objects may be read, as pickles. Who can write there can then run code here.
    spark
        A Spark session: tasks read the files, and results are DataFrames. The local engine reads them where None.
    **outputs
        What is kept, under its name.

    Raises
    ------
    QueryError
        If an argument is wrong.
    EngineError
        If other partials are there.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> hours = ff.partials("payments", time="t", frame=60, n=ff.Count(), spent=ff.Sum("amount"))
    >>> run = hours.append(pa.table({"t": [0, 70, 90], "amount": [1, 2, 3]}), run="monday")
    >>> run = hours.append(pa.table({"t": [130], "amount": [4]}), run="tuesday")
    >>> hours.window(ff.sliding(120, every=60)).aggregate()["spent"].to_pylist()
    [1, 6, 9, 4]
    """
    if not outputs:
        raise QueryError("no outputs are asked for; expected at least one, such as n=ff.Count()")
    for name, output in outputs.items():
        require_output(name, output)
        if windows_in((), {name: output}):
            raise QueryError(
                f"{name} is {output}, over windows of its own; expected it without .over(...), and .window(...) of "
                "what is stored"
            )
    keys = (by,) if isinstance(by, str) else tuple(by)
    order = (ties,) if isinstance(ties, str) else tuple(ties)
    frames = frame if isinstance(frame, Spec) else tumbling(frame)
    if not isinstance(path, (str, os.PathLike)):
        raise QueryError(f"the path is {shown(path)}; expected a string or a path")
    named, computed = without_expressions(outputs, ())
    table = Table.at(os.fspath(path))
    found = StoredPartials(table, time, keys, order, frames, null_time, trust, named, computed, spark)
    found.check()
    return found


@dataclass(frozen=True, repr=False)
class StoredPartials:
    """Partials that are kept in files; made by :func:`partials`."""

    table: Table
    time: str
    by: tuple[str, ...]
    ties: tuple[str, ...]
    frame: Spec
    null_time: str
    trust: bool
    outputs: dict[str, Operation]
    computed: dict[str, Any]
    spark: Any = None
    changed_by: str | None = None

    def check(self) -> None:
        """EngineError where other partials are there."""
        commit = self.table.commits.latest()
        if commit.filled:
            check_fits(commit, self._layout(schema_of(commit)))

    def append(self, events: Any, *, run: str) -> Run:
        """Add events, all or none; nothing where a run of this name is in.

        Parameters
        ----------
        events
            Any data that :func:`~framefold.events` takes.
        run
            Its name, such as the day: a run is added once, however often it is tried.

        Returns
        -------
        What is in: rows and bytes.
        """
        if not isinstance(run, str) or not run:
            raise QueryError(f"run is {run!r}; expected a name, such as '2026-11-26'")
        commit = self.table.commits.latest()
        for each in commit.runs:
            if each.run == run:
                return each
        engine = self._engine(events)
        layout = self._layout(known(engine.schema(self._columns), commit))
        check_fits(commit, layout)
        if not isinstance(engine, LocalEngine):
            from .spark.stored.engine import append

            return append(engine, self.table, layout, run)
        plan = trusting(layout.plan)
        found, nulls, count = partials_of(engine.source, plan)
        warn_of_nulls(plan, nulls, count)
        return self.table.append(layout, merge(found), run)

    def window(self, *windows: Spec) -> StoredWindows:
        """Windows over all that is stored, whose bounds are those of frames; several in one pass."""
        for window in windows:
            if not isinstance(window, Spec):
                raise QueryError(f"window is {shown(window)}; expected {A_WINDOW}")
        if not windows:
            raise QueryError(f"no window is given; expected .window(...) with {A_WINDOW}")
        return StoredWindows(self, windows)

    def changed(self, *, run: str) -> StoredPartials:
        """The same, of which windows are given only where a run has events.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> hours = ff.partials("visits", time="t", frame=60, n=ff.Count())
        >>> first = hours.append(pa.table({"t": [0, 70, 130]}), run="first")
        >>> late = hours.append(pa.table({"t": [65]}), run="late")
        >>> hours.changed(run="late").window(ff.tumbling(60)).aggregate()["n"].to_pylist()
        [2]
        """
        known = [each.run for each in self.table.commits.latest().runs]
        if run not in known:
            raise QueryError(f"run is {run!r}, which is not in; {nearest(str(run), known)}")
        return replace(self, changed_by=run)

    def runs(self) -> pa.Table:
        """What is in: a row for each run, with its events, rows, bytes, and when it was written."""
        found = self.table.commits.latest().runs
        return pa.table({name: [getattr(each, name) for each in found] for name in Run.__annotations__})

    def _engine(self, events: Any) -> Engine:
        """The engine of events, with the columns that expressions compute."""
        engine = engine_for(events)
        engine = engine.with_columns(self.computed) if self.computed else engine
        return engine.with_fields(self._columns)

    @property
    def _columns(self) -> list[str]:
        """The columns of the events that are used."""
        return [self.time, *self.by, *self.ties, *(name for each in self.outputs.values() for name in each.columns)]

    def _there(self) -> tuple[Layout, Commit]:
        """The layout of what is stored, and the last commit."""
        commit = self.table.commits.latest()
        if not commit.number:
            raise EngineError(f"the stored partials {self.table.commits.path!r} are empty; expected .append(...) first")
        return self._layout(schema_of(commit)), commit

    def _layout(self, events: pa.Schema) -> Layout:
        return Layout.of(
            events,
            time=self.time,
            by=self.by,
            ties=self.ties,
            frame=self.frame,
            outputs=self.outputs,
            null_time=self.null_time,
        )


@dataclass(frozen=True, repr=False)
class StoredWindows:
    """Windows over stored partials; made by :meth:`StoredPartials.window`."""

    of: StoredPartials
    windows: tuple[Spec, ...]
    after: Instant | None = None
    until: Instant | None = None

    def ending(self, after: Instant | None = None, until: Instant | None = None) -> StoredWindows:
        """The windows that end after one time, and at another one at the latest: only what they take in is read."""
        return replace(self, after=after, until=until)

    def aggregate(self, *names: str) -> Any:
        """One row a key and window, as :meth:`Windowed.aggregate` gives; all outputs, or those named."""
        of, began = self.of, clock.monotonic()
        layout, commit = of._there()
        plan = self._bound(layout, names)
        wanted = self._wanted(layout, commit, plan)
        files = commit.files if wanted is None else of.table.needed(plan, commit.files, wanted)
        if of.spark is not None:
            from .spark.stored.engine import results

            return results(of.spark, of.table, layout, files, plan, wanted)
        merged = merge([*Partials.of_given_keys(plan), of.table.partials(layout, files, plan, wanted).unmerged()])
        return with_extensions(results_of_partials(merged, began, wanted=wanted), plan, layout.events_schema)

    def lookup(self, keys: Any, *names: str, at: Instant | None = None) -> pa.Table:
        """The windows of some keys that end at a time, or else are at that time, read by this process.

        Parameters
        ----------
        keys
            A table with the key columns; or a list, of values of the one key column, or of tuples of several.
        *names
            Some outputs; all where none is named.
        at
            A time; now, by the clock, where None. Of each kind of windows the first one that ends then or later.

        Returns
        -------
        One row a key and window, as :meth:`aggregate` gives, of the keys with events in it.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> hours = ff.partials("taps", time="t", by="k", frame=60, n=ff.Count())
        >>> run = hours.append(pa.table({"t": [0, 70, 130], "k": ["a", "b", "a"]}), run="monday")
        >>> hours.window(ff.sliding(180, every=60)).lookup(["a"], at=180)["n"].to_pylist()
        [2]
        """
        of, began = self.of, clock.monotonic()
        layout, commit = of._there()
        plan = self._bound(layout, names)
        asked = EndingFirst(plan, at=plan.times.instant(now(plan.times) if at is None else at, "at"))
        files = of.table.needed(plan, commit.files, asked)
        merged = of.table.partials(layout, files, plan, asked, keys_in(keys, layout))
        return with_extensions(results_of_partials(merged, began, wanted=asked), plan, layout.events_schema)

    def _wanted(self, layout: Layout, commit: Commit, plan: Plan) -> Asked | None:
        times = plan.times
        asked = Asked(plan)
        if self.after is not None:
            asked = replace(asked, after=times.instant(self.after, "after"))
        if self.until is not None:
            asked = replace(asked, until=times.instant(self.until, "until"))
        if (run := self.of.changed_by) is not None:
            rows = self.of.table.read(layout, [each for each in commit.files if run in each.runs])
            asked = replace(asked, changed=merge(layout.partials(rows.filter(pc.equal(rows.column(RUN), run)), plan)))
        return None if asked == Asked(plan) else asked

    def _bound(self, layout: Layout, names: Sequence[str]) -> Plan:
        of = self.of
        for name in names:
            if name not in of.outputs:
                raise QueryError(f"aggregate() is asked for {name!r}; {nearest(name, of.outputs)}")
        outputs = {name: each for name, each in of.outputs.items() if not names or name in names}
        plan = bind(
            layout.events_schema,
            time=of.time,
            by=of.by,
            window=self.windows,
            outputs=outputs,
            ties=of.ties,
            null_time=of.null_time,
        )
        if pickled := pickled_outputs(plan):
            if not of.trust:
                raise EngineError(
                    f"the states of {pickled[0]!r} are Python objects, kept as pickles, which can run code when they "
                    "are read; expected ff.partials(..., trust=True) where nobody else can write to the files"
                )
            plan = trusting(plan)
        return plan


def now(times: TimeColumn) -> Instant:
    """The time by the clock, as a column has times: in UTC where these have no zone."""
    if pa.types.is_integer(times.type):
        raise QueryError("lookup() is given no at=, and times are integers, which no clock has; expected at=")
    found = datetime.datetime.now(datetime.UTC)
    if pa.types.is_date(times.type):
        return found.date()
    return found if times.type.tz is not None else found.replace(tzinfo=None)


def keys_in(keys: Any, layout: Layout) -> pa.Table:
    """Keys as a table of the key columns, of the types that these have at rest."""
    schema = pa.schema([layout.schema.field(name) for name in layout.plan.by])
    expected = f"a table with the columns {schema.names}, or a list of values or tuples of them"
    if not schema.names:
        raise QueryError("lookup() is given keys, and the stored partials have none; expected .aggregate()")
    try:
        if hasattr(keys, "__arrow_c_stream__"):
            return Source(keys).batches(schema.names).read_all().select(schema.names).cast(schema)
        if isinstance(keys, str) or not hasattr(keys, "__iter__"):
            raise TypeError(keys)
        rows = [each if isinstance(each, tuple) else (each,) for each in keys]
        columns = list(zip(*rows, strict=True)) or [()] * len(schema)
        return pa.table([pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema)
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise QueryError(f"keys are {shown(keys)}; expected {expected}") from error
