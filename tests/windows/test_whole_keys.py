"""Deviations beside events, by running sums; and keys and functions beside which threads compute."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.exact import spread
from ..support.limits import limits


def test_a_user_function_is_called_by_one_thread() -> None:
    rng = np.random.default_rng(3)
    table = pa.table({"t": rng.permutation(300), "k": rng.integers(0, 7, 300), "y": rng.normal(size=300)})

    def squared(results: Any) -> Any:
        return results * results

    with limits(keys_rows=40, many_rows=10):
        found = ff.events(table, time="t", by="k").window(ff.last_rows(1)).with_columns(z=ff.Sum("y").then(squared))
    assert np.allclose(found["z"].to_numpy(), table["y"].to_numpy() ** 2)


def exact(values: list[float], ddof: int) -> float | None:
    """The deviation, rounded once; None where a window has too few values."""
    return spread(values, ddof)[1] if len(values) > ddof else None


STREAMS = {
    "of chance": lambda rng, rows: rng.normal(size=rows),
    "a price": lambda rng, rows: 1e5 + np.cumsum(rng.normal(size=rows)) * 1e-3,
    "integers": lambda rng, rows: rng.integers(0, 3, rows).astype(float),
    "tenths": lambda rng, rows: np.full(rows, 0.1),
    "constant for a while": lambda rng, rows: np.repeat(rng.integers(0, 3, rows // 20), 20) + 0.1,
    "of all sizes": lambda rng, rows: rng.normal(size=rows) * 10.0 ** rng.integers(-30, 30, rows),
    "a jump": lambda rng, rows: rng.normal(size=rows) + np.where(np.arange(rows) < rows // 2, 0, 1e12),
    "huge and tiny": lambda rng, rows: np.where(rng.random(rows) < 0.02, 1e300, rng.normal(size=rows) * 1e-200),
}


BESIDE = [(ff.last_rows(1), 1), (ff.last_rows(2), 2), (ff.last_rows(9), 9), (ff.around(time=(-40, 0)), 21)]
"""Windows beside events of two keys that take turns, and how many events of the key they have."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stream", STREAMS)
def test_deviations_are_those_of_fractions(stream: str, way: str) -> None:
    """Beside events in order, by running sums; and of frames of several events."""
    rows = 300
    values = STREAMS[stream](np.random.default_rng(3), rows)
    table = pa.table({"t": np.arange(rows), "k": np.arange(rows) % 2, "x": values})
    outputs = {"a": ff.StdDev("x"), "b": ff.StdDev("x", ddof=0), "z": ff.Last("x") - ff.StdDev("x")}
    for windows, reach in BESIDE:
        found = ff.events(table, time="t", by="k").window(windows).with_columns(**outputs)
        for row in range(rows):
            own = values[row % 2 : row + 1 : 2][-reach:].tolist()
            for name, ddof in (("a", 1), ("b", 0)):
                assert_near(found[name][row].as_py(), exact(own, ddof), 1, row)
    pairs = ff.events(table.set_column(0, "t", pa.array(np.arange(rows) // 2 * 2)), time="t")
    for grid in (ff.sliding(12, every=3), ff.tumbling(2), ff.sliding(6, every=2)):
        for row in pairs.window(grid).aggregate(a=ff.StdDev("x"), w=ff.CollectList("x")).to_pylist():
            assert_near(row["a"], exact(row["w"], 1), 2, row["w"])


def assert_near(found: float | None, wanted: float | None, units: int, said: Any) -> None:
    """Within some units in the last place."""
    assert (found is None) == (wanted is None), said
    assert found is None or wanted is None or abs(found - wanted) <= units * math.ulp(wanted), (said, found, wanted)


def test_deviations_that_are_not_finite(way: str) -> None:
    table = pa.table({"t": np.arange(10), "x": [1.0, 2.0, math.nan, 3.0, 4.0, 6.0, math.inf, 1.0, 1.0, 1.0]})
    found = ff.events(table, time="t").window(ff.last_rows(2)).with_columns(v=ff.Variance("x"))["v"].to_pylist()
    wanted = [None, 0.5, math.nan, math.nan, 0.5, 2.0, math.nan, math.nan, 0.0, 0.0]
    assert list(map(str, found)) == list(map(str, wanted))
