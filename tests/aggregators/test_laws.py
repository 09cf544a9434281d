"""Operations that break a law are caught, by `check_laws` and by the trial of a query; all others pass both."""

from __future__ import annotations

import random
import re
import statistics
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff
from framefold.aggregators.laws.tolerance import NUDGE, nudge

from ..oracles.numeric import STREAMS
from ..support import toys
from ..support.inner import place_of
from ..support.plans import BoundAggregate, try_laws
from ..support.toys import Items

INT, FLOAT, TEXT = pa.int64(), pa.float64(), pa.string()
TABLE = pa.table({"x": [3, -1, 4, 1, -5, 0]})
ORDINARY = [0.5, 1.5, -2.0, 7.25, 3.0]


def bound(operation: ff.AggregateOperation, *types: pa.DataType) -> BoundAggregate:
    """As a plan binds it."""
    made = BoundAggregate("out", operation, types or [INT] * len(operation.columns))
    try_laws(made)
    return made


class Total(toys.Total):
    """A sum that keeps every law."""

    result = "int64"

    def deduct(self, a: Any, b: Any) -> Any:
        return {"total": a["total"] - b["total"]}


def changed(base: Any, column: str = "x", **members: Any) -> Any:
    """An operation with other members."""
    return type("Changed", (base,), {"__module__": __name__, **members})(column)


def totals(function: Any) -> Any:
    """A method that joins two columns of totals."""
    return lambda self, a, b: {"total": function(a["total"], b["total"])}


def running_sums(self: Any, frames: Any, x: Any) -> Any:
    return {"total": np.cumsum(frames.sum(x))}


def not_the_last(self: Any, a: Any, b: Any) -> Any:
    return {"total": np.where(b["seen"], b["total"], a["total"]), "seen": a["seen"] | b["seen"]}


class InPlace(Items):
    """A list that grows where it stands."""

    def create(self) -> Any:
        return []

    def accumulate(self, state: Any, value: Any) -> Any:
        return [*state, value]

    def combine(self, a: Any, b: Any) -> Any:
        a.extend(b)
        return a


class Box:
    """An object that equals nothing but itself."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values


class Homesick(Box):
    """A state that is another one after a journey."""

    def __reduce__(self) -> Any:
        return Homesick, ((*self.values, 0),)


def boxes(box: Any, finish: Any, result: str) -> Any:
    """An operation whose states are objects of a class."""
    return changed(
        Items,
        result=result,
        create=lambda self: box(()),
        accumulate=lambda self, state, value: box((*state.values, value)),
        combine=lambda self, a, b: box(a.values + b.values),
        finish=lambda self, state: finish(state.values),
    )


class Mirrored(Items):
    """Lists that are put together back to front."""

    def combine(self, a: Any, b: Any) -> Any:
        return (a + b)[::-1] if a and b else a or b


class Quarter(Items):
    """A sketch: the values, of more than four only every other one."""

    def combine(self, a: Any, b: Any) -> Any:
        both = sorted(a + b)
        return tuple(both[::2] if len(both) > 4 else both)


def joined(base: Any, *columns: str, **fields: Any) -> Any:
    """An operation of ours that joins a field in another way; the function gets the field of a, b and both."""

    def combine(self: Any, a: Any, b: Any) -> Any:
        right = dict(base.combine(self, a, b))
        both = (a["count"] > 0) & (b["count"] > 0)
        return right | {key: np.where(both, of(a[key], b[key], right[key]), right[key]) for key, of in fields.items()}

    return type("Joined", (base,), {"__module__": __name__, "combine": combine})(*columns)


def distinct_sums(frames: Any, x: Any) -> Any:
    """Adds up what is equal once in a frame, but twice in two."""
    return np.array([np.unique(values).sum() for values in frames.group(x)])


class Remembers(Items):
    """Keeps every state it has combined, and changes the first of them later: no result at hand shows it."""

    result = "int64"

    def accumulate(self, state: Any, value: Any) -> Any:
        return {"sum": (state["sum"] if state else 0) + value, "uses": 0}

    def combine(self, a: Any, b: Any) -> Any:
        for state in filter(None, (a, b)):
            state["uses"] += 1
        return {"sum": sum(state["sum"] for state in filter(None, (a, b))), "uses": 0}

    def finish(self, state: Any) -> Any:
        return state["sum"] if state else 0


NO_IDENTITY = changed(Total, create=lambda self: {"total": 1})
NO_IDENTITY_ON_THE_RIGHT = changed(Total, combine=totals(lambda a, b: np.where(b == 0, 0, a + b)))
DIFFERENCE = changed(Total, combine=totals(lambda a, b: np.where(a == 0, b, a - b)))
NOT_DEDUCTED = changed(Total, deduct=totals(lambda a, b: a - b + 1))

CAUGHT: dict[str, tuple[Any, str]] = {
    "identity": (NO_IDENTITY, "identity: combine\\(create, a\\)"),
    "identity on the right": (NO_IDENTITY_ON_THE_RIGHT, "identity: combine\\(a, create\\)"),
    "associativity": (DIFFERENCE, "associativity"),
    "split": (changed(Total, accumulate=lambda self, frames, x: {"total": distinct_sums(frames, x)}), "split"),
    "whole columns": (changed(Total, combine=totals(lambda a, b: a + b + a.sum() - a[0])), "elements: combine"),
    "frame by frame": (changed(Total, accumulate=running_sums), "elements: accumulate"),
    "deduct": (NOT_DEDUCTED, "deduct"),
    "deduct the wrong way": (changed(Total, deduct=totals(lambda a, b: b - a)), "deduct"),
    "commutativity": (changed(Total, state={"total": "int64", "seen": "bool"}, commutative=True,
        deduct=ff.AggregateOperation.deduct,
        accumulate=lambda self, frames, x: {"total": frames.last(x), "seen": np.ones(frames.size, bool)},
        combine=not_the_last), "commutativity"),
    "in place": (InPlace("x"), "identity|purity"),
    "finish in place": (changed(InPlace, combine=lambda self, a, b: a + b,
        finish=lambda self, state: [state.reverse(), *state][1:]), "purity|identity|associativity|split"),
    "purity that no result shows": (Remembers("x"), "purity: .* changed its argument a"),
    "travel": (boxes(Homesick, list, "list<int64>"), "travel"),
    "a sketch that queries do not try": (changed(Quarter, try_laws=False), "identity|associativity"),
    "one of several": (ff.AllOf(a=NO_IDENTITY), "identity"),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CAUGHT)
def test_each_law_catches_what_breaks_it(name: str) -> None:
    operation, law = CAUGHT[name]
    with pytest.raises(ff.LawError, match=f"^({law})") as caught:
        ff.check_laws(operation, TABLE, examples=20)
    assert "x=[" in str(caught.value), "the message shows an example"


def test_what_breaks_no_law_passes() -> None:
    ff.check_laws(Total("x"), TABLE, examples=20)


@pytest.mark.parametrize("values", [[1e16, 1.0], [0.1, 0.2, 0.3]])
def test_a_deduct_that_is_declared_exact_must_be(values: list[float]) -> None:
    """Windows slide by it, so rounding would pile up; a plain float deduct may round, for it is not used."""
    table = pa.table({"x": values})
    of_floats = {"state": {"total": "float64"}, "result": "float64"}
    with pytest.raises(ff.LawError, match=r"^deduct"):
        ff.check_laws(changed(Total, exact_deduct=True, **of_floats), table, examples=20)
    ff.check_laws(changed(Total, **of_floats), table, examples=20)


HIDDEN = {
    joined(ff.Skewness, "x", cubes=lambda a, b, both: a + b): ["ordinary", "near"],
    joined(ff.Kurtosis, "x", fourths=lambda a, b, both: both * (1 + 1e-8)): ["ordinary", "cancelling"],
    joined(ff.Covariance, "x", "y", xy=lambda a, b, both: a + b + (both - a - b) * 0.95): ["cancelling", "near"],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("operation", "stream"), [(of, stream) for of, streams in HIDDEN.items() for stream in streams]
)
def test_rounding_does_not_hide_what_is_wrong(operation: Any, stream: str) -> None:
    values = {"ordinary": ORDINARY, **STREAMS}[stream]
    with pytest.raises(ff.LawError, match=r"^(associativity|split)"):
        ff.check_laws(operation, pa.table({"x": values, "y": values[2:] + values[:2]}), examples=40)


def test_values_are_changed_by_a_share_of_the_largest_of_them() -> None:
    """A null has no size, and stays one."""
    null, changed = nudge(pa.array([None, 1e-9]), seed=0).to_pylist()
    assert null is None
    assert 0 < abs(changed - 1e-9) <= NUDGE * 1e-9


def test_examples_are_the_smallest() -> None:
    with pytest.raises(ff.LawError) as caught:
        ff.check_laws(NOT_DEDUCTED, pa.table({"x": [7, 8, 9, 0]}), examples=20)
    assert re.search(r"a: x=\[\d\]; b: x=\[\d\]$", str(caught.value))
    assert caught.value.__cause__ is None
    assert not getattr(caught.value, "__notes__", [])


@pytest.mark.parametrize("values", [["a", "b", ""], [1, 2, 3]])
def test_anything_that_speaks_arrow(values: list[Any]) -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    columns = {"x": values}
    coded = pa.table({"x": pa.array(values).dictionary_encode()})
    for table in (polars.DataFrame(columns), pandas.DataFrame(columns), coded):
        ff.check_laws(ff.Max("x"), table, examples=5)
        ff.check_laws(ff.Count(), table, examples=5)


def test_tables_that_cannot_be_used() -> None:
    with pytest.raises(ff.ColumnError, match="did you mean 'speed'"):
        ff.check_laws(ff.Sum("sped"), pa.table({"speed": [1]}))
    with pytest.raises(ff.QueryError, match="without nulls"):
        ff.check_laws(ff.Sum("x"), pa.table({"x": pa.array([None], pa.int64())}))
    with pytest.raises(ff.QueryError, match="aggregate operation"):
        ff.check_laws(sum, pa.table({"x": [1]}))  # type: ignore[arg-type]


# --- the trial when a query binds -----------------------------------------------------------------------------------

LEFT, RIGHT = "identity: combine\\(create, a\\)", "identity: combine\\(a, create\\)"
THREE = "associativity: \\(a b\\) c"
SLIGHTLY_OFF = joined(ff.Kurtosis, "x", fourths=lambda a, b, both: both * (1 + 1e-6))
MEAN_OF_MEANS = joined(ff.Kurtosis, "x", mean=lambda a, b, both: (a + b) / 2)
STRUCTS = changed(
    Mirrored,
    result=pa.struct([("first", INT), ("all", pa.list_(INT))]),
    finish=lambda self, state: {"first": state[0] if state else None, "all": list(state)},
)
BROKEN: dict[str, tuple[Any, list[pa.DataType], str]] = {
    "identity": (NO_IDENTITY, [INT], f"{LEFT} is 2, not a, which is 1; a: x=\\[1\\]"),
    "identity on the right": (NO_IDENTITY_ON_THE_RIGHT, [INT], f"{RIGHT} is 0, not a, which is 1; a: x=\\[1\\]"),
    "associativity": (DIFFERENCE, [INT], f"{THREE} is -?\\d, not a \\(b c\\), which is -?\\d; a: x=.*; c: x="),
    "floats": (MEAN_OF_MEANS, [FLOAT], f"{THREE} is [-\\d.]+, not a \\(b c\\), which is [-\\d.]+; a: x=\\["),
    "no more than slightly": (SLIGHTLY_OFF, [FLOAT], THREE),
    "in place": (InPlace("x"), [INT], "purity: a combine, deduct or finish changed its argument a; a: x=\\[.*"),
    "lists": (Mirrored("x"), [INT], f"{THREE} is \\[.*\\], not a \\(b c\\), which is \\["),
    "structs": (STRUCTS, [INT], f"{THREE} is {{'first'"),
    "a sketch": (Quarter("x"), [INT], f"{LEFT}|{THREE}"),
    "a function": (ff.Reducing("x", 0, np.subtract), [INT], f"{LEFT} is -1, not a, which is 1; a: x=\\[1\\]"),
    "an identity": (ff.Reducing("x", 1, np.add), [FLOAT], LEFT),
    "strings by a function": (ff.Reducing("x", "", lambda a, b: b + a + b), [TEXT], f"{LEFT} is 'aa', not a, .* 'a'"),
    "one of all": (ff.AllOf(n=ff.Count(), m=MEAN_OF_MEANS), [FLOAT], THREE),
    "filtered": (ff.Filtered(NO_IDENTITY, "flag"), [INT, pa.bool_()], LEFT),
    "mapped": (ff.Mapped(NO_IDENTITY, lambda x: x + 1, "x"), [INT], LEFT),
    "grouped": (ff.GroupedBy(NO_IDENTITY, "k"), [INT, TEXT], LEFT),
    "by elements": (ff.ElementWise(NO_IDENTITY), [pa.list_(INT)], LEFT),
    "finished otherwise": (MEAN_OF_MEANS.then(np.sqrt), [FLOAT], THREE),
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
        r"^on made-up events Joined\('x'\) for 'mean' breaks the law of associativity: \(a b\) c is [-\d.]+, "
        r"not a \(b c\), which is [-\d.]+; a: x=\[.*\]; b: x=\[.*\]; c: x=\[.*\]; ff.check_laws tries all laws on "
        r"events of yours, and try_laws = False leaves this trial out$"
    )
    for ask in (windows.aggregate, windows.explain):
        with pytest.raises(ff.OperationError, match=said):
            ask(mean=MEAN_OF_MEANS)


class Pairs(Items):
    """Trees, which tell how they were put together; their leaves do not."""

    def combine(self, a: Any, b: Any) -> Any:
        return (a, b)

    def finish(self, state: Any) -> Any:
        return sorted(self.leaves(state))

    def leaves(self, state: Any) -> list[int]:
        return [state] if isinstance(state, int) else [leaf for part in state for leaf in self.leaves(part)]


def of_hundreds(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Work on values that made-up events do not have."""
    if min(*a, *b) < 100:
        raise ValueError("too small")
    return a - b


DRAWN = changed(Items, combine=lambda self, a, b: tuple(random.sample(a + b, min(1, len(a + b)))))
UNTRIED_IN_PLACE = changed(InPlace, try_laws=False)
SHARES = changed(  # which are 1 at most: made-up values are not
    toys.Total,
    state={"total": "float64"},
    try_laws=False,
    create=lambda self: {"total": 1.0},
    accumulate=lambda self, frames, x: {"total": frames.min(x)},
    combine=totals(np.minimum),
)
YEARS = changed(  # so far from 1970 that Python has no such times
    toys.Total, result=pa.timestamp("s"), finish=lambda self, a: pa.array(a["total"] * 10**12).cast(pa.timestamp("s"))
)
SOUND: dict[str, tuple[Any, list[pa.DataType]]] = {
    "sum": (Total("x"), [INT]),
    "logarithms": (changed(ff.GeometricMean), [FLOAT]),
    "digits cut off": (changed(ff.Variance).then(lambda of: np.floor(of * 16)), [FLOAT]),
    "no numbers": (changed(Total, result="float64", finish=lambda self, a: np.full(len(a["total"]), np.nan)), [INT]),
    "lists": (Items("x"), [INT]),
    "nulls": (changed(Items, finish=lambda self, state: None if len(state) % 2 else sorted(state)), [INT]),
    "states that tell more than results": (Pairs("x"), [INT]),
    "by chance": (DRAWN, [INT]),
    "objects": (boxes(Box, lambda of: statistics.fmean(of) if of else None, "float64"), [FLOAT]),
    "untried": (UNTRIED_IN_PLACE, [INT]),
    "not for these events": (changed(toys.Total, combine=totals(of_hundreds)), [INT]),
    "a sketch that says so": (changed(Quarter, try_laws=False), [INT]),
    "values of a kind": (SHARES, [FLOAT]),
    "results that Python has no value for": (YEARS, [INT]),
    "no events of this type": (Mirrored("x"), [pa.struct([("a", INT)])]),
    "weights of a user's": (type("Decay", (ff.Ewma,), {})("x", half_life=2), [FLOAT]),
    "what cancels": (changed(ff.Skewness), [FLOAT]),
    "products": (ff.Reducing("x", 1.0, np.multiply), [FLOAT]),
    "hypotenuses": (ff.Reducing("x", 0.0, np.hypot), [FLOAT]),
    "texts": (ff.Reducing("x", "", lambda a, b: a + b), [TEXT]),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_breaks_no_law_is_not_refused(name: str) -> None:
    operation, types = SOUND[name]
    for _ in range(3):
        made = bound(operation.at_times(lambda value, argument: value), *types)
    if operation is UNTRIED_IN_PLACE:
        assert made.identity["state"].tolist() == [[]], "a trial leaves it as it is"


def test_a_trial_that_goes_wrong_says_so() -> None:
    """Only what a user's functions raise is left to real events, not what is wrong in the trial."""
    with patch.object(*place_of("trial of laws"), side_effect=RuntimeError("wrong")), pytest.raises(RuntimeError):
        bound(Total("x"))


def test_a_function_that_fails_where_states_are_joined_is_named() -> None:
    """On made-up events it is let pass, whatever it raises; on real ones the output is named."""

    def added(a: Any, b: Any) -> Any:
        if (a + b > 20).any():
            raise KeyError("too much")
        return a + b

    events = pa.table({"t": [0, 1], "x": [1, 30]})
    with pytest.raises(ff.OperationError, match=r"^combine of 'x' \(Reducing\('x'\)\) failed: KeyError: 'too much'"):
        ff.events(events, time="t").window(ff.sliding(2, every=1)).aggregate(x=ff.Reducing("x", 0, added))


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
