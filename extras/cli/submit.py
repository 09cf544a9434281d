"""``framefold submit``: a job, with what executors need, handed to spark-submit."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING

import typer

from ...aggregators.errors import QueryError
from .job import require_spark

if TYPE_CHECKING:
    from .submission.command import Command
    from .submission.follow import Log

OURS = ("--environment", "--log")
"""The options of this command that take a value."""

SWITCHES = ("--dry-run", "--manifest")
"""Those that take none; both print something and run nothing."""

# What runs a command of framefold where spark-submit wants a Python file.
_SCRIPT = """\
import sys

try:
    from framefold.extras.cli import main
except ModuleNotFoundError as error:
    sys.exit(
        f"framefold: the driver runs {sys.executable}, which lacks {error.name}; expected --environment, or "
        "spark.pyspark.python to name a Python with framefold installed"
    )
if code := main(sys.argv[1:]):
    sys.exit(code)
"""


def submit_job(
    arguments: Sequence[str], *, dry_run: bool, manifest: bool, environment: str | None, log: str | None
) -> int:
    """Hand a job to spark-submit and follow it.

    Parameters
    ----------
    arguments
        Options of spark-submit, the job, its arguments.
    dry_run
        Print the line and run nothing.
    manifest
        Print what the Spark operator takes instead.
    environment
        A virtual environment, or an archive of one, that executors run.
    log
        Where the whole log is kept.

    Returns
    -------
    int
        The exit code of the job.

    Raises
    ------
    QueryError
        If the arguments have no job, or something else is wrong with them.
    EngineError
        If there is no Spark, or no spark-submit.
    JavaError
        If there is no Java.
    """
    require_spark("")
    from ...spark.session.java import ensure_java
    from .submission import archive, command, follow, kubernetes, redaction

    given = {"--environment": environment, "--log": log}
    given |= {name: "" for name, asked_for in zip(SWITCHES, (dry_run, manifest), strict=True) if asked_for}
    asked = command.read(_without_ours(arguments, given))
    environment, log, dry = given["--environment"], given["--log"], "--dry-run" in given
    check_environment(asked, environment)
    if "--manifest" in given:
        print(json.dumps(kubernetes.application(_shown(asked), importlib.metadata.version("pyspark")), indent=2))
        return 0
    kubernetes.check(asked)
    ensure_java()
    with TemporaryDirectory(prefix="framefold-") as folder:
        packed = archive.pack_environment(environment, Path(os.getcwd() if dry else folder)) if environment else None
        line, variables = _line(_shown(asked) if dry else asked, asked, packed)
        if dry:
            print(command.shown(line, variables))
            return 0
        with _opened(log) as kept:
            followed = follow.Log(kept, follow.to_stderr, _note, redaction.hiding(asked))
            code = _followed(asked, line, os.environ | variables, followed)
    if followed.pod or (asked.on_cluster and followed.application):
        _bring_back(followed)
    if code:
        where = f"; its whole log is in {log}" if log else ""
        _note(f"the job ended with exit code {code}{where}")
    return code


def check_environment(asked: Command, environment: str | None) -> None:
    """QueryError where a job has no executors that could get an environment."""
    if environment is not None and asked.is_local:
        raise QueryError(
            f"--environment is for the executors of a cluster, and --master is {asked.master or 'local[*]'!r}; "
            "expected another master, or no --environment"
        )
    if environment is not None and asked.remote is not None:
        raise QueryError(
            "--environment cannot go to the executors of a Connect server (--remote), which run the Python that it was "
            "started with; expected no --environment"
        )


def _line(shown: Command, asked: Command, environment: Path | None) -> tuple[list[str], dict[str, str]]:
    """The line of spark-submit for a job, as it is shown, and the variables that it needs."""
    from ...spark.session.cache import cache_file
    from .submission import archive, command, kubernetes

    is_command = asked.job in command.COMMANDS
    job = None if is_command or "://" in asked.job else Path(asked.job)
    name = re.sub(r"[^\w.-]", "_", Path(asked.job).stem)  # the archive is one of a list of paths
    files = None if kubernetes.is_in_image(asked) else archive.build(f"{name}-files", job)
    script = cache_file("framefold_command.py", _SCRIPT) if is_command else shown.job
    if is_command:
        shown = command.Command(shown.options, shown.job, (shown.job, *shown.arguments))
    return shown.line(script, files, environment), shown.environment()


def _followed(asked: Command, line: list[str], variables: dict[str, str], followed: Log) -> int:
    """The exit code of a job; where it is interrupted, the exception says what would end it."""
    from .submission import follow

    try:
        return follow.follow(line, variables, followed)
    except KeyboardInterrupt as error:
        if followed.application and asked.on_cluster:
            end = f"yarn application -kill {followed.application}"
            if followed.pod:
                end = f"kubectl delete pod --namespace {' '.join(followed.pod)}"
            error.add_note(f"{followed.application} goes on; `{end}` ends it")
        raise


def _shown(asked: Command) -> Command:
    """The job as it is printed, without what is secret in its settings."""
    from .submission import redaction

    shown, secret = redaction.without_secret_settings(asked)
    if secret:
        _note(f"not shown are the values of {', '.join(secret)}, which are secret: put them in where it runs")
    return shown


def _without_ours(arguments: Sequence[str], given: dict[str, str | None]) -> list[str]:
    """Take the options of this command from among those of spark-submit, before the job."""
    from .submission import command

    kept: list[str] = []
    at = 0
    for words in command.leading(arguments, {*command.SWITCHES, *SWITCHES}):
        at += len(words)
        name, equals, value = words[0].partition("=")
        if name not in (*SWITCHES, *OURS):
            kept += words
        elif name in OURS and not equals and len(words) == 1:
            raise QueryError(f"{name} has no value; expected a path")
        else:
            given[name] = value if equals else words[-1]
    return [*kept, *arguments[at:]]


def _opened(log: str | None) -> AbstractContextManager[IO[str] | None]:
    try:
        return nullcontext() if log is None else open(log, "w", encoding="utf-8", newline="")
    except OSError as error:
        raise QueryError(f"--log {log!r} cannot be written: {error.strerror}") from error


def _bring_back(followed: Log) -> None:
    """What a driver on the cluster wrote, as if it had run here: the end of its stdout and of its log.

    The log of a pod has both in one.
    """
    from .submission import follow, kubernetes

    logged: str | None = ""
    if followed.pod:
        written = kubernetes.pod_log(*followed.pod)
        written = written and follow.without_own_lines(written, mixed=True)
        place = f"kubectl logs --namespace {' '.join(followed.pod)}"
    else:
        written, logged = (follow.driver_output(followed, stream) for stream in ("stdout", "stderr"))
        place = f"yarn logs -applicationId {followed.application}"
    sys.stdout.write(followed.hide(written or ""))
    sys.stdout.flush()
    follow.to_stderr(followed.hide(follow.without_own_lines(logged or "")))
    if written is None or logged is None:
        _note(f"the driver's log is on the cluster: {place}")


def _note(message: str) -> None:
    typer.echo(f"framefold: {message}", err=True)
