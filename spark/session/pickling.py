"""What a task needs as a pickle, which executors open though they have none of the user's modules."""

from __future__ import annotations

import io
import os
import sys
import sysconfig
import threading
from collections import ChainMap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, ModuleType
from typing import Any

import cloudpickle

from ...aggregators.errors import OperationError
from .packaging import SHIPPED

_registering = threading.Lock()


def pack(job: object) -> bytes:
    """Pickle what a task needs so that executors can open it though they have none of the user's modules.

    This is cloudpickle itself and not PySpark's copy, because states of Python objects are pickled with it too, and
    each copy keeps its own table of classes: a state whose class was pickled by value comes back as one of the user's
    own class, not of a copy.

    Raises
    ------
    OperationError
        If an operation holds something that cannot be pickled.
    """
    payload = io.BytesIO()
    with _registering, _by_value():
        try:
            _Pickler(payload).dump(job)
        except Exception as error:
            raise OperationError(f"the query cannot be sent to the executors, it does not pickle: {error}") from error
    return payload.getvalue()


def _code_with_filename(code: CodeType) -> tuple[Callable[..., CodeType], tuple[object, ...]]:
    return _code_of, (*cloudpickle.Pickler.dispatch_table[CodeType](code), code.co_filename)


def _code_of(make: Callable[..., CodeType], arguments: tuple[object, ...], filename: str) -> CodeType:
    return make(*arguments).replace(co_filename=filename)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """cloudpickle's, with the file of each function: without it (3.1.3 leaves it out) tracebacks lose their lines."""

    dispatch_table = ChainMap({CodeType: _code_with_filename}, cloudpickle.Pickler.dispatch_table)


def unpack(payload: bytes) -> Any:
    """Open what `pack` made."""
    return cloudpickle.loads(payload)


@contextmanager
def _by_value() -> Iterator[None]:
    """Pickle what the user's own modules define by value, not as a name to import."""
    registered = []
    try:
        for module in list(sys.modules.values()):
            if _is_users(module) and module.__name__ not in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.register_pickle_by_value(module)
                registered.append(module)
        yield
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def _is_users(module: Any) -> bool:
    """True for modules that executors will not have: neither Python's own, nor installed, nor framefold."""
    if not isinstance(module, ModuleType):
        return False
    path = getattr(module, "__file__", None)
    if path is not None and not _is_own(path):  # nearly all modules
        return False
    # What is shipped as a zip may run from that zip here; __main__ goes by value anyway.
    if sys.modules.get(module.__name__) is not module:
        return False
    if module.__name__.split(".")[0] in {*SHIPPED, "pyspark", "__main__"}:
        return False
    # Built in, a namespace package, or made by hand: only the last of those without a path is the user's.
    return path is not None or getattr(module, "__spec__", None) is None


@cache
def _is_own(path: str) -> bool:
    return not os.path.realpath(path).startswith(_installed())


@cache
def _installed() -> tuple[str, ...]:
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    places |= {path for path in sys.path if os.path.basename(path) in {"site-packages", "dist-packages"}}
    places |= {os.path.dirname(os.__file__)}  # in a virtual environment the standard library is elsewhere
    return tuple(os.path.join(os.path.realpath(place), "") for place in places if place)
