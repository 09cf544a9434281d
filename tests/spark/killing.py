"""Programs with a stream, killed with -9 at random and at chosen points, until they have been killed often enough."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import framefold as ff

from ..support.stream_source import MINUTE, WINDOWS
from ..support.stream_source import expected as expected_of
from .kills.sitecustomize import IN_DRIVER, IN_MOVES, IN_MOVING_TASKS, IN_TASKS, POINTS, members

PROGRAM = Path(__file__).parent / "kills" / "program.py"
FEWEST = 3
"""Kills, however long they take."""

MOST = 12
"""Workers of a program that are killed before all of it is, or executors before it is let go on."""

FILES = {"reading is planned": "checkpoint/offsets", "state is written": "checkpoint/state/0/0"}
"""Where a new file says that a micro-batch has come to a point: then all is killed from outside."""

FILES_AFTER = {"the sink has committed": "out/_spark_metadata", "the micro-batch is committed": "checkpoint/commits"}


def events(number: int) -> pa.Table:
    """The events of a micro-batch: of an hour, which begins ten minutes before the end of the one before."""
    rng = np.random.default_rng(number)
    times = np.sort(rng.integers(50 * number * MINUTE, (50 * number + 60) * MINUTE, 300))
    columns = {"time": pa.array(times).cast(pa.timestamp("us", tz="UTC")), "key": rng.choice(list("abcdefg"), 300)}
    return pa.table(columns | {"x": rng.normal(0, 1, 300)})


def expected(batches: int) -> pa.Table:
    """The batch's windows that the watermark has closed after so many micro-batches."""
    return expected_of(WINDOWS["sliding"], [*map(events, range(batches))], {"n": ff.Count(), "s": ff.Sum("x")})


@dataclass
class Killed:
    """A program, run again and again on one checkpoint.

    Parameters
    ----------
    sink
        As the program knows it.
    folder
        For its input, output, checkpoint and log.
    environment
        Settings that it needs; ``KILL_PATH`` is where its PySpark is, if not that of the tests.
    wanted
        How many kills; ``FRAMEFOLD_KILLS`` in the environment says otherwise.
    """

    sink: str
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    wanted: int = 100
    batches: int = 0
    kills: Counter[str] = field(default_factory=Counter)

    def add_until(self, batches: int) -> None:
        """Write input, a file for each micro-batch."""
        (self.folder / "in").mkdir(exist_ok=True)
        for number in range(self.batches, batches):
            path = self.folder / "in" / f"{number}.parquet"
            pq.write_table(events(number), self.folder / "part")
            os.utime(self.folder / "part", (1_000_000_000 + number, 1_000_000_000 + number))
            (self.folder / "part").rename(path)
        self.batches = max(self.batches, batches)

    def points(self) -> list[tuple[str, str]]:
        """Who is killed, and where; chance goes round them."""
        if self.sink.endswith("at rest"):
            found = [("worker", point) for point in IN_TASKS]
            found += [("all", point) for point in [*IN_TASKS, *IN_DRIVER, "reading is planned", "any time"]]
            return [*found, ("all", "the micro-batch is committed")]
        if self.sink == "moved":
            found = [("all", point) for point in [*IN_MOVES, *IN_MOVING_TASKS, "any time", "any time"]]
            return [*found, *(("worker", point) for point in IN_MOVING_TASKS)]
        found = [(who, point) for who in ("worker", "all") for point in POINTS]
        found += [("all", point) for point in FILES | FILES_AFTER if self.sink == "parquet" or "sink" not in point]
        if self.sink == "postgresql":
            found += [("all", "a transaction is open"), ("all", "a transaction is committed")]
        if "KILL_MASTER" in self.environment:
            return [("executor", "any time")]
        return [*found, ("all", "any time"), ("all", "any time")]

    def until_killed(self, seconds: float) -> None:
        """Run the program until it has been killed as often as is wanted, or time is up; then to its end."""
        wanted = int(os.environ.get("FRAMEFOLD_KILLS") or self.wanted)
        end = time.monotonic() + float(os.environ.get("FRAMEFOLD_KILLS_SECONDS") or seconds)
        chance = random.Random(7)
        rounds = iter(self.rounds(chance))
        while (killed := self.kills.total()) < wanted and (time.monotonic() < end or killed < FEWEST):
            if self.sink != "kafka":
                self.add_until(self.committed() + 12)
            self.run(*next(rounds), chance)
        # A machine that is very busy is no failure: Spark gives a Python worker ten seconds to start.
        assert any(self.run("", "", chance) for _ in range(3)), self.said()
        print(f"{self.kills.total()} kills, {self.batches} micro-batches: {dict(sorted(self.kills.items()))}")

    def rounds(self, chance: random.Random) -> Iterator[tuple[str, str]]:
        while True:
            points = self.points()
            chance.shuffle(points)
            yield from points

    def committed(self) -> int:
        """How many micro-batches are."""
        return max((int(path.name) + 1 for path in self.folder.glob("checkpoint*/commits/[0-9]*")), default=0)

    def said(self) -> str:
        return (self.folder / "log").read_text()[-5000:]

    def run(self, who: str, at: str, chance: random.Random) -> bool:
        """Run the program, killed as is said, if at all; whether it came to its end."""
        log = self.folder / "kills"
        log.write_text("")
        odds = "0.5" if self.sink == "moved" else "0.2" if who == "worker" else "0.15"
        folders = [str(PROGRAM.parent), *filter(None, [self.environment.get("KILL_PATH")])]
        path = {"PYTHONPATH": os.pathsep.join(folders), "PYTHONUNBUFFERED": "1"}
        asked = {"KILL_WHO": who, "KILL_AT": at, "KILL_ODDS": odds, "KILL_LOG": str(log)}
        environment = {**os.environ, **self.environment, **path, **asked}
        command = [sys.executable, str(PROGRAM), self.sink, str(self.folder)]
        with (self.folder / "log").open("ab") as said:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=said, env=environment, start_new_session=True
            )
        try:
            assert process.stdout is not None
            while (line := process.stdout.readline()).strip() not in (b"started", b""):
                pass
            if not line and not log.read_text():
                raise AssertionError(self.said())
            places = FILES | FILES_AFTER
            if who == "executor":
                self.kill_executors(process, log, chance)
            elif at == "any time":
                time.sleep(chance.uniform(0, 12))
            elif at in places:
                self.await_file(process, self.folder / places[at], chance.randrange(1, 5))
            elif who == "worker":
                while process.poll() is None and len(log.read_text().splitlines()) < MOST:
                    time.sleep(0.1)
            outside = at in places or at == "any time" or who == "worker"
            if outside and who != "executor" and process.poll() is None:
                with log.open("a") as lines:
                    lines.write(f"all: {'any time' if who == 'worker' else at}\n")
                kill(process.pid)
            ended = b"done" in process.stdout.read()
            process.wait()
        finally:
            kill(process.pid)
        self.kills.update(log.read_text().splitlines())
        (self.folder / "all kills").write_text(f"{time.ctime()}: {self.committed()} committed, {dict(self.kills)}\n")
        return ended

    def kill_executors(self, process: subprocess.Popen[bytes], log: Path, chance: random.Random) -> None:
        """One at a time with its Python workers, each some seconds after another has come; the driver lives on."""
        while process.poll() is None and len(log.read_text().splitlines()) < MOST:
            executors = members(process.pid, "CoarseGrainedExecutorBackend")
            time.sleep(chance.uniform(1, 8))
            if executors and process.poll() is None:
                with log.open("a") as lines:
                    lines.write("executor: any time\n")
                for each in below(chance.choice(executors)):
                    with suppress(ProcessLookupError):
                        os.kill(each, signal.SIGKILL)

    def await_file(self, process: subprocess.Popen[bytes], folder: Path, times: int) -> None:
        """Wait until so many new files have come into a folder, or the program has ended."""
        known: set[str] = {path.name for path in folder.glob("[0-9]*")}
        while times and process.poll() is None:
            found = {path.name for path in folder.glob("[0-9]*")}
            if found - known:
                times, known = times - 1, known | found
            time.sleep(0.001)


def below(process: int) -> list[int]:
    """A process, and those that it has started: of an executor its Python workers."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()[1])
    found = [process]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def kill(session: int) -> None:
    """All processes of a session."""
    for process in members(session):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
