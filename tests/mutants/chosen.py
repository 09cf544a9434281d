"""Which mutants are checked?

They are in ``chosen.json``, each with its file, its function, its line before and after. A line is found again by its
text in its function: the number of a line may change.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path

from .places import Places

DATA = Path(__file__).with_name("chosen.json")
key = itemgetter("file", "function", "before", "after")
"""What tells mutants apart, of their fields."""


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


def with_line(text: str, line: str) -> list[tuple[int, str]]:
    """Return the number and function of each line that has this text, but for white space around it."""
    lines = text.splitlines()
    places = sorted(Places(text).by_line.items()) if line in text else []
    return [(number, each.function) for number, each in places if lines[number - 1].strip() == line]


def find(tree: Path, mutant: Mutant) -> tuple[Path, int] | None:
    """Return the file and number of a mutant's line, or None if it is lost.

    If its file or function is gone, the line may be in the only function of its room, or of the features, that has this
    last name and this line.
    """
    path = tree / mutant.file
    if path.exists():
        numbers = [number for number, name in with_line(path.read_text(), mutant.before) if name == mutant.function]
        if len(numbers) > mutant.nth:
            return path, numbers[mutant.nth]
    rooms = dict.fromkeys((mutant.file.partition("/")[0], "extras"))
    found = [
        (other, *place)
        for room in rooms
        for other in sorted((tree / room).rglob("*.py"))
        for place in with_line(other.read_text(), mutant.before)
    ]
    same = [each for each in found if each[2] == mutant.function]
    last_name = mutant.function.rpartition(".")[2]
    alike = same or [each for each in found if each[2].rpartition(".")[2] == last_name]
    return alike[0][:2] if len(alike) == 1 else None
