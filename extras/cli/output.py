"""Where results go: to a file, or as a table to the terminal."""

from __future__ import annotations

import base64
import datetime
import json
import math
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich import box
from rich.markup import escape
from rich.table import Table

from ...aggregators.errors import QueryError
from ...runtime.sources.files import one_line
from .holding import check_columns, writer
from .inputs import FileError, UnknownFileSystemError, is_address, kind_of, opened, type_at
from .overlap import check_apart
from .replacing import new_file, new_folder, new_object

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW = "window"
BOUNDS = ("window_start", "window_end")


def check_out(out: str, inputs: Sequence[str], columns: pa.Schema, *, spark: bool, kind: str | None = None) -> None:
    """Check that a result can be written to an output path.

    Parameters
    ----------
    out
        The path.
    inputs
        The files of the events.
    columns
        The keys and the outputs of the result.
    spark
        Whether Spark writes it.
    kind
        The kind of file that goes to standard output, if that is where it goes.

    Raises
    ------
    QueryError
        If nothing can be written there, a column cannot be held by such a file, or other data would be overwritten.
    """
    if kind is None:
        kind = _check_path(out, inputs, spark=spark)
    clash = [name for name in BOUNDS if kind == "csv" and name in columns.names]
    if clash:
        raise QueryError(
            f"a CSV result has the window in columns {' and '.join(BOUNDS)}, but {clash[0]!r} is taken; rename it"
        )
    check_columns(out, kind, columns, spark=spark)


def _check_path(out: str, inputs: Sequence[str], *, spark: bool) -> str:
    """The kind of file of a path that may be written to."""
    try:
        kind = kind_of(out)
    except QueryError as error:
        raise QueryError(f"--out {error}") from None
    check_apart(out, inputs)
    path = Path(out)
    if path.suffix == ".gz":
        raise QueryError(f"--out {out!r} is packed; expected a name without .gz")
    if is_address(out):
        check_address(out, spark=spark and kind != "arrow")
        return kind
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()  # exists() is silent on these from Python 3.14 on
    except OSError as error:  # links in a circle, a name that is too long
        raise QueryError(f"--out {out!r} leads nowhere: {one_line(error)}") from None
    real = path.resolve()
    for folder in (path.parent, real.parent):
        if not folder.is_dir():
            raise QueryError(f"--out {out!r} is in the folder {str(folder)!r}, which does not exist")
    if path.is_dir():
        if not (spark and kind != "arrow"):
            raise QueryError(f"--out {out!r} is a folder; expected the name of a file")
        if any(path.iterdir()) and not (path / "_SUCCESS").exists():
            raise QueryError(
                f"--out {out!r} is a folder that Spark did not write; expected a new name, or an earlier result"
            )
    check_permissions(out, real)
    return kind


def check_new(out: str) -> None:
    """QueryError where something is at a path or an address already."""
    from pyarrow.fs import FileType

    if not is_address(out):
        exists = os.path.lexists(out)
    else:
        try:
            exists = type_at(out, *opened(out)) != FileType.NotFound
        except UnknownFileSystemError:  # Spark may know it, and replaces nothing at an address
            return
    if exists:
        raise QueryError(f"--out {out!r} exists, and --no-replace keeps it; expected a new name")


def check_permissions(out: str, real: Path) -> None:
    """QueryError unless what is at a path may be replaced."""
    if real.exists() and not os.access(real, os.W_OK):
        raise QueryError(f"--out {out!r} is read-only; expected a file that may be overwritten, or a new name")
    in_place = real.exists() and not real.is_file() and not real.is_dir()
    if not in_place and not os.access(real.parent, os.W_OK | os.X_OK):
        raise QueryError(
            f"--out {out!r} is in the folder {str(real.parent)!r}, which is read-only; expected one where a new "
            "result can be written beside an earlier one"
        )


def check_address(out: str, *, spark: bool) -> None:
    """QueryError unless a result can be written to an address; Spark's folder takes no other's place there."""
    from pyarrow.fs import FileType

    try:
        system, path = opened(out)
    except UnknownFileSystemError:
        if spark:
            return  # Spark may know it, and refuses to write where something is
        raise
    kind = type_at(out, system, path)
    if kind == FileType.Directory or (spark and kind == FileType.File):
        raise QueryError(f"--out {out!r} exists; expected a new name, for a folder at an address is never replaced")


def write_stdout(table: pa.Table, kind: str) -> None:
    """Write a result to standard output, once all of it has been made."""
    with TemporaryDirectory(prefix="framefold-") as folder:
        path = str(Path(folder, f"result.{kind}"))
        write_table(table, path)
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.flush()


def write_table(table: pa.Table, out: str) -> None:
    """Write a result of the local engine as one file, of the kind that its extension says."""
    kind = kind_of(out)
    try:
        with new_object(out) if is_address(out) else new_file(out) as path:
            if kind == "json":
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(json_lines(table))
            else:
                writer(kind)(flat(table) if kind == "csv" else table, path)
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: nanoseconds, which Python has no type for
        raise _unwritable(out, error) from error


def _unwritable(out: str, error: BaseException) -> FileError:
    said = FileError(f"{out!r} cannot be written: {one_line(error)}")
    for note in getattr(error, "__notes__", ()):
        said.add_note(note)
    return said


def write_dataframe(df: DataFrame, out: str) -> None:
    """Write a result of Spark as Spark does: a folder of part files. Arrow is one file, written from here.

    Raises
    ------
    FileError
        If the folder is not there in the end: the executors are on machines that do not share it.
    """
    kind = kind_of(out)
    if kind == "arrow":
        write_table(df.toArrow(), out)
        return
    if kind == "csv":
        df = _flat_dataframe(df)
    writer = df.write.option("header", True).option("ignoreNullFields", False).format(kind)
    if is_address(out):
        from ...spark.files.spark_reader import by_known_scheme, without_options

        by_known_scheme(lambda paths: writer.mode("error").save(*paths), [without_options(out)])
        return
    try:
        with new_folder(out) as path:
            writer.save(f"file:{path}")
            if not any(path.glob("part-*")):
                raise FileError(
                    f"{out!r} cannot be written: Spark's executors have written no files into the folder "
                    f"{str(path.parent)!r} of this machine; expected a folder that they share with it, or .arrow"
                )
    except OSError as error:
        raise _unwritable(out, error) from error


def _flat_dataframe(df: DataFrame) -> DataFrame:
    """A result with the bounds of its windows as two columns; columns go by number: names may differ in case only."""
    if WINDOW not in df.columns:
        return df
    place = df.columns.index(WINDOW)
    numbered = df.toDF(*(f"c{at}" for at in range(len(df.columns))))
    columns = [numbered[f"c{at}"].alias(name) for at, name in enumerate(df.columns)]
    bounds = [numbered[f"c{place}"][end].alias(name) for end, name in zip(("start", "end"), BOUNDS, strict=True)]
    return numbered.select(*columns[:place], *bounds, *columns[place + 1 :])


def flat(table: pa.Table) -> pa.Table:
    """A result with the bounds of its windows as two columns, for formats without structs."""
    if WINDOW not in table.column_names:
        return table
    place = table.column_names.index(WINDOW)
    start, end = table[WINDOW].combine_chunks().flatten()
    return table.remove_column(place).add_column(place, BOUNDS[0], start).add_column(place + 1, BOUNDS[1], end)


def json_lines(table: pa.Table) -> Iterator[str]:
    """A result as JSON, a row a line, with what JSON has no form for written as Spark writes it."""
    for batch in table.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            plain = {field.name: _plain(row[field.name], field.type) for field in table.schema}
            yield json.dumps(plain, ensure_ascii=False) + "\n"


def _plain(value: Any, type: pa.DataType) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if pa.types.is_map(type):
        return {_name(_plain(key, type.key_type)): _plain(each, type.item_type) for key, each in value}
    if isinstance(value, dict):
        return {field.name: _plain(value[field.name], field.type) for field in type}
    if isinstance(value, list):
        return [_plain(each, type.value_type) for each in value]
    if isinstance(value, float):
        finite = math.isfinite(value)
        return value if finite else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (datetime.date, datetime.datetime, datetime.time)):
        return value.isoformat()
    return str(value)


def _name(key: Any) -> str:
    """A key of a map as the name of a field."""
    return key if isinstance(key, str) else json.dumps(key, ensure_ascii=False)


def preview(rows: pa.Table, total: int | None = None, noun: str = "window") -> Table:
    """The first rows of a result as a table for the terminal."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for field in rows.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        title = field.name
        if title == WINDOW and pa.types.is_timestamp(field.type.field("start").type):
            title += f" ({zone})" if (zone := field.type.field("start").type.tz) else ""
        shown.add_column(escape(title), justify="right" if number else "left", no_wrap=field.name == WINDOW)
    for row in rows.to_pylist():
        shown.add_row(*(_cell(value) for value in row.values()))
    if total is not None and total > len(rows):
        shown.caption = f"{len(rows):,} of {total:,} {noun}s"
        shown.caption_justify = "left"
    return shown


def _cell(value: Any) -> str:
    if value is None:
        return "[dim]null[/dim]"
    if isinstance(value, dict) and set(value) == {"start", "end"}:
        return _span(value["start"], value["end"])
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:.6g}"
    return escape(str(value))


def _span(start: Any, end: Any) -> str:
    """A window in few characters: what start and end have in common is said once.

    >>> from datetime import datetime
    >>> _span(datetime(2024, 5, 1, 9), datetime(2024, 5, 1, 10))
    '2024-05-01 09:00 – 10:00'
    """
    if not isinstance(start, datetime.datetime):
        return f"{start} – {end}"
    whole = not (start.second or end.second or start.microsecond or end.microsecond)
    parts = "minutes" if whole else "auto"
    left, right = (each.replace(tzinfo=None).isoformat(sep=" ", timespec=parts) for each in (start, end))
    return f"{left} – {right[11:] if start.date() == end.date() else right}"
