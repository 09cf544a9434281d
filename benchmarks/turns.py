"""Contenders of this process in turns, their results compared first: for what is measured apart from the suite."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset as ds

from .compare import compare
from .contestants import LEAVES_OUT, TITLES
from .figures import Ratio
from .jobs import Job
from .peers import run


@dataclass
class Spent:
    """What the runs of a contender took: seconds, and seconds of this process on all cores."""

    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def check(contenders: Sequence[str], job: Job, folder: Path) -> dict[str, int]:
    """Compare the results of all with those of the first.

    Returns
    -------
    dict
        How many results each has.

    Raises
    ------
    SystemExit
        If they are not the same, but for those that a contender leaves out by its nature.
    """
    counts = {}
    for number, contender in enumerate(contenders):
        path = folder / f"result-{number}"
        run(contender, job, str(path))
        counts[contender] = ds.dataset(path).count_rows()
        found = compare(folder / "result-0", path, job)
        if found.wrong(contender in LEAVES_OUT):
            sys.exit(f"{TITLES[contender]} differs from {TITLES[contenders[0]]}: {found}")
    return counts


def in_turns(contenders: Sequence[str], job: Job, rounds: int) -> dict[str, Spent]:
    """Run all once a round, one right after the other, there and back."""
    found = {contender: Spent() for contender in contenders}
    for turn in range(rounds):
        for contender in reversed(contenders) if turn % 2 else contenders:
            seconds, processor = time.perf_counter(), time.process_time()
            run(contender, job)
            found[contender].seconds.append(time.perf_counter() - seconds)
            found[contender].processor.append(time.process_time() - processor)
    return found


def ratio(over: Spent, under: Spent) -> Ratio:
    """The time of one over that of another, in the rounds of both."""
    return Ratio(tuple(a / b for a, b in zip(over.seconds, under.seconds, strict=True)))
