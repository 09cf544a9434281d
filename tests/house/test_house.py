"""The rooms and how they are put together. Which imports which is for import-linter to say, in `make lint`."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.resources
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import framefold

from ..support.programs import module_of, parsed

ROOT = Path(__file__).parents[2]
ROOMS = ["extras", "api", "spark", "runtime", "aggregators"]
SOURCES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
FOLDERS = sorted({path.parent for path in SOURCES})


def imports(tree: ast.Module) -> set[str]:
    """Full names of what a file imports from elsewhere."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
    return names


def test_what_files_say_and_import() -> None:
    """In one line which one question a file answers; of the package by its place; of Spark in its room and above."""
    wrong = []
    for path in SOURCES:
        tree, place = parsed(path), path.relative_to(ROOT)
        line = (ast.get_docstring(tree) or "").partition("\n")[0]
        if not line.endswith(".") or re.search(r"\band\b", line):
            wrong.append(f"{place} begins with {line!r}; expected one sentence or phrase, whole, without 'and'")
        barred = {"framefold"} | ({"pyspark", "py4j"} if place.parts[0] in {"runtime", "aggregators"} else set())
        wrong += [f"{place} imports {name}" for name in imports(tree) if name.split(".")[0] in barred]
    assert not wrong


def test_every_folder_is_a_package_that_is_installed() -> None:
    """What pyproject.toml leaves out is in no wheel, though an editable install finds some of it."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert sorted(said) == sorted(module_of(folder / "__init__.py") for folder in FOLDERS)


def test_the_version_is_said_once_for_all() -> None:
    assert framefold.__version__ == importlib.metadata.version("framefold")


def is_made_anew(node: ast.expr) -> bool:
    """Whether an expression is a list of names that Arrow or Spark makes each time that it is asked for."""
    text = ast.unparse(node)
    return isinstance(node, ast.Attribute) and text.endswith((".names", ".column_names", "df.columns"))


def test_no_name_is_looked_for_in_a_list_made_for_it_alone() -> None:
    """Of n columns that takes n² steps. Lists that depend on what is gone through are another thing."""
    found = []
    for path in SOURCES:
        for made in ast.walk(parsed(path)):
            if not isinstance(made, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
                continue
            if ast.unparse(made.generators[0].iter).isupper():  # a few names that are known
                continue
            own = {each.id for of in made.generators for each in ast.walk(of.target) if isinstance(each, ast.Name)}
            for test in ast.walk(made):
                if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.In, ast.NotIn)):
                    (names, *_) = test.comparators
                    used = {each.id for each in ast.walk(names) if isinstance(each, ast.Name)}
                    if is_made_anew(names) and not used & own:
                        found.append(f"{path.relative_to(ROOT)}:{test.lineno}: {ast.unparse(test)}")
    assert not found


def test_types_are_shipped() -> None:
    assert importlib.resources.files("framefold").joinpath("py.typed").is_file()


def test_everything_exported_exists_and_is_documented() -> None:
    for name in framefold.__all__:
        exported = getattr(framefold, name)
        assert isinstance(exported, str) or exported.__doc__, name


def test_make_can_say_what_it_would_do() -> None:
    targets = (
        "demo demo-stream test slow standalone kubernetes yarn minima lint docs bench bench-quick bench-kernels wheels "
        "release-files clean"
    )
    done = subprocess.run(["make", "-n", *targets.split()], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Nothing to be done" not in done.stdout


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
import framefold.events, framefold.together  # modules with the names of functions
assert not any(map(sys.modules.__contains__, ("framefold.start", "framefold.windows")))
assert callable(framefold.events) and callable(framefold.together)
assert framefold.runtime.windows.session is framefold.session
from framefold import *
assert Sum is framefold.Sum is framefold.aggregators.sums.sums.Sum
assert framefold.nothing
"""


def test_names_are_imported_when_the_first_is_asked_for() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "AttributeError: module 'framefold' has no attribute 'nothing'"


def test_names_are_known_before_they_are_imported() -> None:
    """``events`` and ``together`` are functions, although modules of these names are there."""
    code = (
        "import framefold; before = framefold.__all__, dir(framefold), vars(framefold.Sum) and dir(framefold)\n"
        "for names in before: print(*(name for name in names if hasattr(framefold, name)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    some = {"Sum", "sliding", "QueryError", "events", "together", "windows_from", "__version__"}
    assert [{*framefold.__all__, *some} - {*line.split()} for line in done.stdout.splitlines()] == [set()] * 3
