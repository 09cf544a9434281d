"""Pages of idioms: of each pair of blocks, the one of another library and ours give equal columns.

They are compared on the data of the page, and on random data of the same columns.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ..support.pages import BLOCK, DOCS

PAGE = (DOCS / "from-pandas-polars-sql.md").read_text()
GIVEN = {"ts", "at", "zone", "fare", "miles", "paid", "late", "day", "window", "start"}
"""Columns that rows or windows have, and no idiom computes."""

OF_DATA = ["For the rows of another table"]
"""Titles below which one block makes data."""


def sections(page: str) -> Iterator[tuple[str, list[str]]]:
    """The blocks below each title, those of the whole page under no title."""
    for part in re.split(r"^#+ ", page, flags=re.MULTILINE):
        title, _, text = part.partition("\n")
        yield title, [block for _, block in BLOCK.findall(text)]


IDIOMS = [title for title, blocks in sections(PAGE) if len(blocks) == 2]


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
    return None if pd.isna(value) else value


def rows_of(found: Any) -> list[list[Any]]:
    """What an idiom computes, row for row; fields of structs are columns, as SQL has them."""
    if isinstance(found, pd.Series):
        return [[plain(value)] for value in found.tolist()]
    if isinstance(found, pd.DataFrame):
        found = pl.from_pandas(found)
    if isinstance(found, duckdb.DuckDBPyRelation):
        found = found.to_arrow_table()
    table = found if isinstance(found, pa.Table) else found.to_arrow()
    kept = table.select([name for name in table.column_names if name not in GIVEN])
    return [plain(row) for row in kept.flatten().to_pylist()]


def alike(one: Any, other: Any) -> bool:
    """Whether two values are equal, floats but for their rounding."""
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and other is not None:
        return bool(one == pytest.approx(other, rel=1e-9, abs=1e-9))
    return bool(one == other)


def made_up(seed: int) -> dict[str, pa.Table]:
    """Trips and labels, each at a minute of its own, so that windows often end exactly where a trip is."""
    rng = np.random.default_rng(seed)
    noon = np.datetime64("2026-05-01T12:00", "us")
    minutes = rng.permutation(3_000)[:460]
    times = pa.array(noon + minutes * np.timedelta64(60_000_000, "us"), pa.timestamp("us")).cast(
        pa.timestamp("us", "UTC")
    )
    zones = rng.choice(["Bronx", "Harlem", "SoHo"], 460)
    fares, miles = rng.gamma(3, 5, 460), rng.gamma(2, 2, 460)
    paid = rng.choice(["card", "cash"], 460)
    trips = pa.table({"ts": times, "zone": zones, "fare": fares, "miles": miles, "paid": paid})
    return {
        "trips": trips.slice(0, 400).sort_by([("zone", "ascending"), ("ts", "ascending")]),
        "labels": trips.slice(400).select(["ts", "zone"]).sort_by("ts").rename_columns(["at", "zone"]),
    }


def ran(block: str, namespace: dict[str, Any], data: dict[str, pa.Table]) -> None:
    """Run a block, in which some tables are other ones."""
    for node in ast.parse(block).body:
        exec(compile(ast.Module([node], []), "<docs>", "exec"), namespace)
        for name in data.keys() & {each.id for each in getattr(node, "targets", ()) if isinstance(each, ast.Name)}:
            namespace[name] = data[name]


@pytest.fixture(scope="module", params=["page", 1, 2])
def given(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The names that blocks without a pair have set, on the data of the page or on random data."""
    data = {} if request.param == "page" else made_up(request.param)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for title, blocks in sections(PAGE):
        if title not in IDIOMS:
            for block in blocks:
                ran(block, namespace, data)
    return namespace


@pytest.mark.parametrize("title", IDIOMS)
def test_both_blocks_give_equal_columns(title: str, given: dict[str, Any]) -> None:
    theirs, ours = (rows_of(value_of(block, dict(given))) for block in dict(sections(PAGE))[title])
    assert len(theirs) == len(ours) > 1
    assert len(theirs[0]) == len(ours[0]) >= 1
    different = [(one, other) for one, other in zip(theirs, ours, strict=True) if not alike(one, other)]
    assert not different, f"{len(different)} of {len(ours)} rows, the first {different[0]}"


def test_there_are_enough_of_them_and_all_have_their_pair() -> None:
    assert len(IDIOMS) >= 30
    assert [title for title, blocks in sections(PAGE) if title not in IDIOMS and len(blocks) == 1] == OF_DATA
