"""Several inputs as one stream of events, so that their aggregates share windows: co-aggregation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from ...aggregators.errors import QueryError
from ...aggregators.states.categories import Categories
from ..columns.field_types import field_of, plain_field, require_taken, type_of_values
from ..columns.key_types import Unfit, of_one_type, one_type
from ..columns.plain import plain, require_key
from .arrow import Source


@dataclass(frozen=True)
class Roles:
    """The columns of one input that all inputs have: its time, its keys, and the ends of interval events."""

    time: str
    by: tuple[str, ...]
    until: str | None = None

    @property
    def shared(self) -> tuple[str, ...]:
        """Their names, in one order for all inputs."""
        return (self.time, *self.by, *(() if self.until is None else (self.until,)))

    def names(self, name: str, columns: Sequence[str], common: Roles) -> dict[str, str]:
        """The column of this input by its name among those of all inputs.

        Time, keys and ends have their names in the first input; every column has its own, after its input's and a dot.

        Raises
        ------
        QueryError
            If these are the same.
        """
        shared = dict(zip(common.shared, self.shared, strict=True))
        own = {f"{name}.{column}": column for column in columns}
        for new in shared.keys() & own.keys():
            raise QueryError(
                f"the column {own[new]!r} of the input {name!r} is {new!r} beside the others, which is the time, an "
                "end or a key of all; expected another name of one of them"
            )
        return shared | own


def check_roles(inputs: Mapping[str, Roles]) -> Roles:
    """The names for the time and keys of all inputs: those of the first.

    Raises
    ------
    QueryError
        If there are fewer than two inputs, they have different numbers of keys, or only some are interval events.
    """
    if len(inputs) < 2:
        raise QueryError(f"together() is given {len(inputs)} inputs; expected two or more, by name")
    (first, common), *others = inputs.items()
    for name, roles in others:
        if len(roles.by) != len(common.by):
            raise QueryError(
                f"the input {name!r} has {len(roles.by)} keys and {first!r} has {len(common.by)}; expected as many"
            )
        if (roles.until is None) != (common.until is None):
            lasting, point = (name, first) if common.until is None else (first, name)
            raise QueryError(
                f"the input {lasting!r} has interval events (until=) and {point!r} has not; expected until= for both, "
                "or for none"
            )
    return common


def unfit(name: str, column: str, shared: str, found: object, expected: object) -> str:
    """The sentence for a column of an input whose type does not fit those that the others have for it."""
    return (
        f"the column {column!r} of the input {name!r} is {found}, and {shared!r} of others is {expected}; "
        "expected one type: cast one of them"
    )


class Together(Source):
    """Several sources of Arrow batches, one after the other; a column that an input lacks is null in its rows.

    Parameters
    ----------
    sources
        The inputs by their names.
    roles
        Their times and keys.

    Raises
    ------
    QueryError
        If times or keys have different types.
    """

    def __init__(self, sources: Mapping[str, Source], roles: Mapping[str, Roles]) -> None:
        common = check_roles(roles)
        self.sources = dict(sources)
        self.names = {name: roles[name].names(name, source.schema.names, common) for name, source in sources.items()}
        fields: dict[str, pa.Field] = {}
        shared: dict[str, list[tuple[pa.DataType, Unfit]]] = {name: [] for name in common.shared}
        for name, source in sources.items():
            counts = Counter(source.schema.names)
            for new, old in self.names[name].items():
                if old not in counts:
                    raise QueryError(f"the input {name!r} has no column {old!r}, which is its time or a key")
                if counts[old] > 1:
                    if new in shared:
                        raise QueryError(f"the input {name!r} has {counts[old]} columns called {old!r}; expected one")
                    continue
                field = source.schema.field(old)
                fields.setdefault(new, plain_field(field).with_name(new))
                if new in shared:
                    require_taken(source.schema, [old], f"the input {name!r}")
                    if new in common.by:
                        require_key(old, type_of_values(field), f"the input {name!r}")
                    shared[new].append((type_of_values(field), partial(unfit, name, old, new)))
        self.shared = {
            name: one_type(first, others, of_times=name not in common.by)
            for name, ((first, _), *others) in shared.items()
        }
        for name, type in self.shared.items():
            fields[name] = field_of(name, type)
        self.schema = pa.schema(list(fields.values()))

    def where(self, condition: Any) -> Source:
        """QueryError: a condition on the columns of one input belongs to that input."""
        raise QueryError("where() is given several inputs together; expected it on each, before ff.together")

    def batches(self, columns: Sequence[str]) -> pa.RecordBatchReader:
        """The events of all inputs, with some of the columns."""
        schema = pa.schema([self.schema.field(column) for column in columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for name, source in self.sources.items():
            names = self.names[name]
            wanted = list(dict.fromkeys(names[column] for column in schema.names if column in names))
            for batch in source.batches(wanted):
                columns = [
                    self._column(batch.column(names[field.name]), field)
                    if field.name in names
                    else pa.nulls(len(batch), field.type)
                    for field in schema
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
                del batch, columns  # or they would be held while the next ones are read

    def _column(self, column: pa.Array, field: pa.Field) -> pa.Array:
        """A column of an input as one of all inputs."""
        type = self.shared.get(field.name)
        if type is None:
            return column if column.type == field.type else plain(column, field.type)
        found = of_one_type(column, type, f"the column {field.name!r}")
        return pa.DictionaryArray.from_arrays(found.storage, type.values) if isinstance(type, Categories) else found
