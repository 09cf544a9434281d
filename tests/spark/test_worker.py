"""Workers are used for one task after another."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..support.programs import WITH_SUPPORT

ASIDE = (
    WITH_SUPPORT
    + """
import gc
import weakref
from tests.support.sessions import settle

class Knot:
    pass

gc.disable()
knot = Knot()
knot.itself = knot
gone = weakref.ref(knot)
del knot
settle()
kept = gc.get_freeze_count()
settle()
print(gone() is None, kept > 1000, gc.get_freeze_count() == kept)
later = Knot()
later.itself = later
gone = weakref.ref(later)
del later
gc.collect()
print(gone() is None)
"""
)


def test_what_stays_is_set_aside_once_and_garbage_is_found_before_and_after() -> None:
    done = subprocess.run([sys.executable, "-c", ASIDE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 4


# What the daemon runs in a worker, in place of Spark's: a byte is a task, at the end of which the worker settles.
TASKS = (
    WITH_SUPPORT
    + """
from tests.support.sessions import settle
from pyspark import worker

def main(infile, outfile):
    if infile.peek(1)[:1] != b"t":
        worker.main(infile, outfile)
        return
    infile.read(1)
    settle()
    outfile.write(b"done")
    outfile.flush()
"""
)


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("raising", [{}, {"PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1"}])
def test_an_idle_worker_ends_without_a_word(raising: dict[str, str], tmp_path: Path) -> None:
    """Once Spark has closed its socket, as at the end of a session and after a minute; the daemon is Spark's own."""
    pytest.importorskip("pyspark", minversion="4.1")  # earlier ones know no sockets of this machine
    (tmp_path / "pyspark_tasks.py").write_text(TASKS)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    sockets = {"PYTHON_UNIX_DOMAIN_ENABLED": "true", "PYTHON_WORKER_FACTORY_SOCK_DIR": str(tmp_path)}
    environment = os.environ | sockets | raising | {"SPARK_REUSE_WORKER": "1", "PYTHONPATH": path}
    command = [sys.executable, "-m", "pyspark.daemon", "pyspark_tasks"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment) as daemon:
        assert daemon.stdout is not None
        with socket.socket(socket.AF_UNIX) as spark:
            spark.connect(daemon.stdout.read(*struct.unpack("!i", daemon.stdout.read(4))))
            (worker,) = struct.unpack("!i", spark.recv(4))
            for _ in range(2):
                spark.sendall(b"t")
                assert spark.recv(4, socket.MSG_WAITALL) == b"done"
        deadline = time.monotonic() + 30
        while runs(worker) and time.monotonic() < deadline:  # it ends by itself: the daemon would kill it
            time.sleep(0.01)
        assert not runs(worker)
        assert daemon.communicate(timeout=30)[1] == b""
