"""One event picked of each frame or window: the first one in the order of a column, then of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ..contract.aggregate import TypedOperation, accumulate_where
from ..contract.frames import Frames, Values
from ..contract.operation import Operation, State
from ..states.fields import field
from .sort_keys import Order, restored, stored
from .sorted_merge import rows_by_frame

TIME = None
"""Stands for the time of an event where it is a key of the order."""


class Pick(TypedOperation):
    """The value of one column at the event that is first by a time and the value of another column.

    Events whose second column is null are left out; those whose first is, only where the operation drops nulls.

    Parameters
    ----------
    spec
        The operation that the user gave.
    type
        The type of the first column.
    by
        What events are ordered by, foremost first: the second column's order, or TIME; and whether descending.
    last
        Whether of several events that are equal by these the one that came last is picked, not the first.
    """

    commutative = True  # states carry the time, and merging keeps input order among equal times

    def __init__(
        self, spec: Operation, type: pa.DataType, by: tuple[tuple[Order | None, bool], ...], last: bool
    ) -> None:
        super().__init__(spec)
        self.by = by
        self.last = last
        self.result = type
        keys = {f"key{i}": "int64" if order is None else order.plane for i, (order, _) in enumerate(by)}
        self.state = keys | {"value": type, "known": "bool", "seen": "bool"}

    def create(self) -> Mapping[str, Any]:
        neutral = None if field(self.result).full(None, 0).dtype == object else 0  # type: ignore[union-attr]
        keys = {f"key{i}": 0 if order is None else order.neutral for i, (order, _) in enumerate(self.by)}
        return keys | {"value": neutral, "known": False, "seen": False}

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        columns = tuple(pa.array(column) if isinstance(column, np.ndarray) else column for column in columns)
        compared = columns[1]
        if not compared.null_count:
            return self._picked(frames, *columns)
        valid = compared.is_valid().to_numpy(zero_copy_only=False)
        identity = {key: field(kind).full(self.create()[key], 1) for key, kind in self.state.items()}
        return accumulate_where(frames, valid, columns, lambda some, kept: self._picked(some, *kept), identity)

    def _picked(self, frames: Frames, value: pa.Array, compared: pa.Array) -> State:
        ranks = []
        for order, descending in self.by:
            rank = frames.order if order is None else order.ranks(compared)
            ranks.append(~rank if descending else rank)
        if self.last:  # rows the other way round: of equal ones the last comes first
            around = Frames(frames.index[::-1], frames.size, frames.ticks[::-1], frames.order[::-1])
            rows = len(frames.index) - 1 - rows_by_frame(around, *(rank[::-1] for rank in ranks))
        else:
            rows = rows_by_frame(frames, *ranks)
        count = frames.count()
        rows = rows[np.cumsum(count) - count]
        values, known = stored(value.take(pa.array(rows)))
        state: dict[str, Any] = {"value": values, "known": known, "seen": np.ones(frames.size, bool)}
        for i, (order, _) in enumerate(self.by):
            picked = frames.order[rows] if order is None else order.keys(compared.take(pa.array(rows)))
            state[f"key{i}"] = picked
        return state

    def combine(self, a: State, b: State) -> State:
        before, tied = np.zeros(len(a["seen"]), bool), np.ones(len(a["seen"]), bool)
        for i, (_, descending) in enumerate(self.by):
            x, y = a[f"key{i}"], b[f"key{i}"]
            before |= tied & (x > y if descending else x < y).astype(bool)
            tied &= (x == y).astype(bool)
        a_seen, b_seen = a["seen"], b["seen"]
        keep = a_seen & (~b_seen | (before if self.last else before | tied))
        joined = {key: np.where(keep, a[key], b[key]) for key in self.state}
        return joined | {"seen": a_seen | b_seen}

    def finish(self, a: State) -> Any:
        return restored(a["value"], self.result, ~(a["seen"] & a["known"]))
