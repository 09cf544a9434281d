"""Jobs on Hadoop's own minicluster, a ResourceManager, two NodeManagers and HDFS: `make yarn`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..spark.submitting import JOB, expected, found, submit, write_trips
from ..support.processes import running
from ..support.sessions import ensure_java
from .jobs import is_bit_for_bit, options_of, run_demo, run_mishap
from .processes import BARE, QUICK, ROOT, SPARK, environment, waited_for

YARN = ROOT / ".venv" / "yarn"
CLIENT, CLUSTER = ["--deploy-mode", "client"], ["--deploy-mode", "cluster"]


@dataclass(frozen=True)
class Cluster:
    """The folder with its configuration, the address of its NameNode for HTTP, and its process."""

    folder: Path
    names: str
    process: subprocess.Popen[bytes]

    def put(self, file: Path, path: str) -> None:
        """Write a file to HDFS, by its REST API."""
        address = f"http://{self.names}/webhdfs/v1{path}?op=CREATE&noredirect=false&user.name={self.user}"
        asked = urllib.request.Request(address, method="PUT")
        opener = urllib.request.build_opener(_Place)
        with opener.open(asked) as answer:
            place = answer.headers["Location"]
        with urllib.request.urlopen(urllib.request.Request(place, data=file.read_bytes(), method="PUT")):
            pass

    def get(self, path: str, folder: Path) -> None:
        """Copy the files of a folder of HDFS."""
        address = f"http://{self.names}/webhdfs/v1{path}"
        with urllib.request.urlopen(f"{address}?op=LISTSTATUS") as answer:
            files = json.load(answer)["FileStatuses"]["FileStatus"]
        folder.mkdir()
        for name in (each["pathSuffix"] for each in files):
            with urllib.request.urlopen(f"{address}/{name}?op=OPEN&user.name={self.user}") as answer:
                (folder / name).write_bytes(answer.read())

    def stop_node(self, number: int) -> None:
        """Stop a NodeManager with all that runs on it."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{number}\n".encode())
        self.process.stdin.flush()

    @property
    def user(self) -> str:
        """The owner of the files: whoever has started the cluster."""
        return self.folder.owner()


class _Place(urllib.request.HTTPRedirectHandler):
    """A NameNode says where to write; a PUT does not follow by itself."""

    def http_error_307(self, req, fp, code, msg, headers):  # type: ignore[no-untyped-def]
        return fp


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if not (YARN / "MiniCluster.class").is_file():
        pytest.skip("there are no mvn and javac on the PATH, so Hadoop's minicluster cannot be had from Maven Central")
    ensure_java()
    folder = tmp_path_factory.mktemp("yarn")
    command = ["java", *QUICK.split(), "-Xmx1g", "-cp", f"{YARN}/jars/*:{YARN}", "MiniCluster", folder]
    with running(command, folder / "log", environment()) as process:
        ready = waited_for(r"ready (\S+)", folder / "log", process)
        yield Cluster(folder, ready[1], process)


@pytest.fixture
def options(cluster: Cluster) -> list[str]:
    """Of spark-submit: two small executors, whose Python lacks all that is ours."""
    settings = {
        "spark.executor.instances": "2",
        "spark.driver.memory": "700m",
        "spark.executor.memoryOverhead": "384m",
        "spark.driver.memoryOverhead": "384m",
        "spark.yarn.am.memory": "512m",
        "spark.yarn.am.extraJavaOptions": QUICK,
        "spark.yarn.jars": f"local:{SPARK}/jars/*",  # all nodes are this machine
        "spark.pyspark.python": str(BARE),
    }
    return options_of("yarn", settings)


@pytest.fixture
def configured(cluster: Cluster) -> dict[str, str]:
    return {"HADOOP_CONF_DIR": str(cluster.folder), "YARN_CONF_DIR": str(cluster.folder)}


@pytest.mark.parametrize("mode", [CLIENT, CLUSTER], ids=lambda mode: mode[1])
def test_from_hdfs_to_hdfs(
    mode: list[str], options: list[str], configured: dict[str, str], cluster: Cluster, tmp_path: Path
) -> None:
    """An aggregate from a module beside the job; the driver on the cluster has no framefold but what goes along."""
    trips = write_trips(tmp_path / "trips", 20_000)
    cluster.put(trips / "trips.parquet", f"/{mode[1]}/trips/trips.parquet")
    there = f"hdfs:///{mode[1]}"
    done = submit(*options, *mode, JOB, f"{there}/trips", f"{there}/speeds", env=configured)
    windows = expected(trips)
    # In cluster mode, this comes from the node of the driver.
    assert done.stdout.endswith(f"{len(windows)} windows in {there}/speeds\n")
    cluster.get(f"/{mode[1]}/speeds", tmp_path / "speeds")
    assert found(tmp_path / "speeds") == windows
    if mode is CLUSTER:
        assert re.search(r"^framefold: application_\w+ is RUNNING$", done.stderr, re.MULTILINE)
        assert re.search(r"^framefold: application_\w+ is FINISHED$", done.stderr, re.MULTILINE)


def test_a_command_with_its_driver_on_the_cluster(
    options: list[str], configured: dict[str, str], tmp_path: Path
) -> None:
    """It needs a Python with what framefold is installed with; a mistake is its exit code and its sentence."""
    trips = write_trips(tmp_path / "trips")
    run = ["run", trips.as_uri(), "--time", "pickup", "--window", "1 hour", "--agg"]
    ours = ["--conf", f"spark.pyspark.python={sys.executable}"]
    options += ["--conf", "spark.yarn.maxAppAttempts=1"]  # YARN would run the whole job again
    done = submit(*options, *ours, *CLUSTER, *run, "n=count", "--preview", 3, env=configured)
    assert "24 windows in" in done.stdout
    done = submit(*options, *ours, *CLUSTER, *run, "n=cuont", env=configured, code=2)
    assert "unknown operation 'cuont'" in done.stdout
    assert done.stderr.endswith("framefold: the job ended with exit code 2\n")
    done = submit(*options, *CLUSTER, *run, "n=count", env=configured, code=1)
    assert f"framefold: the driver runs {BARE}, which lacks typer; expected --environment, or" in done.stdout


@pytest.mark.parametrize("mode", [CLIENT, CLUSTER], ids=lambda mode: mode[1])
def test_the_demo(mode: list[str], options: list[str], configured: dict[str, str], tmp_path: Path) -> None:
    if mode is CLUSTER:
        options += ["--conf", f"spark.pyspark.python={sys.executable}"]
    said = run_demo(tmp_path, *options, *mode, env=configured)
    assert "started on yarn" in said
    assert is_bit_for_bit(said)


@pytest.mark.parametrize("kind", ["lost", "slow"])
def test_a_container_or_a_node_is_lost(
    kind: str, options: list[str], configured: dict[str, str], cluster: Cluster, tmp_path: Path
) -> None:
    """A JVM is killed in the midst of a task; or a NodeManager stops, and what it ran with it: the last test here."""
    marker, stopped = tmp_path / "marker", []

    def stop_its_node() -> None:
        for _ in range(3000):
            if marker.exists() and (node := re.search(r"localDir-nm-(\d)", marker.read_text())):
                cluster.stop_node(int(node[1]))
                stopped.append(node[1])
                return
            time.sleep(0.1)

    if kind == "slow":
        threading.Thread(target=stop_its_node, daemon=True).start()
    log = run_mishap(tmp_path, kind, *options, *CLIENT, env=configured)
    assert len(stopped) == (kind == "slow")
    assert re.search("Lost executor|Executor lost", log)
    assert ("Successfully Unregistered the Node" in (cluster.folder / "log").read_text()) == (kind == "slow")
