"""A process in which one peer lives: told by lines of JSON what to do, it answers with lines of JSON.

``python -m benchmarks.worker MODULE`` imports ``benchmarks.peers.MODULE``, of the environment it runs in. Nothing here
needs more than the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .jobs import from_json
from .peers import peer, run


def family() -> Iterator[Path]:
    """This process and all that it started, as folders of ``/proc``."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status = (process / "status").read_text()
        except OSError:  # it has ended
            continue
        parents[int(process.name)] = int(next(line[5:] for line in status.splitlines() if line.startswith("PPid:")))
    for number in parents:
        ancestor = number
        while ancestor not in (os.getpid(), 0):
            ancestor = parents.get(ancestor, 0)
        if ancestor:
            yield Path("/proc", str(number))


def memory() -> dict[str, int]:
    """The most memory held at once since the start, in bytes: by this process, and by a Python worker of its Spark.

    What the JVM holds is what it is given, so it is not among them. Only Linux says this.
    """
    found = {"process": 0, "worker": 0}
    for process in family():
        try:
            status = (process / "status").read_text()
            held = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))
            words = (process / "cmdline").read_bytes()
        except (OSError, StopIteration):
            continue
        if process.name == str(os.getpid()):
            found["process"] = held
        elif b"pyspark.daemon" in words:
            found["worker"] = max(found["worker"], held)
    return found


def answer(module: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Do what was asked for: run a job, and save its result where a path is given."""
    if asked["do"] == "versions":
        return {"versions": peer(module).versions()}
    if asked["do"] == "memory":
        return {"memory": memory()}
    job = from_json(asked["job"])
    peer(module)
    started = time.perf_counter()
    run(f"{module}.{asked['way']}", job, asked.get("save", ""))
    return {"seconds": time.perf_counter() - started}


def main() -> None:
    """Answer until there is nothing more to read. Whatever else writes to the standard output goes to the log."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            said = answer(sys.argv[1], json.loads(line))
        except Exception as error:
            traceback.print_exc()
            said = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(said), file=replies, flush=True)


if __name__ == "__main__":
    main()
