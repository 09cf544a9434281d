"""Which mutants are checked?

They are in ``chosen.json``, each with its file, its function, its line before and after. A line is found again by its
text in its function: the number of a line may change.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

DATA = Path(__file__).with_name("chosen.json")


@dataclass
class Mutant:
    """A line that is replaced by another one."""

    number: int
    file: str
    function: str
    before: str
    after: str
    nth: int = 0
    """Which line of the function it is, of those with this text."""
    operator: str = ""


def load() -> list[Mutant]:
    return [Mutant(**each) for each in json.loads(DATA.read_text())["mutants"]]


def save(mutants: list[Mutant], **rest: object) -> None:
    text = json.dumps({**rest, "mutants": [asdict(each) for each in mutants]}, indent=1, ensure_ascii=False)
    DATA.write_text(text + "\n")


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Return the name, first line and last line of each function, with those inside of others."""

    def within(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (ast.FunctionDef, ast.ClassDef))
            path = (*names, child.name) if named else names  # type: ignore[attr-defined]
            if isinstance(child, ast.FunctionDef):
                yield ".".join(path), child.lineno, child.end_lineno or child.lineno
            yield from within(child, path)

    return within(ast.parse(text), ())


def lines_of(text: str, function: str, line: str) -> list[int]:
    """Return the numbers of the lines in a function that have this text, but for white space around it."""
    lines = text.splitlines()
    return [
        number
        for name, first, last in functions(text)
        if name == function
        for number in range(first, last + 1)
        if lines[number - 1].strip() == line
    ]


def find(tree: Path, mutant: Mutant) -> tuple[Path, int] | None:
    """Return the file and number of a mutant's line, or None if it is lost.

    If its file or function is gone, the line may be in the only function of its room that has this last name and this
    line.
    """
    path = tree / mutant.file
    if path.exists():
        numbers = lines_of(path.read_text(), mutant.function, mutant.before)
        if len(numbers) > mutant.nth:
            return path, numbers[mutant.nth]
    name = mutant.function.rpartition(".")[2]
    found = [
        (other, number)
        for other in sorted((tree / mutant.file.partition("/")[0]).rglob("*.py"))
        if mutant.before in (text := other.read_text())
        for function in {each for each, _, _ in functions(text) if each.rpartition(".")[2] == name}
        for number in lines_of(text, function, mutant.before)
    ]
    return found[0] if len(found) == 1 else None


def replaced(text: str, number: int, line: str) -> str:
    """Return a text with another line, indented as the one that it replaces."""
    lines = text.splitlines(keepends=True)
    old = lines[number - 1]
    lines[number - 1] = old[: len(old) - len(old.lstrip())] + line + "\n"
    return "".join(lines)
