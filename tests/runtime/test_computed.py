"""Column expressions as inputs of aggregates, on the local engine: against the same column made beforehand."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..oracles.duck import asked
from ..support.plans import ColumnExpression

SQL = """
    select k, t // 10 * 10 as s, sum(a * 2), sum(a * b), max(upper(k)),
        first(a + b order by t) filter (a is not null), count(*) filter (b > 0)
    from events where b > -10 group by all order by all
"""


def events(rows: int = 500) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "t": np.sort(rng.permutation(rows * 2)[:rows]),
            "k": pa.array(rng.choice(["a", "b", "c"], rows)),
            "a": pa.array(rng.integers(0, 9, rows), mask=rng.random(rows) < 0.1),
            "b": rng.integers(-20, 20, rows).astype(float),
        }
    )


def answers(data: Any, library: Any = pc) -> list[tuple[Any, ...]]:
    """The results of the aggregates in SQL."""
    if library is pl:
        a, b, k = pl.col("a"), pl.col("b"), pl.col("k").str.to_uppercase()
    else:
        a, b, k = pc.field("a"), pc.field("b"), pc.utf8_upper(pc.field("k"))
    query = ff.events(data, time="t", by="k").where(pc.field("b") > -10).window(ff.tumbling(10))
    computed = {"double": ff.Sum(a * 2), "product": ff.Sum(a * b), "upper": ff.Max(k), "first": ff.First(a + b)}
    results = query.aggregate(positive=ff.Filtered(ff.Count(), b > 0), **computed).to_pylist()
    return [(row["k"], row["window"]["start"], *(row[name] for name in (*computed, "positive"))) for row in results]


def test_on_data_of_every_kind(tmp_path: Path) -> None:
    table = events()
    expected = asked(SQL, events=table).fetchall()
    assert len(expected) > 100
    for part in range(3):
        pq.write_table(table.slice(part * 170, 170), tmp_path / f"{part}.parquet", row_group_size=50)
    frame = pl.from_arrow(table)
    for data in (table, table.to_reader(max_chunksize=7), ff.parquet(tmp_path), frame):
        assert answers(data) == expected
    assert answers(frame, pl) == expected


def test_a_polars_expression_sees_the_rows_of_where() -> None:
    frame = pl.DataFrame({"t": [0, 1, 2], "x": [1.0, 2.0, 30.0]})
    query = ff.events(frame, time="t").where(pc.field("x") < 10).window(ff.tumbling(10))
    share = query.aggregate(x=ff.Max(pl.col("x") / pl.col("x").sum()))["x"].to_pylist()
    assert share == [pytest.approx(2 / 3)]


def test_inside_others_and_for_all_arguments() -> None:
    table = pa.table({"t": [0, 1, 2], "g": [1, 2, 3], "x": [1.0, 2.0, 4.0]})
    g, x = pc.field("g"), pc.field("x")
    cases: dict[str, tuple[Any, Any]] = {
        "parts": (ff.AllOf(low=ff.Min(x + 1), high=ff.Max(x + 1)), {"low": 2.0, "high": 5.0}),
        "weighted": (ff.WeightedAverage(x * 2, g + 0), pytest.approx((2 * 1 + 4 * 2 + 8 * 3) / 6)),
        "grouped": (ff.GroupedBy(ff.Sum(x * 1), g > 1), [(False, 1.0), (True, 6.0)]),
        "mapped": (ff.Mapped(ff.Sum("made"), lambda y: y * 10, x + 1), 100.0),
        "ratio": (ff.Sum(x * 3) / ff.Sum(g * 1), pytest.approx(21 / 6)),
        "late": (ff.CountIf(g > 1), 2),
        "ones": (ff.Sum(pc.scalar(1)), 3),
        "best": (ff.ArgMax(g, x - 5), 3),
    }
    query = ff.events(table, time="t").window(ff.tumbling(10))
    (row,) = query.aggregate(**{name: operation for name, (operation, _) in cases.items()}).to_pylist()
    assert {name: row[name] for name in cases} == {name: expected for name, (_, expected) in cases.items()}


def test_expressions_of_one_text_are_told_apart() -> None:
    table = pa.table({"t": [0], "x": [3], "multiply_checked(x, 2)": [100]})
    found = ff.events(table, time="t").window(ff.tumbling(10))
    whole, part = pc.field("x") * 2, pc.field("x") * 2.0  # which print alike
    assert str(whole) == str(part)
    result = found.aggregate(i=ff.Sum(whole), f=ff.Sum(part), c=ff.Sum("multiply_checked(x, 2)"), again=ff.Max(whole))
    assert [str(type) for type in result.schema.types[1:]] == ["int64", "double", "int64", "int64"]
    assert list(result.to_pylist()[0].values())[1:] == [6, 6.0, 100, 6]


def test_a_column_by_itself_is_its_name() -> None:
    assert [ff.Sum(pc.field("x y")).columns, ff.Sum(pl.col("x y")).columns] == [("x y",), ("x y",)]
    assert type(ff.Sum(pc.field("x")).columns[0]) is str
    assert repr(ff.Sum(pc.field("x") * 2)) == "Sum(multiply_checked(x, 2))"


def test_it_is_pickled_as_its_text() -> None:
    made = pickle.loads(pickle.dumps(ff.Sum(pl.col("x") * 2)))
    assert made.columns == ('[(col("x")) * (dyn int: 2)]',)
    assert not isinstance(made.columns[0], ColumnExpression)


def test_text_of_other_libraries_can_be_filtered() -> None:
    frame = pl.DataFrame({"t": [0, 1], "k": ["a", "b"], "x": [1, 2]})
    found = ff.events(frame, time="t", by="k").where(pc.field("x") > 1).window(ff.tumbling(10)).aggregate(n=ff.Count())
    assert found.select(["k", "n"]).to_pylist() == [{"k": "b", "n": 1}]


ARROW = pa.table({"t": [0], "x": [1]})
POLARS = pl.DataFrame({"t": [0], "x": [1]})


@pytest.mark.parametrize(
    ("data", "expression", "parts"),
    [
        (ARROW, pc.field("xx") + 1, ["xx", "names the unknown column 'xx'", "mean 'x'?"]),
        (ARROW, pc.field("x") * "y", ["does not fit the columns", "(int64, string)"]),
        (ARROW, pc.field("x") / 0, ["cannot be computed of the events", "divide by zero"]),
        (ARROW, pl.col("x") * 2, ["is a Polars expression", "data of this process", "pyarrow.compute.field('x') * 2"]),
        (POLARS, pl.col("xx") * 2, ["does not fit the columns", "xx"]),
        (POLARS, pl.col("t", "x") * 2, ["does not fit the columns"]),
    ],
)
def test_messages(data: Any, expression: Any, parts: list[str]) -> None:
    with pytest.raises(ff.QueryError) as caught:
        ff.events(data, time="t").window(ff.tumbling(10)).aggregate(x=ff.Sum(expression))
    for part in ["the input", *parts]:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_spark_column_on_local_data() -> None:
    functions = pytest.importorskip("pyspark.sql.connect.functions")
    query = ff.events(POLARS, time="t").window(ff.tumbling(10))
    with pytest.raises(ff.QueryError, match=r"a Spark column, and the events are a Polars DataFrame; expected ff.expr"):
        query.aggregate(x=ff.Sum(functions.col("x") * 2))
