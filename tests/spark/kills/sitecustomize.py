"""Python runs this in every process that has its folder on the path: Spark's workers die at a chosen point.

``KILL_AT`` has the point, ``KILL_WHO`` whether the worker dies or all of the program, ``KILL_ODDS`` how likely it is
each time that the point is reached, and ``KILL_LOG`` a file that gets a line for each kill.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

STREAMS = "framefold.spark.streams"
POINTS = {
    "events are read": (f"{STREAMS}.packets", "pack_partials"),
    "state is changed": (f"{STREAMS}.state", "StateStore._write_page"),
    "state has been changed": (f"{STREAMS}.slider", "called"),
    "results are put out": (f"{STREAMS}.packets", "unpack"),
}
"""After a part of it, each time that something has been done or given."""

STORED = "framefold.extras.stored"
IN_TASKS = {"tasks have written": ("framefold.extras.stored.on_spark.engine", "write")}
IN_MOVING_TASKS = {"tasks have written a state": (f"{STREAMS}.exporting", "write_state")}
DEADLY = POINTS | IN_TASKS | IN_MOVING_TASKS
"""Those in Spark's workers."""

IN_DRIVER = {
    "files are written": (f"{STORED}.table", "Table.write_rows"),
    "files are on the disk": (f"{STORED}.commits", "Commits._flush_new"),
    "the table has the run": (f"{STORED}.commits", "Commits.change"),
}
"""The same of a table of partials: before the commit of a run, and between it and Spark's own."""

IN_MOVES = {
    "the state is at rest": (f"{STREAMS}.exporting", "store"),
    "a file of the state is written": (f"{STORED}.commits", "flushed"),
    "the first state is written": (f"{STREAMS}.logs", "Logs.numbers"),
    "notes of Spark's are removed": (f"{STREAMS}.logs", "remove"),
    "notes of Spark's are written": (f"{STREAMS}.logs", "Logs.go_on_from"),
    "the checkpoint is there": (f"{STREAMS}.logs", "Logs.move"),
}
"""The same of a query whose state goes on in another one."""


def members(session: int, command: str = "") -> list[int]:
    """The processes of a session: a driver, its JVM, executors and Python workers."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                if os.getsid(int(name)) == session and command.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                    found.append(int(name))
    return found


def strike() -> None:
    """Kill, if chance has it."""
    if random.SystemRandom().random() >= float(os.environ["KILL_ODDS"]):
        return
    with open(os.environ["KILL_LOG"], "a") as log:
        log.write(f"{os.environ['KILL_WHO']}: {os.environ['KILL_AT']}\n")
    others = members(os.getsid(0)) if os.environ["KILL_WHO"] == "all" else []
    for process in sorted([*others, os.getpid()], key=os.getpid().__eq__):  # this one last
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def deadly(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that may kill after it is done, or after each thing that it gives."""

    def called(*arguments: Any) -> Any:
        result = function(*arguments)
        if isinstance(result, Iterator):
            return given(result)
        strike()
        return result

    def given(results: Iterator[Any]) -> Iterator[Any]:
        for result in results:
            yield result
            strike()
        strike()

    return called


def make_deadly(module: Any, function: str) -> None:
    """Put a function of a module, or of a class in it, into its place made deadly."""
    *owners, name = function.split(".")
    owner = getattr(module, owners[0]) if owners else module
    setattr(owner, name, deadly(getattr(owner, name)))


class Loader(importlib.abc.Loader):
    """Another loader, with a function made deadly."""

    def __init__(self, inner: Any, name: str) -> None:
        self.inner, self.name = inner, name

    def create_module(self, spec: Any) -> Any:
        return self.inner.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self.inner.exec_module(module)
        make_deadly(module, self.name)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the module of the point."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        module, function = DEADLY[os.environ["KILL_AT"]]
        if name != module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = Loader(spec.loader, function)
        return spec


if os.environ.get("KILL_AT") in DEADLY and "pyspark.daemon" in sys.orig_argv:
    sys.meta_path.insert(0, Finder())
