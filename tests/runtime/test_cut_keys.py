"""A key that is cut into chunks: what each chunk is made of is a part of what the key has, and not made again."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import framefold as ff

from ..support.limits import limits
from ..support.sources import in_order
from ..support.stages import chunks, merged, partials_of
from ..support.stages import results_in_chunks as results

ROWS = 20_000


def events() -> pa.Table:
    """Events of one key, ten ticks apart on average, some at one time."""
    rng = np.random.default_rng(5)
    ticks, values = np.sort(rng.integers(0, 10 * ROWS, ROWS)), rng.normal(size=ROWS)
    return pa.table({"t": ticks, "k": np.full(ROWS, 3), "x": values, "i": rng.integers(0, 50, ROWS)})


@pytest.mark.parametrize("window", [ff.around(time=(-90, 0)), ff.last_rows(10)], ids=str)
def test_the_keys_and_times_of_results_are_those_of_partials(window: Any) -> None:
    data = events()
    data = data.set_column(0, "t", pa.array(np.arange(ROWS)))
    plan = ff.events(data, time="t", by="k").window(window)._query({"m": ff.LastN("x", 2)})[1]
    given = data.append_column(plan.rank, pa.array(np.arange(ROWS))) if plan.in_rows else data
    together = merged(partials_of(plan, given, 0))
    parts = list(results(together, 1000))
    assert len(parts) == len(list(chunks(together, 1000))) == ROWS // 1000
    keys = together.table.column("k").chunk(0)
    places = [part.column("k").chunk(0).buffers()[1].address for part in parts]
    assert set(places) == {keys.buffers()[1].address}, "nothing is copied"
    assert [part.column("k").chunk(0).offset for part in parts] == list(range(0, ROWS, 1000))


def test_a_cut_key_has_the_windows_of_polars() -> None:
    data = events()[:5000]
    with limits(chunk_windows=700, range_chunk_bytes=1 << 14):
        found = ff.events(data, time="t", by="k").window(ff.around(time=(-90, 0))).aggregate(
            last=ff.LastN("x", 3), first=ff.FirstN("x", 3), all=ff.CollectList("x"), most=ff.TopN("x", 3),
            least=ff.BottomN("x", 2), middle=ff.Median("i"), different=ff.CountDistinct("i"), n=ff.Count(),
        )  # fmt: skip
    x = pl.col("x")
    wanted = pl.DataFrame(data).rolling("t", period="90i", closed="both", group_by="k").agg(
        last=x.tail(3), first=x.head(3), all=x, most=x.top_k(3).sort(descending=True), least=x.bottom_k(2).sort(),
        middle=pl.col("i").median(), different=pl.col("i").n_unique(), n=pl.len(),
    )  # fmt: skip
    assert found["at"].to_pylist() == wanted["t"].to_list()
    for name in ("last", "first", "all", "most", "least", "middle", "different", "n"):
        assert found[name].to_pylist() == wanted[name].to_list(), name


def test_partials_of_one_key_are_merged_as_they_are_made() -> None:
    data = events()
    for keys in (["k"], []):
        plan = ff.events(data, time="t", by=keys).window(ff.sliding(100, every=10))._query({"n": ff.Count()})[1]
        made = partials_of(plan, data.take(np.random.default_rng(1).permutation(ROWS)), 0)
        assert merged(made) is made
        frames, counts = np.unique(np.asarray(data["t"]) // 10, return_counts=True)
        assert made.frames.tolist() == frames.tolist()
        assert made.states("n")["count"].tolist() == counts.tolist()
        both = merged([made, partials_of(plan, data.slice(0, 100), 1)])
        assert both is not made
        assert both.frames.tolist() == frames.tolist()
        assert both.states("n")["count"].sum() == ROWS + 100
    several = data.set_column(1, "k", pa.array(np.arange(ROWS) % 2))
    plan = ff.events(several, time="t", by="k").window(ff.sliding(100, every=10))._query({"n": ff.Count()})[1]
    assert partials_of(plan, several, 0).starts is None


def caller(place: int, number: int) -> tuple[int, int]:
    return number, threading.get_ident()


def test_queries_have_the_same_threads_and_a_fork_has_its_own() -> None:
    first, second = ({thread for _, thread in in_order(caller, range(50), 2)} for _ in range(2))
    assert first | second <= {each.ident for each in threading.enumerate()}, "they are still there"
    assert len(first | second) <= 2
    if hasattr(os, "fork"):
        if (child := os.fork()) == 0:
            os._exit(0 if [number for number, _ in in_order(caller, range(9), 2)] == list(range(9)) else 1)
        assert os.waitpid(child, 0)[1] == 0
