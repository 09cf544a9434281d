"""The arguments of a command, where its line leaves nothing to say: typer's own reader takes as long as a small job.

Whatever is asked or mistaken (``--help``, completion, an unknown or a missing option, a value that is none) is typer's.
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo


def plain_arguments(command: Callable[..., Any], words: Sequence[str]) -> dict[str, Any] | None:
    """What a command is called with; None where typer is to say, as it has a message or an answer.

    Parameters
    ----------
    command
        A function whose parameters are annotated as typer takes them.
    words
        The line after the command's name.
    """
    if any(name.endswith("_COMPLETE") for name in os.environ):
        return None
    parameters, hints = signature(command).parameters, get_type_hints(command, include_extras=True)
    places: list[str] = []
    options: dict[str, tuple[str, Any, Any]] = {}
    for name in parameters:
        kind, about = get_args(hints[name])
        if isinstance(about, ArgumentInfo):
            places.append(name)
        else:
            options |= dict.fromkeys(about.param_decls or (f"--{name.replace('_', '-')}",), (name, kind, about))
    found = {name: each.default for name, each in parameters.items()}
    several: dict[str, list[str]] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        option, equals, value = word.partition("=")
        if option in options:
            name, kind, about = options[option]
            if kind is bool:
                if equals:
                    return None
                found[name] = True
                continue
            value = value if equals else left.pop(0) if left else "-?"
        elif places and (word == "-" or not word.startswith("-")):
            (name,), kind, about, value = places, list[str], None, word
        else:
            return None
        if value.startswith("-") and value != "-" and not equals:
            return None
        kinds = [each for each in get_args(kind) or (kind,) if each is not type(None)]
        if get_origin(kind) is list or get_origin(kinds[0]) is list:
            found[name] = several.setdefault(name, [])
            several[name].append(value)
        elif issubclass(kinds[0], enum.StrEnum):
            if value not in list(kinds[0]):
                return None
            found[name] = kinds[0](value)
        elif kinds[0] is int:
            if not re.fullmatch("[0-9]{1,9}", value) or int(value) < about.min:
                return None
            found[name] = int(value)
        else:
            found[name] = value
    return None if Parameter.empty in found.values() else found
