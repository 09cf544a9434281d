"""The recipes of docs/validity-and-relations.md keep a table as a relation is: changes played by MERGE and upsert."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

from ..spark.postgres import server

PAGE = (Path(__file__).parents[2] / "docs" / "validity-and-relations.md").read_text()
KINDS = pa.schema([("k", pa.string()), ("price", pa.int64())])
Play = Callable[[pa.Table], None]
Told = Callable[[], list[tuple[Any, ...]]]


def recipe(word: str) -> str:
    """The SQL of the page that begins with a word."""
    found = [block for block in re.findall(r"```sql\n(.*?)```", PAGE, re.S) if block.startswith(word)]
    assert len(found) == 1
    return str(found[0])


LAST = recipe("CREATE")
MERGE, UPSERT = recipe("MERGE"), recipe("BEGIN")


def prices(seed: int) -> ff.Relation[pa.Table]:
    """The greatest price of each item in a window: one row a key, replaced, gone and back again."""
    draw = random.Random(seed)
    rows = [{"t": draw.randrange(60), "k": draw.choice("abcdef"), "price": draw.randrange(9)} for _ in range(60)]
    events = ff.events(pa.Table.from_pylist(rows), time="t")
    return events.window(ff.sliding(6, every=2, closed="right")).relation().aggregate(by="k", price=ff.Max("price"))


def check(play: Play, told: Told, seed: int) -> None:
    """Changes in several parts, each played into a table, which is the state after each; the last one is empty."""
    relation = prices(seed)
    changes, since, kinds = relation.changes(), -1, Counter[str]()
    for until in (9, 10, 25, 44, 100):
        part = changes.filter((pc.field("at") > since) & (pc.field("at") <= until))
        play(part)
        assert sorted(told()) == sorted((row["k"], row["price"]) for row in relation.at(until).to_pylist())
        kinds.update(part["change"].to_pylist())
        since = until
    assert told() == []
    assert min(kinds.values()) > 20


def by_duckdb(statements: str) -> tuple[Play, Told]:
    con = duckdb.connect()
    con.sql("create table current (k varchar, price bigint, primary key (k))")

    def play(changes: pa.Table) -> None:
        con.register("changes", changes)
        con.execute(statements)
        con.unregister("changes")

    return play, lambda: con.sql("from current").fetchall()


@pytest.mark.parametrize("seed", range(2))
def test_merge_in_duckdb(seed: int) -> None:
    check(*by_duckdb(LAST + MERGE), seed)


@pytest.mark.parametrize("seed", range(2))
def test_upsert_in_duckdb(seed: int) -> None:
    delete, insert = UPSERT.removeprefix("BEGIN;\n").removesuffix("COMMIT;\n").split(";\n")[:2]
    check(*by_duckdb(f"{LAST}{delete};{insert}"), seed)


@pytest.fixture(scope="module")
def postgres() -> Iterator[psycopg.Connection[Any]]:
    with server() as found, psycopg.connect(
        host=found["PGHOST"], user=found["PGUSER"], dbname=found["PGDATABASE"], autocommit=True
    ) as connection:  # fmt: skip
        yield connection


@pytest.mark.parametrize("statements", [MERGE, UPSERT], ids=["merge", "upsert"])
def test_in_postgresql(postgres: psycopg.Connection[Any], statements: str) -> None:
    cursor = postgres.cursor()
    cursor.execute("drop table if exists current; create table current (k text primary key, price bigint)")
    cursor.execute("create table if not exists changes (at bigint, change text, weight int, k text, price bigint)")

    def play(changes: pa.Table) -> None:
        cursor.execute("truncate changes")
        rows = [tuple(row.values()) for row in changes.to_pylist()]
        cursor.executemany("insert into changes values (%s, %s, %s, %s, %s)", rows)
        cursor.execute(LAST)  # type: ignore[arg-type]
        cursor.execute(statements)  # type: ignore[arg-type]

    check(play, lambda: cursor.execute("select * from current").fetchall(), 1)


def test_merge_in_delta(tmp_path: Path) -> None:
    """The function of the page."""
    from deltalake import DeltaTable, write_deltalake

    path, code = str(tmp_path / "current"), re.search(r"^def play.*?(?=^\S)", PAGE, re.MULTILINE | re.DOTALL)
    assert code is not None
    write_deltalake(path, KINDS.empty_table())
    names: dict[str, Any] = {"pa": pa, "DeltaTable": DeltaTable}
    exec(code[0], names)

    def told() -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in DeltaTable(path).to_pyarrow_table().to_pylist()]

    check(lambda changes: names["play"](changes, path), told, 2)
