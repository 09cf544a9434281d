"""Run a command beside a server of Spark Connect: python -m tests.clusters.through_connect COMMAND.

The server is a process of its own, started as docs/connect.md says, with a Python of workers that has nothing of ours.
The command finds its address in FRAMEFOLD_REMOTE, and neither a Java nor the rest of PySpark.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..support.sessions import ensure_java
from .processes import QUICK, SPARK, WORKERS, environment, lacks_framefold

SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": QUICK,
}


def client_environment(command: str, remote: str) -> dict[str, str]:
    """The variables of a machine without a Java."""
    kept = {name: value for name, value in environment().items() if name not in ("JAVA_HOME", "VIRTUAL_ENV")}
    return kept | {"PATH": str(Path(command).parent), "FRAMEFOLD_REMOTE": remote}


@contextmanager
def server(folder: Path, *options: str, python: Path = WORKERS) -> Iterator[str]:
    """The address of a server that runs until the end, started and stopped by the scripts of Spark's package.

    Its workers run ``python``, for which a server knows no setting.
    """
    settings = SETTINGS | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    words = [word for each in settings.items() for word in ("--conf", "=".join(each))]
    variables = environment(
        PYSPARK_PYTHON=str(python), SPARK_LOCAL_IP="127.0.0.1", SPARK_LOG_DIR=str(folder), SPARK_PID_DIR=str(folder)
    )
    subprocess.run(
        [SPARK / "sbin" / "start-connect-server.sh", *options, *words], env=variables, cwd=folder, check=True
    )
    try:
        yield f"sc://127.0.0.1:{port_in(folder)}"
    finally:
        subprocess.run([SPARK / "sbin" / "stop-connect-server.sh"], env=variables, check=True)


def port_in(folder: Path, seconds: float = 300) -> str:
    """The port of a server, from its log."""
    until, log = time.monotonic() + seconds, ""
    while time.monotonic() < until:
        log = "".join(path.read_text(errors="replace") for path in folder.glob("*.out"))
        if found := re.search(r"Spark Connect server started at: \S*?:(\d+)", log):
            return found[1]
        time.sleep(0.2)
    raise AssertionError(log[-3000:])


def main(command: list[str]) -> int:
    """Run a command; its exit code."""
    assert lacks_framefold(WORKERS)
    ensure_java()
    folder = Path(tempfile.mkdtemp(prefix="connect-"))
    try:
        with server(folder, "--master", "local[2]") as remote:
            return subprocess.run(command, env=client_environment(command[0], remote), check=False).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    assert os.path.isabs(sys.argv[1])
    sys.exit(main(sys.argv[1:]))
