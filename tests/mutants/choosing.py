"""How are the mutants chosen?

Lines are drawn by a seeded random order: in each room as many as its share of the lines of code, at most one per file.
A line counts if some test reaches it. Mutants that are equivalent, as their reasons in ``chosen.json`` say, are passed
over, so that the next ones of the order take their places.
"""

from __future__ import annotations

import io
import json
import random
import tokenize
from collections import Counter
from typing import Any

from . import chosen, copies
from .chosen import Mutant
from .operators import Mutation, mutate, mutations
from .places import NOT_MUTATED, Places
from .reached import Reached

SEED = 60
COUNT = 60


def files_of(room: str) -> list[str]:
    names = copies.git("ls-files", "--", f"{room}/*.py", folder=copies.TREE).splitlines()
    return [name for name in names if not name.endswith(NOT_MUTATED)]


def lines_of_code(text: str) -> int:
    """Return the number of lines with code: neither empty nor only comments or docstrings."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            begins = True
        elif token.type not in skipped:
            if not (begins and token.type == tokenize.STRING):
                lines |= {*range(token.start[0], token.end[0] + 1)}
            begins = False
    return len(lines)


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
    passed_over = {(each["file"], each["function"], each["before"], each["after"]) for each in equivalent}
    reached = Reached(commit)
    sizes, unreached = {}, {}
    found: dict[str, list[Mutant]] = {}
    texts = {room: {name: (copies.TREE / name).read_text() for name in files_of(room)} for room in copies.ROOMS}
    for room, files in texts.items():
        sizes[room] = sum(map(lines_of_code, files.values()))
    for room, count in shares(sizes).items():
        lines = {name: reached.lines(name) for name in texts[room]}
        unreached[room] = count_unreached(texts[room], lines)
        mutants, dry = draw(room, texts[room], lines, count, passed_over)
        found[room] = mutants
        unreached[room]["lines drawn that no test reaches"] = dry
    mutants = numbered([mutant for room in copies.ROOMS for mutant in found[room]], before.get("mutants", []))
    summary = {"seed": SEED, "commit": commit, "lines of code": sizes, "not reached": unreached}
    chosen.save(mutants, **summary, equivalent=equivalent)
    print(json.dumps(summary, indent=1), Counter(mutant.operator for mutant in mutants), sep="\n")


def numbered(mutants: list[Mutant], before: list[dict[str, Any]]) -> list[Mutant]:
    """Return the mutants by their numbers. Those chosen before keep theirs; the others take the free ones."""
    numbers = {(each["file"], each["function"], each["before"], each["after"]): each["number"] for each in before}
    for mutant in mutants:
        mutant.number = numbers.get((mutant.file, mutant.function, mutant.before, mutant.after), 0)
    free = iter(sorted({*range(1, len(mutants) + 1)} - {mutant.number for mutant in mutants}))
    for mutant in mutants:
        mutant.number = mutant.number or next(free)
    return sorted(mutants, key=lambda mutant: mutant.number)


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
    room: str, texts: dict[str, str], lines: dict[str, set[int]], count: int, passed_over: set[tuple[str, ...]]
) -> tuple[list[Mutant], int]:
    """Return mutants of a room, and how many lines were drawn that no test reaches."""
    order = random.Random(f"{SEED} {room}")
    places: dict[tuple[str, int], list[Mutation]] = {}
    for name, text in texts.items():
        for each in mutations(text):
            places.setdefault((name, each.line), []).append(each)
    drawn = sorted(places)
    order.shuffle(drawn)
    mutants: list[Mutant] = []
    used: set[str] = set()
    unreached = 0
    for name, line in drawn:
        if name in used:
            continue
        text = texts[name]
        statement = Places(text).by_line[line]
        if not (line in lines[name] or lines[name] & {*range(statement.first, statement.last + 1)}):
            unreached += 1
            continue
        mutant = drawn_at(name, text, places[name, line], random.Random(f"{SEED} {name} {line}"), passed_over)
        if mutant is None:
            continue
        mutants.append(mutant)
        used.add(name)
        if len(mutants) == count:
            break
    return mutants, unreached


def drawn_at(
    name: str, text: str, several: list[Mutation], order: random.Random, passed_over: set[tuple[str, ...]]
) -> Mutant | None:
    """Return a mutant of a line: its family is drawn, then one of this family's mutations."""
    families = sorted({each.family for each in several})
    order.shuffle(families)
    for family in families:
        of_family = [each for each in several if each.family == family]
        order.shuffle(of_family)
        for each in of_family:
            made = mutate(text, each)
            if made is None:
                continue
            before = text.splitlines()[made[0] - 1].strip()
            after = made[1].strip()
            if (name, each.function, before, after) in passed_over:
                continue
            same = chosen.lines_of(text, each.function, before)
            return Mutant(0, name, each.function, before, after, same.index(made[0]), each.operator)
    return None
