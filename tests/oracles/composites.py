"""Random events with awkward columns, their windows by plain Python, and one operation run in every way there is."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

import framefold as ff

from ..support.plans import Operation
from .ways import by_window, every_way, rows_of_windows

Row = dict[str, Any]
NAN = float("nan")


def events(seed: int = 0, rows: int = 160) -> pa.Table:
    """Events of two keys: times with ties and gaps, nulls in every column."""
    of = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if of.random() < 0.15 else value

    made: list[Row] = [
        {
            "t": of.choice([of.randint(0, 30), of.randint(60, 90)]), "k": of.choice("ab"),
            "x": maybe(of.randint(-9, 9)), "f": maybe(of.choice([0.1, -2.5, 1e16, 3.25, 1.0])),
            "s": maybe(of.choice(["", "red", "green", "b\u00e9"])), "g": maybe(of.choice([0.0, -0.0, 1.5, NAN, -2.0])),
            "flag": maybe(of.random() < 0.5), "v": maybe([maybe(of.randint(0, 5)) for _ in range(of.randint(0, 3))]),
            "p": maybe([of.randint(0, 5), maybe(of.randint(0, 5))]),
            "m": maybe([(key, maybe(of.randint(0, 9))) for key in of.sample("xyz", of.randint(0, 3))]),
            "k2": maybe(of.choice("xyz")),
        }
        for _ in range(rows)
    ]  # fmt: skip
    schema = {
        "t": pa.int64(), "k": pa.string(), "x": pa.int32(), "f": pa.float64(), "s": pa.string(), "g": pa.float64(),
        "flag": pa.bool_(), "v": pa.list_(pa.int64()), "p": pa.list_(pa.int64(), 2),
        "m": pa.map_(pa.string(), pa.int64()), "k2": pa.string(),
    }  # fmt: skip
    return pa.Table.from_pylist(made, pa.schema(schema))


def plain(value: Any) -> Any:
    """A result such that == tells: NaN by name."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return "NaN" if isinstance(value, float) and value != value else value


def windows(table: pa.Table, size: int, every: int) -> Iterator[tuple[tuple[str, int], list[Row]]]:
    """The rows of each window, by key and start."""
    for window, rows in sorted(rows_of_windows(table, "k", table.column_names, size, every).items()):
        yield window, [dict(zip(table.column_names, row, strict=True)) for row in rows]


def check(operation: Operation, expected: Callable[[list[Row]], Any]) -> None:
    """The laws; random windows by every way; against a function of a window's rows."""
    table = events()
    for size, every in [(7, 3), (12, 1), (5, 8)]:
        wanted = {window: plain(expected(rows)) for window, rows in windows(table, size, every)}
        for way, result in every_way(operation, table, "k", size, every):
            results = {window: plain(value) for window, value in by_window(result, "k").items()}
            assert list(results.items()) == list(wanted.items()), (size, every, way)
    ff.check_laws(operation, events(9, 40).drop_columns(["t", "k"]), examples=8)


def batches(operation: Operation, table: pa.Table) -> None:
    """Partials of any number of batches, in any order, give the same."""
    results = [plain(result.to_pylist()) for way, result in every_way(operation, table, "k", 9, 2) if "batches" in way]
    assert all(result == results[0] for result in results)


def known(rows: list[Row], *names: str) -> list[Any]:
    """The values of columns in rows where none of them is null."""
    kept = [[row[name] for name in names] for row in rows if all(row[name] is not None for name in names)]
    return [row[0] for row in kept] if len(names) == 1 else kept


def total(values: list[Any]) -> Any:
    """The sum as SQL has it."""
    return sum(values) if values else None


def largest(values: list[Any]) -> Any:
    return max(values, default=None)


def sums(rows: list[Row]) -> Any:
    return total(known(rows, "x"))


def high(rows: list[Row]) -> Any:
    return largest(known(rows, "x"))


def longest(rows: list[Row]) -> str:
    return max(known(rows, "s"), key=len, default="")


def first(rows: list[Row]) -> Any:
    return next(iter(known(rows, "x")), None)


def flagged(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["flag"]]


def items(rows: list[Row], column: str = "v") -> list[Any]:
    return [item for value in known(rows, column) for item in value]


def pairs(rows: list[Row]) -> Any:
    """The items of pairs, each with the row's x."""
    both = [(item, row["x"]) for row in rows for item in row["p"] or ()]
    numbers = [x for _, x in both if x is not None]
    return {"n": sum(item is not None for item, _ in both), "x": total(numbers), "items": len(both)}


def grouped(rows: list[Row], by: str) -> list[tuple[Any, list[Row]]]:
    """The rows of each value, in the order of the values: NaN last, zeros alike."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        if (value := row[by]) is not None:
            value = "NaN" if value != value else value + 0.0 if isinstance(value, float) else value
            found.setdefault(value, []).append(row)
    return sorted(found.items(), key=lambda item: (item[0] == "NaN", item[0] if item[0] != "NaN" else 0))


def group_by(by: str, of: Any) -> Any:
    return lambda rows: [(value, of(own)) for value, own in grouped(rows, by)]


def elements(rows: list[Row], column: str, of: Any) -> list[Any]:
    """A function of the values at each place of lists."""
    lists = known(rows, column)
    places = [[each[i] for each in lists if len(each) > i] for i in range(max(map(len, lists), default=0))]
    return [of([value for value in place if value is not None]) for place in places]


def entries(rows: list[Row]) -> list[Row]:
    return [{"k": key, "x": value} for m in known(rows, "m") for key, value in m]


def reduced(column: str, identity: Any, one: Any) -> Any:
    return lambda rows: functools.reduce(one, known(rows, column), identity)
