"""Fill the tables of rules.md: which tests name each rule, and which cases of the sources' own are about it.

A test is about the rules that the first sentence of its docstring names. Run as ``python docs/make_rules.py``.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "rules.md"
TESTS = ROOT / "tests"
ROW = re.compile(r"^\| ([RTD]\d+) \| (.+) \|$", re.MULTILINE)
RULE = re.compile(r"\b[RTD]\d+\b")
HAND_WRITTEN = 3
"""How many columns after the rule's name are written by hand: what it says, how it is said here, its status."""


def tests() -> dict[str, list[tuple[str, str]]]:
    """The tests that name each rule: file and function."""
    found = defaultdict(list)
    for path in sorted((TESTS / "rules").glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for rule in dict.fromkeys(RULE.findall((ast.get_docstring(node) or "").split("\n\n")[0])):
                    found[rule].append((f"rules/{path.name}", node.name))
    return dict(found)


def cases() -> dict[str, list[str]]:
    """The cases of tests/vectors/semantics.json about each rule."""
    found = defaultdict(list)
    for case in json.loads((TESTS / "vectors" / "semantics.json").read_text())["vectors"]:
        for rule in case["rules"]:
            found[rule].append(case["id"])
    return dict(found)


def awaited() -> set[str]:
    """The cases that no batch can run, or none as a whole."""
    for node in ast.parse((TESTS / "vectors" / "cases.py").read_text()).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "AWAITED":
            of: dict[str, Any] = ast.literal_eval(node.value or ast.Constant({}))
            return {name for names in of.values() for name in names}
    raise LookupError("tests/vectors/cases.py has no AWAITED")


def filled(page: str) -> str:
    """The page with the columns of tests and cases as they are now."""
    of_rule, about, later = tests(), cases(), awaited()

    def row(match: re.Match[str]) -> str:
        rule, cells = match[1], [cell.strip() for cell in match[2].split(" | ")][:HAND_WRITTEN]
        links = ", ".join(f"[{name.removeprefix('test_')}](../tests/{file})" for file, name in of_rule.get(rule, []))
        named = " ".join(f"({name})" if name in later else name for name in about.get(rule, []))
        return "| " + " | ".join([rule, *cells, links, named]).rstrip() + " |"

    return ROW.sub(row, page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
