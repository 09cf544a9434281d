"""`check_laws` catches operations that break one law each, and passes those that keep all."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..oracles.numeric import STREAMS
from ..support.toys import Total as Sum

TABLE = pa.table({"x": [3, -1, 4, 1, -5, 0]})
FLOATS = pa.table({"x": [0.1, 0.2, 0.3, 1e16, -7.5]})


class Total(Sum):
    """A sum that keeps every law; each class below breaks one."""

    result = "int64"

    def deduct(self, a: Any, b: Any) -> Any:
        return {"total": a["total"] - b["total"]}


class NotTheIdentity(Total):
    def create(self) -> Any:
        return {"total": 1}


class NotOnTheRight(Total):
    """`combine(create, a)` is `a`, but `combine(a, create)` is not."""

    def combine(self, a: Any, b: Any) -> Any:
        return {"total": np.where(a["total"] == 0, b["total"], np.where(b["total"] == 0, 0, a["total"] + b["total"]))}


class NotAssociative(Total):
    """Half of the sum, but zero is an identity."""

    def combine(self, a: Any, b: Any) -> Any:
        a, b = a["total"], b["total"]
        return {"total": np.where((a == 0) | (b == 0), a + b, a + b + (a > b))}


class NotSplit(Total):
    """The sum of distinct values, whose state could be two sums."""

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"total": np.array([np.unique(values).sum() for values in frames.group(x)])}


class NotElementwise(Total):
    """Adds up the whole column."""

    def combine(self, a: Any, b: Any) -> Any:
        return {"total": a["total"] + b["total"] + (a["total"].sum() - a["total"][0])}


class NotElementwiseAccumulate(Total):
    """Each frame's sum with those of the frames before it: right as long as there is one frame."""

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"total": np.cumsum(frames.sum(x))}


class NotDeducted(Total):
    def deduct(self, a: Any, b: Any) -> Any:
        return {"total": a["total"] - b["total"] + 1}


class DeductsTheWrongWay(Total):
    def deduct(self, a: Any, b: Any) -> Any:
        return {"total": b["total"] - a["total"]}


class InexactDeduct(Total):
    """Floats, declared to be exact."""

    state = {"total": "float64"}
    result = "float64"
    exact_deduct = True


class RightOne(Total):
    state = {"total": "int64", "seen": "bool"}
    commutative = True
    deduct = ff.AggregateOperation.deduct

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"total": frames.last(x), "seen": np.ones(frames.size, bool)}

    def combine(self, a: Any, b: Any) -> Any:
        return {"total": np.where(b["seen"], b["total"], a["total"]), "seen": a["seen"] | b["seen"]}


class InPlace(ff.PythonOperation):
    """A list that is extended where it stands."""

    result = "list<int64>"

    def create(self) -> Any:
        return []

    def accumulate(self, state: Any, value: Any) -> Any:
        return [*state, value]

    def combine(self, a: Any, b: Any) -> Any:
        a.extend(b)
        return a

    def finish(self, state: Any) -> Any:
        return list(state)


class FinishesInPlace(InPlace):
    def combine(self, a: Any, b: Any) -> Any:
        return a + b

    def finish(self, state: Any) -> Any:
        state.reverse()
        return list(state)


class Homesick:
    """A state that is another one after a journey."""

    def __init__(self, values: tuple[int, ...]) -> None:
        self.values = values

    def __reduce__(self) -> Any:
        return Homesick, ((*self.values, 0),)


class NotTravelled(InPlace):
    def create(self) -> Any:
        return Homesick(())

    def accumulate(self, state: Any, value: Any) -> Any:
        return Homesick((*state.values, value))

    def combine(self, a: Any, b: Any) -> Any:
        return Homesick(a.values + b.values)

    def finish(self, state: Any) -> Any:
        return list(state.values)


@pytest.mark.parametrize(
    ("operation", "law"),
    [
        (NotTheIdentity, "identity: combine\\(create, a\\)"),
        (NotOnTheRight, "identity: combine\\(a, create\\)"),
        (NotAssociative, "associativity"),
        (NotSplit, "split"),
        (NotElementwise, "elements: combine"),
        (NotElementwiseAccumulate, "elements: accumulate"),
        (NotDeducted, "deduct"),
        (DeductsTheWrongWay, "deduct"),
        (RightOne, "commutativity"),
        (InPlace, "identity|purity"),
        (FinishesInPlace, "purity|identity|associativity|split"),
        (NotTravelled, "travel"),
    ],
)
def test_each_law_catches_what_breaks_it(operation: Any, law: str) -> None:
    with pytest.raises(ff.LawError, match=f"^({law})") as caught:
        ff.check_laws(operation("x"), TABLE, examples=20)
    assert "x=[" in str(caught.value), "the message shows an example"


def test_what_breaks_no_law_passes() -> None:
    ff.check_laws(Total("x"), TABLE)


class Remembers(Total):
    """Keeps every state it has combined, and changes the first of them later: no result at hand shows it."""

    state = {"total": "object"}
    deduct = ff.AggregateOperation.deduct

    def create(self) -> Any:
        return {"total": ()}

    def accumulate(self, frames: Any, x: Any) -> Any:
        states = np.empty(frames.size, object)
        states[:] = [{"sum": int(each.sum()), "uses": 0} for each in frames.group(x)]
        return {"total": states}

    def combine(self, a: Any, b: Any) -> Any:
        return {"total": np.frompyfunc(self.join, 2, 1)(a["total"], b["total"])}

    def join(self, a: Any, b: Any) -> Any:
        for state in filter(None, (a, b)):
            state["uses"] += 1
        return {"sum": sum(state["sum"] for state in filter(None, (a, b))), "uses": 0}

    def finish(self, a: Any) -> Any:
        return [state["sum"] if state else 0 for state in a["total"]]


def test_purity_is_seen_where_no_result_shows_it() -> None:
    with pytest.raises(ff.LawError, match=r"^purity: .* changed its argument a"):
        ff.check_laws(Remembers("x"), TABLE, examples=20)


@pytest.mark.parametrize("values", [[1e16, 1.0], [0.1, 0.2, 0.3]])
def test_a_deduct_that_is_declared_exact_must_be(values: list[float]) -> None:
    """Windows slide by it, so rounding would pile up; a plain float deduct may round, for it is not used."""
    table = pa.table({"x": values})
    with pytest.raises(ff.LawError, match=r"^deduct"):
        ff.check_laws(InexactDeduct("x"), table, examples=20)
    plain = type("Plain", (InexactDeduct,), {"exact_deduct": False})
    ff.check_laws(plain("x"), table, examples=20)


ORDINARY = [0.5, 1.5, -2.0, 7.25, 3.0]


class WithoutBetween(ff.Skewness):
    """Forgets that the means of the two states are apart."""

    def combine(self, a: Any, b: Any) -> Any:
        joined = dict(super().combine(a, b))
        return {
            **joined,
            "cubes": np.where((a["count"] > 0) & (b["count"] > 0), a["cubes"] + b["cubes"], joined["cubes"]),
        }


class WrongWeight(ff.Kurtosis):
    """A coefficient of Pébay's formula is wrong."""

    def combine(self, a: Any, b: Any) -> Any:
        joined = dict(super().combine(a, b))
        both = (a["count"] > 0) & (b["count"] > 0)
        return {**joined, "fourths": np.where(both, joined["fourths"] * (1 + 1e-8), joined["fourths"])}


class NotQuiteTheCovariance(ff.Covariance):
    """Lets a twentieth of what two states differ by go."""

    def combine(self, a: Any, b: Any) -> Any:
        joined = dict(super().combine(a, b))
        return {**joined, "xy": a["xy"] + b["xy"] + (joined["xy"] - a["xy"] - b["xy"]) * 0.95}


class SquaresOfRaw(ff.AggregateOperation):
    """The variance from raw sums of squares, of which nothing is left where values are large and close."""

    state = {"n": "int64", "total": "float64", "squares": "float64"}
    result = "float64"

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"n": frames.count(), "total": frames.sum(x), "squares": frames.sum(x * x)}

    def combine(self, a: Any, b: Any) -> Any:
        return {key: a[key] + b[key] for key in self.state}

    def finish(self, a: Any) -> Any:
        return a["squares"] - a["total"] ** 2 / np.maximum(a["n"], 1)


class SumOfDistinct(SquaresOfRaw):
    """Adds up what is equal once in a frame, but twice in two."""

    def accumulate(self, frames: Any, x: Any) -> Any:
        total = np.array([np.unique(values).sum() for values in frames.group(x)])
        return {"n": frames.count(), "total": total, "squares": total}

    def finish(self, a: Any) -> Any:
        return a["total"]


@pytest.mark.parametrize(
    "values", [ORDINARY, STREAMS["cancelling"], STREAMS["near"]], ids=["ordinary", "cancel", "near"]
)
@pytest.mark.parametrize("operation", [WithoutBetween, WrongWeight, NotQuiteTheCovariance, SumOfDistinct])
def test_rounding_does_not_hide_what_is_wrong(operation: Any, values: list[float]) -> None:
    table = pa.table({"x": values, "y": values[2:] + values[:2]})
    with pytest.raises(ff.LawError, match=r"^(associativity|split)"):
        ff.check_laws(operation(*table.column_names[: 1 + issubclass(operation, ff.Covariance)]), table, examples=40)


def test_a_formula_that_rounds_everything_away_is_wrong() -> None:
    ff.check_laws(SquaresOfRaw("x"), pa.table({"x": ORDINARY}), examples=20)
    with pytest.raises(ff.LawError, match=r"^(associativity|split)"):
        ff.check_laws(SquaresOfRaw("x"), pa.table({"x": STREAMS["near"]}), examples=40)


def test_examples_are_the_smallest() -> None:
    with pytest.raises(ff.LawError) as caught:
        ff.check_laws(NotDeducted("x"), pa.table({"x": [7, 8, 9, 0]}), examples=20)
    assert re.search(r"a: x=\[\d\]; b: x=\[\d\]$", str(caught.value))
    assert caught.value.__cause__ is None
    assert not getattr(caught.value, "__notes__", [])


def test_counting_rows_needs_no_column() -> None:
    ff.check_laws(ff.Count(), pa.table({"y": [1, 2]}), examples=10)


@pytest.mark.parametrize("values", [["a", "b", ""], [1, 2, 3]])
def test_anything_that_speaks_arrow(values: list[Any]) -> None:
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    for table in (polars.DataFrame({"x": values}), pandas.DataFrame({"x": values})):
        ff.check_laws(ff.Max("x"), table, examples=5)
    ff.check_laws(ff.Max("x"), pa.table({"x": pa.array(values).dictionary_encode()}), examples=5)


def test_tables_that_cannot_be_used() -> None:
    with pytest.raises(ff.ColumnError, match="did you mean 'speed'"):
        ff.check_laws(ff.Sum("sped"), pa.table({"speed": [1]}))
    with pytest.raises(ff.QueryError, match="without nulls"):
        ff.check_laws(ff.Sum("x"), pa.table({"x": pa.array([None], pa.int64())}))
    with pytest.raises(ff.QueryError, match="aggregate operation"):
        ff.check_laws(sum, pa.table({"x": [1]}))  # type: ignore[arg-type]
