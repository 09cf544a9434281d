"""How a command is run: its warnings are sentences, and it can be interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# Nothing of framefold's: help is there before pyarrow would be.


class Interrupted(Exception):
    """Ctrl-C, as an exception that every version of typer passes on with its notes."""


@contextmanager
def running() -> Iterator[None]:
    """Run a command: Ctrl-C in it is an :class:`Interrupted`."""
    from .messages import told_warnings

    try:
        with told_warnings():
            yield
    except KeyboardInterrupt as error:
        interrupted = Interrupted()
        for note in getattr(error, "__notes__", ()):
            interrupted.add_note(note)
        raise interrupted from error
