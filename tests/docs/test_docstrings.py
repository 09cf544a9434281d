"""The examples in the docstrings do what they say.

Pytest's own --doctest-modules would import the rooms under the names of their folders, so they are imported here as
users import them. An example that needs a Spark session calls it `spark`.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest

from ..support.programs import ROOT, module_of, needs_pyspark

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
USES_SPARK = re.compile(r"""^ *(?:>>>|\.\.\.) .*(?<![\w."'])spark\b(?!=)(?!.*SKIP)""", re.MULTILINE)


def files() -> list[object]:
    """The files with examples; those whose examples use a Spark session have the mark."""
    paths = [
        path
        for room in ("aggregators", "api", "extras", "runtime", "spark")
        for path in sorted((ROOT / room).rglob("*.py"))
    ]
    texts = {path: text for path in paths if ">>> " in (text := path.read_text())}
    marks = {True: pytest.mark.spark, False: ()}
    return [
        pytest.param(path, marks=marks[bool(USES_SPARK.search(text))], id=module_of(path))
        for path, text in texts.items()
    ]


@pytest.mark.parametrize("path", files())
def test_examples(path: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if needs_pyspark(module_of(path)):
        pytest.importorskip("pyspark", reason="Spark is not installed: pip install '.[spark]'")
    names = dict(vars(importlib.import_module(module_of(path))))
    if request.node.get_closest_marker("spark"):
        names["spark"] = request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)  # for examples that write files
    runner, said = doctest.DocTestRunner(optionflags=FLAGS), list[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            name = getattr(node, "name", module_of(path))
            runner.run(doctest.DocTestParser().get_doctest(text, names, name, str(path), 0), out=said.append)
    assert runner.tries
    assert runner.failures == 0, "\n" + "".join(said)
