"""The files, functions and folders that pages name exist, and the tree of folders is that of the layers."""

from __future__ import annotations

import importlib
import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ..support.programs import needs_pyspark

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
ROOMS = ["extras", "api", "spark", "runtime", "aggregators"]
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TREE = next(block for block in BLOCK.findall(PAGE) if block.startswith("extras/"))
FEATURES = sorted((ROOT / "extras").glob("*/README.md"))
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", *FEATURES]
FOLDERS = [*ROOMS, "benchmarks", "docs", "tests"]


def quoted(text: str, pattern: str) -> set[str]:
    """The texts in backticks, outside of blocks, that match a pattern."""
    return {word for word in re.findall(r"`([^`\n]+)`", BLOCK.sub("", text)) if re.fullmatch(pattern, word)}


def value_of(name: str) -> Any:
    """The value of a dotted name: its first parts are a module, the other parts are attributes."""
    room, *parts = name.split(".")
    value: Any = importlib.import_module("framefold" if room == "api" else f"framefold.{room}")
    for part in parts:
        inside = f"{value.__name__}.{part}"
        if hasattr(value, "__path__") and importlib.util.find_spec(inside):
            value = importlib.import_module(inside)  # the package may have a function of that name
        else:
            value = getattr(value, part)
    return value


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_paths_exist(page: Path) -> None:
    paths = quoted(page.read_text(), rf"(?:{'|'.join(FOLDERS)})/[\w./-]*")
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert page.name != "architecture.md" or len(paths) > 30


@pytest.mark.parametrize("spark", [False, True])
def test_names_exist(spark: bool) -> None:
    """An AttributeError names the part that does not exist."""
    if spark:
        pytest.importorskip("pyspark", reason="Spark is not installed: pip install '.[spark]'")
    pages = [PAGE, *(page.read_text() for page in FEATURES)]
    names = {name for page in pages for name in quoted(page, rf"(?:{'|'.join(ROOMS)})(?:\.\w+)+")}
    values = [value_of(name) for name in names if needs_pyspark(name) == spark]
    assert len(values) > 15
    assert None not in values


def test_the_tree_has_every_folder_in_the_order_of_its_layers() -> None:
    folders: dict[str, list[str]] = {}
    for indent, name in re.findall(r"^( *)([\w-]+)/ ", TREE, re.MULTILINE):
        if not indent:
            inside = folders.setdefault(name, [])
        else:
            inside.append(name)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = {
        contract["containers"][0].removeprefix("framefold."): " | ".join(contract["layers"])
        for contract in contracts
        if contract["type"] == "layers"
    }
    assert [room for room in folders if room in ROOMS] == ROOMS
    for room in ROOMS:
        there = {path.parent.name for path in (ROOT / room).glob("*/__init__.py")}
        assert set(folders[room]) == there
        order = re.findall(r"\w+", layers["framefold" if room == "api" else room])
        assert folders[room] == [name for name in order if name in there]
    assert [room for room in folders if not (ROOT / room).is_dir()] == []


def test_each_feature_has_a_page_of_forty_lines_at_most() -> None:
    folders = {path.parent.name for path in (ROOT / "extras").glob("*/__init__.py")}
    assert {page.parent.name: len(page.read_text().splitlines()) <= 40 for page in FEATURES} == dict.fromkeys(
        folders, True
    )
