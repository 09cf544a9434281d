"""Accumulating groups of all possible keys and frames, where some have no event."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support import stages
from ..support.inner import inner, place_of
from ..support.plans import Plan, bind

ROWS = 500


def events() -> pa.Table:
    """Events of some keys in some frames only, with nulls, NaN and infinities."""
    chance = np.random.default_rng(2)
    ticks = np.sort(chance.choice([3, 14, 15, 92, 65, 35], ROWS))
    some = chance.integers(-50, 50, ROWS)

    def column(value: Callable[[int], Any], type: pa.DataType) -> pa.Array:
        return pa.array([None if each % 7 == 0 else value(each) for each in some.tolist()], type)

    return pa.table(
        {
            "t": ticks,
            "k": [f"key {each}" for each in (some % 4 + ticks % 5).tolist()],
            "x": column(lambda each: math.nan if each == 1 else math.inf if each == 2 else each / 3, pa.float64()),
            "plain": some / 3,
            "n": column(int, pa.int64()),
            "money": column(lambda each: Decimal(each) / 100, pa.decimal128(9, 2)),
            "name": column(str, pa.string()),
            "yes": column(lambda each: each > 0, pa.bool_()),
            "day": column(lambda each: datetime.date(2020, 1, 1) + datetime.timedelta(each), pa.date32()),
        }
    )


OUTPUTS = {
    "rows": ff.Count(),
    "known": ff.Count("x"),
    **{f"sum of {name}": ff.Sum(name) for name in ("x", "plain", "n", "money")},
    **{f"mean of {name}": ff.Average(name) for name in ("x", "plain", "n", "money")},
    **{f"variance of {name}": ff.Variance(name) for name in ("x", "plain", "n", "money")},
    **{f"deviation of {name}": ff.StdDev(name) for name in ("x", "plain", "n", "money")},
    **{f"least {name}": ff.Min(name) for name in ("x", "plain", "n", "money", "name", "yes", "day")},
    **{f"greatest {name}": ff.Max(name) for name in ("x", "plain", "n", "money", "name", "yes", "day")},
}


def query(outputs: dict[str, Any]) -> Plan:
    return bind(events().schema, time="t", by=["k"], window=ff.sliding(20, every=10), outputs=outputs)


@pytest.mark.parametrize("names", [list(OUTPUTS), *([name] for name in OUTPUTS)], ids=lambda names: names[0])
def test_frames_without_events_leave_nothing(
    names: list[str], monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    asked = query({name: OUTPUTS[name] for name in names})
    limit(rows_per_group=math.inf)
    expected = stages.accumulate(asked, events(), 0)
    made = []

    def assign(*arguments: Any, **options: Any) -> Any:
        made.append(real(*arguments, **options))
        return made[-1]

    real = inner("assign")
    monkeypatch.setattr(*place_of("assign"), assign)
    limit(rows_per_group=1)
    found = stages.accumulate(asked, events(), 0)
    assert len(made) == 1
    there = set(zip((events()["t"].to_numpy() // 10).tolist(), events()["k"].to_pylist(), strict=True))
    assert made[0].size > len(found) == len(there)
    # Deviations are of one grid for all frames, of whichever these are: only what comes of them is the same.
    states = [name for name in found.column_names if not name.startswith(("variance", "deviation"))]
    for one, other in (
        (found.select(states), expected.select(states)),
        (stages.results(asked, found), stages.results(asked, expected)),
    ):
        assert repr(one.to_pylist()) == repr(other.to_pylist())  # NaN is not equal to itself


class Plain(ff.Sum):
    """A user's own."""


@pytest.mark.parametrize("operation", [Plain("x"), ff.Skewness("x"), ff.First("x"), ff.Sum("n").then(np.negative)])
def test_others_are_never_given_empty_frames(
    operation: Any, monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    def assign(*arguments: Any, **options: Any) -> Any:
        groups = real(*arguments, **options)
        assert groups.counts is not None
        assert groups.counts.all()
        return groups

    real = inner("assign")
    monkeypatch.setattr(*place_of("assign"), assign)
    limit(rows_per_group=1)
    assert len(stages.accumulate(query({"other": operation, "rows": ff.Count()}), events(), 0))


@pytest.mark.parametrize("kind", [ff.Sum, ff.Average, ff.Count, ff.Min])
@pytest.mark.parametrize("column", ["plain", "n"])
def test_a_subclass_without_anything_of_its_own(kind: Any, column: str) -> None:
    own = type("Own", (kind,), {})
    of = ff.events(events(), time="t", by="k").window(ff.sliding(20, every=10))
    assert of.aggregate(x=own(column)) == of.aggregate(x=kind(column))
