"""The other end of :mod:`benchmarks.worker`: a process that lives as long as it answers in time."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


class Failure(Exception):
    """A peer said that something went wrong, took too long, or ended."""


class Child:
    """A peer's process.

    Parameters
    ----------
    module
        The peer's module in ``benchmarks.peers``.
    python
        The interpreter of its environment.
    log
        The file that takes whatever it prints.
    """

    def __init__(self, module: str, python: Path, log: Path) -> None:
        self.module = module
        self.log = log.open("ab")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        environment |= {"PYTHONPATH": path, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
        environment |= {"TZ": "UTC", "PYTHONWARNINGS": "ignore"}
        self.process = subprocess.Popen(
            [str(python), "-m", "benchmarks.worker", module],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            start_new_session=True,
        )

    def ask(self, limit: float, **asked: Any) -> dict[str, Any]:
        """What it answers within ``limit`` seconds; it is ended where it does not."""
        self.send(**asked)
        return self.receive(limit)

    def send(self, **asked: Any) -> None:
        """Ask without waiting for the answer."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Failure("its process has ended") from error

    def receive(self, limit: float) -> dict[str, Any]:
        """The answer to what was asked first."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], limit)[0]:
            self.end()
            raise Failure(f"stopped after {limit:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            self.end()
            raise Failure("its process ended")
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise Failure(said["error"])
        return said

    @property
    def alive(self) -> bool:
        """Whether it can still be asked."""
        return self.process.poll() is None

    def close(self) -> None:
        """Let it end by itself, as there is nothing more to read."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.end()

    def end(self) -> None:
        """End it, and all of its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()
