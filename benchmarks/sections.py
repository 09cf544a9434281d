"""Where peers win in the sections that are measured apart: found in their tables, by a rule for each section."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .figures import seconds

Row = dict[str, str]
PEER = re.compile(r"(\w+) [\d.]+ \(x([\d.]+); x[\d.]+(?:, once)?\)")


class Won(NamedTuple):
    """A peer that was faster: in which case, and how many times as long ours takes."""

    case: str
    peer: str
    times: float


def rows_of(lines: list[str]) -> Iterator[Row]:
    """The rows of Markdown tables: cells by the heads of columns, the first by ``""``; the title above by ``"#"``."""
    head: list[str] | None = None
    title = ""
    for line in lines:
        title = f"{line.strip('*')}: " if line.startswith("**") else title
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")] if line.startswith("|") else None
        if cells is None or line.startswith("| ---"):
            head = head if cells else None
        elif head is None:
            head = ["", *cells[1:]]
        else:
            yield dict(zip(head, cells, strict=False)) | {"#": title}


def figure(cell: str) -> float | None:
    """The first number of a cell, if it has one."""
    found = re.match(r"[\d,.]*\d", cell)
    return float(found[0].replace(",", "")) if found else None


def by_share(column: str, *, reverse: bool = False) -> Callable[[list[str]], Iterator[Won]]:
    """A column says what share of the row's peer ours takes; or, in reverse, how many times as long the peer takes."""

    def won(lines: list[str]) -> Iterator[Won]:
        for row in rows_of(lines):
            if not row[""].startswith("framefold") and (share := figure(row[column])):
                yield Won(row[""], row.get("the best one", ""), 1 / share if reverse else share)

    return won


def by_rows(ours: dict[str, str], only: str = "") -> Callable[[list[str]], Iterator[Won]]:
    """Rows of peers, each compared with one of our rows, column by column, or in one column only."""

    def won(lines: list[str]) -> Iterator[Won]:
        rows = {row[""]: row for row in rows_of(lines)}
        for peer, mine in ours.items():
            if peer not in rows:  # it may be of an extra that is not installed
                continue
            for column in [only] if only else list(rows[peer])[1:-1]:
                theirs, own = figure(rows[peer][column]), figure(rows[mine][column])
                if theirs and own:
                    yield Won(mine if only else f"{mine}, {column}", peer, own / theirs)

    return won


def by_columns(ours: dict[str, str]) -> Callable[[list[str]], Iterator[Won]]:
    """Columns of peers, each compared with one of our columns, row by row."""

    def won(lines: list[str]) -> Iterator[Won]:
        for row in rows_of(lines):
            for peer, mine in ours.items():
                if (theirs := figure(row.get(peer, ""))) and (own := figure(row[mine])):
                    yield Won(f"{row['#']}{row['']}: {mine}", peer, own / theirs)

    return won


def in_lists(lines: list[str]) -> Iterator[Won]:
    """A cell lists peers, with the share of each that ours takes by the clock."""
    for row in rows_of(lines):
        for peer, share in PEER.findall(" ".join(row.values())):
            yield Won(f"{row['']} at {row['overlap']}", peer, float(share))


def in_words(lines: list[str]) -> Iterator[Won]:
    """Sentences say how many times as long the peer takes."""
    for line in lines:
        if found := re.search(r"^(.*?): framefold .*?; (.*?)(?: [\d.]+ s,| had not ended after) ([\d.]+) times", line):
            yield Won(found[1], found[2], 1 / float(found[3]))


def in_brackets(lines: list[str]) -> Iterator[Won]:
    """Cells have in brackets how many times as long as framefold a peer takes."""
    for row in rows_of(lines):
        for column, cell in row.items():
            if row[""] in SAME_WINDOWS and (times := re.search(r"\(([\d.]+)\)", cell)):
                yield Won(column, row[""], 1 / float(times[1]))


def nobody(lines: list[str]) -> Iterator[Won]:
    """Only ways of ours are measured."""
    return iter(())


SAME_WINDOWS = (
    "Spark window(), 1 h every 1 min",
    "Spark, a tumbling minute chained with window()",
    "PyFlink HOP(), 1 h every 1 min",
)
"""The peers of streams; the other rows of Spark have no windows, and are bounds of what any query could reach."""

RULES: dict[str, Callable[[list[str]], Iterator[Won]]] = {
    "Accumulating": by_rows({
        "numpy: bincount of sum and count, not compensated": "events to partials: keys, frames, sum and count"
    }),
    "Merging": nobody,
    "Combining": nobody,
    "Sliding": by_rows({
        "numpy: difference of cumulative sums": "Sum of float64",
        "Polars: rolling_sum": "Sum of float64",
        "Polars: rolling_max": "Max of float64",
    }),
    "Streams, a micro-batch": in_brackets,
    "Streams, a micro-batch with and without": nobody,
    "Streams, events a second": in_brackets,
    "Relations: rows joined": by_share("framefold takes"),
    "Relations: the figures": by_columns({"MAX by scans": "MAX", "by negative tuples": "join"}),
    "Relations: a large join": in_words,
    "Idioms": by_share("ours as a share of it"),
    "Lookbacks": by_share("framefold's five sizes as a share of it, by the clock"),
    "Partials at rest": by_rows({"DuckDB, from the events": "framefold, from the events"}, "seconds"),
    "Partials at rest, bytes": nobody,
    "Wide": nobody,
    "Holistic, ": in_lists,
    "Holistic, on Spark": by_share("times as fast", reverse=True),
    "Holistic, memory": nobody,
    "Holistic, large": nobody,
}  # fmt: skip
"""How each section, by the beginning of its title, says who was faster; the longest that fits."""


def won(others: dict[str, Any]) -> Iterator[list[str]]:
    """The section, the case, the peer and how many times as long ours takes, the largest difference first.

    Raises
    ------
    KeyError
        If a section has no rule: its peers might win, and the list would not say so.
    """
    found = []
    for title, section in others.items():
        rules = [start for start in RULES if title.startswith(start)]
        if not rules:
            raise KeyError(f"the section {title!r} has no rule in benchmarks/sections.py that finds who was faster")
        found += [(title, each) for each in RULES[max(rules, key=len)](section["lines"]) if each.times > 1]
    for title, each in sorted(found, key=lambda pair: -pair[1].times):
        case, peer = (each.case, each.peer) if each.peer else ("", each.case)
        yield [title, case, peer, seconds(each.times)]
