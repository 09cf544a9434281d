"""Functions of framefold's in tasks of Spark."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ..convert.partials_codec import Batches
from .packaging import PACKAGE, package_zip, ship
from .pickling import pack

HERE = platform.python_version()
THE_WORKERS = "the workers of Spark run"

Task = Callable[..., Batches]


def tasks_of(spark: SparkSession, count: int) -> DataFrame:
    """The numbers from 0 up to a count, in as many tasks."""
    return spark.range(0, count, 1, max(1, count))


def stage(
    rows: DataFrame, function: Task, *arguments: object, schema: t.StructType, failed: Task | None = None
) -> DataFrame:
    """Rows through a function of framefold's in tasks, lazily.

    Parameters
    ----------
    rows
        What the tasks are given.
    function
        A function of a module of framefold. It is called with ``arguments`` and a task's batches, and gives batches.
    arguments
        Travel as `pack` has them.
    schema
        Of what the function gives.
    failed
        A function that makes batches of the report of an error that is not tried again; None: the task fails.
    """
    ship(rows.sparkSession)
    return rows.mapInArrow(task(rows.sparkSession, function, *arguments, failed=failed), schema)


def task(
    spark: SparkSession, function: Task, *arguments: object, failed: Task | None = None
) -> Callable[[Batches], Batches]:
    """The function that Spark pickles, for a session.

    It names no module of framefold's until it is called: a worker unpickles it before the zip is on its path.
    """
    names = [each and (each.__module__, each.__name__) for each in (function, failed)]
    worker, payload = f"{PACKAGE}.spark.session.worker", pack(arguments)
    workers, expected, imported = THE_WORKERS, python_advice(spark), importer(spark)

    def run(batches: Batches) -> Batches:
        try:
            produced: Batches = imported(worker).run(*names, payload, batches)
        except ModuleNotFoundError as error:
            import platform
            import sys

            here = f"{sys.executable} (Python {platform.python_version()})"
            raise ImportError(f"{workers} {here}, which lacks {error.name}; {expected}") from None
        return produced

    run.__name__ = f"{PACKAGE}_{function.__name__}"  # Spark shows it in plans
    return run


def python_advice(spark: SparkSession, packages: Sequence[str] = ("pyarrow", "numpy")) -> str:
    """The advice part of an error message: which setting names the workers' Python.

    A server of Connect takes the Python of its workers from its own environment only.
    """
    if isinstance(spark, SparkSession):
        where, when = "PYSPARK_PYTHON, or spark.pyspark.python of spark-submit,", "Spark"
    else:
        where, when = "PYSPARK_PYTHON in the environment of the Spark Connect server", "it"
    return (
        f"expected {where} to name a Python {HERE.rpartition('.')[0]} with {in_words(packages)} when {when} starts; "
        f"this process runs {sys.executable} (Python {HERE})"
    )


def in_words(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> in_words(["protobuf", "pyarrow", "numpy"]), in_words(["numpy"])
    ('protobuf, pyarrow and numpy', 'numpy')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def importer(spark: SparkSession) -> Callable[[str], ModuleType]:
    """How a task of a session imports modules of framefold.

    Through Connect a session's files are in a folder of their own within Spark's. Spark (4.3.0) gives those of a stream
    to its executors too, but the path of the workers has the folder around it, where the zip is not. There it is copied
    to, once an executor: Spark deletes folders of sessions that it has not seen for a while.
    """
    if isinstance(spark, SparkSession):
        return import_module
    package, (folder, name) = PACKAGE, os.path.split(package_zip())
    size = os.path.getsize(os.path.join(folder, name))

    def imported(module: str) -> ModuleType:
        import os
        import sys
        from glob import escape, iglob
        from shutil import copyfile

        target = next((path for path in sys.path if os.path.basename(path) == name), None)
        if target is None or name in str(getattr(sys.modules.get(package), "__file__", None)):
            return import_module(module)
        root, copy = os.path.dirname(target), f"{target}.{os.getpid()}"
        for found in () if os.path.exists(target) else iglob(os.path.join(escape(root), "*", name)):
            try:
                if os.path.getsize(found) == size:  # else it is still being written
                    copyfile(found, copy)
                    os.replace(copy, target)
                    break
            except OSError:  # it has just been deleted, and there is another
                continue
        if os.path.exists(target):
            # Of sessions of several versions, which share such workers: what was imported is another one's.
            for other in [each for each in sys.modules if each.split(".")[0] == package]:
                del sys.modules[other]
            sys.path.remove(target)
            sys.path.insert(0, target)
            sys.path_importer_cache.pop(target, None)
        return import_module(module)

    return imported
