"""Relations whose columns have any names, also those of columns of our own: the rows are those of plain names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from .cases import Definition, netted, relation, tables
from .queries import Asked, asked
from .test_relations import interpreted, on_spark, replayed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETS = [
    ("${spark.my.v}", "a b", "c.d"), ("#times", "#rank", "c0"), ("#tick", "#until", "#first"),
    ("#island", "#new", "#place"), ("e`f", "key", "${env:HOME}"), ("it's\n\0", "back\\slash", "50%_{0}"),
    ("#begin", "#number", "#low"),
]  # fmt: skip


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A query or events under other names."""
    if isinstance(value, dict):
        return {names.get(name, name): renamed(each, names) for name, each in value.items()}
    if isinstance(value, list):
        return [renamed(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


def under(seed: int, number: int) -> Asked:
    """The query of a seed, its columns under the names of a set; values that are called like a column keep theirs."""
    query, names = asked(seed), dict(zip("jkx", SETS[number], strict=True))
    names |= {f"p_{name}": f"p_{other}" for name, other in names.items()}
    return Asked(renamed(query.query, names), renamed(query.events, names), query.horizon)


@pytest.mark.parametrize("number", range(len(SETS)))
def test_any_names(number: int) -> None:
    for seed in range(20_000 + 110 * number, 20_000 + 110 * number + 110, 13):
        query = under(seed, number)
        expected = Definition(query.events, query.horizon).changes(query.query)
        found = relation(query.query, tables(query.events))
        assert netted(found.rows().to_pylist()) == expected, seed
        assert replayed(found.changes().to_pylist()) == expected, seed


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(SETS)))
def test_any_names_on_spark(spark: SparkSession, number: int) -> None:
    seeds = [20_000 + 11 * shape + number for shape in (2, 4, 5, 7)]  # join, distinct, difference, groups of a join
    queries = [under(seed, number) for seed in seeds]
    with interpreted(spark, 1):
        found = on_spark(spark, [(each.query, each.events) for each in queries])
    for seed, query, (rows, changes) in zip(seeds, queries, found, strict=True):
        expected = Definition(query.events, query.horizon).changes(query.query)
        assert (rows, changes) == (expected, expected), seed


@pytest.mark.parametrize("view", ["changes", "inserts", "deletes", "states"])
def test_columns_that_views_have(view: str) -> None:
    rows = ff.relation(pa.table({"a": [0], "b": [1], "at": [5], "weight": [7]}), valid_from="a", valid_to="b")
    arguments = (1,) if view == "states" else ()
    with pytest.raises(ff.QueryError, match=rf"{view}\(\) has a column 'at' of its own, and so have the rows"):
        getattr(rows, view)(*arguments)
    weights = rows.select("weight")
    if view == "states":
        assert weights.states(1).to_pylist() == [{"at": 0, "weight": 7}]
    else:
        with pytest.raises(ff.QueryError, match=rf"{view}\(\) has a column 'weight' of its own"):
            getattr(weights, view)()
    assert rows.select(weight_of_row="weight").changes()["weight_of_row"].to_pylist() == [7, 7]
