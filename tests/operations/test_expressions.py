"""ff.expr: random expressions, against Python's own arithmetic, locally, on Spark in any session, and on streams."""

from __future__ import annotations

import datetime
import math
import random
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.stream_source import Source
from ..support.stream_source import table as streamed

Row = dict[str, Any]
Node = tuple[str, Callable[[Row], Any]]
"""The text of an expression, and what it is of a row."""

UTC = datetime.UTC
BEGIN = datetime.datetime(2026, 3, 29, tzinfo=UTC)
VALUES: dict[str, list[Any]] = {
    "x": [None, 0, 1, -1, 7, -8, 2**62, -(2**63), 2**63 - 1, 3],
    "i": [None, 0, 2, -3, 2**31 - 1, 5, 7, -(2**31), 1, 10],
    "y": [None, 0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf, 1e300, 0.49999999999999994],
    "m": [None, *map(Decimal, ["0.00", "1.50", "-2.25", "99999999.99", "0.01", "3.00", "-0.10", "12.34", "5.00"])],
    "s": [None, "", "a'b", "12", " 7 ", "1e3", "2026-02-30", "2026-03-29 01:30:00.5", "50%_x\\y", "Abc\n"],
    "b": [None, True, False, True, None, False, True, False, None, True],
    "d": [None, *(BEGIN.date() + datetime.timedelta(days) for days in (0, 1, -90, -25000, 3, 7, 8, 9, 10))],
    "ts": [None, *(BEGIN + datetime.timedelta(hours=h, microseconds=5) for h in (0, 1, 2, 3, -1, 24, -999999, 7))],
}  # fmt: skip
TYPES = {
    "x": pa.int64(), "i": pa.int32(), "y": pa.float64(), "m": pa.decimal128(10, 2), "s": pa.string(), "b": pa.bool_(),
    "d": pa.date32(), "ts": pa.timestamp("us", "UTC"),
}  # fmt: skip


def table(rows: int, seed: int) -> pa.Table:
    chosen = random.Random(seed)
    columns = {name: pa.array([chosen.choice(VALUES[name]) for _ in range(rows)], type) for name, type in TYPES.items()}
    return pa.table({"row": list(range(rows)), "t": [0] * rows, "a b.c": columns["x"], **columns})


def whole(value: int | None) -> int | None:
    return value if value is not None and -(2**63) <= value < 2**63 else None


def lifted(function: Callable[..., Any], *nodes: Node) -> Callable[[Row], Any]:
    """A function of values, which gives null of a null."""

    def value(row: Row) -> Any:
        values = [node[1](row) for node in nodes]
        return None if any(each is None for each in values) else function(*values)

    return value


def sort_key(value: Any) -> Any:
    """NaN is above all numbers."""
    return (value != value, 0.0 if value != value else value)


def remainder(one: int, other: int) -> int | None:
    return None if other == 0 else (abs(one) % abs(other)) * (-1 if one < 0 else 1)


def fmod(one: float, other: float) -> float | None:
    if other == 0:
        return None
    return math.nan if math.isinf(one) or one != one or other != other else math.fmod(one, other)


def rounded(value: float) -> float:
    if value != value or math.isinf(value) or abs(value) >= 2**52:
        return value
    return math.copysign(float(Decimal(abs(value)).to_integral_value("ROUND_HALF_UP")), value)


def divided(one: float, other: float) -> float | None:
    if other == 0:
        return None
    try:
        return one / other
    except OverflowError:
        return math.copysign(math.inf, one) * math.copysign(1, other)


class Random:
    """Random expressions of each kind."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def column(self, *names: str) -> Node:
        name = self.random.choice(names)
        return name, lambda row: row[name]

    def of(self, kind: str, depth: int) -> Node:
        return getattr(self, kind)(depth) if depth else getattr(self, f"{kind}_leaf")()

    def whole_leaf(self) -> Node:
        if self.random.random() < 0.6:
            name = self.random.choice(["x", "i", "a b.c"])
            return f"`{name}`" if " " in name else name, lambda row: row[name]
        number = self.random.choice([0, 1, 2, -3, 10, 2**62])
        return str(number), lambda row: number

    def double_leaf(self) -> Node:
        if self.random.random() < 0.7:
            return self.column("y")
        number = self.random.choice([0.5, 2.0, -1.25, 1e3])
        return repr(number), lambda row: number

    def text_leaf(self) -> Node:
        if self.random.random() < 0.7:
            return self.column("s")
        text = self.random.choice(["", "a'b", "12", "x\\y", "50%"])
        return "'" + text.replace("'", "''") + "'", lambda row: text

    def truth_leaf(self) -> Node:
        return self.random.choice(
            [self.column("b"), ("true", lambda row: True), ("null", lambda row: None), self.column("b")]
        )

    def instant_leaf(self) -> Node:
        return self.column("ts")

    def whole(self, depth: int) -> Node:
        a, b = self.of("whole", depth - 1), self.of("whole", depth - 1)
        y, s, c = self.of("double", depth - 1), self.of("text", depth - 1), self.of("truth", depth - 1)
        return self.random.choice([
            (f"({a[0]} + {b[0]})", lifted(lambda p, q: whole(p + q), a, b)),
            (f"({a[0]} - {b[0]})", lifted(lambda p, q: whole(p - q), a, b)),
            (f"({a[0]} * {b[0]})", lifted(lambda p, q: whole(p * q), a, b)),
            (f"({a[0]} % {b[0]})", lifted(remainder, a, b)),
            (f"(- {a[0]})", lifted(lambda p: whole(-p), a)),
            (f"abs({a[0]})", lifted(lambda p: whole(abs(p)), a)),
            (f"coalesce({a[0]}, {b[0]})", lambda row: b[1](row) if a[1](row) is None else a[1](row)),
            (f"nullif({a[0]}, {b[0]})", lambda row: None if a[1](row) == b[1](row) else a[1](row)),
            (f"case when {c[0]} then {a[0]} else {b[0]} end", lambda row: a[1](row) if c[1](row) else b[1](row)),
            (f"if({c[0]}, {a[0]}, null)", lambda row: a[1](row) if c[1](row) else None),
            (f"case {a[0]} when {b[0]} then 1 when 2 then 5 end", lifted_case(a, b)),
            (f"length({s[0]})", lifted(len, s)),
            (f"cast({y[0]} as bigint)", lifted(lambda p: int(p) if abs(p) < 2.0**63 else None, y)),
            (f"cast({a[0]} as int)", lifted(lambda p: p if -(2**31) <= p < 2**31 else None, a)),
            (f"cast({c[0]} as bigint)", lifted(int, c)),
            (f"cast({s[0]} as bigint)", lifted(whole_of_text, s)),
        ])  # fmt: skip

    def double(self, depth: int) -> Node:
        a, b, n, n2 = (self.of(kind, depth - 1) for kind in ("double", "double", "whole", "whole"))
        return self.random.choice([
            (f"({a[0]} + {b[0]})", lifted(lambda p, q: p + q, a, b)),
            (f"({a[0]} * {n[0]})", lifted(lambda p, q: p * float(q), a, n)),
            (f"({n[0]} / {n2[0]})", lifted(lambda p, q: divided(float(p), float(q)), n, n2)),
            (f"({a[0]} / {b[0]})", lifted(divided, a, b)),
            (f"({a[0]} % {b[0]})", lifted(fmod, a, b)),
            (f"floor({a[0]})", lifted(lambda p: float(math.floor(p)) if math.isfinite(p) else p, a)),
            (f"ceil({a[0]})", lifted(lambda p: float(math.ceil(p)) if math.isfinite(p) else p, a)),
            (f"round({a[0]})", lifted(rounded, a)),
            (f"sqrt({a[0]})", lifted(lambda p: math.sqrt(p) if p >= 0 else math.nan, a)),
            (f"abs({a[0]})", lifted(abs, a)),
            ("(m / 4)", lambda row: None if row["m"] is None else float(row["m"]) / 4),
        ])  # fmt: skip

    def text(self, depth: int) -> Node:
        a, b, n = self.of("text", depth - 1), self.of("text", depth - 1), self.of("whole", depth - 1)
        return self.random.choice([
            (f"({a[0]} || {b[0]})", lifted(lambda p, q: p + q, a, b)),
            (f"concat({a[0]}, {b[0]}, '-')", lifted(lambda p, q: f"{p}{q}-", a, b)),
            (f"upper({a[0]})", lifted(str.upper, a)),
            (f"lower({a[0]})", lifted(str.lower, a)),
            (f"trim({a[0]})", lifted(lambda p: p.strip(" "), a)),
            (f"ltrim({a[0]})", lifted(lambda p: p.lstrip(" "), a)),
            (f"substring({a[0]}, 2, 3)", lifted(lambda p: p[1:4], a)),
            (f"substring({a[0]}, 3)", lifted(lambda p: p[2:], a)),
            (f"cast({n[0]} as string)", lifted(str, n)),
            ("cast(d as string)", lambda row: None if row["d"] is None else str(row["d"])),
        ])  # fmt: skip

    def instant(self, depth: int) -> Node:
        a = self.of("instant", depth - 1)
        hours = self.random.choice([-25, 2, 24])
        return self.random.choice([
            (f"({a[0]} + interval '{hours}' hour)", lifted(lambda p: p + datetime.timedelta(hours=hours), a)),
            (f"({a[0]} - interval 90 minutes)", lifted(lambda p: p - datetime.timedelta(minutes=90), a)),
            ("cast(d as timestamp)", lambda row: None if row["d"] is None else at_midnight(row["d"])),
            ("cast(s as timestamp)", lambda row: at_text(row["s"])),
        ])  # fmt: skip

    def truth(self, depth: int) -> Node:
        c, e = self.of("truth", depth - 1), self.of("truth", depth - 1)
        kind = self.random.choice(["whole", "double", "text", "instant"])
        a, b, low = (self.of(kind, depth - 1) for _ in range(3))
        sign = self.random.choice(["=", "<>", "<", "<=", ">", ">="])
        compare = {
            "=": lambda p, q: p == q, "<>": lambda p, q: p != q, "<": lambda p, q: p < q, "<=": lambda p, q: p <= q,
            ">": lambda p, q: p > q, ">=": lambda p, q: p >= q,
        }[sign]  # fmt: skip
        keyed = lifted(lambda p, q: compare(sort_key(p), sort_key(q)), a, b)
        hours = self.random.choice([0, 1, 5])
        ts = self.column("ts")
        literal = BEGIN + datetime.timedelta(hours=hours)
        return self.random.choice([
            (f"({a[0]} {sign} {b[0]})", keyed),
            (f"({a[0]} {sign} {b[0]})", keyed),
            (f"(ts {sign} timestamp '{literal:%Y-%m-%d %H:%M:%S}')", lifted(lambda p: compare(p, literal), ts)),
            (f"(ts - cast(d as timestamp) > interval '{hours}' hour)", elapsed(hours)),
            (f"(d {sign} '2026-03-30')", lifted(lambda p: compare(p, datetime.date(2026, 3, 30)), self.column("d"))),
            (f"(m * 2 {sign} m + 1.505)", lifted(lambda p: compare(p * 2, p + Decimal("1.505")), self.column("m"))),
            (f"({c[0]} and {e[0]})", lambda row: conjunction(c[1](row), e[1](row))),
            (f"({c[0]} or {e[0]})", lambda row: negated(conjunction(negated(c[1](row)), negated(e[1](row))))),
            (f"(not {c[0]})", lambda row: negated(c[1](row))),
            (f"({c[0]} is not true)", lambda row: c[1](row) is not True),
            (f"({a[0]} is null)", lambda row: a[1](row) is None),
            (f"({a[0]} between {low[0]} and {b[0]})", between(a, low, b)),
            ("(x in (1, 7, null))", lambda row: True if row["x"] in (1, 7) else None),
            ("(s not in ('12', ''))", lifted(lambda p: p not in ("12", ""), self.column("s"))),
            (f"({a[0]} <=> {b[0]})", lambda row: same(a[1](row), b[1](row))),
            ("(s like '%''%')", lifted(lambda p: "'" in p, self.column("s"))),
            ("(s like '50\\%_x%')", lifted(lambda p: p[:3] == "50%" and p[4:5] == "x", self.column("s"))),
            ("(s not like '_b%')", lifted(lambda p: p[1:2] != "b", self.column("s"))),
        ])  # fmt: skip


def lifted_case(a: Node, b: Node) -> Callable[[Row], Any]:
    def value(row: Row) -> Any:
        of, first = a[1](row), b[1](row)
        return None if of is None else 1 if of == first else 5 if of == 2 else None

    return value


def whole_of_text(text: str) -> int | None:
    text = text.strip(" ")
    return whole(int(text)) if text.lstrip("+-").isdigit() and "\n" not in text else None


def at_midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), UTC)


def at_text(text: str | None) -> datetime.datetime | None:
    return datetime.datetime(2026, 3, 29, 1, 30, 0, 500_000, UTC) if text == "2026-03-29 01:30:00.5" else None


def elapsed(hours: int) -> Callable[[Row], Any]:
    def value(row: Row) -> Any:
        if row["ts"] is None or row["d"] is None:
            return None
        return row["ts"] - at_midnight(row["d"]) > datetime.timedelta(hours=hours)

    return value


def conjunction(one: bool | None, other: bool | None) -> bool | None:
    return False if one is False or other is False else None if one is None or other is None else True


def negated(one: bool | None) -> bool | None:
    return None if one is None else not one


def between(a: Node, low: Node, high: Node) -> Callable[[Row], Any]:
    above = lifted(lambda p, q: sort_key(p) >= sort_key(q), a, low)
    below = lifted(lambda p, q: sort_key(p) <= sort_key(q), a, high)
    return lambda row: conjunction(above(row), below(row))


def same(one: Any, other: Any) -> bool:
    return (one is None) == (other is None) and (one is None or sort_key(one) == sort_key(other))


def expressions(count: int, seed: int) -> dict[str, Node]:
    made = Random(seed)
    kinds = ("whole", "double", "text", "truth", "truth", "instant")
    return {f"e{at}": made.of(kinds[at % len(kinds)], 1 + at % 3) for at in range(count)}


def query(events: Any, of: dict[str, Node]) -> Any:
    """A window for each row, with the value of each expression in it."""
    return events.window(ff.tumbling(1)).aggregate(**{name: ff.Last(ff.expr(text)) for name, (text, _) in of.items()})


def agree(found: pa.Table, rows: pa.Table, of: dict[str, Node]) -> None:
    found = found.sort_by("row").to_pylist()
    for name, (text, value) in of.items():
        for row, result in zip(rows.to_pylist(), found, strict=True):
            expected, got = value(row), result[name]
            alike = same(expected, got) or (
                isinstance(expected, float) and isinstance(got, float) and math.isclose(expected, got, rel_tol=1e-15)
            )
            assert alike, f"{text} of {row} is {expected!r} and not {got!r}"


@pytest.mark.parametrize("seed", range(6))
def test_random_expressions_locally(seed: int) -> None:
    rows, of = table(40, seed), expressions(90, seed)
    agree(query(ff.events(rows, time="t", by="row"), of), rows, of)


@pytest.mark.slow
@pytest.mark.parametrize(("ansi", "zone"), [("true", "UTC"), ("false", "Europe/Berlin")])
def test_random_expressions_on_spark_in_any_session(spark: Any, ansi: str, zone: str) -> None:
    rows, of = table(40, 17), expressions(60, 17 + len(zone))
    before = {name: spark.conf.get(name) for name in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")}
    try:
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        spark.conf.set("spark.sql.session.timeZone", zone)
        found = query(ff.events(spark.createDataFrame(rows), time="t", by="row"), of).toArrow()
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    agree(found, rows, of)


CONDITION = "(zone in ('a', 'b') and x * 2 > 10) or seen >= '2026-05-02' or zone like '%_c' or x is null"
TURNOVER = "case when x > 7 then x * price else coalesce(price, 0) / 2 end"


def sales() -> pa.Table:
    rng = random.Random(3)
    rows = [
        {
            "t": at, "k": rng.choice("uv"), "zone": rng.choice(["a", "b", "c", "xc", None]),
            "x": rng.choice([None, 2, 6, 9]), "price": rng.choice([None, 1.5, 3.0]),
            "seen": datetime.datetime(2026, 5, rng.randint(1, 2), 7, tzinfo=UTC),
        }
        for at in range(200)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows).set_column(5, "seen", pa.array([row["seen"] for row in rows], TYPES["ts"]))


def turnover(events: Any) -> Any:
    return (
        events.where(ff.expr(CONDITION))
        .window(ff.tumbling(20))
        .aggregate(
            total=ff.Sum(ff.expr(TURNOVER)), high=ff.Filtered(ff.Count(), ff.expr("x > 5 and zone <> 'b'")),
            text=ff.Mapped(ff.Max("zone"), ff.expr("upper(zone) || '!'")),
        )
    )  # fmt: skip


def by_duckdb(sales: pa.Table) -> list[tuple[Any, ...]]:
    return duckdb.sql(
        f"SELECT k, t // 20 * 20, sum({TURNOVER}), count(*) FILTER (x > 5 AND zone <> 'b'), max(upper(zone) || '!') "
        f"FROM sales WHERE {CONDITION} GROUP BY ALL ORDER BY ALL"
    ).fetchall()


def rows_of(found: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(
        (row["k"], row["window"]["start"], row["total"], row["high"], row["text"]) for row in found.to_pylist()
    )


def test_a_query_as_duckdb_has_it_of_any_data(tmp_path: Path) -> None:
    table = sales()
    pq.write_table(table, tmp_path / "sales.parquet", row_group_size=50)
    coded = table.set_column(2, "zone", table["zone"].dictionary_encode())
    frames = [
        table,
        coded,
        table.to_pandas(types_mapper=pd.ArrowDtype),
        pl.from_arrow(table),
        ff.parquet(tmp_path / "sales.parquet"),
    ]
    for data in frames:
        assert rows_of(turnover(ff.events(data, time="t", by="k"))) == by_duckdb(table)
    assert len(ff.events(table, time="t").where("x > 5").window(ff.tumbling(1)).aggregate(n=ff.Count())) < 200


def test_of_files_on_spark_and_their_dataframe(spark: Any, tmp_path: Path) -> None:
    table = sales()
    pq.write_table(table, tmp_path / "sales.parquet", row_group_size=50)
    files = ff.events(ff.parquet(str(tmp_path / "sales.parquet"), spark=spark), time="t", by="k")
    few = files.where(ff.expr("t < 50 and x * 2 > 10")).window(ff.tumbling(50))
    assert "1 of 4 row groups" in str(few.explain(n=ff.Count()))
    expected = sum(row["t"] < 50 and (row["x"] or 0) > 5 for row in table.to_pylist())
    assert sum(few.aggregate(n=ff.Count()).toArrow()["n"].to_pylist()) == expected
    for each in (files, ff.events(spark.createDataFrame(table), time="t", by="k")):
        assert rows_of(turnover(each).toArrow()) == by_duckdb(table)


@pytest.mark.slow
def test_of_a_stream(spark: Any, tmp_path: Path, rocksdb: None) -> None:
    rows = [streamed(0, 38), streamed(30, 68, seed=1), streamed(4000, 4001, 9)]
    source = Source(spark, tmp_path).add(*rows)

    def asked(of: Any) -> Any:
        of = of.where(ff.expr("key <> 'd' and x > -1")).window(ff.tumbling("10 minutes"))
        return of.aggregate(n=ff.Count(), s=ff.Sum(ff.expr("if(x > 0, x * 2, 0)")))

    of = ff.events(source.plain.withWatermark("time", "10 minutes"), time="time", by="key")
    assert source.start(asked(of)).awaitTermination(100)
    batch = asked(ff.events(pa.concat_tables(rows[:2]), time="time", by="key"))
    assert sorted(map(str, source.found().to_pylist())) == sorted(map(str, batch.to_pylist()))


def test_of_a_relation() -> None:
    events = ff.events(sales(), time="t", by="k").window(ff.sliding(4, every=1, closed="right")).relation()
    for condition in ("x > 5", ff.expr("x > 5")):
        found = events.where(condition).select("k", y=ff.expr("x % 4")).rows()
        assert found["y"].to_pylist() == [row["x"] % 4 for row in sales().to_pylist() if (row["x"] or 0) > 5]


def test_one_expression_is_computed_once_and_a_column_is_none() -> None:
    events = ff.events(sales(), time="t").window(ff.tumbling(10))
    said = str(events.explain(a=ff.Sum(ff.expr("x * 2")), b=ff.Max(ff.expr("x * 2")), c=ff.Sum(ff.expr("x"))))
    assert "columns read: t, x * 2, x" in said
    with pytest.raises(ff.QueryError, match=r"Mapped\(Covariance.* is given an expression, which computes one column"):
        ff.Mapped(ff.Covariance("x", "price"), ff.expr("x * 2"))


REFUSED = {
    "sum(x)": "has SUM(x), which not all engines know alike", "nosuch(x)": "has NOSUCH(x), which not all",
    "x in (select 1)": "which not all",
    "x > 1; drop table t": "the expression 'x > 1; drop table t'", "x as y": "which not all",
    "row_number() over (order by x)": "which not all", "current_timestamp": "which not all", "*": "which not all",
    "round(x, 2)": "(round(x * 100) / 100 is two digits)", "x like zone": "of no literal", "log(2, x)": "which not all",
    "cast(x as tinyint)": "the type TINYINT", "trim(both 'x' from zone)": "which not all",
    "x >": "is no SQL of one value", "": "is no SQL of one value", "x, price": "is no SQL",
    "x rlike 'a'": "which not all", '"x" > 1': "expected 'x' or `x`",
    "((x": "is no SQL of one value", "'open": "is no SQL of one value",
}  # fmt: skip
UNFIT = {
    "sped > 1": "names the unknown column 'sped'", "X > 1": "names the unknown column 'X'; did you mean 'x'?",
    "zone > 1": "string and int64 are not of one type", "zone + 1": "a part of it is of type string; expected numbers",
    "x || zone": "x is of type int64; expected string", "x and true": "x is of type int64; expected bool",
    "seen > 'noon'": "are not of one type", "date '2026-02-30' < seen": "'2026-02-30' is no date",
    "seen + interval 1 month > seen": "months and years have no fixed length",
    "seen.x > 1": "names 'x' of 'seen', which has no",
    "cast(price as string) = ''": "double as string is not the same on all engines",
    "x": "is of type int64; expected a boolean",
    "seen > timestamp_ntz '2026-01-01 00:00:00'": None,
    "cast(seen as timestamp_ntz) is null": "is not the same on all engines",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_known_is_refused_by_name(text: str) -> None:
    with pytest.raises(ff.QueryError, match=re.escape(REFUSED[text])):
        ff.expr(text)


@pytest.mark.parametrize("text", UNFIT)
def test_what_does_not_fit_the_columns_is_said(text: str) -> None:
    events, said = ff.events(sales(), time="t"), UNFIT[text]
    if said is None:
        events.where(ff.expr(text))
        return
    with pytest.raises(ff.ColumnError, match=re.escape(said)):
        events.where(ff.expr(text))


def test_spark_says_the_same(spark: Any) -> None:
    events = ff.events(spark.createDataFrame(sales()), time="t")
    for text, said in UNFIT.items():
        if said is not None:
            with pytest.raises(ff.ColumnError, match=re.escape(said)):
                events.where(ff.expr(text))
    with pytest.raises(ff.ColumnError, match="the input 'sped / 2' names the unknown column"):
        events.window(ff.tumbling(1)).aggregate(x=ff.Sum(ff.expr("sped / 2")))


def test_ordered_categories_are_not_compared_as_text() -> None:
    sizes = pd.DataFrame({"t": [0, 1], "size": pd.Categorical(["s", "l"], ["s", "l"], ordered=True)})
    with pytest.raises(ff.ColumnError, match="engines compare the categories of an ordered dictionary as text"):
        ff.events(sizes, time="t").where(ff.expr("size > 's'"))
    found = ff.events(sizes, time="t").where(ff.expr("size = 'l'")).window(ff.tumbling(9)).aggregate(n=ff.Count())
    assert found["n"].to_pylist() == [1]


def test_where_sqlglot_is_missing_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ff.EngineError, match=re.escape("pip install 'framefold[sql]'")):
        ff.expr("x > 1")
