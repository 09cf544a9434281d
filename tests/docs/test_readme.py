"""The README does what it says: its commands and its code are run from top to bottom, and print what it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import framefold as ff

from ..support.command_line import main
from .follow_readme import lines

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
RUNNABLE = ("sh", "python")


def ran(kind: str, block: str, namespace: dict[str, Any]) -> None:
    """Run a block of commands, or of Python in the namespace of those above it."""
    if kind == "python":
        exec(compile(block, "<README>", "exec"), namespace)
        return
    for command in block.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(command, comments=True)
        assert program == "framefold"
        assert main(arguments) == 0, command


@pytest.mark.usefixtures("spark_of_docs")
def test_what_is_shown_is_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    compared = 0
    for at, (kind, block) in enumerate(BLOCKS):
        if kind not in RUNNABLE:
            continue
        # The JVM was started in another folder than this one.
        ran(kind, block.replace('spark.read.parquet("', f'spark.read.parquet("{tmp_path}/'), namespace)
        printed = capsys.readouterr().out
        following, shown = BLOCKS[at + 1]
        if following == "text":
            assert lines(printed) == lines(shown)
            compared += 1
    assert compared == sum(kind == "text" for kind, _ in BLOCKS) >= 3
    # The class that a reader copies works on the file that a reader has.
    table = ff.parquet("taxi/trips.parquet")
    windows = ff.events(table, time="pickup").window(ff.tumbling("1 day"))
    found = windows.aggregate(mean=namespace["GeometricMean"]("fare"), low=ff.Min("fare"), high=ff.Max("fare"))
    (row,) = found.to_pylist()
    assert row["low"] < row["mean"] < row["high"]


def done(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The output of commands of a shell in a folder, in which framefold is this environment's."""
    itself = f'set -euo pipefail; framefold() {{ {shlex.quote(sys.executable)} -m framefold "$@"; }}\n'
    shell = subprocess.run(["bash", "-c", itself + commands], cwd=folder, capture_output=True, text=True, check=False)
    assert shell.returncode == 0, shell.stderr
    return shell


@pytest.mark.slow
def test_the_page_of_the_command_line_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text()
    shell = done("".join(re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)), tmp_path)
    assert "--engine auto takes the local engine, which can hold 0." in shell.stderr
    assert '"zone","window_start","window_end","n"' in shell.stdout
    assert shell.stdout.rstrip().endswith('"n": 20000}')


@pytest.mark.slow
def test_the_commands_of_every_day_again_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "every-day-again.md").read_text()
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    demo = "framefold demo --keep taxi --rows 2000 --engine local > demo\n"
    assert "the run '2024-05-17' has 2,000 events" in done(demo + commands, tmp_path).stderr
    assert (tmp_path / "week.parquet").is_file()


def test_links_are_absolute_and_lead_to_files_that_are_there() -> None:
    """A page of the package index has no folder beside it."""
    base = PROJECT["urls"]["Source"] + "/blob/main/"
    targets = [each for each in re.findall(r"\]\(([^)]+)\)", README) if not each.startswith("#")]
    assert targets
    for target in targets:
        assert target.startswith(base), target
        assert (ROOT / target.removeprefix(base)).is_file(), target


def test_addresses_of_the_project_are_below_one() -> None:
    urls = PROJECT["urls"]
    assert {"Source", "Documentation", "Changelog", "Issues"} <= urls.keys()
    assert {url for url in urls.values() if not url.startswith(urls["Source"])} == set()
    base = urls["Source"] + "/blob/main/"
    assert all((ROOT / url.removeprefix(base)).exists() for url in urls.values() if url.startswith(base))
