"""Executors that are killed, user functions that raise, drivers without room: what jobs of several JVMs do then.

`make faults`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FAULTS = Path(__file__).parents[1] / "spark" / "faults"
CLUSTER = "local-cluster[2,1,700]"
SETTINGS = [
    "spark.executor.memory=700m",
    "spark.deploy.maxExecutorRetries=-1",  # the master gives up an application that has lost ten
    "spark.shuffle.io.retryWait=1s",
    "spark.sql.shuffle.partitions=4",
    "spark.ui.enabled=false",
    "spark.log.level=OFF",
]


def told(folder: Path, program: str, *arguments: object, timeout: float) -> str:
    """What a program prints, in a session of processes of its own."""
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", FAULTS / program, *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        start_new_session=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    return done.stdout


def test_results_do_not_change_when_executors_are_killed(tmp_path: Path) -> None:
    """One in each run, at random; windows counted in rows on executors among them."""
    (tmp_path / "events").mkdir()
    runs = int(os.environ.get("FRAMEFOLD_KILLS") or 20)
    said = told(tmp_path, "killed.py", tmp_path / "events", runs, CLUSTER, *SETTINGS, timeout=1500)
    assert said.splitlines()[-1] == f"{runs} executors killed, 0 results wrong", said


def test_a_users_error_is_not_tried_again(tmp_path: Path) -> None:
    said = told(tmp_path, "raising.py", tmp_path, CLUSTER, *SETTINGS, timeout=600)
    calls = {name: (int(count), rest) for name, count, rest in re.findall(r"(\w+): (\d+) calls, (.*)", said)}
    for name in ("auto", "driver", "counted", "files"):
        assert calls[name] == (1, "the user's traceback"), said
    for name in ("lazy", "written"):  # once on each executor, at most
        assert calls[name] in [(count, "the user's traceback") for count in (1, 2)], said
    assert calls["network"] == (2, "4000 events"), said


def test_a_driver_without_room_says_so(tmp_path: Path) -> None:
    said = told(tmp_path, "memory.py", timeout=600).splitlines()
    assert "auto: 400000 windows of 2000000 events" in said
    assert any(
        each.startswith("executors merge and slide, not the driver: it cannot get all partials: ") for each in said
    )
    driver = [each for each in said if each.startswith("driver: ")]
    assert len(driver) == 2
    for each in driver:
        assert each.startswith("driver: the driver cannot get all partials (")
        assert "spark.driver.maxResultSize" in each
        assert "expected combine='executors' or 'auto', or a driver with more memory" in each
    assert said[-1] == (
        "memory: the driver has no memory left for the partials and results of this query; expected "
        "combine='executors', or a driver with more memory"
    )
