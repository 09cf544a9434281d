"""The Python that Spark's workers run, where it cannot run framefold's tasks: said in one sentence.

Such a worker fails before any code of framefold's runs: only Spark's report says why.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from ...aggregators.errors import EngineError
from .staging import THE_WORKERS, in_words, python_advice

_PACKAGES = ("pyarrow", "numpy")
_MODULES = {"protobuf": "google.protobuf.descriptor"}
_HAVING: WeakKeyDictionary[SparkSession, set[tuple[str | None, str]]] = WeakKeyDictionary()
"""The packages that the workers of a session are known to have, each beside what names their Python."""
_FROM_A_TASK = re.compile(rf"^\s*ImportError: ({THE_WORKERS} .*)$", re.MULTILINE)
_MISSING = re.compile(r"^\s*(?:ModuleNotFoundError|(\S+)): No module named '?(pyarrow|numpy|pandas|pyspark)\b", re.M)
_OTHER_VERSION = re.compile(r"Python in worker has different version:? \(?(\d+)(?:\.|, )(\d+)")
_CANNOT_RUN = re.compile(r'Cannot run program "([^"]+)".*?: (?:error=\d+, |Exec failed, error: \d+ \()([^\n)]+)')
_DIED = re.compile(r"Error from python worker:\s*\n(.*?)\n\s*(?:PYTHONPATH was:|at |\w+(?:\.\w+)+Exception)", re.S)


def trouble(spark: SparkSession, report: str) -> EngineError | None:
    """The fault of the workers' Python, found in Spark's report of a failure; None if the failure is another one.

    Parameters
    ----------
    spark
        The session, of any kind. Where a package is missing, a task of plain Python reports its interpreter.
    report
        The message of Spark's exception.
    """
    if said := _FROM_A_TASK.search(report):
        return EngineError(said[1])
    more = ""
    if missing := _MISSING.search(report):
        found = _lacking(spark, missing[1], missing[2])
    elif other := _OTHER_VERSION.search(report):
        found = f"{_named(spark, f'{other[1]}.{other[2]}')}, another version than this process"
        if isinstance(spark, SparkSession):
            more = ", which PYSPARK_DRIVER_PYTHON names where Spark starts it"
    elif absent := _CANNOT_RUN.search(report):
        found = f"{absent[1]}, which cannot be run ({absent[2]})"
    elif died := _DIED.search(report):
        version = re.search(r"/python(\d+\.\d+)/", died[1])
        last = died[1].strip().splitlines()[-1].strip()
        found = f"{_named(spark, version and version[1])}, which does not start ({last})"
    else:
        return None
    return EngineError(f"{THE_WORKERS} {found}; {python_advice(spark)}{more}")


def check_workers(spark: SparkSession, *packages: str) -> None:
    """EngineError where the workers' Python lacks any of some packages; a session that has them is asked once."""
    having, python = _HAVING.setdefault(spark, set()), os.environ.get("PYSPARK_PYTHON")
    if all((python, name) in having for name in packages):
        return
    if _is_ours(spark) and len(_probe(packages)(0).split("\n")) == 2:
        return  # which saves a job, the first one with a worker of Python
    try:
        executable, version, *lacking = _answer(spark, packages)
    except Exception as error:
        if (fault := trouble(spark, str(error))) is not None:
            raise fault from error
        return  # what else is wrong is not the Python's, and will be said where it happens
    if lacking:
        raise EngineError(
            f"{THE_WORKERS} {executable} (Python {version}), which lacks {in_words(lacking)}; "
            f"{python_advice(spark, packages)}"
        )
    having.update((python, name) for name in packages)


def _is_ours(spark: SparkSession) -> bool:
    """Whether the workers run the Python of this process."""
    if not isinstance(spark, SparkSession) or not str(spark.conf.get("spark.master", "")).startswith("local["):
        return False
    python = shutil.which(os.environ.get("PYSPARK_PYTHON") or "python3")
    return python is not None and Path(python).absolute().parent == Path(sys.executable).parent


def _lacking(spark: SparkSession, executable: str | None, package: str) -> str:
    if not executable:
        with suppress(Exception):  # the first failure is reported, not that of asking
            asked, version, *lacking = _answer(spark, dict.fromkeys([*_PACKAGES, package]))
            if package in lacking:  # workers may differ, and this may be another one
                return f"{asked} (Python {version}), which lacks {in_words(lacking)}"
    return f"{executable or 'a Python'} that lacks {package}"


def _answer(spark: SparkSession, packages: Iterable[str]) -> list[str]:
    """The Python of a worker, its version, and the packages that it lacks; a task without Arrow needs none."""
    probe = f.udf(_probe(packages), "string", useArrow=False)
    row = spark.range(1).select(probe("id").alias("said")).collect()[0]
    said: list[str] = row["said"].split("\n")
    return said


def _probe(packages: Iterable[str]) -> Callable[[int], str]:
    """A function that names the Python that runs it, its version, and the packages that it lacks, a line each.

    A worker that cannot import framefold can run it.
    """
    modules = {name: _MODULES.get(name, name) for name in packages}

    def probe(_: int) -> str:
        import importlib.util

        def is_there(module: str) -> bool:
            try:
                return importlib.util.find_spec(module) is not None
            except ImportError:  # of a package around it
                return False

        absent = [name for name, module in modules.items() if not is_there(module)]
        return "\n".join([sys.executable, platform.python_version(), *absent])

    return probe


def _named(spark: SparkSession, version: str | None) -> str:
    """A worker's Python as far as it is known: a server of Connect may have been started with another environment."""
    path = os.environ.get("PYSPARK_PYTHON", "python3") if isinstance(spark, SparkSession) else None
    said = f"Python {version}" if version else "a Python"
    return said if path is None else f"{path} ({said})" if version else path
