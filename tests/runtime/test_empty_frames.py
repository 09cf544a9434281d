"""Accumulating groups of all possible keys and frames, where some have no event."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support import stages
from ..support.inner import inner, place_of
from ..support.plans import bind

ROWS = 500


def events() -> pa.Table:
    """Events of some keys in some frames only, with nulls, NaN and infinities."""
    chance = np.random.default_rng(2)
    ticks, drawn = np.sort(chance.choice([3, 14, 15, 92, 65, 35], ROWS)), chance.integers(-50, 50, ROWS)

    def column(value: Callable[[int], Any], type: pa.DataType) -> pa.Array:
        return pa.array([None if each % 7 == 0 else value(each) for each in drawn.tolist()], type)

    first = datetime.date(2020, 1, 1)
    return pa.table(
        {
            "t": ticks,
            "k": [f"key {each}" for each in (drawn % 4 + ticks % 5).tolist()],
            "x": column(lambda each: math.nan if each == 1 else math.inf if each == 2 else each / 3, pa.float64()),
            "plain": drawn / 3,
            "n": column(int, pa.int64()),
            "money": column(lambda each: Decimal(each) / 100, pa.decimal128(9, 2)),
            "name": column(str, pa.string()),
            "yes": column(lambda each: each > 0, pa.bool_()),
            "day": column(lambda each: first + datetime.timedelta(each), pa.date32()),
        }
    )


EVENTS = events()
GROUPS = set(zip((EVENTS["t"].to_numpy() // 10).tolist(), EVENTS["k"].to_pylist(), strict=True))
NUMBERS = ("x", "plain", "n", "money")
OUTPUTS = {
    "rows": ff.Count(),
    "known": ff.Count("x"),
    **{f"{kind.__name__} {of}": kind(of) for kind in (ff.Sum, ff.Average, ff.Variance, ff.StdDev) for of in NUMBERS},
    **{f"{kind.__name__} {of}": kind(of) for kind in (ff.Min, ff.Max) for of in (*NUMBERS, "name", "yes", "day")},
}


def accumulated(
    outputs: dict[str, Any], rows_per_group: float, limit: Callable[..., None]
) -> tuple[pa.Table, Any, Any]:
    """The partials, their results, and the groups that rows were assigned to."""
    plan = bind(EVENTS.schema, time="t", by=["k"], window=ff.sliding(20, every=10), outputs=outputs)
    limit(rows_per_group=rows_per_group)
    groups: list[Any] = []
    with patch.object(*place_of("assign"), lambda *of, **more: groups.append(inner_assign(*of, **more)) or groups[-1]):
        partials = stages.accumulate(plan, EVENTS, 0)
    return partials, stages.results(plan, partials), *groups


inner_assign = inner("assign")


@pytest.mark.parametrize("names", [list(OUTPUTS), *([name] for name in OUTPUTS)], ids=lambda names: names[0])
def test_frames_without_events_leave_nothing(names: list[str], limit: Callable[..., None]) -> None:
    outputs = {name: OUTPUTS[name] for name in names}
    expected, right, _ = accumulated(outputs, math.inf, limit)
    partials, results, groups = accumulated(outputs, 1, limit)
    assert groups.size > len(partials) == len(GROUPS)
    # Deviations are of one grid for all frames, of whichever these are: only what comes of them is the same.
    states = [name for name in partials.column_names if not name.startswith(("Variance", "StdDev"))]
    assert repr(partials.select(states).to_pylist()) == repr(expected.select(states).to_pylist())  # NaN is not itself
    assert repr(results.to_pylist()) == repr(right.to_pylist())


class Plain(ff.Sum):
    """A user's own."""


@pytest.mark.parametrize("operation", [Plain("x"), ff.Skewness("x"), ff.First("x"), ff.Sum("n").then(np.negative)])
def test_others_are_never_given_empty_frames(operation: Any, limit: Callable[..., None]) -> None:
    partials, _, groups = accumulated({"other": operation, "rows": ff.Count()}, 1, limit)
    assert len(partials) == len(GROUPS)
    assert groups.counts.all()


@pytest.mark.parametrize("kind", [ff.Sum, ff.Average, ff.Count, ff.Min])
def test_a_subclass_without_anything_of_its_own(kind: Any) -> None:
    own, query = type("Own", (kind,), {}), ff.events(EVENTS, time="t", by="k").window(ff.sliding(20, every=10))
    for column in ("plain", "n"):
        assert query.aggregate(x=own(column)) == query.aggregate(x=kind(column))
