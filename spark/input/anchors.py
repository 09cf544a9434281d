"""Windows given by a DataFrame: small data, brought to the driver as Arrow."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from ..convert.names import column
from ..convert.types import cast_to, input_schema


def collected(df: DataFrame, names: Sequence[str]) -> pa.Table:
    """Some columns of a DataFrame as an Arrow table, of the types that events from Spark have.

    Parameters
    ----------
    df
        Any DataFrame, classic or Connect.
    names
        The columns. Where it lacks one the table is empty and has all columns, for a message that names them.

    Raises
    ------
    ColumnError
        If a column has a type that cannot be used, or two go by its name.
    """
    schema = input_schema(df, names)
    if not set(names) <= set(schema.names):
        return schema.empty_table()
    wanted = pa.schema([schema.field(name) for name in dict.fromkeys(names)])
    # Under plain names, as events travel: a name may have a dot, or come twice among the others.
    rows = df.select([column(name).alias(f"c{at}") for at, name in enumerate(wanted.names)])
    return cast_to(rows.toArrow(), wanted)
