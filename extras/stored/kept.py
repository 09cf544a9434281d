"""What an opened table keeps in memory of files that never change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any, TypeVar

KEPT_BYTES = 128 << 20
"""The most bytes of parts of files; those that were asked for long ago go first."""

Value = TypeVar("Value")


class Kept:
    """Values of files, which never change, by their paths; tasks that get a table begin with none.

    Attributes
    ----------
    commit
        The last commit that was read; None before the first.
    stamp
        What its manifest was then: when it was written, and its size.
    """

    def __init__(self) -> None:
        self.commit: Any = None
        self.stamp: Any = None
        self._values: dict[tuple[Any, ...], tuple[Any, int]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()

    def value(self, path: str, of: tuple[Any, ...], make: Callable[[], Value], size: Callable[[Value], int]) -> Value:
        """What was made of a file before, or is made now and kept."""
        with self._lock:
            found = self._values.pop((path, *of), None)
            if found is not None:
                self._values[path, *of] = found  # the last one to go
                made: Value = found[0]
                return made
        made = make()
        taken = size(made)
        with self._lock:
            if taken <= KEPT_BYTES and (path, *of) not in self._values:
                self._values[path, *of] = made, taken
                self._bytes += taken
                while self._bytes > KEPT_BYTES:
                    self._drop(next(iter(self._values)))
        return made

    @property
    def paths(self) -> set[str]:
        """The files of which anything is kept."""
        return {path for path, *_ in self._values}

    def only(self, paths: Collection[str]) -> None:
        """Drop what was made of other files."""
        with self._lock:
            for key in [each for each in self._values if each[0] not in paths]:
                self._drop(key)

    def _drop(self, key: tuple[Any, ...]) -> None:
        self._bytes -= self._values.pop(key)[1]
