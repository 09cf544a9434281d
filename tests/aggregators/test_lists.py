"""CollectList, Concat, FirstN and LastN against each window's own values in time order."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.brute import ANY, Row, assert_right, column, table_of


def known(rows: list[Row]) -> list[object]:
    return [value for (value,) in rows if value is not None]


@pytest.mark.parametrize("kind", ANY)
def test_every_type(kind: str) -> None:
    table = table_of(x=column(kind))
    assert_right(ff.CollectList("x"), table, known, windows=[(5, 2)])
    assert_right(ff.FirstN("x", 3), table, lambda rows: known(rows)[:3], windows=[(5, 2)])
    assert_right(ff.LastN("x", 3), table, lambda rows: known(rows)[-3:], windows=[(5, 2)])


def test_every_window() -> None:
    table = table_of(x=pa.array(range(220)))
    assert_right(ff.CollectList("x"), table, known)
    assert_right(ff.FirstN("x", 4), table, lambda rows: known(rows)[:4])
    assert_right(ff.LastN("x", 4), table, lambda rows: known(rows)[-4:])


def test_lists_of_lists() -> None:
    draw = column("int8")
    table = table_of(x=pa.array([None if each is None else [each, None] for each in draw.to_pylist()]))
    assert_right(ff.CollectList("x"), table, known, windows=[(5, 2)])


def test_concat() -> None:
    table = table_of(x=column("string"))

    def right(rows: list[Row]) -> str | None:
        return "<" + "; ".join(map(str, known(rows))) + ">" if known(rows) else None

    assert_right(ff.Concat("x", "; ", prefix="<", suffix=">"), table, right)
    assert_right(
        ff.Concat("x"), table, lambda rows: "".join(map(str, known(rows))) if known(rows) else None, windows=[(5, 2)]
    )


def test_times_with_a_date() -> None:
    days = [datetime.date(2024, 1, day) for day in (3, 1, 2)]
    found = ff.events(pa.table({"t": days, "x": [3, 1, 2]}), time="t").window(ff.tumbling("31 days"))
    lists = found.aggregate(x=ff.CollectList("x"))["x"].to_pylist()
    assert [x for each in lists for x in each] == [1, 2, 3]


def test_wrong_arguments() -> None:
    for n in (0, -1, 1.5, True):
        with pytest.raises(ff.QueryError, match="expected an integer of 1 or more"):
            ff.FirstN("x", n)  # type: ignore[arg-type]
    with pytest.raises(ff.QueryError, match=r"delimiter= of Concat\('x'\) is 3; expected a string"):
        ff.Concat("x", 3)  # type: ignore[arg-type]
    with pytest.raises(ff.ColumnError, match=r"Concat\('x'\) needs a column of strings; 'x' is int64"):
        ff.events(pa.table({"t": [0], "x": [1]}), time="t").window(ff.tumbling(1)).aggregate(x=ff.Concat("x"))
