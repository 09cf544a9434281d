"""AllOf, Filtered, Mapped, FlatMapped and then, against plain Python on each window's rows."""

from __future__ import annotations

import math
from decimal import Decimal as D
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

from ..oracles.composites import Row, check, events, known, total
from ..support.plans import BoundAggregate, Operation
from ..support.toys import Longest

DECIMALS = pa.table(
    {
        "t": [0, 1, 2, 3],
        "d": pa.array([D("1.25"), D("2.50"), None, None], pa.decimal128(10, 2)),
        "long": pa.array([D("1.255"), D("2.5"), None, None], pa.decimal128(38, 3)),
    }
)


def all_of() -> Operation:
    return ff.AllOf(sum=ff.Sum("x"), n=ff.Count(), high=ff.Max("x"), words=Longest("s"), first=ff.First("x"))


def test_all_of() -> None:
    def expected(rows: list[Row]) -> Any:
        x = known(rows, "x")
        return {
            "sum": total(x),
            "n": len(rows),
            "high": max(x, default=None),
            "words": max(known(rows, "s"), key=len, default=""),
            "first": x[0] if x else None,
        }

    check(all_of, expected)


@pytest.mark.parametrize("inner", [lambda: ff.Sum("x"), lambda: ff.AllOf(sum=ff.Sum("x"), n=ff.Count("f"))])
def test_all_of_slides_by_deduct_where_all_parts_do(inner: Any) -> None:
    assert BoundAggregate("out", ff.AllOf(a=inner()), [pa.int64(), pa.float64()][: len(inner().columns)]).deducts[0]


def test_all_of_slides_by_two_stacks_where_a_part_must() -> None:
    assert not BoundAggregate("out", ff.AllOf(a=ff.Sum("x"), b=ff.Max("x")), [pa.int64(), pa.int64()]).deducts[0]


def test_a_huge_value_passes_through_a_compensated_part() -> None:
    table = pa.table({"t": range(9), "x": [1.0, 1e300, *[1.0] * 7]})
    result = ff.events(table, time="t").window(ff.sliding(2, every=1)).aggregate(out=ff.AllOf(s=ff.Sum("x")))
    assert result["out"].to_pylist()[3:] == [{"s": 2.0}] * 6 + [{"s": 1.0}]


def test_filtered() -> None:
    check(
        lambda: ff.Filtered(ff.AllOf(s=ff.Sum("x"), n=ff.Count()), lambda x: x > 0),
        lambda rows: {"s": total([x for x in known(rows, "x") if x > 0]), "n": sum(x > 0 for x in known(rows, "x"))},
    )


def test_filtered_by_a_column() -> None:
    check(lambda: ff.Filtered(ff.Sum("x"), "flag"), lambda rows: total(known([r for r in rows if r["flag"]], "x")))


def test_filtered_by_other_columns_and_nested() -> None:
    def make() -> Operation:
        return ff.Filtered(ff.Filtered(ff.Count("x"), lambda s: pc.equal(s, "red"), "s"), lambda f: f < 5, "f")

    check(make, lambda rows: sum(s == "red" and f < 5 for s, f, _ in known(rows, "s", "f", "x")))


def test_mapped() -> None:
    def expected(rows: list[Row]) -> Any:
        return total([x * x + 1 for x in known(rows, "x")])

    check(lambda: ff.Mapped(ff.Sum("x"), lambda x: x.astype(np.int64) ** 2 + 1), expected)


def test_mapped_of_other_columns() -> None:
    def make() -> Operation:
        return ff.Mapped(ff.Max("y"), lambda x, s: x + pc.utf8_length(s).to_numpy(), "x", "s")

    check(make, lambda rows: max((x + len(s) for x, s in known(rows, "x", "s")), default=None))


def test_mapped_gives_null_where_an_argument_is() -> None:
    check(lambda: ff.Mapped(ff.Count("y"), lambda x, f: x * f, "x", "f"), lambda rows: len(known(rows, "x", "f")))


def test_mapped_to_several_columns() -> None:
    operation = ff.Mapped(ff.AllOf(a=ff.Sum("a"), b=ff.Sum("b")), lambda x: (x, -x), "x")
    result = ff.events(events(), time="t").window(ff.tumbling(100)).aggregate(out=operation)
    whole = total(known(events().to_pylist(), "x"))
    assert result["out"].to_pylist() == [{"a": whole, "b": -whole}]


def test_flat_mapped() -> None:
    def expected(rows: list[Row]) -> Any:
        return total([item for v in known(rows, "v") for item in v if item is not None])

    check(lambda: ff.FlatMapped(ff.Sum("v")), expected)


def test_flat_mapped_fixed_size_lists_and_companions() -> None:
    def make() -> Operation:
        return ff.FlatMapped(ff.AllOf(n=ff.Count("p"), x=ff.Sum("x"), items=ff.Count()))

    def expected(rows: list[Row]) -> Any:
        pairs = [(item, row["x"]) for row in rows for item in row["p"] or ()]
        return {
            "n": sum(item is not None for item, _ in pairs),
            "x": total([x for _, x in pairs if x is not None]),
            "items": len(pairs),
        }

    check(make, expected)


def test_flat_mapped_counts_items() -> None:
    check(lambda: ff.FlatMapped(ff.Count(), None, "v"), lambda rows: sum(len(v) for v in known(rows, "v")))


def test_flat_mapped_with_a_function() -> None:
    def make() -> Operation:
        return ff.FlatMapped(ff.Max("c"), lambda s: [list(each) for each in s.to_pylist()], "s")

    check(make, lambda rows: max((c for s in known(rows, "s") for c in s), default=None))


def test_then() -> None:
    check(
        lambda: ff.Sum("x").then(lambda x: x / 3),
        lambda rows: total(known(rows, "x")) / 3 if known(rows, "x") else None,
    )


def test_then_of_a_struct_and_chained() -> None:
    def make() -> Operation:
        both = ff.AllOf(low=ff.Min("x"), high=ff.Max("x"))
        return both.then(lambda of: of["high"] - of["low"]).then(np.abs).then(lambda x: x > 4)

    def expected(rows: list[Row]) -> Any:
        x = known(rows, "x")
        return max(x) - min(x) > 4 if x else None

    check(make, expected)


def test_then_says_its_type() -> None:
    operation = ff.Sum("x").then(lambda x: [f"{each:+}" for each in x], result="string")
    result = ff.events(events(), time="t").window(ff.tumbling(200)).aggregate(out=operation)
    assert result["out"].to_pylist() == [f"{total(known(events().to_pylist(), 'x')):+}"]


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
    query = ff.events(DECIMALS, time="t").window(ff.tumbling(3))
    found = query.aggregate(out=ff.Sum("d").then(of))["out"]
    assert (found.to_pylist(), found.type) == ([expected, None], type)


def test_then_of_decimals_of_two_columns() -> None:
    both = ff.AllOf(a=ff.Sum("d"), b=ff.Sum("long")).then(lambda of: pc.add(of["a"], of["b"]))
    found = ff.events(DECIMALS, time="t").window(ff.tumbling(3)).aggregate(out=both)["out"]
    assert (found.to_pylist(), found.type) == ([D("7.505"), None], pa.decimal128(38, 3))


def test_mapped_decimals() -> None:
    query = ff.events(DECIMALS, time="t").window(ff.tumbling(3))
    found = query.aggregate(
        doubled=ff.Mapped(ff.Sum("d"), lambda d: [value * 2 for value in d.to_pylist()]),
        third=ff.Mapped(ff.Max("d"), lambda d: [value / 3 for value in d.to_pylist()]),
        product=ff.Mapped(ff.Max("p"), lambda d, long: pc.multiply(d, long), "d", "long"),
    )
    right = {"doubled": D("7.50"), "third": D("0.833333333333333333"), "product": D("6.25")}
    nothing = dict.fromkeys(right)
    assert found.select(list(right)).to_pylist() == [right, nothing]


def test_decimals_that_have_no_room() -> None:
    query = ff.events(DECIMALS, time="t").window(ff.tumbling(3))
    with pytest.raises(ff.OperationError, match="returned what cannot be a column"):
        query.aggregate(out=ff.Sum("d").then(lambda d: [D(10) ** int(value * 20) for value in d.to_pylist()]))
    declared = ff.Sum("d").then(lambda d: [value / 3 for value in d.to_pylist()], result=pa.decimal128(38, 30))
    assert query.aggregate(out=declared)["out"].to_pylist() == [D("1.25"), None]
    with pytest.raises(ff.OperationError, match=r"cannot be told, as it fails on made-up events \(ZeroDivisionError"):
        query.aggregate(out=ff.Sum("d").then(lambda d: 1 / 0))


def test_then_keeps_deduct() -> None:
    assert BoundAggregate("out", ff.Sum("x").then(np.sqrt), [pa.float64()]).deducts[0]
    table = pa.table({"t": range(6), "x": [1e16, 1.0, 1.0, 1.0, 1.0, 1.0]})
    result = ff.events(table, time="t").window(ff.sliding(2, every=1)).aggregate(out=ff.Sum("x").then(np.sqrt))
    assert result["out"].to_pylist()[2:] == [math.sqrt(2.0)] * 4 + [1.0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ff.AllOf(), ff.QueryError, "no operations"),
        (lambda: ff.AllOf(a=3), ff.QueryError, "AllOf's a= is given 3"),
        (lambda: ff.AllOf(**{"a.b": ff.Count()}), ff.QueryError, "without a dot"),
        (lambda: ff.Filtered(ff.Sum, "x"), ff.QueryError, r"such as ff.Sum\(...\)"),
        (lambda: ff.Filtered(ff.Sum("x"), 3), ff.QueryError, "predicate of Filtered"),
        (lambda: ff.Filtered(ff.Count(), lambda: True), ff.QueryError, "no columns to test"),
        (lambda: ff.Filtered(ff.Sum("x"), "flag", "x"), ff.QueryError, "expected none"),
        (lambda: ff.Filtered(ff.Sum("x"), "s"), ff.ColumnError, "needs a boolean column; 's' is string"),
        (lambda: ff.Filtered(ff.Sum("x"), lambda x: x), ff.OperationError, "expected 16 booleans"),
        (lambda: ff.Mapped(ff.Sum("x"), "f"), ff.QueryError, "expected a function"),
        (lambda: ff.Mapped(ff.Count(), abs), ff.QueryError, "takes no column"),
        (lambda: ff.Mapped(ff.Sum("x"), lambda x: 1 / 0), ff.OperationError, "declare it"),
        (lambda: ff.Mapped(ff.Sum("x"), lambda x: x[:1]), ff.OperationError, "expected 16, one each"),
        (lambda: ff.Mapped(ff.Sum("x"), lambda x: x, type="int"), ff.QueryError, "expected an Arrow type"),
        (lambda: ff.Mapped(ff.Sum("y"), lambda s: s, "s"), ff.ColumnError, "needs a column of numbers"),
        (lambda: ff.FlatMapped(ff.Sum("x")), ff.ColumnError, "needs lists"),
        (lambda: ff.Sum("x").then("y"), ff.QueryError, "expected a function"),
    ],
)
def test_what_is_put_wrongly(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        ff.events(events(), time="t").window(ff.tumbling(5)).aggregate(out=make())


def test_lists_of_different_lengths() -> None:
    table = pa.table({"t": [0], "a": [[1, 2]], "b": [[1]]})
    operation = ff.FlatMapped(ff.AllOf(a=ff.Sum("a"), b=ff.Sum("b")))
    with pytest.raises(ff.OperationError, match="lists of 2 and of 1 items"):
        ff.events(table, time="t").window(ff.tumbling(5)).aggregate(out=operation)
