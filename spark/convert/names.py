"""Names as a session compares them: without regard to case, unless it is set to be case-sensitive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ...aggregators.errors import QueryError
from ...runtime.plan.plan import Plan

OR_SENSITIVE = "or spark.sql.caseSensitive=true"


def case_sensitive(spark: SparkSession) -> bool:
    """Whether names in a session are case-sensitive."""
    return str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"


def alike(names: Iterable[str]) -> tuple[str, str] | None:
    """The first two names that differ in case only, or None.

    >>> alike(["origin", "n", "Origin", "N"])
    ('origin', 'Origin')
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            return other, name
    return None


def check_apart(spark: SparkSession, names: Iterable[str], kinds: Mapping[str, str] | None = None) -> None:
    """QueryError where two names are one to a session.

    Parameters
    ----------
    spark
        The session.
    names
        The names.
    kinds
        What they are names of, for the message: columns, if left out.

    Raises
    ------
    QueryError
        If two of them differ in case only, and the session is not case-sensitive.
    """
    pair = alike(names)
    # The setting is read last: through Connect that is a call to the server.
    if pair is not None and not case_sensitive(spark):
        one, other = (f"{(kinds or {}).get(name, 'the column')} {name!r}" for name in pair)
        raise QueryError(
            f"{one} and {other} differ in case only, which is one name to this session; expected another name, "
            f"{OR_SENSITIVE}"
        )


def check_result(spark: SparkSession, plan: Plan) -> None:
    """:func:`check_apart` for the columns of a query's result: its keys, ``window``, ``at`` and outputs."""
    kinds = dict.fromkeys(plan.columns_computed, "the output") | dict.fromkeys(plan.by, "the key")
    check_apart(spark, plan.result_schema.names, kinds)


def under_plain_names(df: DataFrame, names: Iterable[str]) -> DataFrame:
    """Some columns as ``c0``, ``c1``, ...: mapInArrow looks columns up by name, and fails at a dot in one."""
    return df.select([column(name).alias(f"c{at}") for at, name in enumerate(names)])


def type_in(df: DataFrame, name: str) -> t.DataType:
    """The type of a column of a DataFrame that has it, maybe in another spelling."""
    kinds = {field.name: field.dataType for field in df.schema.fields}
    return kinds[spelt(name, kinds)]


def spelt(name: str, columns: Iterable[str]) -> str:
    """A name as it is spelt among those known: itself where it is one of them.

    >>> spelt("X", ["t", "x"]), spelt("X", ["x", "X"])
    ('x', 'X')
    """
    names = list(columns)
    return name if name in names else next((each for each in names if each.lower() == name.lower()), name)


def column(name: str) -> Column:
    """A column by its exact name, whatever characters it has."""
    return f.col("`" + name.replace("`", "``") + "`")
