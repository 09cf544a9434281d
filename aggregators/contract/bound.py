"""One output of a query: an operation bound to the types of its input columns, and tried on made-up events."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ..states.fields import CompensatedField, Plain, RaggedField
from . import trial
from .checked import CheckedOperation
from .operation import Operation, State
from .sql_spec import Planes, SqlSpec


class BoundAggregate(CheckedOperation):
    """One output of a query: an operation that knows its input types.

    Parameters
    ----------
    name
        The output's name, for messages.
    operation
        What the user gave.
    types
        The Arrow types of its input columns.

    Raises
    ------
    ColumnError
        If the operation cannot work on these types.
    OperationError
        If the operation lacks a method or breaks its contract in a trial.
    """

    result: pa.DataType

    def __init__(self, name: str, operation: Operation, types: Sequence[pa.DataType]) -> None:
        super().__init__(name, operation, types)
        self.result = trial.result_type(self)
        if self.commutative is None:
            self.commutative = trial.commutes(self)
        if self.untrusted and self.ufuncs:
            trial.check_ufuncs(self)
        if (self.untrusted or self.operation.has_user_combine) and operation.try_laws:
            trial.check_laws(self)

    @property
    def deducts(self) -> tuple[bool, str]:
        """Whether windows slide by deduct, and why or why not."""
        if not self.operation.has("deduct"):
            return False, "it has no deduct"
        if self.operation.exact_deduct:
            return True, "it declares exact_deduct"
        inexact = [key for key, kind in self.fields.items() if not kind.exact]
        if not inexact:
            return True, "its deduct is exact: no field of its state loses anything"
        kind = self.fields[inexact[0]]
        what = "a list of items" if isinstance(kind, RaggedField) else "a Python object"
        what = f"a plain {kind.dtype}" if isinstance(kind, Plain) else what
        return False, f"its deduct may not be exact: the field {inexact[0]!r} is {what}"

    @property
    def takes_empty_frames(self) -> bool:
        """Whether it may be given frames without a row, whose states are thrown away: never what a user wrote."""
        return self.operation.takes_empty_frames and not self.untrusted

    @property
    def sql_spec(self) -> SqlSpec | None:
        """How Spark builds states by itself; None where it does not know, or a subclass has its own accumulate."""
        kinds = type(self.operation).__mro__

        def first(*names: str) -> int:
            return next(place for place, kind in enumerate(kinds) if any(name in vars(kind) for name in names))

        if first("sql", "sql_spec") > first("accumulate"):
            return None
        found: SqlSpec | None = self._call("sql_spec", self.operation.sql_spec, *self.types)
        return found

    def read(self, planes: Planes) -> State:
        """The states that Spark SQL has accumulated."""
        spec = self.sql_spec
        assert spec is not None
        return self._checked("sql", self._call("sql", spec.read, planes), len(next(iter(planes.values()))))

    @property
    def compensated(self) -> list[str]:
        """The compensated fields, whose deductions are checked."""
        return [key for key, kind in self.fields.items() if isinstance(kind, CompensatedField)]
