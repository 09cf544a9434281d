"""A query refuses a user's operation whose identity is none or whose `combine` is not associative, and no other."""

from __future__ import annotations

import random
import statistics
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.inner import place_of
from ..support.plans import BoundAggregate, try_laws
from ..support.toys import Items, Total

INT, FLOAT, TEXT = pa.int64(), pa.float64(), pa.string()


def bound(operation: ff.AggregateOperation, *types: pa.DataType) -> BoundAggregate:
    """As a plan binds it."""
    made = BoundAggregate("out", operation, types or [INT] * len(operation.columns))
    try_laws(made)
    return made


class NoIdentity(Total):
    def create(self) -> Any:
        return {"total": 1}


class NoIdentityOnTheRight(Total):
    def combine(self, a: Any, b: Any) -> Any:
        return {"total": np.where(b["total"] == 0, 0, a["total"] + b["total"])}


class Difference(Total):
    """Zero is no identity on its left, but says so only there."""

    def combine(self, a: Any, b: Any) -> Any:
        return {"total": np.where(a["total"] == 0, b["total"], a["total"] - b["total"])}


class MeanOfMeans(ff.AggregateOperation):
    state = {"mean": "float64", "seen": "bool"}

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"mean": frames.mean(x), "seen": np.ones(frames.size, bool)}

    def combine(self, a: Any, b: Any) -> Any:
        mean = np.where(a["seen"] & b["seen"], (a["mean"] + b["mean"]) / 2, a["mean"] + b["mean"])
        return {"mean": mean, "seen": a["seen"] | b["seen"]}

    def finish(self, a: Any) -> Any:
        return a["mean"]


class Mirrored(Items):
    """Lists that are put together back to front."""

    def combine(self, a: Any, b: Any) -> Any:
        return (a + b)[::-1] if a and b else a or b


class InPlace(Items):
    """A list that grows where it stands."""

    def create(self) -> Any:
        return []

    def accumulate(self, state: Any, value: Any) -> Any:
        return [*state, value]

    def combine(self, a: Any, b: Any) -> Any:
        a.extend(b)
        return a


class Structs(Mirrored):
    result = pa.struct([("first", pa.int64()), ("all", pa.list_(pa.int64()))])

    def finish(self, state: Any) -> Any:
        return {"first": state[0] if state else None, "all": list(state)}


class Dashes(Items):
    result = "string"

    def create(self) -> Any:
        return "-"

    def accumulate(self, state: Any, value: Any) -> Any:
        return state + value

    def finish(self, state: Any) -> Any:
        return state


class SlightlyOff(ff.Kurtosis):
    """A coefficient is wrong, by little."""

    def combine(self, a: Any, b: Any) -> Any:
        joined = dict(super().combine(a, b))
        both = (a["count"] > 0) & (b["count"] > 0)
        return {**joined, "fourths": np.where(both, joined["fourths"] * (1 + 1e-6), joined["fourths"])}


class Quarter(Items):
    """A sketch: the values, of more than four only every other one."""

    try_laws: bool = True

    def combine(self, a: Any, b: Any) -> Any:
        both = sorted(a + b)
        return tuple(both[::2] if len(both) > 4 else both)


LEFT, RIGHT, THREE = (
    "identity: combine\\(create, a\\)",
    "identity: combine\\(a, create\\)",
    "associativity: \\(a b\\) c",
)
LISTS = pa.list_(INT)
BROKEN: dict[str, tuple[Any, list[pa.DataType], str]] = {
    "identity": (NoIdentity("x"), [INT], f"{LEFT} is 2, not a, which is 1; a: x=\\[1\\]"),
    "identity on the right": (NoIdentityOnTheRight("x"), [INT], f"{RIGHT} is 0, not a, which is 1; a: x=\\[1\\]"),
    "associativity": (Difference("x"), [INT], f"{THREE} is -?\\d, not a \\(b c\\), which is -?\\d; a: x=.*; c: x="),
    "floats": (MeanOfMeans("x"), [FLOAT], f"{THREE} is [\\d.]+, not a \\(b c\\), which is [\\d.]+; a: x=\\["),
    "no more than slightly": (SlightlyOff("x"), [FLOAT], THREE),
    "in place": (InPlace("x"), [INT], "purity: a combine, deduct or finish changed its argument a; a: x=\\[.*"),
    "lists": (Mirrored("x"), [INT], f"{THREE} is \\[.*\\], not a \\(b c\\), which is \\["),
    "structs": (Structs("x"), [INT], f"{THREE} is {{'first'"),
    "strings": (Dashes("x"), [TEXT], f"{LEFT} is '--"),
    "a sketch": (Quarter("x"), [INT], f"{LEFT}|{THREE}"),
    "a function": (ff.Reducing("x", 0, np.subtract), [INT], f"{LEFT} is -1, not a, which is 1; a: x=\\[1\\]"),
    "an identity": (ff.Reducing("x", 1, np.add), [FLOAT], LEFT),
    "strings by a function": (
        ff.Reducing("x", "", lambda a, b: b + a + b),
        [TEXT],
        f"{LEFT} is 'aa', not a, which is 'a'",
    ),
    "one of all": (ff.AllOf(n=ff.Count(), m=MeanOfMeans("x")), [FLOAT], THREE),
    "filtered": (ff.Filtered(NoIdentity("x"), "flag"), [INT, pa.bool_()], LEFT),
    "mapped": (ff.Mapped(NoIdentity("x"), lambda x: x + 1, "x"), [INT], LEFT),
    "grouped": (ff.GroupedBy(NoIdentity("x"), "k"), [INT, TEXT], LEFT),
    "by elements": (ff.ElementWise(NoIdentity("x")), [LISTS], LEFT),
    "finished otherwise": (MeanOfMeans("x").then(np.sqrt), [FLOAT], THREE),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_law_is_refused_with_an_example(name: str) -> None:
    operation, types, said = BROKEN[name]
    with pytest.raises(ff.OperationError, match=said) as caught:
        bound(operation, *types)
    assert "ff.check_laws tries all laws" in str(caught.value)
    assert "try_laws = False" in str(caught.value)


def test_a_query_refuses_it_before_anything_runs() -> None:
    windows = ff.events(pa.table({"t": [0, 1, 2], "x": [1.0, 2.0, 4.0]}), time="t").window(ff.sliding(3, every=1))
    said = (
        r"^on made-up events MeanOfMeans\('x'\) for 'mean' breaks the law of associativity: \(a b\) c is [\d.]+, "
        r"not a \(b c\), which is [\d.]+; a: x=\[.*\]; b: x=\[.*\]; c: x=\[.*\]; ff.check_laws tries all laws on "
        r"events of yours, and try_laws = False leaves this trial out$"
    )
    for ask in (windows.aggregate, windows.explain):
        with pytest.raises(ff.OperationError, match=said):
            ask(mean=MeanOfMeans("x"))


class Welford(ff.AggregateOperation):
    """A variance whose states round, and whose results are cut to digits, where rounding decides."""

    state = {"count": "int64", "mean": "float64", "squares": "float64"}

    def accumulate(self, frames: Any, x: Any) -> Any:
        mean = frames.mean(x)
        return {"count": frames.count(), "mean": mean, "squares": frames.sum((x - mean[frames.index]) ** 2)}

    def combine(self, a: Any, b: Any) -> Any:
        count, apart = a["count"] + b["count"], b["mean"] - a["mean"]
        share = b["count"] / np.maximum(count, 1)
        return {
            "count": count,
            "mean": a["mean"] + apart * share,
            "squares": a["squares"] + b["squares"] + apart**2 * a["count"] * share,
        }

    def finish(self, a: Any) -> Any:
        return np.floor(a["squares"] * 16)


class Logs(Total):
    state = {"total": "float64", "seen": "int64"}

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"total": frames.sum(np.log(x)), "seen": frames.count()}

    def combine(self, a: Any, b: Any) -> Any:
        return {key: a[key] + b[key] for key in self.state}

    def finish(self, a: Any) -> Any:
        return np.exp(a["total"] / a["seen"])


class NoNumbers(Logs):
    def finish(self, a: Any) -> Any:
        return np.full(len(a["seen"]), np.nan)


class Nothing(Items):
    def finish(self, state: Any) -> Any:
        return None if len(state) % 2 else sorted(state)


class Pairs(Items):
    """Trees, which tell how they were put together; their leaves do not."""

    result = "list<int64>"

    def combine(self, a: Any, b: Any) -> Any:
        return (a, b)

    def finish(self, state: Any) -> Any:
        return sorted(self.leaves(state))

    def leaves(self, state: Any) -> list[int]:
        return [state] if isinstance(state, int) else [leaf for part in state for leaf in self.leaves(part)]


class Drawn(Items):
    """One value by chance."""

    def combine(self, a: Any, b: Any) -> Any:
        both = a + b
        return (random.choice(both),) if len(both) > 1 else both


class Box:
    """An object that equals nothing but itself."""

    def __init__(self, values: tuple[float, ...]) -> None:
        self.values = values


class Boxes(Items):
    result = "float64"

    def create(self) -> Any:
        return Box(())

    def accumulate(self, state: Any, value: Any) -> Any:
        return Box((*state.values, value))

    def combine(self, a: Any, b: Any) -> Any:
        return Box(a.values + b.values)

    def finish(self, state: Any) -> Any:
        return statistics.fmean(state.values) if state.values else None


class UntriedInPlace(InPlace):
    try_laws = False


class OfHundreds(Total):
    """Works on values that made-up events do not have."""

    def combine(self, a: Any, b: Any) -> Any:
        if (a["total"] < 100).any() or (b["total"] < 100).any():
            raise ValueError("too small")
        return {"total": a["total"] - b["total"]}


class LastQuarter(Quarter):
    try_laws = False


class Least(Total):
    """Right for shares, which are 1 at most: made-up values are not."""

    state = {"total": "float64"}
    try_laws = False

    def create(self) -> Any:
        return {"total": 1.0}

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"total": frames.min(x)}

    def combine(self, a: Any, b: Any) -> Any:
        return {"total": np.minimum(a["total"], b["total"])}


class Decay(ff.Ewma):
    """As it is, but a user's."""


class Spread(ff.Skewness):
    """As it is, but a user's: values cancel in it."""


SOUND: dict[str, tuple[Any, list[pa.DataType]]] = {
    "sum": (Total("x"), [INT]),
    "logarithms": (Logs("x"), [FLOAT]),
    "digits cut off": (Welford("x"), [FLOAT]),
    "no numbers": (NoNumbers("x"), [FLOAT]),
    "lists": (Items("x"), [INT]),
    "nulls": (Nothing("x"), [INT]),
    "states that tell more than results": (Pairs("x"), [INT]),
    "by chance": (Drawn("x"), [INT]),
    "objects": (Boxes("x"), [FLOAT]),
    "untried": (UntriedInPlace("x"), [INT]),
    "not for these events": (OfHundreds("x"), [INT]),
    "a sketch that says so": (LastQuarter("x"), [INT]),
    "values of a kind": (Least("x"), [FLOAT]),
    "no events of this type": (Mirrored("x"), [pa.struct([("a", INT)])]),
    "weights": (Decay("x", half_life=2), [FLOAT]),
    "what cancels": (Spread("x"), [FLOAT]),
    "products": (ff.Reducing("x", 1.0, np.multiply), [FLOAT]),
    "hypotenuses": (ff.Reducing("x", 0.0, np.hypot), [FLOAT]),
    "texts": (ff.Reducing("x", "", lambda a, b: a + b), [TEXT]),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_breaks_no_law_is_not_refused(name: str) -> None:
    operation, types = SOUND[name]
    for _ in range(5):
        bound(operation.at_times(lambda value, argument: value), *types)


@pytest.mark.parametrize("operation", [LastQuarter("x"), ff.AllOf(a=NoIdentity("x"))], ids=repr)
def test_check_laws_says_it_in_its_own_words(operation: Any) -> None:
    """Whether a query would try them or not, with the smallest example of the table."""
    with pytest.raises(ff.LawError, match=r"^(identity|associativity): "):
        ff.check_laws(operation, pa.table({"x": [1, 2, 3, 4, 5]}))


def test_a_trial_that_goes_wrong_says_so() -> None:
    """Only what a user's functions raise is left to real events, not what is wrong in the trial."""
    with patch.object(*place_of("trial of laws"), side_effect=RuntimeError("wrong")), pytest.raises(RuntimeError):
        bound(Total("x"))


class Years(Total):
    """Seconds so far from 1970 that Python has no such times."""

    result = pa.timestamp("s")

    def finish(self, a: Any) -> Any:
        return pa.array(a["total"] * 10**12).cast(self.result)


def test_results_that_python_has_no_value_for_are_left_to_real_events() -> None:
    assert bound(Years("x")).result == pa.timestamp("s")


def test_a_function_that_fails_where_states_are_joined_is_named() -> None:
    """On made-up events it is let pass, whatever it raises; on real ones the output is named."""

    def added(a: Any, b: Any) -> Any:
        if (a + b > 20).any():
            raise KeyError("too much")
        return a + b

    events = pa.table({"t": [0, 1], "x": [1, 30]})
    with pytest.raises(ff.OperationError, match=r"^combine of 'x' \(Reducing\('x'\)\) failed: KeyError: 'too much'"):
        ff.events(events, time="t").window(ff.sliding(2, every=1)).aggregate(x=ff.Reducing("x", 0, added))


def test_the_trial_leaves_the_identity_as_it_is() -> None:
    assert bound(UntriedInPlace("x")).identity["state"].tolist() == [[]]


@pytest.mark.parametrize(
    "operation", [ff.Sum("x"), ff.AllOf(a=ff.Sum("x")), ff.Filtered(ff.Max("x"), lambda x: x > 1, "x")], ids=repr
)
def test_built_in_operations_are_not_tried(operation: Any) -> None:
    with patch.object(*place_of("trial of laws"), return_value=None) as tried:
        bound(operation)
        assert tried.call_count == 0
        bound(ff.AllOf(a=Total("x"), b=operation))
        assert tried.call_count == 1


def test_it_takes_few_calls() -> None:
    calls = []

    class Counted(Items):
        def combine(self, a: Any, b: Any) -> Any:
            calls.append(1)
            return a + b

    BoundAggregate("out", Counted("x"), [INT])
    others = len(calls)
    bound(Counted("x"))
    assert len(calls) - 2 * others == 2 * 48 + (4 + 3) * 16
