"""Outputs that are filled where they have no value: as pandas' ffill and interpolate by key, on every engine."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import framefold as ff

START = pd.Timestamp("2026-03-01", tz="UTC")
SCHEMA = pa.schema([("t", pa.timestamp("us", tz="UTC")), ("k", pa.string()), ("x", pa.float64()), ("w", pa.string())])


def events(seed: int, rows: int = 120) -> pa.Table:
    rng = np.random.default_rng(seed)
    seconds = np.unique(rng.integers(0, 4000, rows)).astype(np.int64)
    x = [None if each < 0.3 else float(each) for each in rng.random(len(seconds))]
    keys = rng.choice(["a", "b", "c", None], len(seconds), p=[0.6, 0.2, 0.1, 0.1])
    times = pa.array(seconds * 1_000_000 + START.value // 1000, pa.int64()).cast(SCHEMA.types[0])
    return pa.table(
        [times, pa.array(keys, pa.string()), pa.array(x, pa.float64()), [f"w{at}" for at in seconds]], SCHEMA
    )


def outputs() -> dict[str, Any]:
    return {
        "last": ff.Last("x").filled("last"), "line": ff.Average("x").filled("linear"), "n": ff.Count(),
        "plain": ff.Average("x"), "text": ff.Last("w").filled("last"), "total": ff.Sum("x").filled("linear"),
    }  # fmt: skip


def by_pandas(table: pa.Table, minutes: int) -> pa.Table:
    """Resampled by pandas, each key by itself."""
    found = []
    for key, rows in table.to_pandas().groupby("k", dropna=False):
        bins = rows.set_index("t").resample(f"{minutes}min", origin="epoch")
        last, mean, total = bins["x"].last(), bins["x"].mean(), bins["x"].sum(min_count=1)
        index = mean.index
        found += zip(
            [None if pd.isna(key) else key] * len(index), index, last.ffill(),
            mean.interpolate("time", limit_area="inside"), bins.size(), mean, bins["w"].last().ffill(),
            total.interpolate("time", limit_area="inside"), strict=True,
        )  # fmt: skip
    return sorted(found, key=lambda row: (row[0] is not None, row[0] or "", row[1]))


def agree(found: pa.Table, expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for row, (key, start, *values) in zip(found.to_pylist(), expected, strict=True):
        assert (row["k"], pd.Timestamp(row["window"]["start"])) == (key, start)
        for name, value in zip(("last", "line", "n", "plain", "text", "total"), values, strict=True):
            missing = value is None or value != value
            right = None if missing else value if name in ("text", "n") else pytest.approx(value)
            assert row[name] == right


def query(of: Any, minutes: int) -> Any:
    return of.window(ff.tumbling(f"{minutes} minutes", empty="emit"))


@pytest.mark.parametrize(("seed", "chunk"), [(0, 1), (1, 3), (2, 3), (3, 1), (0, 1 << 18)])
def test_as_pandas_in_chunks_of_any_size(limit: Callable[..., None], seed: int, chunk: int) -> None:
    limit(chunk_windows=chunk)
    table = events(seed, 25 if seed % 2 else 120)
    agree(query(ff.events(table, time="t", by="k"), 2).aggregate(**outputs()), by_pandas(table, 2))


def test_without_a_key(limit: Callable[..., None]) -> None:
    limit(chunk_windows=4)
    table = events(5, 30)
    found = query(ff.events(table, time="t"), 3).aggregate(**outputs())
    one = table.set_column(1, "k", pa.nulls(len(table), pa.string()))
    agree(found.add_column(0, "k", pa.nulls(len(found), pa.string())), by_pandas(one, 3))


TABLE = pa.table({"from": [-3, 5, 26, 51, 76], "to": [1, 9, 30, 55, 80]})
WINDOWS = {
    "sliding": ff.sliding(4, every=1, empty="emit"), "paired": ff.sliding(7, every=3, empty="emit"),
    "right": ff.sliding(4, every=2, closed="right", empty="emit"),
    "cumulating": ff.cumulating(12, every=3, empty="emit"),
    "filled up": ff.tumbling(2, empty="emit", fill_from=-10, fill_to=100),
    "at their start": ff.tumbling(3, empty="emit", stamp="start"),
    "samples": ff.sliding(6, every=2, empty="emit", min_samples=2),
    "policy": ff.policy(evict=ff.by_time(5), trigger=ff.by_time(2), empty="emit"),
    "from a table": ff.windows_from(TABLE, start="from", end="to", empty="emit"),
}  # fmt: skip


@pytest.mark.parametrize("name", WINDOWS)
def test_every_kind_of_windows_that_gives_empty_ones(limit: Callable[..., None], name: str) -> None:
    """By definition, from the result without filling."""
    limit(chunk_windows=5)
    rng = np.random.default_rng(len(name))
    times = np.sort(rng.choice(90, 14, replace=False))
    table = pa.table(
        {"t": times, "k": rng.integers(0, 2, 14), "x": pa.array(rng.integers(0, 50, 14), mask=rng.random(14) < 0.3)}
    )
    windows = ff.events(table, time="t", by="k").window(WINDOWS[name])
    plain = windows.aggregate(x=ff.Sum("x")).to_pylist()
    filled = windows.aggregate(last=ff.Sum("x").filled("last"), line=ff.Sum("x").filled("linear")).to_pylist()
    assert any(row["x"] is None for row in plain)
    for at, (row, found) in enumerate(zip(plain, filled, strict=True)):
        known = [(each.get("at", each["window"]["end"]), each["x"]) for each in plain if each["k"] == row["k"]]
        mine = [each["k"] for each in plain[:at]].count(row["k"])
        before = [each for each in known[: mine + 1] if each[1] is not None]
        after = [each for each in known[mine:] if each[1] is not None]
        assert found["last"] == (before[-1][1] if before else None)
        if not before or not after:
            assert found["line"] is None
        else:
            (t0, x0), (t1, x1), t = before[-1], after[0], known[mine][0]
            assert found["line"] == pytest.approx(x0 if t1 == t0 else x0 + (x1 - x0) * (t - t0) / (t1 - t0))


def test_values_of_any_type_are_carried_on() -> None:
    table = pa.table({
        "t": [0, 3], "i": [2**62, 1], "b": [True, False], "d": [datetime.date(2026, 1, 1)] * 2, "l": [[1], [2, 3]],
        "m": pa.array([1, 2]).cast(pa.decimal128(21, 2)), "c": pa.array(["u", "v"]).dictionary_encode(),
    })  # fmt: skip
    names = table.column_names[1:]
    windows = ff.events(table, time="t").window(ff.tumbling(1, empty="emit"))
    found = windows.aggregate(**{name: ff.Last(name).filled("last") for name in names})
    plain = windows.aggregate(**{name: ff.Last(name) for name in names})
    for name in names:
        first, *_, last = plain[name].to_pylist()
        assert found.schema.field(name) == plain.schema.field(name)
        assert found[name].to_pylist() == [first, first, first, last]
    lines = windows.aggregate(m=ff.Last("m").filled("linear"), i=ff.Last("i").filled("linear"))
    assert lines.schema.field("m").type == pa.float64()
    assert lines["m"].to_pylist() == pytest.approx([1, 4 / 3, 5 / 3, 2])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda of: ff.Last("x").filled("ffill"), "filled() is given 'ffill'; expected 'last' (as pandas' ffill)"),
        (lambda of: of.window(ff.tumbling("1 minute")).aggregate(a=ff.Last("x").filled("last")),
         "a=Last('x') is filled, and windows without an event are left out; expected some with empty='emit'"),
        (lambda of: of.window(ff.session("1 minute")).aggregate(a=ff.Last("x").filled("last")), "expected some with"),
        (lambda of: query(of, 1).aggregate(a=ff.Last("x").filled("last") + 1), "inside; expected it on the whole"),
        (lambda of: query(of, 1).aggregate(a=ff.Last("w").filled("linear")), "no line between values of type string"),
        (lambda of: of.window(ff.around(rows=(-1, 0))).with_columns(a=ff.Last("x").filled("last")),
         "with_columns() gives rows, and no windows one by one"),
        (lambda of: ff.tumbling("1 minute", empty="ffill"), "which .filled('last') of an output fills"),
    ],
)  # fmt: skip
def test_what_cannot_be_filled_is_said(asked: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(ff.QueryError, match=re.escape(said)):
        asked(ff.events(events(1), time="t", by="k"))


@pytest.mark.parametrize("word", ["resample", "ffill", "interpolate", "groupby", "rolling"])
def test_words_of_pandas_lead_here(word: str) -> None:
    of = ff.events(events(1), time="t", by="k")
    for each in (of, query(of, 1), ff.Last("x")):
        with pytest.raises(AttributeError, match=rf"{word}'.*expected .*(filled|ff.events|with_columns)"):
            getattr(each, word)
    assert not any(hasattr(each, "other") for each in (of, ff.Sum("x")))


def test_on_spark_whoever_slides(spark: Any) -> None:
    table = events(9)
    for choices in ({"combine": "driver"}, {"combine": "executors"}, {"combine": "executors", "accumulate": "python"}):
        of = ff.events(spark.createDataFrame(table), time="t", by="k").options(**choices)
        found = query(of, 2).aggregate(**outputs()).toArrow()
        places = [(row["k"] is not None, row["k"] or "", row["window"]["start"]) for row in found.to_pylist()]
        agree(found.take(sorted(range(len(places)), key=places.__getitem__)), by_pandas(table, 2))


def test_a_stream_says_why_not(spark: Any, rocksdb: None) -> None:
    stream = spark.readStream.format("rate").load()
    of = ff.events(stream, time="timestamp").stream(watermark="1 minute")
    with pytest.raises(
        ff.QueryError, match=r"x is filled, and its values in windows that were given before are not kept"
    ):
        of.window(ff.tumbling("1 minute", empty="emit")).stream(forget="1 hour").aggregate(
            x=ff.Last("value").filled("last")
        )
