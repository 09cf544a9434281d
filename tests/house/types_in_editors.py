"""What mypy --strict and pyright say of programs as users write them, each of both: `make lint`.

They read the package as it is installed, which `make lint` does in ``.venv/typed``; neither sees through an editable
install.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from . import typed_program

ROOT = Path(__file__).parents[2]
TYPED = Path(sys.prefix) / "typed"
OPERATIONS = ("README.md", "docs/write-your-own-aggregate.md", "examples/means.py", "examples/alarms.py")
"""Where operations of one's own are shown."""

# Each line is wrong, with what both say of it.
WRONG = {
    'ff.tumbling(4, closed="lft")': "'lft'", 'ff.sliding(4, every=2, empty="emitted")': "'emitted'",
    'ff.sliding(4, every=2, min_fill="whole")': "'whole'", 'ff.sliding(4, every=2, emit="always")': "'always'",
    'ff.sliding(4, every=2, stamp="middle")': "'middle'", 'ff.sliding(4, every=8, gaps="ignore")': "'ignore'",
    'ff.last_rows(4, ties="first")': "'first'", 'ff.windows_from(1, start="a", end="b", closed="all")': "'all'",
    'ff.events(1, time="t", null_time="drp")': "No overload variant|'drp'",
    'ff.events(1, time="t").options(combine="drivr")': "'drivr'",
    'ff.events(1, time="t").options(window="flt")': "'flt'", 'ff.events(1, time="t").stream(late="drp")': "'drp'",
    'ff.files("trips", format="parqet")': "No overload variant|'parqet'",
    'ff.Quantile("x", 0.5, method="nearest")': "'nearest'", 'ff.CountIf("x", lambda x: x)': "Never",
    "ff.Sum(3)": "Argument", "ff.Avg": "no attribute|not a known attribute",
}  # fmt: skip

# What a checker shows of each expression.
KINDS = {
    "ff.events(frame, time='t').window(ff.tumbling(4)).aggregate(n=ff.Count())": "DataFrame",
    "ff.events(frame, time='t').window(ff.tumbling(4)).options(combine='auto')": "Windowed[DataFrame]",
    "ff.events(frame, time='t', null_time='drop').dropped()": "DataFrame",
    "ff.events(ff.parquet('trips', spark=spark), time='t')": "Events[DataFrame]",
    "ff.events(ff.parquet('trips'), time='t')": "Events[Table]", "ff.events(table, time='t')": "Events[Table]",
    "ff.events(anything, time='t')": "Events[Table]", "ff.events(pandas, time='t')": "Events[Table]",
    "ff.events(polars, time='t').window(ff.tumbling(4)).aggregate(n=ff.Count())": "Table",
    "ff.together(a=ff.events(frame, time='t'), b=ff.events(frame, time='t'))": "Events[DataFrame]",
    "ff.Sum('a') / ff.Count() + 1": "Operation",
}  # fmt: skip
PROGRAM = """\
from typing import Any
import pandas as pd, polars as pl, pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
import framefold as ff
def program(
    frame: DataFrame, spark: SparkSession, table: pa.Table, anything: Any, pandas: pd.DataFrame, polars: pl.DataFrame
) -> None:
"""


def mypy(folder: Path, name: str, *options: str) -> list[str]:
    """What mypy prints of a file in a folder, a line each."""
    command = [
        sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / ".mypy_cache" / "programs", *options, name,
    ]  # fmt: skip
    environment = os.environ | {"MYPYPATH": str(TYPED)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith(name)]


def pyright(folder: Path, name: str) -> list[str]:
    """What pyright finds in a file in a folder, in the form of mypy."""
    settings = {"include": [name], "extraPaths": [str(TYPED)], "pythonVersion": "3.11"}
    environment = {"venvPath": str(Path(sys.prefix).parent), "venv": Path(sys.prefix).name}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings | environment))
    command = [Path(sys.prefix) / "bin" / "pyright", "--outputjson"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said = json.loads(done.stdout)
    assert said["summary"]["filesAnalyzed"] == 1
    return [
        f"{name}:{each['range']['start']['line'] + 1}: {each['severity']}: {each['message']}".replace("\n", " ")
        for each in said["generalDiagnostics"]
    ]


def of_line(said: list[str], number: int) -> str:
    return " ".join(line for line in said if line.split(":")[1] == str(number))


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_mistakes_are_found(checker: object, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("\n".join(["import framefold as ff", *WRONG]) + "\n")
    said = mypy(tmp_path, "wrong.py") if checker is mypy else pyright(tmp_path, "wrong.py")
    for number, (line, words) in enumerate(WRONG.items(), 2):
        assert re.search(f"error: .*({words})", of_line(said, number)), (line, of_line(said, number))


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_kinds_of_results_are_known(checker: object, tmp_path: Path) -> None:
    """pyarrow tells checkers nothing of its own types: its Table is shown as Any or Unknown, but never as another."""
    (tmp_path / "kinds.py").write_text(PROGRAM + "\n".join(f"    reveal_type({each})" for each in KINDS) + "\n")
    said = mypy(tmp_path, "kinds.py") if checker is mypy else pyright(tmp_path, "kinds.py")
    for number, (expression, kind) in enumerate(KINDS.items(), PROGRAM.count("\n") + 1):
        (shown,) = re.findall(r' is "(?:[\w.]*\.)?([^"]*)"', of_line(said, number))
        shown = shown.replace("pyspark.sql.dataframe.", "")
        assert shown in (kind, *(kind.replace("Table", word) for word in ("Any", "Unknown"))), (expression, shown)


@pytest.mark.parametrize("page", OPERATIONS)
def test_operations_that_are_shown_pass_as_they_stand(page: str, tmp_path: Path) -> None:
    """They have no types, but for which mypy --strict finds nothing either."""
    text = (ROOT / page).read_text()
    blocks = (
        re.findall(r"^```python.*?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if page.endswith(".md") else [text]
    )
    kept = (ast.Import, ast.ImportFrom, ast.ClassDef)
    parts = [ast.unparse(node) for block in blocks for node in ast.parse(block).body if isinstance(node, kept)]
    assert any("def accumulate" in each for each in parts)
    (tmp_path / "shown.py").write_text("\n".join(dict.fromkeys(parts)) + "\n")
    said = mypy(tmp_path, "shown.py", "--allow-untyped-defs", "--allow-untyped-calls", "--check-untyped-defs")
    assert [line for line in said if ": error:" in line and "[import-untyped]" not in line] == []
    untyped = re.compile(r"not a known attribute of module \"(pyarrow|datasketches)")
    assert [line for line in pyright(tmp_path, "shown.py") if ": error:" in line and not untyped.search(line)] == []


def test_the_class_of_the_readme_is_the_one_with_types() -> None:
    def bare(text: str) -> str:
        (found,) = (node for node in ast.walk(ast.parse(text)) if getattr(node, "name", "") == "GeometricMean")
        for node in ast.walk(found):
            if isinstance(node, ast.arg):
                node.annotation = None
            if isinstance(node, ast.FunctionDef):
                node.returns = None
        found.body = found.body[1:]  # its docstring
        return ast.unparse(found)

    (shown,) = re.findall(
        r"^class GeometricMean.*?(?=^```)", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert bare(shown) == bare(Path(typed_program.__file__).read_text())
