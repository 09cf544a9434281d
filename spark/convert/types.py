"""The Arrow type of each Spark type, or the other way round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from ...aggregators.errors import ColumnError, QueryError
from ...runtime.columns.plain import not_held
from ...runtime.plan.bind import WINDOW
from .names import OR_SENSITIVE, case_sensitive, under_plain_names

# Instants are microseconds since the epoch, labelled with this zone. The JVM labels columns with the session's zone; a
# cast from one label to another does not change the number.
ZONE = "UTC"

# By it Spark knows windows of its own, in window_time() for one. It has another for sessions, which groups of such a
# column would be merged by, whatever their keys.
WINDOW_MARK = {"spark.timeWindow": True}

_TO_ARROW: dict[type[t.DataType], pa.DataType] = {
    t.BooleanType: pa.bool_(),
    t.ByteType: pa.int8(),
    t.ShortType: pa.int16(),
    t.IntegerType: pa.int32(),
    t.LongType: pa.int64(),
    t.FloatType: pa.float32(),
    t.DoubleType: pa.float64(),
    t.BinaryType: pa.binary(),
    t.DateType: pa.date32(),
    t.TimestampType: pa.timestamp("us", tz=ZONE),
    t.TimestampNTZType: pa.timestamp("us"),
    t.DayTimeIntervalType: pa.duration("us"),
    t.NullType: pa.null(),
}
_TO_SPARK: dict[pa.DataType, t.DataType] = {arrow: spark() for spark, arrow in _TO_ARROW.items()} | {
    pa.uint8(): t.ShortType(),  # Spark has no unsigned integers: the next type that holds them all
    pa.uint16(): t.IntegerType(),
    pa.uint32(): t.LongType(),
    pa.uint64(): t.DecimalType(20, 0),
    pa.float16(): t.FloatType(),
    pa.date64(): t.DateType(),
    **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), t.StringType()),
    pa.large_binary(): t.BinaryType(),
}


def to_arrow(spark: t.DataType) -> pa.DataType | None:
    """The Arrow type that carries a Spark type, or None if framefold cannot use the type.

    Examples
    --------
    >>> to_arrow(t.ArrayType(t.DoubleType()))
    ListType(list<element: double>)
    """
    if isinstance(spark, t.StringType):
        # Under a collation strings that differ can be equal, and only the JVM knows which.
        return pa.string() if spark.isUTF8BinaryCollation() else None
    if isinstance(spark, t.DecimalType):
        return pa.decimal128(spark.precision, spark.scale)
    if isinstance(spark, t.ArrayType):
        element = to_arrow(spark.elementType)
        return None if element is None else pa.list_(pa.field("element", element))
    if isinstance(spark, t.MapType):
        key, value = to_arrow(spark.keyType), to_arrow(spark.valueType)
        return None if key is None or value is None else pa.map_(key, value)
    if isinstance(spark, t.StructType):
        children = [(field.name, to_arrow(field.dataType)) for field in spark.fields]
        usable = [pa.field(name, child) for name, child in children if child is not None]
        return pa.struct(usable) if len(usable) == len(children) else None
    return _TO_ARROW.get(type(spark))


def to_spark(arrow: pa.DataType) -> t.DataType | None:
    """The Spark type for an Arrow type that an operation returns, or None if Spark has none.

    Examples
    --------
    >>> to_spark(pa.uint32())
    LongType()
    """
    kinds = pa.types
    if kinds.is_dictionary(arrow):
        return to_spark(arrow.value_type)
    if kinds.is_decimal(arrow):
        fits = arrow.precision <= 38 and 0 <= arrow.scale <= arrow.precision
        return t.DecimalType(arrow.precision, arrow.scale) if fits else None
    if kinds.is_timestamp(arrow):
        return t.TimestampNTZType() if arrow.tz is None else t.TimestampType()
    if kinds.is_list(arrow) or kinds.is_large_list(arrow) or kinds.is_fixed_size_list(arrow):
        element = to_spark(arrow.value_type)
        return None if element is None else t.ArrayType(element)
    if kinds.is_map(arrow):
        key, value = to_spark(arrow.key_type), to_spark(arrow.item_type)
        return None if key is None or value is None else t.MapType(key, value)
    if kinds.is_struct(arrow):
        children = [(field.name, to_spark(field.type)) for field in arrow]
        usable = [t.StructField(name, child) for name, child in children if child is not None]
        return t.StructType(usable) if len(usable) == len(children) else None
    if kinds.is_duration(arrow):
        return t.DayTimeIntervalType()
    return t.BinaryType() if kinds.is_fixed_size_binary(arrow) else _TO_SPARK.get(arrow)


def input_schema(df: DataFrame, used: Collection[str]) -> pa.Schema:
    """The Arrow schema of a DataFrame, as ``bind`` takes it.

    Parameters
    ----------
    df
        The events.
    used
        The columns that the query names. Only these must have a type framefold can use; the others serve to suggest the
        nearest name for a misspelt one.

    Returns
    -------
    pyarrow.Schema
        One field for each column, timestamps in microseconds. A column of ``used`` that Spark would find under
        another spelling (its names are not case-sensitive unless the session says so) has a field under the
        spelling of ``used`` too.

    Raises
    ------
    ColumnError
        If a used column has a type that cannot be used, or two columns have its name.
    """
    columns = df.schema.fields
    fields = {field.name: field for field in columns}
    spelt, in_any_case = (defaultdict[str, list[t.StructField]](list) for _ in range(2))
    for each in columns if used else ():
        spelt[each.name].append(each)
        in_any_case[each.name.lower()].append(each)
    for name in used:
        exact, folded = spelt[name], in_any_case[name.lower()]
        # The setting is read last: through Connect that is a call to the server.
        alike = folded if len(folded) > len(exact) and not case_sensitive(df.sparkSession) else exact
        if len(alike) > 1:
            found = f"{len(alike)} columns of the DataFrame go by that name"
            spellings = list(dict.fromkeys(each.name for each in alike))
            if len(spellings) > 1:
                found += f", {' and '.join(map(repr, spellings))}; expected other names, {OR_SENSITIVE}"
            raise ColumnError(f"column {name!r} is ambiguous: {found}")
        if alike and to_arrow(fields.setdefault(name, alike[0]).dataType) is None:
            found = fields[name].dataType.simpleString()
            raise ColumnError(f"column {name!r} has the type {found}, which framefold cannot use")
    return pa.schema([pa.field(name, to_arrow(field.dataType) or pa.null()) for name, field in fields.items()])


def output_schema(results: pa.Schema, keys: Sequence[t.DataType]) -> t.StructType:
    """The Spark schema of a query's result.

    Parameters
    ----------
    results
        ``Plan.result_schema``: the keys, ``window``, the outputs.
    keys
        The types the key columns have in the events, which they keep unless windows have keys of a wider type. The
        column after them has the windows.

    Raises
    ------
    QueryError
        If Spark has no type for what an operation returns.
    """
    fields = []
    for position, field in enumerate(results):
        kept = position < len(keys) and to_arrow(keys[position]) == field.type
        spark = keys[position] if kept else to_spark(field.type)
        if spark is None:
            kind = "key" if position < len(keys) else "output"
            raise QueryError(f"{kind} {field.name!r} has the Arrow type {field.type}, for which Spark has no type")
        windows = position == len(keys) and field.name == WINDOW and pa.types.is_struct(field.type)
        marked = windows and pa.types.is_timestamp(field.type.field(0).type)
        fields.append(t.StructField(field.name, spark, nullable=True, metadata=WINDOW_MARK if marked else None))
    return t.StructType(fields)


def arrow_schema(spark: t.StructType) -> pa.Schema:
    """The Arrow schema in which rows of a Spark schema go to the JVM.

    Raises
    ------
    ColumnError
        If a column has a type that cannot be used.
    """
    fields = []
    for field in spark.fields:
        arrow = to_arrow(field.dataType)
        if arrow is None:
            raise ColumnError(f"column {field.name!r} has the type {field.dataType.simpleString()}, not usable")
        fields.append(pa.field(field.name, arrow))
    return pa.schema(fields)


def cast_to(rows: pa.Table | pa.RecordBatch, schema: pa.Schema, *, coded: bool = False) -> pa.Table:
    """Rows with the types of a schema, column by column in order, under the schema's names.

    A timestamp keeps its instant whatever zone its label names.

    Parameters
    ----------
    rows
        As many columns as the schema has.
    schema
        The schema of the result.
    coded
        Whether columns may keep their dictionaries.
    """
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
    columns = [_cast(column, field, coded) for column, field in zip(table.columns, schema, strict=True)]
    return pa.Table.from_arrays(columns, schema.names) if coded else pa.Table.from_arrays(columns, schema=schema)


def _cast(column: pa.ChunkedArray, field: pa.Field, coded: bool) -> pa.ChunkedArray:
    if coded and pa.types.is_dictionary(column.type) and column.type.value_type == field.type:
        return column
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise ColumnError(not_held(f"the column {field.name!r}", column.type, field.type)) from error


def collected(df: DataFrame, names: Sequence[str]) -> pa.Table:
    """Some columns of a DataFrame as an Arrow table, of the types that events from Spark have.

    Where it lacks one of them the table is empty and has all columns, for a message that names them.

    Raises
    ------
    ColumnError
        If a column has a type that cannot be used, or two have its name.
    """
    schema = input_schema(df, names)
    if not set(names) <= set(schema.names):
        return schema.empty_table()
    wanted = pa.schema([schema.field(name) for name in dict.fromkeys(names)])
    return cast_to(under_plain_names(df, wanted.names).toArrow(), wanted)


def ticks_sql(df: DataFrame, time: str) -> str:
    """SQL of a time of a DataFrame as an integer: microseconds, days, or itself, whatever the session's zone.

    The name is one that the column got from :func:`under_plain_names`: Spark would replace what looks like a variable.
    """
    assert time.isidentifier(), time
    kind = df.schema[time].dataType
    if isinstance(kind, t.TimestampType):
        return f"unix_micros({time})"
    if isinstance(kind, t.TimestampNTZType):
        # How far it is from the epoch, which leaves zones out. Casting to a timestamp would go through the session's,
        # where an hour may be missing or come twice.
        if df.sparkSession.conf.get("spark.sql.legacy.interval.enabled", "false") != "true":
            return f"({time} - timestamp_ntz'1970-01-01 00:00:00') div interval '0.000001' second"
        # Intervals are no numbers then. Its fields are read as they stand, which takes twice as long.
        days = f"cast(unix_date(to_date({time})) as bigint)"
        minutes = f"cast(hour({time}) * 60 + minute({time}) as bigint)"
        micros = f"cast(extract(second from {time}) * 1000000 as bigint)"
        return f"{days} * 86400000000 + {minutes} * 60000000 + {micros}"
    return f"cast(unix_date({time}) as bigint)" if isinstance(kind, t.DateType) else f"cast({time} as bigint)"
