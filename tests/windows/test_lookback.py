"""Lookbacks: a row for each event, or for each label, and a column for each size."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.lookbacks import by_duckdb

BASE = datetime.datetime(2024, 2, 28, 22)
SIZES = {"1h": "1 hour", "90m": "90 minutes", "1d": datetime.timedelta(days=1), "30d": "30 days"}
OUTPUTS: dict[str, Any] = {"spent": ff.Sum("x"), "n": ff.Count(), "most": ff.Max("x"), "ids": ff.CollectList("id")}


INTERVALS = {"1h": "1 hour", "90m": "90 minutes", "1d": "24 hours", "30d": "720 hours"}
"""The sizes as DuckDB has them, by what their outputs are called."""


def tables(seed: int, zone: str | None = None) -> tuple[pa.Table, pa.Table]:
    """Events and labels, of times that are often the same, and keys of which each has some that the other lacks."""
    rng = np.random.default_rng(seed)

    def times(count: int) -> pa.Array:
        steps = rng.choice([0, 3600, 5400, 86400], (count, 3)).sum(axis=1) * 1_000_000
        start = int((BASE - datetime.datetime(1970, 1, 1)).total_seconds()) * 1_000_000
        return pa.array(start + steps).cast(pa.timestamp("us", zone))

    def keys(count: int, of: list[str | None]) -> pa.Array:
        return pa.array([of[number] for number in rng.integers(0, len(of), count)], pa.string())

    events = {"t": times(80), "k": keys(80, ["a", "b", None, "e"]), "id": np.arange(80), "x": rng.integers(-9, 9, 80)}
    labels = {"id": np.arange(50)[::-1], "at": times(50), "k": keys(50, ["b", "a", "l", None]), "y": [[1]] * 50}
    return pa.table(events), pa.table(labels)


@pytest.mark.parametrize("closed", ["left", "both", "right", "neither"])
def test_as_duckdb_joins_and_groups(closed: Any) -> None:
    for seed in range(3):
        events, labels = tables(seed, "UTC" if seed else None)
        query = ff.events(events, time="t", by="k", ties="id")
        for at, rows, time in ((None, events, "t"), (labels, labels, "at")):
            windows = query.window(ff.lookback(*SIZES.values(), at=at, closed=closed))
            found = windows.aggregate(**OUTPUTS)
            assert found.select(rows.column_names).equals(rows)
            given = rows.select([time, "k"]).rename_columns(["until", "k"])
            wanted = by_duckdb(events, given, closed, INTERVALS, OUTPUTS)
            assert {name: found[name].to_pylist() for name in found.column_names[rows.num_columns :]} == wanted
            assert windows.with_columns(**OUTPUTS).equals(found)


def test_names_and_outputs_of_their_own() -> None:
    events = pa.table({"t": [1, 5, 9], "x": [1, 2, 4]})
    found = ff.events(events, time="t").window(ff.lookback(5, 10)).aggregate(
        s=ff.Sum("x"), so_far=ff.Count().over(ff.landmark())
    )  # fmt: skip
    assert found.to_pydict() == events.to_pydict() | {"s_5": [None, 1, 2], "s_10": [None, 1, 3], "so_far": [1, 2, 3]}
    dates = pa.table({"t": [datetime.date(2024, 3, day) for day in (2, 1, 9)], "x": [1, 2, 4]})
    found = ff.events(dates, time="t").window(ff.lookback("1 day", "2 weeks")).aggregate(n=ff.Count())
    assert found.select(["n_1d", "n_14d"]).to_pydict() == {"n_1d": [1, 0, 0], "n_14d": [1, 0, 2]}


def test_several_tables_of_windows_have_keys_without_events() -> None:
    events = pa.table({"t": [1, 2], "k": ["a", "b"]})
    labels = pa.table({"k": ["z", "a"], "from": [0, 0], "to": [2, 9], "until": [3, 1]})
    one, other = (ff.windows_from(labels, start="from", end=end, by="k") for end in ("to", "until"))
    found = ff.events(events, time="t", by="k").aggregate(n=ff.Count().over(one), m=ff.Count().over(other))
    rows = {(row["k"], row["window"]["end"]): (row["n"], row["m"]) for row in found.to_pylist()}
    assert rows == {("a", 1): (None, 0), ("a", 9): (1, None), ("z", 2): (0, None), ("z", 3): (None, 0)}


def test_lookbacks_of_events_without_keys() -> None:
    events = pa.table({"t": [1, 2, 7], "x": [1, 2, 4]})
    labels = pa.table({"at": [8, 0, 3, 9]})
    found = ff.events(events, time="t").window(ff.lookback(1, 6, at=labels)).aggregate(n=ff.Count(), s=ff.Sum("x"))
    assert found.to_pydict() == {
        "at": [8, 0, 3, 9], "n_1": [1, 0, 1, 0], "n_6": [2, 0, 2, 1], "s_1": [4, None, 2, None], "s_6": [6, None, 3, 4]
    }  # fmt: skip
    none = ff.events(events.slice(0, 0), time="t").window(ff.lookback(1, 6, at=labels)).aggregate(n=ff.Count())
    assert none.to_pydict() == {"at": [8, 0, 3, 9], "n_1": [0] * 4, "n_6": [0] * 4}


def test_what_is_refused() -> None:
    events = ff.events(pa.table({"t": [1, 2], "k": [1, 2], "n_1": [0, 0]}), time="t", by="k")
    with pytest.raises(ff.QueryError, match=r"lookback\(\) is given no size; expected some"):
        ff.lookback()
    with pytest.raises(ff.QueryError, match=r"lookback\(\) is given the size 0; expected sizes above zero"):
        ff.lookback(0)
    with pytest.raises(ff.QueryError, match=r"lookback.* has '24h' twice; expected sizes that differ"):
        ff.lookback("24 hours", "24h")
    with pytest.raises(ff.QueryError, match=r"lookback\(\) is '1 month 2 days', which mixes months"):
        ff.lookback("1 month 2 days")
    with pytest.raises(ff.QueryError, match=r"lookback\(\) is given both at= and every=; expected one"):
        ff.lookback(1, at=pa.table({"at": [1]}), every=1)
    with pytest.raises(ff.DurationError, match="every is 0"):
        events.window(ff.lookback(1, every=0)).aggregate(n=ff.Count())
    with pytest.raises(ff.DurationError, match="time is '-1 month', but the time 't' is an integer"):
        events.window(ff.lookback("1 month"))
    zoned = ff.events(pa.table({"t": pa.array([0], pa.timestamp("us", "UTC"))}), time="t")
    with pytest.raises(ff.QueryError, match="timezone is 'Mars'"):
        zoned.window(ff.lookback("1 month", timezone="Mars")).aggregate(n=ff.Count())
    with pytest.raises(ff.QueryError, match="closed is 'all'; expected"):
        ff.lookback(1, closed="all")  # type: ignore[arg-type]
    with pytest.raises(ff.ColumnError, match=r"lookback\(at=\) lacks the column 'k'"):
        events.window(ff.lookback(1, at=pa.table({"at": [1]})))
    with pytest.raises(ff.ColumnError, match=r"column 'at' of lookback\(at=\) is null in 1 rows"):
        events.window(ff.lookback(1, at=pa.table({"at": pa.array([None], pa.int64()), "k": [1]})))
    with pytest.raises(ff.QueryError, match="a lookback and other windows; expected it alone"):
        events.window(ff.lookback(1), ff.last_rows(2))
    with pytest.raises(ff.DurationError, match="time is '-1 hour', but the time 't' is an integer"):
        events.window(ff.lookback("1 hour"))
    with pytest.raises(ff.QueryError, match="would hide the column 'n_1' that is there"):
        events.window(ff.lookback(1)).aggregate(n=ff.Count())
    with pytest.raises(ff.QueryError, match="would be called 'n_1'"):
        events.window(ff.lookback(1)).aggregate(n=ff.Count(), n_1=ff.Count().over(ff.landmark()))
