"""Gather the pages of the site into a folder, from which ``make docs`` builds it: ``python docs/make_site.py FOLDER``.

Pages are as they are read on a code host, but for what differs here: links to files that are no pages lead to the
repository, headings between ``<!-- tabs -->`` and ``<!-- end of tabs -->`` become tabs, ``docs/README.md`` is the first
page. With them go the reference, and ``llms.txt``, which lists the pages for whoever reads Markdown.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PLACES = {
    **{path: path.name for path in sorted((ROOT / "docs").glob("*.md"))},
    ROOT / "docs" / "README.md": "index.md",
    ROOT / "benchmarks" / "report.md": "benchmarks/report.md",
    ROOT / "CHANGELOG.md": "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md": "CONTRIBUTING.md",
}
"""The pages that are written by hand, and where they are on the site."""

PICTURES = {ROOT / "docs" / "pictures": "pictures", ROOT / "benchmarks" / "plots": "benchmarks/plots"}

BLOCK = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`[^`\n]+`)")
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
LINKED = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
TABS = re.compile(r"^<!-- tabs -->\n(.*?)^<!-- end of tabs -->$", re.MULTILINE | re.DOTALL)
TAB = re.compile(r"^### ([^\n]*)\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
NAV = re.compile(r"^ *- .*: (\S+\.md)$", re.MULTILINE)


def placed(path: Path) -> str | None:
    """Where a file of the repository is on the site; None if it is not there."""
    if path in PLACES:
        return PLACES[path]
    return next((f"{PICTURES[each]}/{path.name}" for each in PICTURES if path.parent == each), None)


def linked(text: str, page: Path) -> str:
    """The Markdown of a page with links that lead somewhere from its place on the site."""
    begin = Path(PLACES[page]).parent

    def link(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if ":" in target:
            inside = target.removeprefix(f"{PROJECT['urls']['Source']}/blob/main/")
            if placed(ROOT / inside) is None:
                return match[0]
            path = ROOT / inside
        else:
            path = Path(os.path.normpath(page.parent / target))
        if not path.exists():
            raise FileNotFoundError(f"{page.relative_to(ROOT)} links to {target}, which is not there")
        if (place := placed(path)) is not None:
            return f"]({os.path.relpath(place, begin)}{anchor})"
        kind = "tree" if path.is_dir() else "blob"
        return f"]({PROJECT['urls']['Source']}/{kind}/main/{path.relative_to(ROOT)}{anchor})"

    def outside_blocks(text: str) -> str:
        return "".join(part if part.startswith("`") else LINK.sub(link, part) for part in CODE.split(text))

    return "".join(part if part.startswith("```") else outside_blocks(part) for part in BLOCK.split(text))


def tabbed(text: str) -> str:
    """The Markdown with tabs as the builder writes them."""

    def tab(match: re.Match[str]) -> str:
        body = re.sub(r"^(?=.)", "    ", match[2].strip(), flags=re.MULTILINE)
        return f'=== "{match[1]}"\n\n{body}\n\n'

    return TABS.sub(lambda match: TAB.sub(tab, match[1]), text)


def made(page: Path) -> str:
    """A page as the site has it."""
    text = re.sub(r"^```python requires=\w+$", "```python", page.read_text(), flags=re.MULTILINE)
    return tabbed(linked(text, page))


def listed(place: str, text: str) -> str:
    """The line of a page in llms.txt: its heading, and the first sentence below it, without links."""
    heading, _, rest = text.removeprefix("# ").partition("\n")
    paragraph = " ".join(rest.strip().partition("\n\n")[0].split())
    sentence = re.split(r"(?<=\.)\s", LINKED.sub(r"\1", paragraph).replace("**", ""))[0]
    kind = "Reference: " if place.startswith("reference/") else ""
    return f"- [{kind}{heading}]({place})" + (f": {sentence}" if sentence[0] not in "#`" else "")


def index(pages: dict[str, str]) -> str:
    """llms.txt: the pages in the order of the site."""
    lines = [listed(place, pages[place]) for place in NAV.findall((ROOT / "mkdocs.yml").read_text())]
    return "\n".join([f"# {PROJECT['name']}", "", f"> {PROJECT['description']}", "", "## Pages", "", *lines, ""])


def main(folder: Path) -> None:
    """Make the folder anew."""
    from make_reference import pages as reference

    pages = {PLACES[page]: made(page) for page in PLACES}
    pages |= {f"reference/{name}": text for name, text in reference().items()}
    shutil.rmtree(folder, ignore_errors=True)
    for place, text in {**pages, "llms.txt": index(pages)}.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text)
    for pictures, place in PICTURES.items():
        shutil.copytree(pictures, folder / place)
    shutil.copy(ROOT / "docs" / "site.css", folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
