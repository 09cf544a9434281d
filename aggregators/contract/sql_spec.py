"""How Spark SQL accumulates an operation.

Nothing here runs it: an engine puts names in place of the placeholders and groups events by key and frame.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ..states.fields import Column, Field, Plain
from ..states.objects import Objects
from ..states.ragged import RaggedField
from ..states.rows import place

ROW_LIMIT = 1 << 30
"""The most rows of one key and frame whose sums are exact."""

SMALL_ROW_LIMIT = 1 << 22
"""The most rows of one key and frame whose cheaper sums, of fewer parts, are exact."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")

Planes = Mapping[str, pa.Array]
"""Columns by their names in :class:`SqlSpec`, one element a partial."""


@dataclass(frozen=True)
class SqlSpec:
    """How Spark SQL accumulates one operation.

    Attributes
    ----------
    aggregates
        Aggregates by name, such as ``{"total": "sum({0})"}``. ``{0}``, ``{1}``, ... stand for the input columns,
        ``{ticks}`` for the time of an event as an integer, and any other word for one of ``steps``.
    read
        Function from the columns of ``aggregates`` and ``subgroup_by`` to states.
    steps
        Expressions computed first for each event, by name; each may use those before it.
    subgroup_by
        The steps, integers from -2048 to 2047, by which events of one key and frame are grouped further. Each group
        is a partial of its own, and these are merged as all others.
    small_count_variant
        The same, cheaper, where no more than ``SMALL_ROW_LIMIT`` events have one key and frame.
    """

    aggregates: Mapping[str, str]
    read: Callable[[Planes], Mapping[str, Any]]
    steps: Mapping[str, str] = field(default_factory=dict)
    subgroup_by: tuple[str, ...] = ()
    small_count_variant: SqlSpec | None = None

    def moved(self, start: int, prefix: str) -> SqlSpec:
        """The same for input columns from number ``start`` on, with a prefix to all names."""
        names = {name: f"{{{prefix}{name}}}" for name in self.steps} | {"ticks": "{ticks}"}

        def text(of: str) -> str:
            return PLACEHOLDER.sub(lambda word: names.get(word[1]) or f"{{{int(word[1]) + start}}}", of)

        return SqlSpec(
            {f"{prefix}{name}": text(of) for name, of in self.aggregates.items()},
            self.read,
            {f"{prefix}{name}": text(of) for name, of in self.steps.items()},
            tuple(f"{prefix}{name}" for name in self.subgroup_by),
            None if self.small_count_variant is None else self.small_count_variant.moved(start, prefix),
        )


def side_by_side(parts: Sequence[SqlSpec], read: Callable[[Planes], Mapping[str, Any]]) -> SqlSpec:
    """Several specs as one; their names must differ."""
    aggregates = {name: text for part in parts for name, text in part.aggregates.items()}
    steps = {name: text for part in parts for name, text in part.steps.items()}
    fewer = [part.small_count_variant for part in parts if part.small_count_variant is not None]
    small = side_by_side([part.small_count_variant or part for part in parts], read) if fewer else None
    return SqlSpec(aggregates, read, steps, tuple(name for part in parts for name in part.subgroup_by), small)


def put(text: str, names: Mapping[str, str]) -> str:
    """A text with names in place of its placeholders.

    >>> put("sum({0} * {factor})", {"0": "c1", "factor": "v0"})
    'sum(c1 * v0)'
    """
    return PLACEHOLDER.sub(lambda found: names[found[1]], text)


def by_field(
    sql: Mapping[str, str], kinds: Mapping[str, Field], identity: Mapping[str, Any], columns: Sequence[str]
) -> SqlSpec | None:
    """A spec of one aggregate for each field; None where a field is of lists or of pickled objects.

    An event counts only if none of ``columns``, the placeholders of columns, is null.
    """
    if any(isinstance(kind, RaggedField) or kind.pickles for kind in kinds.values()):
        return None

    def read(planes: Planes) -> Mapping[str, Any]:
        return {name: column_of(kind, planes[name], identity[name]) for name, kind in kinds.items()}

    if len(columns) < 2:  # Spark's aggregates leave out nulls by themselves
        return SqlSpec(sql, read)
    known = " and ".join(f"{{{column}}} is not null" for column in columns)
    steps = {f"known{column}": f"case when {known} then {{{column}}} end" for column in columns}
    within = {column: f"{{known{column}}}" for column in columns} | {"ticks": "{ticks}"}
    return SqlSpec({name: put(text, within) for name, text in sql.items()}, read, steps)


def column_of(kind: Field, values: pa.Array, identity: Any) -> Column:
    """A column of a state's field from the values of a database; a null is the identity."""
    valid = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    known = values.drop_null() if values.null_count else values
    if isinstance(kind, Plain):
        known = known.cast(kind.planes[""])
    column = kind.column(known if isinstance(kind, Objects) else known.to_numpy(zero_copy_only=False))
    return column if len(valid) == len(values) else place(len(values), valid, column, kind.full(identity, 1))
