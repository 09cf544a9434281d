"""``framefold submit``: the line of spark-submit, the archive, the log, and jobs through the real spark-submit."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyarrow.parquet as pq

import framefold as ff
from framefold.spark.submission import archive, command, follow

from ..support.command_line import main
from .submitting import EXAMPLES, JOB, SMALL, expected, found, submit, write_trips

pytestmark = pytest.mark.classic("spark-submit comes with the whole of PySpark")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """No Spark of the developer's, and a cache of its own."""
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "MASTER", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return monkeypatch


def dry_run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[dict[str, str], list[str]]:
    """The variables in front of the line that would be run, and its words."""
    assert main(["submit", "--dry-run", *arguments]) == 0
    words = shlex.split(capsys.readouterr().out)
    at = next(at for at, word in enumerate(words) if word.endswith("/bin/spark-submit"))
    return dict(word.split("=", 1) for word in words[:at]), words[at + 1 :]


def names_in(path: str) -> list[str]:
    with zipfile.ZipFile(path) as opened:
        return opened.namelist()


def test_the_line_has_what_the_user_says_and_the_archive(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--master", "yarn", "--conf", "spark.executor.cores=2", "--num-executors=4", "--supervise"]
    variables, words = dry_run(capsys, *options, str(JOB), "a b", "--master")
    assert words[:7] == ["--master", "yarn", "--conf", "spark.executor.cores=2", "--num-executors", "4", "--supervise"]
    assert words[7] == "--py-files"
    assert words[9:] == [str(JOB), "a b", "--master"]
    assert variables["PYSPARK_DRIVER_PYTHON"] == sys.executable
    assert "PYSPARK_PYTHON" not in variables  # the cluster has its own
    assert Path(variables["SPARK_HOME"], "bin", "spark-submit").is_file()
    names = names_in(words[8])
    assert "means.py" in names
    assert "speeds.py" not in names
    assert "framefold/spark/session/worker.py" in names
    assert "cloudpickle/cloudpickle.py" in names


def test_the_same_job_is_the_same_archive(capsys: pytest.CaptureFixture[str]) -> None:
    assert dry_run(capsys, str(JOB))[1][1] == dry_run(capsys, str(JOB))[1][1]


def test_lists_of_the_users_are_kept_behind_ours(capsys: pytest.CaptureFixture[str]) -> None:
    _, words = dry_run(capsys, "--py-files", "a.py,b.zip", "--master", "local", str(JOB))
    assert words[:2] == ["--master", "local"]
    assert words[2] == "--py-files"
    assert words[3].endswith("speeds-files.zip,a.py,b.zip")
    assert words[4:] == [str(JOB)]


def test_on_this_machine_executors_run_this_python(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for options in ([], ["--master", "local-cluster[2,1,1024]"], ["--conf", "spark.master=local[3]"]):
        assert dry_run(capsys, *options, str(JOB))[0]["PYSPARK_PYTHON"] == sys.executable
    (tmp_path / "spark-defaults.conf").write_text("spark.master yarn\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert "PYSPARK_PYTHON" not in dry_run(capsys, str(JOB))[0]


def test_a_driver_is_told_of_its_server(capsys: pytest.CaptureFixture[str]) -> None:
    """Told by spark-submit alone, one that names no master asks for a classic session."""
    for options in (["--remote", "sc://host:15002"], ["--conf", "spark.remote=sc://host:15002"]):
        variables, words = dry_run(capsys, *options, str(JOB))
        assert variables["SPARK_REMOTE"] == "sc://host:15002"
        assert words[:2] == options
        assert "PYSPARK_PYTHON" not in variables  # the server has its own
    assert "SPARK_REMOTE" not in dry_run(capsys, "--master", "yarn", str(JOB))[0]


def test_a_driver_keeps_this_python_where_executors_get_another(capsys: pytest.CaptureFixture[str]) -> None:
    python = ["--master", "spark://host:7077", "--conf", "spark.pyspark.python=/opt/python"]
    _, words = dry_run(capsys, *python, str(JOB))
    assert f"spark.pyspark.driver.python={sys.executable}" in words
    variables, words = dry_run(capsys, "--master", "yarn", "--deploy-mode", "cluster", *python[2:], str(JOB))
    assert not any(word.startswith("spark.pyspark.driver.python=") for word in words)
    assert "PYSPARK_DRIVER_PYTHON" not in variables
    assert "spark.yarn.includeDriverLogsLink=true" in words


def test_an_environment_goes_along(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    packed = tmp_path / "env.tar.gz"
    packed.write_bytes(b"")
    options = ["--master", "yarn", "--archives", "data.zip#data"]
    _, words = dry_run(capsys, *options, "--environment", str(packed), str(JOB))
    assert words[words.index("--archives") + 1] == f"{packed}#environment,data.zip#data"
    assert words.count("--archives") == 1
    assert "spark.pyspark.python=./environment/bin/python" in words
    assert f"spark.pyspark.driver.python={sys.executable}" in words


def test_a_command_is_a_job(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = ["--master", "yarn", "--deploy-mode", "cluster"]
    _, words = dry_run(capsys, *cluster, "run", "trips.parquet", "--time", "pickup")
    assert words[-4:] == ["run", "trips.parquet", "--time", "pickup"]
    assert Path(words[-5]).read_text().count("framefold.cli") == 1
    names = names_in(words[words.index("--py-files") + 1])
    assert "framefold/cli/cli.py" in names


def test_the_archive_has_what_modules_import_in_turn(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import numpy, first\nfrom shop.rules import tax\nimport job\n")
    (tmp_path / "first.py").write_text("def late():\n    import second\n")
    (tmp_path / "second.py").write_text("import framefold\n")
    (tmp_path / "unused.py").write_text("")
    package = tmp_path / "shop"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__pycache__" / "rules.pyc").write_bytes(b"")
    (package / "rules.py").write_text("from . import codes\nimport third\n")
    (package / "codes.py").write_text("")
    (package / "rates.json").write_text("{}")
    (tmp_path / "third.py").write_text("")
    (tmp_path / "numpy").mkdir()  # no module, and so none that hides numpy
    names = {"first.py", "second.py", "third.py", "shop/rules.py", "shop/codes.py", "shop/rates.json"}
    assert set(archive.modules_beside(tmp_path / "job.py")) == names
    code = (
        f"import sys; sys.path.insert(0, {str(archive.build('job', tmp_path / 'job.py'))!r}); import shop.rules, first"
    )
    subprocess.run([sys.executable, "-c", code], cwd=EXAMPLES, check=True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--master", "yarn"], "there is no job after '--master yarn'; expected a Python file, or `run` and its"),
        (["job.jar"], "the job is 'job.jar'; expected a Python file, or `run` and its arguments"),
        (["nothing.py"], "the job 'nothing.py' does not exist"),
        (["run", "a.parquet", "--master=yarn"], "--master stands behind 'run'; expected it in front, where spark-s"),
        (["--environment", "nowhere", "--master", "yarn", str(JOB)], "--environment is 'nowhere'; expected the folder"),
        (["--environment", "e.zip", str(JOB)], "--environment is for the executors of a cluster, and --master is 'lo"),
        (
            ["--environment", "e", "--remote", "sc://a", str(JOB)],
            "--environment cannot go to the executors of a Connec",
        ),
        (["--master", "yarn", "--log"], "--log has no value; expected a path"),
        (["--log", "/nowhere/log", str(JOB)], "--log '/nowhere/log' cannot be written: No such file or directory"),
        (["broken.py"], "'broken.py' is not Python 3"),
    ],
)
def test_mistakes(
    arguments: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text("def :\n")
    assert main(["submit", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"framefold: {sentence}")
    assert said.err.count("\n") == 1


def test_a_pyspark_without_a_jvm_has_no_spark_submit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(ff.EngineError, match="has no bin/spark-submit; expected pyspark with its JVM"):
        command.spark_home()


def test_venv_pack_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("")
    with pytest.raises(ff.EngineError, match=r"venv-pack cannot pack the environment '.*': .*venv"):
        archive.pack_environment(str(tmp_path), tmp_path)


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


def test_exit_code_and_output_of_a_job(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("import sys\nprint('out')\nprint('err', file=sys.stderr)\nsys.exit(int(sys.argv[1]))\n")
    log = tmp_path / "log"
    done = submit("--master", "local[2]", "--log", log, job, 3)
    assert (done.returncode, done.stdout) == (3, "out\nerr\n")  # spark-submit puts the two together
    assert done.stderr.endswith(f"framefold: the job ended with exit code 3; its whole log is in {log}\n")
    assert " INFO " not in done.stderr
    assert "WARN" in log.read_text(), "what Spark's own log says"


@pytest.mark.slow
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_the_example_gives_the_same_windows_everywhere(master: str, tmp_path: Path) -> None:
    """Where executors are processes of their own they have no framefold, and no module of the job."""
    trips, result = write_trips(tmp_path / "trips"), tmp_path / "result"
    bare = ["--conf", "spark.executorEnv.PYTHONPATH=", "--conf", "spark.executor.memory=1g"]
    done = submit("--master", master, *SMALL, *bare, JOB, trips, result, env={"PYTHONPATH": ""})
    assert done.returncode == 0, done.stderr
    windows = expected(trips)
    assert done.stdout.endswith(f"{len(windows)} windows in {result}\n")
    assert found(result) == windows


@pytest.mark.slow
def test_the_demo(tmp_path: Path) -> None:
    done = submit("--master", "local[2]", "demo", "--rows", 20_000, "--keep", tmp_path / "kept")
    assert done.returncode == 0, done.stderr
    assert "gives the same windows, bit for bit" in " ".join(done.stdout.split())


@pytest.mark.slow
def test_a_command_runs_where_spark_submit_says(tmp_path: Path) -> None:
    trips, result = write_trips(tmp_path / "trips"), tmp_path / "result.parquet"
    run = ["run", trips, "--time", "pickup", "--window", "1 hour", "--agg", "n=count", "--out", result, "--preview", 0]
    done = submit("--master", "local[3]", *SMALL, *run)
    assert done.returncode == 0, done.stderr
    assert "on Spark (local[3])" in done.stdout
    counts = pq.read_table(result, columns=["n"])["n"].to_pylist()
    assert sum(counts) == 6_000
    done = submit("--master", "local[3]", "run", trips, "--time", "pikup", "--window", "1 hour", "--agg", "n=count")
    assert done.returncode == 2
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
