"""Keys that are structs, nested ones with nulls, NaN and both zeros among them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa

INNER = pa.struct([("c", pa.string()), ("d", pa.float64())])
KIND = pa.struct([("a", pa.int32()), ("b", INNER), ("at", pa.timestamp("us", "UTC"))])
NAN = float("nan")
DAY = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def key(a: Any, b: Any, at: Any = DAY) -> dict[str, Any]:
    return {"a": a, "b": b, "at": at}


KEYS: list[Any] = [
    key(1, {"c": "x", "d": 0.0}), key(0, None), None, key(1, {"c": "x", "d": -0.0}), key(None, {"c": "y", "d": NAN}),
    key(1, {"c": None, "d": None}), key(1, {"c": "x", "d": -1.5}), key(None, None, None), key(0, None, None),
    key(1, {"c": "x", "d": NAN}), key(2, {"c": "é", "d": 1.0}), key(2, {"c": "z", "d": 1.0}),
]  # fmt: skip
