"""The features above the core, as a method of the core finds one."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def feature(name: str) -> Any:
    """The module of a feature by its name in ``extras``, loaded when it is first asked for.

    The core imports no feature, so that a query loads none. A public class of the core may have a method that a feature
    answers, such as ``Events.relation``: this function is how it gets there.
    """
    return import_module(f"{__package__.rpartition('.')[0]}.extras.{name}")
