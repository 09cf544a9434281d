"""Jobs on Kubernetes' own API server, with RBAC, and the kubelet that stands beside this file: `make kubernetes`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ..spark.submitting import EXAMPLES, JOB, found, submit, submit_options
from ..support.sessions import ensure_java
from .jobs import is_bit_for_bit, options_of, run_demo, run_example, run_mishap
from .kube_api import BINARY, Api, api_server
from .kubelet import Kubelet
from .processes import BARE, SPARK, environment

RECIPES = EXAMPLES / "kubernetes"
SECRETS = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where pods find their token: Spark's default, said so that the kubelet puts its folder in place of it."""

PODS = "/api/v1/namespaces/jobs/pods"


@dataclass(frozen=True)
class Cluster:
    """The API server for an administrator, and what is in KUBECONFIG of one who may do what the account may."""

    api: Api
    folder: Path

    @property
    def configured(self) -> dict[str, str]:
        return {"KUBECONFIG": str(self.folder / "config")}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if not BINARY.is_file():
        pytest.skip("there is no go on the PATH, or its modules cannot be had, so Kubernetes' API server is not built")
    ensure_java()
    folder = tmp_path_factory.mktemp("kubernetes")
    image = environment(
        SPARK_HOME=str(SPARK), PYSPARK_PYTHON=str(BARE), JAVA_TOOL_OPTIONS=f"-Djdk.net.hosts.file={folder / 'hosts'}"
    )
    with api_server(folder / "api") as api:
        api.apply((RECIPES / "account.yaml").read_text())
        # Every namespace has it, made by a controller.
        api.ask("POST", "/api/v1/namespaces/jobs/serviceaccounts", {"metadata": {"name": "default"}})
        api.of_account("jobs", "spark").write_config(folder / "config", "jobs")
        api.of_account("jobs", "default").write_config(folder / "nobody", "jobs")
        kubelet = Kubelet(api, folder, RECIPES / "entrypoint.sh", image)
        kubelet.start()
        try:
            yield Cluster(api, folder)
        finally:
            kubelet.stop()


@pytest.fixture
def options(cluster: Cluster) -> list[str]:
    """Of spark-submit: two executors, whose Python lacks all that is ours."""
    settings = {
        "spark.kubernetes.namespace": "jobs",
        "spark.kubernetes.container.image": "speeds",
        "spark.executor.instances": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.kubernetes.submission.connectionTimeout": "60000",  # a busy machine
        "spark.kubernetes.driver.connectionTimeout": "60000",
    }
    return options_of(f"k8s://{cluster.api.address}", settings)


@pytest.fixture
def client() -> list[str]:
    here = ["--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1"]
    return [*here, "--conf", f"spark.pyspark.python={BARE}"]


@pytest.fixture
def in_cluster(cluster: Cluster, tmp_path: Path) -> list[str]:
    (tmp_path / "uploads").mkdir()
    mounted = "spark.kubernetes.authenticate.driver.mounted"
    settings = {
        "spark.kubernetes.file.upload.path": (tmp_path / "uploads").as_uri(),
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
        "spark.kubernetes.driver.master": cluster.api.address,  # kubernetes.default.svc has no address here
        f"{mounted}.oauthTokenFile": f"{SECRETS}/token",
        f"{mounted}.caCertFile": f"{SECRETS}/ca.crt",
        "spark.driver.memory": "700m",
    }
    return ["--deploy-mode", "cluster", *submit_options("", settings)[2:]]


@pytest.mark.parametrize("mode", ["client", "in_cluster", "image"])
def test_an_aggregate_from_a_module_beside_the_job(
    mode: str, options: list[str], cluster: Cluster, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """From here; uploaded, with a driver whose Python lacks framefold; out of an image that has all of it."""
    job = str(JOB)
    options += request.getfixturevalue("client" if mode == "client" else "in_cluster")
    if mode == "image":
        at = next(at for at, word in enumerate(options) if word.startswith("spark.kubernetes.file.upload.path="))
        del options[at - 1 : at + 1]
        options += ["--conf", f"spark.pyspark.python={sys.executable}"]
        job = f"local://{JOB}"
    printed, said = run_example(tmp_path, *options, job=job, env=cluster.configured)
    if mode == "client":
        assert set(re.findall(r"Registered executor .* with ID (\d+)", (tmp_path / "log").read_text())) == {"1", "2"}
    else:
        assert re.search(r"^framefold: spark-\w+ is Running$", said, re.MULTILINE)
        assert re.search(r"^framefold: spark-\w+ is Succeeded$", said, re.MULTILINE)
    if mode == "client" or shutil.which("kubectl"):
        result = tmp_path / "result"
        assert f"{len(found(result))} windows in {result}\n" in printed
    else:
        assert "framefold: the driver's log is on the cluster: kubectl logs --namespace jobs speeds-" in said


@pytest.mark.parametrize("mode", ["client", "in_cluster"])
def test_the_demo(
    mode: str, options: list[str], cluster: Cluster, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    options += request.getfixturevalue(mode)
    if mode == "in_cluster":
        options += ["--conf", f"spark.pyspark.python={sys.executable}"]
    said = run_demo(tmp_path, *options, env=cluster.configured)
    if mode == "client" or shutil.which("kubectl"):
        assert "started on k8s://https://127.0.0.1:" in said
        assert is_bit_for_bit(said)


def test_an_executors_pod_is_deleted_in_the_midst_of_a_task(
    options: list[str], client: list[str], cluster: Cluster, tmp_path: Path
) -> None:
    marker, deleted = tmp_path / "marker", []

    def delete_its_pod() -> None:
        for _ in range(3000):
            if marker.exists() and (place := marker.read_text()):
                pods = {
                    pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in cluster.api.ask("GET", PODS)["items"]
                }
                (name,) = (name for uid, name in pods.items() if uid in place)
                cluster.api.ask("DELETE", f"{PODS}/{name}")
                deleted.append(name)
                return
            time.sleep(0.1)

    threading.Thread(target=delete_its_pod, daemon=True).start()
    log = run_mishap(tmp_path, "slow", *options, *client, env=cluster.configured)
    assert len(deleted) == 1
    assert re.search(r"Registered executor .* with ID 3", log)  # in place of the one that is gone


def test_a_driver_that_fails(options: list[str], in_cluster: list[str], cluster: Cluster, tmp_path: Path) -> None:
    """The exit code of a driver in a pod, which spark-submit keeps to itself, and the end of its log."""
    (tmp_path / "job.py").write_text("import sys\n\nprint('not today')\nsys.exit(3)\n")
    done = submit(*options, *in_cluster, tmp_path / "job.py", env=cluster.configured, code=3)
    assert done.stderr.endswith("framefold: the job ended with exit code 3\n")
    if shutil.which("kubectl"):
        assert "not today\n" in done.stdout


def test_an_account_without_the_role(options: list[str], in_cluster: list[str], cluster: Cluster) -> None:
    nobody = {"KUBECONFIG": str(cluster.folder / "nobody")}
    done = submit(*options, *in_cluster, JOB, "trips", "result", env=nobody, code=1)
    assert "pods is forbidden" in done.stderr
    assert 'User "system:serviceaccount:jobs:default" cannot create resource "pods"' in done.stderr


def test_the_operators_manifest(options: list[str], cluster: Cluster) -> None:
    """An API server takes it, strictly, by those fields of the operator's own definition that it can have."""
    definition = json.loads(Path(__file__).with_name("sparkapplication.json").read_text())
    cluster.api.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    job = ["--num-executors", "4", "--executor-memory=2g", "--driver-cores", "1", "--py-files", "s3a://jobs/a.zip"]
    account = ["--conf", "spark.kubernetes.authenticate.driver.serviceAccountName=spark"]
    words = ["local:///opt/job/speeds.py", "s3a://trips", "s3a://speeds"]
    command = ["submit", "--manifest", *options, *account, *job, *words]
    done = subprocess.run([sys.executable, "-m", "framefold", *command], capture_output=True, text=True, check=True)
    made: dict[str, Any] = json.loads(done.stdout)
    place = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/jobs/sparkapplications?fieldValidation=Strict"
    for _ in range(50):  # until the new kind is served
        with suppress(urllib.error.HTTPError):
            cluster.api.ask("GET", place)
            break
        time.sleep(0.2)
    kept = cluster.api.ask("POST", place, made)
    assert kept["spec"] == made["spec"]
    assert kept["spec"]["executor"] == {"instances": 4, "memory": "2g"}
    assert kept["metadata"]["name"] == "speeds"
    made["spec"]["executors"] = {}
    made["metadata"]["name"] = "wrong"
    with pytest.raises(urllib.error.HTTPError, match="400"):
        cluster.api.ask("POST", place, made)
