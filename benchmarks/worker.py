"""A process in which one peer lives: told by lines of JSON what to run, it answers with lines of JSON.

``python -m benchmarks.worker MODULE`` imports ``benchmarks.peers.MODULE``, of the environment it runs in. Nothing here
needs more than the standard library.

A peer's module has ``WAYS``, from the name of a way of running a job to a function from the job to a result, lazy or
not; ``consume(result)``, which computes all of it; ``save(result, job, path)``, which writes it as Parquet with the
key columns, the window (``start`` or ``at``, in microseconds) and the outputs; and ``versions()``.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from .jobs import from_json


def family() -> dict[int, str]:
    """This process and all that it started, by number: what they were called with."""
    parents, called = {}, {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status = (process / "status").read_text()
            called[int(process.name)] = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:  # it has ended
            continue
        parents[int(process.name)] = int(next(line[5:] for line in status.splitlines() if line.startswith("PPid:")))
    found = {}
    for process, words in called.items():
        ancestor = process
        while ancestor not in (os.getpid(), 0):
            ancestor = parents.get(ancestor, 0)
        if ancestor:
            found[process] = words
    return found


def forget_peaks() -> None:
    """Let the most memory that each process held begin anew. Only Linux can."""
    for process in family():
        try:
            Path(f"/proc/{process}/clear_refs").write_text("5")
        except OSError:
            continue


def peaks() -> dict[str, int]:
    """The most memory held since then, in bytes: of this process, and of the largest Python worker of a Spark."""
    found = {"process": 0, "task": 0}
    for process, words in family().items():
        try:
            status = Path(f"/proc/{process}/status").read_text()
            held = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM:"))
        except (OSError, StopIteration):
            continue
        which = "process" if process == os.getpid() else "task" if "pyspark" in words else ""
        if which:
            found[which] = max(found[which], held)
    return found


def answer(peer: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Do what was asked for: run a job, and save its result where a path is given."""
    if asked["do"] == "versions":
        return {"versions": peer.versions()}
    job = from_json(asked["job"])
    forget_peaks()
    started = time.perf_counter()
    result = peer.WAYS[asked["way"]](job)
    if asked.get("save"):
        peer.save(result, job, asked["save"])
    else:
        peer.consume(result)
    return {"seconds": time.perf_counter() - started, "peaks": peaks()}


def main() -> None:
    """Answer until there is nothing more to read. Whatever else writes to the standard output goes to the log."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer = None
    for line in sys.stdin:
        try:
            peer = peer or importlib.import_module(f"benchmarks.peers.{sys.argv[1]}")
            said = answer(peer, json.loads(line))
        except Exception as error:
            traceback.print_exc()
            said = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(said), file=replies, flush=True)


if __name__ == "__main__":
    main()
