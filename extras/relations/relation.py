"""Relations of rows that are valid from an instant on up to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, TypeAlias, cast, overload

import pyarrow as pa

from ...aggregators.contract.column_expressions import text_of_column
from ...aggregators.contract.operation import Operation
from ...aggregators.errors import QueryError, nearest, shown
from ...aggregators.extremes.min_max import Max
from ...aggregators.sums.sums import Sum
from ...engines import Engine, engine_for
from ...query import EventColumns, Result, require_names, results
from ...reading import SparkFiles
from ...runtime.columns.field_types import type_of
from ...runtime.columns.plain import require_key
from ...runtime.columns.ticks import Duration, Instant, TimeColumn
from ...runtime.explain import Explanation
from ...runtime.frames.windows import WithValidity
from ...runtime.local import LocalEngine
from ...runtime.plan.window_inputs import own_name
from ...runtime.windows import snapshot
from ...runtime.windows.sliding import TickSteps
from ...runtime.windows.snapshot import Snapshots
from ...runtime.windows.spec import Spec, one_of
from ...spark.options import Options
from .join_spec import JoinSpec
from .names import FROM, REPEATED, RESERVED, TO, TS, VIEWED, values_of
from .tables import TableOperators
from .updates import PATTERNS, Updates, both, interfering, replacing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Relation", "relation"]

Operators: TypeAlias = Any
"""The operators on the data of one engine, rows with their validity: those of
:class:`~framefold.extras.relations.tables.TableOperators`, on DataFrames and streams the same ones."""


STAYS = {
    None: "rows keep their validity",
    "rows": "stays above the windows: rows that it leaves out push others out",
    "time": "stays above the windows: it is of instants",
}
"""Why a condition is not below the windows of a relation, by what its rows are valid by; None: there are none."""


@dataclass(frozen=True)
class Origin:
    """The events that a relation is made of by windows, as long as nothing else has been done to them."""

    events: EventColumns
    spec: Spec
    windows: WithValidity


@dataclass(frozen=True, repr=False)
class Relation(Generic[Result]):
    """Rows with the instants at which they are valid, ``valid_from <= instant < valid_to``; null is for ever.

    Made by :meth:`Windowed.relation` and :func:`relation`. It is a bag: equal rows count. Rows have a time ``ts`` where
    they have one of their own. Everything is lazy, and each operator gives a new relation.
    """

    operators: Operators
    data: Any
    updates: Updates
    told: tuple[tuple[str, str], ...]
    """For each operator what it is, and what it does to updates."""
    origin: Origin | None = None
    sides: tuple[Relation[Result], ...] = ()
    """The relations that it is the union of."""
    lasts: int | None = None
    """The most ticks from the time of a row to its end; None where it may go on for ever."""
    remade: Callable[[Callable[[Any], Any]], Any] | None = None
    """The data of groups anew, of the rows that a function keeps; None where they are not computed at each use."""

    def __repr__(self) -> str:
        return str(self.explain())

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    @property
    def columns(self) -> list[str]:
        """The columns of a row beside its times."""
        return values_of(self.operators.names(self.data))

    @property
    def timed(self) -> bool:
        return TS in self.operators.names(self.data)

    @property
    def pattern(self) -> str:
        """The pattern of its updates, by row: from ``"monotonic"`` to ``"strictly non-monotonic"``."""
        return str(Updates.of(self.updates.row))

    def where(self, condition: Any) -> Relation[Result]:
        """The rows for which a condition is true: SQL, a pyarrow expression, or for a DataFrame a column of Spark's.

        It goes below windows of time, and below those of rows where it is on their partition columns.

        Raises
        ------
        QueryError
            If it does not fit the columns.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> events = ff.events(pa.table({"t": [0, 1], "k": ["a", "b"], "x": [5, 3]}), time="t")
        >>> calls = events.window(ff.sliding(4, every=1, closed="right")).relation()
        >>> calls.where("x > 3").rows().to_pylist()
        [{'ts': 0, 'k': 'a', 'x': 5, 'valid_from': 0, 'valid_to': 4}]
        """
        condition, words = self.operators.condition(condition), f"where {text_of_column(condition)}"
        if self.sides:
            parts = [side.where(condition) for side in self.sides]
            return replace(parts[0].union(parts[1]), told=((words, "went below the union"), *self.told))
        if (origin := self.origin) is not None and (why := self._pushed(origin, condition)) is not None:
            below = windowed(replace(origin.events, engine=origin.events.engine.where(condition)), origin.spec)
            return replace(below, told=((words, f"went below the windows: {why}"), *self.told))
        told = ((words, STAYS[None if origin is None else origin.windows.valid_by]), *self.told)

        def kept(rows: Any) -> Any:
            return self.operators.where(rows, condition)

        return replace(self, data=kept(self.data), told=told, origin=None, remade=self._remade(kept))

    def _pushed(self, origin: Origin, condition: Any) -> str | None:
        """Why a condition may be on the events; None where it may not."""
        events, rows = origin.events, origin.windows.valid_by == "rows"
        names = events.by if rows else self.columns
        if not names or not self.operators.fits(events.engine, condition, names):
            return None
        return "it is on their partition columns" if rows else "they go by time alone"

    def select(self, *columns: str, **computed: Any) -> Relation[Result]:
        """Some columns, and computed ones (``y="x + 1"``); the times of rows stay.

        Raises
        ------
        QueryError
            If a column is unknown, or an expression does not fit the columns.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> scd2 = pa.table({"k": ["a"], "x": [1], "from": [0], "to": pa.array([None], pa.int64())})
        >>> ff.relation(scd2, valid_from="from", valid_to="to").select("k", y="x + 1").rows().to_pylist()
        [{'k': 'a', 'y': 2, 'valid_from': 0, 'valid_to': None}]
        """
        wanted = [self._column(name, "select()") for name in dict.fromkeys(columns) if name not in RESERVED]
        for name in computed:
            if name in RESERVED or name in wanted:
                raise QueryError(f"select() computes {name!r}, which is another column; expected a name of its own")

        def selected(rows: Any) -> Any:
            return self.operators.select(rows, wanted, computed)

        words = ", ".join([*wanted, *(f"{name} = {text_of_column(each)}" for name, each in computed.items())])
        kept = self._then(selected(self.data), self.updates, f"select {words}", "rows keep their validity")
        return replace(kept, lasts=self.lasts, remade=self._remade(selected))

    def join(
        self,
        other: Relation[Result],
        on: str | Sequence[Any] | Mapping[str, str] = (),
        *,
        prefix: str = "right_",
        stamp: Literal["min", "max", "left", "right"] | None = None,
        how: Literal["inner", "left", "asof", "at"] = "inner",
    ) -> Relation[Result]:
        """Pairs of rows of equal keys, for as long as both are valid: up to the earlier of both ends.

        Parameters
        ----------
        other
            The right side.
        on
            The columns that are equal: a name, several, or pairs of a name on the left and one on the right. A null
            is equal to nothing. None: all rows that are valid together.
        prefix
            What the names of all columns of the right begin with in the result.
        stamp
            The time ``ts`` of a pair: ``"min"``, the lesser of both, ``"max"``, or that of one side, ``"left"`` or
            ``"right"``. By default the lesser; with ``how="asof"`` and ``how="at"`` that of the left.
        how
            ``"inner"``; ``"left"`` also gives the parts of a validity on the left in which no row of the right matches;
            ``"asof"`` gives each row on the left once, as long as it is valid, with the last row of the right by key:
            the one of the greatest ``ts`` (or ``valid_from``, where rows have no time of their own) not after its own,
            even if that row has ended by then; ``"at"`` gives each row on the left, as long as it is valid, with the
            rows of the right by key that are valid at its ``ts`` (or ``valid_from``): in tables of validities with the
            one that was true at its time. If there is none, the columns of the right are null.

        Raises
        ------
        QueryError, ColumnError
            If columns are unknown or cannot be equal, or names are taken twice.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> ends = pa.array([3, None], pa.int64())
        >>> scd2 = pa.table({"k": ["a", "a"], "rate": [1.0, 1.2], "from": [0, 3], "to": ends})
        >>> rates = ff.relation(scd2, valid_from="from", valid_to="to")
        >>> calls = ff.events(pa.table({"t": [2], "k": ["a"]}), time="t").window(ff.sliding(4, every=1, closed="right"))
        >>> found = calls.relation().join(rates, on="k", prefix="rate_").select("rate_rate").rows().to_pylist()
        >>> sorted(tuple(row.values()) for row in found)
        [(2, 1.0, 2, 3), (2, 1.2, 3, 6)]
        """
        self._alike(other, "join")
        stamp = stamp or ("left" if how in ("asof", "at") else "min")
        one_of("stamp", stamp, ("min", "max", "left", "right"))
        one_of("how", how, ("inner", "left", "asof", "at"))
        if not isinstance(prefix, str):
            raise QueryError(f"prefix of join() is {prefix!r}; expected text, such as 'right_'")
        pairs = pairs_of(on)
        for one, right in pairs:
            self._column(one, "on= of the left")
            other._column(right, "on= of the right")
        taken = {*self.columns, *RESERVED}
        for name in other.columns:
            if f"{prefix}{name}" in taken:
                raise QueryError(
                    f"the column {prefix + name!r} of the right would hide one of the left; expected another prefix="
                )
        if how != "inner":
            self._no_deletes(f"join(how={how!r})", "a part without a match is taken back when one comes, or is late")
        spec = JoinSpec(pairs, prefix, stamp, how, (self.lasts, other.lasts))
        updates = both(self.updates, other.updates)
        if how == "inner":
            updates, why = interfering(updates), "a pair ends with the first of its rows to end"
        elif how == "left":
            updates, why = Updates.of("strict"), "a part without a match ends when one comes"
        else:
            updates, why = self.updates, "a row on the left is given for as long as it is valid"
        keys = ", ".join(one if one == right else f"{one} = {right}" for one, right in pairs) or "nothing"
        words = f"{'' if how == 'inner' else how + ' '}join on {keys}"
        return self._then(self.operators.join(self.data, other.data, spec), updates, words, why, other)

    def union(self, other: Relation[Result]) -> Relation[Result]:
        """The rows of both, which must have the same columns; with times where both have them.

        Raises
        ------
        QueryError
            If columns differ.
        """
        left, right = self._same_columns(other, "union")
        found = self.operators.union(left, right)
        joint = self._then(found, both(self.updates, other.updates), "union", "rows keep their validity", other)
        lasts = None if self.lasts is None or other.lasts is None else max(self.lasts, other.lasts)
        return replace(joint, sides=(self, other) if self.timed == other.timed else (), lasts=lasts)

    def difference(self, other: Relation[Result]) -> Relation[Result]:
        """Each row as often as it is here more often than in the other, at every instant; without a time.

        Raises
        ------
        QueryError
            If columns differ, or cannot be compared.
        """
        self._no_deletes("difference", "a row of the other takes one of these back")
        left, right = self._same_columns(other, "difference")
        times, do = own_name(REPEATED, self.columns), self.operators
        signed = [do.with_constant(do.untimed(rows), times, sign) for rows, sign in ((left, 1), (right, -1))]
        found = self._snapshots(do.union(*signed), self.columns, {times: Sum(times)})
        found = do.repeated(do.merged(found, self.columns), times)
        why = "a row of the other takes one of these back, and brings it back as it ends"
        return self._then(found, Updates.of("strict"), "difference", why, other)

    def distinct(self, *columns: str, keep: bool = False) -> Relation[Result]:
        """One row of equal ones at a time: the latest, or with ``keep`` the one found until it ends.

        Parameters
        ----------
        *columns
            The columns that count, which are selected first; all where there are none.
        keep
            Whether a row that was found stays until it ends, and the youngest equal one comes then: the paper's policy,
            which has fewer updates. Of a fresh value the first row is taken.

        Raises
        ------
        QueryError
            If a column is unknown, or its values cannot be compared.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> events = ff.events(pa.table({"t": [0, 1], "k": ["a", "a"]}), time="t")
        >>> calls = events.window(ff.sliding(4, every=1, closed="right")).relation()
        >>> [tuple(row.values()) for row in calls.distinct("k").rows().to_pylist()]
        [('a', 0, 0, 1), ('a', 1, 1, 5)]
        >>> [tuple(row.values()) for row in calls.distinct("k", keep=True).rows().to_pylist()]
        [(0, 'a', 0, 4), (1, 'a', 4, 5)]
        """
        if columns:
            return self.select(*columns).distinct(keep=keep)
        self._no_deletes("distinct", "a row ends when an equal one comes" if not keep else "it waits for rows to end")
        if keep:
            updates, why = interfering(self.updates), "a row stays until it ends"
            return self._then(self.operators.distinct(self.data), updates, "distinct, the row found is kept", why)
        latest = TS if self.timed else own_name(REPEATED, self.columns)
        data = self.data if self.timed else self.operators.with_constant(self.data, latest, 1)
        found = self.operators.merged(self._snapshots(data, self.columns, {latest: Max(latest)}), self.columns)
        if not self.timed:
            found = self.operators.repeated(found, latest)
        updates = replacing(self.updates, "strict")
        return self._then(found, updates, "distinct, the latest row", "ends as a later one comes")

    def aggregate(
        self, /, *unnamed: Never, by: str | Sequence[str] | None = None, **outputs: Operation
    ) -> Relation[Result]:
        """One row a group, for as long as its aggregates stay the same; none while the group has no rows.

        Parameters
        ----------
        by
            The columns whose values make groups; none for one group.
        **outputs
            Any of the aggregate operations, under the names of their columns.

        Raises
        ------
        QueryError, OperationError
            As for :meth:`Windowed.aggregate`.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> events = ff.events(pa.table({"t": [0, 1], "k": ["a", "a"]}), time="t")
        >>> calls = events.window(ff.sliding(4, every=1, closed="right")).relation()
        >>> [tuple(row.values()) for row in calls.aggregate(by="k", n=ff.Count()).rows().to_pylist()]
        [('a', 1, 0, 1), ('a', 2, 1, 4), ('a', 1, 4, 5)]
        """
        require_names(unnamed)
        keys = [by] if isinstance(by, str) else list(by or ())
        for name in keys:
            self._column(name, "by= of aggregate()")
        for name in outputs:
            if name in RESERVED:
                raise QueryError(f"the output {name!r} would hide a time of rows; expected another name")
        words = "aggregate" + (f" by {', '.join(keys)}" if keys else "")
        updates, why = replacing(self.updates, "weak"), "a group's row is replaced, and gone with its last row"
        if self.operators.streaming:
            return self._then(self._stream_aggregate(keys, outputs), updates, words, why)

        def groups(rows: Any) -> Any:
            return self.operators.merged(self._snapshots(rows, keys, outputs), keys)

        below = self.remade or (lambda keep: keep(self.data))
        again = (lambda keep: groups(below(keep))) if self.operators.recomputes else None
        return replace(self._then(groups(self.data), updates, words, why), remade=again)

    def at(self, instant: Instant) -> Result:
        """The rows valid at an instant, such as ``"2026-05-01"``: what was true then.

        One without a zone is in that of the times, on Spark in the session's.
        """
        self._no_views("at")
        tick = self._tick(instant, "at()")
        return cast(Result, self.operators.result(self.operators.at(self._valid_at(1, tick, tick), tick)))

    def states(self, every: Duration, *, since: Instant | None = None, until: Instant | None = None) -> Result:
        """The rows valid at each multiple of a step, with the instant as ``at``.

        Steps are counted from ``since``, or from the epoch in UTC; they go from the first change to the last one, or
        from ``since`` to ``until``, both included. A day has 24 hours, whatever clocks do.
        """
        self._no_views("states")
        step = self.operators.time(self.data).length(every, "every")
        bounds = [
            None if each is None else self._tick(each, name) for each, name in ((since, "since"), (until, "until"))
        ]
        return cast(Result, self.operators.result(self.operators.states(self._valid_at(step, *bounds), step, *bounds)))

    def _valid_at(self, every: int, since: int | None, until: int | None) -> Any:
        """The data; groups have only the rows that are valid at one of these steps, and are right there."""
        if self.remade is None or until is None:  # without an end steps go on to the last change of all rows
            return self.data
        return self.remade(lambda rows: self.operators.valid_at(rows, every, since, until))

    def _remade(self, above: Callable[[Any], Any]) -> Callable[[Callable[[Any], Any]], Any] | None:
        """As :attr:`remade`, with an operator above that leaves validities as they are."""
        remade = self.remade
        return None if remade is None else lambda keep: above(remade(keep))

    def changes(self) -> Result:
        """What changes when: ``at``, ``change`` (``"insert"`` or ``"delete"``), ``weight`` (+1 or -1), and the row.

        They are sorted by instant, deletes first; what is deleted and inserted at one instant is no change. Played from
        the beginning they give every state.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> scd2 = pa.table({"k": ["a", "b"], "from": [0, 3], "to": pa.array([3, None], pa.int64())})
        >>> ff.relation(scd2, valid_from="from", valid_to="to").changes().to_pydict()["change"]
        ['insert', 'delete', 'insert']
        """
        return self._changed("changes")

    def inserts(self) -> Result:
        """Those of :meth:`changes` that insert a row: the paper's ISTREAM."""
        return self._changed("inserts", 1)

    def deletes(self) -> Result:
        """Those of :meth:`changes` that delete a row: the paper's DSTREAM."""
        return self._changed("deletes", -1)

    def _changed(self, view: str, sign: int = 0) -> Result:
        self._no_views(view)
        found = self.operators.changes(self.data)
        if sign:
            found = self.operators.weighing(found, sign)
        return cast(Result, self.operators.result(found))

    def rows(self) -> Result:
        """All rows with their validity: a DataFrame of Spark's, or a pyarrow table."""
        return cast(Result, self.operators.result(self.data))

    def explain(self) -> Explanation:
        """How it is updated, which operator makes it so, and which rewriting was done.

        Examples
        --------
        >>> import pyarrow as pa, framefold as ff
        >>> events = ff.events(pa.table({"t": [0, 1], "k": ["a", "a"]}), time="t")
        >>> print(events.window(ff.sliding(4, every=1)).relation().distinct("k").explain())
        a relation on the local engine
          updates                   strictly non-monotonic by row, weak non-monotonic by key
          by row                    a row may end at any time, which must be told by a delete
          distinct, the latest row  strictly non-monotonic by row, weak non-monotonic by key: ends as a later one comes
          select k                  weakest non-monotonic: rows keep their validity
          windows of 4 every 1      weakest non-monotonic: each row's validity follows from its time
        """
        head = (("updates", str(self.updates)), ("by row", PATTERNS[self.updates.row][1]))
        return Explanation(f"a relation on {self.operators.engine_name}", (*head, *self.told))

    def _tick(self, instant: Instant, argument: str) -> int:
        """The tick of an instant; one without a zone is in that of the times."""
        time: TimeColumn = self.operators.time(self.data)
        return time.instant(instant, argument, self.operators.zone(self.data))

    def _then(
        self, data: Any, updates: Updates, words: str, why: str, other: Relation[Result] | None = None
    ) -> Relation[Result]:
        of_other = () if other is None else tuple((f"  {name}", text) for name, text in other.told)
        indent = "" if other is None else "  "
        of_self = tuple((f"{indent}{name}", text) for name, text in self.told)
        return Relation(self.operators, data, updates, ((words, f"{updates}: {why}"), *of_self, *of_other))

    def _column(self, name: Any, argument: str) -> str:
        if name not in self.columns:
            raise QueryError(f"{argument} names the unknown column {shown(name)}; {nearest(str(name), self.columns)}")
        return str(name)

    def _alike(self, other: Any, operator: str) -> None:
        """QueryError unless another is a relation of the same engine, and of times of the same type."""
        if not isinstance(other, Relation):
            raise QueryError(f"{operator}() is given {shown(other)}; expected a relation")
        if type(self.operators) is not type(other.operators):
            raise QueryError(
                f"{operator}() is of a relation on {self.operators.engine_name} and one on "
                f"{other.operators.engine_name}; expected one engine"
            )
        one, two = (each.operators.time(each.data) for each in (self, other))
        if not one.compares_with(two):
            raise QueryError(
                f"{operator}() is of a relation whose times are {one.type} and one of {two.type}; expected one type"
            )

    def _same_columns(self, other: Relation[Result], operator: str) -> tuple[Any, Any]:
        """The data of both, timed where both are; QueryError unless they have the same columns."""
        self._alike(other, operator)
        if sorted(self.columns) != sorted(other.columns):
            raise QueryError(
                f"{operator}() is of a relation with the columns {self.columns} and one with {other.columns}; expected "
                "the same: select() them first"
            )
        if self.timed and other.timed:
            return self.data, other.data
        return self.operators.untimed(self.data), self.operators.untimed(other.data)

    def _snapshots(self, data: Any, by: Sequence[str], outputs: Mapping[str, Operation]) -> Any:
        """Outputs by key between any two changes of its rows."""

        def run(engine: Engine) -> Any:
            options = Options(window="flat", combine="executors")
            rows = EventColumns(engine, FROM, tuple(by), TO, None, (), "error", options)
            return results(rows, [snapshot(emit="on_change")], outputs)

        return self.operators.snapshots(data, run, by)

    def _stream_aggregate(self, keys: Sequence[str], outputs: Mapping[str, Operation]) -> Any:
        """The results of windows of a stream, each valid from the end of its window up to the next end."""
        if self.origin is None or not isinstance(self.origin.windows, TickSteps) or self.origin.windows.calendar:
            raise self._refused("aggregate", "is there only right over sliding or tumbling windows of fixed length")
        options = replace(self.origin.events.run_options, window="flat")
        events = replace(self.origin.events, by=tuple(keys), run_options=options)
        found = results(events, [self.origin.spec], outputs)
        return self.operators.stamped(found, self.origin.windows.steps.every)

    def _refused(self, operator: str, why: str) -> QueryError:
        return QueryError(
            f"{operator} of a stream {why}; expected a batch: in foreachBatch every micro-batch is one, and so is a "
            "table that it is appended to"
        )

    def _no_deletes(self, operator: str, why: str) -> None:
        """QueryError on a stream, which can add rows and not take them back."""
        if self.operators.streaming:
            raise self._refused(operator, f"needs deletes, which a stream of rows has not: {why}")

    def _no_views(self, view: str) -> None:
        """QueryError on a stream, and where a row has a column with a name that the view has of its own."""
        if self.operators.streaming:
            raise self._refused(f"{view}()", "needs all rows at hand, and deletes, which a stream of rows has not")
        for name in VIEWED[view]:
            if name in self.columns:
                raise QueryError(
                    f"{view}() has a column {name!r} of its own, and so have the rows; expected another name for it: "
                    f"select({name}_of_row={name!r}, ...)"
                )


def pairs_of(on: Any) -> tuple[tuple[str, str], ...]:
    """The pairs of columns that ``on=`` names."""
    given = on.items() if isinstance(on, Mapping) else on if isinstance(on, (list, tuple)) else [on]
    found = tuple((each, each) if isinstance(each, str) else each for each in given if on is not None)
    if not all(
        isinstance(pair, (list, tuple)) and [isinstance(each, str) for each in pair] == [True] * 2 for pair in found
    ):
        raise QueryError(
            f"on= of join() is {on!r}; expected names, or pairs of a name on the left and one on the right"
        )
    return found


def operators_for(engine: Engine) -> tuple[Engine, Operators]:
    """The operators on the data of an engine; files that tasks would read are a DataFrame."""
    if isinstance(engine, LocalEngine):
        return engine, TableOperators()
    df = cast(Any, engine).df
    if df.isStreaming:
        from .on_spark.streams import StreamOperators

        return engine, StreamOperators()
    from ...spark.engine.engine import DataFrameEngine
    from .on_spark.frames import DataFrameOperators

    return DataFrameEngine(df), DataFrameOperators()


def windowed(events: EventColumns, spec: Spec) -> Relation[Any]:
    """The relation of :meth:`Windowed.relation`."""
    engine, operators = operators_for(events.engine.with_fields(events.names))
    events = replace(events, engine=engine)
    schema = engine.schema(events.names)
    time = TimeColumn(events.time, type_of(schema, events.time, "time="))
    windows = spec.bind(time, lambda name, argument: type_of(schema, name, argument))
    if events.until is not None:
        if not isinstance(windows, Snapshots):
            raise QueryError(f"{spec}: interval events have a validity already; expected ff.snapshot(), or no windows")
        return lasting(events)
    if not isinstance(windows, WithValidity):
        raise QueryError(
            f"{spec}: in these windows no rule says from when to when an event is in them; expected ff.sliding, "
            "ff.tumbling, ff.cumulating, ff.landmark or ff.last_rows"
        )
    if windows.min_samples or windows.fill or getattr(windows, "min_fill", "partial") == "full":
        raise QueryError(f"{spec}: min_fill, min_samples and fill_from are of results; expected none for a relation")
    for name in (*events.by, *events.ties):
        require_key(name, type_of(schema, name, "by= or ties="))
    require_free([name for name in schema.names if name != events.time])
    if operators.streaming and windows.valid_by == "rows":
        raise QueryError(
            f"{spec}: on a stream a row of the last n ends when later ones come, and needs a delete; expected windows "
            "of time, or a batch, as in foreachBatch"
        )
    by = events.by if windows.valid_by == "rows" else ()
    data = operators.windowed(engine, events.time, by, events.ties, events.null_time == "drop", windows)
    updates = Updates.of(windows.pattern(bool(by)))
    rules = {"rows": "later rows say when a row ends", "time": "each row's validity follows from its time"}
    told, origin = ((str(spec), f"{updates}: {rules[windows.valid_by]}"),), Origin(events, spec, windows)
    return Relation(operators, data, updates, told, origin, lasts=windows.valid_for)


def lasting(events: EventColumns) -> Relation[Any]:
    """The relation of interval events."""
    if events.until is None:
        raise QueryError("relation() of events without until= is given no windows; expected .window(...) before it")
    if events.longest is not None:
        raise QueryError("longest= is of interval events in windows; expected none for a relation")
    drops, engine = events.null_time == "drop", events.engine.with_fields(events.names)
    return valid(engine, events.time, events.until, events.time, drops, ("time=", "until="))


def valid(
    engine: Engine,
    valid_from: str,
    valid_to: str,
    ts: str | None,
    drops: bool = False,
    arguments: tuple[str, str] = ("valid_from=", "valid_to="),
) -> Relation[Any]:
    """The relation of rows that have a validity; the arguments are those that name its bounds, for messages."""
    engine, operators = operators_for(engine)
    schema = engine.schema([name for name in (valid_from, valid_to, ts) if name is not None])
    first = TimeColumn(valid_from, type_of(schema, valid_from, arguments[0]), arguments[0])
    if valid_to == valid_from:
        raise QueryError(f"{arguments[0]} and {arguments[1]} both name {valid_to!r}; expected two columns")

    def time(name: str, argument: str) -> TimeColumn:
        """Another time of a row: a column of nulls alone is of the type of the first one."""
        kind = type_of(schema, name, argument)
        found = TimeColumn(name, first.type if pa.types.is_null(kind) else kind, argument)
        if not first.compares_with(found):
            raise QueryError(
                f"{arguments[0]} names {valid_from!r}, which is {first.type}, and {argument} {name!r}, which is "
                f"{found.type}; expected one type"
            )
        return found

    until, stamp = time(valid_to, arguments[1]), None if ts is None else time(ts, "ts=")
    require_free([name for name in schema.names if name not in (valid_from, valid_to, ts)])
    data = operators.validities(engine, first, until, stamp, drops)
    updates = Updates.of("weak")
    return Relation(operators, data, updates, (("a table of validities", f"{updates}: rows say when they end"),))


def require_free(names: Iterable[str]) -> None:
    """QueryError where a column has the name of one that relations have."""
    for name in names:
        if name in RESERVED:
            raise QueryError(
                f"there is a column {name!r}, which relations have of their own; rename it, or name it in ts="
            )


@overload
def relation(
    data: DataFrame | SparkFiles, *, valid_from: str, valid_to: str, ts: str | None = None
) -> Relation[DataFrame]: ...
@overload
def relation(data: Any, *, valid_from: str, valid_to: str, ts: str | None = None) -> Relation[pa.Table]: ...
def relation(data: Any, *, valid_from: str, valid_to: str, ts: str | None = None) -> Relation[Any]:
    """A table of validities as a relation: a slowly changing dimension, bookings, the rows of another relation.

    Parameters
    ----------
    data
        As for :func:`~framefold.events`.
    valid_from, valid_to
        The columns that say from when on a row is valid, and up to when: null for ever. A row for which both are equal
        is left out.
    ts
        The column with a time of each row, if it has one; a column ``"ts"`` is that by itself. As-of joins give a row
        in which it is null no match, and give it to none.

    Raises
    ------
    QueryError, ColumnError
        If the data or an argument cannot be used.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> scd2 = pa.table({"k": ["a", "a"], "rate": [1.0, 1.2], "from": [0, 3], "to": pa.array([3, None], pa.int64())})
    >>> ff.relation(scd2, valid_from="from", valid_to="to").at(4).to_pylist()
    [{'k': 'a', 'rate': 1.2}]
    """
    for argument, name in (("valid_from", valid_from), ("valid_to", valid_to), ("ts", ts)):
        if not isinstance(name, str) and not (argument == "ts" and name is None):
            raise QueryError(f"{argument}= is {name!r}; expected the name of a column")
    engine = engine_for(data).with_fields([name for name in (valid_from, valid_to, ts) if name is not None])
    if ts is None and TS in engine.schema([]).names and TS not in (valid_from, valid_to):
        ts = TS
    return valid(engine, valid_from, valid_to, ts)
