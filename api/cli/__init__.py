"""The command line: ``framefold run``, ``framefold submit``, ``framefold demo``."""

from .cli import app, main, process

__all__ = ["app", "main", "process"]
