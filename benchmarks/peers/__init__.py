"""Contenders: a module each, of ways of running a job.

A peer's module has ``WAYS``, from the name of a way to a function from the job to a result, lazy or not;
``consume(result)``, which computes all of it; ``save(result, job, path)``, which writes it as Parquet with the key
columns, the window (``start`` or ``at``, in microseconds) and the outputs; and ``versions()``.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..jobs import Job


def peer(module: str) -> Any:
    """A peer's module, imported when it is first asked for: it may need packages that only its environment has."""
    return importlib.import_module(f"{__name__}.{module}")


def run(contender: str, job: Job, save: str = "") -> None:
    """Run a job once, to its last row: saved where a path is given, thrown away otherwise.

    Parameters
    ----------
    contender
        As ``module.way``.
    job
        What to do.
    save
        The path of a Parquet file or folder.
    """
    module, way = contender.split(".")
    result = peer(module).WAYS[way](job)
    if save:
        peer(module).save(result, job, save)
    else:
        peer(module).consume(result)
