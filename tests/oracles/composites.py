"""Random events with awkward columns, their windows by plain Python, and one operation run in every way there is."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import framefold as ff

from ..support import stages
from ..support.plans import BoundAggregate, Operation, bind
from ..support.stages import slide

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


def windows(table: pa.Table, size: int, every: int) -> list[tuple[str, int, list[Row]]]:
    """The key, the start and the rows (in time order) of each window that has any."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in sorted(table.to_pylist(), key=lambda row: row["t"]):
        last = row["t"] // every * every
        for start in range(last, row["t"] - size, -every):
            found.setdefault((row["k"], start), []).append(row)
    return [(key, start, rows) for (key, start), rows in sorted(found.items(), key=lambda item: item[0])]


def plain(value: Any) -> Any:
    """A result such that == tells: NaN by name."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return "NaN" if isinstance(value, float) and value != value else value


def check(make: Callable[[], Operation], expected: Callable[[list[Row]], Any], seeds: int = 2) -> None:
    """The laws; random windows; batches in any order; both ways of sliding: against a function of a window's rows."""
    for seed in range(seeds):
        table = events(seed)
        for size, every in [(7, 3), (12, 1), (5, 8)]:
            windows_of = ff.events(table, time="t", by="k").window(ff.sliding(size, every=every, gaps="allow"))
            result = windows_of.aggregate(out=make())
            given = [(row["k"], row["window"]["start"], plain(row["out"])) for row in result.to_pylist()]
            wanted = [(key, start, plain(expected(rows))) for key, start, rows in windows(table, size, every)]
            assert given == wanted, (seed, size, every)
        both_ways(make(), table)
        batches(make(), table)
    ff.check_laws(make(), events(9, 40).drop_columns(["t", "k"]), examples=15)


def both_ways(operation: Operation, table: pa.Table) -> None:
    """Deduct, where there is one, gives what two-stacks gives."""
    table = table.sort_by("t")
    bound = BoundAggregate("out", operation, [table.schema.field(name).type for name in operation.columns])
    if not bound.operation.has("deduct"):
        return
    ticks = table["t"].to_numpy()
    found, index = np.unique(ticks // 2, return_inverse=True)
    states = bound.accumulate(
        ff.Frames(index, len(found), ticks), [table[name].combine_chunks() for name in operation.columns]
    )
    low = np.arange(len(found))
    high = np.minimum(low + 5, len(found))
    one, other = (bound.finish(slide(bound, states, low, high, way)) for way in ("deduct", "two-stacks"))
    assert plain(one.to_pylist()) == plain(other.to_pylist())


def batches(operation: Operation, table: pa.Table) -> None:
    """Partials of any number of batches, in any order, give the same."""
    query = bind(table.schema, time="t", by=["k"], window=ff.sliding(9, every=2), outputs={"out": operation})
    if query.ordered:
        return
    once = plain(stages.results(query, stages.accumulate(query, table, 0)).to_pylist())
    for count in (3, 17):
        assert plain(stages.results(query, stages.in_batches(query, table, count)).to_pylist()) == once


def known(rows: list[Row], *names: str) -> list[Any]:
    """The values of columns in rows where none of them is null."""
    kept = [[row[name] for name in names] for row in rows if all(row[name] is not None for name in names)]
    return [row[0] for row in kept] if len(names) == 1 else kept


def total(values: list[Any]) -> Any:
    """The sum as SQL has it."""
    return sum(values) if values else None
