"""Where in a file may a mutation be made?

In the bodies of functions only: what runs when a module is imported is reached by every test. Nothing is mutated that
no test of behaviour can see: annotations, docstrings, messages of errors, ``__repr__``, constants of tuning, bars of
progress.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

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

Span = tuple[tuple[int, int], tuple[int, int]]
"""Start and end, each a line and a column in characters."""


def is_text(node: ast.AST) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


class Places(ast.NodeVisitor):
    """The statements of a file that may be mutated, and parts of these that may not."""

    def __init__(self, text: str) -> None:
        self.text = text.splitlines()
        self.by_line: dict[int, Statement] = {}
        self.excluded: list[Span] = []
        self.names: list[str] = []
        self.inside = False
        self.visit(ast.parse(text))

    def __call__(self, start: tuple[int, int]) -> Statement | None:
        """Return the statement that a place is in, or None if it may not be mutated."""
        if any(first <= start < last for first, last in self.excluded):
            return None
        return self.by_line.get(start[0])

    def span(self, node: ast.AST) -> Span:
        """Return where a node starts and ends. ``ast`` counts bytes."""

        def characters(line: int, column: int) -> tuple[int, int]:
            return line, len(self.text[line - 1].encode()[:column].decode())

        return (
            characters(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            characters(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def exclude(self, *nodes: ast.AST | None) -> None:
        self.excluded += [self.span(node) for node in nodes if node is not None]

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt) and self.inside and not isinstance(node, NOT_RUN) and not is_text(node):
            inner = [
                each.lineno for each in ast.iter_child_nodes(node) if isinstance(each, (ast.stmt, ast.ExceptHandler))
            ]
            inner += [each.pattern.lineno for each in ast.iter_child_nodes(node) if isinstance(each, ast.match_case)]
            last = min([node.end_lineno or node.lineno, *(line - 1 for line in inner)])
            statement = Statement(".".join(self.names), node.lineno, max(last, node.lineno))
            for line in range(statement.first, statement.last + 1):
                self.by_line.setdefault(line, statement)
        super().visit(node)

    def enter(self, node: ast.FunctionDef | ast.ClassDef, inside: bool) -> None:
        before, self.inside = self.inside, inside
        self.names.append(node.name)
        if node.name in SHOWN:
            self.exclude(node)
        for each in node.body:
            self.visit(each)
        self.names.pop()
        self.inside = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        arguments = node.args
        self.exclude(node.returns, *node.decorator_list, *arguments.defaults, *arguments.kw_defaults)
        self.exclude(*(each for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)))
        self.enter(node, True)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.enter(node, False)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.exclude(node.annotation)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test):
            self.exclude(node)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if is_text(node):
            self.exclude(node)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.exclude(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Most of these are for type checkers."""
        self.exclude(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        self.exclude(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in MESSAGES or name.endswith("Error"):
            self.exclude(node)
        if name in ("cast", "TypeVar") and node.args:
            self.exclude(node.args[0])
        self.generic_visit(node)
