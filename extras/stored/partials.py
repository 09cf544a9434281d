"""Partials at rest: computed once, slid for ever."""

from __future__ import annotations

import datetime
import os
import time as clock
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.contract.operation import Operation, without_expressions
from ...aggregators.durations import Length, fixed
from ...aggregators.errors import DroppedEventsWarning, EngineError, QueryError, nearest, require_text, shown
from ...aggregators.states.large import one_array
from ...engines import Engine, engine_for, in_arrow
from ...lookbacks import Lookback, outputs_over, told_apart
from ...runtime.columns.plain import normalised
from ...runtime.columns.ticks import Duration, Instant, TimeColumn
from ...runtime.local import LocalEngine, partials_of, results_of_partials
from ...runtime.partials.merge import merge
from ...runtime.partials.partials import Partials
from ...runtime.plan.bind import A_WINDOW, bind, require_output
from ...runtime.plan.plan import Plan, pickled_outputs, trusting
from ...runtime.reporting import warn, warn_of_nulls
from ...runtime.results.extensions import with_extensions
from ...runtime.sources.arrow import Source
from ...runtime.streams.history import history_of
from ...runtime.windows.sliding import Sliding, tumbling
from ...runtime.windows.spec import Spec
from .asked import Asked, EndingFirst
from .before import AtRest
from .commits import Commit, Run
from .corrections import delete, forget
from .layout import RUN, Binds, Layout, in_parquet
from .stored_types import InTypes, NotHeldError, in_types
from .table import FORMATS, Span, Table, check_fits, known, require_named
from .upkeep import add_output, coarsen, compact, expire, roll_up

__all__ = ["StoredPartials", "partials"]


def partials(
    path: str | os.PathLike[str],
    *,
    time: str,
    frame: Duration | Spec,
    by: str | Sequence[str] = (),
    ties: str | Sequence[str] = (),
    null_time: str = "error",
    format: str | None = None,
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
    format
        ``"parquet"``: files with manifests beside them; or ``"delta"``: a Delta Lake table, by the package
        ``deltalake`` (the extra ``delta``), where writers on several machines share an object store, or others read it.
        None: that of the partials that are there, else ``"parquet"``.
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
    keys = (by,) if isinstance(by, str) else tuple(by)
    order = (ties,) if isinstance(ties, str) else tuple(ties)
    frames = tumbling_frames(frame) if isinstance(frame, Spec) else tumbling(frame)
    if format not in (None, *FORMATS):
        raise QueryError(f"format is {shown(format)}; expected 'parquet' or 'delta'")
    named, computed = outputs_of(outputs)
    for name in named:
        require_text("the name of an output", name)
    table = table_at(path, format)
    found = StoredPartials(table, time, keys, order, frames, null_time, trust, named, computed, spark)
    commit = table.commits.latest()
    if commit.filled:
        require_named(commit, time, keys)
        check_fits(commit, found._layout(commit.schema("schema"), commit))
    return found


@dataclass(frozen=True, repr=False)
class StoredPartials:
    """Partials that are kept in files; made by :func:`partials`."""

    table: Table
    time: str
    by: tuple[str, ...]
    ties: tuple[str, ...]
    frame: Sliding
    null_time: str
    trust: bool
    outputs: dict[str, Operation]
    computed: dict[str, Any]
    spark: Any = None
    changed_by: tuple[str, ...] | None = None

    def append(self, events: Any, *, run: str) -> Run:
        """Add events, all or none; nothing where a run of this name is in.

        Where the order of events counts, as for ``Delta``, the frames of a run must all be new.

        Parameters
        ----------
        events
            Any data that :func:`~framefold.events` takes.
        run
            Its name, such as the day: a run is added once, however often it is tried.

        Returns
        -------
        The run: its events, rows and bytes. Its ``added`` is False where the run was in before, and its ``expired``
        the number of events whose frames ``expire`` has taken away: these are left out, with a warning.
        """
        return self._write(events, named_run(run), None)

    def append_stream(
        self, stream: Any, *, checkpoint: str | os.PathLike[str], beside: bool = False, **trigger: Any
    ) -> Any:
        """Add each micro-batch of a stream as a run, once; gives Spark's ``StreamingQuery``, which has been started.

        The run of a micro-batch is named by the id of the query and its number. Started again with the same
        checkpoint, the query goes on where it was. Where the order of events counts, the frames of a micro-batch must
        all be new, or the query fails.

        Parameters
        ----------
        stream
            A streaming DataFrame. It needs no watermark: late events are partials like others.
        checkpoint
            A folder, or its address, of the query's own.
        beside
            Whether the query adds other events than the queries whose runs are in the table. Without it a new query
            is refused, because it would add the same events again.
        **trigger
            As Spark's ``trigger`` has it, such as ``availableNow=True`` or ``processingTime="1 minute"``.
        """
        if not getattr(stream, "isStreaming", False):
            raise QueryError(
                f"append_stream() is given {shown(stream)}; expected a streaming DataFrame, or .append(...)"
            )
        commit = self.table.commits.latest()
        self._fitting(self._engine(stream), commit, self._columns)
        from .on_spark.appending import append_stream, require_known

        if not beside:
            require_known(stream.sparkSession, checkpoint, [each.run for each in commit.runs])
        here = replace(self, spark=None)
        return append_stream(stream, lambda batch, run: here.append(batch, run=run), checkpoint, trigger)

    def refresh(
        self,
        events: Any,
        *,
        since: Instant,
        until: Instant,
        run: str | None = None,
        keys: Any = None,
        drop_missing: bool = False,
    ) -> Run:
        """Replace the frames between two times, bounds of frames, by those of corrected events, in one commit.

        Events at other times are left out. Runs that brought the events before are in all the same, so that they are
        not added again. An output that was added later is there for the frames that are replaced, too, except for
        frames of some ``keys``.

        Parameters
        ----------
        events
            All events of that time, or of that time and some keys.
        since, until
            The times.
        run
            Its name; by the clock where None.
        keys
            Whose frames are replaced, as :meth:`forget` takes them; events of other keys are left out. None: all.
        drop_missing
            Whether keys that have no events any more may be gone: else that is an error.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> hours = ff.partials("corrected", time="t", frame=60, n=ff.Count(), top=ff.Max("x"))
        >>> run = hours.append(pa.table({"t": [0, 70, 130], "x": [1, 99, 3]}), run="monday")
        >>> run = hours.refresh(pa.table({"t": [70], "x": [9]}), since=60, until=120)
        >>> hours.window(ff.sliding(180, every=180)).aggregate().to_pylist()
        [{'window': {'start': 0, 'end': 180}, 'n': 3, 'top': 9}]
        """
        _, layout = self._there()
        given = {"since": since, "until": until}
        ticks = [layout.plan.times.instant(each, name) + layout.after for name, each in given.items()]
        for name, tick in zip(given, ticks, strict=True):
            if not layout.is_bound(tick):
                raise QueryError(
                    f"{name} is {layout.word(tick)}, inside of a stored frame; expected its start, "
                    f"{layout.word(layout.begin(tick))}, or its end"
                )
        if ticks[0] >= ticks[1]:
            raise QueryError(f"since is {since!r} and until is {until!r}; expected since before until")
        name = f"refresh of {since} to {until} at {now().isoformat()}" if run is None else named_run(run)
        mine = None if keys is None else keys_in(keys, layout)
        return self._write(events, name, Span(ticks[0], ticks[1], mine, drop_missing))

    def delete(self, events: Any, *, run: str) -> Run:
        """Take events out of what is stored, all or none; nothing where a run of this name is in.

        It is for outputs whose ``deduct`` is exact: counts, and sums of integers and decimals. For others an error
        says which frames :meth:`refresh` has to replace.

        A frame keeps its first time if other events of the key are in it: a landmark window still starts there.
        :meth:`refresh` with the events that are left restates it.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> hours = ff.partials("returned", time="t", frame=60, n=ff.Count(), spent=ff.Sum("amount"))
        >>> run = hours.append(pa.table({"t": [0, 70, 90], "amount": [1, 2, 3]}), run="monday")
        >>> run = hours.delete(pa.table({"t": [70], "amount": [2]}), run="returns of monday")
        >>> hours.window(ff.tumbling(60)).aggregate()["spent"].to_pylist()
        [1, 3]
        """
        commit, layout = self._there()
        engine, _ = self._fitting(self._engine(events), commit)
        return delete(self.table, layout, self._partials(engine, layout), named_run(run))

    def forget(self, keys: Any) -> list[str]:
        """Remove keys, from all files: from now on there are no partials of theirs.

        Parameters
        ----------
        keys
            Values of the key column; of several, tuples of values. Or a table with these columns.

        Returns
        -------
        The files of earlier commits that still have them. Nothing reads these any more, but who has begun before, and
        ``vacuum("0 seconds")`` deletes them.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> hours = ff.partials("by_user", time="t", by="user", frame=60, n=ff.Count())
        >>> run = hours.append(pa.table({"t": [0, 1], "user": ["ann", "bob"]}), run="monday")
        >>> len(hours.forget(["ann"])), len(hours.vacuum(0))
        (1, 1)
        >>> hours.window(ff.tumbling(60)).aggregate()["user"].to_pylist()
        ['bob']
        """
        layout = self._there()[1]
        return forget(self.table, layout, keys_in(keys, layout))

    def compact(self) -> None:
        """Merge the files of each day into one, with one row for each key and frame.

        Which run has brought what is not known of them any more: ``changed`` refuses such runs. The files that were
        there before stay until :meth:`vacuum`.
        """
        compact(self.table, self._there()[1])

    def coarsen(self, frame: Duration | Spec, *, older: Duration) -> None:
        """Make longer frames of those that end some time before the last one, or before now where that is yet to come.

        Windows that would cut them are refused from then on; runs in them are as :meth:`compact` leaves them.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> hours = ff.partials("ever_longer", time="t", frame=60, n=ff.Count())
        >>> run = hours.append(pa.table({"t": [0, 70, 130, 200]}), run="monday")
        >>> hours.coarsen(120, older=60)
        >>> hours.window(ff.tumbling(120)).aggregate()["n"].to_pylist()
        [2, 2]
        """
        commit, layout = self._there()
        coarsen(self.table, layout, self._longer(frame, commit), older)

    def roll_up(self, frame: Duration | Spec) -> None:
        """Keep longer frames beside the others: long windows that are asked for by their end read these.

        Each longer frame that has ended gets a file, with a row for each key, of the files that lie in it, once; again
        where more files have come. What is given does not change. Several lengths are kept beside one another. Not
        used where the order of events counts, as for ``Delta``.

        Parameters
        ----------
        frame
            A length that files fit in, which are of a day each where times are no integers: such as ``"30 days"``.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> hours = ff.partials("rolled_up", time="t", by="k", frame=60, n=ff.Count())
        >>> for hour in range(10):
        ...     run = hours.append(pa.table({"t": [60 * hour], "k": ["a"]}), run=str(hour))
        >>> hours.roll_up(240)
        >>> hours.window(ff.sliding(540, every=60)).ending(540, 600).aggregate()["n"].to_pylist()
        [9]
        """
        commit, layout = self._there()
        roll_up(self.table, layout, self._longer(frame, commit))

    def expire(self, older: Duration) -> None:
        """Take away the frames that end some time before the last one, or before now where that is yet to come.

        Windows that reach further back are no longer given. Files stay until :meth:`vacuum`.
        """
        expire(self.table, self._there()[1], older)

    def add_output(self, events: Any = None, **outputs: Operation) -> StoredPartials:
        """The same with more outputs, from the end of the last frame on; :meth:`refresh` brings them to earlier ones.

        Windows that reach further back are refused where they are asked for such outputs.

        Parameters
        ----------
        events
            Some events, or none, with the types of columns that no output has needed before.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> hours = ff.partials("more_and_more", time="t", frame=60, n=ff.Count())
        >>> run = hours.append(pa.table({"t": [0, 70], "x": [1, 2]}), run="monday")
        >>> hours = hours.add_output(pa.table({"t": [0], "x": [0]}), top=ff.Max("x"))
        >>> run = hours.append(pa.table({"t": [130], "x": [3]}), run="tuesday")
        >>> hours.window(ff.tumbling(60)).ending(after=120).aggregate()["top"].to_pylist()
        [3]
        """
        commit, _ = self._there()
        if not outputs:
            raise QueryError("no outputs are given; expected at least one, such as p90=ff.Quantile('amount', 0.9)")
        if there := [name for name in outputs if name in self.outputs]:
            raise QueryError(f"add_output() is given {there[0]!r}, which is there; expected other names")
        named, computed = outputs_of(outputs)
        more = replace(self, outputs=self.outputs | named, computed=self.computed | computed)
        schema = commit.schema("schema")
        if events is not None:
            given = more._engine(events).schema(more._columns)
            unknown = {*given.names} - {*schema.names}
            new = [name for name in more._columns if name in unknown]
            schema = pa.schema([*schema, *(given.field(name) for name in dict.fromkeys(new))])
        layout = more._layout(schema, commit)
        self.table.commits.require(in_parquet(layout.schema))
        add_output(self.table, self._layout(schema, commit), layout, tuple(named))
        return more

    def vacuum(self, grace: Duration = "1 day") -> list[str]:
        """Delete the files that only commits from before name, and those of writers that were ended; gives their paths.

        Parameters
        ----------
        grace
            How long ago a commit must have been followed by another one, and a file have been written: longer than
            any reader or writer takes. An integer is of seconds.
        """
        length = fixed(grace, "grace")
        micros = length.microseconds if isinstance(length, Length) else length * 1_000_000
        return self.table.commits.vacuum(datetime.timedelta(microseconds=micros))

    def window(self, *windows: Spec | Lookback) -> StoredWindows:
        """Windows over all that is stored, whose bounds are those of frames; several in one pass.

        Or a lookback at steps (``every=``), which gives a row for each key and step, with a column for each size.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> hours = ff.partials("looked", time="t", frame=60, n=ff.Count())
        >>> run = hours.append(pa.table({"t": [0, 70, 130]}), run="monday")
        >>> hours.window(ff.lookback(60, 120, every=60)).ending(after=60).aggregate().to_pydict()
        {'at': [120, 180, 240], 'n_60': [1, 1, 0], 'n_120': [2, 2, 1]}
        """
        specs, lookback = told_apart(windows)
        if lookback is not None:
            if lookback.every is None:
                raise QueryError(
                    f"the lookback is for {lookback.of}, at times within stored frames; expected steps at bounds of "
                    "frames, such as ff.lookback('7 days', every='1 day'), or the events themselves: ff.events(...)"
                )
            specs = lookback.windows(self.by)
        if not specs:
            raise QueryError(f"no window is given; expected .window(...) with {A_WINDOW}")
        return StoredWindows(self, specs, lookback)

    def changed(self, *, run: str | None = None, since: datetime.datetime | str | None = None) -> StoredPartials:
        """The same, of which windows are given only where a run, or those written since some time, changed any frame.

        Parameters
        ----------
        run
            The name of a run.
        since
            When it was written at the earliest, as ``runs()`` says: a time, which is in UTC if it has no zone.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> hours = ff.partials("visits", time="t", frame=60, n=ff.Count())
        >>> first = hours.append(pa.table({"t": [0, 70, 130]}), run="first")
        >>> late = hours.append(pa.table({"t": [65]}), run="late")
        >>> hours.changed(run="late").window(ff.tumbling(60)).aggregate()["n"].to_pylist()
        [2]
        """
        if (run is None) == (since is None):
            raise QueryError("changed() takes run= or since=; expected one of them")
        commit = self.table.commits.latest()
        if since is None:
            known = [each.run for each in commit.runs]
            if run not in known:
                raise QueryError(f"run is {run!r}, which is not in; {nearest(str(run), known)}")
            names: tuple[str, ...] = (str(run),)
        else:
            first = written_since(since)
            names = tuple(each.run for each in commit.runs if datetime.datetime.fromisoformat(each.written) >= first)
        require_apart(commit, names)
        return replace(self, changed_by=names)

    def runs(self) -> pa.Table:
        """What is in: a row for each run, with its events, rows, bytes, and when it was written."""
        found = self.table.commits.latest().runs
        return pa.table(
            {name: [getattr(each, name) for each in found] for name in Run.__annotations__ if name != "added"}
        )

    def _engine(self, events: Any) -> Engine:
        """The engine of events, with the columns that expressions compute."""
        engine = engine_for(events)
        engine = engine.with_columns(self.computed) if self.computed else engine
        return engine.with_fields(self._columns)

    @property
    def _columns(self) -> list[str]:
        """The columns of the events that are used."""
        return [self.time, *self.by, *self.ties, *(name for each in self.outputs.values() for name in each.columns)]

    def _write(self, events: Any, run: str, within: Span | None) -> Run:
        """Add events, or put them in the place of the frames between two ticks."""
        commit = self.table.commits.latest()
        if found := commit.run(run):
            # Only what lies in this process is counted: files of a run that is in may be gone.
            given, *_ = getattr(events, "shape", (None,)) if not hasattr(events, "fetchall") else (None,)
            known = found.events + found.expired
            if within is None and self.null_time == "error" and given not in (None, known):
                warn(
                    f"the run {run!r} is in, with {known} events, and none of the {given} that are given is added; "
                    "expected another name for other events",
                    DroppedEventsWarning,
                )
            return replace(found, added=False)
        added = self._added(events, commit, run, within)
        if added.added and added.expired:
            warn(
                f"{added.expired} of {added.expired + added.events} events of the run {run!r} are of frames that "
                ".expire(...) has taken away, and were left out",
                DroppedEventsWarning,
            )
        return added

    def _added(self, events: Any, commit: Commit, run: str, within: Span | None) -> Run:
        """Add events; columns get wider types where the stored ones do not hold their values."""
        engine, wide = self._engine(events), set[str]()
        if not isinstance(engine, LocalEngine) or isinstance(events, pa.RecordBatchReader):  # which is read once
            wide.update(self._columns)
        while True:
            fitting, layout = self._fitting(engine, commit, wide)
            if not isinstance(fitting, LocalEngine):
                from .on_spark.engine import append

                return append(cast(Any, fitting), self.table, layout, run, within)
            try:
                partials = self._partials(fitting, layout)
            except NotHeldError as error:
                if error.column in wide or not self.table.commits.widens:
                    raise
                wide.add(error.column)
            else:
                return self.table.append(layout, partials, run, within)

    def _fitting(self, engine: Engine, commit: Commit, wide: Collection[str] | None = None) -> tuple[Engine, Layout]:
        """Events in the types that the table has or gets, and their layout; see :func:`in_types`.

        EngineError where they do not fit, or the query.
        """
        given = known(engine.schema(self._columns), commit)
        if commit.filled:
            schema = in_types(given, commit.schema("schema"), wide if self.table.commits.widens else None)
            types = {each.name: each.type for each in schema if each.type != given.field(each.name).type}
            given = schema
            if types and isinstance(engine, LocalEngine):
                engine = LocalEngine(InTypes(engine.source, types))
            elif types:
                from .on_spark.engine import in_types as on_spark

                engine = on_spark(cast(Any, engine), types)
        layout = self._layout(given, commit)
        self.table.fitted(layout, commit)
        self.table.commits.require(in_parquet(layout.schema))
        return engine, layout

    def _partials(self, engine: Engine, layout: Layout) -> Partials:
        """The merged partials of events, in this process."""
        if not isinstance(engine, LocalEngine):
            from .on_spark.engine import all_partials

            return all_partials(cast(Any, engine), layout)
        plan = trusting(layout.plan)
        found, nulls, count = partials_of(engine.source, plan)
        warn_of_nulls(plan, nulls, count)
        return merge([Partials.none(plan), *found])

    def _there(self, trusted: bool = True, commit: Commit | None = None) -> tuple[Commit, Layout]:
        """What is stored, by now or as of a commit, to be read and, if it is trusted, written anew.

        Raises
        ------
        EngineError
            If nothing is, or what is there is of another query, or may not be read.
        """
        commit = self.table.commits.latest() if commit is None else commit
        if not commit.number:
            raise EngineError(f"the stored partials {self.table.commits.path!r} are empty; expected .append(...) first")
        layout = self._layout(commit.schema("schema"), commit)
        check_fits(commit, layout)
        if not trusted or (plan := self._trusted(layout.plan)) is layout.plan:
            return commit, layout
        assert layout.binds is not None
        return commit, replace(layout, plan=plan, binds=partial(bound_trusting, layout.binds))

    def _longer(self, frame: Duration | Spec, commit: Commit) -> Layout:
        """The layout in other frames."""
        spec = tumbling_frames(frame) if isinstance(frame, Spec) else replace(self.frame, size=frame, every=frame)
        return replace(self, frame=spec)._layout(commit.schema("schema"), commit)

    def _trusted(self, plan: Plan) -> Plan:
        """The plan for what reads states; EngineError where these are pickles, and nobody has said that they may be."""
        if not (pickled := pickled_outputs(plan)):
            return plan
        if not self.trust:
            raise EngineError(
                f"the states of {pickled[0]!r} are Python objects, kept as pickles, which can run code when they "
                "are read; expected ff.partials(..., trust=True) where nobody else can write to the files"
            )
        return trusting(plan)

    def _layout(self, events: pa.Schema, commit: Commit) -> Layout:
        binds = partial(
            bind, time=self.time, by=self.by, ties=self.ties, null_time=self.null_time, window=self.frame,
            outputs=self.outputs,
        )  # fmt: skip
        return Layout.of(binds, events, self.frame, commit.since).as_of(commit)[0]

    def _plan(
        self, events: pa.Schema, window: Spec | Sequence[Spec], outputs: Mapping[str, Operation], *, steps: bool = False
    ) -> Plan:
        """Outputs over windows, bound to the schema of events; with ``steps`` those of a lookback, beside these."""
        return bind(
            events, time=self.time, by=self.by, ties=self.ties, null_time=self.null_time,
            window=window, outputs=outputs, beside=() if steps else None,
        )  # fmt: skip


def bound_trusting(binds: Binds, events: pa.Schema) -> Plan:
    """The plan for events of some types, for what reads states that are trusted."""
    return trusting(binds(events))


@dataclass(frozen=True, repr=False)
class StoredWindows:
    """Windows over stored partials; made by :meth:`StoredPartials.window`."""

    of: StoredPartials
    windows: tuple[Spec, ...]
    lookback: Lookback | None = None
    after: Instant | None = None
    until: Instant | None = None
    known: dict[tuple[str, ...], tuple[Commit, Layout, Plan]] = field(default_factory=dict, compare=False)
    """What was asked of a commit, by the names of outputs: it is bound once."""

    def ending(self, after: Instant | None = None, until: Instant | None = None) -> StoredWindows:
        """The windows that end after one time, and at another one at the latest: only what they take in is read."""
        return replace(self, after=after, until=until)

    def aggregate(self, *names: str) -> Any:
        """One row a key and window, or step, as :meth:`Windowed.aggregate` gives; all outputs, or those named."""
        of, began = self.of, clock.monotonic()
        commit, layout, plan = self._at_rest(names)
        wanted = self._wanted(layout, commit, plan, names)
        files = of.table.files(plan, commit, wanted)
        if of.spark is not None:
            from .on_spark.engine import results

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
        commit, layout, plan = self._at_rest(names)
        tick = plan.times.instant(clock_of(plan.times) if at is None else at, "at")
        asked = EndingFirst(plan, since=since_of(commit, names), expired=commit.expired, at=tick)
        files = of.table.files(plan, commit, asked)
        merged = of.table.partials(layout, files, plan, asked, keys_in(keys, layout))
        return with_extensions(results_of_partials(merged, began, wanted=asked), plan, layout.events_schema)

    def _wanted(self, layout: Layout, commit: Commit, plan: Plan, names: Sequence[str]) -> Asked | None:
        times = plan.times
        asked = Asked(plan, since=since_of(commit, names), expired=commit.expired)
        if self.after is not None:
            asked = replace(asked, after=times.instant(self.after, "after"))
        if self.until is not None:
            asked = replace(asked, until=times.instant(self.until, "until"))
        if (runs := self.of.changed_by) is not None:
            require_apart(commit, runs)
            files = [each for each in commit.files if {*runs} & {*each.runs}]
            rows = self.of.table.read(layout, files, layout.own)
            rows = rows.filter(pc.is_in(rows.column(RUN), pa.array(runs, pa.string())))
            asked = replace(asked, changed=layout.changed(rows, plan))
        return None if asked == Asked(plan) else asked

    def _at_rest(self, names: tuple[str, ...]) -> tuple[Commit, Layout, Plan]:
        """What is stored, how, and the query of some outputs of it."""
        of, known = self.of, self.known.get(names)
        last = of.table.commits.latest()
        if known is not None and known[0] is last:
            return known
        commit, layout = of._there(trusted=False, commit=last)
        for name in names:
            if name not in of.outputs:
                raise QueryError(f"aggregate() is asked for {name!r}; {nearest(name, of.outputs)}")
        outputs = {name: each for name, each in of.outputs.items() if not names or name in names}
        if self.lookback is not None:
            outputs = outputs_over(self.lookback, self.windows, of.by, outputs)
        plan = of._plan(layout.events_schema, self.windows, outputs, steps=self.lookback is not None)
        found = self.known[names] = (commit, layout, of._trusted(plan))
        return found


def table_at(path: Any, format: str | None = None) -> Table:
    """The table at a path; QueryError where it is none."""
    if not isinstance(path, (str, os.PathLike)):
        raise QueryError(f"the path is {shown(path)}; expected a string or a path")
    require_text("the path", os.fspath(path))
    return Table.at(os.fspath(path), format)


@history_of.register
def stored_by_now(stored: StoredPartials) -> AtRest:
    """What is stored by now, for a stream that begins with it; QueryError where only some windows of it are meant."""
    if stored.changed_by is not None:
        raise QueryError("history is of what some runs have changed; expected ff.partials without .changed(...)")
    commit, layout = stored._there()
    return AtRest(stored.table, layout, commit)


def tumbling_frames(frame: Spec) -> Sliding:
    """Windows that frames are: each event is in one of them; QueryError for other windows."""
    if not isinstance(frame, Sliding) or frame.size != frame.every:
        raise QueryError(f"frame is {frame}; expected a duration, such as '1 hour', or tumbling windows")
    return frame


def named_run(run: Any) -> str:
    """The name of a run; QueryError where it is none."""
    if not isinstance(run, str) or not run:
        raise QueryError(f"run is {run!r}; expected a name, such as '2026-11-26'")
    require_text("run", run)
    return run


def since_of(commit: Commit, names: Sequence[str]) -> dict[str, int]:
    """The ticks from which on there are those of some outputs (none: all) that were added later."""
    return {name: tick for name, tick in commit.since.items() if not names or name in names}


def require_apart(commit: Commit, runs: Sequence[str]) -> None:
    """QueryError where rows of a run are in others, so that it is not known which it has changed."""
    if merged := [name for each in commit.files for name in each.merged if name in runs]:
        raise QueryError(
            f"the run {merged[0]!r} was merged with others, by compact, coarsen or delete, and what it changed is "
            "not known any more; expected a later run, or .ending(...) for the windows of some time"
        )


def now() -> datetime.datetime:
    """The time, in UTC."""
    return datetime.datetime.now(datetime.UTC)


def clock_of(times: TimeColumn) -> Instant:
    """The time by the clock, as a column has times: in UTC where these have no zone."""
    if pa.types.is_integer(times.type):
        raise QueryError("lookup() is given no at=, and times are integers, which no clock has; expected at=")
    if pa.types.is_date(times.type):
        return now().date()
    return now() if times.type.tz is not None else now().replace(tzinfo=None)


def written_since(since: Any) -> datetime.datetime:
    """An instant of writing; QueryError where it is none."""
    try:
        found = datetime.datetime.fromisoformat(since) if isinstance(since, str) else since
        return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)
    except (AttributeError, TypeError, ValueError) as error:
        raise QueryError(f"since is {since!r}; expected a time such as '2026-11-26T09:00Z'") from error


def keys_in(keys: Any, layout: Layout) -> pa.Table:
    """Keys as a table of the key columns; QueryError where they are none."""
    by, schema = layout.plan.by, layout.schema
    if not by:
        raise QueryError("the stored partials have no keys, and some are given; expected by= in ff.partials")
    types = pa.schema([schema.field(name) for name in by])
    try:
        if isinstance(keys, (list, tuple, set)):
            rows = [each if len(by) > 1 else (each,) for each in keys]
            given = pa.table([pa.array([row[at] for row in rows], each.type) for at, each in enumerate(types)], types)
        else:
            given = Source(in_arrow(keys, by)).batches(list(by)).read_all().select(by).cast(types)
        return pa.table([normalised(one_array(column)) for column in given.columns], types)
    except (pa.ArrowException, IndexError, KeyError, TypeError, AttributeError, QueryError) as error:
        expected = ", ".join(f"{each.name}: {each.type}" for each in types)
        raise QueryError(
            f"keys are {shown(keys)}; expected values of {expected}, or a table with these columns"
        ) from error


def outputs_of(outputs: Mapping[str, Operation]) -> tuple[dict[str, Operation], dict[str, Any]]:
    """Outputs of columns, and the expressions of some of these; QueryError where one is no operation."""
    for name, output in outputs.items():
        require_output(name, output)
        if any(output.windows_of_parts()):
            raise QueryError(
                f"{name} is {output}, over windows of its own; expected it without .over(...), and .window(...) of "
                "what is stored"
            )
    return without_expressions(outputs, ())
