"""Events, then windows, then aggregates. An engine does the work."""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Never, Unpack, cast

import numpy as np
import pyarrow as pa

from .aggregators.contract.operation import Operation
from .aggregators.contract.words import said_here
from .aggregators.errors import QueryError, nearest
from .engines import Engine
from .lookbacks import Lookback, told_apart
from .notebook import Described, of_events, picture_of
from .query import EventColumns, Result, bound, require_names, results, windows_in
from .runtime.explain import Explanation
from .runtime.features import feature
from .runtime.plan.plan import Plan
from .runtime.streams.history import history_of
from .runtime.windows.from_table import FromAnchors
from .runtime.windows.spec import Spec
from .spark.options import Choices, StreamChoices

if TYPE_CHECKING:
    from .extras.relations.relation import Relation

__all__ = ["Events", "Windowed"]


@dataclass(frozen=True, repr=False)
class Events(Described, EventColumns, Generic[Result]):
    """Events with the names of their columns and options; made by :func:`~framefold.events`."""

    described = of_events

    if not TYPE_CHECKING:  # or a misspelt name would have a type

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"events have no {name!r}{said_here(name)}", name=name, obj=self)

    def where(self, condition: Any) -> Events[Result]:
        """The events for which a condition is true, as in SQL's ``WHERE``.

        Parameters
        ----------
        condition
            SQL that is the same on every engine, as :func:`~framefold.expr` has it, or its text. Or for Arrow data and
            files a pyarrow expression, such as ``pyarrow.compute.field("speed") > 20``; files are not read where their
            statistics, or the names of their folders, say that no event can meet it. For a DataFrame a Spark column;
            ``pyspark.sql.functions.expr`` makes one of Spark's own SQL.

        Raises
        ------
        QueryError
            If it is of another kind, or does not fit the columns.

        Examples
        --------
        >>> import pyarrow as pa, pyarrow.compute as pc, framefold as ff
        >>> events = ff.events(pa.table({"t": [0, 1, 2], "x": [5, 6, None]}), time="t").where(pc.field("x") > 5)
        >>> events.window(ff.tumbling(10)).aggregate(n=ff.Count())["n"].to_pylist()
        [1]
        """
        return replace(self, engine=self.engine.where(condition))

    def window(self, *windows: Spec | Lookback) -> Windowed[Result]:
        """The events in windows, such as ``ff.sliding("1 hour", every="1 minute")``; in several, in one pass."""
        specs, lookback = told_apart(windows)
        if lookback is not None:
            if lookback.every is None and is_stream(self):
                raise QueryError(
                    f"the lookback is for {lookback.of}, and the events are a stream, whose windows are given as they "
                    "close; expected steps at which they end, such as ff.lookback('1 hour', every='1 minute')"
                )
            specs = lookback.windows(self.by)
        self.check_durations([each for each in specs if each.of_durations])
        return Windowed(self, specs, lookback)

    def aggregate(self, /, *unnamed: Never, **outputs: Operation) -> Result:
        """Aggregates that each carry windows of their own, by ``.over(...)``; see :meth:`Windowed.aggregate`."""
        return self.window().aggregate(*unnamed, **outputs)

    def explain(self, /, *unnamed: Never, **outputs: Operation) -> Explanation:
        """The explanation of :meth:`aggregate` with the same outputs."""
        return self.window().explain(*unnamed, **outputs)

    def options(self, **choices: Unpack[Choices]) -> Events[Result]:
        """The events with choices of how to run, which never change what a window has in it.

        Parameters
        ----------
        window
            How a result has its windows: ``"struct"``, a column ``window`` with ``start`` and ``end``, as Spark's own;
            or ``"flat"``, two columns ``window_start`` and ``window_end``, which pandas and CSV can work with.
        combine
            Where partials are combined on Spark. ``"driver"``: they are collected and slid there; the query runs at
            once, and the rows of the DataFrame are in order; an EngineError where results take more than 1 GiB.
            ``"executors"``: they are shuffled by key and slid by tasks; lazy, nothing runs before the DataFrame is used
            (but for windows counted in rows events are sorted and numbered at once, and persisted until the DataFrame
            is no longer needed). ``"auto"``: the driver if there are few enough of them, and results come from there if
            they take at most 256 MiB, and from tasks to which it sends the partials if those take less; else executors.
        max_driver_partials
            The most partials, one for each (key, frame) and task, that ``"auto"`` takes to the driver. Where there are
            more, other tasks may merge those of several tasks first, and have at most as many left. Where windows are
            counted in rows, the most events.
        accumulate
            What accumulates on Spark: ``"spark"`` itself, ``"python"`` tasks, or ``"auto"``: tasks for files, and for
            DataFrames Spark SQL where it can: all outputs are sums, averages, counts, extremes and the like, and the
            windows a grid or sessions.
        read
            Who reads files on Spark: ``"spark"``, or ``"auto"``: tasks where they can, also those of a DataFrame that
            is nothing but a scan of Parquet files.
        **choices
            Those of :meth:`stream` are taken, too, with a DeprecationWarning.
        """
        return with_options(self, choices)

    def stream(self, **choices: Unpack[StreamChoices]) -> Events[Result]:
        """The events of a stream, with choices that only streams have.

        Parameters
        ----------
        watermark
            Where the time has none: how long late events are waited for, such as ``"10 minutes"``, as ``withWatermark``
            takes it.
        ahead
            With ``watermark``: how far beyond the cluster's clock times may be, such as ``"1 hour"``. Events of later
            times are dropped, and counted, before they can close the windows of all others.
        early
            How often windows that are still open are given, too, with what they have by then, such as ``"1 minute"`` by
            the clock. The result then has a column ``provisional``, and is for the output mode update.
        late
            ``"drop"`` for events whose windows have all closed, ``"drop_partial"`` for those of which any has, so that
            no window lacks one that a later window has; or ``"update"``: they enter closed windows for
            ``allowed_lateness`` more, and these are given again. The result then has a column ``revision``, and is for
            the output mode update.
        allowed_lateness
            With ``late="update"``: how long after it has closed a window takes late events, by the watermark.
        forget
            How long after its last event a key is kept that later windows depend on, such as ``"1 day"``, and is given
            windows without an event (``empty="emit"``). None: for ever.
        history, until
            A DataFrame, or ``ff.events`` of one, of the events before the time ``until``, from which a new checkpoint
            starts; windows that end by then are not given. Events of either on the other side of it are left out.
            Or ``ff.partials`` that have all outputs; ``until`` is then the bound of a stored frame.
        shards
            Into how many parts keys are dealt, each of which slides at once; None for as many as Spark's state has
            partitions.
        checkpoint
            The ``checkpointLocation`` that its results are started with. If there is the state of another query, that
            is an error when the query is written, and not with the first new event.
        trust_checkpoint
            Whether states that are Python objects may be in the checkpoint, as pickles. Who can write there can then
            run code in the query.

        Raises
        ------
        QueryError
            If the events are no stream, or a choice is not one of these.
        """
        return with_stream(self, choices)

    def relation(self) -> Relation[Result]:
        """Interval events as a relation: each is valid from its time up to its end, which may be null for never."""
        return cast("Relation[Result]", feature("relations.relation").lasting(self))

    def dropped(self) -> Result:
        """The events that ``null_time="drop"`` leaves out: those without a time, as a DataFrame or a table."""
        return cast(Result, self.engine.without_time(self.time))


@dataclass(frozen=True, repr=False)
class Windowed(Described, Generic[Result]):
    """Events in windows; made by :meth:`Events.window`."""

    events: Events[Result]
    windows: tuple[Spec, ...]
    lookback: Lookback | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"events in windows have no {name!r}{said_here(name)}", name=name, obj=self)

    def described(self) -> dict[str, str]:
        return self.events.described() | {"windows": "; ".join(map(str, self.windows)) or "those of each output"}

    def _repr_html_(self) -> str:
        return super()._repr_html_() + picture_of(self.events, self.windows)

    def options(self, **choices: Unpack[Choices]) -> Windowed[Result]:
        """The query with choices of how to run; see :meth:`Events.options`."""
        return replace(self, events=with_options(self.events, choices))

    def stream(self, **choices: Unpack[StreamChoices]) -> Windowed[Result]:
        """The query of a stream, with choices that only streams have; see :meth:`Events.stream`."""
        return replace(self, events=with_stream(self.events, choices))

    def aggregate(self, /, *unnamed: Never, **outputs: Operation) -> Result:
        """One row a key and window: the key columns, ``window`` (a struct of start and end), the outputs; sorted.

        ``.options(window="flat")`` before it gives two columns ``window_start`` and ``window_end`` instead.

        Parameters
        ----------
        **outputs
            Aggregate operations under the names of their columns in the result.

        Returns
        -------
        A Spark DataFrame for events on Spark, a pyarrow Table otherwise.

        Raises
        ------
        QueryError, OperationError
            If the query is invalid: before anything runs.
        NullTimeError, SumOverflowError
            If the events have no result.
        """
        require_names(unnamed)
        if self.lookback is not None:
            return self.with_columns(**outputs)
        return cast(Result, results(self.events, self.windows, outputs))

    def with_columns(self, /, *unnamed: Never, **outputs: Operation) -> Result:
        """The events themselves, all their columns in their order, with the outputs as further columns.

        It is for windows with one for each event: :func:`~framefold.around`, :func:`~framefold.last_rows`,
        :func:`~framefold.landmark` without ``every=``, and :func:`~framefold.policy` that triggers at each row. With
        :func:`~framefold.windows_from` the rows are those of the other table, with all its columns. Outputs have the
        values and types that :meth:`aggregate` gives; they are null where it gives no row, as for windows that are not
        full (``min_fill=``), or for events without a time (``null_time="drop"``). Events that :meth:`Events.where`
        leaves out are left out here, too. Several outputs may each be over windows of their own, by ``.over(...)``.

        A DataFrame of Spark has no order, so its rows may come in any; there all events of a key are in one task.

        Parameters
        ----------
        **outputs
            Aggregate operations under the names of their columns, which the rows do not have yet.

        Returns
        -------
        A Spark DataFrame for events on Spark, computed when it is used; a pyarrow Table otherwise.

        Raises
        ------
        QueryError, OperationError
            If the query is invalid, or the events are a stream.
        NullTimeError, SumOverflowError
            If the events have no result.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> events = ff.events(pa.table({"t": [4, 1, 2], "x": [3, 1, 2]}), time="t")
        >>> events.window(ff.around(time=(-2, 0))).with_columns(total=ff.Sum("x")).to_pydict()
        {'t': [4, 1, 2], 'x': [3, 1, 2], 'total': [5, 1, 3]}
        """
        require_names(unnamed, "with_columns")
        engine, query, rows = self._bound_beside(outputs)
        if query.axis.beside == "step":
            return cast(Result, engine.run(query, self.events.run_options))
        return cast(Result, engine.beside(query, self.events.run_options, rows))

    def explain_with_columns(self, /, *unnamed: Never, **outputs: Operation) -> Explanation:
        """The explanation of :meth:`with_columns` with the same outputs; of :meth:`aggregate` it is :meth:`explain`.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> events = ff.events(pa.table({"t": [4, 1, 2], "x": [3, 1, 2]}), time="t").window(ff.around(time=(-2, 0)))
        >>> print(str(events.explain_with_columns(total=ff.Sum("x"))).splitlines()[-1].strip())
        beside         each event, in the order in which they are
        """
        require_names(unnamed, "explain_with_columns")
        engine, query, _ = self._bound_beside(outputs)
        return engine.explain(query, self.events.run_options)

    def _bound_beside(self, outputs: Mapping[str, Operation]) -> tuple[Engine, Plan, Sequence[str] | pa.Table]:
        """The query bound to its events, the engine of these, and the rows that results are beside."""
        windows = windows_in(self.windows, outputs)
        tables = [each for each in windows if isinstance(each, FromAnchors)]
        if any(each.rows != tables[0].rows for each in tables):
            raise QueryError("with_columns() is asked for windows from several tables; expected a query for each")
        labels = tables[0].rows() if tables else None
        own = [] if self.lookback and self.lookback.every else self.events.engine.schema([]).names
        beside = own if labels is None else labels.column_names
        engine, query = bound(self.events, self.windows, outputs, self.lookback, beside=beside)
        return engine, query, own if labels is None else labels

    def explain(self, /, *unnamed: Never, **outputs: Operation) -> Explanation:
        """What :meth:`aggregate` of the same outputs would do: frames, ways of sliding, where each stage runs, and why.

        Without outputs it has the events and the windows.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> events = pa.table({"t": [0], "x": [1.0]})
        >>> print(ff.events(events, time="t").window(ff.sliding(60, every=1)).explain(p=ff.Product("x")))
        framefold on the local engine
          events             time t (int64), one key: everything; columns read: t, x
          frames             one frame every 1; 60 to a window
          windows            60 every 1, [start, end), windows without an event are left out
          p = Product('x')   double; slides by two-stacks (at most 3 element operations a window): it has no deduct
          accumulate, merge  in this process, in threads, 524,288 events or more at a time
          slide, finish      in this process, about 262,144 windows at a time
        """
        require_names(unnamed)
        engine, query = self._query(outputs) if outputs else bound(self.events, self.windows, {}, explained=True)
        return engine.explain(query, self.events.run_options)

    def relation(self) -> Relation[Result]:
        """The events as rows with the instants at which they are in the window that ended last.

        The time of an event becomes the column ``ts``; ``valid_from`` and ``valid_to`` come after the others. With
        :func:`~framefold.last_rows` keys have windows of their own; others are of all events.

        Raises
        ------
        QueryError
            If the windows are several, or of a kind in which nothing says when an event is in them.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> events = ff.events(pa.table({"t": [1, 2, 4], "x": [5, 6, 7]}), time="t")
        >>> windows = ff.sliding(4, every=2, closed="right")
        >>> [tuple(row.values()) for row in events.window(windows).relation().rows().to_pylist()]
        [(1, 5, 2, 6), (2, 6, 2, 6), (4, 7, 4, 8)]
        """
        if len(self.windows) != 1:
            raise QueryError(f"relation() is of {len(self.windows)} kinds of windows; expected .window(...) with one")
        made = feature("relations.relation").windowed(self.events, self.windows[0])
        return cast("Relation[Result]", made)

    def latest(self, /, **outputs: Operation) -> Result:
        """The window of a stream that ends now, as a stream with one row a key, for the output mode update.

        Now is by the clock of the cluster, and the window the first one that it is in: of ``ff.sliding("1 hour",
        every="1 minute")`` the one that ends with this minute. A micro-batch gives the keys for which that window has
        other events than the one given last: those with new events, and those whose oldest ones have left it. A key
        whose last event has left is given once more, without events. The columns are those of :meth:`aggregate`. No
        watermark is needed: events are late where their last window has ended, and events of later times wait.

        Raises
        ------
        QueryError
            If the events are no stream, or the windows are none along the time line.
        """
        require_stream(self.events, "latest() is asked for events that are no stream, which has no now")
        engine, query = self._query(outputs)
        return cast(Result, cast(Any, engine).latest(query, self.events.run_options))

    def late(self, /, **outputs: Operation) -> Result:
        """The events that :meth:`aggregate` of the same outputs drops on a stream, with all their columns.

        They are a stream of its own, since a query has one sink; which are late is decided by the watermark of their
        micro-batch, so that it drops the same ones where both read the same micro-batches.

        Raises
        ------
        QueryError
            If the events are no stream: then none is late.
        """
        require_stream(self.events, "late() is asked for events that are no stream, of which none is late")
        engine, query = self._query(outputs)
        return cast(Result, cast(Any, engine).late(query, self.events.run_options))

    def still_open(self, checkpoint: str | os.PathLike[str], /, **outputs: Operation) -> Result:
        """The results that windows have by now which are open in the checkpoint of a stream, as a DataFrame of a batch.

        ``checkpoint`` is the ``checkpointLocation`` of :meth:`aggregate` of the same outputs, and these results are
        what it has not given. At the end of the input both together are those of the batch. The state stays as it is.

        QueryError or EngineError if the events are no stream, or there is no checkpoint of this query.
        """
        require_stream(self.events, "still_open() is asked for events that are no stream")
        engine, query = self._query(outputs)
        return cast(Result, cast(Any, engine).still_open(query, self.events.run_options, checkpoint))

    def export_state(
        self, checkpoint: str | os.PathLike[str], into: str | os.PathLike[str], /, **outputs: Operation
    ) -> None:
        """Store the state of a stream that has ended, for :meth:`import_state` of a query that goes on from it.

        ``checkpoint`` is the ``checkpointLocation`` of :meth:`aggregate` of the same outputs, and ``into`` a path or
        address with no stored partials yet. The checkpoint stays as it is.

        Raises
        ------
        QueryError
            If the events are no stream, or the state is none of frames along the time line.
        EngineError
            If there is no checkpoint of this query, it runs, or its last micro-batch is not over.
        """
        require_stream(self.events, "export_state() is asked for events that are no stream")
        engine, query = self._query(outputs)
        feature("stored.moving.moving").export_state(engine, query, self.events.run_options, checkpoint, into)

    def import_state(
        self,
        exported: str | os.PathLike[str],
        checkpoint: str | os.PathLike[str],
        /,
        skip_incomplete: bool = False,
        **outputs: Operation,
    ) -> datetime.datetime:
        """Make the checkpoint with which :meth:`aggregate` of the same outputs goes on where another query has stopped.

        Windows that were closed are not given again; the others have the events of both. The steps and sizes of
        windows may be others, where stored frames make up theirs, the shards, the partitions of the state, and the
        outputs.

        Parameters
        ----------
        exported
            What :meth:`export_state` has stored. The checkpoint that it was of is still needed.
        checkpoint
            Where the new one is to be: a path of this machine where nothing is.
        skip_incomplete
            Whether windows are left out that begin before all their events are stored, as for new outputs.
        **outputs
            Those of the new query.

        Returns
        -------
        The time up to which windows are closed: those that end later are the new query's.

        Raises
        ------
        QueryError
            If the events are no stream, or the query asks for something that is not stored.
        EngineError
            If nothing is, the other query runs or has gone on, or something is at the new place.
        """
        require_stream(self.events, "import_state() is asked for events that are no stream")
        engine, query = self._query(outputs)
        moving, options = feature("stored.moving.moving"), self.events.run_options
        tick = moving.import_state(engine, query, options, exported, checkpoint, skip=skip_incomplete)
        return cast(datetime.datetime, query.times.bounds(np.array([tick], np.int64))[0].as_py())

    def _query(self, outputs: Mapping[str, Operation]) -> tuple[Engine, Plan]:
        """The query of :meth:`aggregate` bound to its events, and the engine of these."""
        if self.lookback is not None:
            return self._bound_beside(outputs)[:2]
        return bound(self.events, self.windows, outputs)


def with_options(events: Events[Result], choices: Choices) -> Events[Result]:
    """Events with choices; called by the method that users call, whose line the warning names."""
    of_stream = [name for name in choices if name in StreamChoices.__annotations__]
    chosen = _chosen(events, "options", Choices, choices)
    if of_stream:
        asked = ", ".join(f"{name}=" for name in of_stream)
        sentence = f"options({asked}) is for streams only; expected .stream({asked})"
        warnings.warn(sentence, DeprecationWarning, stacklevel=3)
    return chosen


def with_stream(events: Events[Result], choices: StreamChoices) -> Events[Result]:
    """Events of a stream with choices that only streams have."""
    chosen = _chosen(events, "stream", StreamChoices, choices)
    asked = ", ".join(f"{name}=" for name in choices)
    require_stream(events, f"stream({asked}) is asked for events that are no stream")
    return chosen


def _chosen(events: Events[Result], method: str, known: Any, choices: Any) -> Events[Result]:
    for name in choices:
        if name not in known.__annotations__:
            if name in Choices.__annotations__:
                raise QueryError(
                    f"{method}() is given {name!r}, which is not for streams only; expected .options({name}=)"
                )
            raise QueryError(f"{method}() is given {name!r}; {nearest(name, known.__annotations__)}")
    if "history" in choices:
        choices = {**choices, "history": history_of(choices["history"])}
    return replace(events, run_options=replace(events.run_options, **choices))


def require_stream(events: Events[Any], found: str) -> None:
    """QueryError unless events are a stream."""
    if not is_stream(events):
        raise QueryError(f"{found}; expected a stream")


def is_stream(events: Events[Any]) -> bool:
    """Whether events are a stream."""
    return hasattr(events.engine, "still_open")
