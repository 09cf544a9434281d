"""A command that is run: its warnings are sentences, its end by Ctrl-C an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperCommand


class Interrupted(Exception):
    """Ctrl-C, as an exception that every version of typer passes on with its notes."""


@contextmanager
def running() -> Iterator[None]:
    """A command that is run: its warnings are sentences, and it can be interrupted."""
    from .messages import told_warnings

    try:
        with told_warnings():
            yield
    except KeyboardInterrupt as error:
        interrupted = Interrupted()
        for note in getattr(error, "__notes__", ()):
            interrupted.add_note(note)
        raise interrupted from error


class Running(TyperCommand):
    """A command of the command line, once its arguments are known."""

    def invoke(self, ctx: Any) -> Any:
        with running():
            return super().invoke(ctx)
