"""Several DataFrames as one: co-aggregation on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial, reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame

from ...aggregators.errors import QueryError
from ...runtime.columns.key_types import Unfit, one_type
from ...runtime.sources.co_inputs import Roles, check_roles, unfit
from ..convert.names import check_apart, column, type_in
from ..convert.types import input_schema, to_arrow, to_spark


def union(inputs: Mapping[str, DataFrame], roles: Mapping[str, Roles]) -> DataFrame:
    """The events of all inputs; a column that an input lacks is null in its rows.

    Raises
    ------
    QueryError
        If times or keys have different types, or two columns have one name in the session.
    """
    common = check_roles(roles)
    made = [new for name, df in inputs.items() for new in roles[name].names(name, df.columns, common)]
    check_apart(next(iter(inputs.values())).sparkSession, made)
    kinds: dict[str, list[tuple[pa.DataType, Unfit]]] = {name: [] for name in common.shared}
    for name, df in inputs.items():
        arrow = input_schema(df, roles[name].shared)
        for new, old in zip(common.shared, roles[name].shared, strict=True):
            kinds[new].append((arrow.field(old).type, partial(_unfit, name, old, new)))
    types = {
        name: one_type(first, others, of_times=name not in common.by) for name, ((first, _), *others) in kinds.items()
    }
    frames = []
    for name, df in inputs.items():
        names = roles[name].names(name, df.columns, common)
        frames.append(df.select([as_type(df, old, types.get(new)).alias(new) for new, old in names.items()]))
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)


def _unfit(name: str, old: str, new: str, found: pa.DataType, expected: pa.DataType) -> str:
    kinds = (each if (kind := to_spark(each)) is None else kind.simpleString() for each in (found, expected))
    return unfit(name, old, new, *kinds)


def as_type(df: DataFrame, name: str, type: pa.DataType | None) -> Column:
    """A column as one of a wider type, if any is given."""
    if type is None or to_arrow(type_in(df, name)) == type:
        return column(name)
    if (wanted := to_spark(type)) is None:
        raise QueryError(f"the column {name!r} would be {type} with those of others, for which Spark has no type")
    return column(name).cast(wanted)
