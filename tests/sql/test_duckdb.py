"""Random queries: DuckDB gives the same, of aggregates over windows on a grid, and over frames of rows."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

AGGREGATES = [
    "count(*)", "count(x)", "sum(x)", "avg(x)", "min(y)", "max(s)", "stddev(x)", "stddev_pop(x)", "var_samp(y)",
    "var_pop(y)", "median(x)", "corr(x, y)", "covar_pop(x, y)", "covar_samp(x, y)", "bool_and(b)", "bool_or(b)",
    "bit_and(x)", "bit_or(x)", "bit_xor(x)", "quantile_cont(x, 0.3)", "quantile_disc(x, 0.3)", "product(x)",
    "sum(x) filter (where y > 0)", "count(*) filter (where b)", "sum(x + 1)", "max(upper(s))",
]  # fmt: skip
OF_GROUPS = [
    *AGGREGATES, "count(distinct x)", "sum(distinct x)", "sum(x) + count(*)", "sum(y) / count(*)",
    "percentile_cont(0.3) within group (order by x)", "percentile_disc(0.7) within group (order by x)",
    "string_agg(s, '-' order by t)", "coalesce(max(x), 0) * 2", "case when count(*) > 2 then 'many' else 'few' end",
    "percentile_cont(0.3) within group (order by x desc)",
]  # fmt: skip
RANGES = [
    "", "range unbounded preceding", "range between interval '7 minutes' preceding and current row",
    "range between interval '7' minute preceding and interval '3' minute following",
    "range between interval '9 minutes' preceding and interval '2' minute preceding",
    "range between current row and interval '5' minute following", "range between current row and current row",
]  # fmt: skip
ROWS = [
    "rows between 2 preceding and current row", "rows 3 preceding", "rows unbounded preceding",
    "rows between 1 preceding and 2 following", "rows between 3 preceding and 1 preceding",
    "rows between 1 following and 2 following", "rows between current row and current row",
    "rows 2 preceding exclude no others", "rows between 2 preceding and current row exclude current row",
    "rows between current row and 2 following exclude current row", "rows unbounded preceding exclude current row",
]  # fmt: skip
WHERE = ["", "where y is not null", "where x > -3 and s in ('p', 'q')", "where b or k = 'a'"]


def table(seed: int, ties: bool) -> pa.Table:
    """Events of three keys and none, with nulls; ``t`` are times, and ``i`` the same in minutes."""
    rng, rows = np.random.default_rng(seed), 60
    minutes = rng.integers(0, 60, rows) if ties else rng.permutation(rows * 3)[:rows]

    def some(values: Any) -> pa.Array:
        return pa.array(values, mask=rng.random(rows) < 0.2)

    return pa.table(
        {
            "t": pa.array(np.datetime64("2024-01-01", "us") + minutes.astype("timedelta64[m]")),
            "i": minutes.astype("int64"),
            "n": np.arange(rows),
            "k": some(rng.choice(list("abc"), rows)),
            "x": some(rng.integers(-5, 6, rows)),
            "y": some(rng.normal(size=rows).round(2)),
            "b": some(rng.random(rows) < 0.5),
            "s": some(rng.choice(["p", "q", "r"], rows)),
        }
    )


def rows(of: pa.Table, ordered: bool) -> list[tuple[Any, ...]]:
    """Rows whose numbers are floats; DuckDB's correlation of equal values is NaN, and that of others null."""

    def plain(value: Any) -> Any:
        number = isinstance(value, (float, int, Decimal)) and not isinstance(value, bool)
        return value if not number else None if value != value else float(value)

    def rounded(row: tuple[Any, ...]) -> str:
        return repr([round(value, 4) + 0.0 if isinstance(value, float) else value for value in row])

    found = [tuple(map(plain, row.values())) for row in of.to_pylist()]
    return found if ordered else sorted(found, key=rounded)


def same(mine: str, theirs: str, t: pa.Table, *, ordered: bool = False) -> None:
    found, expected = rows(ff.sql(mine, t=t), ordered), rows(duckdb.sql(theirs).to_arrow_table(), ordered)
    assert len(found) == len(expected), mine
    for one, other in zip(found, expected, strict=True):
        numbers = [[value for value in row if isinstance(value, float)] for row in (one, other)]
        others = [[value for value in row if not isinstance(value, float)] for row in (one, other)]
        assert others[0] == others[1], mine
        assert numbers[0] == pytest.approx(numbers[1], abs=1e-9), mine


@pytest.mark.parametrize("seed", range(6))
def test_groups(seed: int) -> None:
    chosen, t = random.Random(seed), table(seed, ties=False)
    for _ in range(8):
        aggregates, where = ", ".join(chosen.sample(OF_GROUPS, 3)), chosen.choice(WHERE)
        key = chosen.choice(["k", "upper(k)", "k is null", "x + 1"])
        minutes, offset = chosen.choice([5, 20, 47]), chosen.choice([0, 3])
        having = chosen.choice(
            ["", "having count(*) > 1", "having min(x) < 0 and window_start > timestamp_ntz '2024-01-01'"]
        )
        mine = (
            f"select {key} as key, window_start, window_end, {aggregates} "
            f"from tumble(t, t, interval '{minutes}' minute, interval '{offset}' minute) {where} "
            f"group by 1, window_start, window_end {having}"
        )
        start = f"time_bucket(interval '{minutes}' minute, t, timestamp '1970-01-01 00:0{offset}:00')"
        theirs = (
            f"select {key} as key, {start} as window_start, {start} + interval '{minutes}' minute, {aggregates} "
            f"from t {where} group by {key}, {start} {having.replace('_ntz', '')}"
        )
        same(mine, theirs, t)


@pytest.mark.parametrize("seed", range(6))
def test_hops(seed: int) -> None:
    chosen, t = random.Random(seed), table(seed, ties=True)
    for _ in range(4):
        aggregates, where = ", ".join(chosen.sample(OF_GROUPS[:-3], 3)), chosen.choice(WHERE)
        slide, size = chosen.choice([(5, 20), (7, 20), (3, 6)])
        group = chosen.choice(["k", "k, s"])
        mine = (
            f"select {group}, window_start, {aggregates} from hop(t, t, interval '{slide} minutes', "
            f"interval '{size} minutes') {where} group by {group}, window_start"
        )
        first = f"time_bucket(interval '{slide}' minute, t, timestamp '1970-01-01')"
        starts = (
            f"select *, {first} - back * interval '{slide}' minute as window_start "
            f"from t, range({size // slide + 1}) as b(back)"
        )
        theirs = (
            f"select {group}, window_start, {aggregates} from (select * from ({starts}) "
            f"where t < window_start + interval '{size}' minute) {where} group by {group}, window_start"
        )
        same(mine, theirs, t)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_frames(seed: int, ties: bool) -> None:
    chosen, t = random.Random(seed), table(seed, ties)
    for frame in RANGES if ties else [*RANGES, *ROWS]:
        part, where = chosen.choice(["", "partition by k", "partition by k, s"]), chosen.choice(WHERE)
        calls = [
            f"{each} over ({part} order by t {frame}) as v{at}" for at, each in enumerate(chosen.sample(AGGREGATES, 3))
        ]
        query = f"select n, x * 2 as double, {', '.join(calls)} from t {where} order by n"
        same(query, query, t, ordered=True)


def test_frames_of_integers_and_dates() -> None:
    t = table(5, ties=True)
    t = t.append_column("d", pa.array(t["i"].to_numpy(), pa.int32()).cast(pa.date32()))
    for order in (
        "i range between 7 preceding and 2 preceding", "i", "i range current row", "d", "d range current row",
    ):  # fmt: skip
        query = f"select n, count(*) over (partition by k order by {order}) as c from t order by n"
        same(query, query, t, ordered=True)
    days = "d range between interval '7' day preceding and current row"
    query = f"select n, sum(x) over (order by {days}) as c from t order by n"
    same(query, query, t, ordered=True)


def test_what_is_computed_of_results() -> None:
    t = table(3, ties=False)
    same(
        "select m, n from (select n, avg(x) over (order by t rows 2 preceding) + 1 as m from t where x > 0) "
        "where m between 2 and 4 order by m desc, n limit 5 offset 2",
        "select m, n from (select n, avg(x) over (order by t rows 2 preceding) + 1 as m from t where x > 0) "
        "where m between 2 and 4 order by m desc nulls last, n limit 5 offset 2",
        t, ordered=True,
    )  # fmt: skip
    same(
        "with w as (select k, window_start, sum(x) as total from tumble(t, t, interval '10' minute) "
        "group by k, window_start) select k, window_start, max(total) as most, count(*) as n "
        "from tumble(table w, descriptor(window_start), interval '1' hour) group by k, window_start",
        "with w as (select k, time_bucket(interval '10' minute, t) as s, sum(x) as total from t group by 1, 2) "
        "select k, time_bucket(interval '1' hour, s), max(total), count(*) from w group by 1, 2",
        t,
    )
    same(
        "select z, count(*) as c from (select upper(k) as z, t as at, x from t where x is not null) as q "
        "where q.x < 4 group by z, window(at, '30 minutes')",
        "select upper(k), count(*) from t where x < 4 group by upper(k), time_bucket(interval '30' minute, t)",
        t,
    )


def test_the_ways_that_are_named_instead_of_places_in_an_order() -> None:
    t = table(7, ties=False)
    for call in ("lag(x)", "lead(x)", "row_number()"):
        with pytest.raises(ff.QueryError, match="is no aggregate; expected") as caught:
            ff.sql(f"select n, {call} over (partition by k order by t) as v from t", t=t)
        way = str(caught.value).partition("expected ")[2].replace("...", "partition by k order by t")
        theirs = f"select n, {call} over (partition by k order by t) as v from t order by n"
        same(f"select n, {way} as v from t order by n", theirs, t, ordered=True)


@pytest.mark.parametrize("order", ["v", "v desc", "v nulls last", "v desc nulls first", "2, v desc", "-v, n"])
def test_orders_with_nulls_and_nan(order: str) -> None:
    t = pa.table({"n": range(6), "k": list("ababab"), "v": [2.0, None, float("nan"), -1.0, 2.0, float("inf")]})
    query = f"select n, k, sum(v) over (order by n rows current row) as v from t order by {order}, n"
    theirs = query.replace("2, v desc", "k, v desc nulls last").replace(
        "order by v desc, n", "order by v desc nulls last, n"
    )
    theirs = theirs.replace("order by v, n", "order by v nulls first, n").replace("-v, n", "-v nulls first")
    assert repr(ff.sql(query, t=t).to_pylist()) == repr(duckdb.sql(theirs).to_arrow_table().to_pylist())
