"""What does DuckDB answer? One connection asks it all, whose zone is UTC."""

from __future__ import annotations

from functools import cache

import duckdb
import pyarrow as pa


@cache
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("SET TimeZone = 'UTC'")
    return made


def asked(query: str, **tables: pa.Table) -> duckdb.DuckDBPyRelation:
    """The answer to a query over tables, by their names; it is to be fetched before another one is asked for."""
    for name, table in tables.items():
        connection().register(name, table)
    return connection().sql(query)
