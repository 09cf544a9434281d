"""Rows of a DataFrame as a query in SQL selects them."""

from __future__ import annotations

from typing import cast

from pyspark.sql import Column, DataFrame

from ...runtime.expressions.text import Expr
from ...runtime.results.selected import COLUMN, Order, Selection, require_unsorted
from ..convert.names import column
from .engine import DataFrameEngine


def selected(df: DataFrame, selection: Selection) -> DataFrame:
    """The rows of a DataFrame that are selected, when they are used."""
    if df.isStreaming:
        require_unsorted(selection)
    engine, known = DataFrameEngine(df), {*df.columns}
    for each in selection.conditions:
        engine = engine.where(each)

    def value(of: Expr) -> Column:
        return column(of.column) if of.column in known else engine.column_of(of, COLUMN)

    def key(order: Order) -> Column:
        way = f"{'desc' if order.descending else 'asc'}_nulls_{'first' if order.nulls_first else 'last'}"
        return cast(Column, getattr(value(order.by), way)())

    rows = engine.df
    if selection.order:
        rows = rows.orderBy(*map(key, selection.order))
    rows = rows.select(*(value(each).alias(name) for name, each in selection.columns.items()))
    rows = rows.offset(selection.offset) if selection.offset else rows
    return rows if selection.limit is None else rows.limit(selection.limit)
