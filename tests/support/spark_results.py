"""Results of either engine as rows, and settings of a session for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rows(result: Any) -> list[dict[str, Any]]:
    """The rows of an Arrow table, or of a DataFrame."""
    found: list[dict[str, Any]] = (result if isinstance(result, pa.Table) else result.toArrow()).to_pylist()
    return found


def listed(result: Any) -> list[str]:
    """Rows as text, of which NaN is equal to itself."""
    return [repr(row) for row in rows(result)]


@contextmanager
def conf(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """A session with other settings for a while; names without a value before have none after."""
    before = {name: spark.conf.get(name, None) for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
