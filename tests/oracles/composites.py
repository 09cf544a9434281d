"""Random events with awkward columns, their windows by plain Python, and one operation run in every way there is."""

from __future__ import annotations

import random
from collections.abc import Callable
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
        }
        for _ in range(rows)
    ]  # fmt: skip
    schema = {
        "t": pa.int64(), "k": pa.string(), "x": pa.int32(), "f": pa.float64(), "s": pa.string(), "g": pa.float64(),
        "flag": pa.bool_(), "v": pa.list_(pa.int64()), "p": pa.list_(pa.int64(), 2),
        "m": pa.map_(pa.string(), pa.int64()),
    }  # fmt: skip
    return pa.Table.from_pylist(made, pa.schema(schema))


def plain(value: Any) -> Any:
    """A result such that == tells: NaN by name."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return "NaN" if isinstance(value, float) and value != value else value


def check(make: Callable[[], Operation], expected: Callable[[list[Row]], Any], seeds: int = 2) -> None:
    """The laws; random windows by every way; against a function of a window's rows."""
    for seed in range(seeds):
        table = events(seed)
        for size, every in [(7, 3), (12, 1), (5, 8)][seed % 2 :: 2]:
            rows = rows_of_windows(table, "k", table.column_names, size, every)
            named = {
                window: [dict(zip(table.column_names, row, strict=True)) for row in of] for window, of in rows.items()
            }
            wanted = {window: plain(expected(named[window])) for window in sorted(named)}
            for way, result in every_way(make(), table, "k", size, every):
                found = {window: plain(value) for window, value in by_window(result, "k").items()}
                assert list(found.items()) == list(wanted.items()), (seed, size, every, way)
    ff.check_laws(make(), events(9, 40).drop_columns(["t", "k"]), examples=15)


def known(rows: list[Row], *names: str) -> list[Any]:
    """The values of columns in rows where none of them is null."""
    kept = [[row[name] for name in names] for row in rows if all(row[name] is not None for name in names)]
    return [row[0] for row in kept] if len(names) == 1 else kept


def total(values: list[Any]) -> Any:
    """The sum as SQL has it."""
    return sum(values) if values else None
