"""Types of other libraries with more digits than are taken: a sentence where values have them, else results."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

LARGEST = 2**127 - 1
TEN = ff.tumbling(10)
TIMES = [dt.time(9, 30), dt.time(8, 15, 0, 1), None, dt.time(23, 59, 59, 999_999), dt.time(9, 30)]


def day(times: list[Any] | pl.Series = TIMES) -> pl.DataFrame:
    return pl.DataFrame({"t": range(5), "at": pl.Series(times, dtype=pl.Time), "x": [1, 2, 3, 4, 5]})


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (ff.First("at"), pl.col("at").drop_nulls().first()),
        (ff.Last("at"), pl.col("at").drop_nulls().last()),
        (ff.Min("at"), pl.col("at").min()),
        (ff.Max("at"), pl.col("at").max()),
        (ff.Count("at"), pl.col("at").count()),
        (ff.CountDistinct("at"), pl.col("at").drop_nulls().n_unique()),
        (ff.CollectList("at"), pl.col("at").drop_nulls().implode()),
        (ff.ArgMax("at", "x"), pl.col("at").sort_by("x").last()),
        (
            ff.ArgMin("x", "at"),
            pl.col("x").filter(pl.col("at").is_not_null()).sort_by(pl.col("at").drop_nulls()).first(),
        ),
        (ff.Filtered(ff.Max("at"), pc.field("x") < 4), pl.col("at").filter(pl.col("x") < 4).max()),
        (ff.Mode("at"), pl.col("at").drop_nulls().mode().first()),
    ],
    ids=str,
)
def test_times_of_day_of_polars(output: Any, expected: pl.Expr) -> None:
    """Polars has nanoseconds; once only a key could have them."""
    found = ff.events(day(), time="t").window(TEN).aggregate(v=output)
    theirs = day().select(expected).to_series().to_list()
    assert found["v"].to_pylist() == theirs


def test_times_of_day_over_windows_of_rows_and_from_pyarrow() -> None:
    for source in (day(), day().to_arrow()):
        found = ff.events(source, time="t", by="x").window(ff.last_rows(2)).aggregate(v=ff.Last("at"))
        assert found["v"].to_pylist() == TIMES
        assert found["v"].type == pa.time64("us")


def test_times_of_day_with_digits_below_a_microsecond() -> None:
    some = day(pl.Series([1, 2, 3, 4, 5]).cast(pl.Time))
    with pytest.raises(
        ff.ColumnError,
        match=r"^Last\('at'\) names 'at', which is time64\[ns\]; expected time64\[us\], or no digits below",
    ):
        ff.events(some, time="t").window(TEN).aggregate(v=ff.Last("at"))


def integers() -> Any:
    """DuckDB gives HUGEINT as decimals of 38 digits, whatever its digits."""
    return duckdb.sql(
        f"SELECT i AS t, {LARGEST}::HUGEINT - i AS huge, (i * 2)::HUGEINT AS small, [{LARGEST}::HUGEINT] AS several, "
        f"{{'of': -{LARGEST}::HUGEINT}} AS inner FROM range(5) r(i)"
    )


@pytest.mark.parametrize("column", ["huge", "several", "inner"])
def test_integers_of_more_than_38_digits_are_named(column: str) -> None:
    asked: list[tuple[Any, Any, Any]] = [((), TEN, ff.Last(column)), ((), ff.last_rows(2), ff.CollectList(column))]
    asked += [("huge", TEN, ff.Count()), ((), TEN, ff.Sum("huge"))] if column == "huge" else []
    sentence = f"the column '{column}' has an integer of more than 38 digits, the most of a decimal, as which DuckDB"
    for by, windows, output in asked:
        with pytest.raises(ff.ColumnError, match=sentence):
            ff.events(integers(), time="t", by=by).window(windows).aggregate(v=output)


def test_other_integers_of_duckdb_and_columns_beside_are_taken() -> None:
    found = ff.events(integers(), time="t").window(TEN).aggregate(s=ff.Sum("small"), n=ff.Count())
    assert found.select(["s", "n"]).to_pylist() == [{"s": 20, "n": 5}]
