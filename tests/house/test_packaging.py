"""Versions come from tags, and what is built is what users install."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import framefold

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FALLBACK = PROJECT["tool"]["setuptools_scm"]["fallback_version"]
CHANGES = (ROOT / "CHANGELOG.md").read_text()

git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def output(folder: Path, *command: str) -> str:
    """What a command prints in a folder, whatever git of the outer process is set to."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, text: str) -> None:
    (folder / "file").write_text(text)
    who = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false"]
    output(folder, "git", "add", ".")
    output(folder, "git", *who, "commit", "-m", "a change")


def version_of(folder: Path) -> str:
    return output(folder, sys.executable, "-m", "setuptools_scm")


@git
def test_the_version_is_that_of_the_last_tag(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert version_of(tmp_path) == FALLBACK
    output(tmp_path, "git", "init", "--quiet")
    commit(tmp_path, "one")
    assert re.fullmatch(r"0\.1(\.0)?\.dev\d+\+g\w+", version_of(tmp_path))
    output(tmp_path, "git", "tag", "v9.8.7")
    assert version_of(tmp_path) == "9.8.7"
    commit(tmp_path, "two")
    assert re.fullmatch(r"9\.8\.8\.dev1\+g\w+", version_of(tmp_path))


@git
def test_every_release_has_its_changes() -> None:
    sections = re.findall(r"^## (.*?)(?: - \d{4}-\d\d-\d\d)?$", CHANGES, re.MULTILINE)
    assert sections[0] == "Unreleased"
    first = re.split(r"^## ", CHANGES, flags=re.MULTILINE)[-1]  # the first release has nothing that it changes
    assert re.findall(r"^### (\w+)", first, re.MULTILINE) == ["Added"]
    try:
        tags = output(ROOT, "git", "tag", "--list", "v*").split()
    except subprocess.CalledProcessError:  # sources without their history
        tags = []
    tagged = sorted(tag.removeprefix("v") for tag in tags)
    # The newest is written before it is tagged.
    assert tagged in (sorted(sections[1:]), sorted(sections[2:]))


def test_without_metadata_the_version_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [])
    assert framefold.__version__ == "0+unknown"


@pytest.fixture
def extensions(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    """The compiled loops that setup.py names."""
    import setuptools

    given: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", given.update)
    monkeypatch.delenv("FRAMEFOLD_PURE", raising=False)
    return lambda: (runpy.run_path(str(ROOT / "setup.py")), given["ext_modules"])[1]  # type: ignore[no-any-return]


@pytest.mark.parametrize(("said", "loops"), [(None, 3), ("", 3), ("0", 3), ("1", 0)])
def test_loops_are_left_out_where_asked(said: str | None, loops: int, extensions: Any, monkeypatch: Any) -> None:
    if said is not None:
        monkeypatch.setenv("FRAMEFOLD_PURE", said)
    found = extensions()
    assert len(found) == loops
    for extension in found:
        assert extension.optional
        (source,) = extension.sources
        assert (ROOT / source).is_file()
        assert extension.name == "framefold." + source.removesuffix(".pyx").replace("/", ".")


@pytest.mark.parametrize(("system", "option"), [("linux", "-ffp-contract=off"), ("win32", "/fp:precise")])
def test_compilers_round_floats_as_numpy_does(system: str, option: str, extensions: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert all(option in extension.extra_compile_args for extension in extensions())


def test_wheels_are_built_for_each_python_that_is_named() -> None:
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    built = [f"{each[2]}.{each[3:-2]}" for each in PROJECT["tool"]["cibuildwheel"]["build"]]
    assert built[0] == oldest
    assert {"linux", "macos", "windows"} <= PROJECT["tool"]["cibuildwheel"].keys()
    assert set(PROJECT["tool"]["cibuildwheel"]["linux"]["archs"]) == {"x86_64", "aarch64"}


def test_the_recipe_needs_what_the_package_needs() -> None:
    """By the names that conda has; `make release-files` has it read by what builds it."""
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text()
    sections = dict(re.findall(r"^  (host|run|run_constraints):\n((?:    .*\n)+)", recipe, re.MULTILINE))
    found = {name: re.findall(r"- (\S+) ?(\S*)$", lines, re.MULTILINE) for name, lines in sections.items()}
    conda = {"tzdata": "python-tzdata", "prometheus-client": "prometheus_client"}

    def named(wanted: list[str]) -> dict[str, str]:
        pairs = [re.fullmatch(r"([\w-]+)(?:\[\w+\])?(.*)", each) for each in wanted]
        return {conda.get(pair[1], pair[1]): pair[2] for pair in pairs if pair}

    python = {"python": PROJECT["project"]["requires-python"]}
    assert dict(found["run"]) == named(PROJECT["project"]["dependencies"]) | python
    assert dict(found["host"]) == named(PROJECT["build-system"]["requires"]) | {"pip": "", "python": ""}
    optional = PROJECT["project"]["optional-dependencies"].items()
    extras = named([each for name, some in optional if not name.startswith("peer") for each in some])
    assert dict(found["run_constraints"]).items() <= extras.items()


def test_one_version_and_one_address_are_said_everywhere() -> None:
    newest = re.findall(r"^## (\d+\.\d+\.\d+)", CHANGES, re.MULTILINE)[0]
    cited = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text()
    project = PROJECT["project"]
    assert cited["version"] == re.findall(r'^  version: "(.*)"$', recipe, re.MULTILINE)[0] == newest
    assert cited["repository-code"] == project["urls"]["Source"]
    words = [project["license"], project["description"]]
    assert [cited[name] for name in ("title", "license", "abstract")] == [project["name"], *words]
    about = dict(re.findall(r"^  (\w+): (.+)$", recipe.partition("\nabout:\n")[2], re.MULTILINE))
    assert [about[name] for name in ("homepage", "license", "summary")] == [project["urls"]["Source"], *words]
