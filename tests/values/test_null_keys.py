"""Null keys between two tables, as in SQL: where rows look up rows, a null is equal to nothing; groups take it in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.duck import asked
from ..support.limits import limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = pa.schema([("k", pa.string()), ("j", pa.int64()), ("t", pa.int64()), ("x", pa.int64())])
EVENTS = pa.Table.from_pylist(
    [
        dict(zip("kjtx", (("a", None, "b")[n % 3], (1, 1, None, 2)[n % 4], n * 7 % 20, n), strict=True))
        for n in range(40)
    ],
    KINDS,
)
LABELS = pa.table({"k": ["a", None, "b", "a", "c", None], "j": [1, 1, None, 2, 1, None], "at": [9, 9, 15, 20, 9, 3]})
LABELS = LABELS.append_column("since", pa.array([0, 2, 3, 0, 1, 0]))
ON = "l.k = e.k and l.j = e.j and e.t >= l.since and e.t < l.at"
SPANS = "select l.k, l.j, l.at, sum(e.x)::bigint, count(e.x), median(e.x) from l {} join e on {} group by all"
BY_TENS = "select k, j, t - t % 10 as start, sum(x)::bigint as s, count(*) as n from {} group by all"
OUTPUTS = {"s": ff.Sum("x"), "n": ff.Count(), "m": ff.Median("x")}


def events(data: Any) -> Any:
    return ff.events(data, time="t", by=["k", "j"])


def spans(data: Any, labels: Any, **more: Any) -> Any:
    windows: Any = ff.windows_from(labels, start="since", end="at", at="at", by=["k", "j"], **more)
    return events(data).options(window="flat").window(windows).aggregate(**OUTPUTS)


def beside(data: Any, labels: Any) -> Any:
    windows = ff.windows_from(labels, start="since", end="at", at="at", by=["k", "j"])
    return events(data).window(windows).with_columns(**OUTPUTS)


def back(data: Any, labels: Any) -> Any:
    return events(data).window(ff.lookback(5, at=labels)).aggregate(**OUTPUTS)


def tens(data: Any, keys: Any) -> Any:
    windows = ff.tumbling(10, empty="emit", fill_from=0, fill_to=20, fill_keys=keys)
    return events(data).options(window="flat").window(windows).aggregate(s=ff.Sum("x"), n=ff.Count())


def joined(data: Any, labels: Any) -> Any:
    rows = events(data).window(ff.sliding(5, every=1, closed="right")).relation()
    left = ff.relation(labels, valid_from="since", valid_to="at")
    return left.join(rows, on=["k", "j"], prefix="e_", how="at").rows()


def both(data: Any, labels: Any) -> Any:
    of_labels = ff.events(labels, time="at", by=["k", "j"])
    found = ff.together(e=events(data), l=of_labels).options(window="flat").window(ff.tumbling(10))
    return found.aggregate(s=ff.Sum("e.x"), n=ff.Count())


FILLED = f"""
    with g as ({BY_TENS.format("e")}), keys as (select k, j from e union select k, j from l)
    select k.k, k.j, v.start, g.s, coalesce(g.n, 0) from keys k cross join (values (0), (10)) as v(start)
    left join g on g.start = v.start and g.k is not distinct from k.k and g.j is not distinct from k.j
"""
CASES: dict[str, tuple[Callable[[Any, Any], Any], list[str], str]] = {
    "windows of labels": (lambda data, labels: spans(data, labels, empty="skip"), ["k", "j", "at", *OUTPUTS],
                          SPANS.format("", ON)),
    "all of them": (lambda data, labels: spans(data, labels, empty="emit"), ["k", "j", "at", *OUTPUTS],
                    SPANS.format("left", ON)),
    "beside labels": (beside, ["k", "j", "at", *OUTPUTS], SPANS.format("left", ON)),
    "lookbacks": (back, ["k", "j", "at", "s_5", "n_5", "m_5"], SPANS.format("left", ON.replace("l.since", "l.at - 5"))),
    "keys to fill": (tens, ["k", "j", "window_start", "s", "n"], FILLED),
    "relations": (joined, ["k", "j", "valid_from", "e_x"],
                  "select l.k, l.j, l.since, e.x from l left join e on l.k = e.k and l.j = e.j "
                  "and e.t <= l.since and l.since < e.t + 5"),
    "inputs together": (both, ["k", "j", "window_start", "s", "n"],
                        BY_TENS.format("(from e union all by name select k, j, l.at t from l)")),
}  # fmt: skip


def expected(query: str) -> list[Any]:
    return sorted(asked(query, e=EVENTS, l=LABELS).fetchall(), key=repr)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("edges", [0, 1 << 12])
@pytest.mark.parametrize("in_order", [False, True])
def test_null_keys_are_those_of_duckdb(name: str, edges: int, in_order: bool) -> None:
    ours, columns, query = CASES[name]
    with limits(lookback_edges=edges):
        found = ours(EVENTS.sort_by("t") if in_order else EVENTS, LABELS).select(columns).to_pylist()
    assert sorted((tuple(row.values()) for row in found), key=repr) == expected(query)


@pytest.mark.slow
def test_null_keys_on_spark(spark: SparkSession) -> None:
    data, labels = spark.createDataFrame(EVENTS), spark.createDataFrame(LABELS)
    for ours, columns, query in CASES.values():
        assert sorted((tuple(row) for row in ours(data, labels).select(columns).collect()), key=repr) == expected(query)
