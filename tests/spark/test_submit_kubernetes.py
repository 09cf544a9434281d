"""``framefold submit`` on Kubernetes, without one: the line, the operator's manifest, the driver's log."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyspark

from framefold.spark.submission import follow, kubernetes

from ..support.command_line import main
from .submitting import JOB

pytestmark = pytest.mark.classic("spark-submit comes with the whole of PySpark")

CLUSTER = ["--master", "k8s://https://host:6443", "--deploy-mode", "cluster"]
UPLOAD = ["--conf", "spark.kubernetes.file.upload.path=s3a://jobs/uploads"]
IN_IMAGE = "local:///opt/job/speeds.py"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "MASTER"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def words_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["submit", "--dry-run", *arguments]) == 0
    return shlex.split(capsys.readouterr().out)


def test_a_job_here_is_uploaded_with_its_modules(capsys: pytest.CaptureFixture[str]) -> None:
    words = words_of(capsys, *CLUSTER, *UPLOAD, str(JOB), "s3a://trips")
    assert words[words.index("--py-files") + 1].endswith("speeds-files.zip")
    assert words[-2:] == [str(JOB), "s3a://trips"]


def test_a_job_in_the_image_has_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = words_of(capsys, *CLUSTER, "--py-files", "local:///opt/more.zip", IN_IMAGE)
    assert words[words.index("--py-files") + 1] == "local:///opt/more.zip"
    assert words.count("--py-files") == 1
    assert "--py-files" not in words_of(capsys, *CLUSTER, IN_IMAGE)
    assert "--py-files" in words_of(capsys, *CLUSTER, *UPLOAD, IN_IMAGE)


def test_the_operators_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--name",
        "Speeds of today",
        "--num-executors=4",
        "--executor-memory",
        "2g",
        "--py-files",
        "s3a://a,s3a://b",
    ]
    settings = {
        "spark.kubernetes.container.image": "registry/speeds",
        "spark.kubernetes.namespace": "jobs",
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
        "spark.executor.memory": "1g",  # an option counts more
        "spark.driver.cores": "2",
        "spark.sql.shuffle.partitions": "8",
    }
    confs = [word for each in settings.items() for word in ("--conf", "=".join(each))]
    assert main(["submit", "--manifest", *CLUSTER, *options, *confs, IN_IMAGE, "s3a://trips", "--all"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "speeds-of-today", "namespace": "jobs"},
        "spec": {
            "type": "Python",
            "mode": "cluster",
            "sparkVersion": pyspark.__version__,
            "image": "registry/speeds",
            "mainApplicationFile": IN_IMAGE,
            "arguments": ["s3a://trips", "--all"],
            "driver": {"cores": 2, "serviceAccount": "spark"},
            "executor": {"instances": 4, "memory": "2g"},
            "deps": {"pyFiles": ["s3a://a", "s3a://b"]},
            "restartPolicy": {"type": "Never"},
            "sparkConf": {"spark.sql.shuffle.partitions": "8"},
        },
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*CLUSTER, str(JOB)], "is on this machine, and its driver in a pod; expected --conf spark.kubernetes.file.up"),
        ([*CLUSTER, "run", "a.parquet"], "the job 'run' is on this machine, and its driver in a pod; expected --conf"),
        (["--manifest", str(JOB)], "is on this machine, which the operator does not reach; expected one in the image,"),
        (["--manifest", "--verbose", IN_IMAGE], "a SparkApplication has no place for --verbose; expected settings in"),
        (["--manifest", "--num-executors", "few", IN_IMAGE], "spark.executor.instances is 'few'; expected a whole num"),
    ],
)
def test_mistakes(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert said.err.count("\n") == 1


def test_what_the_log_of_spark_submit_says_of_a_driver_in_a_pod() -> None:
    told: list[str] = []
    log = follow.Log(None, lambda _: None, told.append)
    for line in [
        "26/11/25 00:40:00 INFO LoggingPodStatusWatcherImpl: Waiting for application speeds with application ID "
        "spark-1f2 and submission ID jobs:speeds-9-driver to finish...\n",
        "26/11/25 00:40:01 INFO LoggingPodStatusWatcherImpl: Application status for spark-1f2 (phase: Running)\n",
        "26/11/25 00:40:02 INFO LoggingPodStatusWatcherImpl: Application status for spark-1f2 (phase: Running)\n",
        "26/11/25 00:40:03 INFO LoggingPodStatusWatcherImpl: Application status for spark-1f2 (phase: Failed)\n",
        "26/11/25 00:40:03 INFO LoggingPodStatusWatcherImpl: Container final statuses:\n",
        "\t exit code: 3\n",
    ]:
        log.take(line)
    assert told == ["spark-1f2 is Running", "spark-1f2 is Failed"]
    assert log.pod == ("jobs", "speeds-9-driver")
    assert log.exit_code == 3


def test_a_log_with_the_output_of_the_job_in_it() -> None:
    lines = "26/11/25 00:40:00 INFO A: b\n24 windows\n26/11/25 00:40:00 WARN A: b\n  25 windows\n"
    assert follow.without_own_lines(lines, mixed=True) == "".join(lines.splitlines(keepends=True)[1:])


def test_without_kubectl_there_is_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert kubernetes.pod_log("jobs", "speeds-9-driver") is None
