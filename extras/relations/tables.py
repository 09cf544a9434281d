"""The operators of relations on Arrow tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.errors import ColumnError, QueryError, shown
from ...aggregators.states.arrays import Ints
from ...aggregators.states.large import one_array
from ...aggregators.states.views import is_made
from ...runtime.columns.field_types import type_of
from ...runtime.columns.key_codes import key_codes
from ...runtime.columns.plain import normalised, plain, plain_type, require_key
from ...runtime.columns.sorting import differs
from ...runtime.columns.ticks import NEVER, TimeColumn, drop_null_times, ends_of
from ...runtime.expressions.in_arrow import in_arrow
from ...runtime.expressions.text import Expr, expr
from ...runtime.frames.windows import WithValidity
from ...runtime.local import LocalEngine
from ...runtime.sources.arrow import Source
from ...runtime.sources.conditions import checked, error_of, named, reason_of, require_small
from .distinct import distinct
from .join_spec import JoinSpec
from .names import AT, CHANGE, FROM, INSERT_DELETE, RESERVED, TO, TS, WEIGHT, values_of
from .overlaps import Validities, in_order, last_before, overlapping, runs, uncovered


class Lazy:
    """A table that is computed when it is asked for, once; its schema is known before.

    Parameters
    ----------
    function
        Makes it of the tables that ``inputs`` are, and of empty ones an empty one, which has its schema.
    what
        What a user wrote that it computes, for a QueryError where that cannot be done.
    """

    def __init__(
        self, function: Callable[..., pa.Table], *inputs: Lazy, schema: pa.Schema | None = None, what: str = ""
    ) -> None:
        self.function, self.inputs, self.what = function, inputs, what
        self.schema: pa.Schema = schema or self.made(*(each.schema.empty_table() for each in inputs)).schema

    @cached_property
    def table(self) -> pa.Table:
        return self.made(*(each.table for each in self.inputs))

    def made(self, *tables: pa.Table) -> pa.Table:
        try:
            return self.function(*tables)
        except (pa.ArrowException, TypeError) as error:
            if not self.what:
                raise
            raise QueryError(f"{self.what} {reason_of(error, tables[0].schema)}") from error


class TableOperators:
    """The operators on tables of this process; the methods are those of ``relation.Operators``."""

    engine_name = "the local engine"
    streaming = recomputes = False

    def names(self, data: Lazy) -> list[str]:
        return list(data.schema.names)

    def time(self, data: Lazy, name: str = FROM) -> TimeColumn:
        return TimeColumn(name, data.schema.field(name).type)

    def zone(self, data: Lazy) -> str | None:
        kind = data.schema.field(FROM).type
        return kind.tz if pa.types.is_timestamp(kind) else None

    def result(self, data: Lazy) -> pa.Table:
        return data.table

    def condition(self, condition: Any) -> Any:
        return expr(condition) if isinstance(condition, str) else condition

    def fits(self, engine: LocalEngine, condition: Any, names: Sequence[str]) -> bool:
        """Whether a condition can be computed from some columns alone."""
        if isinstance(condition, Expr):
            return {path[0] for path in condition.columns} <= {*names}
        some = pa.schema([engine.source.schema.field(name) for name in names])
        return isinstance(condition, pc.Expression) and error_of(condition, some) is None

    def windowed(
        self, engine: LocalEngine, time: str, by: Sequence[str], ties: Sequence[str], drops: bool, windows: WithValidity
    ) -> Lazy:
        """Events with the validity that windows give them."""
        require_columns(engine.source.schema)
        schema = pa.schema([f.with_type(plain_type(f.type)) for f in engine.source.schema])
        others = [name for name in schema.names if name != time]

        def valid(events: pa.Table) -> pa.Table:
            events = drop_null_times(events, time) if drops else events
            ticks = windows.time.ticks(plain(events.column(time), windows.time.type))
            if windows.valid_by == "rows":
                codes, _ = codes_of(events, by)
                order = np.lexsort((*(codes_of(events, [name])[0] for name in reversed(ties)), ticks, codes))
                first, until = np.empty((2, len(ticks)), np.int64)
                starts = np.flatnonzero(differs(codes[order]))
                first[order], until[order] = windows.validity(ticks[order], starts)
            else:
                first, until = windows.validity(ticks, np.zeros(min(len(ticks), 1), np.int64))
            some = np.flatnonzero(first < until)
            values = take(plain_columns(events.select(others)), some)
            return with_validity(values, windows.time, ticks[some], first[some], until[some])

        return of_events(engine, schema, valid)

    def validities(
        self, engine: LocalEngine, times: TimeColumn, ends: TimeColumn, stamps: TimeColumn | None, drops: bool
    ) -> Lazy:
        """Rows that have a validity already: those for which it is empty are left out."""
        schema = engine.source.schema
        require_columns(schema)
        named = [time.name for time in (times, ends, stamps) if time is not None]
        others = [name for name in schema.names if name not in named]

        def valid(rows: pa.Table) -> pa.Table:
            rows = drop_null_times(rows, times.name) if drops else rows
            first = times.ticks(plain(rows.column(times.name), times.type))
            until = plain(rows.column(ends.name), ends.type)
            some = np.flatnonzero(first != ends.ticks_or_never(until))
            rows, first = rows.take(some), first[some]
            last = ends_of(times, ends, first, until.take(pa.array(some)))
            at = None if stamps is None else stamps.ticks_or_never(plain(rows.column(stamps.name), stamps.type))
            return with_validity(plain_columns(rows.select(others)), times, at, first, last)

        return of_events(engine, schema, valid)

    def where(self, data: Lazy, condition: Any) -> Lazy:
        condition = checked(condition, data.schema, "of a relation of this process")
        return Lazy(lambda rows: rows.filter(condition), data, what=named(condition))

    def select(self, data: Lazy, names: Sequence[str], computed: Mapping[str, Any]) -> Lazy:
        import pyarrow.dataset as ds  # slow to import

        stamp = [TS] if TS in data.schema.names else []
        wanted = {name: pc.field(name) for name in (*stamp, *names)}
        for name, each in computed.items():
            found = self.condition(each)
            if isinstance(found, Expr):
                found = in_arrow(found, data.schema, f"the column {name} of select()")
            if not isinstance(found, pc.Expression):
                raise QueryError(f"select() is given {name}={shown(each)}; expected SQL, or a pyarrow expression")
            if found is each:
                require_small(found, f"the column {name} of select()")
            wanted[name] = found
        wanted |= {name: pc.field(name) for name in (FROM, TO)}

        return Lazy(lambda rows: ds.dataset(rows).to_table(columns=wanted), data, what="a column of select()")

    def union(self, left: Lazy, right: Lazy) -> Lazy:
        def both(one: pa.Table, other: pa.Table) -> pa.Table:
            # Times are of another zone, maybe.
            fields = [one.schema.field(f.name) if f.name in RESERVED else f for f in other.schema]
            both = [one, other.cast(pa.schema(fields)).select(one.column_names)]
            return pa.concat_tables(both, promote_options="permissive")

        try:
            return Lazy(both, left, right)
        except pa.ArrowException as error:
            raise QueryError(f"columns of one name are of types that do not go together: {error}") from error

    def weighing(self, data: Lazy, sign: int) -> Lazy:
        return Lazy(lambda rows: rows.filter(pc.field(WEIGHT) * sign > 0), data)

    def untimed(self, data: Lazy) -> Lazy:
        return Lazy(lambda rows: rows.drop_columns([TS]), data) if TS in data.schema.names else data

    def with_constant(self, data: Lazy, name: str, value: int) -> Lazy:
        return Lazy(lambda rows: rows.append_column(name, pa.array(np.full(len(rows), value))), data)

    def join(self, left: Lazy, right: Lazy, how: JoinSpec) -> Lazy:
        for one, other in how.on:
            for name, schema in ((one, left.schema), (other, right.schema)):
                require_key(name, type_of(schema, name, "on="), "on=")
        return Lazy(partial(joined, how=how), left, right)

    def merged(self, data: Lazy, by: Sequence[str]) -> Lazy:
        return Lazy(partial(merged, by=by), data)

    def snapshots(self, data: Lazy, run: Callable[[LocalEngine], Any], by: Sequence[str]) -> Lazy:
        """What ``run`` gives of the rows, in ``window_start`` and ``window_end``, as a relation."""

        def aggregated(rows: pa.Table) -> pa.Table:
            found = run(LocalEngine(Source(rows)))
            others = [name for name in found.column_names if name not in ("window_start", "window_end")]
            ordered = found.select([*others, "window_start", "window_end"])
            return ordered.rename_columns([*others, FROM, TO])

        return Lazy(aggregated, data)

    def repeated(self, data: Lazy, name: str) -> Lazy:
        """Merged rows, each as often as the column says, which is dropped; copies go on where the next row touches."""
        return Lazy(partial(repeated, name=name), data)

    def distinct(self, data: Lazy) -> Lazy:
        """One row of equal ones at a time: each stays until it ends, then the youngest comes."""
        for name in values_of(data.schema.names):
            require_key(name, type_of(data.schema, name, "distinct()"), "distinct()")
        return Lazy(distinct_rows, data)

    def at(self, data: Lazy, tick: int) -> Lazy:
        def state(rows: pa.Table) -> pa.Table:
            _, first, until = validity_of(rows)
            return take(rows.drop_columns([FROM, TO]), np.flatnonzero((first <= tick) & (tick < until)))

        return Lazy(state, data)

    def states(self, data: Lazy, every: int, since: int | None, until: int | None) -> Lazy:
        return Lazy(partial(states, every=every, since=since, until=until), data)

    def changes(self, data: Lazy) -> Lazy:
        return Lazy(changes, data)


def of_events(engine: LocalEngine, schema: pa.Schema, valid: Callable[[pa.Table], pa.Table]) -> Lazy:
    """Events with their validity, by a function of tables."""
    made = valid(schema.empty_table()).schema
    return Lazy(lambda: valid(engine.source.batches(schema.names).read_all()), schema=made)


def require_columns(schema: pa.Schema) -> None:
    """ColumnError unless all columns, which a relation has, have names of their own, and values that Arrow makes."""
    counts = Counter(schema.names)
    for field in schema:
        if (count := counts[field.name]) > 1:
            raise ColumnError(f"a relation has all columns, and {count} are called {field.name!r}; expected one")
        if not is_made(field.type):
            raise ColumnError(
                f"a relation has all columns, and {field.name!r} is {field.type}, of which Arrow makes no values; "
                "expected plain ones, or the other columns only"
            )


def codes_of(rows: pa.Table, names: Sequence[str]) -> tuple[Ints, int]:
    """A code for each row's values of some columns, in their order."""
    columns = [normalised(plain(rows.column(name), plain_type(rows.schema.field(name).type))) for name in names]
    return key_codes(columns, len(rows), True)


def row_codes(rows: pa.Table) -> tuple[Ints, int]:
    """A code for each row, equal for equal rows; all differ where a column's values cannot be compared."""
    try:
        for field in rows.schema:
            require_key(field.name, plain_type(field.type))
    except ColumnError:
        return np.arange(len(rows)), max(len(rows), 1)
    return codes_of(rows, rows.column_names)


def take(rows: pa.Table, at: Ints) -> pa.Table:
    """Some rows, also of a table without columns, which pyarrow does not count by itself."""
    return rows.append_column("", pa.nulls(len(rows))).take(pa.array(at)).select(range(rows.num_columns))


def plain_columns(rows: pa.Table) -> pa.Table:
    """Rows with columns of one array each, without dictionaries and views."""
    columns = [plain(column, plain_type(column.type)) for column in rows.columns]
    return pa.table(columns, names=rows.column_names) if columns else rows


def with_validity(values: pa.Table, time: TimeColumn, ts: Ints | None, first: Ints, until: Ints) -> pa.Table:
    """Rows of a relation, of their columns and times; those that never end have a null."""
    columns = {} if ts is None else {TS: time.bounds(ts, never=True)}
    columns |= dict(zip(values.column_names, values.columns, strict=True))
    return pa.table(columns | {FROM: time.bounds(first), TO: time.bounds(until, never=True)})


def ticks_of(rows: pa.Table, name: str) -> Ints:
    """The ticks of a time of a relation; a null is :data:`NEVER`."""
    column = one_array(rows.column(name))
    return TimeColumn(name, column.type).ticks_or_never(column)


def validity_of(rows: pa.Table) -> tuple[TimeColumn, Ints, Ints]:
    """The time by which rows are valid, from which tick on they are, and up to which."""
    return TimeColumn(FROM, rows.schema.field(FROM).type), ticks_of(rows, FROM), ticks_of(rows, TO)


def joined(left: pa.Table, right: pa.Table, how: JoinSpec) -> pa.Table:
    """The pairs of two relations."""
    left, right = plain_columns(left), plain_columns(right)
    keys = [str(number) for number in range(len(how.on))]
    named = [
        pa.table([rows.column(pair[side]) for pair in how.on], names=keys) for side, rows in enumerate((left, right))
    ]
    try:
        both = pa.concat_tables(named, promote_options="permissive")
    except pa.ArrowException as error:
        raise QueryError(f"on= names columns of types that cannot be equal: {error}") from error
    codes, size = codes_of(both, keys) if keys else (np.zeros(len(left) + len(right), np.int64), 1)
    null = np.logical_or.reduce([column.is_null().to_numpy() for column in both.columns])
    left_key, right_key = np.split(np.where(null, size, codes), [len(left)])
    matched = np.flatnonzero(right_key < size)  # a null is equal to nothing
    time, *ours = validity_of(left)
    one, other = Validities(left_key, *ours), Validities(right_key, *validity_of(right)[1:]).at(matched)
    at, of = (ticks_of(each, TS if TS in each.column_names else FROM) for each in (left, right))
    if how.how == "asof":
        found = np.where(at < NEVER, last_before(left_key, at, other.key, of[matched]), -1)
        return paired(left, right, np.arange(len(left)), np.append(matched, -1)[found], one.first, one.until, how, time)
    if how.how == "at":  # rows of the left without a time are, as those with a null key, alone
        timed = at < NEVER
        at = np.where(timed, at, one.first)
        one = Validities(np.where(timed, left_key, size), at, at + 1)
    sides = in_order(one, other)
    rows, pairs = overlapping(sides)
    right = right if len(matched) == len(right) else right.take(matched)
    if how.how == "at" or len(rows) < len(left) + len(right):
        rows, pairs = sides.orders[0][rows], sides.orders[1][pairs]
    else:  # both are taken in this order first: pairs then go through memory in order
        one, other = one.at(sides.orders[0]), other.at(sides.orders[1])
        left, right = left.take(sides.orders[0]), right.take(sides.orders[1])
    first, until = np.maximum(one.first[rows], other.first[pairs]), np.minimum(one.until[rows], other.until[pairs])
    if how.how in ("left", "at"):
        alone, since, to = uncovered(one, other)
        rows, pairs = np.concatenate([rows, alone]), np.concatenate([pairs, np.full(len(alone), -1)])
        first, until = np.concatenate([first, since]), np.concatenate([until, to])
    if how.how == "at":
        order = np.argsort(rows, kind="stable")
        rows, pairs = rows[order], pairs[order]
        first, until = (each[rows] for each in ours)
    return paired(left, right, rows, pairs, first, until, how, time)


def paired(
    left: pa.Table, right: pa.Table, rows: Ints, pairs: Ints, first: Ints, until: Ints, how: JoinSpec, time: TimeColumn
) -> pa.Table:
    """Rows of both sides next to each other; a pair of -1 is none."""
    none = pairs < 0
    at, of = pa.array(rows), pa.array(pairs, mask=none) if none.any() else pa.array(pairs)
    columns = {name: left.column(name).take(at) for name in values_of(left.column_names)}
    columns |= {f"{how.prefix}{name}": right.column(name).take(of) for name in values_of(right.column_names)}
    sides = [(each, some) for each, some in ((left, rows), (right, pairs)) if TS in each.column_names]
    stamps = [np.append(ticks_of(each, TS), NEVER)[some] for each, some in sides]
    stamp = stamp_of(stamps, how.stamp) if stamps else None
    return with_validity(pa.table(columns), time, stamp, first, until)


def stamp_of(stamps: Sequence[Ints], rule: str) -> Ints:
    """The times of pairs, of those of both sides, or of the one that has some; NEVER is none."""
    one, other = stamps[0], stamps[-1]
    if rule == "min":
        return np.minimum(one, other)
    first, second = (other, one) if rule == "right" else (one, other)
    chosen = np.maximum(one, other) if rule == "max" else first
    return np.where(chosen == NEVER, np.minimum(first, second), chosen)


def merged(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    """Rows sorted by key and begin, at most one of a key at a time: equal neighbours that touch are one."""
    time, first, until = validity_of(rows)
    values = rows.drop_columns([FROM, TO])
    codes, _ = row_codes(values)
    fresh = differs(codes)
    fresh[1:] |= until[:-1] != first[1:]
    starts = np.flatnonzero(fresh)
    if len(starts) == len(rows):
        return rows
    last = np.append(starts[1:], len(rows)) - 1
    return with_validity(values.take(starts), time, None, first[starts], until[last])


def repeated(rows: pa.Table, name: str) -> pa.Table:
    """Merged rows, each as often as the column ``name`` says: as many rows as copies begin.

    Where the number of copies grows some begin, and where it falls those end that began first.
    """
    time, first, until = validity_of(rows)
    times, values = np.maximum(rows.column(name).to_numpy(), 0), rows.drop_columns([name, FROM, TO])
    codes, _ = row_codes(values)
    touching = ~differs(codes)[1:] & (until[:-1] == first[1:])
    begin, end = times.copy(), times.copy()
    begin[1:] -= np.where(touching, np.minimum(times[:-1], times[1:]), 0)
    end[:-1] -= np.where(touching, np.minimum(times[:-1], times[1:]), 0)
    begins, ends = (np.repeat(np.arange(len(rows)), each) for each in (begin, end))
    return with_validity(values.take(pa.array(begins)), time, None, first[begins], until[ends])


def distinct_rows(rows: pa.Table) -> pa.Table:
    """One row of equal ones at a time: each stays until it ends, then the youngest comes."""
    time, first, until = validity_of(rows)
    codes, _ = codes_of(rows, values_of(rows.column_names))
    at = ticks_of(rows, TS) if TS in rows.column_names else first
    found, since = distinct(Validities(codes, first, until), at)
    return rows.take(found).set_column(rows.column_names.index(FROM), rows.schema.field(FROM), time.bounds(since))


def states(rows: pa.Table, every: int, since: int | None, until: int | None) -> pa.Table:
    """The rows at each multiple of a step from ``since`` on, or from 0; of all that has changes without bounds."""
    time, first, last = validity_of(rows)
    known = np.concatenate([first, last[last < NEVER]])
    low = int(known.min(initial=NEVER)) if since is None else since
    high = int(known.max(initial=-NEVER)) if until is None else until
    origin = 0 if since is None else since
    begin, end = (-((origin - each) // every) for each in (np.maximum(first, low), np.minimum(last, high + 1)))
    row, number = runs(begin, np.maximum(begin, end), "expected a longer step in states(), or since= and until=")
    order = np.argsort(number, kind="stable")
    at = time.bounds(origin + number[order] * every)
    return take(rows.drop_columns([FROM, TO]), row[order]).add_column(0, AT, at)


def changes(rows: pa.Table) -> pa.Table:
    """What is inserted and deleted when, netted by row and instant; sorted by instant, deletes first."""
    time, first, until = validity_of(rows)
    ends = np.flatnonzero(until < NEVER)
    values = rows.drop_columns([FROM, TO])
    codes, _ = row_codes(values)
    row = np.concatenate([np.arange(len(rows)), ends])
    at, code = np.concatenate([first, until[ends]]), codes[row]
    weight = np.where(np.arange(len(row)) < len(rows), 1, -1)
    order = np.lexsort((code, at))
    at, code, weight, row = at[order], code[order], weight[order], row[order]
    starts = np.flatnonzero(differs(at, code))
    net = np.add.reduceat(weight, starts) if len(starts) else weight
    copies = np.repeat(starts, np.abs(net))
    sign = np.repeat(np.sign(net), np.abs(net))
    copies, sign = (column[np.lexsort((sign, at[copies]))] for column in (copies, sign))
    found = values.take(row[copies])
    names = pa.array(INSERT_DELETE).take(pa.array((sign < 0).astype(np.int64)))
    columns = {AT: time.bounds(at[copies]), CHANGE: names, WEIGHT: pa.array(sign.astype(np.int32))}
    return pa.table(columns | dict(zip(found.column_names, found.columns, strict=True)))
