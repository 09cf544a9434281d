"""A PostgreSQL server of a test's own: Debian's, on a socket in a folder that goes away with it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ..support.processes import running

OLDEST = 15
"""The first release with ``NULLS NOT DISTINCT``."""


def programs() -> Path:
    """The folder of initdb and postgres; without one the test is skipped."""
    found = {int(path.parts[-3]): path.parent for path in Path("/usr/lib/postgresql").glob("[0-9]*/bin/initdb")}
    if not found or max(found) < OLDEST:
        pytest.skip(f"there is no PostgreSQL from {OLDEST} on: apt-get install postgresql")
    return found[max(found)]


@contextmanager
def server() -> Iterator[dict[str, str]]:
    """What libpq's environment says of a running server, empty and without a password."""
    folder, bin = Path(tempfile.mkdtemp(prefix="pg-")), programs()
    other: dict[str, Any] = {}
    if os.geteuid() == 0:  # which the server refuses to run as
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        other = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    data = str(folder / "data")
    try:
        made = [str(bin / "initdb"), "-D", data, "-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(made, cwd=folder, check=True, stdout=subprocess.DEVNULL, **other)
        command = [str(bin / "postgres"), "-D", data, "-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off"]
        asked = [str(bin / "pg_isready"), "-q", "-h", str(folder)]
        ready = lambda: subprocess.run(asked, check=False).returncode == 0  # noqa: E731
        with running(command, folder / "log", ready=ready, cwd=folder, **other):
            yield {"PGHOST": str(folder), "PGUSER": "tests", "PGDATABASE": "postgres"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
