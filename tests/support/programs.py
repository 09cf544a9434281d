"""Programs that tests run in a process of their own."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
WITH_SUPPORT = f"import sys\nsys.path.append({str(ROOT)!r})\n"
"""The first lines of a program that imports from ``tests.support``, whatever folder it runs in."""


def run_program(folder: Path, program: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program with Spark in a folder, as a process of its own."""
    (folder / "program.py").write_text(WITH_SUPPORT + program)
    command = [sys.executable, "-W", "ignore", "program.py", *words]
    there = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"} | variables
    return subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True, timeout=900, check=False)


def load(path: Path, name: str) -> ModuleType:
    """A script as a module of a name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def module_of(path: Path) -> str:
    """The name of the module that a file of a room is."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("framefold", *(part for part in parts[parts[0] == "api" :] if part != "__init__")))


def needs_pyspark(module: str) -> bool:
    """Whether a module imports PySpark, by its place; its name may lack that of the package."""
    return bool(re.search(r"^(framefold\.)?spark\.|\.(on_spark|moving|submission)\.", module))


@cache
def parsed(path: Path) -> ast.Module:
    """The tree of a file, parsed once for all tests."""
    return ast.parse(path.read_text())
