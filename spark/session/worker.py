"""Call framefold's functions in Spark's workers."""

from __future__ import annotations

import gc
import socket
import sys
from contextlib import suppress
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from ..convert.partials_codec import Batches
from .errors import sentence_first
from .failures import tried_once
from .pickling import unpack


def run(function: tuple[str, str], failed: tuple[str, str] | None, payload: bytes, batches: Batches) -> Batches:
    """Call a function with the arguments in a payload and a task's batches; see ``staging.stage``.

    Functions are named by their modules and names.
    """

    def produce(rows: Batches) -> Batches:
        yield from _named(*function)(*opened(payload), rows)

    with sentence_first():
        yield from tried_once(produce, batches, failed and _named(*failed))
    settle()


def _named(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


@lru_cache(maxsize=8)
def opened(payload: bytes) -> Any:
    """What is in a payload; a worker that runs many tasks unpickles it once."""
    return unpack(payload)


@cache
def settle() -> None:
    """Once in a worker, after its first task: ready to be idle, for a short while and for the last time.

    Spark's daemon collects garbage after every task, and would search all objects of the imported modules each time.
    """
    _end_quietly()
    gc.collect()
    gc.freeze()


def _end_quietly() -> None:
    """Have an idle worker end when Spark closes its socket, as it does at the end of a session and after a minute.

    Spark's own (4.3.0) tries to send that as an error through the same socket. Over a Unix domain socket that fails at
    once, and a traceback is on the terminal of a session that has gone well, unless the worker is killed before.
    """
    daemon: Any = sys.modules["__main__"]
    if getattr(daemon.__spec__, "name", None) != "pyspark.daemon":
        return
    next_task = daemon.worker  # which the daemon looks up by its name for each task

    def worker(connection: socket.socket, *rest: Any) -> Any:
        return next_task(connection, *rest) if _is_open(connection) else 1

    daemon.worker = worker


def _is_open(connection: socket.socket) -> bool:
    """Whether more comes, once there is something to read."""
    with suppress(ConnectionError):
        return bool(connection.recv(1, socket.MSG_PEEK))
    return False
