"""Rows of a DataFrame as a query in SQL selects them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame

from ...runtime.expressions.text import Expr
from ...runtime.results.selected import COLUMN, Selection, require_unsorted
from ..convert.names import column
from .engine import DataFrameEngine


def selected(df: DataFrame, selection: Selection) -> DataFrame:
    """The rows of a DataFrame that are selected, when they are used."""
    if df.isStreaming:
        require_unsorted(selection)
    engine = DataFrameEngine(df)
    for each in selection.conditions:
        engine = engine.where(each)

    def value(of: Expr) -> Column:
        return column(of.column) if of.column in df.columns else engine.column_of(of, COLUMN)

    rows = engine.df
    if selection.order:
        keys = [(value(each.by), each) for each in selection.order]
        ways = [
            f"{'desc' if each.descending else 'asc'}_nulls_{'first' if each.nulls_first else 'last'}"
            for _, each in keys
        ]
        rows = rows.orderBy(*(getattr(key, way)() for (key, _), way in zip(keys, ways, strict=True)))
    rows = rows.select(*(value(each).alias(name) for name, each in selection.columns.items()))
    rows = rows.offset(selection.offset) if selection.offset else rows
    return rows if selection.limit is None else rows.limit(selection.limit)
