"""How does pytest record tests, or run only chosen ones?

This module is copied into the environment of the copy (see ``copies.py``), where pytest loads it as a plugin.

- If ``FRAMEFOLD_REACHED`` is set, coverage's context is the id of the test. The file ``tests`` in that folder gets a
  line of JSON per test: its id, whether it needs Spark, its shared fixtures, its time in seconds, its outcome. Lines
  that a fixture of a module or session reaches are recorded under the fixture: they count for each test that uses it.
- If ``FRAMEFOLD_CHOSEN`` is set, it is a file of test ids, one per line. Only these tests run, in this order.

Properties are given the same examples each time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import framefold_startup as startup
import hypothesis
import pytest

FOLDER = os.environ.get(startup.FOLDER)
CHOSEN = os.environ.get("FRAMEFOLD_CHOSEN")

seconds: dict[str, float] = {}
outcomes: dict[str, str] = {}


def pytest_configure(config: pytest.Config) -> None:
    """Examples are random in `make test`; two runs that are compared need the same ones."""
    profile = hypothesis.settings.get_current_profile_name()
    same = hypothesis.settings(hypothesis.settings.get_profile(profile), derandomize=True, database=None)
    hypothesis.settings.register_profile("framefold_mutants", same)
    hypothesis.settings.load_profile("framefold_mutants")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if CHOSEN:
        order = {name: place for place, name in enumerate(Path(CHOSEN).read_text().split("\n"))}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in order])
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])


def shared_fixtures(item: pytest.Item) -> list[str]:
    """Return the contexts of the fixtures that a test shares with others."""
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values()
    return [context_of(each) for several in definitions for each in several if each.scope != "function"]


def context_of(fixture: Any) -> str:
    return f"fixture {fixture.baseid}::{fixture.argname}"


def enter(context: str) -> None:
    """Record under another context, here as well as in processes that start now or get a task."""
    assert FOLDER
    new = Path(FOLDER, "test.new")
    new.write_text(context)
    new.rename(Path(FOLDER, "test"))
    startup.switch(context)


if FOLDER:

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
        enter(item.nodeid)
        try:
            return (yield)
        finally:
            enter("")
            record = {
                "id": item.nodeid,
                "spark": item.get_closest_marker("spark") is not None,
                "fixtures": shared_fixtures(item),
                "seconds": round(seconds.get(item.nodeid, 0), 3),
                "outcome": outcomes.get(item.nodeid, "none"),
            }
            with Path(FOLDER, "tests").open("a") as file:
                print(json.dumps(record), file=file)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        before = startup.running()
        enter(context_of(fixturedef))
        try:
            return (yield)
        finally:
            enter(before)

    def pytest_runtest_logreport(report: pytest.TestReport) -> None:
        seconds[report.nodeid] = seconds.get(report.nodeid, 0) + report.duration
        if report.outcome != "passed" or report.nodeid not in outcomes:
            outcomes[report.nodeid] = report.outcome
