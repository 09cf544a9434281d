"""The table of versions in the page on Connect is what runs of the tests have left, and has all that is promised."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from ..support.pages import DOCS, ROOT
from ..support.programs import load
from ..support.versions import record

make_versions = load(DOCS / "make_versions.py", "make_versions")
RUNS = json.loads((DOCS / "versions.json").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OLDEST, NEXT = re.fullmatch(
    r"pyspark\[connect\]>=([\d.]+),<(\d+)", PROJECT["optional-dependencies"]["spark"][0]
).groups()  # type: ignore[union-attr]
BETWEEN = re.findall(r"^SPARKS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()


def test_the_page_has_what_the_runs_have_left() -> None:
    page = make_versions.PAGE.read_text()
    assert page == make_versions.filled(page, RUNS)
    assert make_versions.merged(RUNS, []) == RUNS


filled = pytest.mark.skipif(not RUNS, reason="no run has filled the table of versions: make versions")


@filled
def test_every_minor_version_of_spark_has_been_run_and_all_tests_passed() -> None:
    seen = {make_versions.minor(run["spark"]) for run in RUNS}
    first, *rest = sorted(seen, key=make_versions.numbers)
    assert first == OLDEST
    assert set(BETWEEN) < set(rest)
    assert max(seen, key=make_versions.numbers) not in BETWEEN, "the newest is that of every run"
    numbers = [int(each.partition(".")[2]) for each in (first, *rest)]
    assert numbers == list(range(len(numbers))), "none is left out"
    assert all(run["spark"].split(".")[0] == OLDEST.split(".")[0] < NEXT for run in RUNS)
    assert not [run for run in RUNS if run["failed"] or not run["passed"]]


@filled
def test_the_pythons_are_those_that_are_allowed() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert {make_versions.minor(run["python"]) for run in RUNS} >= {oldest, "3.12", "3.13"}


def test_what_a_run_leaves(tmp_path: Path) -> None:
    reporter = SimpleNamespace(stats={"passed": [1, 2, 3], "error": [1], "skipped": [1, 2]})
    left = json.loads(record(reporter, tmp_path, remote=True).read_text())
    assert (left["passed"], left["failed"], left["skipped"], left["session"]) == (3, 1, 2, "Connect")


def test_a_later_run_takes_the_place_of_one_of_the_same_minor_versions() -> None:
    run = {"spark": "4.2.0", "python": "3.11.7", "session": "classic", "passed": 1}
    later, other = run | {"spark": "4.2.1", "passed": 2}, run | {"session": "Connect"}
    assert make_versions.merged([run, other], [later]) == [later, other]
    older, newest = run | {"spark": "4.0.0"}, run | {"spark": "4.10.0"}
    assert [each["spark"] for each in make_versions.merged([older, run], [newest])] == ["4.10.0", "4.2.0", "4.0.0"]
