"""The command line: ``framefold run``, ``framefold submit``, ``framefold demo``."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cli import app, main

__all__ = ["app", "main", "process"]

EXTRA = ("typer", "rich", "plotext")
"""What the extra ``cli`` brings, and framefold by itself does not."""


def process() -> int:
    """Run the command line in a process of its own; one sentence says so where the extra is not installed."""
    try:
        from .cli import process as run

        return run()
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in EXTRA:
            raise
        from ...aggregators.errors import installing

        print(
            f"framefold: the command line needs {error.name}; expected it installed: {installing('cli')}",
            file=sys.stderr,
        )
        return 1


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """What needs the extra is there when it is asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        from . import cli

        return getattr(cli, name)
