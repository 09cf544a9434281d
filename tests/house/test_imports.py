"""Imports within functions: of what is an extra, and of nothing that an import at the top would tie into a circle.

That there is no circle is import-linter's to check, which takes those within functions for imports, too.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

from ..support.programs import ROOT, module_of, parsed

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ROOMS = ("aggregators", "runtime", "spark", "api", "extras")
EXTRAS = {
    re.split(r"[\[>=<;]", each)[0].replace("-", "_")
    for name, packages in PROJECT["optional-dependencies"].items()
    if name not in ("test", "bench", "lint") and not name.startswith("peer")
    for each in packages
} | {"IPython", "opentelemetry"}
"""Packages that need not be installed. IPython is there where a notebook is; opentelemetry is opentelemetry-api."""

LATE = {
    "api/__init__.py": "a name is imported when it is asked for",
    "extras/cli/": "the help shows before what a job needs is loaded",
    "runtime/sources/conditions.py": "a task without a condition need not load the functions of SQL",
}
"""Where other modules of the package are imported within functions, and why."""


FILES = {module_of(path): path for room in ROOMS for path in (ROOT / room).rglob("*.py")}


@cache
def imports(path: Path) -> list[tuple[str, int, bool]]:
    """The modules that a file imports as it runs, the number of dots before each, and whether within a function.

    Not those for types only.
    """
    found: list[tuple[str, int, bool]] = []
    todo: list[tuple[ast.stmt, bool]] = [(node, False) for node in parsed(path).body]
    while todo:
        node, within = todo.pop()
        if isinstance(node, ast.Import):
            found += [(each.name, 0, within) for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [each.name for each in node.names] if node.module is None else [node.module]
            found += [(name, node.level, within) for name in names]
        within = within or isinstance(node, ast.FunctionDef)
        typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        parts = [getattr(node, part, []) for part in ("body", "orelse", "finalbody")[typing:]]
        parts += [each.body for name in ("handlers", "cases") for each in getattr(node, name, [])]
        todo += [(each, within) for part in parts for each in part]
    return found


def absolute(path: Path, name: str, dots: int) -> str:
    """The name of a module of the package, as a file imports it."""
    folder = module_of(path.with_name("__init__.py")).split(".")
    return ".".join([*folder[: len(folder) - dots + 1], name])


@cache
def needs(module: str) -> frozenset[str]:
    """The packages of others that a module of the package needs to be loaded."""
    found: set[str] = set()
    if module in FILES:
        for name, dots, within in imports(FILES[module]):
            if within:
                continue
            found |= needs(absolute(FILES[module], name, dots)) if dots else {name.partition(".")[0]}
    return frozenset(found)


def test_imports_within_functions() -> None:
    late, others = set(), []
    for path in FILES.values():
        place = str(path.relative_to(ROOT))
        why = next((each for each in LATE if place.startswith(each)), None)
        for name, dots, within in imports(path):
            if not within:
                continue
            if not dots:  # parts of pyarrow are slow to load; a function that is sent to a machine brings its imports
                known = name.partition(".")[0] in EXTRAS | {"pyarrow"} | sys.stdlib_module_names
            elif not (known := bool(EXTRAS & needs(absolute(path, name, dots)))):
                known = why is not None
                late |= {why} - {None}
            others += [] if known else [(place, name)]
    assert not others
    assert late == LATE.keys()
