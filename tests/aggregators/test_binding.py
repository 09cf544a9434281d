"""Operations bound to types: contracts are checked at every call, and whoever breaks one is named."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support.plans import BoundAggregate, same
from ..support.states import Compensated
from ..support.toys import Total


def bound(operation: Any, *types: pa.DataType) -> BoundAggregate:
    return BoundAggregate("out", operation, types or [pa.int64()] * len(operation.columns))


def broken(**methods: Any) -> Any:
    """`Total` with some of its members replaced, declared so that binding makes no trial."""
    return type("Broken", (Total,), {"result": "int64", "commutative": True, "__module__": __name__, **methods})("x")


def states(*values: int) -> Any:
    return {"total": np.array(values)}


def run(operation: Any, method: str) -> None:
    made = bound(operation)
    if method == "accumulate":
        made.accumulate(ff.Frames(np.array([0, 1, 1]), 2, np.arange(3)), [pa.array([1, 2, 3])])
    elif method == "finish":
        made.finish(states(1, 2))
    else:
        getattr(made, method)(states(1, 2), states(3, 4))


WRONG: dict[str, tuple[Any, str]] = {
    "too few": (lambda *_: {"total": np.array([1])}, "1 states.*expected (2|128)"),
    "too many": (lambda *_: {"total": np.arange(3)}, "3 states.*expected (2|128)"),
    "no dict": (lambda *_: [1, 2], "dict"),
    "none": (lambda *_: None, "dict"),
    "no field": (lambda *_: {}, "no field 'total'"),
    "another field": (lambda *_: {"total": np.arange(2), "n": np.arange(2)}, "undeclared field 'n'"),
    "floats": (lambda *_: {"total": np.array([1.5, 2.5])}, "int64"),
    "strings": (lambda *_: {"total": np.array(["a", "b"])}, "int64"),
    "a scalar": (lambda *_: {"total": 5}, "total"),
    "two dimensions": (lambda *_: {"total": np.ones((2, 2), np.int64)}, "total"),
}


@pytest.mark.parametrize("method", ["accumulate", "combine", "deduct"])
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_states_are_refused(method: str, wrong: str) -> None:
    function, message = WRONG[wrong]
    with pytest.raises(ff.OperationError, match=message) as caught:
        run(broken(**{method: function}), method)
    assert f"{method} of 'out'" in str(caught.value)


@pytest.mark.parametrize("value", [np.array([1]), np.arange(3), 5, None, [1, 2, 3]])
def test_wrong_results_are_refused(value: Any) -> None:
    with pytest.raises(ff.OperationError, match="finish of 'out' returned"):
        run(broken(finish=lambda *_: value), "finish")


@pytest.mark.parametrize("value", [["a", "b"], [1.5, 2.5], [object(), object()]])
def test_results_of_another_type_are_refused(value: Any) -> None:
    with pytest.raises(ff.OperationError, match="int64"):
        run(broken(finish=lambda _, a: value[:1] * len(a["total"])), "finish")


def change_left(self: Any, a: Any, b: Any) -> Any:
    a["total"] += b["total"]
    return a


def change_right(self: Any, a: Any, b: Any) -> Any:
    b["total"][0] = 9
    return b


def change_input(self: Any, frames: Any, x: Any) -> Any:
    x[0] = 9
    return {"total": frames.sum(x)}


def change_finished(self: Any, a: Any) -> Any:
    a["total"] *= 2
    return a["total"]


@pytest.mark.parametrize(
    ("method", "function"),
    [
        ("combine", change_left),
        ("combine", change_right),
        ("deduct", change_left),
        ("accumulate", change_input),
        ("finish", change_finished),
    ],
)
def test_arguments_cannot_be_changed(method: str, function: Any) -> None:
    with pytest.raises(ff.OperationError, match=f"{method} of 'out'.*read-only") as caught:
        run(broken(**{method: function}), method)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("method", ["accumulate", "combine", "deduct", "finish"])
def test_a_users_exception_keeps_its_traceback(method: str) -> None:
    def boom(self: Any, *_: Any) -> Any:
        raise ZeroDivisionError("boom")

    with pytest.raises(ff.OperationError, match=f"{method} of 'out'.*ZeroDivisionError: boom") as caught:
        run(broken(**{method: boom}), method)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    names = []
    step = cause.__traceback__
    while step:
        names.append(step.tb_frame.f_code.co_name)
        step = step.tb_next
    assert names[-1] == "boom"


@pytest.mark.parametrize("method", ["accumulate", "combine", "finish"])
def test_missing_methods_are_named(method: str) -> None:
    with pytest.raises(ff.OperationError, match=f"has no {method}"):
        bound(broken(**{method: getattr(ff.AggregateOperation, method)}))


def test_a_state_must_be_declared() -> None:
    with pytest.raises(ff.OperationError, match="declares no state"):
        bound(broken(state={}))
    with pytest.raises(ff.OperationError, match="'floaty'"):
        bound(broken(state={"total": "floaty"}))


def test_create_is_checked() -> None:
    with pytest.raises(ff.OperationError, match=r"create of 'out'.*no field"):
        bound(broken(create=lambda self: {}))
    with pytest.raises(ff.OperationError, match="create of 'out'"):
        bound(broken(create=lambda self: {"total": "zero"}))


@pytest.mark.parametrize("columns", [(), ("x", "y")])
def test_the_number_of_columns_must_fit(columns: tuple[str, ...]) -> None:
    with pytest.raises(ff.OperationError, match=f"given {len(columns)} columns, but its accumulate takes 1"):
        bound(Total(*columns))


def test_columns_are_names() -> None:
    with pytest.raises(ff.QueryError, match="names of columns"):
        Total(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        (lambda self, a: a["total"] / 2, pa.float64()),
        (lambda self, a: a["total"], pa.int64()),
        (lambda self, a: a["total"] > 3, pa.bool_()),
        (lambda self, a: [str(each) for each in a["total"]], pa.string()),
        (lambda self, a: [[int(each)] for each in a["total"]], pa.list_(pa.int64())),
        (lambda self, a: np.ma.masked_array(a["total"] * 1.5, a["total"] > 3), pa.float64()),
        (lambda self, a: pa.array(a["total"]).cast(pa.int8()), pa.int8()),
        (lambda self, a: pa.chunked_array([pa.array(a["total"])]), pa.int64()),
        (lambda self, a: Compensated.of(a["total"]), pa.float64()),
    ],
)
def test_the_type_of_the_result_is_found_out(finish: Any, expected: pa.DataType) -> None:
    made = bound(broken(finish=finish, result=None))
    assert made.result == expected
    assert made.finish(states(1, 2)).type == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("float32", pa.float32()),
        (pa.int8(), pa.int8()),
        (np.float64, pa.float64()),
        ("list<string>", pa.list_(pa.string())),
    ],
)
def test_the_declared_type_of_the_result(declared: Any, expected: pa.DataType) -> None:
    assert bound(broken(result=declared)).result == expected


def test_a_result_without_a_type() -> None:
    with pytest.raises(ff.OperationError, match="declare it"):
        bound(broken(finish=lambda self, a: [None] * len(a["total"]), result=None))
    with pytest.raises(ff.OperationError, match="'nonsense'"):
        bound(broken(result="nonsense"))


def test_masked_results_are_null() -> None:
    made = bound(broken(finish=lambda self, a: np.ma.masked_array(a["total"], [True, False])))
    assert made.finish(states(1, 2)).to_pylist() == [None, 2]


class Keep(ff.AggregateOperation):
    """Keeps the left or the right state, or adds them; zero is an identity of some of that only."""

    state = {"value": "float64"}
    result = "float64"
    try_laws = False

    def __init__(self, column: str, how: str) -> None:
        super().__init__(column)
        self.how = how

    def accumulate(self, frames: Any, x: Any) -> Any:
        return {"value": frames.first(x).astype(float)}

    def combine(self, a: Any, b: Any) -> Any:
        a, b = a["value"], b["value"]
        return {"value": {"left": a, "right": b, "add": a + b, "min": np.minimum(a, b), "nan": a * np.nan}[self.how]}

    def finish(self, a: Any) -> Any:
        return a["value"]


@pytest.mark.parametrize(
    ("how", "expected"), [("left", False), ("right", False), ("add", True), ("min", True), ("nan", True)]
)
@pytest.mark.parametrize("type", [pa.int64(), pa.float64(), pa.uint8()])
def test_commutativity_is_tried(how: str, expected: bool, type: pa.DataType) -> None:
    assert bound(Keep("x", how), type).commutative is expected


def test_commutativity_is_not_assumed() -> None:
    """Where no values can be made up, or the operation fails on them, order is kept."""

    def picky(self: Any, frames: Any, x: Any) -> Any:
        raise ValueError("only real values")

    assert bound(broken(accumulate=picky, commutative=None)).commutative is False
    assert bound(broken(commutative=None), pa.struct([("a", pa.int64())])).commutative is False


def test_which_operations_deduct() -> None:
    def minus(self: Any, a: Any, b: Any) -> Any:
        return {"total": a["total"] - b["total"]}

    assert bound(broken()).deducts == (False, "it has no deduct")
    assert bound(broken(deduct=minus)).deducts[0] is True
    assert bound(broken(deduct=minus, state={"total": "compensated"})).deducts[0] is True
    for inexact in ("float64", "object"):
        assert bound(broken(deduct=minus, state={"total": inexact})).deducts[0] is False
        assert bound(broken(deduct=minus, state={"total": inexact}, exact_deduct=True)).deducts[0] is True


def test_equality_of_states() -> None:
    assert same(np.array([np.nan, 1]), np.array([np.nan, 1]))
    assert not same(np.array([1.0]), np.array([2.0]))
    assert same(Compensated.of([np.nan]), Compensated.of([np.nan]))
    assert same(np.array([(1, 2), "a"], object), np.array([(1, 2), "a"], object))


@pytest.mark.parametrize("operation", [ff.Sum("x"), ff.Min("x"), ff.Last("x"), Total("x")])
def test_bound_operations_can_be_sent(operation: Any) -> None:
    made = bound(operation)
    sent = pickle.loads(cloudpickle.dumps(made))
    assert sent.result == made.result
    frames = ff.Frames(np.array([0, 0]), 1, np.arange(2))
    of = [each.finish(each.accumulate(frames, [pa.array([4, 5])])).to_pylist() for each in (made, sent)]
    assert of[0] == of[1]
