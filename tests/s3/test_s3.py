"""Files on an object store, an S3 server of this machine: `make s3`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from ..support.processes import free_port, listens, running

HERE = Path(__file__).parent
S3 = HERE.parents[1] / ".venv" / "s3"
KEY, SECRET = "AKIDOFTHETESTS", "ThisIs/The+SecretOfTheTests"
IN_ADDRESS = ("Pa55/w0rd", "Pa55%2Fw0rd")

pytestmark = [pytest.mark.s3, pytest.mark.slow]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server that is empty."""
    program = S3 / "bin" / "moto_server"
    if not program.exists():
        pytest.skip("there is no S3 server to test with: make s3 installs it, where it can be had")
    command, port = [program, "-H", "127.0.0.1", "-p"], free_port()
    with running([*command, port], tmp_path / "server", ready=partial(listens, port)):
        yield f"http://127.0.0.1:{port}"


def test_results_are_the_same_there_and_nothing_secret_is_told(server: str, tmp_path: Path) -> None:
    jars = ",".join(map(str, sorted((S3 / "jars").glob("*.jar"))))
    if not jars:
        pytest.skip("there is no file system of Hadoop's for S3: make s3 installs it, where it can be had")
    (tmp_path / "events").mkdir()
    environment = os.environ | {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": server,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", HERE / "program.py", jars, (tmp_path / "events").as_uri()],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    answers = [line for line in done.stdout.splitlines() if line.endswith((": True", ": False"))]
    assert done.returncode == 0, said[-5000:]
    assert [line for line in answers if line.endswith("False")] == [], said[-5000:]
    assert len(answers) == 28, done.stdout
    logged = "".join(path.read_text() for path in (tmp_path / "events").rglob("events_*"))
    assert "SparkListenerSQLExecutionStart" in logged
    told = said + logged
    for secret in (SECRET, *IN_ADDRESS):
        assert secret not in told, [line for line in told.splitlines() if secret in line][:3]
