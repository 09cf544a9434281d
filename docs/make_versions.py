"""Fill the table of versions in connect.md: on which Spark, with which Python, how many tests have passed.

``make versions`` and ``make connect`` leave a file for each of their runs, and then run ``python
docs/make_versions.py FOLDER`` with the folder of these; what other runs have said stays.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("connect.md")
KNOWN = Path(__file__).with_name("versions.json")
BEGIN, END = "<!-- make versions -->\n", "<!-- made -->\n"
"""Around the table."""

Run = Mapping[str, Any]


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers, by which it is sorted.

    >>> numbers("4.10.1")
    (4, 10, 1)
    """
    return tuple(int(each) for each in version.split(".") if each.isdigit())


def minor(version: str) -> str:
    """The first two numbers of a version.

    >>> minor("3.12.1")
    '3.12'
    """
    return ".".join(version.split(".")[:2])


def merged(before: Iterable[Run], now: Iterable[Run]) -> list[Run]:
    """Runs, of which the later ones take the place of those of the same versions but for the last number."""
    found = {(minor(run["spark"]), minor(run["python"]), run["session"]): run for run in (*before, *now)}
    order = sorted(found, key=lambda key: (numbers(key[0]), numbers(key[1]), key[2]), reverse=True)
    return [found[key] for key in order]


def table(runs: Iterable[Run]) -> str:
    """The runs as Markdown."""
    if not (runs := [*runs]):
        return "No run has filled it yet.\n"
    lines = ["| PySpark | session | Python | pandas | tests that passed | failed | day |",
             "| --- | --- | --- | --- | ---: | ---: | --- |"]  # fmt: skip
    for run in runs:
        cells = (run["spark"], run["session"], run["python"], run["pandas"], f"{run['passed']:,}", f"{run['failed']:,}")
        lines.append(f"| {' | '.join(cells)} | {run['day']} |")
    return "\n".join(lines) + "\n"


def filled(page: str, runs: Iterable[Run]) -> str:
    """The page with the table of these runs."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table(runs) + END + rest.split(END)[1]


def main(folder: str) -> None:
    """Take what the runs have left in a folder."""
    now = [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]
    runs = merged(json.loads(KNOWN.read_text()), now)
    KNOWN.write_text("[\n" + ",\n".join(json.dumps(run) for run in runs) + "\n]\n")
    PAGE.write_text(filled(PAGE.read_text(), runs))
    print(table(runs), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
