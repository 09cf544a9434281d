"""``min_samples``: windows with fewer events of an output give null, as in pandas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import framefold as ff

MINUTE = 60_000_000


def events(rows: int = 200, seed: int = 3) -> pa.Table:
    """Events of one key, a third of whose values are null."""
    rng = np.random.default_rng(seed)
    times = pa.array(np.cumsum(rng.integers(1, 9, rows)) * MINUTE).cast(pa.timestamp("us"))
    x = pa.array(rng.integers(0, 100, rows).astype(float), mask=rng.random(rows) < 0.35)
    return pa.table({"t": times, "x": x})


OPERATIONS: dict[str, Any] = {
    "count": ff.Count("x"), "sum": ff.Sum("x"), "mean": ff.Average("x"), "min": ff.Min("x"), "max": ff.Max("x"),
    "median": ff.Median("x"), "std": ff.StdDev("x"),
}  # fmt: skip
"""By their names in pandas."""


TIME = ("-15 minutes", "0 minutes")


@pytest.mark.parametrize("least", [1, 2, 3])
def test_as_pandas_min_periods(least: int) -> None:
    """Of one value pandas has no deviation; its NaN is null."""
    table = events()
    x = table["x"].to_pandas()
    by_time = pd.Series(x.to_numpy(), index=pd.DatetimeIndex(table["t"].to_pandas()))
    for windows, rolling in (
        (ff.last_rows(3, min_samples=least), x.rolling(3, min_periods=least)),
        (ff.around(time=TIME, closed="right", min_samples=least), by_time.rolling("15min", min_periods=least)),
    ):
        found = ff.events(table, time="t").window(windows).aggregate(**OPERATIONS)
        for name in OPERATIONS:
            theirs = getattr(rolling, name)().to_numpy()
            if (name, least) != ("std", 1):
                assert found[name].null_count == np.isnan(theirs).sum(), name
                np.testing.assert_allclose(found[name].to_numpy(), theirs, rtol=1e-9, atol=1e-9, err_msg=name)
        assert found["sum"].null_count > 0 or isinstance(rolling.window, str)
    assert ff.events(table, time="t").window(ff.last_rows(3)).aggregate(n=ff.Count("x"))["n"].null_count == 0


GRID: dict[str, Callable[[int], Any]] = {
    "sliding": lambda least: ff.sliding("20 minutes", "7 minutes", min_samples=least),
    "emitted": lambda least: ff.sliding("20 minutes", "7 minutes", empty="emit", min_samples=least),
    "tumbling": lambda least: ff.tumbling("13 minutes", min_samples=least),
    "cumulating": lambda least: ff.cumulating("1 hour", "15 minutes", min_samples=least),
    "around rows": lambda least: ff.around(rows=(-2, 1), min_fill="partial", min_samples=least),
    "policy": lambda least: ff.policy(ff.by_time("20 minutes"), ff.by_count(2), min_samples=least),
}


@pytest.mark.parametrize("kind", GRID)
def test_each_output_counts_its_own_events(kind: str) -> None:
    """By brute force: results without ``min_samples`` are null where counts, made beside them, are too few."""
    rng = np.random.default_rng(8)
    table = events(150).append_column("y", pa.array(rng.normal(size=150), mask=rng.random(150) < 0.5))
    table = table.append_column("good", pa.array(rng.random(150) < 0.6))
    outputs: dict[str, tuple[Any, Any]] = {
        "n": (ff.Count(), ff.Count()),
        "x": (ff.Sum("x"), ff.Count("x")),
        "known": (ff.Count("x"), ff.Count()),
        "good rows": (ff.Filtered(ff.Count("x"), "good"), ff.Filtered(ff.Count(), "good")),
        "xy": (ff.Covariance("x", "y"), ff.Filtered(ff.Count("x"), lambda y: np.ones(len(y), bool), "y")),
        "good": (ff.Filtered(ff.Sum("x"), "good"), ff.Filtered(ff.Count("x"), "good")),
        "large": (ff.Filtered(ff.Sum("x"), lambda x: x > 40), ff.Filtered(ff.Count("x"), lambda x: x > 40)),
        "then": (ff.Filtered(ff.Sum("x"), "good").then(np.sqrt), ff.Filtered(ff.Count("x"), "good")),
        "list": (ff.CollectList("x"), ff.Count("x")),
        "both": (ff.AllOf(a=ff.Sum("x"), b=ff.Count("x")), ff.Count("x")),
    }
    queries = [ff.events(table, time="t").window(GRID[kind](least)) for least in (0, 3)]
    plain, found = (query.aggregate(**{name: each for name, (each, _) in outputs.items()}) for query in queries)
    counts = queries[0].aggregate(**{name: each for name, (_, each) in outputs.items()})
    for name in outputs:
        enough = pc.greater_equal(counts[name], 3).combine_chunks()
        rows = pa.array(np.arange(len(plain)), mask=~enough.to_numpy(zero_copy_only=False))
        assert found[name].combine_chunks().equals(plain[name].combine_chunks().take(rows)), name
        assert found[name].null_count > 0, name
        assert found[name].null_count < len(found) or kind == "around rows", name
    assert found["window"].equals(plain["window"])


def test_several_kinds_of_windows_each_with_its_own() -> None:
    some, all_of = ff.tumbling("20 minutes", min_samples=4), ff.tumbling("1 hour")
    outputs = {"n": ff.CountIf("known"), "s": ff.Sum("x").over(all_of)}
    table = events().append_column("known", events()["x"].is_valid())
    found = ff.events(table, time="t").window(some, all_of).aggregate(**outputs)
    lengths = pc.subtract(pc.struct_field(found["window"], "end"), pc.struct_field(found["window"], "start"))
    short = pc.equal(lengths.cast("int64"), 20 * MINUTE)
    alone = ff.events(table, time="t").window(some).aggregate(n=ff.CountIf("known"))
    assert found.filter(short)["n"].combine_chunks().equals(alone["n"].combine_chunks())
    assert alone["n"].null_count > 0
    assert found.filter(pc.invert(short))["n"].null_count == 0


def test_interval_events() -> None:
    table = pa.table({"t": [0, 1, 2, 8], "end": [3, 9, 5, 9], "x": [1, 2, None, 4]})
    query = ff.events(table, time="t", until="end").window(ff.tumbling(3, min_samples=2))
    found = query.aggregate(n=ff.Count(), x=ff.Sum("x"))
    assert found.select(["n", "x"]).to_pydict() == {"n": [3, 2, 2], "x": [3, None, 6]}


def test_it_is_explained_and_names_are_free() -> None:
    query = ff.events(events(), time="t").window(ff.last_rows(3, min_samples=2))
    assert "the last 3 rows, null below 2 samples" in str(query.explain(n=ff.Count()))
    assert query.aggregate(**{"Samples()": ff.Count(), "samples of x": ff.Sum("x")}).num_columns == 4
