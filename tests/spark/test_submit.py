"""``framefold submit``: the line of spark-submit, the archive, the manifest, the log, and jobs through spark-submit."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest

import framefold as ff
from framefold.extras.cli.submission import archive, command, follow, kubernetes

from ..support.command_line import main
from .submitting import EXAMPLES, JOB, SMALL, submit, submit_options, without_spark, write_trips

pytestmark = pytest.mark.classic("spark-submit comes with the whole of PySpark")


PYTHON, FILES = sys.executable, "speeds-files.zip"
JOB_HERE, IN_IMAGE = str(JOB), "local:///opt/job/speeds.py"
YARN = "--master yarn --deploy-mode cluster"
K8S = "--master k8s://https://host:6443 --deploy-mode cluster"
UPLOAD = "--conf spark.kubernetes.file.upload.path=s3a://jobs/uploads"
OTHER_PYTHON = "--conf spark.pyspark.python=/opt/python"
DRIVER_PYTHON = f"spark.pyspark.driver.python={PYTHON}"
EXECUTORS_PYTHON = f" PYSPARK_PYTHON={PYTHON} "


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_spark(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)


def dry_run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The line that would be run, with the variables in front, its words without quotes."""
    assert main(["submit", "--dry-run", *arguments]) == 0
    return " " + " ".join(shlex.split(capsys.readouterr().out))


REMOTE = "sc://host:15002"
LINES: list[tuple[str, str, list[str], list[str]]] = [
    ("--master yarn --conf spark.executor.cores=2 --num-executors=4 --supervise", JOB_HERE, [
        "/spark-submit --master yarn --conf spark.executor.cores=2 --num-executors 4 --supervise --py-files ",
        f"{FILES} {JOB}", f" PYSPARK_DRIVER_PYTHON={PYTHON} "], [" PYSPARK_PYTHON=", "SPARK_REMOTE"]),
    ("--py-files a.py,b.zip --master local", JOB_HERE, [
        "/spark-submit --master local --py-files ", f"{FILES},a.py,b.zip {JOB}"], []),
    ("", JOB_HERE, [EXECUTORS_PYTHON], []),
    ("--master local-cluster[2,1,1024]", JOB_HERE, [EXECUTORS_PYTHON], []),
    ("--conf spark.master=local[3]", JOB_HERE, [EXECUTORS_PYTHON], []),
    # Told by spark-submit alone, a driver that names no master asks for a classic session.
    *((options, JOB_HERE, [f" SPARK_REMOTE={REMOTE} ", f"/spark-submit {options} "], [" PYSPARK_PYTHON="])
      for options in (f"--remote {REMOTE}", f"--conf spark.remote={REMOTE}")),
    (f"--master spark://host:7077 {OTHER_PYTHON}", JOB_HERE, [f" {DRIVER_PYTHON} "], []),
    (f"{YARN} {OTHER_PYTHON}", JOB_HERE, [" spark.yarn.includeDriverLogsLink=true "], [
        "driver.python=", "PYSPARK_DRIVER_PYTHON"]),
    ("--master yarn --archives data.zip#data --environment env.tar.gz", JOB_HERE, [
        " --archives env.tar.gz#environment,data.zip#data ", " spark.pyspark.python=./environment/bin/python ",
        f" {DRIVER_PYTHON} "], ["--archives data"]),
    (f"{K8S} {UPLOAD}", f"{JOB} s3a://trips", [f"{FILES} {JOB} s3a://trips"], []),
    (f"{K8S} --py-files local:///opt/more.zip", IN_IMAGE, [f"--py-files local:///opt/more.zip {IN_IMAGE}"], [FILES]),
    (K8S, IN_IMAGE, [IN_IMAGE], ["--py-files"]),
    (f"{K8S} {UPLOAD}", IN_IMAGE, ["--py-files"], []),
]  # fmt: skip
"""Options, job, what is in the line, and what is not."""


@pytest.mark.parametrize(("options", "job", "parts", "absent"), LINES, ids=[f"{each[0]} {each[1]}" for each in LINES])
def test_the_line(
    options: str, job: str, parts: list[str], absent: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("env.tar.gz").write_bytes(b"")
    line = dry_run(capsys, *options.split(), *job.split())
    assert [part for part in parts if part not in line] == [part for part in absent if part in line] == []
    assert line.endswith(f" {job}")
    (home,) = re.findall(r" SPARK_HOME=(\S+)", line)
    assert Path(home, "bin", "spark-submit").is_file()


def test_the_defaults_of_a_folder_count(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("spark-defaults.conf").write_text("spark.master yarn\n")
    monkeypatch.setenv("SPARK_CONF_DIR", ".")
    assert "PYSPARK_PYTHON" not in dry_run(capsys, JOB_HERE)


def test_what_is_in_the_archive(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a job with a word that is none of its options; of the same job once more; of a command."""
    lines = [dry_run(capsys, "--master", "yarn", JOB_HERE, "a b", "--master") for _ in range(2)]
    lines.append(dry_run(capsys, *YARN.split(), "run", "trips.parquet", "--time", "pickup"))
    packed = [re.findall(r"--py-files (\S+)", line)[0] for line in lines]
    assert packed[0] == packed[1]
    assert lines[0].endswith(f" {JOB} a b --master")
    *words, job = lines[2].removesuffix(" run trips.parquet --time pickup").split(" ")
    assert len(words) > 3
    assert Path(job).read_text().count("framefold.extras.cli") == 1
    names = [zipfile.ZipFile(path).namelist() for path in packed[1:]]
    assert {"means.py", "framefold/spark/session/worker.py", "cloudpickle/cloudpickle.py"} <= {*names[0]}
    assert "speeds.py" not in names[0]
    assert "framefold/extras/cli/cli.py" in names[1]


def test_the_archive_has_what_modules_import_in_turn(tmp_path: Path) -> None:
    (tmp_path / "shop" / "__pycache__").mkdir(parents=True)
    files = {
        "job.py": "import numpy, first\nfrom shop.rules import tax\nimport job\n",
        "first.py": "def late():\n    import second\n",
        "second.py": "import framefold\n",
        "shop/rules.py": "from . import codes\nimport third\n",
        "shop/rates.json": "{}",
        **dict.fromkeys(["unused.py", "third.py", "shop/codes.py", "shop/__pycache__/rules.pyc"], ""),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "numpy").mkdir()  # no module, and so none that hides numpy
    names = {"first.py", "second.py", "third.py", "shop/rules.py", "shop/codes.py", "shop/rates.json"}
    assert set(archive.modules_beside(tmp_path / "job.py")) == names
    packed = str(archive.build("job", tmp_path / "job.py"))
    code = f"import sys; sys.path.insert(0, {packed!r}); import shop.rules, first"
    subprocess.run([sys.executable, "-c", code], cwd=EXAMPLES, check=True)


MISTAKES = [
    ("--master yarn", "there is no job after '--master yarn'; expected a Python file, or `run` and its"),
    ("job.jar", "the job is 'job.jar'; expected a Python file, or `run` and its arguments"),
    ("nothing.py", "the job 'nothing.py' does not exist"),
    ("run a.parquet --master=yarn", "--master stands behind 'run'; expected it in front, where spark-s"),
    (f"--environment nowhere --master yarn {JOB}", "--environment is 'nowhere'; expected the folder"),
    (f"--environment e.zip {JOB}", "--environment is for the executors of a cluster, and --master is 'lo"),
    (f"--environment e --remote sc://a {JOB}", "--environment cannot go to the executors of a Connec"),
    ("--master yarn --log", "--log has no value; expected a path"),
    ("--log /nowhere/log " + JOB_HERE, "--log '/nowhere/log' cannot be written: No such file or directory"),
    ("broken.py", "'broken.py' is not Python 3"),
    (f"{K8S} {JOB}", "is on this machine, and its driver in a pod; expected --conf spark.kubernetes.file.up"),
    (f"{K8S} run a.parquet", "the job 'run' is on this machine, and its driver in a pod; expected --conf"),
    (f"--manifest {JOB}", "is on this machine, which the operator does not reach; expected one in the image,"),
    (f"--manifest --verbose {IN_IMAGE}", "a SparkApplication has no place for --verbose; expected settings in"),
    (f"--manifest --num-executors few {IN_IMAGE}", "spark.executor.instances is 'few'; expected a whole num"),
]


@pytest.mark.parametrize(("arguments", "sentence"), MISTAKES)
def test_mistakes(arguments: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.py").write_text("def :\n")
    assert main(["submit", *arguments.split()]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("framefold: " + ("" if sentence.startswith("is on") else sentence))
    assert sentence in said.err
    assert said.err.count("\n") == 1


def test_a_pyspark_without_a_jvm_has_no_spark_submit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(ff.EngineError, match="has no bin/spark-submit; expected pyspark with its JVM"):
        command.spark_home()


def test_venv_pack_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("")
    with pytest.raises(ff.EngineError, match=r"venv-pack cannot pack the environment '.*': .*venv"):
        archive.pack_environment(str(tmp_path), tmp_path)


def test_the_operators_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    settings = {
        "spark.kubernetes.container.image": "registry/speeds", "spark.kubernetes.namespace": "jobs",
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark", "spark.driver.cores": "2",
        "spark.executor.memory": "1g", "spark.sql.shuffle.partitions": "8",
    }  # fmt: skip
    words = f"--manifest {K8S} --num-executors=4 --executor-memory 2g --py-files s3a://a,s3a://b".split()
    job = ["--name", "Speeds of today", *submit_options("", settings)[2:], IN_IMAGE, "s3a://trips", "--all"]
    assert main(["submit", *words, *job]) == 0
    manifest = json.loads(capsys.readouterr().out)
    spec = manifest.pop("spec")
    assert manifest == {
        "apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
        "metadata": {"name": "speeds-of-today", "namespace": "jobs"},
    }  # fmt: skip
    assert spec == {
        "type": "Python", "mode": "cluster", "sparkVersion": pyspark.__version__, "image": "registry/speeds",
        "mainApplicationFile": IN_IMAGE, "arguments": ["s3a://trips", "--all"],
        "driver": {"cores": 2, "serviceAccount": "spark"},
        "executor": {"instances": 4, "memory": "2g"},  # an option counts more than a setting
        "deps": {"pyFiles": ["s3a://a", "s3a://b"]}, "restartPolicy": {"type": "Never"},
        "sparkConf": {"spark.sql.shuffle.partitions": "8"},
    }  # fmt: skip


def test_what_is_shown_of_a_log() -> None:
    shown, told = [], []
    log = follow.Log(io.StringIO(), shown.append, told.append)
    lines = [
        "26/11/24 20:05:05 INFO Client: Application report for application_17_0001 (state: ACCEPTED)\n",
        "26/11/24 20:05:06 INFO Client: \n",
        "\t client token: N/A\n",
        "26/11/24 20:05:06 INFO Client: Application report for application_17_0001 (state: ACCEPTED)\n",
        "  env:\n",
        'Exception in thread "main" of spark-submit\n',
        "26/11/24 20:05:07 WARN Utils: not so good\n",
        "\tat Utils.scala\n",
        "26/11/24 20:05:08 INFO Client: Application report for application_17_0001 (state: RUNNING)\n",
        "[Stage 1:>  (0 + 2) / 9]\r",
        "  command:\n",
    ]
    for line in lines:
        log.take(line)
    assert isinstance(log.kept, io.StringIO)
    assert log.kept.getvalue() == "".join(lines)
    assert shown == [*lines[5:8], lines[9]]
    assert told == ["application_17_0001 is ACCEPTED", "application_17_0001 is RUNNING"]


def test_what_the_log_of_spark_submit_says_of_a_driver_in_a_pod() -> None:
    told: list[str] = []
    log = follow.Log(None, lambda _: None, told.append)
    status = "Application status for spark-1f2 (phase: {})"
    for line in [
        "Waiting for application speeds with application ID spark-1f2 and submission ID jobs:speeds-9-driver to finish",
        *map(status.format, ("Running", "Running", "Failed")),
        "Container final statuses:",
    ]:
        log.take(f"26/11/25 00:40:00 INFO LoggingPodStatusWatcherImpl: {line}\n")
    log.take("\t exit code: 3\n")
    assert told == ["spark-1f2 is Running", "spark-1f2 is Failed"]
    assert (log.pod, log.exit_code) == (("jobs", "speeds-9-driver"), 3)


def test_a_log_with_the_output_of_the_job_in_it() -> None:
    lines = "26/11/25 00:40:00 INFO A: b\n24 windows\n26/11/25 00:40:00 WARN A: b\n  25 windows\n"
    assert follow.without_own_lines(lines, mixed=True) == "".join(lines.splitlines(keepends=True)[1:])


def test_without_kubectl_there_is_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert kubernetes.pod_log("jobs", "speeds-9-driver") is None


@pytest.mark.sampled(4)
def test_exit_code_and_output_of_a_job(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(int(sys.argv[1]))\n")
    log = tmp_path / "log"
    done = submit("--master", "local[2]", "--log", log, job, 3, code=3)
    assert done.stdout == "out\nerr\n"  # spark-submit puts the two together
    assert done.stderr.endswith(f"framefold: the job ended with exit code 3; its whole log is in {log}\n")
    assert " INFO " not in done.stderr
    assert "WARN" in log.read_text(), "what Spark's own log says"


@pytest.mark.slow
def test_a_command_runs_where_spark_submit_says(tmp_path: Path) -> None:
    trips, result = write_trips(tmp_path / "trips"), tmp_path / "result.parquet"
    run = ["run", trips, "--time", "pickup", "--window", "1 hour", "--agg", "n=count", "--out", result, "--preview", 0]
    done = submit("--master", "local[3]", *SMALL, *run)
    assert "on Spark (local[3])" in done.stdout
    counts = pq.read_table(result, columns=["n"])["n"].to_pylist()
    assert sum(counts) == 6_000
    done = submit(
        "--master", "local[3]", "run", trips, "--time", "pikup", "--window", "1 hour", "--agg", "n=count", code=2
    )
    assert "--time names the unknown column 'pikup'; did you mean 'pickup'?" in done.stdout


def test_the_log_of_a_driver_that_failed_before_spark_knew_its_node() -> None:
    """The ResourceManager knows it; a NodeManager has the log."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            attempts = [{"id": 10, "logsLink": link.format("c_2")}, {"id": 9, "logsLink": link.format("c_1")}]
            answers = {
                "/ws/v1/cluster/apps/application_17_0001/appattempts": {"appAttempts": {"appAttempt": attempts}},
                f"/ws/v1/node/containerlogs/c_2/stdout?size=-{follow.LOG_BYTES}": "LogContents:\nhi\nEnd of LogType:",
            }
            answer = answers[self.path]
            self.send_response(200)
            self.end_headers()
            self.wfile.write((answer if isinstance(answer, str) else json.dumps(answer)).encode())

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        link = address + "/node/containerlogs/{}/me"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        log = follow.Log(None, lambda _: None, lambda _: None)
        log.take("26/11/24 20:05:05 INFO Client: Application report for application_17_0001 (state: FAILED)\n")
        log.take(f"\t tracking URL: {address}/cluster/app/application_17_0001\n")
        assert follow.driver_output(log, "stdout") == "hi\n"
        log.application = "application_17_0002"
        assert follow.driver_output(log, "stdout") is None
        server.shutdown()
