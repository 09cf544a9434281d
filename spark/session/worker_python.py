"""The Python that Spark's workers run, where it cannot run framefold's tasks: said in one sentence.

Such a worker fails before any code of framefold's runs: only Spark's report says why.
"""

from __future__ import annotations

import os
import platform
import re
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from ...aggregators.errors import EngineError
from .staging import THE_WORKERS, python_advice

_PACKAGES = ("pyarrow", "numpy")
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
    if missing := _MISSING.search(report):
        return EngineError(f"{_lacking(spark, missing[1], missing[2])}; {python_advice(spark)}")
    if other := _OTHER_VERSION.search(report):
        python = _named(spark, f"{other[1]}.{other[2]}")
        more = ", which PYSPARK_DRIVER_PYTHON names where Spark starts it" if isinstance(spark, SparkSession) else ""
        return EngineError(f"{THE_WORKERS} {python}, another version than this process; {python_advice(spark)}{more}")
    if absent := _CANNOT_RUN.search(report):
        return EngineError(f"{THE_WORKERS} {absent[1]}, which cannot be run ({absent[2]}); {python_advice(spark)}")
    if died := _DIED.search(report):
        version = re.search(r"/python(\d+\.\d+)/", died[1])
        last = died[1].strip().splitlines()[-1].strip()
        return EngineError(
            f"{THE_WORKERS} {_named(spark, version and version[1])}, which does not start ({last}); "
            f"{python_advice(spark)}"
        )
    return None


def _lacking(spark: SparkSession, executable: str | None, package: str) -> str:
    if not executable and (answer := _asked(spark, list(dict.fromkeys([*_PACKAGES, package])))):
        asked, version, *lacking = answer
        if package in lacking:  # workers may differ, and this may be another one
            return f"{THE_WORKERS} {asked} (Python {version}), which lacks {' and '.join(lacking)}"
    return f"{THE_WORKERS} {executable or 'a Python'} that lacks {package}"


def _asked(spark: SparkSession, packages: list[str]) -> list[str] | None:
    """The Python of a worker, its version, and what it lacks of some packages; a task without Arrow needs none."""

    def probe(_: int) -> str:
        import importlib.util

        absent = [name for name in packages if importlib.util.find_spec(name) is None]
        return "\n".join([sys.executable, platform.python_version(), *absent])

    try:
        row = spark.range(1).select(f.udf(probe, "string", useArrow=False)("id").alias("said")).collect()[0]
    except Exception:  # the first failure is reported, not this one
        return None
    said: list[str] = row["said"].split("\n")
    return said


def _named(spark: SparkSession, version: str | None) -> str:
    """A worker's Python as far as it is known: a server of Connect may have been started with another environment."""
    path = os.environ.get("PYSPARK_PYTHON", "python3") if isinstance(spark, SparkSession) else None
    said = f"Python {version}" if version else "a Python"
    return said if path is None else f"{path} ({said})" if version else path
