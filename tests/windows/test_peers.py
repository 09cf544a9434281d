"""The same windows as DuckDB has them, on some thousand random events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.duck import asked

EVENTS = 3_000
MEASURES = ["n", "s", "low", "high", "mean"]


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """Four keys of uneven size, one of them null; many ties; a tie-breaker without ties; in random order."""
    random = np.random.default_rng(4)
    keys, times = random.choice(4, EVENTS, p=[0.6, 0.25, 0.1, 0.05]), random.integers(-2_000, 2_000, EVENTS)
    return pa.table({
        "key": pa.array([None if k == 2 else "abcd"[k] for k in keys], pa.string()), "t": times,
        "tie": random.permutation(EVENTS),
        "v": pa.array(random.integers(-1_000, 1_000, EVENTS), pa.int64(), mask=random.random(EVENTS) < 0.1),
        "until": times + np.random.default_rng(7).integers(1, 120, EVENTS),
    })  # fmt: skip


def measures() -> dict[str, Any]:
    low, high = ff.Min("v"), ff.Max("v")
    return {"n": ff.Count(), "s": ff.Sum("v"), "low": low, "high": high, "mean": ff.Average("v")}


def ours(table: pa.Table, window: Any, time: str = "t", **more: Any) -> pa.Table:
    return ff.events(table, time=time, **more).window(window).aggregate(**measures())


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """A result as rows that compare: key, at or window, measures."""
    flat = table.flatten() if "at" not in table.column_names else table.drop_columns("window")
    return [tuple(row.values()) for row in flat.to_pylist()]


def assert_same(got: list[tuple[Any, ...]], want: list[tuple[Any, ...]]) -> None:
    """The same rows in the same order; floats as good as equal."""
    assert len(got) == len(want)
    for mine, theirs in zip(got, want, strict=True):
        assert mine[:-1] == theirs[:-1]
        assert mine[-1] == (None if theirs[-1] is None else pytest.approx(theirs[-1], rel=1e-12, abs=1e-12))


def framed(frame: str, where: str = "true") -> str:
    """One row an event, by key, time and tie-breaker, over a frame of SQL."""
    functions = ["count(*)", "sum(v)", "min(v)", "max(v)", "avg(v)"]
    over = ", ".join(f"{function} OVER w AS {name}" for name, function in zip(MEASURES, functions, strict=True))
    order = "t" if frame.startswith("RANGE") else "t, tie"
    inner = (
        f"SELECT key, t, tie, row_number() OVER (PARTITION BY key ORDER BY t, tie) AS r, "
        f"count(*) OVER (PARTITION BY key) AS size, {over} FROM events "
        f"WINDOW w AS (PARTITION BY key ORDER BY {order} {frame})"
    )
    return f"SELECT key, t, n, s::bigint, low, high, mean FROM ({inner}) WHERE {where} ORDER BY key NULLS FIRST, t, tie"


def between(kind: str, first: int, last: int) -> str:
    sides = [
        "CURRENT ROW" if at == 0 else f"{abs(at)} {'PRECEDING' if at < 0 else 'FOLLOWING'}" for at in (first, last)
    ]
    return f"{kind} BETWEEN {' AND '.join(sides)}"


def around_rows(ends: tuple[int, int], fill: Any) -> tuple[Any, str]:
    complete = f"r + {ends[0]} >= 1 AND r + {ends[1]} <= size"
    where = complete if fill == "full" else "n > 0"
    return ff.around(rows=ends, min_fill=fill), framed(between("ROWS", *ends), where)


def last_rows(n: int, every: int, fill: Any) -> tuple[Any, str]:
    where = f"r % {every} = 0" + (f" AND r >= {n}" if fill == "full" else "")
    windows = ff.last_rows(n, every, min_fill=fill, gaps="allow")
    return windows, framed(f"ROWS BETWEEN {n - 1} PRECEDING AND CURRENT ROW", where)


MEASURED = "count(*), sum({0}v)::bigint, min({0}v), max({0}v), avg({0}v)"
LAST_D = f"""
    SELECT a.key, a.t, {MEASURED.format("b.")}
    FROM events a JOIN events b ON a.key IS NOT DISTINCT FROM b.key
    AND b.t >= a.t - 25 AND (b.t, b.tie) <= (a.t, a.tie)
    GROUP BY a.key, a.t, a.tie ORDER BY a.key NULLS FIRST, a.t, a.tie"""
OVER_FRAMES: dict[str, tuple[Any, str]] = {
    **{f"around time {ends}": (ff.around(time=ends), framed(between("RANGE", *ends)))
        for ends in ((-300, 20), (3, 90), (-80, -10))},
    **{f"around rows {ends} {fill}": around_rows(ends, fill)
        for ends, fill in (((-1, 2), "partial"), ((1, 3), "full"), ((-7, -4), "partial"), ((-500, 400), "full"))},
    **{f"last rows {each}": last_rows(*each) for each in ((4, 3, "partial"), (100, 7, "full"), (9, 20, "full"))},
    "running values": (ff.landmark(), framed("ROWS UNBOUNDED PRECEDING")),
    "the last d as SPL has it": (ff.policy(ff.by_time(25)), LAST_D),
}  # fmt: skip
"""Windows, and SQL. What SPL evicts by time at a row is at most as old, and not yet what is as late but comes later."""


@pytest.mark.parametrize("name", OVER_FRAMES)
def test_windows_beside_events(events: pa.Table, name: str) -> None:
    windows, sql = OVER_FRAMES[name]
    assert_same(rows(ours(events, windows, by="key", ties="tie")), asked(sql, events=events).fetchall())


def sessions(gap: int, merge: bool) -> tuple[Any, str]:
    """Gaps and islands."""
    return (
        ff.session(gap, merge_touching=merge),
        f"""
        WITH marked AS (SELECT *, t - lag(t) OVER (PARTITION BY key ORDER BY t) {">" if merge else ">="} {gap} AS new
                        FROM events),
        numbered AS (SELECT *, count(*) FILTER (new) OVER (PARTITION BY key ORDER BY t) AS number FROM marked)
        SELECT key, min(t), max(t) + {gap}, {MEASURED.format("")}
        FROM numbered GROUP BY key, number ORDER BY key NULLS FIRST, min(t)""",
    )


def lifetimes(size: int, every: int) -> tuple[Any, str]:
    return (
        ff.sliding(size, every, gaps="allow"),
        f"""
        SELECT key, k * {every} AS s, k * {every} + {size}, {MEASURED.format("")}
        FROM events, generate_series(-{3000 // every}, {3000 // every}) AS w(k)
        WHERE t < k * {every} + {size} AND until > k * {every}
        GROUP BY key, k ORDER BY key NULLS FIRST, s""",
    )


SNAPSHOTS = f"""
    WITH points AS (SELECT key, t AS p FROM events UNION SELECT key, until FROM events),
    pieces AS (SELECT key, p, lead(p) OVER (PARTITION BY key ORDER BY p) AS next FROM points)
    SELECT a.key, p, next, {MEASURED.format("")}
    FROM pieces JOIN events a ON a.key IS NOT DISTINCT FROM pieces.key AND a.t < next AND a.until > p
    GROUP BY a.key, p, next ORDER BY a.key NULLS FIRST, p"""
OF_KEYS: dict[str, tuple[Any, str]] = {
    **{f"sessions {each}": sessions(*each) for each in ((1, False), (5, True), (20, False), (20, True))},
    **{f"interval events {each}": lifetimes(*each) for each in ((100, 30), (7, 50))},
    "snapshots": (ff.snapshot(), SNAPSHOTS),
}


@pytest.mark.parametrize("name", OF_KEYS)
def test_windows_of_keys(events: pa.Table, name: str) -> None:
    windows, sql = OF_KEYS[name]
    wanted = asked(sql, events=events).fetchall()
    assert len(wanted) > 10
    until = None if name.startswith("sessions") else "until"
    assert_same(rows(ours(events, windows, by="key", until=until)), wanted)
