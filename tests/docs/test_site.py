"""The pages that the site is built of: all are there, and their links lead somewhere. What is built: ``make docs``."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import framefold as ff

from ..support.pages import DOCS, ROOT
from ..support.programs import load

make_site = load(DOCS / "make_site.py", "make_site")
NAV = make_site.NAV.findall((ROOT / "mkdocs.yml").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(DOCS)
        make_site.main(place)
    return place


def test_every_page_is_in_the_navigation_once(folder: Path) -> None:
    assert Counter(NAV) == Counter(str(path.relative_to(folder)) for path in folder.rglob("*.md"))
    assert f"- Source: {SOURCE}\n" in (ROOT / "mkdocs.yml").read_text()
    assert {path.name for path in DOCS.glob("*.md")} - {"README.md"} <= set(NAV)


def test_links_lead_to_pages_and_pictures_of_the_site_or_to_the_repository(folder: Path) -> None:
    counted = Counter[str]()
    for page in folder.rglob("*.md"):
        for target, _ in make_site.LINK.findall(re.sub(r"`[^`\n]+`", "", make_site.BLOCK.sub("", page.read_text()))):
            inside = ":" not in target
            assert not inside or (page.parent / target).is_file(), (page, target)
            assert inside or not target.startswith("https://github.com/") or target.startswith(SOURCE), target
            counted[page.name if inside else "elsewhere"] += 1
    assert counted["index.md"] > 10
    assert counted["elsewhere"] > 100  # the rules name tests
    plots = re.findall(r"\(plots/[\w-]+\.svg\)", (folder / "benchmarks" / "report.md").read_text())
    assert len(plots) > 10


SOURCE = make_site.PROJECT["urls"]["Source"]


def test_a_link_that_leads_nowhere_is_an_error() -> None:
    page = DOCS / "windows.md"
    assert (
        make_site.linked("[a](../setup.py) `[a](x.md)` [b](#c)", page)
        == f"[a]({SOURCE}/blob/main/setup.py) `[a](x.md)` [b](#c)"
    )
    with pytest.raises(FileNotFoundError, match=r"^docs/windows.md links to x.md, which is not there$"):
        make_site.linked("[a](x.md)", page)


def test_the_first_page_has_tabs_and_no_page_says_what_its_tests_need(folder: Path) -> None:
    text = (folder / "index.md").read_text()
    assert re.findall(r'^=== "(.*)"$', text, re.MULTILINE) == ["Laptop", "Spark", "Stream"]
    assert not [path for path in folder.rglob("*.md") if "```python requires" in path.read_text()]


def test_lists_within_lists_are_so_for_every_reader_of_markdown() -> None:
    for page in make_site.PLACES:
        assert not re.search(r"^ {1,3}[-*] ", make_site.BLOCK.sub("", page.read_text()), re.MULTILINE), page


def test_every_public_name_is_in_the_reference_once(folder: Path) -> None:
    said = "".join(path.read_text() for path in (folder / "reference").glob("*.md"))
    found = re.findall(r"^## (?:class )?(\w+)$", said, re.MULTILINE)
    assert sorted(found) == sorted({*ff.__all__} - {"__version__"})
    assert not re.findall(r":\w+:`|^-{4,}$", make_site.BLOCK.sub("", said), re.MULTILINE)  # a role, a section
    named: list[Any] = re.findall(r"^### (\w+)\.(\w+)$", said, re.MULTILINE)
    assert len(named) > 60
    assert all(hasattr(getattr(ff, name), method) for name, method in named)


def test_the_list_for_readers_of_markdown_has_every_page(folder: Path) -> None:
    text = (folder / "llms.txt").read_text()
    assert re.findall(r"^- \[.+?\]\((\S+\.md)\)", text, re.MULTILINE) == NAV
    assert text.startswith(f"# framefold\n\n> {make_site.PROJECT['description']}\n")
