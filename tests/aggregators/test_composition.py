"""Operations made of others, against plain Python and SQL over each window's rows."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from decimal import Decimal as D
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

from ..oracles import composites
from ..oracles.composites import check, group_by, high, items, known, largest, longest, sums, total
from ..oracles.duck import asked
from ..support.plans import BoundAggregate, Operation
from ..support.toys import Longest

SHORT = pa.array([D("1.25"), D("2.50"), None, None], pa.decimal128(10, 2))
LONG = pa.array([D("1.255"), D("2.5"), None, None], pa.decimal128(38, 3))
DECIMALS = pa.table({"t": [0, 1, 2, 3], "d": SHORT, "long": LONG})
SPREAD = ff.AllOf(low=ff.Min("x"), high=ff.Max("x")).then(lambda of: of["high"] - of["low"])
CASES: list[tuple[Any, Any]] = [
    (ff.AllOf(sum=ff.Sum("x"), high=ff.Max("x"), words=Longest("s"), first=ff.First("x")),
        lambda rows: {"sum": sums(rows), "high": high(rows), "words": longest(rows), "first": composites.first(rows)}),
    (ff.Filtered(ff.AllOf(s=ff.Sum("x"), n=ff.Count()), lambda x: x > 0),
        lambda rows: {"s": total([x for x in known(rows, "x") if x > 0]), "n": sum(x > 0 for x in known(rows, "x"))}),
    (ff.Filtered(ff.Sum("x"), "flag"), lambda rows: sums(composites.flagged(rows))),
    (ff.Filtered(ff.Filtered(ff.Count("x"), lambda s: pc.equal(s, "red"), "s"), lambda f: f < 5, "f"),
        lambda rows: sum(s == "red" and f < 5 for s, f, _ in known(rows, "s", "f", "x"))),
    (ff.Mapped(ff.Sum("x"), lambda x: x.astype(np.int64) ** 2 + 1),
        lambda rows: total([x * x + 1 for x in known(rows, "x")])),
    (ff.Mapped(ff.Max("y"), lambda x, s: x + pc.utf8_length(s).to_numpy(), "x", "s"),
        lambda rows: largest([x + len(s) for x, s in known(rows, "x", "s")])),
    (ff.Mapped(ff.Count("y"), lambda x, f: x * f, "x", "f"), lambda rows: len(known(rows, "x", "f"))),
    (ff.Mapped(ff.AllOf(a=ff.Sum("a"), b=ff.Max("b")), lambda x: (x, -x), "x"),
        lambda rows: {"a": sums(rows), "b": largest([-x for x in known(rows, "x")])}),
    (ff.FlatMapped(ff.Sum("v")), lambda rows: total([item for item in items(rows) if item is not None])),
    (ff.FlatMapped(ff.AllOf(n=ff.Count("p"), x=ff.Sum("x"), items=ff.Count())), composites.pairs),
    (ff.FlatMapped(ff.Count(), None, "v"), lambda rows: len(items(rows))),
    (ff.FlatMapped(ff.Max("c"), lambda s: [list(each) for each in s.to_pylist()], "s"),
        lambda rows: largest(items(rows, "s"))),
    (ff.FlatMapped(ff.GroupedBy(ff.Count(), "v")),
        lambda rows: group_by("i", len)([{"i": item} for item in items(rows)])),
    (ff.Sum("x").then(lambda x: x / 3), lambda rows: sums(rows) / 3 if known(rows, "x") else None),
    (SPREAD.then(np.abs).then(lambda x: x > 4),
        lambda rows: max(known(rows, "x")) - min(known(rows, "x")) > 4 if known(rows, "x") else None),
    (ff.Count("x").then(lambda n: [f"{each:+}" for each in n], result="string"),
        lambda rows: f"{len(known(rows, 'x')):+}"),
    *((ff.GroupedBy(ff.AllOf(n=ff.Count(), x=ff.Sum("x")), by),
        group_by(by, lambda own: {"n": len(own), "x": sums(own)})) for by in ("s", "g", "x", "flag")),
    (ff.GroupedBy(ff.Max("x"), "k2"), group_by("k2", high)),
    (ff.GroupedBy(ff.Min("s"), "k2"), group_by("k2", lambda own: min(known(own, "s"), default=None))),
    (ff.GroupedBy(ff.CollectList("x"), "k2"), group_by("k2", lambda own: known(own, "x"))),
    (ff.GroupedBy(Longest("s"), "k2"), group_by("k2", longest)),
    (ff.GroupedBy(ff.Filtered(ff.Count("x"), "flag").then(lambda n: n * 2), "k2"),
        group_by("k2", lambda own: 2 * len(known(composites.flagged(own), "x")))),
    (ff.GroupedBy(ff.GroupedBy(ff.AllOf(c=ff.CountDistinct("s"), n=ff.Count()), "flag"), "k2"),
        group_by("k2", group_by("flag", lambda own: {"c": len(set(known(own, "s"))), "n": len(own)}))),
    *((ff.ElementWise(ff.AllOf(s=ff.Sum(column), high=ff.Max(column), n=ff.Count(column))),
        lambda rows, column=column: composites.elements(rows, column,
        lambda values: {"s": total(values), "high": largest(values), "n": len(values)})) for column in ("v", "p")),
    (ff.ElementWise(ff.Sum("m")), lambda rows: group_by("k", sums)(composites.entries(rows))),
    (ff.Reducing("x", 0, np.add, np.subtract), composites.reduced("x", 0, lambda a, b: a + b)),
    (ff.Reducing("x", 0, np.bitwise_xor, np.bitwise_xor), composites.reduced("x", 0, lambda a, b: a ^ b)),
    (ff.Reducing("x", 0, lambda a, b: a | b), composites.reduced("x", 0, lambda a, b: a | b)),
    (ff.Reducing("x", -(2**63), np.maximum), composites.reduced("x", -(2**63), max)),
    (ff.Reducing("flag", False, np.logical_or), composites.reduced("flag", False, lambda a, b: a or b)),
    (ff.Reducing("f", math.inf, np.minimum), composites.reduced("f", math.inf, min)),
    (ff.Reducing("s", "", lambda a, b: a + b), composites.reduced("s", "", lambda a, b: a + b)),
]  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("operation", "expected"), [pytest.param(*case, id=repr(case[0])) for case in CASES])
def test_in_every_way(operation: Any, expected: Any) -> None:
    check(operation, expected)


def windowed(table: pa.Table, window: Any, **outputs: Any) -> Any:
    """The results of some outputs in each window; of one, its own."""
    rows = ff.events(table, time="t").window(window).aggregate(**outputs).select(list(outputs)).to_pylist()
    return [row[next(iter(outputs))] for row in rows] if len(outputs) == 1 else rows


def test_what_passes_through_leaves_nothing() -> None:
    """Huge values in parts and groups, groups themselves, states of groups."""
    table = pa.table({"t": range(9), "k": ["a"] * 9, "x": [1.0, 1e300, *[1.0] * 7]})
    of_two = ff.sliding(2, every=1)
    assert windowed(table, of_two, out=ff.AllOf(s=ff.Sum("x")))[3:] == [{"s": 2.0}] * 6 + [{"s": 1.0}]
    found = windowed(table, of_two, out=ff.GroupedBy(ff.Sum("x"), "k"))
    assert [dict(out)["a"] for out in found[3:]] == [2.0] * 6 + [1.0]
    assert windowed(table, of_two, out=ff.Sum("x").then(np.sqrt))[3:] == [math.sqrt(2.0)] * 6 + [1.0]
    found = windowed(table.slice(0, 5), ff.sliding(3, every=1), n=ff.GroupedBy(ff.Count(), "k"))
    assert [dict(n)["a"] for n in found] == [1, 2, 3, 3, 3, 2, 1]
    table = pa.table({"t": [0, 1, 2], "s": ["a", "b", "a"], "x": [0, 5, 0]})
    found = windowed(table, ff.sliding(1, every=1), out=ff.GroupedBy(ff.Sum("x"), "s"))
    assert found == [[("a", 0)], [("b", 5)], [("a", 0)]]


def test_a_companion_counts_for_each_element() -> None:
    table = pa.table({"t": [0, 1], "v": [[1, 2], [3]], "w": [10, 20]})
    operation = ff.ElementWise(ff.AllOf(v=ff.Sum("v"), w=ff.Sum("w")))
    assert windowed(table, ff.tumbling(5), out=operation) == [[{"v": 4, "w": 30}, {"v": 2, "w": 10}]]


INT, FLOAT = pa.int64(), pa.float64()


@pytest.mark.parametrize(
    ("operation", "types", "deducts"),
    [
        (ff.AllOf(a=ff.Sum("x")), [INT], True),
        (ff.AllOf(a=ff.AllOf(sum=ff.Sum("x"), n=ff.Count("f"))), [INT, FLOAT], True),
        (ff.AllOf(a=ff.Sum("x"), b=ff.Max("x")), [INT, INT], False),
        (ff.Sum("x").then(np.sqrt), [FLOAT], True),
        (ff.Reducing("x", 0, np.add, np.subtract), [pa.int16()], True),
        (ff.Reducing("f", 0.0, np.add, np.subtract), [FLOAT], False),
        (ff.Reducing("x", 0, np.add), [INT], False),
    ],
    ids=repr,
)
def test_what_slides_by_deduct(operation: Any, types: list[pa.DataType], deducts: bool) -> None:
    assert BoundAggregate("out", operation, types).deducts[0] == deducts


def test_reducing_finds_out_about_order_and_types() -> None:
    assert BoundAggregate("out", ff.Reducing("x", 0, np.add), [INT]).commutative
    assert not BoundAggregate("out", ff.Reducing("s", "", lambda a, b: a + b), [pa.string()]).commutative
    table = pa.table({"t": [0, 1], "x": pa.array([100, 100], pa.int8())})
    wide = ff.Reducing("x", 1.0, np.multiply, type=FLOAT)
    assert windowed(table, ff.tumbling(5), a=ff.Reducing("x", 0, np.add), b=wide) == [{"a": 200, "b": 10000.0}]
    assert BoundAggregate("a", ff.Reducing("x", 0, np.add), [pa.int8()]).result == INT


@pytest.mark.parametrize(
    ("of", "expected", "type"),
    [
        (lambda d: pc.negate(d), D("-3.75"), pa.decimal128(20, 2)),
        (lambda d: pc.multiply(d, 2), D("7.50"), pa.decimal128(38, 2)),  # 40 digits, says Arrow
        (lambda d: d.cast(pa.float64()), 3.75, pa.float64()),
        (lambda d: [value * 2 for value in d.to_pylist()], D("7.50"), pa.decimal128(38, 2)),
        (lambda d: np.asarray(d) + D("1e9"), D("1000000003.75"), pa.decimal128(38, 2)),
        (lambda d: [value / 3 for value in d.to_pylist()], D("1.25"), pa.decimal128(38, 18)),
        (lambda d: [value / 7 for value in d.to_pylist()], D("0.535714285714285714"), pa.decimal128(38, 18)),
        (lambda d: [value / -9 for value in d.to_pylist()], D("-0.416666666666666667"), pa.decimal128(38, 18)),
        (lambda d: [[value, value] for value in d.to_pylist()], [D("3.75")] * 2, pa.list_(pa.decimal128(38, 2))),
        (lambda d: [{"a": value} for value in d.to_pylist()], {"a": D("3.75")}, pa.struct({"a": pa.decimal128(38, 2)})),
        (lambda d: [value > 1 for value in d.to_pylist()], True, pa.bool_()),
    ],
)
def test_then_of_decimals(of: Any, expected: Any, type: pa.DataType) -> None:
    """Typed by a trial; Python's decimals get room for more digits than the trial's had."""
    found = ff.events(DECIMALS, time="t").window(ff.tumbling(3)).aggregate(out=ff.Sum("d").then(of))["out"]
    assert (found.to_pylist(), found.type) == ([expected, None], type)


def test_mapped_decimals_and_those_of_two_columns() -> None:
    found = windowed(
        DECIMALS,
        ff.tumbling(3),
        both=ff.AllOf(a=ff.Sum("d"), b=ff.Sum("long")).then(lambda of: pc.add(of["a"], of["b"])),
        doubled=ff.Mapped(ff.Sum("d"), lambda d: [value * 2 for value in d.to_pylist()]),
        third=ff.Mapped(ff.Max("d"), lambda d: [value / 3 for value in d.to_pylist()]),
        product=ff.Mapped(ff.Max("p"), lambda d, long: pc.multiply(d, long), "d", "long"),
        declared=ff.Sum("d").then(lambda d: [value / 3 for value in d.to_pylist()], result=pa.decimal128(38, 30)),
    )
    numbers = ["7.505", "7.50", "0.833333333333333333", "6.25", "1.25"]
    assert [[*row.values()] for row in found] == [[D(number) for number in numbers], [None] * 5]


# Arithmetic between aggregates

D = decimal.Decimal


def events_of_sql(rows: int = 120) -> pa.Table:
    """Events of three keys, a fifth of whose values are null."""
    rng = np.random.default_rng(5)
    null = [rng.random(rows) < 0.2 for _ in range(3)]
    cents = [D(int(n)) / 100 for n in rng.integers(-(10**6), 10**6, rows)]
    return pa.table(
        {
            "t": np.sort(rng.integers(0, 300, rows)),
            "k": rng.integers(0, 3, rows),
            "a": pa.array(rng.integers(-50, 50, rows), mask=null[0]),
            "b": pa.array(rng.normal(0, 10, rows).round(3), mask=null[1]),
            "d": pa.array([None if no else cent for no, cent in zip(null[2], cents, strict=True)], pa.decimal128(9, 2)),
        }
    )


ARITHMETIC: dict[str, tuple[Operation, str]] = {
    "mean": (ff.Sum("a") / ff.Count(), "sum(a)::double / count(*)"),
    "of_known": (ff.Sum("b") / ff.Count("b"), "sum(b) / nullif(count(b), 0)"),
    "plus": (ff.Sum("a") + ff.Max("a"), "sum(a)::bigint + max(a)"),
    "minus": (ff.Max("a") - ff.Min("a") - 1, "max(a) - min(a) - 1"),
    "times": (2 * ff.Max("b"), "2 * max(b)"),
    "negative": (-ff.Max("a"), "-max(a)"),
    "mixed": (ff.Sum("a") * ff.Max("b"), "sum(a)::bigint * max(b)"),
    "nested": ((ff.Max("b") + 1) / (ff.Count() + ff.Count("a")), "(max(b) + 1) / (count(*) + count(a))"),
    "from_number": (1 - ff.Min("b"), "1 - min(b)"),
    "over_number": (ff.Max("a") / 4, "max(a)::double / 4"),
    "decimals": (ff.Max("d") - ff.Min("d"), "(max(d) - min(d))"),
    "decimal_product": (ff.Max("d") * D("1.5") * ff.Count("a"), "max(d) * 1.5::decimal(2, 1) * count(a)"),
    "decimal_ratio": (ff.Max("d") / 3, "max(d)::double / 3"),
}


def test_against_sql() -> None:
    table = events_of_sql()
    windows = ff.sliding(40, every=7)
    found = ff.events(table, time="t", by="k").window(windows).aggregate(**{n: op for n, (op, _) in ARITHMETIC.items()})
    terms = ", ".join(f"{sql} as {name}" for name, (_, sql) in ARITHMETIC.items())
    expected = asked(
        f"with starts as (select unnest(range(-42, 301, 7)) as s) select k, s, {terms} from rows_of, starts "
        "where t >= s and t < s + 40 group by k, s order by k, s",
        rows_of=table,
    ).fetchall()
    assert len(expected) > 50
    assert any(value is None for row in expected for value in row)
    for row, (key, start, *values) in zip(found.to_pylist(), expected, strict=True):
        assert (row["k"], row["window"]["start"]) == (key, start)
        for name, value in zip(ARITHMETIC, values, strict=True):
            if isinstance(value, float):
                assert row[name] == pytest.approx(value, rel=1e-12, abs=1e-12), name
            else:
                assert row[name] == value, name


def result_of(operation: Operation, **columns: Any) -> Any:
    """The result over one window of some columns."""
    table = pa.table({"t": [0] * len(next(iter(columns.values()))), **columns})
    return ff.events(table, time="t").window(ff.tumbling(1)).aggregate(x=operation)["x"].to_pylist()[0]


@pytest.mark.parametrize(
    ("operation", "columns", "right"),
    [
        (ff.Sum("x") / ff.Count(), {"x": pa.array([None, None], pa.int64())}, None),
        (ff.Count() * ff.Sum("x"), {"x": pa.array([None, None], pa.int64())}, None),
        (ff.Sum("x") / ff.Sum("z"), {"x": [1], "z": [0]}, math.inf),
        (-ff.Sum("x") / ff.Sum("z"), {"x": [1], "z": [0]}, -math.inf),
        (ff.Sum("z") / ff.Sum("z"), {"z": [0]}, math.nan),
        (np.float64(2) * ff.Max("x"), {"x": [3]}, 6.0),
        (np.int64(2) + ff.Max("x"), {"x": [2**53 + 1]}, 2**53 + 3),
        (ff.Max("x") / ff.Max("y"), {"x": [2**60 + 1], "y": [2**60 - 1]}, pytest.approx(1)),
        (ff.Max("x") + ff.Max("x"), {"x": pa.array([127], pa.int8())}, 254),
        (ff.Max("x") * ff.Max("x"), {"x": pa.array([3e30], pa.float32())}, pytest.approx(9e60, rel=1e-6)),
        (ff.Max("at") - ff.Min("at"), {"at": [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 3)]}, dt.timedelta(days=2)),
    ],
)
def test_awkward_operands(operation: Operation, columns: dict[str, Any], right: Any) -> None:
    """Null, zero below the line, numbers of numpy, integers above what floats hold, small types, times."""
    found = result_of(operation, **columns)
    assert found == right or (found != found and right != right)


def test_what_does_not_fit_is_an_error() -> None:
    with pytest.raises(ff.SumOverflowError, match=r"Max\('x'\) \+ 1 does not fit int64 .* cast a column to float64"):
        result_of(ff.Max("x") + 1, x=[2**63 - 1])


def test_names() -> None:
    assert repr((1 - ff.Sum("d")) * ff.Count()) == "(1 - Sum('d')) * Count()"
    assert ff.Mean is ff.Average
