"""The command line: ``framefold run`` and ``framefold demo``."""

from .cli import app, main

__all__ = ["app", "main"]
