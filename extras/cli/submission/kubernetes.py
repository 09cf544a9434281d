"""What is special to jobs on Kubernetes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import PurePosixPath
from typing import Any

from ....aggregators.errors import QueryError
from .command import CONF, OPTIONS, Command
from .follow import PATIENCE

UPLOAD = "spark.kubernetes.file.upload.path"

LOG_LINES = 1000
"""How much of the end of a driver's log is fetched."""

FIELDS = {
    "spark.kubernetes.container.image": ("image",),
    "spark.kubernetes.container.image.pullPolicy": ("imagePullPolicy",),
    "spark.driver.cores": ("driver", "cores"),
    "spark.driver.memory": ("driver", "memory"),
    "spark.driver.memoryOverhead": ("driver", "memoryOverhead"),
    "spark.kubernetes.authenticate.driver.serviceAccountName": ("driver", "serviceAccount"),
    "spark.executor.instances": ("executor", "instances"),
    "spark.executor.cores": ("executor", "cores"),
    "spark.executor.memory": ("executor", "memory"),
    "spark.executor.memoryOverhead": ("executor", "memoryOverhead"),
    "spark.kubernetes.authenticate.executor.serviceAccountName": ("executor", "serviceAccount"),
    "spark.submit.pyFiles": ("deps", "pyFiles"),
    "spark.files": ("deps", "files"),
    "spark.jars": ("deps", "jars"),
    "spark.archives": ("deps", "archives"),
    "spark.jars.packages": ("deps", "packages"),
    "spark.jars.repositories": ("deps", "repositories"),
}
"""Fields of a SparkApplication's spec. The operator would give them its own values, whatever its ``sparkConf`` says."""

_NUMBERS = frozenset({"cores", "instances"})
_ITS_OWN = frozenset({"spark.app.name", "spark.master", "spark.submit.deployMode", "spark.kubernetes.namespace"})


def is_in_image(command: Command) -> bool:
    """Whether a driver in a pod finds the job there, and can be given no file of this machine."""
    return command.job.startswith("local:") and command.settings.get(UPLOAD) is None


def check(command: Command) -> None:
    """Refuse a job on this machine that a driver in a pod would not find.

    Raises
    ------
    QueryError
        If there is no way for it.
    """
    reached = "://" in command.job or command.settings.get(UPLOAD) is not None or command.defaults.exists()
    if (command.master or "").startswith("k8s://") and command.on_cluster and not reached:
        raise QueryError(
            f"the job {command.job!r} is on this machine, and its driver in a pod; expected --conf {UPLOAD}=... with "
            "an address that both reach, or a job in the image, such as local:///opt/job/job.py"
        )


def application(command: Command, version: str) -> dict[str, Any]:
    """The Spark operator's SparkApplication of a job; JSON of it is YAML.

    Parameters
    ----------
    command
        The job, as spark-submit would get it.
    version
        Of Spark.

    Raises
    ------
    QueryError
        If the operator's own pod cannot reach the job, or a SparkApplication has no place for an option.

    Examples
    --------
    >>> options = ("--name", "speeds", "--num-executors", "4", "--conf", "spark.sql.shuffle.partitions=8")
    >>> made = application(Command(options, "local:///opt/job/speeds.py", ("s3a://trips",)), "4.1.0")
    >>> made["metadata"], made["spec"]["executor"], made["spec"]["sparkConf"]
    ({'name': 'speeds'}, {'instances': 4}, {'spark.sql.shuffle.partitions': '8'})
    """
    if "://" not in command.job:
        raise QueryError(
            f"the job {command.job!r} is on this machine, which the operator does not reach; expected one in the "
            "image, such as local:///opt/job/job.py, or an address"
        )
    for option, *_ in command.grouped():
        if option not in OPTIONS and option not in CONF:
            raise QueryError(f"a SparkApplication has no place for {option}; expected settings instead, by --conf")
    settings = command.settings
    name = settings.get("spark.app.name") or PurePosixPath(command.job).stem
    metadata = {"name": re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")}
    if namespace := settings.get("spark.kubernetes.namespace"):
        metadata["namespace"] = namespace
    spec: dict[str, Any] = {
        "type": "Python",
        "mode": "cluster",
        "sparkVersion": version,
        "mainApplicationFile": command.job,
        "arguments": list(command.arguments),
        "driver": {},
        "executor": {},
        "restartPolicy": {"type": "Never"},
        "sparkConf": {each: value for each, value in settings.items() if each not in _ITS_OWN and each not in FIELDS},
    }
    for setting, (*folder, field) in FIELDS.items():
        if (value := settings.get(setting)) is not None:
            if field in _NUMBERS and not value.isdigit():
                raise QueryError(f"{setting} is {value!r}; expected a whole number")
            place = spec.setdefault(folder[0], {}) if folder else spec
            place[field] = int(value) if field in _NUMBERS else value.split(",") if "deps" in folder else value
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": metadata,
        "spec": spec,
    }


def pod_log(namespace: str, pod: str) -> str | None:
    """The end of what a driver in a pod wrote, by kubectl; None where it cannot be had."""
    if (kubectl := shutil.which("kubectl")) is None:
        return None
    command = [kubectl, "logs", "--namespace", namespace, f"--tail={LOG_LINES}", pod]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None
