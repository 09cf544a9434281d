"""Writers that are killed anywhere leave a whole commit or none, and readers beside them see one or the other."""

from __future__ import annotations

import random
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .killing import WINDOWS, append, at, coarsen, compact, many, refresh, roll_up, run, started

KILLS = {"parquet": (60, 40), "delta": (20, 10)}
"""At chosen points, and at random ones."""


def seen(path: str) -> tuple[list[str], list[Any]]:
    """The runs that are in, and the windows over them."""
    stored = at(path)
    runs = stored.runs()["run"].to_pylist()
    return sorted(runs), stored.window(WINDOWS).aggregate().to_pylist()


class Reader(threading.Thread):
    """Reads windows all the time; each must be what the table was before some change, or after it."""

    def __init__(self, path: str, first: list[Any]) -> None:
        super().__init__(daemon=True)
        self.path, self.allowed, self.wrong, self.read, self.over = path, [first], [], 0, False

    def run(self) -> None:
        while not self.over:
            try:
                before = list(self.allowed)
                found = at(self.path).window(WINDOWS).aggregate().to_pylist()
                if found not in [*before, *self.allowed]:
                    self.wrong.append(found)
            except Exception as error:
                self.wrong.append(error)
            self.read += 1
            time.sleep(0.01)


CHANGES: list[Callable[[str, int], None]] = [append, compact, roll_up, refresh, append, coarsen]


@pytest.mark.slow
@pytest.mark.parametrize("format", KILLS)
def test_kills_leave_a_commit_or_the_other(format: str, tmp_path: Path) -> None:
    tmp_path /= format
    chosen, at_random = KILLS[format]
    chance, kills, rounds = random.Random(1), 0, 0
    lasts: dict[Any, float] = dict.fromkeys(CHANGES, 0.1)
    while kills < chosen + at_random:
        path = str(tmp_path / str(rounds))
        append(path, 0)
        reader = Reader(path, seen(path)[1])
        reader.start()
        for number, change in enumerate(CHANGES, 1):
            before, after = seen(path), after_it(change, path, tmp_path / "scratch", number)
            reader.allowed = [before[1], after[1]]
            for point in range(1, 100) if kills < chosen else [0] * 4:
                began = time.monotonic()
                process = started(run, change, path, number, point)
                if not point:
                    process.join(chance.random() * lasts[change] * 1.2)
                    process.kill()
                process.join(30)
                found = seen(path)
                assert found in (before, after), (change.__name__, point)
                if process.exitcode == -signal.SIGKILL:
                    kills += 1
                else:
                    assert process.exitcode == 0
                    assert found == after
                    lasts[change] = time.monotonic() - began
                    break
            change(path, number)  # what a job does that is tried again
            assert seen(path) == after
        reader.over, rounds = True, rounds + 1
        reader.join()
        assert not reader.wrong
        assert reader.read
        there = {str(each.relative_to(path)) for each in Path(path).rglob("*.parquet")}
        assert {each.path for each in at(path).table.commits.latest().files} <= there
    assert rounds


def after_it(change: Callable[[str, int], None], path: str, scratch: Path, number: int) -> tuple[list[str], list[Any]]:
    """What is there after a change that nobody disturbs, of a copy."""
    shutil.copytree(path, scratch)
    change(str(scratch), number)
    found = seen(str(scratch))
    shutil.rmtree(scratch)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("format", KILLS)
def test_several_writers_lose_nothing(format: str, tmp_path: Path) -> None:
    tmp_path /= format
    path, alone = str(tmp_path / "table"), str(tmp_path / "alone")
    writers = [started(many, path, first, 4) for first in range(4)]
    for each in writers:
        each.join(60)
        assert each.exitcode == 0
    for number in range(40):
        append(alone, number)
    assert seen(path) == seen(alone)
    assert at(path).vacuum(0) is not None
    assert seen(path) == seen(alone)
