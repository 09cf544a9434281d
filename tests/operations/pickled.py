"""Operations whose states are pickles, wholly or somewhere in them, and operations whose states never are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import framefold as ff

from ..house.typed_program import Longest
from ..oracles.operations import Ledger
from ..support.states import Ragged


class OwnList(ff.AggregateOperation):
    """The number of events; it keeps each as an object in a list."""

    state = {"items": {"at": "int64", "v": "object"}}
    result = pa.int64()

    def create(self) -> Any:
        return {"items": None}

    def accumulate(self, frames: Any, x: Any) -> Any:
        count = frames.count()
        values = np.empty(int(count.sum()), object)
        values[:] = [(1, "one")] * len(values)
        return {"items": Ragged(count, {"at": np.zeros(len(values), np.int64), "v": values})}

    def combine(self, a: Any, b: Any) -> Any:
        return {"items": a["items"] + b["items"]}

    def finish(self, a: Any) -> Any:
        return a["items"].lengths


class OwnField(OwnList):
    """The same, in a field of objects among others."""

    state = {"count": "int64", "seen": object}

    def create(self) -> Any:
        return {"count": 0, "seen": None}

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"count": frames.count(), "seen": np.full(frames.size, None, object)}

    def combine(self, a: Any, b: Any) -> Any:
        return {"count": a["count"] + b["count"], "seen": b["seen"]}

    def finish(self, a: Any) -> Any:
        return a["count"]


PICKLED: dict[str, ff.Operation] = {
    "a PythonOperation": Ledger("x"), "from_aggregator": ff.from_aggregator(Longest(), "g"),
    "GroupedBy": ff.GroupedBy(Ledger("x"), "g"),
    "GroupedBy in AllOf": ff.AllOf(n=ff.Count(), a=ff.GroupedBy(Ledger("x"), "g")),
    "GroupedBy in GroupedBy": ff.GroupedBy(ff.GroupedBy(Ledger("x"), "g"), "x"),
    "AllOf in GroupedBy": ff.GroupedBy(ff.AllOf(n=ff.Count(), a=Ledger("x")), "g"),
    "lists": ff.ElementWise(Ledger("l")), "maps": ff.ElementWise(Ledger("m")),
    "Filtered": ff.Filtered(ff.GroupedBy(Ledger("x"), "g"), lambda x, g: x > 0, "x", "g"),
    "Mapped": ff.Mapped(ff.GroupedBy(Ledger("x"), "g"), lambda x, g: (x, g), type=[pa.float64(), pa.string()]),
    "then": ff.GroupedBy(Ledger("x"), "g").then(lambda column: column), "arithmetic": ff.Count() + OwnField("x"),
    "a list of its own": OwnList("x"), "a field of its own": OwnField("x"),
    "a list of its own in a group": ff.GroupedBy(OwnList("x"), "g"),
}  # fmt: skip

NEVER: dict[str, ff.Operation] = {
    "min": ff.Min("g"), "last": ff.Last("g"), "arg": ff.ArgMax("g", "x"), "first_list": ff.First("l"),
    "text": ff.Reducing("g", "", lambda a, b: a + b), "grouped": ff.GroupedBy(ff.Max("g"), "g"),
    "collected": ff.CollectList("g"), "several": ff.AllOf(a=ff.First("l"), b=ff.TopN("g", 2)),
    "each": ff.ElementWise(ff.Sum("l")),
}  # fmt: skip
