"""How does a Python process record which lines of the package a test reaches?

This module is copied into the environment of the copy (see ``copies.py``). A ``.pth`` file imports it when Python
starts, so that programs started by tests and Spark's Python workers record their lines, too. If the environment
variable ``FRAMEFOLD_REACHED`` is not set, nothing is recorded.

``FRAMEFOLD_REACHED`` is a folder. Its file ``test`` contains the id of the running test, which is the context of
coverage. Each process writes one data file of coverage.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = "FRAMEFOLD_REACHED"
ROOMS = "FRAMEFOLD_ROOMS"
"""The folders of the rooms, separated as in ``PATH``."""
SHIPPED = ".zip/framefold/"
"""What is in the names of files that Spark's workers import: they are in the zip that the driver sends."""

coverage: Any = None


def start() -> None:
    """Record lines from now on, if the environment asks for it."""
    global coverage
    folder = os.environ.get(FOLDER)
    if not folder or coverage:
        return
    from coverage import Coverage

    files = [f"{room}/*" for room in os.environ[ROOMS].split(os.pathsep)] + [f"*/framefold-*{SHIPPED}*"]
    coverage = Coverage(data_file=f"{folder}/lines", data_suffix=True, config_file=False, include=files)
    coverage._warn_no_data = False
    coverage.start()
    switch(running())
    atexit.register(save)
    sys.meta_path.insert(0, WorkerHook())


def save() -> None:
    """Write the lines that are still in memory."""
    coverage.stop()
    coverage.save()


def running() -> str:
    """Return the id of the running test."""
    try:
        return Path(os.environ[FOLDER], "test").read_text()
    except FileNotFoundError:
        return ""


def switch(context: str) -> None:
    """Write the lines recorded so far, and record the next ones under another context."""
    if coverage:
        coverage.switch_context(context)


class WorkerHook:
    """An import hook that wraps ``main`` of ``pyspark.worker``: Spark calls it once per task, in a reused process."""

    def find_spec(self, name: str, *_: Any) -> Any:
        if name != "pyspark.worker":
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        spec = importlib.util.find_spec(name)
        if spec and (loader := spec.loader):  # may be of a zip file, and load other modules, too

            def load(module: Any) -> None:
                loader.exec_module(module)
                module.main = by_task(module.main)

            spec.loader = SimpleNamespace(create_module=loader.create_module, exec_module=load)  # type: ignore[assignment]
        return spec


def by_task(main: Any) -> Any:
    """Return a worker's main function that records the lines of each task under the test that runs."""

    @functools.wraps(main)
    def task(*sockets: Any) -> Any:
        switch(running())
        try:
            return main(*sockets)
        finally:
            switch("")

    return task
