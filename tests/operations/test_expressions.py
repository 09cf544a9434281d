"""ff.expr: random expressions, against Python's own arithmetic, locally, on Spark in any session, and on streams."""

from __future__ import annotations

import datetime
import functools
import math
import operator
import random
import re
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

Row = dict[str, Any]
Node = tuple[str, Callable[[Row], Any]]
"""The text of an expression, and what it is of a row."""
Part = tuple[str, Callable[..., Any]]

UTC = datetime.UTC
BEGIN = datetime.datetime(2026, 3, 29, tzinfo=UTC)
VALUES: dict[str, list[Any]] = {
    "x": [None, 0, 1, -1, 7, -8, 2**62, -(2**63), 2**63 - 1, 3],
    "i": [None, 0, 2, -3, 2**31 - 1, 5, 7, -(2**31), 1, 10],
    "y": [None, 0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf, 1e300, 0.49999999999999994],
    "m": [None, *map(Decimal, ["0.00", "1.50", "-2.25", "99999999.99", "0.01", "3.00", "-0.10", "12.34", "5.00"])],
    "s": [None, "", "a'b", "12", " 7 ", "1e3", "2026-02-30", "2026-03-29 01:30:00.5", "50%_x\\y", "Abc\n", "é🙂\n"],
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


def whole_of_text(text: str) -> int | None:
    text = text.strip(" ")
    return whole(int(text)) if text.lstrip("+-").isdigit() and "\n" not in text else None


def at_midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), UTC)


def at_text(text: str) -> datetime.datetime | None:
    return datetime.datetime(2026, 3, 29, 1, 30, 0, 500_000, UTC) if text == "2026-03-29 01:30:00.5" else None


def conjunction(one: bool | None, other: bool | None) -> bool | None:
    return False if one is False or other is False else None if one is None or other is None else True


def negated(one: bool | None) -> bool | None:
    return None if one is None else not one


def above(one: Any, other: Any) -> bool | None:
    """Whether one is at least the other."""
    return None if one is None or other is None else sort_key(one) >= sort_key(other)


def same(one: Any, other: Any) -> bool:
    return (one is None) == (other is None) and (one is None or sort_key(one) == sort_key(other))


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
HOURS = {hours: datetime.timedelta(hours=hours) for hours in (-25, 0, 1, 2, 5, 24)}
DAY = datetime.date(2026, 3, 30)


def signs(text: str, function: Callable[..., Any]) -> list[Part]:
    """An expression with each sign, by a function of a comparison and of values."""
    return [(text.replace("SIGN", sign), functools.partial(function, compare)) for sign, compare in COMPARE.items()]


def comparing(compare: Callable[[Any, Any], bool], one: Any, other: Any) -> bool:
    return compare(sort_key(one), sort_key(other))


LISTS: dict[str, Sequence[Any]] = {
    "whole": [*range(-300, 300, 3), 2**62, -(2**62)], "i": [5, 2**40, -8, 2**31 - 1], "m": range(-2, 7),
    "double": [0, 1.5, -0.49, *range(9, 300)],
    "text": ["", "a''b", " 7 ", *map(str, range(300))], "d": [f"{DAY + datetime.timedelta(n)}" for n in range(-9, 9)],
}  # fmt: skip
"""Many constants, by the kind or the column that is compared with them."""


def listed(kind: str, values: Sequence[Any]) -> list[Part]:
    """Whether a value is among constants, as ``in`` has it and as a chain of conditions."""
    written = [f"'{each}'" if isinstance(each, str) else str(each) for each in values]
    known = [each.replace("''", "'") if isinstance(each, str) else each for each in values]
    known = list(map(datetime.date.fromisoformat, known)) if kind == "d" else known
    one = f"{{{kind}}}"
    return [
        (f"({one} in ({', '.join(written)}))", lambda p: p in known),
        (f"({one} in ({', '.join([*written, 'null'])}))", lambda p: p in known or None),
        (f"({one} not in ({', '.join(written)}))", lambda p: p not in known),
    ]


PARTS: dict[str, list[Part | list[Part]]] = {
    "whole": [("({whole} + {whole})", lambda p, q: whole(p + q)), ("({whole} - {whole})", lambda p, q: whole(p - q)),
        ("({whole} * {whole})", lambda p, q: whole(p * q)), ("({whole} % {whole})", remainder),
        ("(- {whole})", lambda p: whole(-p)), ("abs({whole})", lambda p: whole(abs(p))), ("length({text})", len),
        ("cast({double} as bigint)", lambda p: int(p) if abs(p) < 2.0**63 else None),
        ("cast({whole} as int)", lambda p: p if -(2**31) <= p < 2**31 else None), ("cast({truth} as bigint)", int),
        ("cast({text} as bigint)", whole_of_text)],
    "double": [("({double} + {double})", lambda p, q: p + q), ("({double} * {whole})", lambda p, q: p * float(q)),
        ("({whole} / {whole})", lambda p, q: divided(float(p), float(q))), ("({double} / {double})", divided),
        ("({double} % {double})", fmod), ("round({double})", rounded), ("abs({double})", abs),
        ("floor({double})", lambda p: float(math.floor(p)) if math.isfinite(p) else p),
        ("ceil({double})", lambda p: float(math.ceil(p)) if math.isfinite(p) else p),
        ("({double} * 0.1 * 3)", lambda p: p * 0.1 * 3), ("({double} * 1e308 * 10)", lambda p: p * 1e308 * 10),
        ("(0.1 + {double} + 0.2 + {double})", lambda p, q: 0.1 + p + 0.2 + q),
        ("sqrt({double})", lambda p: math.sqrt(p) if p >= 0 else math.nan), ("({m} / 4)", lambda m: float(m) / 4)],
    "text": [("({text} || {text})", lambda p, q: p + q), ("concat({text}, {text}, '-')", lambda p, q: f"{p}{q}-"),
        ("upper({text})", str.upper), ("lower({text})", str.lower), ("trim({text})", lambda p: p.strip(" ")),
        ("ltrim({text})", lambda p: p.lstrip(" ")), ("substring({text}, 2, 3)", lambda p: p[1:4]),
        ("substring({text}, 3)", lambda p: p[2:]), ("cast({whole} as string)", str), ("cast({d} as string)", str)],
    "instant": [[(f"({{instant}} + interval '{h}' hour)", functools.partial(operator.add, HOURS[h]))
        for h in (-25, 2, 24)], ("({instant} - interval 90 minutes)", lambda p: p - datetime.timedelta(minutes=90)),
        ("cast({d} as timestamp)", at_midnight), ("cast({s} as timestamp)", at_text)],
    "truth": [signs("({any} SIGN {any})", comparing), signs("({any} SIGN {any})", comparing),
        *(signs(f"({{ts}} SIGN timestamp '{BEGIN + HOURS[h]:%Y-%m-%d %H:%M:%S}')",
        lambda compare, p, h=h: compare(p, BEGIN + HOURS[h])) for h in (1, 5)),
        [(f"({{ts}} - cast({{d}} as timestamp) > interval '{h}' hour)",
        lambda p, d, h=h: p - at_midnight(d) > HOURS[h]) for h in (0, 1, 5)],
        signs("({d} SIGN '2026-03-30')", lambda compare, d: compare(d, DAY)),
        signs("({m} * 2 SIGN {m} + 1.505)", lambda compare, m, n: compare(m * 2, n + Decimal("1.505"))),
        ("(not {truth})", negated), ("({s} not in ('12', ''))", lambda s: s not in ("12", "")),
        *(listed(kind, values) for kind, values in LISTS.items()),
        ("({s} like '%''%')", lambda s: "'" in s),
        ("({s} like '_🙂%')", lambda s: s[1:2] == "🙂"),
        ("({s} like '50\\%_x%')", lambda s: s[:3] == "50%" and s[4:5] == "x"),
        ("({s} not like '_b%')", lambda s: s[1:2] != "b")],
}  # fmt: skip
"""Expressions of parts and columns, or lists of which one is drawn; of a null each is null."""
OF_NULLS: dict[str, list[Part | list[Part]]] = {
    "whole": [
        ("coalesce({whole}, {whole})", lambda p, q: q if p is None else p),
        ("nullif({whole}, {whole})", lambda p, q: None if p == q else p),
        ("case when {truth} then {whole} else {whole} end", lambda c, p, q: p if c else q),
        ("if({truth}, {whole}, null)", lambda c, p: p if c else None),
        (
            "case {whole} when {whole} then 1 when 2 then 5 end",
            lambda p, q: None if p is None else 1 if p == q else 5 if p == 2 else None,
        ),
    ],
    "truth": [
        ("({truth} and {truth})", conjunction), ("({any} is null)", lambda p: p is None), ("({any} <=> {any})", same),
        ("({truth} or {truth})", lambda p, q: negated(conjunction(negated(p), negated(q)))),
        ("({truth} is not true)", lambda p: p is not True), ("({x} in (1, 7, null))", lambda x: x in (1, 7) or None),
        ("({any} between {any} and {any})", lambda p, low, high: conjunction(above(p, low), above(high, p))),
    ],
}  # fmt: skip
"""Those that see nulls."""
LEAVES: dict[str, list[str]] = {
    "whole": ["{x}", "{i}", "{a b.c}", "{x}", "{i}", "0", "1", "2", "-3", "10", str(2**62)],
    "double": [*["{y}"] * 9, "0.5", "2.0", "-1.25", "1000.0"],
    "text": [*["{s}"] * 9, "''", "'a''b'", "'12'", "'x\\y'", "'50%'", "'${env:HOME}'", "'\n\0'"],
    "truth": ["{b}", "{b}", "true", "null"],
    "instant": ["{ts}"],
}
LITERALS = {"true": True, "null": None, "'a''b'": "a'b"}


def drawn(chance: random.Random, kind: str, depth: int) -> Node:
    """A random expression of a kind."""
    if not depth:
        leaf = chance.choice(LEAVES[kind])
        if leaf[0] != "{":
            value = LITERALS[leaf] if leaf in LITERALS else leaf[1:-1] if kind == "text" else float(leaf)
            return leaf, lambda row: int(leaf) if kind == "whole" else value
        return column(leaf[1:-1])
    seen = chance.choice([*PARTS[kind], *OF_NULLS.get(kind, [])])
    text, function = chance.choice(seen) if isinstance(seen, list) else seen
    any_kind = chance.choice(["whole", "double", "text", "instant"])
    names = re.findall(r"{(.*?)}", text)
    nodes = [
        column(name) if name in TYPES else drawn(chance, any_kind if name == "any" else name, depth - 1)
        for name in names
    ]
    texts = iter(nodes)

    def value_of(row: Row) -> Any:
        values = [value(row) for _, value in nodes]
        return None if seen not in OF_NULLS.get(kind, []) and None in values else function(*values)

    return re.sub(r"{.*?}", lambda _: next(texts)[0], text), value_of


def column(name: str) -> Node:
    return f"`{name}`" if " " in name else name, lambda row: row[name]


def expressions(count: int, seed: int) -> dict[str, Node]:
    chance = random.Random(seed)
    kinds = ("whole", "double", "text", "truth", "truth", "instant")
    return {f"e{at}": drawn(chance, kinds[at % len(kinds)], 1 + at % 3) for at in range(count)}


def query(events: Any, of: dict[str, Node]) -> Any:
    """A window for each row, with the value of each expression in it."""
    return events.window(ff.tumbling(1)).aggregate(**{name: ff.Last(ff.expr(text)) for name, (text, _) in of.items()})


def agree(found: pa.Table, rows: pa.Table, of: dict[str, Node]) -> None:
    found = found.sort_by("row").to_pylist()
    for name, (text, value) in of.items():
        for row, result in zip(rows.to_pylist(), found, strict=True):
            expected, got = value(row), result[name]
            assert same(expected, got), f"{text} of {row} is {expected!r} and not {got!r}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
def test_random_expressions_locally(seed: int) -> None:
    rows, of = table(40, seed), expressions(90, seed)
    agree(query(ff.events(rows, time="t", by="row"), of), rows, of)


@pytest.mark.slow
@pytest.mark.parametrize(("ansi", "zone"), [("true", "UTC"), ("false", "Europe/Berlin")])
def test_random_expressions_on_spark_in_any_session(spark: Any, ansi: str, zone: str) -> None:
    from ..support.spark_results import conf

    rows, of = table(40, 17), expressions(60, 17 + len(zone))
    with conf(spark, {"spark.sql.ansi.enabled": ansi, "spark.sql.session.timeZone": zone}):
        found = query(ff.events(spark.createDataFrame(rows), time="t", by="row"), of).toArrow()
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
    few = ff.events(table, time="t").where("x > 5 and seen > timestamp_ntz '2026-01-01 00:00:00'")
    assert len(few.window(ff.tumbling(1)).aggregate(n=ff.Count())) < 200


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
WIDE = "cast(x as decimal(30, 3))"
UNFIT = {
    "sped > 1": "names the unknown column 'sped'", "X > 1": "names the unknown column 'X'; did you mean 'x'?",
    "zone > 1": "string and int64 are not of one type", "zone + 1": "a part of it is of type string; expected numbers",
    "x || zone": "x is of type int64; expected string", "x and true": "x is of type int64; expected bool",
    "seen > 'noon'": "are not of one type", "date '2026-02-30' < seen": "'2026-02-30' is no date",
    "seen + interval 1 month > seen": "months and years have no fixed length",
    "seen.x > 1": "names 'x' of 'seen', which has no",
    "cast(price as string) = ''": "double as string is not the same on all engines",
    "x": "is of type int64; expected a boolean", f"{WIDE} * {WIDE} > 1": "expected at most 38: a cast to double",
    "cast(seen as timestamp_ntz) is null": "is not the same on all engines",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_known_is_refused_by_name(text: str) -> None:
    with pytest.raises(ff.QueryError, match=re.escape(REFUSED[text])):
        ff.expr(text)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_what_does_not_fit_the_columns_is_said(engine: str, request: pytest.FixtureRequest) -> None:
    made = sales() if engine == "local" else request.getfixturevalue("spark").createDataFrame(sales())
    events = ff.events(made, time="t")
    for text, said in UNFIT.items():
        with pytest.raises(ff.ColumnError, match=re.escape(said)):
            events.where(ff.expr(text))
    with pytest.raises(ff.ColumnError, match="the input 'sped / 2' names the unknown column"):
        events.window(ff.tumbling(1)).aggregate(x=ff.Sum(ff.expr("sped / 2")))


DEEP = {
    "(" * 2000 + "x > 1" + ")" * 2000: "has more than 100 brackets or signs in one another",
    "not " * 2000 + "x > 1": "more than 100 brackets or signs",
    "x" + " + 1" * 3000 + " > 1": "operators in more than 150 levels",
    "case" + " when x = 1 then 1" * 2000 + " end > 0": "a CASE of more than 1,000 WHENs",
    "x > 1e400": "no double is as large; expected at most 1.797",
    f"sped in ({', '.join(map(str, range(2000)))})": "names the unknown column 'sped'",
}
DEEP |= {f"{word}(" * 40 + "x" + ")" * 40: "not all engines know alike" for word in ("date", "timestamp", "struct")}
MANY = ", ".join(map(str, range(10_000)))


def test_long_conditions_and_nested_ones() -> None:
    """An expression of pyarrow's of 10,000 parts ends the process."""
    x = pa.array([None, 2, 6, 9, 12_000])
    events = ff.events(pa.table({"t": range(5), "x": x}), time="t")
    passing = {
        f"x not in ({MANY})": 1, "(" * 90 + "x is null" + ")" * 90: 1,
        "x" + " + 1" * 140 + " >= 146": 3,
    }  # fmt: skip
    for condition, rows in passing.items():
        found = events.where(condition).window(ff.tumbling(5)).aggregate(n=ff.Count())
        assert found["n"].to_pylist() == [rows]
    union = functools.reduce(operator.or_, [pc.field("x") == each for each in range(12_000)])
    for text, said in [*DEEP.items(), (union, "has 23,999 parts; expected at most 5,000")]:
        with pytest.raises(ff.QueryError, match=re.escape(said)) as error:
            events.where(text)
        assert len(str(error.value)) < 1000
    with pytest.raises(ff.QueryError, match="has 23,999 parts"):
        events.window(ff.tumbling(1)).aggregate(n=ff.Filtered(ff.Count(), union))


@pytest.mark.slow
@pytest.mark.parametrize(("sign", "word", "rows"), [("=", "or", 2), ("<>", "and", 0)])
def test_chains_of_conditions_are_as_long_as_they_are(sign: str, word: str, rows: int) -> None:
    chain = f" {word} ".join(f"x {sign} {each}" for each in range(11_000))
    table = pa.table({"t": [0, 1, 2], "x": [3, None, 10_999]})
    found = ff.events(table, time="t").where(chain).window(ff.tumbling(9)).aggregate(n=ff.Count())
    assert found["n"].to_pylist() == [rows] * (rows > 0)
    found = ff.sql(
        f"SELECT COUNT(*) AS n FROM TUMBLE(TABLE t, DESCRIPTOR(t), 9) WHERE {chain} GROUP BY window_start", t=table
    )
    assert found["n"].to_pylist() == [rows] * (rows > 0)


def test_literals_keep_all_their_digits() -> None:
    digits = "12345678901234567890123456789012345.125"
    rows = pa.table({"t": [0, 1], "m": pa.array([Decimal(digits), Decimal(digits[:-1] + "6")], pa.decimal128(38, 3))})
    found = ff.events(rows, time="t").where(f"m = {digits}").window(ff.tumbling(9)).aggregate(n=ff.Count())
    assert found["n"].to_pylist() == [1]


def test_a_condition_costs_what_its_columns_do_however_wide_the_table_is() -> None:
    def seconds(columns: int) -> float:
        table = pa.table({"t": range(10), **{f"x{at}": range(10) for at in range(columns)}})
        begin, events = time.process_time(), ff.events(table, time="t")
        events.where("x1 > 1").where(pc.field("x2") > 1).window(ff.lookback(5)).with_columns(n=ff.Count())
        events.window(ff.tumbling(5)).aggregate(
            **{f"n{at}": ff.Filtered(ff.Count(), ff.expr(f"x{at} > 1")) for at in range(9)}
        )
        ff.events(table, time=ff.expr("x1 + 1")).window(ff.tumbling(5)).aggregate(n=ff.Count())
        return time.process_time() - begin

    assert seconds(500) < 25 * min(seconds(10) for _ in range(2))


def test_ordered_categories_are_not_compared_as_text() -> None:
    sizes = pd.DataFrame({"t": [0, 1], "size": pd.Categorical(["s", "l"], ["s", "l"], ordered=True)})
    with pytest.raises(ff.ColumnError, match="engines compare the categories of an ordered dictionary as text"):
        ff.events(sizes, time="t").where(ff.expr("size > 's'"))
    found = ff.events(sizes, time="t").where(ff.expr("size = 'l'")).window(ff.tumbling(9)).aggregate(n=ff.Count())
    assert found["n"].to_pylist() == [1]
