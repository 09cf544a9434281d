"""What somebody else may have written, or changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...aggregators.errors import EngineError, FramefoldError
from .files import one_line


@contextmanager
def untrusted(wrong: str, expected: str) -> Iterator[None]:
    """A sentence in place of whatever goes wrong as something from outside is read.

    Parameters
    ----------
    wrong, expected
        The beginning and the end of the sentence.

    Raises
    ------
    EngineError
        If what is read has other values or types than it should.

    Examples
    --------
    >>> with untrusted("the note has no number", "one that a query has written"):
    ...     int("seven")
    Traceback (most recent call last):
        ...
    framefold.EngineError: the note has no number: ValueError ...; expected one that a query has written
    """
    try:
        yield
    except FramefoldError:
        raise
    except (OSError, AttributeError, KeyError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise EngineError(f"{wrong}: {type(error).__name__} {one_line(error)}; expected {expected}") from error
