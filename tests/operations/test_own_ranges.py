"""An operation of a user's that is answered over ranges of its values, alone and in others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.inner import inner, place_of
from ..support.states import Ragged

EVENTS = pa.table({"t": [0, 1, 1, 4, 6, 9], "x": [5, 2, 7, 1, 2, 3], "k": ["a", "b", "a", "a", "b", "a"]})
WINDOW = ff.sliding(5, every=1)
RIGHT = ff.events(EVENTS, time="t", by="k").window(WINDOW).aggregate(x=ff.CollectSet("x"))["x"].to_pylist()


class Widest(ff.AggregateOperation):
    """The greatest value less the least, of states that hold all values."""

    state = {"items": {"x": "int64"}}
    result = "int64"
    commutative = True
    range_cost = "its values"

    def accumulate(self, frames: Any, *columns: Any, **named: Any) -> Any:
        order = np.argsort(frames.index, kind="stable")
        return {"items": Ragged(frames.count(), {"x": columns[0][order]})}

    def combine(self, a: Any, b: Any) -> Any:
        return {"items": a["items"] + b["items"]}

    def finish(self, a: Any) -> Any:
        return [max(of, default=0) - min(of, default=0) for of in a["items"].lists("x")]

    def finish_ranges(self, a: Any, ranges: Any) -> Any:
        values, offsets = a["items"].planes["x"], a["items"].offsets
        of = [values[first:last] for first, last in zip(offsets[ranges.low], offsets[ranges.high], strict=True)]
        return np.array([np.ptp(each) if len(each) else 0 for each in of])


def answering(function: Any) -> ff.AggregateOperation:
    """The same, with another answer over ranges."""
    return type("Other", (Widest,), {"finish_ranges": lambda self, a, ranges: function(a, ranges)})("x")


def zeroed(a: Any, ranges: Any) -> Any:
    a["items"].planes["x"][:] = 0
    return ranges.low


WRONG = answering(lambda a, ranges: ranges.high - ranges.low)
DECLINES = answering(lambda a, ranges: None)


class Doubled(ff.Median):
    """A subclass with a finish of its own: the one it inherits for ranges would leave that out."""

    def finish(self, a: Any) -> Any:
        return pa.compute.multiply(super().finish(a), 2.0)


def results(operation: Any, window: Any = WINDOW) -> list[Any]:
    query = ff.events(EVENTS, time="t", by="k").window(window)
    return query.aggregate(x=operation)["x"].to_pylist()


def widest() -> list[int]:
    return [max(of) - min(of) for of in RIGHT]


def test_alone_and_in_others() -> None:
    assert results(Widest("x")) == results(DECLINES) == widest()
    total = results(ff.Sum("x"))
    both = results(ff.AllOf(wide=Widest("x"), total=ff.Sum("x"), middle=ff.Median("x")))
    assert [(each["wide"], each["total"]) for each in both] == list(zip(widest(), total, strict=True))
    assert [each["middle"] for each in both] == results(ff.Median("x"))
    assert results(Widest("x").then(lambda each: each + 1)) == [each + 1 for each in widest()]
    assert results(Widest("x") + ff.Sum("x")) == [a + b for a, b in zip(widest(), total, strict=True)]
    assert results(ff.Filtered(Widest("x"), lambda x: x > 2)) == [
        max(some, default=0) - min(some, default=0) for some in ([x for x in of if x > 2] for of in RIGHT)
    ]
    assert results(ff.GroupedBy(Widest("x"), "x")) == [[(x, 0) for x in of] for of in RIGHT]


def test_it_is_said() -> None:
    query = ff.events(EVENTS, time="t", by="k").window(WINDOW)
    said = "answered over ranges of its values, without a state a window (cost: its values)"
    assert said in str(query.explain(x=Widest("x")))
    assert said in str(query.explain(x=ff.AllOf(wide=Widest("x"), n=ff.Count())))
    assert "two-stacks" in str(query.explain(x=Doubled("x")))


def test_a_subclass_that_finishes_otherwise() -> None:
    assert results(Doubled("x")) == [2 * each for each in results(ff.Median("x"))]


def test_wrong_ones() -> None:
    sentence = r"^ranges: finish_ranges from .* of a, b, c is .*, not that of combined states"
    with pytest.raises(ff.LawError, match=sentence):
        ff.check_laws(WRONG, EVENTS, examples=50)
    ff.check_laws(Widest("x"), EVENTS, examples=20)
    ff.check_laws(DECLINES, EVENTS, examples=20)
    sentence = r"^finish_ranges of 'x' returned 1 results for \d+ ranges; expected one each"
    with pytest.raises(ff.OperationError, match=sentence):
        results(answering(lambda a, ranges: [1]))
    with pytest.raises(ff.OperationError, match=r"^finish_ranges of 'x' \(Other\('x'\)\) failed: ValueError"):
        results(answering(zeroed))


def test_chunks_of_a_key_do_not_read_what_they_share_over_and_over(
    monkeypatch: pytest.MonkeyPatch, limit: Callable[..., None]
) -> None:
    """Windows of 600 rows, ten to a chunk, would be 60 times the rows."""
    events = pa.table({"t": np.arange(3000), "x": np.arange(3000) % 7})
    query = ff.events(events, time="t").window(ff.sliding(600, every=1))
    right, seen = query.aggregate(x=ff.Median("x")), []
    limit(chunk_windows=10)
    part = inner("part of partials")
    monkeypatch.setattr(*place_of("part of partials"), lambda *given: seen.append(given[3]) or part(*given))
    assert query.aggregate(x=ff.Median("x")).equals(right)
    assert sum(rows.stop - rows.start for rows in seen) <= 3 * 3000
    assert len(seen) > 2
