"""Files as Spark would read them, in tasks in which executors read them by themselves."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ...aggregators.errors import ColumnError, QueryError
from ...runtime.columns.field_types import has_order
from ...runtime.sources.conditions import all_of, checked, columns_of, equal, named, possible, require_no_order
from ...runtime.sources.file_source import FOOTER_THREADS
from ...runtime.sources.files import File, Files, FileSystemError, one_line
from ...runtime.sources.formats import READERS, Layout, in_microseconds
from ...runtime.sources.types_of_files import unified
from ..convert.names import check_apart
from ..convert.types import input_schema, to_arrow, to_spark
from ..session.errors import first_cause
from ..session.parallelism import parallelism, runs
from . import parquet_types
from .spark_reader import loaded, spark_path

JVM_FORMATS = ("parquet", "orc")
"""The formats for which Spark has a reader of its own."""


@dataclass(frozen=True)
class Part:
    """Row groups of one file, and the values of the columns that are in the names of its folders."""

    file: File
    row_groups: tuple[int, ...]
    partition: Mapping[str, pa.Scalar]


@dataclass(frozen=True)
class ReadPlan:
    """What executors need to read events.

    Parameters
    ----------
    format, system
        How files are read, and from where.
    schema
        The columns that are read, with the types that carry Spark's.
    columns
        Those of them that are passed on.
    condition
        What must be true of an event.
    tasks
        What each task reads, in the order of the files.
    found
        For ``.explain()``: the row groups that are read, of how many, and about how many bytes.
    """

    format: str
    system: Any
    schema: pa.Schema
    columns: tuple[str, ...]
    condition: pc.Expression | None
    tasks: tuple[tuple[Part, ...], ...]
    found: str

    def with_dictionaries(self, names: Sequence[str]) -> ReadPlan:
        """The plan with some columns in the dictionaries of the files, where they are text of Parquet."""
        if self.format != "parquet" or self.condition is not None:
            return self
        coded = pa.dictionary(pa.int32(), pa.string())
        fields = [
            field.with_type(coded) if field.name in names and field.type == pa.string() else field
            for field in self.schema
        ]
        return replace(self, schema=pa.schema(fields))


class Scan:
    """Files on a session of Spark.

    Parameters
    ----------
    spark
        The session.
    files
        Where they are: this process must reach them, and the executors, at the same paths. Where pyarrow cannot open
        the file system here, Spark reads them, if it has a reader of its own for the format.

    Raises
    ------
    QueryError
        If a path does not exist or cannot be read.
    """

    def __init__(self, spark: SparkSession, files: Files) -> None:
        self.spark = spark
        self.files = files
        self.condition: pc.Expression | None = None
        self.unopened: FileSystemError | None = None
        """Why pyarrow cannot open the file system."""
        try:
            self.listed = files.listed()
        except FileSystemError as error:
            if files.format not in JVM_FORMATS:
                raise
            self.listed, self.unopened = [], error
            _ = self.by_spark  # one error for both

    def where(self, condition: Any) -> Scan:
        """The scan with only the events for which a condition is true as well."""
        schema = self.schema
        if any(pa.types.is_null(field.type) for field in schema) and self.by_jvm:
            schema = input_schema(self.by_spark, [])
        added = checked(condition, schema, "of files")
        require_no_order(added, self.with_orders(schema, columns_of(added, schema)), named(added))
        kept = copy(self)  # the layouts that were read serve again
        kept.__dict__.pop("conditioned", None)
        kept.condition = all_of([self.condition, added])
        return kept

    @cached_property
    def layouts(self) -> list[Layout]:
        """The layout of each file."""
        reader, (system, _) = READERS[self.files.format], self.files.places
        with ThreadPoolExecutor(min(FOOTER_THREADS, len(self.listed))) as threads:
            return list(threads.map(lambda file: reader.layout(system, file), self.listed))

    @cached_property
    def by_jvm(self) -> bool:
        """Whether Spark has a reader of its own that reads the files; others only tasks read."""
        if self.files.format != "parquet" or self.unusual is not None:
            return self.files.format in JVM_FORMATS
        return self._refused() is None

    def _refused(self) -> str | None:
        """A column of Parquet files for whose type Spark reads none of them, with the file; None without one."""
        for file, layout in zip(self.listed, self.layouts, strict=True):
            if (found := parquet_types.refused(layout.metadata)) is not None:
                return f"{found} in {file.path!r}"
        return None

    @cached_property
    def kinds(self) -> Mapping[str, t.DataType | None]:
        """The columns of files and folders as Spark has them; None for types that are not certain, or unusable."""
        if not self.by_jvm:
            return self._arrow_kinds()
        if self.files.format == "parquet" and self.unusual is None and not self.listed[0].partition:
            first, *others = [parquet_types.kinds(layout.metadata) for layout in self.layouts]
            if all(list(each.items()) == list(first.items()) for each in others):
                return first
        return {field.name: field.dataType for field in self.by_spark.schema.fields}

    @cached_property
    def unusual(self) -> str | None:
        """Why only Spark reads the files as it does: pyarrow does not open them, or a setting of the session."""
        if self.unopened is not None:
            return "pyarrow cannot open their file system here"
        return parquet_types.unusual_setting(self.spark) if self.files.format == "parquet" else None

    @cached_property
    def by_spark(self) -> DataFrame:
        """The files as Spark itself reads them, without the condition."""
        for layout in vars(self).get("layouts", ()) if self.files.format == "parquet" else ():
            if (found := parquet_types.foreign(layout.metadata)) is not None:
                raise QueryError(
                    f"a Parquet file has a column of the type {found!r}, whose code Spark would load from the file; "
                    "expected columns of plain types"
                )
        try:
            df = loaded(self.spark, self.files.format, [spark_path(path) for path in self.files.paths])
        except Exception as error:
            if self.unopened is not None:
                raise QueryError(f"{self.unopened}; Spark cannot read it either: {first_cause(error)}") from error
            colon = next((file.path for file in self.listed if ":" in file.path), None)
            if colon is not None and "Relative path in absolute URI" in str(error):
                raise QueryError(
                    f"Spark does not read {colon!r}, with a colon in its name; expected another name"
                ) from error
            if self.files.format == "parquet" and (found := self._refused()) is not None:
                raise QueryError(
                    f"{found}, for which Spark reads none of the files, and tasks do not read them as {self.unusual}; "
                    "expected Spark's own default of that setting, or another type"
                ) from error
            if not isinstance(error, AnalysisException):
                raise
            for layout in self.layouts:
                check_apart(self.spark, layout.schema.names)
            raise
        return df

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns with the Arrow types that carry Spark's; null for types that are not certain, or unusable."""
        return pa.schema([(name, (kind and to_arrow(kind)) or pa.null()) for name, kind in self.kinds.items()])

    def with_orders(self, columns: pa.Schema, names: Sequence[str]) -> pa.Schema:
        """Columns, those of some names as ordered dictionaries where a file has them as such: Spark knows no order."""
        if self.unusual is not None or self.files.format not in ("parquet", "arrow"):
            return columns
        schemas = [layout.schema for layout in self.layouts]
        for name in set(names) & set(columns.names):
            if any(has_order(each.field(name).type) for each in schemas if each.names.count(name) == 1):
                ordered = pa.dictionary(pa.int32(), columns.field(name).type, ordered=True)
                columns = columns.set(columns.get_field_index(name), pa.field(name, ordered))
        return columns

    def with_zones(self, columns: pa.Schema) -> pa.Schema:
        """Columns whose instants have the zone that they have in the first file, as the local engine reads them."""
        if self.unopened is not None:
            return columns
        zones = {field.name: getattr(field.type, "tz", None) for field in self.layouts[0].schema}
        kept = []
        for field in columns:
            zone = zones.get(field.name) if getattr(field.type, "tz", None) else None
            kept.append(field.with_type(pa.timestamp("us", zone)) if zone else field)
        return pa.schema(kept)

    @cached_property
    def conditioned(self) -> list[str]:
        """The columns that the condition names."""
        return columns_of(self.condition, self.schema)

    def why_not(self, columns: Sequence[str]) -> str | None:
        """Why some columns cannot be read here as Spark reads them; None where they can be, or do not exist."""
        if self.unusual is not None:
            return self.unusual
        spelt = {name.lower(): name for name in self.kinds}
        for name in dict.fromkeys([*columns, *self.conditioned]):
            if name not in self.kinds and name.lower() in spelt:
                return f"the column {name!r} is {spelt[name.lower()]!r} in the files"
            reason = self._misfit(name) if name in self.kinds else None
            if reason is not None:
                return reason
        return None

    def require_types(self, columns: Sequence[str]) -> None:
        """ColumnError where Spark has no type for a column of files that only tasks read."""
        for name in columns:
            if not self.by_jvm and name in self.kinds and self.kinds[name] is None:
                found = next(each.schema.field(name).type for each in self.layouts if name in each.schema.names)
                raise ColumnError(
                    f"the column {name!r} is {found}, for which Spark has no type; expected another: cast it in the "
                    "files, or read them without spark="
                )

    @cached_property
    def _names(self) -> list[tuple[dict[str, Any], dict[str, list[str]]]]:
        """For each file the columns of its footer that are not nested, and the names of all by these in small letters.

        A footer is gone through once, and not for each column that a query reads.
        """
        found = []
        for layout in self.layouts:
            in_any_case = defaultdict[str, list[str]](list)
            for name in layout.schema.names:
                in_any_case[name.lower()].append(name)
            found.append(({} if layout.metadata is None else parquet_types.leaves(layout.metadata), dict(in_any_case)))
        return found

    def _misfit(self, name: str) -> str | None:
        kind = self.kinds[name]
        if not self.by_jvm:
            return None
        if name in dict(self.listed[0].partition):
            return self._partition_misfit(name)
        if kind is None or to_arrow(kind) is None:
            return f"the column {name!r} has a type that only Spark knows how to read"
        for file, layout, (flat, in_any_case) in zip(self.listed, self.layouts, self._names, strict=True):
            alike = in_any_case.get(name.lower())
            if not alike:  # then it is null
                continue
            if alike != [name]:
                reason: str | None = f"the column {name!r} goes by {', '.join(map(repr, alike))} in it"
            elif self.files.format == "parquet":
                reason = parquet_types.misfit(layout.metadata, flat, name, kind)
            else:
                reason = orc_misfit(name, layout.schema.field(name).type, kind)
            if reason is not None:
                return f"{file.path!r}: {reason}"
        return None

    def _partition_misfit(self, name: str) -> str | None:
        if any(name in layout.schema.names for layout in self.layouts):
            return f"the column {name!r} is in the files and in the names of folders"
        if not isinstance(self.kinds[name], (t.IntegerType, t.LongType, t.DateType, t.StringType)):
            return f"the column {name!r} is in the names of folders, and only Spark knows how to read it there"
        try:
            for file in self.listed:
                self._partition(file)
        except pa.ArrowException as error:
            return f"the column {name!r} is in the names of folders, and {one_line(error)}"
        return None

    def _partition(self, file: File) -> dict[str, pa.Scalar]:
        values = {name: pa.scalar(text, pa.string()) for name, text in file.partition}
        return {name: text.cast(self.schema.field(name).type) for name, text in values.items()}

    def _arrow_kinds(self) -> Mapping[str, t.DataType | None]:
        each = {file.path: layout.schema for file, layout in zip(self.listed, self.layouts, strict=True)}
        schema = in_microseconds(self.files.schema or unified(each))
        # A time of day in CSV is text to Spark, which has no type for it.
        otherwise = t.StringType() if self.files.format == "csv" else None
        found = {field.name: to_spark(field.type) or otherwise for field in schema}
        for at, (name, _) in enumerate(self.listed[0].partition):
            texts = [file.partition[at][1] or "0" for file in self.listed]
            found[name] = t.LongType() if all(re.fullmatch(r"-?\d{1,18}", text) for text in texts) else t.StringType()
        return found

    def read_plan(self, columns: Sequence[str]) -> ReadPlan:
        """The tasks that read some columns: row groups in the order of the files, of about equal bytes a task."""
        wanted = list(dict.fromkeys([*columns, *self.conditioned]))
        kept = [
            (place, number, size)
            for place, (file, layout) in enumerate(zip(self.listed, self.layouts, strict=True))
            for number, size in self._matching_groups(file, layout, wanted)
        ]
        sizes = np.array([size for *_, size in kept], np.int64)
        tasks = []
        for run in runs(sizes, parallelism(self.spark) if len(kept) > 1 else 1):
            numbers: dict[int, list[int]] = {}
            for place, number, _ in kept[run]:
                numbers.setdefault(place, []).append(number)
            files = [(self.listed[place], tuple(some)) for place, some in numbers.items()]
            tasks.append(tuple(Part(file, some, self._partition(file)) for file, some in files))
        word, every = READERS[self.files.format].row_group, sum(len(layout.weights([])) for layout in self.layouts)
        found = (
            f"{len(kept)} of {counted(every, word)} of {counted(len(self.listed), 'file')}, "
            f"{int(sizes.sum()) / 1e6:.1f} MB of the columns, in {counted(len(tasks), 'task')}"
        )
        schema = pa.schema([self.schema.field(name) for name in wanted])
        system, _ = self.files.places
        return ReadPlan(self.files.format, system, schema, tuple(columns), self.condition, tuple(tasks), found)

    def _matching_groups(self, file: File, layout: Layout, columns: Sequence[str]) -> list[tuple[int, int]]:
        """The row groups of a file in which an event may meet the condition, with their bytes."""
        sizes = layout.weights(columns)
        if self.condition is None:
            return list(enumerate(sizes))
        folders = [equal(self.schema.field(name), value) for name, value in self._partition(file).items()]
        there = {*layout.schema.names}
        inside = pa.schema([self.schema.field(name) for name in self.conditioned if name in there])
        known = [all_of([*folders, bounds]) for bounds in layout.guarantees(inside)]
        return [(number, sizes[number]) for number in possible(self.condition, self.schema, known)]


def counted(count: int, word: str) -> str:
    """A number of things in words.

    >>> counted(1, "task"), counted(2, "record batch")
    ('1 task', '2 record batches')
    """
    ending = "" if count == 1 else "es" if word.endswith("ch") else "s"
    return f"{count} {word}{ending}"


def orc_misfit(name: str, found: pa.DataType, expected: t.DataType) -> str | None:
    """Why a column of an ORC file cannot be read here as Spark reads it; None where it can be."""
    if pa.types.is_timestamp(found):
        return f"the column {name!r} has times that Spark shifts by the zones of the writer's machine and its own"
    if pa.types.is_nested(found) or to_spark(found) != expected:
        return f"the column {name!r} is {found} in it, and {expected.simpleString()} for Spark"
    return None
