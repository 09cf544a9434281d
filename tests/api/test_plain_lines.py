"""Lines that need nothing of typer's reader are read as it reads them, and all others by it."""

from __future__ import annotations

from typing import Any

import pytest

from ..support.command_line import main, plain_arguments, run
from ..support.inner import place_of

LEAST = ["a.parquet", "--time", "t", "--window", "1 hour", "--agg", "n=count"]
PLAIN: dict[str, list[str]] = {
    "least": LEAST,
    "several": [*LEAST, "--agg", "s=sum:x", "b.parquet", "--by", "k", "--by=l,m", "-"],
    "equals": [
        "a",
        "--time=t",
        "--window=session:30 minutes",
        "--agg=p=quantile:x:q=0.5",
        "--offset=-1 hour",
        "--out=-",
    ],
    "flags": [*LEAST, "--explain", "--no-replace", "--preview", "007", "--engine", "local", "--gaps", "allow"],
    "enums": [*LEAST, "--closed", "right", "--empty", "emit", "--null-time", "drop", "--combine", "driver"],
    "twice": [*LEAST, "--window", "2 hours", "--format=csv", "--out-format", "json", "--preview=1", "--preview", "2"],
    "empty": ["", "--time", "", "--window", "", "--agg", "", "--timezone", "", "--every="],
    "unicode": [
        "ä b.csv",
        "--time",
        "zeit é",
        "--window",
        "1 hour",
        "--agg",
        "n=count",
        "--until",
        "bis",
        "--master=x",
    ],
}
OTHERS: dict[str, list[str]] = {
    "nothing": [],
    "help": [*LEAST, "--help"],
    "unknown": [*LEAST, "--widow", "x"],
    "short": [*LEAST, "-x"],
    "no value": [*LEAST, "--out"],
    "an option for a value": [*LEAST, "--out", "--explain"],
    "no time": LEAST[:1] + LEAST[3:],
    "no events": LEAST[1:],
    "no such word": [*LEAST, "--closed", "both"],
    "no number": [*LEAST, "--preview", "few"],
    "too small": [*LEAST, "--preview", "-1"],
    "a flag with a value": [*LEAST, "--explain=yes"],
    "two dashes": [*LEAST, "--", "--b.parquet"],
}


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What jobs are started with."""
    found: list[Any] = []
    monkeypatch.setattr(*place_of("start of a run"), lambda self: found.append(self))
    return found


@pytest.mark.parametrize("line", PLAIN)
def test_as_typer_reads_them(line: str, jobs: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain_arguments(run, PLAIN[line]) is not None
    assert main(["run", *PLAIN[line]]) == 0
    monkeypatch.setattr(*place_of("plain arguments"), lambda *given: None)
    assert main(["run", *PLAIN[line]]) == 0
    mine, theirs = jobs
    assert vars(mine) == vars(theirs)


@pytest.mark.parametrize("line", OTHERS)
def test_what_typer_has_an_answer_to(line: str) -> None:
    assert plain_arguments(run, OTHERS[line]) is None


def test_completion_is_typers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_FRAMEFOLD_COMPLETE", "complete_bash")
    assert plain_arguments(run, LEAST) is None
