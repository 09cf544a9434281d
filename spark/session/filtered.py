"""The rows of a DataFrame that pass a condition."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f


def filtered(df: DataFrame, condition: Column) -> DataFrame:
    """The rows that pass a condition.

    Raises
    ------
    AnalysisException
        At once, if the condition does not fit the DataFrame.
    """
    some = df.where(condition)
    # A session of Connect takes the columns of a filter unasked from the DataFrame below, those of a projection not.
    some.select(f.lit(1)).schema  # noqa: B018
    return some
