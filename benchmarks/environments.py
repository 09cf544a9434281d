"""An environment for each peer that cannot share ours: made by pip from the peer's extra in pyproject.toml."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

from .child import ROOT

PLACE = Path(sys.prefix) / "peers"
LIMIT = 900
"""Seconds that an installation may take."""


class Unavailable(Exception):
    """A peer cannot be installed here."""


def requirements(extra: str) -> list[str]:
    """The packages that an extra asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return list(project["optional-dependencies"][extra])


def python_of(extra: str) -> Path:
    """The interpreter of the environment for an extra, which is made where there is none; ours if there is no extra.

    Raises
    ------
    Unavailable
        If that fails, with the last line of what pip said.
    """
    if not extra:
        return Path(sys.executable)
    wanted = requirements(extra)
    stamp = hashlib.sha256("\n".join(wanted).encode()).hexdigest()
    folder = PLACE / extra
    python = folder / "bin" / "python"
    if (folder / "made").is_file() and (folder / "made").read_text() == stamp:
        return python
    print(f"Making an environment for {extra}", flush=True)
    venv.create(folder, clear=True, with_pip=True)
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *wanted]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"pip install {' '.join(wanted)} took more than {LIMIT} s") from error
    if done.returncode:
        raise Unavailable(f"pip install {' '.join(wanted)}: {done.stderr.strip().splitlines()[-1:]}")
    (folder / "made").write_text(stamp)
    return python
