"""Runs a case: every contender first for its result, which is compared, then all in turns for the time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from .case import Case, Point
from .child import Child, Failure
from .compare import compare
from .contestants import LEAVES_OUT, PEERS, ours
from .environments import Unavailable, python_of
from .figures import number
from .jobs import Job

LIMIT = 240.0
"""Seconds after which a run is ended."""
START_LIMIT = 120.0


@dataclass
class Arena:
    """The processes of all peers, each started when it is first needed.

    Parameters
    ----------
    folder
        For events, results and logs.
    say
        Takes a line about how things go.
    """

    folder: Path
    say: Callable[[str], None] = print
    children: dict[str, Child] = field(default_factory=dict)
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)

    def child(self, module: str) -> Child:
        """The process of a peer, started anew where the last one has ended."""
        self.start([module])
        if module in self.unavailable:
            raise Failure(self.unavailable[module])
        return self.children[module]

    def start(self, modules: Iterable[str]) -> None:
        """Start the processes of some peers, side by side, and note what they run; or why one cannot."""
        starting = {}
        for module in modules:
            if module in self.unavailable or (module in self.children and self.children[module].alive):
                continue
            try:
                starting[module] = Child(module, python_of(PEERS[module].extra), self.folder / f"{module}.log")
                starting[module].send(do="versions")
            except (Unavailable, Failure) as error:
                self.refuse(module, error)
        for module, child in starting.items():
            try:
                self.versions[module] = child.receive(START_LIMIT)["versions"]
                self.children[module] = child
            except Failure as error:
                self.refuse(module, error)

    def refuse(self, module: str, error: Exception) -> None:
        """Note that a peer takes no part at all."""
        self.unavailable[module] = str(error)
        self.say(f"{module} takes no part: {error}")

    def run(self, contender: str, job: Job, save: Path | None = None) -> dict[str, Any]:
        """Run a job once."""
        module, way = contender.split(".")
        asked = {"do": "run", "way": way, "job": job.to_json(), "save": str(save) if save else ""}
        return self.child(module).ask(LIMIT, **asked)

    def close(self, modules: Iterable[str] | None = None) -> None:
        """End the processes of some peers, or of all."""
        for module in list(self.children if modules is None else modules):
            if (child := self.children.pop(module, None)) and child.alive:
                child.close()


def job_of(point: Point, folder: Path) -> Job:
    """The job of a point, its events made."""
    return Job(path=str(point.data.path(folder)), csv=point.data.csv(folder), **point.job)


@dataclass
class Running:
    """A case while it runs."""

    case: Case
    arena: Arena
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    sizes: dict[float, int] = field(default_factory=dict)
    out: set[tuple[str, float]] = field(default_factory=set)

    def first(self, point: Point, job: Job) -> None:
        """Everybody's first run at a point, and whether their results are ours."""
        results = self.arena.folder / "results"
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir(parents=True)
        our_own = None
        for contender in self.case.taking_part(point):
            if (contender, point.x) in self.out:
                continue
            path = results / f"{contender}.parquet"
            try:
                said = self.arena.run(contender, job, path)
            except Failure as error:
                self.leave_out(contender, point, str(error))
                continue
            entry = {"first": said["seconds"], "seconds": [], "peaks": []}
            self.found.setdefault(contender, {})[str(point.x)] = entry
            if our_own:
                entry["check"] = self.check(our_own, path, job, contender)
            elif ours(contender):
                our_own = path
                self.sizes[point.x] = ds.dataset(path).count_rows()
            self.say(point, contender, f"{said['seconds']:8.2f} s")
            if said["seconds"] > self.case.patience and not ours(contender):
                self.doubt(contender, point, job)

    def check(self, our_own: Path, path: Path, job: Job, contender: str) -> dict[str, Any]:
        """Compare a result with ours, and remove it."""
        comparison = compare(our_own, path, job)
        missing = 0 if contender in LEAVES_OUT else comparison.missing
        wrong = bool(comparison.differing or comparison.added or missing)
        if wrong:
            self.arena.say(f"WRONG  {contender}: {comparison}")
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        return comparison.to_dict() | {"wrong": wrong}

    def say(self, point: Point, contender: str, what: str) -> None:
        """A line about a contender at a point."""
        self.arena.say(f"{self.case.name:15s} {point.label or number(point.x):>20s}  {contender:36s} {what}")

    def leave_out(self, contender: str, point: Point, reason: str) -> None:
        """Note that a contender takes no part at a point, and why."""
        self.out.add((contender, point.x))
        self.left_out.append({"contender": contender, "x": point.x, "label": point.label, "reason": reason})
        self.say(point, contender, reason)

    def doubt(self, contender: str, point: Point, job: Job) -> None:
        """A peer that takes too long at a point, a second time too, takes no part in those after it."""
        points = self.case.points
        later = [each for each in points[points.index(point) + 1 :] if contender in self.case.taking_part(each)]
        if not later or not self.case.axis:
            return
        try:
            seconds = self.arena.run(contender, job)["seconds"]
        except Failure as error:
            self.leave_out(contender, point, str(error))
            seconds = LIMIT
        for each in later if seconds > self.case.patience else ():
            self.leave_out(contender, each, f"took {seconds:.0f} s at {number(point.x)}")

    def round(self, turn: int, jobs: dict[float, Job]) -> None:
        """Everybody once at every point, in turns: there and back."""
        for point in self.case.points:
            turns = self.case.taking_part(point)
            for contender in reversed(turns) if turn % 2 else turns:
                entry = self.found.get(contender, {}).get(str(point.x))
                if entry is None or (contender, point.x) in self.out or turn >= self.case.rounds(contender):
                    continue
                if turn and (turn + 1) * min(entry["first"], *entry["seconds"]) > self.case.budget:
                    continue
                try:
                    said = self.arena.run(contender, jobs[point.x])
                except Failure as error:
                    self.leave_out(contender, point, str(error))
                    continue
                entry["seconds"].append(said["seconds"])
                entry["peaks"].append(said["peaks"])


def measure(case: Case, arena: Arena) -> dict[str, Any]:
    """Run a case.

    Returns
    -------
    dict
        The case as JSON has it: points, what each contender took at each (in the order of the rounds, so that equal
        places are a pair), whether its result was ours, and who was left out.
    """
    data = arena.folder / "data"
    arena.start(dict.fromkeys(contender.split(".")[0] for contender in case.contenders))
    running = Running(case, arena)
    jobs = {}
    for point in case.points:
        jobs[point.x] = job_of(point, data)
        running.first(point, jobs[point.x])
    began = time.monotonic()
    for turn in range(case.repeats):
        so_far = time.monotonic() - began
        if turn and so_far * (turn + 1) / turn > case.box:
            break
        running.round(turn, jobs)
        arena.say(f"{case.name:15s} round {turn + 1} of {case.repeats}")
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
