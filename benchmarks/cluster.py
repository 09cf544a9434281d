"""How much memory each part of a small cluster holds: a hundred million events on two executors of 2 GiB.

``python -m benchmarks.cluster`` prints a table.

Each way of a job has a Spark of its own, `local-cluster`, whose parts are processes of this machine: the driver's
Python and JVM, and for each executor a JVM and its Python workers. Their resident memory is read ten times a
second, by this process, which takes no part. Pages that processes share count in each of them. Only Linux says that.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from .child import ROOT
from .datasets import Data

MASTER = "local-cluster[2,1,2048]"
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",  # the other half of an executor's 2 GiB is for Python and what else is off the heap
    "spark.sql.shuffle.partitions": "16",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
WINDOWS = 12
"""In how many each event is."""
WAYS = {
    "files": "tasks read files and accumulate, the driver slides",
    "rows": "Spark reads, Python tasks accumulate rows, the driver slides",
    "sql": "Spark reads and accumulates, the driver slides",
    "keys": "a million keys: tasks read files and accumulate, executors slide",
}
PARTS = ("driver's Python", "driver's JVM", "an executor's JVM", "its Python workers", "an executor", "all")
LIMIT = 3600.0
"""Seconds that one way may take."""


def job(way: str, path: str) -> None:
    """Run a way in this process, and print what its results add up to."""
    from pyspark.sql import SparkSession

    import framefold as ff

    builder = SparkSession.builder.appName(f"cluster, {way}").master(MASTER)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    began = time.monotonic()
    source = ff.parquet(path, spark=spark) if way in ("files", "keys") else spark.read.parquet(path)
    options = {"rows": {"read": "spark", "accumulate": "python"}, "sql": {"read": "spark", "accumulate": "spark"}}
    windows = ff.events(source, time="t", by="k").window(ff.sliding("1 hour", every="5 minutes"))
    asked = windows.options(**options.get(way, {}))
    result = asked.aggregate(events=ff.Count(), total=ff.Sum("n"), high=ff.Max("x"))
    found = result.selectExpr("count(*)", "sum(events)", "sum(total)", "max(high)").collect()[0]
    said = {"windows": found[0], "events": found[1], "total": found[2], "high": found[3]}
    print(json.dumps(said | {"seconds": time.monotonic() - began}))
    spark.stop()


def expected(path: Path) -> dict[str, Any]:
    """What the results of all windows add up to, by Arrow."""
    found = {"events": 0, "total": 0, "high": float("-inf")}
    for batch in ds.dataset(path).to_batches(columns=["n", "x"]):
        found["events"] += WINDOWS * len(batch)
        if len(batch):
            found["total"] += WINDOWS * pc.sum(batch["n"]).as_py()
            found["high"] = max(found["high"], pc.max(batch["x"]).as_py())
    return found


def tree(root: int) -> dict[int, tuple[int, str, int]]:
    """Of a process and its descendants: the parent, the command line, and the resident bytes."""
    found: dict[int, tuple[int, str, int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((place / "stat").read_text().rsplit(")", 1)[1].split()[1])
            pages = int((place / "statm").read_text().split()[1])
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        found[int(place.name)] = parent, command, pages * os.sysconf("SC_PAGESIZE")
    ours = {root}
    while more := {process for process, (parent, *_) in found.items() if parent in ours} - ours:
        ours |= more
    return {process: found[process] for process in ours if process in found}


def held(processes: dict[int, tuple[int, str, int]], root: int) -> dict[str, int]:
    """What the parts of a cluster hold now; of executors, the one that holds most."""
    parts: dict[str, int] = defaultdict(int)
    jvms, workers = defaultdict(int), defaultdict(int)
    for process, (_, command, size) in processes.items():
        at, above = process, command
        while at != root and "CoarseGrainedExecutorBackend" not in above:
            at = processes[at][0] if at in processes else root
            above = processes[at][1] if at in processes else ""
        if at == root:
            parts["driver's Python" if process == root else "driver's JVM"] += size
        elif process == at:
            jvms[at] += size
        else:
            workers[at] += size
    parts["an executor's JVM"] = max(jvms.values(), default=0)
    parts["its Python workers"] = max(workers.values(), default=0)
    parts["an executor"] = max((size + workers[each] for each, size in jvms.items()), default=0)
    parts["all"] = sum(size for _, _, size in processes.values())
    return parts


def measured(way: str, path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """What a way says, and the most that each part held."""
    most = dict.fromkeys(PARTS, 0)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        environment = os.environ | {
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": folder,
            "SPARK_WORKER_DIR": f"{folder}/work",
            "TZ": "UTC",
        }
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.cluster", "--job", way, "--path", str(path)]
        with open(f"{folder}/said", "w+") as said, open(f"{folder}/log", "w+") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=log)
            until = time.monotonic() + LIMIT
            while process.poll() is None:
                if time.monotonic() > until:
                    process.kill()
                now = held(tree(process.pid), process.pid)
                most = {part: max(size, now.get(part, 0)) for part, size in most.items()}
                time.sleep(0.1)
            said.seek(0)
            log.seek(0)
            if process.returncode:
                sys.exit(f"{way} has failed: {log.read()[-3000:]}")
            return json.loads(said.read().splitlines()[-1]), most


def main() -> None:
    """Make events, run each way, check its results, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000, help="of the way that has many")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--folder", type=Path, default=ROOT / ".benchmarks" / "data")
    parser.add_argument("--job", choices=list(WAYS), help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        job(asked.job, asked.path)
        return
    lines = [f"| | {' | '.join(PARTS)} | seconds |", "| --- " * (len(PARTS) + 2) + "|"]
    wrong = []
    for way in asked.ways:
        path = Data(rows=asked.events, keys=asked.keys if way == "keys" else 100).path(asked.folder)
        wanted = expected(path)
        found, most = measured(way, path)
        right = wanted == {name: found[name] for name in wanted}
        wrong += [] if right else [way]
        print(
            f"{way}: {asked.events:,} events, {found['windows']:,} windows, {'right' if right else 'WRONG'}", flush=True
        )
        sizes = " | ".join(f"{most[part] >> 20:,}" for part in PARTS)
        lines.append(f"| {WAYS[way]} | {sizes} | {found['seconds']:.0f} |")
    print("The most that was held, in MiB:", *lines, sep="\n")
    if wrong:
        sys.exit(f"wrong: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
