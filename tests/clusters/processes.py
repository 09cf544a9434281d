"""Processes of a cluster on this machine, and what all tests on one ask of it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pyspark

ROOT = Path(__file__).parents[2]
BARE = ROOT / ".venv" / "bare" / "bin" / "python"
"""A Python with numpy, pandas and pyarrow, and nothing else; made by make."""

WORKERS = ROOT / ".venv" / "workers" / "bin" / "python"
"""The same with protobuf, for streams, and datasketches."""

SPARK = Path(pyspark.__file__).parent

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
"""Options of a JVM that is over before what the second compiler makes of its code is of use."""

UNSET = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "HADOOP_CONF_DIR", "YARN_CONF_DIR")


def environment(**more: str) -> dict[str, str]:
    """The variables of a machine that knows nothing of this environment."""
    return {name: value for name, value in os.environ.items() if name not in UNSET} | more


def waited_for(pattern: str, log: Path, process: subprocess.Popen[bytes], seconds: float = 300) -> re.Match[str]:
    """The first match in the log of a process; an error with the log where it ends, or takes too long, before."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found
        time.sleep(0.2)
    raise AssertionError(f"{pattern!r} is not in {log}:\n{log.read_text(errors='replace')[-3000:]}")


def lacks_framefold(python: Path) -> bool:
    """Whether a Python has neither framefold nor what it is installed with."""
    names = ("framefold", "pyspark", "cloudpickle", "typer")
    code = f"from importlib.util import find_spec; print([name for name in {names} if find_spec(name)])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, env=environment())
    return done.stdout.strip() == "[]"
