"""Where in a file may a mutation be made?

In the bodies of functions only: what runs when a module is imported is reached by every test. Nothing is mutated that
no test of behaviour can see: annotations, docstrings, messages of errors, ``__repr__``, constants of tuning, bars of
progress.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

NOT_MUTATED = ("/tuning.py", "/progress.py", "/reporting.py", "/live/live.py")
"""Files of tuning numbers, and of what a user sees while a query runs."""

SHOWN = {"__repr__", "__str__", "_repr_html_", "_repr_mimebundle_"}
"""Functions that return text for people."""

MESSAGES = {"warn", "warning", "info", "debug", "error", "exception", "print", "echo"}
"""Calls whose arguments are messages."""


@dataclass(frozen=True)
class Statement:
    """A statement in the body of a function, without the statements inside of it."""

    function: str
    """The name with those of the classes and functions around it."""
    first: int
    last: int


NOT_RUN = (ast.FunctionDef, ast.ClassDef, ast.Pass, ast.Global, ast.Nonlocal)
"""Statements that coverage does not see, or not as lines of the function that they are in."""

INNER = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""What has statements of its own inside of a statement."""


def is_text(node: ast.AST) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def not_mutated(node: ast.AST) -> list[ast.AST | None]:
    """Return what may not be mutated of a node. Most assertions are for type checkers."""
    match node:
        case ast.FunctionDef():
            shown = [node] if node.name in SHOWN else []
            return [*shown, node.returns, *node.decorator_list, *ast.iter_child_nodes(node.args)]
        case ast.AnnAssign():
            return [node.annotation]
        case ast.Raise() | ast.Assert() | ast.JoinedStr():
            return [node]
        case ast.If():
            return [node] if "TYPE_CHECKING" in ast.unparse(node.test) else []
        case ast.Call():
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            typed = node.args[:1] if name in ("cast", "TypeVar") else []
            return [node] if name in MESSAGES or name.endswith("Error") else [*typed]
    return [node] if is_text(node) else []


class Places:
    """The statements of a file that may be mutated, and parts of these that may not."""

    def __init__(self, text: str) -> None:
        self.text = text.splitlines()
        self.by_line: dict[int, Statement] = {}
        tree = ast.parse(text)
        self.excluded = [self.span(part) for node in ast.walk(tree) for part in not_mutated(node) if part]
        self.add(tree)

    def __call__(self, start: tuple[int, int]) -> Statement | None:
        """Return the statement that a place is in, or None if it may not be mutated."""
        if any(first <= start < last for first, last in self.excluded):
            return None
        return self.by_line.get(start[0])

    def span(self, node: Any) -> list[tuple[int, int]]:
        """Return where a node starts and ends: lines and columns in characters. ``ast`` counts bytes."""
        ends = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        return [(line, len(self.text[line - 1].encode()[:column].decode())) for line, column in ends]

    def add(self, node: ast.AST, names: tuple[str, ...] = (), inside: bool = False) -> None:
        """Add the statements in a node. It has these names, and is ``inside`` of a function or not."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt) and inside and not isinstance(child, NOT_RUN) and not is_text(child):
                parts = [each for each in ast.iter_child_nodes(child) if isinstance(each, INNER)]
                last = min([child.end_lineno, *(getattr(each, "pattern", each).lineno - 1 for each in parts)])
                statement = Statement(".".join(names), child.lineno, max(last, child.lineno))
                for line in range(statement.first, statement.last + 1):
                    self.by_line.setdefault(line, statement)
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                self.add(child, (*names, child.name), isinstance(child, ast.FunctionDef))
            else:
                self.add(child, names, inside)
