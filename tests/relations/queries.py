"""Random queries of the window algebra: events, windows and shapes, all of a seed."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from .cases import Row

COLUMNS = ("j", "k")


class Asked(NamedTuple):
    """A query, its events, and up to which instant all of it has happened but what stays for ever."""

    query: dict[str, Any]
    events: dict[str, list[Row]]
    horizon: int


def events(draw: random.Random, rows: int) -> list[Row]:
    """Events with ties and nulls, in no order of time but that of ties."""
    found: list[Row] = [
        {
            "t": draw.randrange(24), "k": draw.choice(["a", "b", None]), "j": draw.choice([1, 2]),
            "x": draw.choice([1, 2, 3, None]),
        }
        for _ in range(rows)
    ]  # fmt: skip
    return found if draw.random() < 0.5 else sorted(found, key=lambda row: row["t"])


def window(draw: random.Random, kind: int) -> dict[str, Any]:
    closed = draw.choice(["left", "right"])
    size, every, n = draw.randint(2, 9), draw.randint(2, 4), draw.randint(1, 4)
    kinds: list[dict[str, Any]] = [
        {"kind": "sliding", "size": size, "every": 1, "closed": closed},
        {"kind": "sliding", "size": size, "every": every, "closed": closed},
        {"kind": "sliding", "size": every, "every": every + draw.randint(1, 3), "closed": closed},
        {"kind": "tumbling", "size": size, "closed": closed},
        {"kind": "sliding", "size": 1, "every": 1, "closed": closed},
        {"kind": "landmark", "since": draw.randint(0, 9)},
        {"kind": "landmark", "until": draw.randint(9, 20)},
        {"kind": "landmark", "since": draw.randint(0, 9), "until": draw.randint(9, 20)},
        {"kind": "rows", "n": n},
        {"kind": "rows", "n": n, "ties": draw.choice(["strict", "distinct_time"])},
        {"kind": "rows", "n": n, "by": list(draw.sample(COLUMNS, draw.randint(1, 2))),
         "ties": draw.choice(["arrival", "strict", "distinct_time"])},
    ]  # fmt: skip
    return kinds[kind]


def over(draw: random.Random, kind: int, stream: str) -> dict[str, Any]:
    return {"op": "window", "stream": stream, "window": window(draw, kind)}


def shape(draw: random.Random, number: int, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """One of ten shapes of queries over two windows."""
    some = draw.sample(["j", "k", "x"], draw.randint(1, 2))
    policy = draw.choice(["keep", "recent"])
    on = [[name, name] for name in draw.sample(COLUMNS, draw.randint(1, 2))]

    def projected(of: dict[str, Any], names: list[str]) -> dict[str, Any]:
        return {"op": "select", "of": of, "columns": names}

    join = {"op": "join", "left": one, "right": other, "on": on, "prefix": "p_", "stamp": draw.choice(["min", "max"])}
    outputs = {"n": ["count", None], "s": ["sum", "x"], "lo": ["min", "x"], "hi": ["max", "x"], "m": ["avg", "x"]}
    column, value = draw.choice([("x", draw.randint(1, 3)), ("k", "a"), ("j", 1), ("ts", draw.randint(3, 15))])
    kept = {"op": "where", "of": one, "column": column, "is": draw.choice([">=", "=", "<"]), "value": value}
    both = [projected(of, some) for of in (one, other)]
    shapes: list[dict[str, Any]] = [
        projected(kept, some),
        {"op": "union", "left": kept, "right": other},
        join,
        {"op": "distinct", "of": projected(one, some), "policy": "recent"},
        {"op": "distinct", "of": projected(one, some), "policy": "keep"},
        {"op": "difference", "left": both[0], "right": both[1]},
        {"op": "aggregate", "of": one, "by": draw.sample(COLUMNS, draw.randint(0, 2)), "outputs": outputs},
        {"op": "aggregate", "of": projected(join, ["k", "x", "p_x"]), "by": ["k"], "outputs": outputs},
        {"op": "difference", "left": {"op": "distinct", "of": both[0], "policy": policy},
         "right": {"op": "distinct", "of": both[1], "policy": "recent"}},
        {"op": "distinct", "of": {"op": "union", "left": both[0], "right": both[1]}, "policy": "recent"},
    ]  # fmt: skip
    return shapes[number]


def asked(seed: int) -> Asked:
    """The query of a seed: of 110 after one another each of 11 kinds of windows is in each of 10 shapes."""
    draw = random.Random(seed)
    one, other = over(draw, seed % 11, "S"), over(draw, draw.randrange(11), "P")
    rows = {"S": events(draw, draw.choice([1, 6, 14, 22])), "P": events(draw, draw.choice([0, 6, 14]))}
    return Asked(shape(draw, seed // 11 % 10, one, other), rows, 24 + 24)
