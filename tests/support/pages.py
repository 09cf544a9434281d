"""The code in pages: what it gives, and what the page says that it gives."""

from __future__ import annotations

import ast
import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python(?: requires=(\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def expected_after(lines: list[str], line: int) -> str | None:
    """What stands after ``# ->`` below a line, over as many comment lines as it takes; None if nothing does."""
    if line >= len(lines) or not lines[line].startswith("# ->"):
        return None
    said = [lines[line].removeprefix("# ->")]
    for more in lines[line + 1 :]:
        if not more.startswith("#  "):
            break
        said.append(more.removeprefix("#"))
    return " ".join(" ".join(said).split())


def outcome(node: ast.expr, namespace: dict[str, Any]) -> str:
    """What an expression gives: the repr of its value, what it prints, or the error."""
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            value = eval(compile(ast.Expression(node), "<docs>", "eval"), namespace)
    except Exception as error:
        return " ".join(f"{type(error).__name__}: {error}".split())
    return " ".join((repr(value) if value is not None else printed.getvalue()).split())


def run(block: str, namespace: dict[str, Any]) -> int:
    """Run a block; how many of its outcomes were compared."""
    lines = block.splitlines()
    compared = 0
    for node in ast.parse(block).body:
        expected = expected_after(lines, node.end_lineno or 0)
        if expected is None:
            exec(compile(ast.Module([node], []), "<docs>", "exec"), namespace)
            continue
        assert isinstance(node, ast.Expr), f"not an expression: {ast.unparse(node)}"
        assert outcome(node.value, namespace) == expected, ast.unparse(node)
        compared += 1
    return compared
