"""Results as files, and as a table on the terminal."""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
from rich import box
from rich.markup import escape
from rich.table import Table

from ..aggregators.errors import QueryError
from .inputs import FileError, kind_of, one_line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW = "window"
BOUNDS = ("window_start", "window_end")


def check_out(out: str, inputs: tuple[str, ...], columns: list[str], *, spark: bool) -> str:
    """The kind of file that an output path asks for.

    Raises
    ------
    QueryError
        If nothing can be written there, or something would be lost.
    """
    try:
        kind = kind_of(out)
    except QueryError as error:
        raise QueryError(f"--out {error}") from None
    path = Path(out)
    if path.suffix == ".gz":
        raise QueryError(f"--out {out!r} is packed; expected a name without .gz")
    if not path.parent.is_dir():
        raise QueryError(f"--out {out!r} is in the folder {str(path.parent)!r}, which does not exist")
    for each in inputs:
        if path.resolve() in (Path(each).resolve(), *Path(each).resolve().parents):
            raise QueryError(f"--out {out!r} would overwrite the events in {each!r}")
    if path.is_dir():
        if not (spark and kind != "arrow"):
            raise QueryError(f"--out {out!r} is a folder; expected the name of a file")
        if any(path.iterdir()) and not (path / "_SUCCESS").exists():
            raise QueryError(
                f"--out {out!r} is a folder that Spark did not write; expected a new name, or an earlier result"
            )
    clash = [name for name in BOUNDS if kind == "csv" and name in columns]
    if clash:
        raise QueryError(
            f"a CSV result has the window in columns {' and '.join(BOUNDS)}, but {clash[0]!r} is taken; rename it"
        )
    return kind


def write_table(table: pa.Table, out: str) -> None:
    """Write a result of the local engine as one file, of the kind that its extension says."""
    kind = kind_of(out)
    try:
        if kind == "parquet":
            pa.parquet.write_table(table, out)
        elif kind == "arrow":
            pa.feather.write_feather(table, out)
        elif kind == "csv":
            pa.csv.write_csv(flat(table), out)
        else:
            with open(out, "w", encoding="utf-8") as file:
                file.writelines(json_lines(table))
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{out!r} cannot be written: {one_line(error)}") from error


def write_dataframe(df: DataFrame, out: str) -> None:
    """Write a result of Spark as Spark does: a folder of part files. Arrow is one file, written from here."""
    kind = kind_of(out)
    if kind == "arrow":
        write_table(df.toArrow(), out)
        return
    if kind == "csv":
        keys_and_outputs = [name for name in df.columns if name != WINDOW]
        place = df.columns.index(WINDOW)
        bounds = [df[WINDOW][end].alias(name) for end, name in zip(("start", "end"), BOUNDS, strict=True)]
        rest = [df[f"`{name.replace('`', '``')}`"] for name in keys_and_outputs]
        df = df.select(*rest[:place], *bounds, *rest[place:])
    writer = df.write.mode("overwrite").option("header", True).option("ignoreNullFields", False)
    writer.format(kind).save(f"file:{Path(out).resolve()}")


def flat(table: pa.Table) -> pa.Table:
    """A result with the bounds of its windows as two columns, for formats without structs."""
    place = table.column_names.index(WINDOW)
    start, end = table[WINDOW].combine_chunks().flatten()
    return table.remove_column(place).add_column(place, BOUNDS[0], start).add_column(place + 1, BOUNDS[1], end)


def json_lines(table: pa.Table) -> Iterator[str]:
    """A result as JSON, a row a line, with what JSON has no form for written as Spark writes it."""
    for batch in table.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            yield json.dumps(_plain(row), ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (datetime.date, datetime.datetime, datetime.time)):
        return value.isoformat()
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def preview(rows: pa.Table, total: int | None = None) -> Table:
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
        shown.caption = f"{len(rows):,} of {total:,} windows"
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
