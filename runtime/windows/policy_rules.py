"""The rules of policies: by count, by time, by delta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ...aggregators.contract.column_expressions import unquoted
from ...aggregators.contract.numeric_columns import is_number
from ...aggregators.durations import positive
from ...aggregators.errors import ColumnError, DurationError, QueryError
from ..columns.ticks import Duration, TimeColumn
from ..frames.windows import TypeOf
from .spec import whole


@dataclass(frozen=True)
class Rule:
    """When rows are evicted, or results triggered; made by :func:`by_count`, :func:`by_time` and :func:`by_delta`."""

    kind: str
    by: Any
    column: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}({self.column + ', ' if self.column is not None else ''}{self.by})"

    def bind(self, time: TimeColumn, type_of: TypeOf) -> Any:
        """The rule's amount in rows, ticks, or the column's own units."""
        if self.kind == "count":
            return self.by
        if self.kind == "time":
            return time.length(self.by, "by_time()")
        assert self.column is not None
        kind = type_of(self.column, "by_delta()")
        if pa.types.is_temporal(kind):
            ticks = TimeColumn(self.column, kind).duration(self.by, "by_delta()")
            if ticks < 0:
                raise DurationError(f"by_delta() is {self.by!r}; expected a duration of 0 or more")
            return ticks
        if not is_number(kind):
            raise ColumnError(
                f"by_delta() names {self.column!r}, which is {kind}; expected a column of numbers or of times"
            )
        if isinstance(self.by, bool) or not isinstance(self.by, (int, float, np.number)) or not self.by >= 0:
            raise ColumnError(
                f"by_delta() is {self.by!r}, but {self.column!r} is {kind}; expected a number of 0 or more"
            )
        return self.by


def by_count(n: int) -> Rule:
    """Evict all but the last n rows; trigger after every n rows.

    >>> str(by_count(4))
    'count(4)'
    """
    return Rule("count", whole("by_count()", n, 1))


def by_time(duration: Duration) -> Rule:
    """Evict rows older than a duration (one exactly as old stays); trigger at every multiple of it.

    >>> str(by_time("5 seconds"))
    'time(5 seconds)'
    """
    positive(duration, "by_time()")
    return Rule("time", duration)


def by_delta(column: str, delta: Any) -> Rule:
    """Evict rows whose value is more than delta below the newest; trigger at values more than delta above the last.

    For a column of numbers, delta is a number; for one of times, a duration.

    >>> str(by_delta("temperature", 1.5))
    'delta(temperature, 1.5)'
    """
    if not isinstance(column, str):
        raise QueryError(f"by_delta() is given {column!r}; expected the name of a column")
    return Rule("delta", delta, unquoted(column))
