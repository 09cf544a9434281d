"""Lines that need nothing of typer's reader are read as it reads them, and all others by it."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from ..support.command_line import main, plain_arguments, run
from ..support.inner import place_of

LEAST = "a.parquet --time t --window '1 hour' --agg n=count"
PLAIN = [
    LEAST,
    f"{LEAST} --agg s=sum:x b.parquet --by k --by=l,m -",
    "a --time=t '--window=session:30 minutes' --agg=p=quantile:x:q=0.5 '--offset=-1 hour' --out=-",
    f"{LEAST} --explain --no-replace --preview 007 --engine local --gaps allow",
    f"{LEAST} --closed right --empty emit --null-time drop --combine driver",
    f"{LEAST} --window '2 hours' --format=csv --out-format json --preview=1 --preview 2",
    "'' --time '' --window '' --agg '' --timezone '' --every=",
    "'ä b.csv' --time 'zeit é' --window '1 hour' --agg n=count --until bis --master=x",
]
WITHOUT = "--window '1 hour' --agg n=count"
OTHERS = [
    "", f"{LEAST} --help", f"{LEAST} --widow x", f"{LEAST} -x", f"{LEAST} --out", f"{LEAST} --out --explain",
    f"a.parquet {WITHOUT}", f"--time t {WITHOUT}", f"{LEAST} --closed both", f"{LEAST} --preview few",
    f"{LEAST} --preview -1", f"{LEAST} --explain=yes", f"{LEAST} -- --b.parquet",
]  # fmt: skip
"""Help, mistakes, and what only typer knows."""


@pytest.mark.parametrize("line", PLAIN)
def test_as_typer_reads_them(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what jobs are started with."""
    words, jobs = shlex.split(line), list[Any]()
    monkeypatch.setattr(*place_of("start of a run"), lambda self: jobs.append(self))
    assert plain_arguments(run, words) is not None
    assert main(["run", *words]) == 0
    monkeypatch.setattr(*place_of("plain arguments"), lambda *given: None)
    assert main(["run", *words]) == 0
    mine, theirs = jobs
    assert vars(mine) == vars(theirs)


@pytest.mark.parametrize("line", OTHERS)
def test_what_typer_has_an_answer_to(line: str) -> None:
    assert plain_arguments(run, shlex.split(line)) is None


def test_completion_is_typers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_FRAMEFOLD_COMPLETE", "complete_bash")
    assert plain_arguments(run, shlex.split(LEAST)) is None
