"""The options that windows at constant steps share, with their types; each says once what it may be."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypedDict, TypeVar, cast

from ..columns.ticks import Instant
from .grid import Offset
from .spec import Closed, Emit, Empty, Gaps, MinFill, Stamp

Function = TypeVar("Function", bound=Callable[..., Any])


class Cumulated(TypedDict, total=False):
    """Those of :func:`~framefold.cumulating`."""

    offset: Offset
    closed: Closed
    timezone: str | None
    empty: Empty
    fill_from: Instant | None
    fill_to: Instant | None
    fill_keys: Any
    min_samples: int
    emit: Emit
    stamp: Stamp


class Tumbled(Cumulated, total=False):
    """Those of :func:`~framefold.tumbling`."""

    min_fill: MinFill


class Slid(Tumbled, total=False):
    """Those of :func:`~framefold.sliding`."""

    gaps: Gaps


DEFAULTS = {
    "offset": 0, "closed": "left", "timezone": None, "empty": "skip", "fill_from": None, "fill_to": None,
    "fill_keys": None, "min_samples": 0, "emit": "every", "stamp": "interval", "min_fill": "partial", "gaps": "warn",
}  # fmt: skip


def with_named(options: type) -> Callable[[Function], Function]:
    """A function that is called with all of its options, by their names in a TypedDict, and that ``help`` shows so."""
    kinds = {name: getattr(kind, "__forward_arg__", kind) for name, kind in options.__annotations__.items()}
    named = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=DEFAULTS[name], annotation=kind) for name, kind in kinds.items()
    ]

    def made(function: Function) -> Function:
        given = signature(function)
        own = [each for each in given.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        shown = given.replace(parameters=[*own, *named])

        @wraps(function)
        def called(*values: Any, **choices: Any) -> Any:
            try:
                bound = shown.bind(*values, **choices)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            bound.apply_defaults()
            return function(*bound.args, **bound.kwargs)

        called.__signature__ = shown  # type: ignore[attr-defined]
        called.__annotations__ = {name: each.annotation for name, each in shown.parameters.items()} | {
            "return": shown.return_annotation
        }
        return cast(Function, called)

    return made
