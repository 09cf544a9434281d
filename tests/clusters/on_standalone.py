"""Jobs on a standalone master and two workers, each a process: `make standalone`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ..spark.submitting import JOB, expected, found, submit, submit_options, write_trips
from ..spark.test_connect_streams import run_streams
from ..support.command_line import main
from ..support.processes import running
from .jobs import is_bit_for_bit, options_of, run_demo, run_example, run_mishap
from .processes import BARE, QUICK, SPARK, WORKERS, environment, lacks_framefold, waited_for
from .through_connect import server

CLASS = SPARK / "bin" / "spark-class"  # the package has no start-master.sh
DAEMON = {
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_DAEMON_JAVA_OPTS": QUICK,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_HOME": str(SPARK),
    "SPARK_MASTER_OPTS": "-Dspark.worker.timeout=300",  # a busy machine
}


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master with two workers of a core each."""
    logs = tmp_path_factory.mktemp("standalone")
    with ExitStack() as stack:

        def started(name: str, *arguments: object) -> str:
            log = logs / f"{name}.log"
            command = [CLASS, *arguments, "--port", 0, "--webui-port", 0]
            process = stack.enter_context(running(command, log, environment(**DAEMON)))
            pattern = r"Starting Spark master at (\S+)" if name == "master" else r"(Successfully registered)"
            return waited_for(pattern, log, process)[1]

        address = started("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1")
        for number in range(2):
            # Two hosts, for Spark speculates on another host only.
            place = ["--host", f"127.0.0.{number + 2}", "--work-dir", logs / f"work{number}"]
            size = ["--cores", 1, "--memory", "1g"]
            started(f"worker{number}", "org.apache.spark.deploy.worker.Worker", *place, *size, address)
        yield address


@pytest.fixture
def options(master: str) -> list[str]:
    """Of spark-submit: two executors, one on each worker, whose Python lacks all that is ours."""
    settings = {
        "spark.executor.cores": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.pyspark.python": str(BARE),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    }
    return options_of(master, settings)


def test_an_aggregate_from_a_module_beside_the_job(options: list[str], tmp_path: Path) -> None:
    run_example(tmp_path, *options)
    assert set(re.findall(r"Registered executor .* with ID (\d+)", (tmp_path / "log").read_text())) == {"0", "1"}


def test_the_demo(options: list[str], tmp_path: Path) -> None:
    said = run_demo(tmp_path, *options)
    assert "started on spark://127.0.0.1:" in said
    assert is_bit_for_bit(said)


def test_through_a_connect_server(options: list[str], tmp_path: Path) -> None:
    """The job and the demo as they are, from processes that know only an address."""
    with server(tmp_path, *options, python=BARE) as address:
        remote = ["--remote", address]
        printed, _ = run_example(tmp_path, *remote)
        result = tmp_path / "result"
        assert printed.endswith(f"{len(found(result))} windows in {result}\n")
        said = run_demo(tmp_path, *remote)
        assert "started on spark://127.0.0.1:" in said
        assert is_bit_for_bit(said)


def test_streams_through_a_connect_server(options: list[str], tmp_path: Path) -> None:
    assert lacks_framefold(WORKERS)
    with server(tmp_path, *options) as address:
        run_streams(tmp_path, address, {})


def test_an_environment_that_goes_along(options: list[str], tmp_path: Path) -> None:
    """Packed by venv-pack; executors find no other Python that has what they need."""
    trips, result, log = write_trips(tmp_path / "trips"), tmp_path / "result", tmp_path / "log"
    at = options.index(f"spark.pyspark.python={BARE}")
    del options[at - 1 : at + 1]
    submit("--environment", BARE.parents[1], "--log", log, *options, JOB, trips, result)
    assert "bare.tar.gz#environment" in log.read_text()
    assert found(result) == expected(trips)


def test_a_command(options: list[str], tmp_path: Path) -> None:
    trips = write_trips(tmp_path / "trips")
    run = ["run", trips.as_uri(), "--time", "pickup", "--by", "zone", "--window", "1 hour", "--every", "5 minutes"]
    run += ["--agg", "speed=median:speed", "--agg", "fare=average:fare", "--preview", "0", "--out"]
    submit(*options, *run, (tmp_path / "there.parquet").as_uri())  # what all machines share
    assert main([*run, str(tmp_path / "here.parquet"), "--engine", "local"]) == 0
    here, there = (bits(tmp_path / f"{name}.parquet") for name in ("here", "there"))
    assert len(here) > 5_000
    assert there == here


def bits(result: Path) -> list[tuple[str, ...]]:
    """The rows of a result, sorted; two that differ in the last bit differ."""
    columns = pq.read_table(result, columns=["zone", "window", "speed", "fare"]).to_pydict()
    starts = [window["start"].isoformat()[:19] for window in columns["window"]]
    floats = ([str(each and each.hex()) for each in columns[name]] for name in ("speed", "fare"))
    return sorted(zip(columns["zone"], starts, *floats, strict=True))


def test_a_function_that_raises(options: list[str], tmp_path: Path) -> None:
    """The user's own exception, its line, and the exit code of a failure."""
    (tmp_path / "faulty.py").write_text(
        "import framefold as ff\n\n\nclass Faulty(ff.PythonOperation):\n    result = 'int64'\n\n"
        "    def create(self):\n        return 0\n\n    def accumulate(self, state, value):\n"
        "        return state + 1 // (value - value)  # the fault\n\n"
        "    def combine(self, a, b):\n        return a + b\n\n    def finish(self, state):\n        return state\n"
    )
    (tmp_path / "job.py").write_text(
        "from faulty import Faulty\nfrom pyspark.sql import SparkSession\n\nimport framefold as ff\n\n"
        "spark = SparkSession.builder.getOrCreate()\n"
        "ff.events(spark.range(100), time='id').window(ff.tumbling(10)).aggregate(x=Faulty('id'))\n"
    )
    done = submit(*options, tmp_path / "job.py", code=1)
    assert "ZeroDivisionError" in done.stdout
    assert "faulty.py" in done.stdout


@pytest.mark.parametrize("kind", ["lost", "slow"])
def test_a_task_that_runs_twice_counts_once(kind: str, options: list[str], tmp_path: Path) -> None:
    """Its executor is killed; or it takes so long that another executor runs it as well."""
    often = {".interval": "100ms", ".minTaskRuntime": "100ms", ".quantile": "0.5", ".multiplier": "1.1"}
    settings = {f"spark.speculation{name}": value for name, value in {"": "true", **often}.items()}
    speculate = submit_options("", settings)[2:]
    log = run_mishap(tmp_path, kind, *options, *(speculate if kind == "slow" else []))
    assert re.search("Lost executor" if kind == "lost" else "Marking task .* as speculatable", log)
