"""The operators of relations on DataFrames of Spark's: all of them lazy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ....aggregators.errors import QueryError, shown
from ....runtime.columns.field_types import type_of
from ....runtime.columns.ticks import NEVER, TimeColumn
from ....runtime.expressions.text import Expr
from ....runtime.frames.windows import RowOrder, WithValidity
from ....runtime.plan.window_inputs import own_name
from ....spark.convert.expressions import parsed
from ....spark.convert.names import check_apart, column, type_in, under_plain_names
from ....spark.convert.types import input_schema
from ....spark.engine.engine import DataFrameEngine, reason
from ....spark.input.ordering import sortable
from ....spark.session.filtered import filtered
from ....spark.session.staging import stage
from ....spark.tuning import ASOF_BUCKETS
from ..join_spec import JoinSpec
from ..names import AT, CHANGE, FROM, INSERT_DELETE, REPEATED, RESERVED, TO, TS, WEIGHT, values_of
from .instants import instant, kind_of, ticks, validity
from .overlap_join import by_key, gaps, not_null, overlap_join
from .tasks import add_validity, keep

TICK, FIRST, UNTIL, ARRIVAL = "#tick", "#first", "#until", "#arrival"

MAX_STEPS = 100_000_000
"""The most steps of ``states`` at which a row is valid: Spark has an array of them, of 800 MB."""
TOO_MANY_STEPS = (
    f"a row is valid at more than {MAX_STEPS:,} steps, more than a task can hold; expected a longer step in "
    "states(), or since= and until="
)


class DataFrameOperators:
    """The operators on DataFrames; the methods are those of :class:`framefold.extras.relations.relation.Operators`."""

    engine_name = "Spark"
    streaming = False
    recomputes = True
    """Whether data are computed again at each use."""

    def names(self, data: DataFrame) -> list[str]:
        return list(data.columns)

    def time(self, data: DataFrame, name: str = FROM) -> TimeColumn:
        return TimeColumn(name, input_schema(data, [name]).field(name).type)

    def zone(self, data: DataFrame) -> str | None:
        zoned = self.time(data).type == pa.timestamp("us", tz="UTC")
        return data.sparkSession.conf.get("spark.sql.session.timeZone") if zoned else None

    def result(self, data: DataFrame) -> DataFrame:
        return data

    def condition(self, condition: Any) -> Any:
        return parsed(condition) if isinstance(condition, str) else condition

    def fits(self, engine: DataFrameEngine, condition: Any, names: Sequence[str]) -> bool:
        if isinstance(condition, Expr):
            return {path[0] for path in condition.columns} <= {*names}
        loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
        for logger in loggers:
            logger.disabled = True  # of errors that nobody made
        try:
            filtered(only(engine.df, names), condition)
        except AnalysisException:
            return False
        finally:
            for logger in loggers:
                logger.disabled = False
        return True

    def windowed(
        self,
        engine: DataFrameEngine,
        time: str,
        by: Sequence[str],
        ties: Sequence[str],
        drops: bool,
        windows: WithValidity,
    ) -> DataFrame:
        df = engine.df
        check_apart(df.sparkSession, [*df.columns, *({TS, FROM, TO} - {time})])
        kind = kind_of(df, time)
        rows, inner = renamed(df, (FROM, TO))
        rows = with_ticks(rows, inner.get(time, time), time, drops)
        named = {f"#key{at}": column(inner.get(name, name)) for at, name in enumerate(by)}
        tied = {f"#tie{at}": each for at, each in enumerate(sortable(rows, [inner.get(name, name) for name in ties]))}
        keys, order = (", ".join(f"`{name}`" for name in names) for names in (named, (TICK, *tied, ARRIVAL)))
        steps = windows.validity_sql(RowOrder(keys, f"`{TICK}`", order))
        if windows.valid_by == "rows":
            rows = rows.withColumns(named | tied | {ARRIVAL: f.monotonically_increasing_id()})
        if steps is None:
            added = [t.StructField(name, t.LongType()) for name in (FROM, TO)]
            schema = t.StructType([*rows.schema.fields, *added])
            rows = stage(under_plain_names(rows, rows.columns), add_validity, windows, schema, schema=schema)
        for step in steps or ():
            rows = rows.withColumns({name: f.expr(sql) for name, sql in step.items()})
        rows = rows.where(f.col(FROM).isNotNull() & (f.col(FROM) < f.coalesce(f.col(TO), f.lit(NEVER))))
        others = [own(name, inner) for name in df.columns if name != time]
        bounds = [instant(kind, f.coalesce(f.col(name), f.lit(NEVER))).alias(name) for name in (FROM, TO)]
        return rows.select(self.stamp(inner.get(time, time), kind).alias(TS), *others, *bounds)

    def stamp(self, time: str, kind: t.DataType) -> Column:
        """The times of rows."""
        return instant(kind, f.col(TICK))

    def validities(
        self, engine: DataFrameEngine, times: TimeColumn, ends: TimeColumn, stamps: TimeColumn | None, drops: bool
    ) -> DataFrame:
        df, kind = engine.df, kind_of(engine.df, times.name)
        named = [time.name for time in (times, ends, stamps) if time is not None]
        others = [name for name in df.columns if name not in named]
        check_apart(df.sparkSession, [*others, *RESERVED])
        rows, inner = renamed(df)
        rows = with_ticks(rows, inner.get(times.name, times.name), times.name, drops)
        rows = rows.withColumn(UNTIL, ticks(rows, inner.get(ends.name, ends.name), NEVER))
        wrong = f"a row ends before it starts; expected {ends.name!r} after {times.name!r}"
        checked = f.when(f.col(UNTIL) < f.col(TICK), f.raise_error(f.lit(wrong)).cast("boolean"))
        rows = rows.where(f.coalesce(checked, f.col(TICK) < f.col(UNTIL)))
        at = [] if stamps is None else [ticks(rows, inner.get(stamps.name, stamps.name))]
        return rows.select(
            *(instant(kind, each).alias(TS) for each in at), *(own(name, inner) for name in others),
            instant(kind, f.col(TICK)).alias(FROM), instant(kind, f.col(UNTIL)).alias(TO),
        )  # fmt: skip

    def where(self, data: DataFrame, condition: Any) -> DataFrame:
        return DataFrameEngine(data).where(condition).df

    def select(self, data: DataFrame, names: Sequence[str], computed: Mapping[str, Any]) -> DataFrame:
        found = [column(name) for name in names]
        for name, each in computed.items():
            made = self.condition(each)
            if isinstance(made, Expr):
                made = DataFrameEngine(data).column_of(made, f"the column {name} of select()")
            if not isinstance(made, Column):
                raise QueryError(f"select() is given {name}={shown(each)}; expected SQL, or a Spark column")
            found.append(made.alias(name))
        stamp = [f.col(TS)] if TS in data.columns else []
        try:
            rows = data.select(*stamp, *found, FROM, TO)
            rows.schema  # noqa: B018  # through Connect, only this analyses the columns
        except AnalysisException as error:
            raise QueryError(f"a column of select() does not fit the DataFrame: {reason(error)}") from error
        check_apart(data.sparkSession, rows.columns)
        return rows

    def weighing(self, data: DataFrame, sign: int) -> DataFrame:
        return data.where(f.col(WEIGHT) * sign > 0)

    def union(self, left: DataFrame, right: DataFrame) -> DataFrame:
        try:
            rows = left.unionByName(right)
            rows.schema  # noqa: B018  # through Connect, only this analyses it
        except AnalysisException as error:
            raise QueryError(f"columns of one name are of types that do not go together: {reason(error)}") from error
        return rows

    def untimed(self, data: DataFrame) -> DataFrame:
        return data.drop(TS)

    def with_constant(self, data: DataFrame, name: str, value: int) -> DataFrame:
        return data.withColumn(name, f.lit(value).cast("bigint"))

    def join(self, left: DataFrame, right: DataFrame, how: JoinSpec) -> DataFrame:
        for one, other in how.on:
            type_of(input_schema(left, [one]), one, "on="), type_of(input_schema(right, [other]), other, "on=")
        check_apart(left.sparkSession, [*left.columns, *(f"{how.prefix}{name}" for name in values_of(right.columns))])
        sides = Sides(left, right, how)
        return sides.asof() if how.how == "asof" else sides.overlapping()

    def snapshots(self, data: DataFrame, run: Callable[[DataFrameEngine], DataFrame], by: Sequence[str]) -> DataFrame:
        found = run(DataFrameEngine(data))
        return found.withColumnsRenamed({"window_start": FROM, "window_end": TO}).select(
            *(column(name) for name in found.columns if name not in ("window_start", "window_end")), FROM, TO
        )

    def merged(self, data: DataFrame, by: Sequence[str]) -> DataFrame:
        others = [name for name in data.columns if name not in (FROM, TO)]
        if any(has_map(data.schema[name].dataType) for name in others):
            return data
        keys, (new, island) = [column(name) for name in by], (own_name(name, others) for name in ("#new", "#island"))
        rows = by_key(keys).orderBy(FROM)
        row = f.struct(*(column(name) for name in others)) if others else f.lit(True)
        same = f.lag(row).over(rows).eqNullSafe(row) & f.lag(TO).over(rows).eqNullSafe(f.col(FROM))
        islands = data.withColumn(new, f.when(same, 0).otherwise(1)).withColumn(island, f.sum(new).over(rows))
        found = islands.groupBy(*keys, island).agg(
            *(f.first(column(name)).alias(name) for name in others if name not in by),
            f.min(FROM).alias(FROM), f.max_by(TO, FROM).alias(TO),
        )  # fmt: skip
        return found.select([column(name) for name in data.columns])

    def repeated(self, data: DataFrame, name: str) -> DataFrame:
        """As :meth:`framefold.extras.relations.tables.TableOperators.repeated`."""
        kept = [each for each in data.columns if each != name]
        keys = [column(each) for each in kept if each not in (FROM, TO)]
        rows, times = by_key(keys).orderBy(FROM), f.greatest(column(name), f.lit(0))
        begins, ends = f.lag(TO).over(rows) == f.col(FROM), f.lead(FROM).over(rows) == f.col(TO)
        begin, end, copy = (own_name(each, data.columns) for each in ("#begin", "#end", "#copy"))
        counted = data.withColumns(
            {
                begin: times - f.when(begins, f.least(times, f.lag(times).over(rows))).otherwise(0),
                end: times - f.when(ends, f.least(times, f.lead(times).over(rows))).otherwise(0),
            }
        )
        kind = data.schema[FROM].dataType

        def copies(count: Column, since: Column, until: Column) -> Column:
            last = f.sum(count).over(rows)
            numbers = f.when(count > 0, f.sequence(last - count + 1, last)).otherwise(f.array().cast("array<bigint>"))
            bounds = since.cast(kind).alias(FROM), until.cast(kind).alias(TO)
            return f.transform(numbers, lambda number: f.struct(number.alias("number"), *bounds))

        both = f.concat(copies(column(begin), f.col(FROM), f.lit(None)), copies(column(end), f.lit(None), f.col(TO)))
        found = counted.withColumn(copy, both).select(*keys, f.explode(column(copy)).alias(copy))
        bounds = (f.max(column(copy)[each]).alias(each) for each in (FROM, TO))
        return found.groupBy(*keys, column(copy)["number"]).agg(*bounds).select([column(each) for each in kept])

    def distinct(self, data: DataFrame) -> DataFrame:
        names = values_of(data.columns)
        input_schema(data, names)
        rows = data.repartition(*sortable(data, names)) if names else data.repartition(1)
        order = [name for name in (FROM, TS, TO) if name in data.columns]
        rows = rows.sortWithinPartitions(*(f.col(name).asc_nulls_last() for name in order))
        return stage(under_plain_names(rows, data.columns), keep, tuple(data.columns), data.schema, schema=data.schema)

    def at(self, data: DataFrame, tick: int) -> DataFrame:
        first, until = validity(data)
        return data.where((first <= tick) & (until > tick)).drop(FROM, TO)

    def states(self, data: DataFrame, every: int, since: int | None, until: int | None) -> DataFrame:
        kind = kind_of(data)
        others = [name for name in data.columns if name not in (FROM, TO)]
        check_apart(data.sparkSession, [AT, *others])
        rows, inner = renamed(data)
        rows = rows.withColumns(dict(zip((FIRST, UNTIL), validity(rows), strict=True)))
        high = f.lit(until)
        if until is None:  # which takes all rows twice
            ends = f.when(f.col(UNTIL) < NEVER, f.col(UNTIL))
            last, high = rows.agg(f.greatest(f.max(FIRST), f.max(ends)).alias("#high")), f.col("`#high`")
            rows = rows.crossJoin(f.broadcast(last))
        begin, end = steps_between(f.col(FIRST), f.col(UNTIL), every, since, high)
        rows = rows.withColumns({"#begin": begin, "#end": end}).where(f.col("#begin") <= f.col("#end"))
        many = f.raise_error(f.lit(TOO_MANY_STEPS)).cast("array<bigint>")
        numbers = f.when(f.col("#end") - f.col("#begin") < MAX_STEPS, f.sequence("`#begin`", "`#end`")).otherwise(many)
        rows = rows.withColumn("#number", f.explode(numbers))
        found = [own(name, inner) for name in others]
        return rows.select(instant(kind, f.col("#number") * every + (since or 0)).alias(AT), *found).orderBy(AT)

    def valid_at(self, data: DataFrame, every: int, since: int | None, until: int) -> DataFrame:
        """The rows that are valid at some of the steps of :meth:`states`, with their validity."""
        begin, end = steps_between(*validity(data), every, since, f.lit(until))
        return data.where(begin <= end)

    def changes(self, data: DataFrame) -> DataFrame:
        others = [name for name in data.columns if name not in (FROM, TO)]
        check_apart(data.sparkSession, [AT, CHANGE, WEIGHT, *others])
        rows = [column(name) for name in others]
        both = data.select(f.col(FROM).alias(AT), *rows, f.lit(1).alias(WEIGHT)).unionByName(
            data.where(f.col(TO).isNotNull()).select(f.col(TO).alias(AT), *rows, f.lit(-1).alias(WEIGHT))
        )
        if not any(has_map(data.schema[name].dataType) for name in others):
            both = both.groupBy(AT, *rows).agg(f.sum(WEIGHT).cast("int").alias(WEIGHT)).where(f.col(WEIGHT) != 0)
            both = repeated(both, own_name(REPEATED, others), f.abs(WEIGHT))
            both = both.withColumn(WEIGHT, f.signum(WEIGHT).cast("int"))
        change = f.when(f.col(WEIGHT) > 0, INSERT_DELETE[0]).otherwise(INSERT_DELETE[1])
        return both.orderBy(AT, WEIGHT).select(AT, change.alias(CHANGE), WEIGHT, *rows)


def renamed(df: DataFrame, also: Sequence[str] = ()) -> tuple[DataFrame, dict[str, str]]:
    """Rows of which no column has the name of one of our own, and the names that such columns have there instead.

    Others stay as they are, so that conditions may be on columns of the DataFrame that a user has.
    """
    names = list(df.columns)
    taken = [name for name in names if name.startswith("#") or name in also]
    inner = {name: own_name(f"c{at}", names) for at, name in enumerate(taken)}
    return df.withColumnsRenamed(inner), inner


def own(name: str, inner: Mapping[str, str]) -> Column:
    """A column of renamed rows under its own name."""
    return column(inner[name]).alias(name) if name in inner else column(name)


def repeated(df: DataFrame, number: str, times: Column) -> DataFrame:
    """Copies of each row, ``times`` of them, none where that is below 1; the column ``number`` counts them from 1."""
    return df.where(times > 0).withColumn(number, f.explode(f.sequence(f.lit(1), times.cast("int"))))


def with_ticks(df: DataFrame, time: str, named: str, drops: bool) -> DataFrame:
    """Rows with their time as a tick; where one has none it is left out, or fails as it is read."""
    found = ticks(df, time)
    if drops:
        return df.withColumn(TICK, found).where(f.col(TICK).isNotNull())
    message = f"the time {named!r} is null in some events; expected a time for every event"
    return df.withColumn(TICK, f.coalesce(found, f.raise_error(f.lit(message)).cast("bigint")))


def only(df: DataFrame, names: Sequence[str]) -> DataFrame:
    """Some columns without rows, and without others behind them, which Spark finds after a select."""
    kinds = t.StructType([t.StructField(name, type_in(df, name)) for name in names])
    return df.sparkSession.createDataFrame([], kinds)


def step_from(tick: Column, every: int) -> Column:
    """The number of the first multiple of a step from a tick on."""
    return f.call_function("div", tick + f.pmod(-tick, f.lit(every)), f.lit(every).cast("bigint"))


def steps_between(first: Column, until: Column, every: int, since: int | None, high: Column) -> tuple[Column, Column]:
    """The numbers of the first and the last step in a validity, up to a tick; steps are counted from ``since``."""
    low, origin = (first, 0) if since is None else (f.greatest(first, f.lit(since)), since)
    return step_from(low - origin, every), step_from(f.least(until, high + 1) - origin, every) - 1


def has_map(kind: t.DataType) -> bool:
    """Whether values of a type cannot be compared."""
    if isinstance(kind, t.StructType):
        return any(has_map(field.dataType) for field in kind.fields)
    return isinstance(kind, t.MapType) or (isinstance(kind, t.ArrayType) and has_map(kind.elementType))


class Sides:
    """Both sides of a join, their columns under names of their own."""

    def __init__(self, left: DataFrame, right: DataFrame, how: JoinSpec) -> None:
        self.how, self.kind = how, kind_of(left)
        self.names = [{name: at for at, name in enumerate(side.columns)} for side in (left, right)]
        self.left, self.right = (
            side.select(
                *(column(name).alias(f"#{mark}{at}") for at, name in enumerate(side.columns)),
                *(each.alias(f"#{mark}{end}") for each, end in zip(validity(side), "fu", strict=True)),
                *([ticks(side, TS).alias(f"#{mark}t")] if TS in side.columns else []),
            )
            for side, mark in ((left, "l"), (right, "r"))
        )
        self.keys = [(self.spelt(0, one), self.spelt(1, other)) for one, other in how.on]
        if how.how == "at":  # a row of the left meets others in its time alone
            at = f.col("#lt" if TS in left.columns else "#lf")
            whole = {"#lf'": f.col("#lf"), "#lu'": f.col("#lu")}
            self.left = self.left.withColumns(whole | {"#lf": at, "#lu": at + 1})

    def spelt(self, side: int, name: str) -> str:
        """The name of a column here."""
        return f"#{'lr'[side]}{self.names[side][name]}"

    def overlapping(self) -> DataFrame:
        found = self.pairs(overlap_join(self.left, self.right, self.keys))
        if self.how.how == "inner":
            return found
        right = [other for _, other in self.keys]
        some = not_null(self.right, right)
        parts = self.pairs(overlap_join(self.left, gaps(some, right), self.keys), alone=True)
        present = some.select(*right).distinct() if right else some.limit(1)
        matches = [*(f.col(one) == f.col(other) for one, other in self.keys), f.col("#lf").isNotNull()]
        absent = self.left.join(present, reduce(Column.__and__, matches), "left_anti")
        alone = absent.select(*self.columns(*self.validity("#lf", "#lu"), alone=True))
        return found.unionByName(parts).unionByName(alone)

    def pairs(self, found: DataFrame, alone: bool = False) -> DataFrame:
        """Rows of both sides as pairs that are valid while both are, or as the row of the left is."""
        both = f.greatest("#lf", "#rf"), f.least("#lu", "#ru")
        return found.select(*self.columns(*self.validity(*both), alone))

    def validity(self, first: str | Column, until: str | Column) -> tuple[Column, Column]:
        """From when on a row of the result is valid, and up to when."""
        if self.how.how == "at":
            first, until = "#lf'", "#lu'"
        return (f.col(first) if isinstance(first, str) else first), (f.col(until) if isinstance(until, str) else until)

    def asof(self) -> DataFrame:
        """Each row of the left with the last of the right, which is found by key and bucket of time.

        The last row of each bucket is handed on to the next ones of its key: so no key is worked on by one task, and no
        row is missed, however long ago it was.
        """
        keys = [f"#k{at}" for at in range(len(self.keys))]
        left, right = (
            rows.select(
                *(f.col(pair[side]).alias(key) for key, pair in zip(keys, self.keys, strict=True)),
                f.col(f"#{mark}t" if TS in self.names[side] else f"#{mark}f").alias("#at"),
                f.lit(1 - side).alias("#order"),  # rows of the right of one time come before
                f.struct(*rows.columns).alias(name),
            )
            for side, (rows, mark, name) in enumerate(((self.left, "l", "#left"), (self.right, "r", "#right")))
        )
        both = left.unionByName(not_null(right, [*keys, "#at"]), allowMissingColumns=True)
        bounds = both.agg(f.min("#at").alias("#low"), (f.max("#at") + 1).alias("#high"))
        width = f"greatest(1, (`#high` - `#low`) div {ASOF_BUCKETS})"
        both = both.crossJoin(f.broadcast(bounds)).withColumn("#bucket", f.expr(f"(`#at` - `#low`) div {width}"))
        within = Window.partitionBy(*keys, "#bucket").orderBy("#at", "#order", "#right.#ru")
        here = f.last("#right", ignorenulls=True).over(within.rowsBetween(Window.unboundedPreceding, 0))
        ours = both.withColumn("#here", here).where(f.col("#left").isNotNull())
        age = f.when(f.col("#right").isNotNull(), f.struct(f.col("#at"), f.col("#right.#ru")))
        lasts = both.groupBy(*keys, "#bucket").agg(f.max_by("#right", age).alias("#last"))
        earlier = by_key(keys).orderBy("#bucket").rowsBetween(Window.unboundedPreceding, -1)
        handed = lasts.withColumn("#before", f.last("#last", ignorenulls=True).over(earlier)).drop("#last")
        handed = handed.withColumnsRenamed({name: f"{name}'" for name in (*keys, "#bucket")})
        meet = [f.col(name) == f.col(f"{name}'") for name in (*keys, "#bucket")]
        found = ours.join(handed, reduce(Column.__and__, meet), "left")
        found = found.withColumn("#right", f.coalesce("#here", "#before")).select("#left.*", "#right.*")
        return found.select(*self.columns(f.col("#lf"), f.col("#lu")))

    def columns(self, first: Column, until: Column, alone: bool = False) -> list[Column]:
        """The columns of pairs; of rows of the left that have none where ``alone``."""
        found = []
        if TS in self.names[0] or TS in self.names[1]:
            none = f.lit(None).cast("bigint")
            stamps = [f.col("#lt") if TS in self.names[0] else none]
            stamps.append(f.col("#rt") if TS in self.names[1] and not alone else none)
            one_of = {"min": f.least, "max": f.greatest}.get(self.how.stamp, f.coalesce)
            stamp = one_of(*(stamps[::-1] if self.how.stamp == "right" else stamps))
            found.append(instant(self.kind, stamp).alias(TS))
        found += [f.col(self.spelt(0, name)).alias(name) for name in values_of(self.names[0])]
        for name in values_of(self.names[1]):
            spelt = self.spelt(1, name)
            value = f.lit(None).cast(self.right.schema[spelt].dataType) if alone else f.col(spelt)
            found.append(value.alias(f"{self.how.prefix}{name}"))
        return [*found, *(instant(self.kind, each).alias(name) for each, name in ((first, FROM), (until, TO)))]
