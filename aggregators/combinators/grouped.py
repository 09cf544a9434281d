"""GroupedBy: an operation for each value of a column, as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.aggregate import StateFunctions, StateRanges, TypedOperation
from ..contract.bound import BoundAggregate
from ..contract.column_expressions import ColumnLike
from ..contract.frames import Frames, Values
from ..contract.operation import OfOthers, Operation, State, require_operation
from ..ordered.multiset import lists_of_ranges
from ..ordered.sort_keys import Order
from ..ordered.sorted_merge import distinct_rows, find, insert
from ..ranges.codes import codes_of
from ..ranges.distinct import list_codes
from ..ranges.item_ranges import ItemRanges
from ..ranges.ordering import order_of_groups
from ..states.arrays import Index, Ints
from ..states.fields import Column, Compensated, CompensatedField
from ..states.limbs import Exact, ExactField
from ..states.ragged import Ragged, RaggedField
from ..states.rows import join, take
from ..tuning import DENSE_VALUES

__all__ = ["GroupedBy"]


class GroupedBy(OfOthers):
    """An operation for each value of a column: a map from the value to its result, in the order of the values.

    A value is in the map as long as the window has an event with it, whatever the result is. Events whose ``by`` is
    null are left out; a window without any other has an empty map. NaN is one value, -0.0 is 0.0.

    Parameters
    ----------
    operation
        What is computed for each value.
    by
        The column of the values: any type that has an order.

    Examples
    --------
    >>> import pyarrow as pa, framefold as ff
    >>> events = pa.table({"t": [0, 1, 2], "who": ["a", "b", "a"], "x": [1, 2, 3]})
    >>> query = ff.events(events, time="t").window(ff.sliding(2, every=1))
    >>> query.aggregate(x=ff.GroupedBy(ff.Sum("x"), "who"))["x"].to_pylist()
    [[('a', 1)], [('a', 1), ('b', 2)], [('a', 3), ('b', 2)], [('a', 3)]]
    """

    def __init__(self, operation: Operation, by: ColumnLike) -> None:
        self.operation = require_operation("GroupedBy", operation)
        super().__init__(*operation.columns, by)

    def __repr__(self) -> str:
        return f"GroupedBy({self.operation!r}, {self.columns[-1]!r})"

    def bind(self, *types: pa.DataType) -> StateFunctions:
        inner = BoundAggregate("GroupedBy", self.operation, types[:-1])
        return Groups(self, inner, Order(self, self.columns[-1], types[-1]))


class Groups(TypedOperation):
    """States of groups: sorted values, each with its number of events and the state of the operation.

    Fields of the inner state are planes of the list of groups. List fields are kept in a list of their own, group after
    group, and the plane has their lengths (nested columns as Arrow and Dremel flatten them; S. Melnik et al., "Dremel:
    interactive analysis of web-scale datasets", 2010).

    A group of a window is a range of the states of its value, over which the operation is computed in its own way.
    There is no deduct: a running state would have every group of a key.
    """

    range_cost = "its output"
    answers_nested = False

    def __init__(self, spec: Operation, inner: BoundAggregate, order: Order) -> None:
        super().__init__(spec)
        self.inner = inner
        self.order = order
        planes: dict[str, Any] = {"value": order.plane, "count": "int64"}
        lists: dict[str, Any] = {}
        for key, kind in inner.fields.items():
            declared = inner.operation.state[key]
            if isinstance(kind, RaggedField):
                planes[f"state.{key}"] = "int64"
                lists[f"items.{key}"] = declared
            elif isinstance(kind, (CompensatedField, ExactField)):
                planes |= {f"state.{key}.{plane}": type for plane, type in kind.planes.items()}
            else:
                planes[f"state.{key}"] = declared
        self.state = {"groups": planes, **lists}
        self.result = pa.map_(order.type, inner.result)
        self.commutative = inner.commutative

    def accumulate(self, frames: Frames, *columns: Values) -> State:
        *inputs, by = columns
        if by.null_count:
            valid = by.is_valid()
            rows = valid.to_numpy(zero_copy_only=False)
            frames = Frames(frames.index[rows], frames.size, frames.ticks[rows], frames.order[rows])
            inputs, by = [column.filter(valid) for column in inputs], by.drop_null()
        return self.grouped(frames, inputs, by)

    def grouped(self, frames: Frames, inputs: Sequence[pa.Array], by: pa.Array) -> State:
        """The states of frames, some of which may have no row; ``by`` has no nulls."""
        if not len(by):
            nothing = np.zeros(0, np.int64), take(self.inner.identity, slice(0))
            return self._packed(np.zeros(frames.size, np.int64), self.order.keys(by), *nothing)
        ranks = self.order.ranks(by)
        owner, rows, count, groups = _distinct(frames, ranks)
        keys = ranks[rows] if self.order.numeric else self.order.keys(by.take(pa.array(rows)))
        states = self.inner.accumulate(Frames(groups, len(owner), frames.ticks, frames.order), inputs)
        return self._packed(np.bincount(owner, minlength=frames.size), keys, count, states)

    def combine(self, a: State, b: State) -> State:
        x, y = groups_of(a), groups_of(b)
        if not x.offsets[-1] or not y.offsets[-1]:
            return a if x.offsets[-1] else b
        swapped = len(x.planes["count"]) < len(y.planes["count"])
        more, less = (y, x) if swapped else (x, y)
        place, at, both = find(more, less)
        states, others = self._unpacked(b if swapped else a), self._unpacked(a if swapped else b)
        count, rows, ours = more.planes["count"].copy(), np.arange(len(more.planes["count"])), at[both]
        count[ours] += less.planes["count"][both]
        pool: list[State] = [states, others]
        if len(ours):
            pair = take(states, ours), take(others, np.flatnonzero(both))
            pool.append(self.inner.combine(*(reversed(pair) if swapped else pair)))
            rows[ours] = len(count) + len(both) + np.arange(len(ours))
        known = {"value": more.planes["value"], "count": count, "row": rows}
        new = {"value": less.planes["value"], "count": less.planes["count"], "row": len(count) + np.arange(len(both))}
        joined = insert(Ragged.at(more.offsets, known), Ragged.at(less.offsets, new).only(~both), place[~both])
        value, count, rows = joined.planes.values()
        return self._packed(joined.lengths, value, count, take(join(pool), rows))

    def finish(self, a: State) -> Any:
        groups = groups_of(a)
        some = len(groups.planes["count"])
        results = self.inner.finish(self._unpacked(a)) if some else pa.array([], self.inner.result)
        return self.laid_out(groups.offsets, groups.planes["value"], results)

    def finish_ranges(self, a: State, ranges: StateRanges) -> Any:
        groups = groups_of(a)
        of_items = ItemRanges(groups.offsets, ranges.low, ranges.high, ranges.ascending)
        keys = groups.planes["value"][of_items.items]
        codes = codes_of(self.order.ranks_of_keys(keys), of_items)
        listed = list_codes(codes, None, of_items)
        if listed is None or not len(listed.code):
            return None
        # The states of one value after the other, each value's in their order: a group of a window is a range of them.
        states = take(self._unpacked(a), of_items.items.start + codes.order)
        window = np.repeat(np.arange(len(listed.lengths)), listed.lengths)
        forward = order_of_groups(listed.code.astype(np.int64), len(codes.first))
        code, window = listed.code[forward].astype(np.int64), window[forward]
        items = codes.code[codes.order] * np.int64(of_items.size + 1) + codes.order
        low, high = (
            np.searchsorted(items, code * (of_items.size + 1) + each[window]) for each in (of_items.begin, of_items.end)
        )
        place = np.empty(len(forward), np.intp)
        place[forward] = np.arange(len(forward))
        planes = {"value": keys[codes.first[listed.code]], "place": place}
        lists = lists_of_ranges(of_items, Ragged(listed.lengths, planes))
        results = ranges.finish_others(self.inner, states, low, high).take(pa.array(lists.planes["place"]))
        return self.laid_out(lists.offsets, lists.planes["value"], results)

    def laid_out(self, offsets: Ints, keys: Any, results: pa.Array) -> pa.Array:
        """Results of groups as results of states: those from each offset to the next, and the keys of their values."""
        return pa.MapArray.from_arrays(pa.array(offsets.astype(np.int32)), self.order.values(keys), results)

    def _packed(self, lengths: Ints, keys: Any, count: Ints, states: State) -> dict[str, Column]:
        """The states of groups as fields of lists."""
        planes: dict[str, NDArray[Any]] = {"value": keys, "count": count}
        lists: dict[str, Column] = {}
        ends = np.concatenate([[0], np.cumsum(lengths)])
        for key, column in states.items():
            if isinstance(column, Ragged):
                planes[f"state.{key}"] = column.lengths
                lists[f"items.{key}"] = Ragged(np.diff(column.offsets[ends]), column.planes)
            elif isinstance(column, Compensated):
                special = np.zeros((len(column), 4)) if column.special_values is None else column.special_values
                parts = (column.high, column.low, *special.T)
                planes |= {f"state.{key}.{p}": v for p, v in zip(self.inner.fields[key].planes, parts, strict=True)}
            elif isinstance(column, Exact):
                planes |= {f"state.{key}.limb{i}": limb for i, limb in enumerate(column.carried().limbs)}
            else:
                planes[f"state.{key}"] = column
        return {"groups": Ragged(lengths, planes), **lists}

    def _unpacked(self, a: State) -> dict[str, Column]:
        """The states of the operation, group after group."""
        planes = groups_of(a).planes
        states: dict[str, Column] = {}
        for key, kind in self.inner.fields.items():
            if isinstance(kind, RaggedField):
                states[key] = Ragged(planes[f"state.{key}"], a[f"items.{key}"].planes)
            elif isinstance(kind, CompensatedField):
                high, low, *special = (planes[f"state.{key}.{plane}"] for plane in kind.planes)
                seldom = np.column_stack(special)
                states[key] = Compensated(high, low, seldom if seldom.any() else None)
            elif isinstance(kind, ExactField):
                states[key] = Exact([planes[f"state.{key}.{plane}"] for plane in kind.planes])
            else:
                states[key] = planes[f"state.{key}"]
        return states


def groups_of(a: State) -> Ragged:
    """The groups of states."""
    return cast(Ragged, a["groups"])


def _distinct(frames: Frames, ranks: Ints) -> tuple[Ints, Index, Ints, Index]:
    """The distinct (frame, rank), sorted: the frame, a row, the number of rows; and the index of each row's pair."""
    least = int(ranks.min())
    span = int(ranks.max()) - least + 1
    if frames.size * span <= max(DENSE_VALUES, len(ranks)):
        packed = frames.index * span + (ranks - least)
        count = np.bincount(packed, minlength=frames.size * span)
        row = np.empty(len(count), np.intp)
        row[packed] = np.arange(len(packed))
        present = np.flatnonzero(count)
        return present // span, row[present], count[present], (np.cumsum(count > 0) - 1)[packed]
    rows, starts, count = distinct_rows(frames, ranks)
    groups = np.empty(len(rows), np.intp)
    groups[rows] = np.repeat(np.arange(len(starts)), count)
    return frames.index[rows[starts]], rows[starts], count, groups
