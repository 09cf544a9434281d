"""Lookbacks at steps of time on streams: as in a batch, however events are cut, and of the clock's step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.shards import Bytes, Cut, LatestShard, as_stream, counted, why_not_latest
from ..support.stages import partials_of

OUTPUTS: dict[str, Any] = {
    "n": ff.Count(), "s": ff.Sum("x"), "share": ff.Count().over("5 hours") / ff.Count().over("30 hours"),
}  # fmt: skip
HOUR = 3_600_000_000


def events_of(seed: int, rows: int = 80) -> pa.Table:
    """Events in the order of time."""
    rng = np.random.default_rng(seed)
    hours = np.sort(rng.choice([0, 1, 5, 5, 30, 700, 744], (rows, 3)).sum(axis=1))
    keys = pa.array([["a", "b", None][number] for number in rng.integers(0, 3, rows)], pa.string())
    times = pa.array(hours * HOUR + 1_700_000_000_000_000, pa.timestamp("us", "UTC"))
    return pa.table({"t": times, "k": keys, "x": rng.integers(0, 9, rows)})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("closed", ["left", "right", "both", "neither"])
@pytest.mark.parametrize(
    ("sizes", "every"),
    [(["5 hours", "30 hours"], "5 hours"), (["1 month", "30 hours"], "1 day"), (["5 business days"], "1 business day")],
)
def test_as_in_a_batch(sizes: list[str], every: str, closed: Any) -> None:
    for seed in range(3):
        events = ff.events(events_of(seed), time="t", by="k")
        windows = ff.lookback(*sizes, every=every, closed=closed)
        wanted = events.window(windows).aggregate(**OUTPUTS)
        cut = Cut(sizes=(5, 0, 1, 9) * 9, slack=seed * HOUR, portion=2 + seed, shards=1 + seed)
        found = as_stream(events, cut).window(windows).aggregate(**OUTPUTS)
        order = [("k", "ascending"), ("at", "ascending")]
        assert len(wanted)
        assert str(found.sort_by(order).to_pylist()) == str(wanted.sort_by(order).to_pylist())


def test_the_step_that_ends_now() -> None:
    """Of each key that has changed the windows of all sizes that end with the step, in one row."""
    schema = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.string()), ("x", pa.int64())])
    query = ff.events(schema.empty_table(), time="t", by="k")
    windows = query.window(ff.lookback("10 seconds", "30 seconds", every="5 seconds"))
    plan = counted(windows._query({"n": ff.Count(), "s": ff.Sum("x")})[1])
    assert why_not_latest(plan) is None
    store, number, seen, given = Bytes(), None, [], {}
    rng, now = np.random.default_rng(0), 1_000_000
    for _ in range(200):
        now += int(rng.integers(0, 6))
        times = now - rng.integers(0, 20, int(rng.choice([0, 0, 0, 0, 0, 1, 3])))
        new = pa.table(
            [pa.array(times * 1_000_000).cast(schema.types[0]), ["a"] * len(times), [2] * len(times)], schema
        )
        seen += times.tolist()
        shard = LatestShard(plan, store, number=number)
        partials = partials_of(plan, new, 0) if len(new) else None
        for found in shard.give(partials, now * 1_000_000):
            if not isinstance(found, int):
                given |= {row["k"]: row for row in found.to_pylist()}
        number, end = shard.number, now // 5 * 5 + 5
        if not given or not any(end - 30 <= time < end for time in seen):
            assert not given or given["a"]["n_30s"] == 0
            continue
        assert len(given) == 1
        counts = [sum(end - size <= time < end for time in seen) for size in (10, 30)]
        assert [given["a"][name] for name in ("n_10s", "n_30s")] == counts
        assert [given["a"][name] for name in ("s_10s", "s_30s")] == [2 * count or None for count in counts]
    assert seen


def test_others_are_refused() -> None:
    events = ff.events(events_of(0), time="t", by="k")
    plan = events.window(ff.lookback("1 hour"))._query({"n": ff.Count()})[1]
    assert "whose times the clock knows is expected" in (why_not_latest(plan) or "")
    with pytest.raises(ff.QueryError, match="its results are beside events or labels"):
        as_stream(events, Cut()).engine.run(plan, None)  # type: ignore[arg-type]
