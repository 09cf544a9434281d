"""Results on Spark beside the rows that each is of: events, or labels that the driver has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as t

from ...aggregators.errors import ColumnError
from ...runtime.plan.bind import ROW
from ...runtime.plan.plan import Plan
from ...runtime.plan.window_inputs import own_name
from ..convert.names import check_apart, column, under_plain_names
from ..convert.types import arrow_schema, cast_to, output_schema
from ..input.ordering import in_key_order
from ..session.dataframes import to_dataframe
from ..session.staging import stage
from . import tasks


def beside_events(df: DataFrame, plan: Plan, names: Sequence[str]) -> DataFrame:
    """Some columns of events with the outputs of a plan beside them, lazily: a task has all events of a key.

    Parameters
    ----------
    df
        The events.
    plan
        With a window for each event.
    names
        The columns.
    """
    known = {*df.columns}
    if lost := [name for name in names if name not in known]:
        raise ColumnError(f"the files have a column {lost[0]!r} of a type that cannot be used; expected it left out")
    check_apart(df.sparkSession, [*names, *plan.columns_computed], dict.fromkeys(plan.columns_computed, "the output"))
    read = [*plan.by, *(name for name in plan.columns if name not in plan.by)]
    rows = under_plain_names(df, [*read, *names])
    time, *ties = (f"c{read.index(name)}" for name in (plan.time, *plan.ties))
    rows = in_key_order(rows, time, [f"c{at}" for at in range(len(plan.by))], ties)
    fields = [*rows.schema.fields[len(read) :], *output_schema(plan.result_schema, [])]
    schema = t.StructType([t.StructField(f"c{at}", each.dataType) for at, each in enumerate(fields)])
    return stage(rows, tasks.beside, plan, read, schema, schema=schema).toDF(*names, *plan.columns_computed)


def beside_labels(labels: pa.Table, results: DataFrame) -> DataFrame:
    """Labels, in their order, with results beside them, whose first column has the number of each one's label."""
    number = own_name(ROW, [*labels.column_names, *results.columns])
    table = labels.append_column(number, pa.array(np.arange(len(labels))))
    schema = output_schema(table.schema, [])
    rows = to_dataframe(results.sparkSession, cast_to(table, arrow_schema(schema)), schema)
    return (
        rows.join(results.toDF(number, *results.columns[1:]), on=number, how="left")
        .orderBy(column(number))
        .drop(column(number))
    )
