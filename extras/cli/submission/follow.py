"""A running spark-submit: its log, up to how the job ended."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

LOG_BYTES = 1 << 16
"""How much of the end of a driver's log is fetched."""

PATIENCE = 30.0
"""Seconds that an interrupted spark-submit, or a log on another machine, may take."""

# A line of Spark's own log, in the layout that it has unless told otherwise; those below a warning are not shown.
_LOGGED = re.compile(r"^\d\d/\d\d/\d\d \d\d:\d\d:\d\d (\w+) ")
_UNSHOWN = frozenset({"INFO", "DEBUG", "TRACE"})
_SHOWN = ("Exception in thread", "Error", "WARNING", "Caused by")
"""How lines of a JVM begin that are not part of the message before them."""
_REPORT = re.compile(r"Application (?:report|status) for (\S+) \((?:state|phase): (\w+)\)")  # YARN, Kubernetes
_POD = re.compile(r"submission ID (\S+):(\S+)")
_TRACKED = re.compile(r"tracking URL: (https?://[^/\s]+)/")
_DRIVER_LOG = re.compile(r"Driver Logs \((stdout|stderr)\): (\S+)")
_EXIT_CODE = re.compile(r"User application exited with status (\d+)|^\s+exit code: (\d+)")


@dataclass
class Log:
    """What spark-submit writes to its log, and what that says.

    Parameters
    ----------
    kept
        Where the whole log goes; None for nowhere.
    show
        Gets what a user should see: warnings, errors, progress.
    tell
        Gets the state of the application on a cluster, whenever it is another one.
    hide
        Gives a line without what is secret in it.
    """

    kept: IO[str] | None
    show: Callable[[str], object]
    tell: Callable[[str], object]
    hide: Callable[[str], str] = str
    application: str | None = None
    state: str | None = None
    exit_code: int | None = None
    driver_logs: dict[str, str] = field(default_factory=dict)
    manager: str | None = None
    """The address of YARN's ResourceManager."""
    pod: tuple[str, str] | None = None
    """The namespace and the name of a driver's pod."""
    _hidden: bool = False

    def take(self, line: str) -> None:
        """The next line, with its end."""
        line = self.hide(line)
        if self.kept is not None:
            self.kept.write(line)
        if report := _REPORT.search(line):
            if report.groups() != (self.application, self.state):
                self.tell(f"{report[1]} is {report[2]}")
            self.application, self.state = report.groups()
        if address := _TRACKED.search(line):
            self.manager = address[1]
        if pod := _POD.search(line):
            self.pod = (pod[1], pod[2])
        if place := _DRIVER_LOG.search(line):
            self.driver_logs[place[1]] = place[2]
        if code := _EXIT_CODE.search(line):
            self.exit_code = int(code[1] or code[2])
        logged = _LOGGED.match(line)
        # Messages have further lines. What the job writes is not among them: spark-submit has it on its stdout.
        self._hidden = logged[1] in _UNSHOWN if logged else self._hidden and not line.startswith(_SHOWN)
        if not self._hidden or line.endswith("\r"):  # progress
            self.show(line)


def follow(line: Sequence[str], environment: Mapping[str, str], log: Log) -> int:
    """Run spark-submit to its end; its stdout is that of this process.

    Returns
    -------
    int
        The exit code of the job, as far as spark-submit says it, else its own.
    """
    process = subprocess.Popen(line, env=dict(environment), stderr=subprocess.PIPE)
    assert process.stderr is not None
    # Progress ends in a carriage return: with newline="" that ends a line, too, and stays what it is.
    lines = io.TextIOWrapper(process.stderr, encoding="utf-8", errors="replace", newline="")
    try:
        for each in iter(lines.readline, ""):
            log.take(each)
        code = process.wait()
    except KeyboardInterrupt:
        _stop(process)
        raise
    # Of a driver in a pod that has failed spark-submit makes no failure of its own.
    if log.exit_code and (code or log.pod):
        return log.exit_code
    return 128 - code if code < 0 else code


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Wait for a process that has been interrupted as well; end it where it does not end itself."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def driver_output(log: Log, stream: str) -> str | None:
    """The end of what a driver on a cluster wrote to its stdout or stderr; None where it cannot be had."""
    with suppress(urllib.error.URLError, OSError, ValueError, LookupError):
        # Of a driver that has failed early Spark does not say where it ran; the ResourceManager does.
        place = log.driver_logs.get(stream) or _last_attempt(log)
        # The page for people has the container's name in its address; that of the REST API is plain text.
        found = re.match(r"(https?://[^/]+)/node/containerlogs/([^/]+)/", place)
        if found is not None:
            address = f"{found[1]}/ws/v1/node/containerlogs/{found[2]}/{stream}?size=-{LOG_BYTES}"
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                return plain(answer.read().decode(errors="replace"))
    return None


def _last_attempt(log: Log) -> str:
    """The address of the logs of the last try to run an application."""
    address = f"{log.manager}/ws/v1/cluster/apps/{log.application}/appattempts"
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        attempts = json.load(answer)["appAttempts"]["appAttempt"]
    return str(max(attempts, key=lambda each: int(each["id"]))["logsLink"])


def plain(answer: str) -> str:
    r"""The contents of a log in an answer of a NodeManager, without what stands around it.

    >>> plain("Container: c on h\nLogType:stdout\nLogLength:3\nLogContents:\nhi\nEnd of LogType:stdout\n***\n")
    'hi\n'
    """
    contents = re.split(r"^Log ?Contents:\n", answer, maxsplit=1, flags=re.MULTILINE)[-1]
    return contents.rpartition("End of LogType:")[0] or contents


def without_own_lines(text: str, *, mixed: bool = False) -> str:
    """A driver's log without the lines that are not shown while one is followed.

    Where the job's own output is in it, mixed with the log, what follows a message that is not shown is that output.
    """
    if mixed:
        lines = text.splitlines(keepends=True)
        return "".join(each for each in lines if not ((m := _LOGGED.match(each)) and m[1] in _UNSHOWN))
    shown: list[str] = []
    log = Log(None, shown.append, lambda _: None)
    for line in text.splitlines(keepends=True):
        log.take(line)
    return "".join(shown)


def to_stderr(text: str) -> None:
    """Write text as it is, at once."""
    sys.stderr.write(text)
    sys.stderr.flush()
