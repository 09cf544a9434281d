"""Files of events for both engines, and files of results.

The types of CSV and JSON columns are found by pyarrow for both engines, so that both read the same events.
"""

from __future__ import annotations

import difflib
import functools
import glob
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.json

from ..aggregators.errors import FramefoldError, QueryError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXTENSIONS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""What a file is, by the end of its name; ``.gz`` may follow that of text."""

SAMPLE = 1000
"""JSON timestamps are recognised by so many first rows."""

_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d(:?\d\d)?)?)?")
_FIRST_BLOCK = 1 << 24


class FileError(FramefoldError):
    """A file turns out to be unreadable, or unwritable, while it is read or written."""


@dataclass(frozen=True)
class Files:
    """Files of one kind and their common schema; made by :func:`open_files`."""

    kind: str
    paths: tuple[str, ...]
    schema: pa.Schema
    schemas: tuple[pa.Schema, ...]

    def require(self, columns: Sequence[str]) -> None:
        """QueryError unless each file has all of some columns, as far as any of them has."""
        for path, schema in zip(self.paths, self.schemas, strict=True):
            for column in columns:
                if column in self.schema.names and column not in schema.names:
                    raise QueryError(f"{path!r} has no column {column!r}, which other files have")

    def rows(self) -> int | None:
        """How many events there are, where that is known without reading them."""
        return self._dataset().count_rows() if self.kind in ("parquet", "arrow") else None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The events in the order of the files, with some of their columns."""
        try:
            yield from self._dataset().scanner(columns=list(columns)).to_batches()
        except (pa.ArrowException, OSError) as error:
            raise FileError(f"the events cannot be read: {one_line(error)}") from error

    def dataframe(self, spark: SparkSession, columns: Sequence[str]) -> DataFrame:
        """The events as a Spark DataFrame with at least some of their columns.

        Arrow files pass through this process: Spark does not read them itself.
        """
        from pyspark.sql.pandas.types import from_arrow_schema

        if self.kind == "arrow":
            table = self._dataset().to_table(columns=list(columns))
            return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))
        if self.kind == "parquet":
            merge = any(schema.names != self.schema.names for schema in self.schemas)
            return spark.read.option("mergeSchema", merge).parquet(*map(_literally, self.paths))
        reader = spark.read.option("mode", "FAILFAST").option("enforceSchema", False).option("header", True)
        frames = []
        # Spark gives the columns of CSV files their names by position, so only files of one header are read together.
        for names in dict.fromkeys(tuple(schema.names) for schema in self.schemas):
            group = [
                _literally(path)
                for path, schema in zip(self.paths, self.schemas, strict=True)
                if tuple(schema.names) == names
            ]
            types = from_arrow_schema(
                pa.schema([_for_spark(self.schema.field(name)) for name in names]), prefer_timestamp_ntz=True
            )
            typed = reader.schema(types)
            frames.append(typed.csv(group) if self.kind == "csv" else typed.json(group))
        return functools.reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)

    def _dataset(self) -> Any:
        return ds.dataset(list(self.paths), format=_format(self.kind), schema=self.schema)


def open_files(events: Sequence[str]) -> Files:
    """Find files and their schema, without reading more than their beginnings.

    Parameters
    ----------
    events
        Paths of files, folders of files, or patterns such as ``trips/*.csv``.

    Raises
    ------
    QueryError
        If a path does not exist or cannot be read, or if files are of several kinds or do not fit together.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.csv as csv
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     csv.write_csv(pa.table({"at": ["2024-05-01 10:00:00"], "speed": [21.5]}), f"{folder}/trips.csv")
    ...     open_files([f"{folder}/*.csv"]).schema
    at: timestamp[us]
    speed: double
    """
    paths = [path for each in events for path in _expand(each)]
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise QueryError(f"the file {path!r} is given twice")
    kinds = {path: kind_of(path) for path in paths}
    kind = kinds[paths[0]]
    for path in paths:
        if kinds[path] != kind:
            raise QueryError(f"{paths[0]!r} is {kind} and {path!r} is {kinds[path]}; expected files of one kind")
    schemas = tuple(_inspect(path, kind) for path in paths)
    try:
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise QueryError(f"the files do not fit together: {one_line(error)}") from error
    return Files(kind, tuple(paths), schema, schemas)


def kind_of(path: str | Path) -> str:
    """What kind of file a path is for, by its extension.

    >>> kind_of("trips.CSV.gz")
    'csv'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = suffixes[-1:] == [".gz"]
    extension = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    kind = EXTENSIONS.get(extension)
    if kind is None or (packed and kind not in ("csv", "json")):
        found = f"the extension {''.join(suffixes[-1:])!r}" if suffixes else "no extension"
        raise QueryError(f"{str(path)!r} has {found}; expected one of {', '.join(EXTENSIONS)}")
    return kind


def one_line(error: BaseException) -> str:
    """The message of an error as one line without its final full stop."""
    return " ".join(str(error).split()).rstrip(".")


def _expand(path: str) -> list[str]:
    if "://" in path:
        raise QueryError(
            f"{path!r} is an address; expected a path on this machine (the Python API takes any Spark DataFrame)"
        )
    if Path(path).is_dir():
        inside = [each for each in Path(path).rglob("*") if each.is_file()]
        shown = [
            each for each in inside if not any(part.startswith(("_", ".")) for part in each.relative_to(path).parts)
        ]
        if not shown:
            raise QueryError(f"the folder {path!r} has no files in it")
        return sorted(map(str, shown))
    if Path(path).exists():
        return [path]
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        if glob.has_magic(path):
            raise QueryError(f"no file matches {path!r}")
        folder = Path(path).parent
        names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        close = difflib.get_close_matches(Path(path).name, names, n=1, cutoff=0.75)
        raise QueryError(
            f"the file {path!r} does not exist" + (f"; did you mean {str(folder / close[0])!r}?" if close else "")
        )
    return [file for each in found for file in _expand(each)]


def _format(kind: str) -> Any:
    if kind == "csv":
        # What Spark takes for null in CSV, and nothing else: an empty field that is not quoted.
        nulls = pa.csv.ConvertOptions(null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False)
        return ds.CsvFileFormat(convert_options=nulls)
    return {"json": ds.JsonFileFormat, "parquet": ds.ParquetFileFormat, "arrow": ds.IpcFileFormat}[kind]()


def _inspect(path: str, kind: str) -> pa.Schema:
    try:
        if kind == "csv":
            with pa.csv.open_csv(
                path,
                pa.csv.ReadOptions(block_size=_FIRST_BLOCK),
                convert_options=_format(kind).default_fragment_scan_options.convert_options,
            ) as reader:
                return _text_types(reader.schema)
        schema = ds.dataset(path, format=_format(kind)).schema
        return _text_types(_json_times(path, schema)) if kind == "json" else schema
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise QueryError(f"{path!r} cannot be read as {kind}: {one_line(error)}") from error


def _text_types(schema: pa.Schema) -> pa.Schema:
    """The types of text columns without those that only an inference makes: null, seconds, nanoseconds."""
    for position, field in enumerate(schema):
        if pa.types.is_null(field.type):
            schema = schema.set(position, field.with_type(pa.string()))
        elif pa.types.is_timestamp(field.type):
            schema = schema.set(position, field.with_type(pa.timestamp("us", field.type.tz)))
    return schema


def _json_times(path: str, schema: pa.Schema) -> pa.Schema:
    """The schema of a JSON file with all its ISO timestamps; pyarrow forgets zones and misses fractions of seconds."""
    maybe = [field.name for field in schema if pa.types.is_timestamp(field.type) or pa.types.is_string(field.type)]
    texts = schema
    for name in maybe:
        texts = texts.set(schema.get_field_index(name), pa.field(name, pa.string()))
    sample = ds.dataset(path, format="json", schema=texts).head(SAMPLE, columns=maybe)
    for name in maybe:
        matches = [_ISO.fullmatch(text) for text in sample[name].to_pylist() if text is not None]
        if matches and all(match and match[1] for match in matches):
            zone = "UTC" if any(match and match[4] for match in matches) else None
            schema = schema.set(schema.get_field_index(name), pa.field(name, pa.timestamp("us", zone)))
    return schema


def _for_spark(field: pa.Field) -> pa.Field:
    known = not pa.types.is_time(field.type) and not pa.types.is_duration(field.type)
    return field if known else field.with_type(pa.string())


def _literally(path: str) -> str:
    """A path on this machine as Spark takes it, where it would see a pattern or another file system."""
    return "file:" + re.sub(r"([][{}*?\\])", r"\\\1", str(Path(path).resolve()))


def time_hint(files: Files, time: str) -> str | None:
    """A sentence about a time column that text files hold in no form that is taken for timestamps."""
    if (
        time not in files.schema.names
        or files.kind not in ("csv", "json")
        or not pa.types.is_string(files.schema.field(time).type)
    ):
        return None
    values = (value for batch in files.batches([time]) for value in batch.column(0).drop_null())
    example = next(values, None)
    found = f"text such as {example.as_py()!r}" if example is not None else "no values"
    return (
        f"the time column {time!r} of {files.paths[0]!r} has {found}; expected ISO timestamps such as "
        "'2024-05-01 10:00:00', or integers: rewrite that column, or make the file Parquet with a timestamp column"
    )
