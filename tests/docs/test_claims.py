"""Each sentence of the README and of the pages that promises something has a test that would fail if it were not so.

``claims.md`` names them: under each page, some words of the sentence and its tests; the rows of a page's tables have
one line together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ..support.pages import DOCS, ROOT

WORDS = re.compile(
    r"\b(never|always|exactly|any)\b|\bevery\b(?! (?:hour|day|minute|month|five|\d))|(?<!of )\bequal\b", re.IGNORECASE
)
"""Of all cases, and of equality; ``every hour`` says how often."""

FIGURES = re.compile(
    r"""\d\ ?%|\b\d[\d.,]*\ times\b|\b0\.\d+\ of\b|\ban?\ (third|fourth|fifth|sixth|tenth|twentieth)\b
    |\b\d{1,3}(,\d{3})+\b|\b(at\ most|up\ to|more\ than)\ (\d|[a-z]+ty\b)|\btwo\ or\ three\b""",
    re.VERBOSE,
)
"""How much, and bounds. Figures in tables are measurements, and so are those beside a command that measures them."""

MEASURED = re.compile(r"`(make|python -m) ")
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
TABLES = "(tables)"


def sentences(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences of a page without its code, and whether each is a row of a table."""
    text = re.sub(r"^ *```.*?^ *```$|<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\. ))", text):
        line = " ".join(block.split())
        if line.startswith("|"):
            yield line, True
        elif not line.startswith("#"):
            yield from ((each, False) for each in re.split(r"(?<=[.!?:;])\)? +(?=[A-Z`*])", line))


def promises(text: str) -> list[tuple[str, bool]]:
    """Those that promise something."""
    found = []
    for sentence, row in sentences(text):
        words = re.sub(r"`[^`]*`", "", sentence)
        if WORDS.search(words) or (not (row or MEASURED.search(sentence)) and FIGURES.search(words)):
            found.append((sentence, row))
    return found


@cache
def claims() -> dict[str, dict[str, list[str]]]:
    """The tests of each claim of each page."""
    found: dict[str, dict[str, list[str]]] = {}
    page = ""
    for line in Path(__file__).with_name("claims.md").read_text().splitlines():
        if line.startswith("## "):
            page = line[3:]
        elif line.startswith("- "):
            words, tests = line[2:].rsplit(" => ", 1)
            found.setdefault(page, {})[words] = tests.split(", ")
    return found


def name_of(page: Path) -> str:
    """A page as ``claims.md`` names it."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_each_promise_has_its_test_and_each_entry_its_sentence(page: Path) -> None:
    known, found = claims().get(name_of(page), {}), promises(page.read_text())
    lacking = [text for text, row in found if not (TABLES in known if row else any(words in text for words in known))]
    assert not lacking, f"{name_of(page)} promises without a test: {lacking}"
    gone = [words for words in known if not any((words == TABLES) if row else (words in text) for text, row in found)]
    assert not gone, f"sentences of {name_of(page)} that are gone: {gone}"


def test_tests_of_claims_exist() -> None:
    assert claims().keys() <= {name_of(page) for page in PAGES}
    named = {test for of in claims().values() for tests in of.values() for test in tests}
    for file, _, name in (each.partition("::") for each in sorted(named)):
        text = (ROOT / "tests" / file).read_text()
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), f"{file} has no {name}"


def test_a_promise_is_found_by_its_words() -> None:
    text = (
        "It is *never* late. Run it every hour:\n\n| a | any |\n| 40 % |\n\n```python\nany()\n```\n- `every=` is so. "
    )
    text += "It takes 5 % of it. It took 5 % (`make bench`). Two are equal to it."
    found = [(sentence.rstrip("."), row) for sentence, row in promises(text)]
    assert found == [
        ("It is *never* late", False), ("| a | any |", True), ("It takes 5 % of it", False),
        ("Two are equal to it", False),
    ]  # fmt: skip
