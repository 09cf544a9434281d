"""The engine for some data."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import pyarrow as pa

from .aggregators import loops
from .aggregators.contract.operation import without_expressions
from .aggregators.errors import ColumnError, QueryError
from .aggregators.states.nested import any_in
from .reading import SparkFiles
from .runtime.explain import Explanation
from .runtime.local import LocalEngine
from .runtime.plan.plan import Plan
from .runtime.reporting import warn_of_numpy
from .runtime.sources.arrow import Source
from .runtime.sources.co_inputs import Roles, Together
from .runtime.sources.file_source import FileSource
from .runtime.sources.files import Files
from .spark.options import Options


class Engine(Protocol):
    """Runs queries over some events."""

    def schema(self, used: Sequence[str]) -> pa.Schema:
        """The schema of the events; only the used columns need have types that can be used."""

    def run(self, query: Plan, options: Options) -> Any:
        """The results of a query."""

    def explain(self, query: Plan, options: Options) -> Explanation:
        """The explanation of a query."""

    def with_fields(self, names: Sequence[str]) -> Engine:
        """The engine with a column for each name that no column has but a field of a struct, as ``"window.end"``."""

    def where(self, condition: Any) -> Engine:
        """The engine for the events for which a condition is true."""

    def with_columns(self, expressions: Mapping[str, Any]) -> Engine:
        """The engine for the events with more columns, which expressions compute."""

    def beside(self, query: Plan, options: Options, rows: Sequence[str] | pa.Table) -> Any:
        """The results of a query beside the rows they are of: columns of the events, by their names, or labels."""

    def first_events(self, names: Sequence[str], time: str, most: int) -> tuple[pa.Table, bool]:
        """Some columns of the first ``most`` events and one more, or of all, for a picture; whether they are all."""

    def without_time(self, time: str) -> Any:
        """The events without a time."""


def engine_for(data: Any) -> Engine:
    """The engine for some data: Spark for its DataFrames, else the local one."""
    if not loops.compiled:
        warn_of_numpy()
    if not isinstance(data, SparkFiles) and not is_dataframe(data):
        if isinstance(data, Files):
            data = FileSource(data)
        return LocalEngine(data if isinstance(data, Source) else Source(data))
    from .spark.session.versions import check_pyspark

    check_pyspark()
    if isinstance(data, SparkFiles):
        from .spark.files.file_engine import FileEngine
        from .spark.files.scan import Scan

        return FileEngine(Scan(data.spark, data.files))
    from .spark.files.scanned_dataframe import ScannedDataFrameEngine

    return stream_engine(data) if data.isStreaming else ScannedDataFrameEngine(data)


def stream_engine(df: Any) -> Engine:
    """The engine for a streaming DataFrame."""
    from .spark.streams.engine import StreamEngine

    return StreamEngine(df)


def is_dataframe(data: Any) -> bool:
    """Whether data are a DataFrame of Spark, which cannot come from a module that was never imported."""
    pyspark = sys.modules.get("pyspark.sql")
    return pyspark is not None and isinstance(data, pyspark.DataFrame)


def computed(engine: Engine, outputs: Mapping[str, Any]) -> tuple[Engine, Mapping[str, Any]]:
    """An engine with columns for the expressions that outputs take, and the outputs with names of columns only.

    An expression by itself becomes the name of its column.
    """
    outputs, expressions = without_expressions(outputs, engine.schema([]).names)
    return engine.with_columns(expressions), outputs


def in_arrow(data: Any, names: Sequence[str]) -> Any:
    """Some columns of a Spark DataFrame, or fields of its structs, collected; any other data as it is."""
    if not is_dataframe(data):
        return data
    from .spark.convert.types import collected
    from .spark.engine.engine import DataFrameEngine

    return collected(DataFrameEngine(data).with_fields(names).df, names)


def labels_in(data: Any, names: Sequence[str]) -> Labels:
    """Labels of any kind: some columns are needed, and the others of a Spark DataFrame collected if they can be."""
    if not is_dataframe(data):
        source = Source(data)
        return Labels(source, tuple(source.schema.names))
    if data.isStreaming:
        raise QueryError(
            "the other table is a stream, which has no last row; expected a DataFrame of a batch, or Arrow"
        )
    schema = engine_for(data).schema([])
    others = [field.name for field in schema if not any_in(field.type, pa.types.is_null)]  # as which odd types are
    return Labels(Source(in_arrow(data, list(dict.fromkeys([*others, *names])))), tuple(schema.names))


@dataclass(frozen=True)
class Labels:
    """The rows of another data set, and the names of all its columns."""

    source: Source
    names: tuple[str, ...]

    def rows(self) -> pa.Table:
        """All columns; ColumnError where one could not be read."""
        known = {*self.source.schema.names}
        if lost := [name for name in self.names if name not in known]:
            raise ColumnError(f"the other table has a column {lost[0]!r} of a type that cannot be used; drop it first")
        return self.source.batches(self.names).read_all().select(self.names)


def together(engines: Mapping[str, Engine], roles: Mapping[str, Roles]) -> Engine:
    """One engine for the events of several.

    Raises
    ------
    QueryError
        If they are not of one kind.
    """
    local = {name: engine.source for name, engine in engines.items() if isinstance(engine, LocalEngine)}
    spark = {name: cast(Any, engine).df for name, engine in engines.items() if not isinstance(engine, LocalEngine)}
    if local and spark:
        arrow, frames = ", ".join(local), ", ".join(spark)
        raise QueryError(f"the inputs {arrow} are Arrow data and {frames} on Spark; expected one kind")
    if not spark:
        nested = [name for name, source in local.items() if isinstance(source, Together)]
        if nested:
            raise QueryError(f"the input {nested[0]!r} is made of inputs itself; expected plain events")
        return LocalEngine(Together(local, roles))
    from .spark.engine.engine import DataFrameEngine
    from .spark.input.union import union

    df = union(spark, roles)
    return stream_engine(df) if df.isStreaming else DataFrameEngine(df)
