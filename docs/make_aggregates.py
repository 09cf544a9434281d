"""Fill in what the code knows better in the tables of ``docs/aggregates.md``: ``python docs/make_aggregates.py``.

Each row begins with a call, such as ```Sum(x)```. It is made and bound to columns of many types, and says by itself
what it takes, which type it gives, how it slides, what a window costs and what a partial weighs. The other cells are
written by hand, in the page; so is what those made of others take.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import framefold as ff
from framefold.aggregators.contract.bound import BoundAggregate
from framefold.aggregators.contract.operation import Operation
from framefold.aggregators.states.fields import CompensatedField
from framefold.aggregators.states.limbs import ExactField
from framefold.aggregators.states.objects import Objects
from framefold.aggregators.states.ragged import RaggedField

PAGE = Path(__file__).with_name("aggregates.md")
CALL = re.compile(r"^\| `(.+?)` \|")
TAKES, RESULT, SLIDES, COSTS, WEIGHS = 2, 3, 5, 6, 7
"""The cells that are filled in."""

ARGUMENTS = {
    **{column: column for column in ("x", "y", "w", "by")},
    "n": 3,
    "q": 0.9,
    "bins": [0, 2, 5],
    "delimiter": "-",
    "half_life": 60,
    "function": np.abs,
    "np": np,
    "state": 1,
}
"""What the names in the calls stand for; columns stand for themselves."""

EDGES = [
    [datetime.date(2026, 1, day) for day in (1, 2, 5)],
    [datetime.datetime(2026, 1, day, tzinfo=datetime.UTC) for day in (1, 2, 5)],
    [datetime.timedelta(hours=hour) for hour in (1, 2, 5)],
]
OTHERS: list[dict[str, Any]] = [
    *({"bins": edges} for edges in EDGES),
    *({"state": state} for state in ("a", b"a", True, *(edges[0] for edges in EDGES))),
]
"""What bins and states stand for where numbers are of no use for a type."""

KINDS = {
    "integers": [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()],
    "floats": [pa.float32(), pa.float64()],
    "decimals": [pa.decimal128(10, 2)],
    "booleans": [pa.bool_()],
    "dates": [pa.date32()],
    "timestamps": [pa.timestamp("us", "UTC")],
    "durations": [pa.duration("us")],
    "times": [pa.time64("us")],
    "strings": [pa.string()],
    "binary": [pa.binary()],
    "lists": [pa.list_(pa.int64())],
    "maps": [pa.map_(pa.string(), pa.int64())],
    "structs": [pa.struct([("a", pa.int64())])],
}
"""The types of columns, by the words for them."""

FEW = {"integers": [pa.int64()], "floats": [pa.float64()]} | {
    kind: KINDS[kind] for kind in ("booleans", "lists", "maps")
}
"""The types on which those made of others are shown."""

NUMBERS = ["integers", "floats", "decimals"]
FLAT = [kind for kind in KINDS if kind not in ("lists", "maps", "structs")]

FORMS: dict[str, Callable[[pa.DataType], pa.DataType]] = {
    "that of x": lambda type: type,
    "array<x>": lambda type: pa.list_(type),
    "map<x, bigint>": lambda type: pa.map_(type, pa.int64()),
    "array<struct<x, y>>": lambda type: pa.list_(pa.struct([("x", type), ("y", pa.float64())])),
    "array<struct<item: x, count: bigint>>": lambda type: pa.list_(pa.struct([("item", type), ("count", pa.int64())])),
}
"""Types of results that follow from that of ``x``, as they are shown."""

SPARK_NAMES = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint64": "unsigned bigint",
    "bool": "boolean",
    "duration": "interval",
}


class Aggregate:
    """A call, bound to columns of all types that it takes.

    Parameters
    ----------
    call
        What the page calls it by. Columns other than ``x`` are float64.
    """

    def __init__(self, call: str) -> None:
        names = {**{name: getattr(ff, name) for name in ff.__all__}, **ARGUMENTS}
        self.operation: Operation = eval(call, names)
        self.others: list[Operation] = [eval(call, names | each) for each in OTHERS]
        self.composite = not isinstance(self.operation, ff.AggregateOperation)
        self.bound: dict[str, dict[pa.DataType, BoundAggregate]] = {}
        for kind, types in (FEW if self.composite else KINDS).items():
            taken = {type: bound for type in types if (bound := self.bind(type)) is not None}
            if taken:
                assert len(taken) == len(types), f"{call} takes some {kind} only: {[*taken]}"
                self.bound[kind] = taken

    def bind(self, type: pa.DataType) -> BoundAggregate | None:
        """The operation bound to a column ``x`` of a type; None if it cannot be."""
        types = [type if column == "x" else pa.float64() for column in self.operation.columns]
        for operation in (self.operation, *self.others):
            with suppress(ff.ColumnError, ff.QueryError, ff.OperationError):
                return BoundAggregate("x", operation, types)
        return None

    @property
    def all(self) -> dict[pa.DataType, BoundAggregate]:
        """What it is bound to, by type of ``x``."""
        return {type: bound for of in self.bound.values() for type, bound in of.items()}

    def takes(self) -> str:
        """What columns it takes."""
        kinds = list(self.bound)
        if not self.operation.columns:
            return "no column"
        if kinds == list(KINDS):
            return "any type"
        if kinds[: len(FLAT)] == FLAT:
            nested = [kind for kind in KINDS if kind not in kinds]
            return f"any type but {', '.join(nested)}"
        if kinds[: len(NUMBERS)] == NUMBERS:
            kinds = ["numbers", *kinds[len(NUMBERS) :]]
        return ", ".join(kinds)

    def results(self) -> str:
        """The type of its results: one, one that follows from that of ``x``, or one for each kind of column."""
        pairs = {type: bound.result for type, bound in self.all.items()}
        if len(set(pairs.values())) == 1:
            return f"`{spark_name(next(iter(pairs.values())))}`"
        for shown, form in FORMS.items():
            if all(result == form(type) for type, result in pairs.items()):
                return shown if " of " in shown else f"`{shown}`"
        said: dict[str, list[str]] = {}
        for kind, of in self.bound.items():
            names = " or ".join(dict.fromkeys(f"`{spark_name(bound.result)}`" for bound in of.values()))
            if kind == "decimals" and "decimal" in names:
                names += f" for a `{spark_name(KINDS[kind][0])}`"
            said.setdefault(names, []).append(kind)
        return "; ".join(f"{', '.join(kinds)}: {names}" for names, kinds in said.items())

    def slides(self) -> str:
        """How windows slide, and whether partials are merged in time order."""

        def way(bound: BoundAggregate) -> str:
            slid = "deduct" if bound.deducts[0] else "two-stacks"
            return ("values" if bound.answers_ranges else slid) + ("" if bound.commutative else ", in time order")

        return self.each(way)

    def costs(self) -> str:
        """What a window costs, however far windows overlap."""

        def cost(bound: BoundAggregate) -> str:
            if not bound.answers_ranges:
                return "constant"
            return bound.operation.range_cost + ("" if bound.operation.answers_nested else ", nested: merges")

        return self.each(cost)

    def weighs(self) -> str:
        """What a partial of numbers weighs, or of another type where it takes none."""
        bound = next((bound for type, bound in self.all.items() if type in (pa.int64(), pa.float64())), None)
        return weight_in_words(next(iter(self.all.values())) if bound is None else bound)

    def each(self, say: Callable[[BoundAggregate], str]) -> str:
        """What is said of each type of column; once where it is the same for all."""
        said: dict[str, list[str]] = {}
        for kind, of in self.bound.items():
            for bound in of.values():
                if kind not in said.setdefault(say(bound), []):
                    said[say(bound)].append(kind)
        if len(said) == 1:
            return next(iter(said))
        return "; ".join(f"{', '.join(kinds)}: {words}" for words, kinds in said.items())


def weight_in_words(bound: BoundAggregate) -> str:
    """What the fields of a state weigh: bytes, bytes an item of lists, and values that are as large as they are."""
    fixed, items, others = 0, 0, []
    for kind in bound.fields.values():
        if isinstance(kind, RaggedField):
            items += sum(8 if isinstance(each, Objects) else each.dtype.itemsize for _, each in kind.items)
        elif isinstance(kind, Objects):
            others.append("a sketch" if kind.type == pa.large_binary() else "a value")
        else:
            words = {CompensatedField: 16}
            fixed += words.get(type(kind)) or (8 * kind.limbs if isinstance(kind, ExactField) else kind.dtype.itemsize)
    parts = [f"{fixed} bytes"] if fixed else []
    return ", ".join([*parts, *([f"{items} bytes an item"] if items else []), *dict.fromkeys(others)])


def spark_name(type: pa.DataType) -> str:
    """A type as Spark SQL calls it."""
    if pa.types.is_list(type):
        return f"array<{spark_name(type.value_type)}>"
    if pa.types.is_map(type):
        return f"map<{spark_name(type.key_type)}, {spark_name(type.item_type)}>"
    if pa.types.is_struct(type):
        return f"struct<{', '.join(f'{field.name}: {spark_name(field.type)}' for field in type)}>"
    if pa.types.is_decimal(type):
        return f"decimal({type.precision}, {type.scale})"
    name = str(type).split("[")[0]
    return SPARK_NAMES.get(name, name)


def filled(page: str) -> str:
    """A page with the cells of its tables filled in."""
    lines = page.splitlines()
    for number, line in enumerate(lines):
        if call := CALL.match(line):
            aggregate = Aggregate(call[1])
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            cells[RESULT], cells[SLIDES] = aggregate.results(), aggregate.slides()
            cells[COSTS], cells[WEIGHS] = aggregate.costs(), aggregate.weighs()
            if not aggregate.composite:
                cells[TAKES] = aggregate.takes()
            lines[number] = f"| {' | '.join(cells)} |"
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
