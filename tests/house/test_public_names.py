"""What users import from framefold is called so: in errors, in ``help``, in pickles."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pydoc
import subprocess
import sys
import traceback
from typing import Any

import cloudpickle
import pyarrow as pa
import pytest

import framefold as ff

from ..support.plans import BoundAggregate, is_library_code

NAMED = {name: getattr(ff, name) for name in ff.__all__ if name not in ("State", "__version__", "parquet")}
INNER = {
    "framefold.aggregators.sums.sums": "Sum", "framefold.aggregators.contract.operation": "AggregateOperation",
    "framefold.aggregators.errors": "SumOverflowError", "framefold.runtime.windows.sliding": "sliding",
    "framefold.runtime.explain": "Explanation",
}  # fmt: skip
"""Modules that pickles of before named."""


@pytest.mark.parametrize("name", NAMED)
def test_a_public_name_is_of_the_package(name: str) -> None:
    value = NAMED[name]
    assert value.__module__ == "framefold"
    assert getattr(ff, value.__qualname__) is value
    for made in (pickle.dumps(value), cloudpickle.dumps(value)):
        assert pickle.loads(made) is value
        assert b"framefold." not in made


@pytest.mark.parametrize("module", INNER)
def test_pickles_that_name_inner_modules_are_read(module: str) -> None:
    assert pickle.loads(f"c{module}\n{INNER[module]}\n.".encode()) is getattr(ff, INNER[module])
    assert getattr(importlib.import_module(module), INNER[module]) is getattr(ff, INNER[module])


def test_errors_and_help_say_the_public_name() -> None:
    with pytest.raises(ff.QueryError) as info:
        ff.events(pa.table({"t": [0]}), time="u").window(ff.tumbling(1)).aggregate(n=ff.Count())
    assert traceback.format_exception_only(info.value)[0].startswith("framefold.ColumnError: ")
    assert repr(ff.Sum) == "<class 'framefold.Sum'>"
    assert "class Sum in module framefold\n" in pydoc.render_doc(ff.Sum, renderer=pydoc.plaintext)
    assert len(pydoc.render_doc(ff.Average, renderer=pydoc.plaintext).splitlines()) < 80
    assert "class Sum(" in pydoc.render_doc(ff, renderer=pydoc.plaintext)
    assert inspect.signature(ff.sliding).parameters
    assert [name for name in dir(ff) if not name.startswith("__")] == sorted(set(ff.__all__) - {"__version__"})


def test_whose_code_it_is_does_not_change() -> None:
    class Own(ff.Sum):
        pass

    ours, own = (BoundAggregate("x", operation, [pa.int64()]) for operation in (ff.Sum("x"), Own("x")))
    assert (ours.untrusted, own.untrusted) == (False, True)
    assert (is_library_code(ours), is_library_code(own)) == (True, False)


ALONE = """
import pickle, sys
assert pickle.loads(b"cframefold\\nSum\\n.").__module__ == "framefold"
assert not {"framefold.extras.relations.relation", "framefold.events", "pyspark"} & set(sys.modules)
print(pickle.loads(b"cframefold\\nsliding\\n.").__module__)
try:
    import framefold.aggregators
    framefold.Sum([1])
except Exception as error:
    print(type(error))
"""


def test_a_pickle_loads_what_it_names_and_not_the_rest() -> None:
    """A worker imports no engine for an operation."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["framefold", "<class 'framefold.QueryError'>"]


def test_each_name_is_the_same_from_the_first_module_that_has_it() -> None:
    modules: tuple[str, ...] = vars(ff)["_MODULES"]
    spaces: list[dict[str, Any]] = [vars(importlib.import_module(f"framefold.{module}")) for module in modules]
    for name, value in NAMED.items():
        first = next(space[name] for space in spaces if name in space and not inspect.ismodule(space[name]))
        assert first is value, name
