"""The versions of Spark that framefold runs on."""

from __future__ import annotations

import pyspark

from ...aggregators.errors import EngineError, installing

RANGE = "4.0 or later, and below 5"


def check_pyspark() -> None:
    """EngineError where this process has another PySpark than framefold runs on."""
    check(pyspark.__version__, "PySpark", f"{installing('spark')} brings one")


def check(version: str, what: str, then: str) -> None:
    """EngineError unless a version is in the range.

    >>> check("4.3.0", "PySpark", "")
    """
    if version.partition(".")[0] != "4":
        raise EngineError(f"{what} is {version}; expected {RANGE}: {then}")
