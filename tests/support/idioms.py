"""Pages of idioms: pairs of blocks, of which another library's and ours are to give equal columns."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from .pages import BLOCK


def parts(page: str) -> list[tuple[str, list[str]]]:
    """The titles of a page, with the blocks below each; those of idioms keep a mark of their level."""
    found = [part.partition("\n") for part in re.split(r"^##? |^##(?=# )", page, flags=re.MULTILINE)]
    return [(title, [block for _, block in BLOCK.findall(text)]) for title, _, text in found]


def pairs(page: str) -> dict[str, list[str]]:
    """The two blocks of each idiom, by its title."""
    return {title[2:]: blocks for title, blocks in parts(page) if is_pair(title, blocks)}


def is_pair(title: str, blocks: list[str]) -> bool:
    return title.startswith("# ") and len(blocks) == 2


def namespace_of(page: str, data: dict[str, pa.Table]) -> dict[str, Any]:
    """The names that the other blocks of a page set, where some tables are other ones."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for title, blocks in parts(page):
        for node in (node for block in blocks if not is_pair(title, blocks) for node in ast.parse(block).body):
            exec(compile(ast.Module([node], []), "<docs>", "exec"), namespace)
            set_here = {each.id for each in getattr(node, "targets", ()) if isinstance(each, ast.Name)}
            namespace |= {name: data[name] for name in data.keys() & set_here}
    return namespace


def value_of(block: str, namespace: dict[str, Any]) -> Any:
    """What the last line of a block gives."""
    *statements, last = ast.parse(block).body
    exec(compile(ast.Module(statements, []), "<docs>", "exec"), namespace)
    assert isinstance(last, ast.Expr), block
    return eval(compile(ast.Expression(last.value), "<docs>", "eval"), namespace)


def plain(value: Any) -> Any:
    """A value as it is compared: NaN and the like are null, structs are lists of their values."""
    if isinstance(value, dict):
        return [plain(each) for each in value.values()]
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in value]
    return None if value is None or value != value else value  # NaN, NaT


def alike(one: Any, other: Any) -> bool:
    """Whether two values are equal, floats but for their rounding."""
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and other is not None:
        return bool(one == pytest.approx(other, rel=1e-9, abs=1e-9))
    return bool(one == other)


def require_alike(theirs: list[list[Any]], ours: list[list[Any]]) -> None:
    """AssertionError unless there are some rows, and all of them are alike."""
    assert len(theirs) == len(ours) > 1
    assert len(theirs[0]) == len(ours[0]) >= 1
    different = [(one, other) for one, other in zip(theirs, ours, strict=True) if not alike(one, other)]
    assert not different, f"{len(different)} of {len(ours)} rows, the first {different[0]}"


def made_up(seed: int, rows: int = 400) -> dict[str, pa.Table]:
    """Trips and labels, each at a minute of its own, so that windows often end exactly where a trip is."""
    rng = np.random.default_rng(seed)
    every = rows + 60
    minutes = rng.permutation(8 * rows)[:every] * np.timedelta64(60_000_000, "us")
    times = pa.array(np.datetime64("2026-05-01T12:00", "us") + minutes).cast(pa.timestamp("us", "UTC"))
    columns = {
        "ts": times, "zone": rng.choice(["Bronx", "Harlem", "SoHo"], every), "fare": rng.gamma(3, 5, every),
        "miles": rng.gamma(2, 2, every), "paid": rng.choice(["card", "cash"], every),
    }  # fmt: skip
    trips = pa.table(columns)
    return {
        "trips": trips.slice(0, rows).sort_by([("zone", "ascending"), ("ts", "ascending")]),
        "labels": trips.slice(rows).select(["ts", "zone"]).sort_by("ts").rename_columns(["at", "zone"]),
    }
