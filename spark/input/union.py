"""Several DataFrames as one: co-aggregation on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame

from ...aggregators.errors import QueryError
from ...runtime.sources.co_inputs import Roles, check_roles
from ..convert.names import check_apart, column


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
    types: dict[str, str] = {}
    frames = []
    for name, df in inputs.items():
        names = roles[name].names(name, df.columns, common)
        frame = df.select([column(old).alias(new) for new, old in names.items()])
        for field in frame.schema.fields:
            type = field.dataType.simpleString()
            if types.setdefault(field.name, type) != type:
                raise QueryError(
                    f"the column {names[field.name]!r} of the input {name!r} is {type}, and {field.name!r} of others "
                    f"is {types[field.name]}; expected one type: cast one of them"
                )
        frames.append(frame)
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)
