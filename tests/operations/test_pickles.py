"""Which states are pickles, and who reads them."""

from __future__ import annotations

import functools
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import framefold as ff

from ..support import stages
from ..support.plans import bind, in_this_process, is_library_code, pickled_outputs, trusting
from ..support.stages import release, states_of
from ..support.states import HeldObjects, Objects, field, leaves
from .pickled import NEVER, PICKLED

EVENTS = pa.table({
    "t": [0, 1, 2, 11],
    "g": ["a", "b", "a", "a"],
    "x": [1.0, 2.0, 4.0, 8.0],
    "l": [[1.0, 2.0], [3.0], [4.0], [5.0]],
    "m": pa.array([[("a", 1.0)], [("b", 2.0)], [("a", 3.0)], []], pa.map_(pa.string(), pa.float64())),
})  # fmt: skip
SIMPLE = {"an arrow type": pa.list_(pa.string()), "a struct": pa.struct({"a": pa.string()}), "text": pa.string()}


def plan_of(operation: ff.Operation) -> Any:
    return bind(EVENTS.schema, time="t", by=[], window=ff.sliding(10, every=5), outputs={"n": operation})


@pytest.mark.parametrize("name", list(PICKLED))
def test_a_state_with_pickles_is_known_at_any_depth(name: str) -> None:
    plan = plan_of(PICKLED[name])
    assert pickled_outputs(plan) == ["n"]
    held = in_this_process(plan)
    assert pickled_outputs(held) == []
    assert any(isinstance(leaf, HeldObjects) for kind in held.outputs["n"].fields.values() for leaf in leaves(kind))
    assert not is_library_code(plan.outputs)
    partials = stages.accumulate(plan, EVENTS, 0)
    with pytest.raises(ff.EngineError, match=r"pickles that nobody has said can be trusted.*trust_checkpoint=True"):
        states_of(plan, partials, "n")
    found = stages.results(trusting(plan), partials)
    windows = ff.events(EVENTS, time="t").window(ff.sliding(10, every=5))
    assert found.to_pylist() == windows.aggregate(n=PICKLED[name]).to_pylist()
    assert found["window"].to_pylist()[0] == {"start": -5, "end": 5}


def test_results_over_objects_in_lists_are_right() -> None:
    windows = ff.events(EVENTS, time="t").window(ff.tumbling(10))
    result = windows.aggregate(g=PICKLED["GroupedBy"], own=PICKLED["a list of its own"], l=PICKLED["lists"])
    assert result["g"].to_pylist() == [[("a", 5), ("b", 2)], [("a", 8)]]
    assert result["own"].to_pylist() == [3, 1]
    assert result["l"].to_pylist() == [[8, 2], [5]]


@pytest.mark.parametrize("name", list(NEVER))
def test_a_state_without_pickles_is_known_too(name: str) -> None:
    plan = plan_of(NEVER[name])
    assert pickled_outputs(plan) == []
    assert trusting(plan) is plan
    partials = stages.accumulate(plan, EVENTS, 0)
    assert stages.results(plan, partials).num_rows == 4


@pytest.mark.parametrize("kind", list(SIMPLE.values()), ids=list(SIMPLE))
def test_values_of_an_arrow_type_are_no_pickles(kind: pa.DataType) -> None:
    assert not field(kind).pickles
    assert not field({"v": kind, "n": "int64"}).pickles
    assert field({"n": "int64", "v": "object"}).pickles


def test_a_pickle_that_runs_a_command_is_not_read(tmp_path: Path) -> None:
    marker = tmp_path / "it ran"

    class Command:
        def __reduce__(self) -> Any:
            return os.system, (f"touch '{marker}'",)

    blob = pickle.dumps(Command())
    alone, in_list = pa.array([blob], pa.large_binary()), pa.array([[blob]], pa.large_list(pa.large_binary()))
    for kind, plane in ((field("object"), alone), (field({"v": "object"}), in_list)):
        with pytest.raises(ff.EngineError, match="nobody has said can be trusted"):
            kind.from_arrow([plane])
        assert not marker.exists()
        assert len(kind.of_pickles(lambda: Objects(trusted=True)).from_arrow([plane])) == 1
        assert marker.exists()
        marker.unlink()


def test_items_of_lists_are_of_one_column() -> None:
    for declared in ("compensated", "exact", {"v": "object"}):
        with pytest.raises(ff.OperationError, match=r"a list of items whose 'v' is declared as .*; expected a num"):
            field({"v": declared})


def test_functions_of_a_user_are_known_whatever_they_are_in() -> None:
    own = [
        lambda column: column,
        np.frompyfunc(lambda a, b: a + b, 2, 1),
        np.vectorize(lambda a: a),
        functools.partial(np.add, 1),
        {"deep": [(lambda: 0,)]},
    ]
    assert [is_library_code(each) for each in own] == [False] * len(own)
    assert all(map(is_library_code, [np.add, np.sqrt, np.sum, ff.Sum("x"), ff.AllOf(a=ff.GroupedBy(ff.Max("x"), "g"))]))


def test_objects_in_lists_are_released() -> None:
    held = in_this_process(plan_of(PICKLED["a list of its own"]))
    (store,) = [leaf.store for leaf in leaves(held.outputs["n"].fields["items"]) if isinstance(leaf, HeldObjects)]
    many = pa.concat_tables([EVENTS] * 100)
    parts = [stages.accumulate(held, many.slice(at, 40), at) for at in range(0, 400, 40)]
    merged = stages.merge(held, pa.concat_tables(parts))
    before = len(store.values)
    release(held, merged)
    assert len(store.values) == 400 < before
    assert stages.results(held, merged)["n"].to_pylist() == [300, 300, 100, 100]
