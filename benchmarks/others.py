"""Measurements of parts of framefold, without peers: their tables for the report."""

from __future__ import annotations

import importlib
import importlib.util

MODULES = {
    "accumulate": "Accumulating 8,000,000 rows of 100 keys and 1,440 frames, on one core",
}
"""Modules with ``measured()``, which gives a table as lines of Markdown; and its title."""


def tables() -> dict[str, list[str]]:
    """All of them, under their titles."""
    return {title: importlib.import_module(f"benchmarks.{name}").measured() for name, title in MODULES.items()}
