"""Does the gate see every test in some commit?"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..support.shares import in_share, number_of

ROOT = Path(__file__).parents[2]
RARE = ("tests/stored/test_kills.py", "tests/stored/test_upsert.py")
COMMITS = [hashlib.sha1(str(number).encode()).hexdigest() for number in range(40)]


def collected(*words: str, **variables: str) -> str:
    """Return what pytest prints of the slow tests that a run with these variables takes."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "FRAMEFOLD"))}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", "-m", "slow", *words, *RARE]
    return subprocess.run(
        command, cwd=ROOT, env=environment | variables, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("share", [3, 4, 8, 10, 20])
def test_as_many_salts_as_shares_see_each_test_once(share: int) -> None:
    for number in range(50):
        seen = [salt for salt in range(share) if in_share(f"tests/test_{number}.py::test", share, str(salt))]
        assert len(seen) == 1


def test_forty_commits_see_each_quarter() -> None:
    assert {number_of(commit) % 4 for commit in COMMITS} == {0, 1, 2, 3}
    assert {number_of(commit) % 3 for commit in COMMITS} == {0, 1, 2}  # faults, kubernetes, flink


def test_a_run_takes_the_share_of_its_salt_and_says_how_to_repeat_it() -> None:
    every = re.findall(r"^tests/.*::.*$", collected("-q"), re.MULTILINE)
    assert len(every) > 2
    said = collected(CI="true", FRAMEFOLD_SALT="7", FRAMEFOLD_SHARE="2")
    share = re.findall(r"<Function (.*)>", said)
    assert share == [name.split("::")[1] for name in every if in_share(name, 2, "7")]
    repeat = "FRAMEFOLD_SALT=7 FRAMEFOLD_SHARE=2, --hypothesis-seed=7"
    assert f"one test in 2; to repeat this choice: {repeat}" in said
    assert "no tests collected" in collected("-q", FRAMEFOLD_SALT="1", FRAMEFOLD_SHARE="999999")  # and is no failure


def test_each_suite_of_the_gate_is_a_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    rotating = re.search(r"set -- (.*); shift \$\$\(\(.* % (\d)\)\)", makefile)
    assert rotating is not None
    suites = rotating[1].split()
    assert len(suites) == int(rotating[2])
    assert all(re.search(rf"^{suite}:", makefile, re.MULTILINE) for suite in suites)


def test_the_gate_lists_its_steps() -> None:
    program = subprocess.run([ROOT / ".ci" / "run", "--list"], capture_output=True, text=True, check=True)
    script = (ROOT / ".ci" / "run").read_text()
    steps = re.search(r"^STEPS=\((.*)\)$", script, re.MULTILINE)
    assert steps is not None
    assert [line.split(":")[0] for line in program.stdout.splitlines()] == steps[1].split()
    refused = subprocess.run([ROOT / ".ci" / "run", "nothing"], capture_output=True, text=True, check=False)
    assert (refused.returncode, "no step is called nothing" in refused.stderr) == (2, True)
