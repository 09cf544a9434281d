"""A bar that shows how far a long query of the local engine is: on the stderr of a terminal, or in a notebook."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

PATIENCE = 2.0
"""The seconds after which a query shows how far it is."""

Part = TypeVar("Part", bound=tuple[Any, ...])


class Bar(NamedTuple):
    """What moves a bar, given how much is done, and what takes it away."""

    move: Callable[[int], object]
    close: Callable[[], object]


def watched(parts: Iterable[Part], what: str, total: Callable[[], int | None], began: float) -> Iterator[Part]:
    """The same parts; from :data:`PATIENCE` seconds on a bar shows how much there was.

    Parameters
    ----------
    parts
        Each begins with how much it has.
    what
        What is done, in words.
    total
        Gives how much there is, or None.
    began
        When the query did, by ``time.monotonic``.
    """
    done, most, shown, asked = 0, None, None, False
    try:
        for part in parts:
            done += part[0]
            if not asked and time.monotonic() - began > PATIENCE:
                asked, most = True, total()
                shown = bar(what, most)
            if shown is not None:
                shown.move(done if most is None else min(done, most))  # parts may overlap
            yield part
            del part  # or it would be held while the next one is made
    finally:
        if shown is not None:
            shown.close()


def bar(what: str, total: int | None) -> Bar | None:
    """A bar; None where nobody would see it, as where stderr is a file or a pipe, or rich is not installed.

    Parameters
    ----------
    what
        What is done.
    total
        How much there is to do; None where that is not known.
    """
    if is_notebook():
        return None if total is None else in_notebook(total)
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console  # slow to import, as all of rich, and of the extra cli
        from rich.progress import MofNCompleteColumn, Progress
    except ImportError:
        return None
    console = Console(stderr=True)
    if console.is_dumb_terminal:
        return None
    progress = Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=console, transient=True)
    task = progress.add_task(what, total=total)
    progress.start()
    return Bar(lambda done: progress.update(task, completed=done), progress.stop)


def is_notebook() -> bool:
    """Whether IPython runs in the kernel of a notebook, or in one of Databricks or Colab."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if shell is None:
        return False
    kind = type(shell)
    return (
        kind.__name__ == "ZMQInteractiveShell"
        or "google.colab" in str(kind)
        or "DATABRICKS_RUNTIME_VERSION" in os.environ
    )


def in_notebook(total: int) -> Bar:
    """A bar of IPython's, which needs no widgets."""
    from IPython.display import ProgressBar

    shown = ProgressBar(total)
    shown.display()

    def move(done: int) -> None:
        shown.progress = done

    return Bar(move, lambda: move(total))
