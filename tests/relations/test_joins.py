"""Joins of relations against DuckDB's: inner, left, as-of; heavy keys, long validities."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.duck import asked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVER = 1 << 40
INNER = """
    select l.k, l.x, r.k as r_k, r.x as r_x, greatest(l."from", r."from") as valid_from,
        nullif(least(coalesce(l."to", {ever}), coalesce(r."to", {ever})), {ever}) as valid_to
    from l join r on {on} and l."from" < coalesce(r."to", {ever}) and r."from" < coalesce(l."to", {ever})
"""
# Cut wherever anything of the key begins or ends; a piece of the left in which nothing of the right lives is alone.
ALONE = """
    with cuts as (
        select l.id, unnest([l."from", coalesce(l."to", {ever})]) as cut from l
        union select l.id, r."from" from l join r on {on}
            where r."from" > l."from" and r."from" < coalesce(l."to", {ever})
        union select l.id, r."to" from l join r on {on} where r."to" > l."from" and r."to" < coalesce(l."to", {ever})
    ), pieces as (select id, cut, lead(cut) over (partition by id order by cut) as till from cuts)
    select l.k, l.x, null, null, p.cut, nullif(p.till, {ever}) from pieces p join l using (id)
    where p.till is not null and not exists (
        select 1 from r where {on} and r."from" <= p.cut and coalesce(r."to", {ever}) > p.cut
    )
"""
AT = """
    select l.k, l.x, r.k, r.x, l."from", l."to"
    from l left join r on {on} and l.ts >= r."from" and l.ts < coalesce(r."to", {ever})
"""
ASOF = 'select l.k, l.x, r.k, r.x, l."from", l."to" from l asof left join r on {on} and l."from" >= r."from"'


def rows(draw: random.Random, count: int, long: float, apart: bool = False) -> pa.Table:
    """Validities by key, some for ever or much longer than others; with ``apart`` no two of a key begin at once."""
    found = []
    for number in range(count):
        since = draw.randrange(200) if not apart else number
        length = draw.choice([1, 2, 5]) if draw.random() > long else draw.choice([90, 5000, None])
        found.append(
            {"id": number, "k": draw.choice(["a", "a", "a", "b", "c", None]), "x": draw.randrange(3), "from": since,
             "to": None if length is None else since + length, "ts": draw.choice([None, since, draw.randrange(220)])}
        )  # fmt: skip
    kinds = pa.schema(
        [(name, pa.string() if name == "k" else pa.int64()) for name in ("id", "k", "x", "from", "to", "ts")]
    )
    return pa.Table.from_pylist(found, kinds)


def by_duckdb(left: pa.Table, right: pa.Table, how: str, on: str) -> Counter[Any]:
    queries = {"inner": INNER, "left": f"{INNER} union all ({ALONE})", "asof": ASOF, "at": AT}
    return merged(asked(queries[how].format(ever=EVER, on=on), l=left, r=right).fetchall())


def merged(found: Any) -> Counter[Any]:
    """What changes by instant and row: equal rows whose validities touch are one."""
    changes: Counter[Any] = Counter()
    for *row, since, until in found:
        changes[(since, *row)] += 1
        if until is not None:
            changes[(until, *row)] -= 1
    return Counter({change: count for change, count in changes.items() if count})


def by_us(left: Any, right: Any, how: Any, keys: Any) -> Any:
    """What a join gives; rows have a time of their own for those by the time of the left alone."""
    tables = (left, right) if how == "at" else (left.drop("ts"), right.drop("ts"))
    one, other = (ff.relation(each, valid_from="from", valid_to="to").select("k", "x") for each in tables)
    found = one.join(other, on=keys, prefix="r_", how=how).rows()
    return found.drop("ts") if how == "at" else found


KEYS = {"k": "l.k = r.k", ("k", "x"): "l.k = r.k and l.x = r.x", (): "true"}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("how", ["inner", "left", "asof", "at"])
def test_joins_are_those_of_duckdb(seed: int, how: str) -> None:
    draw = random.Random(seed)
    keys = draw.choice(["k", ("k", "x"), ("k", "x")] if how == "asof" else list(KEYS))
    left = rows(draw, draw.choice([0, 1, 30, 60]), draw.choice([0, 0.2, 1]))
    right = rows(draw, draw.choice([0, 1, 30, 60]), draw.choice([0, 0.2, 1]), apart=how == "asof")
    found = by_us(left, right, how, keys).to_pylist()
    assert merged(row.values() for row in found) == by_duckdb(left, right, how, KEYS[keys])


BAG = """
    with changes as (
        select k, x, cut, sum(step) as step from (
            select k, x, unnest(["from", coalesce("to", {ever})]) as cut, unnest([1, -1]) as step from l
            union all select k, x, unnest(["from", coalesce("to", {ever})]), unnest([-1, 1]) from r
        ) group by all
    ), pieces as (
        select k, x, cut, lead(cut) over e as till, cast(sum(step) over e as int) as times from changes
        window e as (partition by k, x order by cut)
    )
    select k, x, cut, nullif(till, {ever}) from (select *, unnest(range(times)) from pieces where times > 0)
"""


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_differences_are_those_of_bags_and_grow_with_the_rows(engine: str, request: pytest.FixtureRequest) -> None:
    """Many rows are equal: as many of them begin as rows of a side begin or end."""
    draw = random.Random(7)
    left, right = rows(draw, 300, 0.9), rows(draw, 150, 0.5)
    session = request.getfixturevalue("spark") if engine == "spark" else None
    data: list[Any] = [session.createDataFrame(each) if session else each for each in (left, right)]
    sides = [ff.relation(each, valid_from="from", valid_to="to").select("k", "x") for each in data]
    found: Any = sides[0].difference(sides[1]).rows()
    listed = [tuple(row.values()) for row in (found.toArrow() if session else found).to_pylist()]
    assert merged(listed) == merged(asked(BAG.format(ever=EVER), l=left, r=right).fetchall())
    assert len(listed) <= len(left) + len(right)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [(1, 2, 4), pytest.param((0, 3, 5), marks=pytest.mark.slow), (6, 7, 8)], ids=str)
def test_joins_on_spark_are_those_of_duckdb(spark: SparkSession, seeds: tuple[int, ...]) -> None:
    """One of each way, each by other keys; the rest with the slow tests."""
    from functools import reduce

    from pyspark.sql import DataFrame
    from pyspark.sql import functions as f

    wanted, frames = {}, []
    for seed in seeds:
        draw, how = (
            random.Random(100 + seed),
            [*(how for how in ("inner", "left", "asof") for _ in range(2)), *("at",) * 3][seed],
        )
        keys = ["k", ("k", "x"), (), "k", "k", ("k", "x"), "k", (), ("k", "x")][seed]
        left, right = rows(draw, 60, 0.2), rows(draw, 60, [0, 0.2, 1][seed % 3], apart=how == "asof")
        wanted[seed] = by_duckdb(left, right, how, KEYS[keys])
        frames.append(
            by_us(spark.createDataFrame(left), spark.createDataFrame(right), how, keys).select(f.lit(seed), "*")
        )
    found: dict[int, list[Any]] = {seed: [] for seed in wanted}
    for seed, *row in reduce(DataFrame.union, frames).collect():
        found[seed].append(row)
    assert {seed: merged(each) for seed, each in found.items()} == wanted


def test_the_time_of_a_pair() -> None:
    table = pa.table({"k": [1], "at": [5], "from": [5], "to": [9]})
    other = pa.table({"k": [1], "at": [7], "from": [7], "to": pa.array([None], pa.int64())})
    left, right = (ff.relation(each, valid_from="from", valid_to="to", ts="at") for each in (table, other))
    untimed = ff.relation(other.drop_columns(["at"]), valid_from="from", valid_to="to")
    stamps: list[Any] = ["min", "max", "left", "right", None]
    found = [left.join(right, on="k", stamp=stamp).rows()["ts"].to_pylist() for stamp in stamps]
    assert found == [[5], [7], [5], [7], [5]]
    assert right.join(left, on="k", stamp="left").rows()["ts"].to_pylist() == [7]
    assert right.join(left, on="k", how="asof").rows().to_pylist() == [
        {"ts": 7, "k": 1, "right_k": 1, "valid_from": 7, "valid_to": None}
    ]
    assert left.join(untimed, on="k", stamp="max").rows()["ts"].to_pylist() == [5]
    assert untimed.join(left, on="k").rows()["ts"].to_pylist() == [5]
    assert "ts" not in untimed.join(untimed, on="k").rows().column_names
    alone = untimed.join(left.where("k > 1"), on="k", how="left").rows()
    assert alone.to_pylist() == [{"ts": None, "k": 1, "right_k": None, "valid_from": 7, "valid_to": None}]


def test_a_heavy_key_costs_what_its_pairs_do() -> None:
    """300,000 rows of one key on each side: every pair by pair would be 90 milliards."""
    since = pa.array(range(0, 3_000_000, 10))
    table = pa.table({"k": pa.array([1] * len(since)), "from": since, "to": pa.array(range(10, 3_000_010, 10))})
    one = ff.relation(table, valid_from="from", valid_to="to")
    assert one.join(one, on="k").rows().num_rows == 300_000


def test_zones_and_instants() -> None:
    """A date is its beginning in the zone of the times."""
    zoned = pa.array([dt.datetime(2026, 5, 1, 22, tzinfo=dt.UTC)], pa.timestamp("us", tz="Europe/Berlin"))
    table = pa.table({"from": zoned, "to": pa.nulls(1, zoned.type), "x": [1]})
    rows = ff.relation(table, valid_from="from", valid_to="to")
    assert rows.at("2026-05-02").num_rows == rows.at(dt.date(2026, 5, 2)).num_rows == 1
    assert rows.at("2026-05-01").num_rows == 0
    assert rows.at("2026-05-01T22:00Z").num_rows == 1
    assert rows.at("2026-05-01T21:59Z").num_rows == 0
    assert rows.states("1 day", since="2026-05-02", until="2026-05-04")["x"].to_pylist() == [1, 1, 1]
