"""What pages say of the code is true: files and functions that they name exist, and the tree has every folder."""

from __future__ import annotations

import importlib
import importlib.util
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
ROOMS = ["api", "spark", "runtime", "aggregators"]
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TREE = next(block for block in BLOCK.findall(PAGE) if block.startswith("api/"))
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
FOLDERS = [*ROOMS, "benchmarks", "docs", "tests"]


def quoted(text: str, pattern: str) -> set[str]:
    """What stands in backticks, outside of blocks, and has a pattern."""
    return {each for each in re.findall(r"`([^`\n]+)`", BLOCK.sub("", text)) if re.fullmatch(pattern, each)}


PATHS = sorted({path for page in PAGES for path in quoted(page.read_text(), rf"(?:{'|'.join(FOLDERS)})/[\w./-]*")})
NAMES = sorted(quoted(PAGE, rf"(?:{'|'.join(ROOMS)})(?:\.\w+)+"))


def found(name: str) -> Any:
    """What a dotted name stands for: the file that its first parts are, then attributes."""
    room, *parts = name.split(".")
    value: Any = importlib.import_module("framefold" if room == "api" else f"framefold.{room}")
    for part in parts:
        inside = f"{value.__name__}.{part}"
        if hasattr(value, "__path__") and importlib.util.find_spec(inside):
            value = importlib.import_module(inside)  # the package may have a function of that name
        else:
            value = getattr(value, part)
    return value


@pytest.mark.parametrize("path", PATHS)
def test_paths_exist(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", NAMES)
def test_names_exist(name: str) -> None:
    if name.startswith("spark."):
        pytest.importorskip("pyspark", reason="Spark is not installed: pip install 'framefold[spark]'")
    assert found(name) is not None


def test_the_page_names_enough_to_be_checked() -> None:
    assert len(PATHS) > 30
    assert len(NAMES) > 30


def test_the_tree_has_every_folder_in_the_order_of_its_layers() -> None:
    folders: dict[str, list[str]] = {}
    for indent, name in re.findall(r"^( *)([\w-]+)/ ", TREE, re.MULTILINE):
        if not indent:
            inside = folders.setdefault(name, [])
        else:
            inside.append(name)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = {
        each["containers"][0].removeprefix("framefold."): " | ".join(each["layers"])
        for each in contracts
        if each["type"] == "layers"
    }
    assert [room for room in folders if room in ROOMS] == ROOMS
    for room in ROOMS:
        there = {path.parent.name for path in (ROOT / room).glob("*/__init__.py")}
        assert set(folders[room]) == there
        order = re.findall(r"\w+", layers["framefold" if room == "api" else room])
        assert folders[room] == [name for name in order if name in there]
    assert [room for room in folders if not (ROOT / room).is_dir()] == []
