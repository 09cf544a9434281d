"""The processes of all peers, started when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .child import Child, Failure
from .contestants import PEERS
from .environments import Unavailable, python_of
from .jobs import Job

LIMIT = 240.0
"""Seconds after which a run is ended."""
START_LIMIT = 120.0


@dataclass
class Arena:
    """A process for each peer, with an environment of its own where it needs one.

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

    def start(self, modules: Iterable[str]) -> None:
        """Start the processes of some peers, side by side, and note what they run; or why one cannot."""
        starting = {}
        for module in modules:
            if module in self.unavailable or (module in self.children and self.children[module].alive):
                continue
            try:
                starting[module] = self.made(module)
                starting[module].send(do="versions")
            except (Unavailable, Failure) as error:
                self.refuse(module, error)
        for module, child in starting.items():
            try:
                self.versions[module] = child.receive(START_LIMIT)["versions"]
                self.children[module] = child
            except Failure as error:
                self.refuse(module, error)

    def made(self, module: str) -> Child:
        """A new process of a peer."""
        return Child(module, python_of(PEERS[module].extra), self.folder / f"{module}.log")

    def refuse(self, module: str, error: Exception) -> None:
        """Note that a peer takes no part at all."""
        self.unavailable[module] = str(error)
        self.say(f"{module} takes no part: {error}")

    def run(self, contender: str, job: Job, save: Path | None = None) -> float:
        """Run a job once, in a new process where the last one has ended.

        Returns
        -------
        float
            Seconds.
        """
        module, way = contender.split(".")
        self.start([module])
        if module in self.unavailable:
            raise Failure(self.unavailable[module])
        asked = {"do": "run", "way": way, "job": job.to_json(), "save": str(save or "")}
        return float(self.children[module].ask(LIMIT, **asked)["seconds"])

    def memory(self, contender: str, job: Job) -> dict[str, int]:
        """Run a job once in a process of its own, in which nothing has left anything behind.

        Returns
        -------
        dict
            The most memory held at once, in bytes, of the process and of the largest Python worker of its Spark.
        """
        module, way = contender.split(".")
        child = self.made(module)
        try:
            child.ask(LIMIT, do="run", way=way, job=job.to_json())
            held: dict[str, int] = child.ask(LIMIT, do="memory")["memory"]
        finally:
            child.close()
        return held

    def close(self, modules: Iterable[str] | None = None) -> None:
        """End the processes of some peers, or of all."""
        for module in list(self.children if modules is None else modules):
            if (child := self.children.pop(module, None)) and child.alive:
                child.close()
