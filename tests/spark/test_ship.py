"""Getting framefold and the user's own operations to executors that have neither."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import cloudpickle
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import framefold as ff
from framefold.spark.session import packaging

from ..support.loops import MODULE_OF_LOOPS, loops
from ..support.spark_parts import pickling

HELPERS = """
import dataclasses

STEP = 1

@dataclasses.dataclass(frozen=True)
class Tally:
    n: int = 0

    def plus(self, value):
        return Tally(self.n + STEP)

    def join(self, other):
        return Tally(self.n + other.n)
"""


def test_the_zip_is_the_whole_package() -> None:
    path = packaging.package_zip()
    assert path == packaging.package_zip()
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    for room in ("", "aggregators/", "runtime/", "spark/"):
        assert f"framefold/{room}__init__.py" in names
        assert f"framefold/{room}__init__.pyc" in names
    assert "framefold/py.typed" in names
    assert "cloudpickle/cloudpickle.py" in names
    assert not any("__pycache__" in name for name in names)
    others = [name for name in names if name.rpartition(".")[2] not in {"py", "pyc", "typed"}]
    compiled = [f"framefold/aggregators/loops/{name}{EXTENSION_SUFFIXES[0]}" for name in ("ranges", "rows", "windows")]
    assert others == (compiled if loops.compiled else [])


def test_framefold_in_a_zip_ships_the_same_zip() -> None:
    path = packaging.package_zip()
    code = "import framefold, framefold.spark.session.packaging as s; print(framefold.__file__); print(s.package_zip())"
    program = f"import sys; sys.path.insert(0, {path!r}); {code}"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert out[0].startswith(path)
    assert Path(out[1]).name == Path(path).name


def test_executors_have_the_compiled_loops(spark: SparkSession) -> None:
    """A task that finds another framefold than the zip's would have them too: it says where it is."""
    packaging.ship(spark)
    name = MODULE_OF_LOOPS

    def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        module = importlib.import_module(name)
        list(batches)
        yield pa.RecordBatch.from_pydict({"file": [module.__file__], "loops": [module.compiled]})

    found = spark.range(1).mapInArrow(where, "file string, loops boolean").collect()
    assert all(".zip" in row["file"] for row in found)
    assert {row["loops"] for row in found} == {loops.compiled}


@pytest.mark.classic("sessions of Connect share nothing")
def test_a_session_is_shipped_to_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    real = type(spark).addArtifacts
    monkeypatch.setattr(type(spark), "addArtifacts", lambda self, *a, **k: (calls.append(a[0]), real(self, *a, **k)))
    another = spark.newSession()  # shares the context, which has the file already
    packaging.ship(another)
    packaging.ship(another)
    assert calls == [packaging.package_zip()]


def test_a_users_modules_go_by_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_a_user.py").write_text(HELPERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    import of_a_user  # type: ignore[import-not-found]

    payload = pickling.pack(of_a_user.Tally(3))
    assert cloudpickle.list_registry_pickle_by_value() == set()
    reader = f"import pickle; tally = pickle.loads({payload!r}); print(tally.plus(1).n)"
    out = subprocess.run([sys.executable, "-c", reader], capture_output=True, text=True, check=True, cwd="/").stdout
    assert out.strip() == "4"
    assert type(pickling.unpack(payload)) is of_a_user.Tally  # back where it came from it is the class it was


def test_whose_a_module_is() -> None:
    import json

    import numpy
    import pyspark

    assert pickling._is_users(sys.modules[__name__])
    for module in (json, numpy, pyspark, sys, ff, packaging, sys.modules["__main__"]):
        assert not pickling._is_users(module), module
    assert not pickling._is_users(ModuleType("not_imported"))
    assert not pickling._is_users(None)


def test_what_does_not_pickle_is_said() -> None:
    with pytest.raises(ff.OperationError, match="cannot be sent to the executors, it does not pickle"):
        pickling.pack(threading.Lock())
