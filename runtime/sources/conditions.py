"""Conditions on events, as pyarrow expressions."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...aggregators.contract.column_expressions import text_of
from ...aggregators.errors import ColumnError, QueryError, excerpt, nearest
from ...aggregators.states.categories import Categories, UnknownCategories
from ..columns.field_types import type_of_values
from ..expressions.text import Expr, expr
from .files import one_line
from .opening import no_rows

WHERE = "the condition of where()"
LITERAL, ORDERING = re.compile(r'"(\\.|[^"\\])*"'), re.compile(r"[<>]=?")
"""Text in an expression as pyarrow shows it, and what compares in it."""
MISSING = re.compile(r"No match for FieldRef\.(?:Nested\(FieldRef\.)?Name\((.*)", re.DOTALL)
"""pyarrow's words for a column that there is not, and what follows its name."""
MOST_CALLS = 5_000
"""How many functions an expression of a user's calls at most."""


def checked(condition: Any, schema: pa.Schema, events: str) -> pc.Expression:
    """A condition, if it can be computed from the columns of a schema.

    Parameters
    ----------
    condition
        What a user gave.
    schema
        The columns of the events.
    events
        What the events are, for messages.

    Raises
    ------
    QueryError
        If it is neither SQL, as :func:`~framefold.expr` has it, nor a boolean pyarrow expression on these columns.
    """
    if isinstance(condition, (str, Expr)):
        from ..expressions.in_arrow import in_arrow  # its functions take some milliseconds

        return in_arrow(expr(condition) if isinstance(condition, str) else condition, schema, WHERE, of_truth=True)
    if not isinstance(condition, pc.Expression):
        kind = type(condition)
        raise QueryError(
            f"where() {events} is given a {kind.__module__}.{kind.__name__}; expected ff.expr('x > 0'), or a pyarrow "
            "expression such as pyarrow.compute.field('x') > 0"
        )
    user = named(condition)
    require_small(condition, user)
    names, error = needed(condition, schema)
    if error is not None:
        raise QueryError(f"{user} {reason_of(error, schema)}")
    require_no_order(condition, only(schema, names), user)
    return condition


def named(condition: pc.Expression) -> str:
    """A condition as messages call it."""
    return f"the condition {excerpt(text_of(condition))} of where()"


def require_small(expression: pc.Expression, user: str) -> None:
    """QueryError where an expression of a user's is so large that pyarrow, which goes as deep, ends the process."""
    calls = LITERAL.sub("", text_of(expression)).count("(")
    if calls > MOST_CALLS:
        raise QueryError(
            f"{user} has {calls:,} parts; expected at most {MOST_CALLS:,}, such as those of pyarrow.compute.is_in for "
            "many values"
        )


def require_no_order(expression: pc.Expression, schema: pa.Schema, user: str) -> None:
    """ColumnError where an expression asks which value of an ordered dictionary is above another.

    pyarrow compares the texts of the categories, whatever their order.
    """
    ordered = [each.name for each in schema if isinstance(type_of_values(each), (Categories, UnknownCategories))]
    text = LITERAL.sub("", text_of(expression)) if ordered else ""
    for name in ordered:
        column = rf"(?<!\w){re.escape(name)}(?!\w)"
        if re.search(rf"\({column} {ORDERING.pattern} | {ORDERING.pattern} {column}\)", text):
            raise ColumnError(
                f"{user} compares {name!r}, an ordered dictionary, and pyarrow would compare its texts; expected "
                f"pyarrow.compute.is_in or == of some categories, or {name!r} cast to a string"
            )


def reason_of(error: Exception, schema: pa.Schema) -> str:
    """Why an expression cannot be computed from the columns of a schema, by pyarrow's error."""
    reason = str(error).splitlines()[0]
    # pyarrow names an unknown column in its message only; one in other words is passed on as it is.
    if "No match for FieldRef.Name(" in reason:
        name = reason.split("FieldRef.Name(")[1].split(")")[0]
        return f"names the unknown column {name!r}; {nearest(name, schema.names)}"
    return f"does not fit the columns: {reason}"


@contextmanager
def applied(condition: pc.Expression) -> Iterator[None]:
    """QueryError where pyarrow cannot compute a condition of some event, such as a division by zero."""
    try:
        yield
    except pa.ArrowException as error:
        raise QueryError(f"{named(condition)} cannot be computed of the events: {one_line(error)}") from error


def filtered(events: pa.RecordBatchReader, columns: Sequence[str], condition: pc.Expression) -> pa.RecordBatchReader:
    """Some columns of the events for which a condition is true."""
    import pyarrow.dataset as ds  # slow to import

    found = ds.Scanner.from_batches(events, columns=list(columns), filter=condition).to_reader()

    def batches() -> Iterator[pa.RecordBatch]:
        with applied(condition):
            yield from found

    return pa.RecordBatchReader.from_batches(found.schema, batches())


def columns_of(condition: pc.Expression | None, schema: pa.Schema) -> list[str]:
    """The columns of a schema that a condition names: those without which it cannot be computed."""
    return [] if condition is None else needed(condition, schema)[0]


def needed(expression: pc.Expression, schema: pa.Schema) -> tuple[list[str], Exception | None]:
    """The columns of a schema that an expression names, in their order, and why it cannot be computed from them.

    pyarrow says which column is missing, one at a time: so its cost is that of these, and not of all.
    """
    found: set[int] = set()
    while (error := error_of(expression, fields(schema, found))) is not None:
        said = MISSING.search(str(error))
        ends = [at for at, letter in enumerate(said[1]) if letter == ")"] if said else []
        places = [schema.get_all_field_indices(said[1][:end]) for end in reversed(ends)] if said else []
        missing = next((each for each in places if each and not found.issuperset(each)), None)
        if missing is None:
            return schema.names, error_of(expression, schema)  # such as of a column by its number
        found.update(missing)
    return fields(schema, found).names, None


def only(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    """Some columns of a schema; if a name has several, all of them."""
    return fields(schema, {place for name in names for place in schema.get_all_field_indices(name)})


def fields(schema: pa.Schema, places: Collection[int]) -> pa.Schema:
    """The columns of a schema at some places, in their order."""
    return pa.schema([schema.field(place) for place in sorted(places)])


def error_of(condition: pc.Expression, schema: pa.Schema) -> Exception | None:
    """Why a condition cannot be computed from the columns of a schema."""
    try:
        no_rows(schema).filter(condition)
    except (pa.ArrowException, TypeError) as error:
        return error
    return None


def all_of(conditions: Sequence[pc.Expression | None]) -> pc.Expression | None:
    """Several conditions as one; None is always true."""
    known = [condition for condition in conditions if condition is not None]
    return functools.reduce(operator.and_, known) if known else None


def possible(condition: pc.Expression, schema: pa.Schema, guarantees: Sequence[pc.Expression | None]) -> list[int]:
    """The numbers of those guarantees under which a condition can be true.

    pyarrow decides that for the fragments of a data set: here files that are never opened.

    Examples
    --------
    >>> x = pc.field("x")
    >>> possible(x > 5, pa.schema([("x", pa.int64())]), [(x >= 0) & (x <= 5), None, x == 6])
    [1, 2]
    """
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    form, nowhere = ds.ParquetFileFormat(), LocalFileSystem()
    fragments = [
        form.make_fragment(str(number), nowhere, partition_expression=guarantee)
        for number, guarantee in enumerate(guarantees)
    ]
    whole = ds.FileSystemDataset(fragments, schema, form, nowhere)
    return sorted(int(fragment.path) for fragment in whole.get_fragments(filter=condition))


def bounds(statistics: Any, field: pa.Field) -> pc.Expression | None:
    """The condition that a column chunk's statistics guarantee; None without one.

    Parameters
    ----------
    statistics
        A ``pyarrow.parquet.Statistics``, or None.
    field
        The column, with the type in which its values are compared.
    """
    # Statistics of floats leave out NaN, which meets conditions that no value between the bounds does.
    if statistics is None or not statistics.has_min_max or pa.types.is_floating(field.type):
        return None
    try:
        least, greatest = (pa.scalar(value, field.type) for value in (statistics.min, statistics.max))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None  # such as a date after the year 9999, which Python does not have
    column = pc.field(field.name)
    if statistics.has_null_count and statistics.null_count == 0:
        return (column >= least) & (column <= greatest)
    null = column.is_null()  # twice: pyarrow simplifies by one bound at a time
    return ((column >= least) | null) & ((column <= greatest) | null)


def equal(field: pa.Field, value: pa.Scalar) -> pc.Expression:
    """That a column has one value."""
    column = pc.field(field.name)
    return column == value if value.is_valid else column.is_null()
