"""How are the mutants chosen?

Lines are drawn by a seeded random order: in each room as many as its share of the lines of code, at most one per file.
A line counts if some test reaches it. Mutants that are equivalent, as their reasons in ``chosen.json`` say, are passed
over, so that the next ones of the order take their places.
"""

from __future__ import annotations

import ast
import io
import json
import random
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from . import chosen, copies
from .chosen import Mutant, key
from .operators import Mutation, mutate, mutations
from .places import NOT_MUTATED, Places, is_text
from .reached import Reached

SEED = 60
COUNT = 60


def files_of(room: str) -> list[str]:
    names = copies.git("ls-files", "--", f"{room}/*.py", folder=copies.TREE).splitlines()
    return [name for name in names if not name.endswith(NOT_MUTATED)]


def lines_of_code(text: str) -> int:
    """Return the number of lines with code: neither empty nor only comments or docstrings."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = [each for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type not in skipped]
    texts: list[Any] = [each for each in ast.walk(ast.parse(text)) if is_text(each)]
    lines = {line for each in tokens for line in range(each.start[0], each.end[0] + 1)}
    return len(lines.difference(*(range(each.lineno, each.end_lineno + 1) for each in texts)))


def shares(sizes: dict[str, int]) -> dict[str, int]:
    """Return how many mutants each room has, by largest remainders."""
    exact = {room: COUNT * size / sum(sizes.values()) for room, size in sizes.items()}
    counts = {room: int(share) for room, share in exact.items()}
    by_remainder = sorted(exact, key=lambda room: counts[room] - exact[room])
    for room in by_remainder[: COUNT - sum(counts.values())]:
        counts[room] += 1
    return counts


def choose(commit: str) -> None:
    """Choose the mutants at a commit whose lines have been recorded, and write them."""
    before = json.loads(chosen.DATA.read_text()) if chosen.DATA.exists() else {}
    equivalent = before.get("equivalent", [])
    reached = Reached(commit)
    texts = {room: {name: (copies.TREE / name).read_text() for name in files_of(room)} for room in copies.ROOMS}
    sizes = {room: sum(map(lines_of_code, files.values())) for room, files in texts.items()}
    mutants: list[Mutant] = []
    unreached = {}
    for room, count in shares(sizes).items():
        lines = {name: reached.lines(name) for name in texts[room]}
        drawn, dry = draw(room, texts[room], lines, count, {*map(key, equivalent)})
        mutants += drawn
        unreached[room] = {**count_unreached(texts[room], lines), "lines drawn that no test reaches": dry}
    give_numbers(mutants, {key(each): each["number"] for each in before.get("mutants", [])})
    summary = {"seed": SEED, "commit": commit, "lines of code": sizes, "not reached": unreached}
    chosen.save(mutants, **summary, equivalent=equivalent)
    print(json.dumps(summary, indent=1), Counter(mutant.operator for mutant in mutants), sep="\n")


def give_numbers(mutants: list[Mutant], before: dict[Any, int]) -> None:
    """Sort mutants by their numbers. Those chosen before keep theirs; the others take the free ones."""
    for mutant in mutants:
        mutant.number = before.get(key(vars(mutant)), 0)
    free = iter(sorted({*range(1, len(mutants) + 1)} - {mutant.number for mutant in mutants}))
    for mutant in mutants:
        mutant.number = mutant.number or next(free)
    mutants.sort(key=lambda mutant: mutant.number)


def count_unreached(texts: dict[str, str], lines: dict[str, set[int]]) -> dict[str, int]:
    """Return how many statements in functions there are, and how many of them no test reaches."""
    statements = unreached = 0
    for name, text in texts.items():
        places, rows = Places(text), text.splitlines()
        for each in set(places.by_line.values()):
            row = rows[each.first - 1]
            if places((each.first, len(row) - len(row.lstrip()))):  # neither raises an error nor is for types only
                statements += 1
                unreached += not lines[name] & {*range(each.first, each.last + 1)}
    return {"statements": statements, "statements that no test reaches": unreached}


def draw(
    room: str, texts: dict[str, str], lines: dict[str, set[int]], count: int, passed_over: set[Any]
) -> tuple[list[Mutant], int]:
    """Return mutants of a room, and how many lines were drawn that no test reaches."""
    places = defaultdict[tuple[str, int], list[Mutation]](list)
    for name, text in texts.items():
        for each in mutations(text):
            places[name, each.line].append(each)
    drawn = sorted(places)
    random.Random(f"{SEED} {room}").shuffle(drawn)
    mutants: dict[str, Mutant] = {}
    unreached = 0
    for name, line in drawn:
        if name in mutants or len(mutants) == count:
            continue
        statement = Places(texts[name]).by_line[line]
        if not lines[name] & {line, *range(statement.first, statement.last + 1)}:
            unreached += 1
            continue
        made = mutants_at(name, texts[name], places[name, line], random.Random(f"{SEED} {name} {line}"))
        if mutant := next((each for each in made if key(vars(each)) not in passed_over), None):
            mutants[name] = mutant
    return [*mutants.values()], unreached


def mutants_at(name: str, text: str, several: list[Mutation], order: random.Random) -> Iterator[Mutant]:
    """Return the mutants of a line in a random order: a family is drawn, then this family's mutations."""
    families = sorted({each.family for each in several})
    order.shuffle(families)
    for family in families:
        of_family = [each for each in several if each.family == family]
        order.shuffle(of_family)
        for each in of_family:
            if made := mutate(text, each):
                number, before, after = made
                same = [line for line, function in chosen.with_line(text, before) if function == each.function]
                yield Mutant(0, name, each.function, before, after, same.index(number), each.operator)
