"""Long streams through which something nasty passes: a window is never worse than adding up its own values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.by_definition import Grid, of_values
from ..oracles.operations import numeric

ROWS, WIDTH = 8_000, 50
CHECKED = {name: numeric("x")[name] for name in ("sum", "average", "variance", "stddev", "min", "max")}
Maker = Callable[[np.random.Generator], np.ndarray]


def ones_with(*nasty: float) -> Maker:
    """Ones, and every now and then one of these."""

    def make(chance: np.random.Generator) -> np.ndarray:
        values = np.ones(ROWS)
        places = chance.choice(ROWS, 20, replace=False)
        values[places] = chance.choice(nasty, 20)
        return values

    return make


STREAMS: dict[str, Maker] = {
    "1e16 passes": ones_with(1e16),
    "1e300 passes": ones_with(1e300, -1e300),
    "the largest passes": ones_with(1.7e308, -1.7e308),
    "NaN and both infinities pass": ones_with(math.nan, math.inf, -math.inf),
    "the tiniest among all sizes": lambda chance: np.ldexp(
        chance.choice([-1.0, 1.0], ROWS), chance.integers(-1074, 900, ROWS)
    ),
    "alternating signs that cancel": lambda chance: np.tile([1e10 + 1 / 3, -1e10], ROWS // 2) + chance.random(ROWS),
    "0.1 again and again": lambda chance: np.full(ROWS, 0.1),
    "near 1e9, a thousandth apart": lambda chance: 1e9 + chance.integers(0, 9, ROWS) / 1000,
    "mostly absent": lambda chance: np.where(chance.random(ROWS) < 0.9, 0.0, chance.normal(0, 1e5, ROWS)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str, every: int) -> None:
    values = STREAMS[name](np.random.default_rng(len(name)))
    query = ff.events(pa.table({"t": np.arange(ROWS), "x": values}), time="t").window(ff.sliding(WIDTH, every))
    rows = query.aggregate(**{output: operation for output, (operation, _) in CHECKED.items()}).to_pylist()
    grid = Grid(WIDTH, every)
    assert len(rows) == grid.numbers(ROWS - 1).stop - grid.numbers(0).start
    nasty = np.flatnonzero(np.abs(values - np.median(values)) > 1e9).tolist()
    # The windows that something nasty is in or has just left, and a sample of all others.
    near = {row for place in nasty for row in range(place // every - 2, place // every + WIDTH // every + 12)}
    chosen = sorted({row for row in near if 0 <= row < len(rows)})[:150] + list(range(0, len(rows), 397))
    said = []
    for row in map(rows.__getitem__, chosen):
        start, end = row["window"]["start"], row["window"]["end"]
        own = of_values(values[max(start, 0) : end].tolist())
        checked = {name: check(row[name], own) for name, (_, check) in CHECKED.items()}
        said += [f"[{start}, {end}) {name}: {wrong}" for name, wrong in checked.items() if wrong]
    assert not said, f"{len(said)} wrong:\n" + "\n".join(said[:10])


def test_a_million_slides() -> None:
    chance = np.random.default_rng(0)
    values = chance.normal(0, 1, 1_000_000)
    values[:100] = 1e16
    table = pa.table({"t": np.arange(len(values)), "x": values})
    sums = ff.events(table, time="t").window(ff.sliding(20, 1)).aggregate(s=ff.Sum("x"))["s"].to_numpy()
    for last in [*range(100, 140), *chance.integers(100, len(values), 2000).tolist()]:
        own = values[last - 19 : last + 1]
        assert abs(sums[last] - math.fsum(own)) <= 20 * 2**-53 * np.abs(own).sum()
