"""Window inputs: what windows need of every partial, as states next to those of the outputs."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...aggregators.contract.bound import BoundAggregate
from ...aggregators.contract.frames import Frames, Values
from ...aggregators.contract.numeric_columns import floats, is_number
from ...aggregators.contract.operation import AggregateOperation, State
from ...aggregators.errors import ColumnError
from ...aggregators.sums.sums import Count

RANK, UNTIL_TICK = "#rank", "#until"
"""What :class:`Earliest` may be of: row numbers, and the last ticks of interval events. They are no columns of events,
which may have such names."""


def own_name(name: str, taken: Collection[str]) -> str:
    """A name that is not among those taken, in whatever case, by more ``#`` in front.

    >>> own_name("#rank", ["t", "#Rank"])
    '##rank'
    """
    used = {each.lower() for each in taken}
    while name.lower() in used:
        name = f"#{name}"
    return name


class Earliest(AggregateOperation):
    """The least tick of a partial's events, or the least of :data:`RANK` or :data:`UNTIL_TICK`."""

    state = {"tick": "int64"}
    ufuncs = {"tick": np.minimum}
    sql = {"tick": "min({ticks})"}
    result = pa.int64()
    commutative = True

    def create(self) -> Any:
        return {"tick": np.iinfo(np.int64).max}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        ticks = columns[0] if columns else frames.ticks
        return {"tick": ticks if frames.are_rows else frames.min(ticks)}

    def combine(self, a: State, b: State) -> State:
        return {"tick": self.ufuncs["tick"](a["tick"], b["tick"])}

    def finish(self, a: State) -> Any:
        return a["tick"]


class Latest(Earliest):
    """The greatest tick of a partial's events."""

    ufuncs = {"tick": np.maximum}
    sql = {"tick": "max({ticks})"}

    def create(self) -> Any:
        return {"tick": np.iinfo(np.int64).min}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        return {"tick": frames.ticks if frames.are_rows else frames.max(frames.ticks)}


class Value(AggregateOperation):
    """The value of a partial of one row: an integer as it is, any other number as float64."""

    commutative = True
    drops_nulls = False

    def bind(self, *types: pa.DataType) -> AggregateOperation:
        kind = types[0]
        if not (is_number(kind) or pa.types.is_temporal(kind)) or pa.types.is_duration(kind) or pa.types.is_time(kind):
            raise ColumnError(f"the windows need a column of numbers or times; {self.columns[0]!r} is {kind}")
        exact = (pa.types.is_integer(kind) and kind != pa.uint64()) or pa.types.is_temporal(kind)
        state = {"value": "int64" if exact else "float64"}
        return self.changed(state=state, result=pa.int64() if exact else pa.float64())

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        column = columns[0]
        if column.null_count:
            raise ColumnError(
                f"{self.columns[0]!r}, which the windows are made by, is null in {column.null_count} of {len(column)} "
                "events; expected a value for every event: leave the others out first"
            )
        if self.state["value"] == "float64":
            values: NDArray[Any] = floats(column)
        else:
            if pa.types.is_timestamp(column.type):
                column = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False).view(pa.int64())
            elif pa.types.is_date(column.type):
                column = column.cast(pa.date32()).view(pa.int32())
            values = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return {"value": frames.first(values)}

    def combine(self, a: State, b: State) -> State:
        raise AssertionError("a partial that is one row has nothing to be combined with")

    def finish(self, a: State) -> Any:
        return a["value"]


@cache
def window_input(name: str) -> BoundAggregate:
    """The operation of a window input that is no value of a column, by its name."""
    operations: dict[str, tuple[AggregateOperation, list[pa.DataType]]] = {
        "rows": (Count(), []),
        "first": (Earliest(), []),
        "last": (Latest(), []),
        "rank": (Earliest(RANK), [pa.int64()]),
        "until": (Earliest(UNTIL_TICK), [pa.int64()]),
    }
    operation, types = operations[name]
    return BoundAggregate(name, operation, types)
