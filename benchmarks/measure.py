"""Runs a case: every contender first for its result, which is compared, then all in rounds for the time."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from .arena import Arena
from .case import Case, Point
from .child import Failure
from .compare import compare
from .contestants import LEAVES_OUT, PEERS, ours
from .figures import number
from .jobs import Job
from .rounds import Run, groups, rounds

WARM_UPS = 10
"""Untimed runs of each contender at each point after the one that is checked, at most: a JVM compiles what runs often,
and does so beside what runs meanwhile."""
SHORT = 3.0
"""Seconds; what takes longer needs no warming up, and what has run for so long in all has been warmed up."""
STARTING = 20.0
"""Seconds; a first run that takes no longer may be one that starts things, and says little of the next one."""
IDLE = 60.0
"""Seconds after which Spark ends Python workers without work; the next run starts new ones, as a first one does."""
WAKE_UPS = 3
"""Untimed runs after that, at most: the first starts workers, the next ones find them."""


def job_of(point: Point, folder: Path) -> Job:
    """The job of a point, its events made."""
    return Job(path=str(point.data.path(folder)), csv=point.data.csv(folder), **point.job)


@dataclass
class Running:
    """A case while it runs.

    Attributes
    ----------
    found
        What is known of each contender at each point, as the results have it.
    took
        The seconds of the last run of those that can be timed.
    ended
        When each contender's last run did.
    """

    case: Case
    arena: Arena
    jobs: dict[float, Job]
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    sizes: dict[float, int] = field(default_factory=dict)
    took: dict[Run, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)

    def first(self, point: Point) -> None:
        """Everybody's first run at a point, whether their results are ours, and runs that warm up."""
        results = self.arena.folder / "results"
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir(parents=True)
        our_own = None
        refused = {left["contender"] for left in self.left_out if left["x"] == point.x}
        for contender in self.case.taking_part(point):
            path = results / f"{contender}.parquet"
            if contender in refused:
                continue
            if not self.run((contender, point.x), path):
                self.doubt(contender, point)
                continue
            entry: dict[str, Any] = {"first": self.took[contender, point.x], "seconds": {}}
            self.found.setdefault(contender, {})[str(point.x)] = entry
            if our_own:
                entry["check"] = self.check(our_own, path, self.jobs[point.x], contender)
            elif ours(contender):
                our_own = path
                self.sizes[point.x] = ds.dataset(path).count_rows()
            self.say(point.x, contender, f"{entry['first']:8.2f} s")
            if self.case.repeats:
                self.warm((contender, point.x), WARM_UPS, STARTING)
            self.doubt(contender, point)

    def run(self, run: Run, save: Path | None = None) -> bool:
        """Run it, and note how long it took; or, where it fails, why it takes no part."""
        contender, x = run
        try:
            self.took[run] = self.arena.run(contender, self.jobs[x], save)
        except Failure as error:
            self.took.pop(run, None)
            self.leave_out(contender, x, str(error))
            return False
        self.ended[contender] = time.monotonic()
        return True

    def warm(self, run: Run, most: int, short: float = SHORT) -> list[float]:
        """Run what took less than ``short`` until it has run for long enough, or ``most`` times; what each took."""
        spent: list[float] = []
        while len(spent) < most and sum(spent) < SHORT and self.took.get(run, short) < short and self.run(run):
            spent.append(self.took[run])
            short = SHORT
        return spent

    def wake(self, run: Run) -> None:
        """Warm up what has idled for long, so that no other's time is in its own; and note what its first run took."""
        contender, x = run
        idle = time.monotonic() - self.ended.get(contender, time.monotonic())
        if idle > IDLE and (spent := self.warm(run, WAKE_UPS)):
            self.found[contender][str(x)].setdefault("after_idling", []).append(round(spent[0], 5))

    def check(self, our_own: Path, path: Path, job: Job, contender: str) -> dict[str, Any]:
        """Compare a result with ours, and remove it."""
        found = compare(our_own, path, job)
        wrong = found.wrong(contender in LEAVES_OUT)
        if wrong:
            self.arena.say(f"WRONG  {contender}: {found}")
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        return found.to_dict() | {"wrong": wrong}

    def label(self, x: float) -> str:
        """What a point is called."""
        return next(point.label for point in self.case.points if point.x == x)

    def say(self, x: float, contender: str, what: str) -> None:
        """A line about a contender at a point."""
        self.arena.say(f"{self.case.name:15s} {self.label(x) or number(x):>20s}  {contender:36s} {what}")

    def leave_out(self, contender: str, x: float, reason: str) -> None:
        """Note that a contender takes no part at a point, and why."""
        self.left_out.append({"contender": contender, "x": x, "label": self.label(x), "reason": reason})
        self.say(x, contender, reason)

    def doubt(self, contender: str, point: Point) -> None:
        """A peer that takes too long at a point, or fails there, takes no part in those after it. We always do."""
        seconds = self.took.get((contender, point.x))
        if ours(contender) or not self.case.axis or (seconds is not None and seconds <= self.case.patience):
            return
        why = f"took {seconds:.0f} s at {number(point.x)}" if seconds is not None else f"failed at {number(point.x)}"
        points = self.case.points
        for later in points[points.index(point) + 1 :]:
            if contender in self.case.taking_part(later):
                self.leave_out(contender, later.x, why)

    def time(self, seconds: float) -> None:
        """All in rounds, for ``seconds`` if one round of each does not take longer."""
        todo = groups(self.case, self.took)
        costs = [sum(self.took[run] for run in group.runs) for group in todo]
        many = rounds(costs, seconds, self.case.repeats)
        for turn in range(max(many, default=0)):
            for group, most in zip(todo, many, strict=True):
                for contender, x in group.order(turn) if turn < most else ():
                    self.wake((contender, x))
                    if (contender, x) in self.took and self.run((contender, x)):
                        taken = self.found[contender][str(x)]["seconds"]
                        taken[f"{group.name}, {turn + 1}"] = round(self.took[contender, x], 5)
            self.arena.say(f"{self.case.name:15s} round {turn + 1}")

    def memory(self) -> None:
        """How much memory our ways hold at most, each in a new process."""
        for x in self.case.memory:
            for contender in filter(ours, self.case.contenders):
                if (contender, x) in self.took:
                    held = self.arena.memory(contender, self.jobs[x])
                    self.found[contender][str(x)]["memory"] = held
                    self.say(x, contender, ", ".join(f"{which} {most >> 20} MiB" for which, most in held.items()))


def measure(case: Case, arena: Arena) -> dict[str, Any]:
    """Run a case.

    Returns
    -------
    dict
        The case as JSON has it: points, what each contender took at each (by the round, so that what two have of one
        round is a pair), whether its result was ours, and who was left out.
    """
    began = time.monotonic()
    data = arena.folder / "data"
    arena.start(dict.fromkeys(contender.split(".")[0] for contender in case.contenders))
    running = Running(case, arena, {point.x: job_of(point, data) for point in case.points})
    for point in case.points:
        running.first(point)
    if case.repeats:
        running.memory()
        running.time(case.box - (time.monotonic() - began))
    arena.close(module for module, peer in PEERS.items() if peer.extra)  # these take part in few cases
    points = [
        {"x": point.x, "label": point.label, "events": point.data.rows, "windows": running.sizes.get(point.x)}
        for point in case.points
    ]
    return {
        "name": case.name,
        "title": case.title,
        "axis": case.axis,
        "about": case.about,
        "points": points,
        "found": running.found,
        "left_out": running.left_out,
    }
