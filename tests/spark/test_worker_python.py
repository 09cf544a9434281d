"""Workers that run a Python which cannot run framefold's tasks: one sentence says which, and what to set."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as parquet
import pyspark
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

import framefold as ff

from ..support.command_line import own_session
from ..support.programs import run_program
from ..support.spark_parts import trouble

OF_ITS_OWN = pytest.mark.classic("the Python of its workers is that of the server")
VERSION = platform.python_version()
WANTED = (
    f"expected PYSPARK_PYTHON, or spark.pyspark.python of spark-submit, to name a Python {VERSION.rpartition('.')[0]} "
    f"with pyarrow and numpy when Spark starts; this process runs {sys.executable} (Python {VERSION})"
)

WANTED_BEHIND_CONNECT = WANTED.replace(
    "PYSPARK_PYTHON, or spark.pyspark.python of spark-submit, to name",
    "PYSPARK_PYTHON in the environment of the Spark Connect server to name",
).replace("when Spark starts", "when it starts")

# What Spark 4.3 reports, without the lines of the JVM's stack.
MISSING = """
An exception was thrown from the Python worker:
Traceback (most recent call last):
ModuleNotFoundError: No module named 'pyarrow'
"""
OTHER_VERSION = (
    "PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver: "
    "3.11, PySpark cannot run with different minor versions.\nPlease check environment variables PYSPARK_PYTHON"
)
CANNOT_RUN = """
: org.apache.spark.SparkException: Lost task 1.0 in stage 0.0 (localhost executor driver): java.io.IOException: \
Cannot run program "/no/python": error=2, No such file or directory
Caused by: java.io.IOException: error=2, No such file or directory
"""
CANNOT_RUN_JAVA_25 = 'java.io.IOException: Cannot run program "python3": Exec failed, error: 13 (Permission denied)'
NO_PYSPARK = """
org.apache.spark.SparkException:
Error from python worker:
  /usr/bin/python3: No module named pyspark
PYTHONPATH was:
  /opt/spark/jars/spark-core.jar
"""
TOO_OLD = """
org.apache.spark.SparkException:
Error from python worker:
  Traceback (most recent call last):
    File "/usr/lib/python3.8/runpy.py", line 185, in _run_module_as_main
  AttributeError: module 'importlib.resources' has no attribute 'files'
PYTHONPATH was:
  /opt/pyspark.zip
org.apache.spark.SparkException: EOFException occurred while reading the port number from pyspark.daemon's stdout.
"""
REPORTS = {
    MISSING: "a Python that lacks pyarrow",
    OTHER_VERSION: "Python 3.12, another version than this process",
    CANNOT_RUN: "/no/python, which cannot be run (No such file or directory)",
    CANNOT_RUN_JAVA_25: "python3, which cannot be run (Permission denied)",
    NO_PYSPARK: "/usr/bin/python3 that lacks pyspark",
    TOO_OLD: "Python 3.8, which does not start (AttributeError: module 'importlib.resources' has no attribute 'files')",
}

PROGRAM = """
import framefold as ff
from tests.support.sessions import ensure_java

ensure_java()
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote("local[1]").getOrCreate()
events = ff.events(spark.range(100), time="id").window(ff.tumbling(10))
assert len(events.aggregate(n=ff.Count()).collect()) == 10
try:
    events.options(accumulate="python").aggregate(n=ff.Count())
except ff.EngineError as error:
    print(error)
spark.stop()
"""


@pytest.mark.parametrize("report", list(REPORTS))
def test_what_spark_reports_is_one_sentence(report: str) -> None:
    """Without a session that could be asked: the server of a session of Connect may run anywhere."""
    error = trouble(mock.Mock(), report)
    assert isinstance(error, ff.EngineError)
    assert str(error) == f"the workers of Spark run {REPORTS[report]}; {WANTED_BEHIND_CONNECT}"


def test_a_classic_session_is_told_of_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    said = str(trouble(mock.Mock(spec=SparkSession), OTHER_VERSION))
    assert said == (
        f"the workers of Spark run python3 (Python 3.12), another version than this process; {WANTED}, which "
        "PYSPARK_DRIVER_PYTHON names where Spark starts it"
    )


@pytest.mark.parametrize("module", ["scipy", "numpydoc", "my.numpy"])
def test_what_a_users_own_code_lacks_is_not_ours(module: str) -> None:
    assert trouble(mock.Mock(), f"ModuleNotFoundError: No module named '{module}'") is None


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with no packages but PySpark, which is in the zip that Spark brings along."""
    return environment(tmp_path_factory.mktemp("bare"))


def environment(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/*/site-packages")
    (packages / "spark.pth").write_text(str(Path(pyspark.__file__).parent / "python" / "lib" / "pyspark.zip"))
    return folder / "bin" / "python"


@pytest.fixture
def workers(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Lets the workers of the session run another Python, as PYSPARK_PYTHON does before it starts."""

    def run(python: Path) -> None:
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
        monkeypatch.setenv("PYSPARK_PYTHON", str(python))

    spark.sparkContext.setLogLevel("OFF")
    yield run
    spark.sparkContext.setLogLevel("ERROR")


def numbers(spark: SparkSession) -> Any:
    df = spark.range(100).selectExpr("id as t", "cast(id as double) as x")
    return ff.events(df, time="t").window(ff.tumbling(10))


def lacking(python: Path, packages: str, wanted: str = WANTED) -> str:
    """What is said of workers without some packages."""
    return f"the workers of Spark run {python} (Python {VERSION}), which lacks {packages}; {wanted}"


def refused(asked: Any, output: Any) -> ff.EngineError:
    """What a query of these workers raises."""
    with pytest.raises(ff.EngineError) as error:
        asked.aggregate(x=output)
    return error.value


@pytest.mark.slow
@OF_ITS_OWN
def test_workers_without_pyarrow(spark: SparkSession, workers: Any, bare: Path, tmp_path: Path) -> None:
    workers(bare)
    parquet.write_table(pa.table({"t": [1, 2], "x": [1.0, 2.0]}), tmp_path / "t.parquet")
    by_spark = numbers(spark)
    assert len(by_spark.aggregate(x=ff.Sum("x")).collect()) == 10
    files = ff.events(ff.parquet(tmp_path / "t.parquet", spark=spark), time="t").window(ff.tumbling(10))
    for asked in (by_spark.options(accumulate="python"), files):
        error = refused(asked, ff.Sum("x"))
        assert str(error) == lacking(bare, "pyarrow and numpy")
        assert "No module named 'pyarrow'" in error.__notes__[0]


@pytest.mark.slow
@OF_ITS_OWN
def test_workers_without_numpy(spark: SparkSession, workers: Any, tmp_path: Path) -> None:
    """Here framefold's own task is reached, and its sentence is in whatever Spark raises when a result is used."""
    python = environment(tmp_path / "environment")
    (packages,) = (tmp_path / "environment").glob("lib/*/site-packages")
    (packages / "pyarrow").symlink_to(Path(pa.__file__).parent)
    workers(python)
    sentence = lacking(python, "numpy")
    assert str(refused(numbers(spark).options(accumulate="python"), ff.Sum("x"))) == sentence
    lazy = numbers(spark).options(combine="executors").aggregate(x=ff.Sum("x"))
    with pytest.raises(PythonException) as raised:
        lazy.collect()
    assert sentence in str(raised.value)


@OF_ITS_OWN
@pytest.mark.usefixtures("rocksdb")
def test_workers_of_a_stream(spark: SparkSession, workers: Any, bare: Path) -> None:
    """Said before it starts: else it ends with words of Spark's that name no package."""
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    asked = ff.events(stream, time="timestamp").window(ff.tumbling("1 minute"))
    assert asked.aggregate(n=ff.Count()).isStreaming
    workers(bare)
    packages = "protobuf, pyarrow and numpy"
    said = lacking(bare, packages, WANTED.replace("pyarrow and numpy", packages))
    assert str(refused(asked, ff.Count())) == said
    workers(bare.parent / "nothing")
    with pytest.raises(ff.EngineError, match="nothing, which cannot be run"):
        asked.aggregate(n=ff.Count())


@OF_ITS_OWN
def test_workers_with_no_python_and_of_another_version(spark: SparkSession, workers: Any, tmp_path: Path) -> None:
    """The second says that it is of another version, to PySpark's own check."""
    python = tmp_path / "python"
    workers(python)
    sentence = f"the workers of Spark run {python}, which cannot be run (No such file or directory); {WANTED}"
    assert str(refused(numbers(spark), ff.CollectList("x"))) == sentence
    # The command line, which asks for the rows of a result that is lazy, says the same.
    with pytest.raises(ff.EngineError) as error, own_session("lazy", "local[2]"):
        numbers(spark).options(combine="executors").aggregate(x=ff.CollectList("x")).collect()
    assert str(error.value) == sentence
    fields = "major minor micro releaselevel serial"
    (tmp_path / "sitecustomize.py").write_text(
        "import collections, sys\n"
        f"sys.version_info = collections.namedtuple('version_info', '{fields}')(3, 99, 0, 'final', 0)\n"
    )
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    assert str(refused(numbers(spark), ff.CollectList("x"))) == (
        f"the workers of Spark run {python} (Python 3.99), another version than this process; {WANTED}, which "
        "PYSPARK_DRIVER_PYTHON names where Spark starts it"
    )


@pytest.mark.slow
def test_workers_without_pyarrow_behind_connect(tmp_path: Path, bare: Path) -> None:
    pytest.importorskip("grpc")
    done = run_program(tmp_path, PROGRAM, PYSPARK_PYTHON=str(bare))
    assert done.stdout.strip() == lacking(bare, "pyarrow and numpy", WANTED_BEHIND_CONNECT), done.stderr


@OF_ITS_OWN
@pytest.mark.usefixtures("rocksdb")
def test_workers_with_the_python_of_this_process_are_not_asked(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job, and the first worker of Python, take seconds of a processor before anything else runs."""
    here = Path(sys.executable)
    monkeypatch.setenv("PYSPARK_PYTHON", f"{here.parent}//{here.name}")  # nobody has asked by this name
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 minute")
    spark.sparkContext.setJobGroup("asked", "")
    asked = ff.events(stream, time="timestamp").window(ff.tumbling("1 minute"))
    assert asked.aggregate(n=ff.Count()).isStreaming
    assert spark.sparkContext.statusTracker().getJobIdsForGroup("asked") == []
