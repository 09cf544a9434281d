"""The memory of what needs all values of a window: beside the events, in how many times the bytes of the values.

``python -m benchmarks.holistic_memory`` prints the table as Markdown: each query has a process of its own, in which the
events are there already. A result is the user's, so what it takes is said apart. Only Linux says what a process took at
most. ``python -m benchmarks.run --cases holistic`` writes it into the report.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import framefold as ff

from .report import table

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
ROWS = 10_000_000

OPERATIONS = {
    "Median": ff.Median("x"),
    "Quantile(0.9)": ff.Quantile("x", 0.9),
    "CountDistinct": ff.CountDistinct("i"),
    "Mode": ff.Mode("i"),
    "TopN(3)": ff.TopN("x", 3),
    "LastN(3)": ff.LastN("x", 3),
    "Sum": ff.Sum("x"),
}
WINDOWS = {
    "an hour every minute": ff.sliding(3600, every=60),
    "tumbling hours": ff.tumbling(3600),
    "the hour before each event": ff.around(time=(-3600, 0)),
    "the last 1,000 rows": ff.last_rows(1000),
}


def taken(name: str) -> float:
    """The MiB of this process that a line of its status says."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
    return int(lines[name].split()[0]) / 1024


def measured(operation: str, window: str, rows: int) -> tuple[float, float]:
    """The MiB at most beyond the events, one of one key each second, and the MiB of the result."""
    rng = np.random.default_rng(0)
    data = pa.table({"t": np.arange(rows), "x": rng.normal(size=rows), "i": rng.integers(0, 1000, rows)})
    ff.events(data[:1000], time="t").window(WINDOWS[window]).aggregate(r=OPERATIONS[operation])  # imports
    before = taken("VmRSS")
    CLEAR.write_text("5")  # what was taken at most begins anew
    found = ff.events(data, time="t").window(WINDOWS[window]).aggregate(r=OPERATIONS[operation])
    return taken("VmHWM") - before, found.nbytes / 2**20


def tables(rows: int = ROWS) -> dict[str, list[str]]:
    """That of the report."""
    lines, values = [], rows * 8 / 2**20
    for window in WINDOWS:
        for operation in OPERATIONS:
            command = [sys.executable, "-m", __spec__.name, "--one", operation, window, "--rows", str(rows)]
            found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            most, result = map(float, found.split())
            lines.append([operation, window, f"{most:,.0f}", f"{result:,.0f}", f"{(most - result) / values:.1f}"])
            print(" ".join(lines[-1]), file=sys.stderr, flush=True)
    head = ["operation", "windows", "MiB at most", "of these the result", "the others in times the values"]
    return {f"Holistic, memory beyond the events: {rows:,} values of one key, {values:,.0f} MiB": table(head, lines, 2)}


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--one", nargs=2, help="an operation and its windows, in this process")
    asked = parser.parse_args()
    if asked.one:
        print(*measured(*asked.one, asked.rows))
        return
    for title, lines in tables(asked.rows).items():
        print("\n".join([f"## {title}", "", *lines, ""]))


if __name__ == "__main__":
    main()
