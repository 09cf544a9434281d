"""A user's own query, by the name of the function that makes it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ... import FramefoldError, QueryError
from ...aggregators.contract.operation import Operation
from ...aggregators.errors import nearest
from ...events import Events, Windowed
from ...runtime.sources.files import one_line
from .messages import from_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIR = "expected the stream in windows and its outputs: ff.events(...).window(...), {'n': ff.Count()}"

NAME = "__query__"
"""What a file's module is called, whatever modules there are of its own name."""


@dataclass(frozen=True)
class NamedQuery:
    """A function that makes a query for a session.

    Parameters
    ----------
    name
        As it was given.
    function
        The user's.
    """

    name: str
    function: Callable[[Any], Any]

    @classmethod
    def of(cls, name: str) -> NamedQuery:
        """The function ``FILE.py:FUNCTION`` or ``MODULE:FUNCTION``; QueryError where there is none."""
        place, colon, word = name.rpartition(":")
        if not (colon and place and word.isidentifier()):
            raise QueryError(
                f"the query is {name!r}; expected FILE.py:FUNCTION or MODULE:FUNCTION, such as pipeline.py:trips"
            )
        module = _file(place) if place.endswith(".py") else _module(place)
        if word not in vars(module):
            known = [
                each for each, value in vars(module).items() if inspect.isfunction(value) and not each.startswith("_")
            ]
            raise QueryError(f"{place!r} has no function {word!r}; {nearest(word, known)}")
        function = vars(module)[word]
        if not callable(function):
            raise QueryError(f"{name!r} is of type {type(function).__name__}; expected a function of a SparkSession")
        try:
            inspect.signature(function).bind(None)
        except TypeError as error:
            raise QueryError(
                f"{name!r} cannot be called with a SparkSession alone: {error}; expected a function of one argument"
            ) from error
        return cls(name, function)

    def __call__(self, spark: SparkSession) -> tuple[Windowed[Any], Mapping[str, Operation]]:
        """The stream in windows, and its outputs."""
        with _said(f"{self.name!r} cannot make the query"):
            found = self.function(spark)
        if not isinstance(found, tuple) or len(found) != 2:
            raise QueryError(f"{self.name!r} has returned {_named(found)}; {PAIR}")
        windowed, outputs = found
        if isinstance(windowed, Events):  # windows are those of the outputs
            windowed = windowed.window()
        if not isinstance(windowed, Windowed):
            raise QueryError(f"{self.name!r} has returned {_named(windowed)} for the stream; {PAIR}")
        if not isinstance(outputs, Mapping) or not all(isinstance(each, str) for each in outputs):
            raise QueryError(f"{self.name!r} has returned {_named(outputs)} for the outputs; {PAIR}")
        return windowed, outputs


def _file(path: str) -> ModuleType:
    """A file as a module, which finds others in its folder, as where Python runs it."""
    if not os.path.isfile(path):
        raise QueryError(f"{path!r} does not exist; expected a Python file with the query")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(NAME, path)
    assert spec is not None, path  # it ends with .py
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module  # where pickling looks for it
    with _said(f"{path!r} cannot be imported"):
        spec.loader.exec_module(module)
    return module


def _module(name: str) -> ModuleType:
    """A module that is installed, or that is in this folder."""
    sys.path.insert(0, os.getcwd())
    try:
        with _said(f"{name!r} cannot be imported"):
            return importlib.import_module(name)
    except QueryError as error:
        if isinstance(why := error.__cause__, ModuleNotFoundError) and f"{name}.".startswith(f"{why.name}."):
            raise QueryError(f"there is no module {name!r}; expected FILE.py:FUNCTION or MODULE:FUNCTION") from why
        raise


@contextmanager
def _said(what: str) -> Iterator[None]:
    """What the user's code raises as a sentence with its line; errors of framefold's and Spark's say it themselves."""
    try:
        yield
    except SystemExit as error:
        raise QueryError(
            f"{what}: it has ended the process ({error}); expected what it does when it is run below "
            "if __name__ == '__main__'"
        ) from error
    except Exception as error:
        if isinstance(error, FramefoldError) or from_spark(error):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = (
            "" if isinstance(error, SyntaxError) else f", in line {last.lineno} of {os.path.basename(last.filename)}"
        )
        raise QueryError(f"{what}: {type(error).__name__}: {one_line(error)}{where}") from error


def _named(value: object) -> str:
    """What a value is, in words."""
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else type(value).__name__
