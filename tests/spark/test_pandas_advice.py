"""PySpark's advice not to use pandas 3 is not for users of framefold, whatever session it starts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ..support.inner import place_of
from ..support.sessions import session as sessions

WAYS: dict[str, Callable[[], Any]] = {
    "local": lambda: sessions.local_session("a name"),
    "submitted": lambda: sessions.submitted_session("a name"),
    "connected": lambda: sessions.connected("sc://localhost:1"),
    "one that is there": sessions.active_session,
}


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(each, marks=pytest.mark.classic("it starts a Spark")) if each != "connected" else each
        for each in WAYS
    ],
)
def test_it_is_silent(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As PySpark raises it, from wherever it does: at the first value that it hands to the JVM."""
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda self: None)
    monkeypatch.setattr(*place_of("Java of a session"), lambda: None)
    monkeypatch.setattr(*place_of("environment of a session"), lambda master: None)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        WAYS[way]()
        warnings.warn("PySpark does not yet fully support pandas >= 3.0.0.", FutureWarning, stacklevel=1)
    assert seen == []
