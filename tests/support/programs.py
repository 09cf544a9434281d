"""Programs that tests run in a process of their own."""

from pathlib import Path

WITH_SUPPORT = f"import sys\nsys.path.append({str(Path(__file__).parents[2])!r})\n"
"""The first lines of a program that imports from ``tests.support``, whatever folder it runs in."""
