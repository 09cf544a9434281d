"""The example job through ``framefold submit``, and what the local engine gives for the same events."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import framefold as ff

from ..support.command_line import make_trips

EXAMPLES = Path(__file__).parents[2] / "examples"
JOB = EXAMPLES / "speeds.py"
SMALL = ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"]


def without_spark(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No Spark of the developer's, and a cache of its own."""
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "MASTER", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


def submit_options(master: str, settings: Mapping[str, str]) -> list[str]:
    """A master and settings as spark-submit takes them."""
    return ["--master", master, *(word for each in settings.items() for word in ("--conf", "=".join(each)))]


def submit(*arguments: object, code: int = 0, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``framefold submit`` in a process of its own, which ends with an exit code."""
    command = [sys.executable, "-m", "framefold", "submit", *map(str, arguments)]
    variables = os.environ | dict(env or {})
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=variables)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def write_trips(folder: Path, rows: int = 6_000) -> Path:
    """Trips as several row groups, so that there are several tasks."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(make_trips(rows), folder / "trips.parquet", row_group_size=-(-rows // 7))
    return folder


def rows_of(table: pa.Table) -> list[Any]:
    """Rows in the order of keys and windows; two that differ in the last bit differ."""
    floats = {name: [str(each and each.hex()) for each in table[name].to_pylist()] for name in ("pace", "middle")}
    starts = [window["start"].isoformat()[:19] for window in table["window"].to_pylist()]
    return sorted(zip(table["zone"].to_pylist(), starts, *floats.values(), table["trips"].to_pylist(), strict=True))


def expected(trips: Path) -> list[Any]:
    """The same windows by the local engine, in this process."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        from means import GeometricMean  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(EXAMPLES))
    return rows_of(
        ff.events(ff.parquet(trips), time="pickup", by="zone")
        .window(ff.sliding("1 hour", every="10 minutes"))
        .aggregate(pace=GeometricMean("speed"), middle=ff.Median("speed"), trips=ff.Count())
    )


def found(folder: Path) -> list[Any]:
    """The windows that a job has written."""
    return rows_of(pa.concat_tables(pq.read_table(each) for each in sorted(folder.glob("part-*.parquet"))))
