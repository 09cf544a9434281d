"""Conditions on the events of a DataFrame."""

from __future__ import annotations

from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame

from ...aggregators.errors import QueryError
from ...runtime.sources.files import one_line


def kept(df: DataFrame, condition: Any) -> DataFrame:
    """Those rows for which a condition is true.

    Parameters
    ----------
    df
        The events.
    condition
        A Spark column, or SQL as a string.

    Raises
    ------
    QueryError
        If it is of another kind, or not a condition on the columns.
    """
    if not isinstance(condition, (Column, str)):
        kind = type(condition)
        raise QueryError(
            f"where() of a DataFrame is given a {kind.__module__}.{kind.__name__}; expected a Spark column such as "
            "functions.col('x') > 0, or SQL as a string"
        )
    try:
        some = df.where(condition)
        some.schema  # noqa: B018  # through Connect, only this analyses the condition
        return some
    except (AnalysisException, ParseException) as error:
        raise QueryError(
            f"the condition {condition} of where() does not fit the DataFrame: {one_line(error)}"
        ) from error
