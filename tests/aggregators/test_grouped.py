"""GroupedBy and ElementWise, against plain Python on each window's rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.composites import Row, check, events, known, total
from ..support.plans import Operation
from ..support.toys import Longest


def grouped(rows: list[Row], by: str) -> list[tuple[Any, list[Row]]]:
    """The rows of each value, in the order of the values: NaN last, zeros alike."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        if row[by] is not None:
            value = row[by]
            found.setdefault(
                "NaN" if value != value else value + 0.0 if isinstance(value, float) else value, []
            ).append(row)
    return sorted(found.items(), key=lambda item: (item[0] == "NaN", item[0] if item[0] != "NaN" else 0))


def test_states_are_not_aliased() -> None:
    table = pa.table({"t": [1, 2, 3, 4, 5], "k": ["a"] * 5})
    result = ff.events(table, time="t").window(ff.sliding(3, every=1)).aggregate(n=ff.GroupedBy(ff.Count(), "k"))
    assert [dict(n)["a"] for n in result["n"].to_pylist()] == [1, 2, 3, 3, 3, 2, 1][: len(result)]
    assert len(result) == 7


@pytest.mark.parametrize("by", ["s", "g", "x", "flag"])
def test_grouped_by_columns_of_many_types(by: str) -> None:
    def expected(rows: list[Row]) -> Any:
        return [(value, {"n": len(own), "x": total(known(own, "x"))}) for value, own in grouped(rows, by)]

    check(lambda: ff.GroupedBy(ff.AllOf(n=ff.Count(), x=ff.Sum("x")), by), expected, seeds=1)


@pytest.mark.parametrize(
    ("make", "result"),
    [
        (lambda: ff.Max("x"), lambda rows: max(known(rows, "x"), default=None)),
        (lambda: ff.Min("s"), lambda rows: min(known(rows, "s"), default=None)),
        (lambda: ff.CollectList("x"), lambda rows: known(rows, "x")),
        (lambda: ff.CountDistinct("s"), lambda rows: len(set(known(rows, "s")))),
        (lambda: Longest("s"), lambda rows: max(known(rows, "s"), key=len, default="")),
        (
            lambda: ff.Filtered(ff.Count("x"), "flag").then(lambda n: n * 2),
            lambda rows: 2 * len(known([row for row in rows if row["flag"]], "x")),
        ),
    ],
)
def test_grouped_operations(make: Any, result: Any) -> None:
    check(
        lambda: ff.GroupedBy(make(), "k2"), lambda rows: [(v, result(own)) for v, own in grouped(rows, "k2")], seeds=1
    )


@pytest.fixture(autouse=True)
def with_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events with a column that groups, with nulls, which is none of the others."""
    from ..oracles import composites

    def both(seed: int = 0, rows: int = 160) -> pa.Table:
        table = events(seed, rows)
        return table.append_column(
            "k2", pa.array([None if t % 7 == 0 else "xyz"[t % 3] for t in table["t"].to_pylist()])
        )

    monkeypatch.setattr(composites, "events", both)


def test_grouped_floats_keep_the_promise() -> None:
    table = pa.table({"t": range(8), "k": ["a"] * 8, "x": [1.0, 1e300, 1e16, *[0.5] * 5]})
    operation = ff.GroupedBy(ff.Sum("x"), "k")
    result = ff.events(table, time="t").window(ff.sliding(2, every=1)).aggregate(out=operation)
    assert [dict(out)["a"] for out in result["out"].to_pylist()][4:] == [1.0] * 4 + [0.5]


def test_nested_groups() -> None:
    def make() -> Operation:
        return ff.GroupedBy(ff.GroupedBy(ff.AllOf(c=ff.CountDistinct("s"), n=ff.Count()), "flag"), "k2")

    def expected(rows: list[Row]) -> Any:
        return [
            (
                value,
                [(f, {"c": len(set(known(of, "s"))), "n": len(of)}) for f, of in grouped(own, "flag")],
            )
            for value, own in grouped(rows, "k2")
        ]

    check(make, expected, seeds=1)


def test_vanished_groups_disappear() -> None:
    table = pa.table({"t": [0, 1, 2], "s": ["a", "b", "a"], "x": [0, 5, 0]})
    result = ff.events(table, time="t").window(ff.sliding(1, every=1)).aggregate(out=ff.GroupedBy(ff.Sum("x"), "s"))
    assert result["out"].to_pylist() == [[("a", 0)], [("b", 5)], [("a", 0)]]


def test_grouped_over_items() -> None:
    def expected(rows: list[Row]) -> Any:
        items = [{"i": item} for v in known(rows, "v") for item in v]
        return [(item, len(own)) for item, own in grouped(items, "i")]

    check(lambda: ff.FlatMapped(ff.GroupedBy(ff.Count(), "v")), expected, seeds=1)


def elements(rows: list[Row], column: str) -> list[list[Any]]:
    lists = known(rows, column)
    return [[each[i] for each in lists if len(each) > i] for i in range(max(map(len, lists), default=0))]


@pytest.mark.parametrize("column", ["v", "p"])
def test_lists_element_by_element(column: str) -> None:
    def expected(rows: list[Row]) -> Any:
        known_elements = [[value for value in place if value is not None] for place in elements(rows, column)]
        return [{"s": total(values), "high": max(values, default=None)} for values in known_elements]

    check(lambda: ff.ElementWise(ff.AllOf(s=ff.Sum(column), high=ff.Max(column))), expected, seeds=1)


def test_lists_of_integers() -> None:
    check(
        lambda: ff.ElementWise(ff.Count("v")),
        lambda rows: [sum(value is not None for value in place) for place in elements(rows, "v")],
        seeds=1,
    )


def test_maps_key_by_key() -> None:
    def expected(rows: list[Row]) -> Any:
        entries = [{"k": key, "x": value} for m in known(rows, "m") for key, value in m]
        return [(key, total(known(own, "x"))) for key, own in grouped(entries, "k")]

    check(lambda: ff.ElementWise(ff.Sum("m")), expected, seeds=1)


def test_a_companion_counts_for_each_element() -> None:
    table = pa.table({"t": [0, 1], "v": [[1, 2], [3]], "w": [10, 20]})
    operation = ff.ElementWise(ff.AllOf(v=ff.Sum("v"), w=ff.Sum("w")))
    result = ff.events(table, time="t").window(ff.tumbling(5)).aggregate(out=operation)
    assert result["out"].to_pylist() == [[{"v": 4, "w": 30}, {"v": 2, "w": 10}]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ff.GroupedBy("x", "s"), ff.QueryError, "GroupedBy is given 'x'"),
        (lambda: ff.GroupedBy(ff.Count(), "v"), ff.ColumnError, "whose values have an order; 'v' is list"),
        (lambda: ff.ElementWise(ff.Count()), ff.QueryError, "has no column"),
        (lambda: ff.ElementWise(ff.Sum("x")), ff.ColumnError, "lists, or one of maps; 'x' is int32"),
        (lambda: ff.ElementWise(ff.AllOf(a=ff.Sum("v"), b=ff.Sum("m"))), ff.ColumnError, "lists, or one of maps"),
    ],
)
def test_what_is_put_wrongly(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        ff.events(events(), time="t").window(ff.tumbling(5)).aggregate(out=make())
