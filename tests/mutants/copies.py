"""Where do mutants run?

In ``.venv/mutants``: a clone of the repository at one commit, and a virtual environment in which this clone is
installed. The environment reads all other packages from ``.venv``. Files of the clone are changed in place, because
Spark's Python workers import the installed package and ignore ``PYTHONPATH``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = ROOT / ".venv" / "mutants"
TREE = HERE / "tree"
PYTHON = HERE / "env" / "bin" / "python"
ROOMS = ("aggregators", "runtime", "spark", "api", "extras")
BUILT_FROM = ("pyproject.toml", "setup.py", "aggregators/loops")
"""If these change, the clone is installed again."""


def git(*arguments: str, folder: Path = ROOT) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make(commit: str) -> None:
    """Make the clone and its environment, or bring them to a commit."""
    HERE.mkdir(parents=True, exist_ok=True)
    before = git("rev-parse", "HEAD", folder=TREE) if TREE.exists() else None
    if before is None:
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(TREE)], check=True)
    git("fetch", "--quiet", "--tags", str(ROOT), commit, folder=TREE)
    git("checkout", "--quiet", "--force", "--detach", commit, folder=TREE)
    link_shared_data()
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HERE / "env")], check=True)
        before = None
    packages = next(PYTHON.parents[1].glob("lib/python*/site-packages"))
    # Python runs the .pth files of its own environment only: the package installed in .venv is not found.
    (packages / "framefold_packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (packages / "framefold_startup.pth").write_text("import framefold_startup; framefold_startup.start()\n")
    for name in ("startup.py", "in_pytest.py"):
        shutil.copy(Path(__file__).with_name(name), packages / f"framefold_{name}")
    changed = before is None or git("diff", "--name-only", before, commit, "--", *BUILT_FROM)
    if changed or not list(TREE.glob("aggregators/loops/*.so")):
        pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", "--no-deps", "--editable", str(TREE)], check=True)


def link_shared_data() -> None:
    """Tests read shared data from a folder next to the repository, or next to the one that a worktree belongs to."""
    link = HERE / "shared"
    for place in (ROOT, Path(git("rev-parse", "--path-format=absolute", "--git-common-dir")).parent):
        if not link.exists() and (place.parent / "shared").is_dir():
            link.symlink_to(place.parent / "shared")


def pytest(arguments: list[str], output: Path, limit: float | None = None, **environment: str) -> int | None:
    """Run pytest in the clone; return its exit code, or None if it took longer than ``limit`` seconds."""
    variables = {
        "HYPOTHESIS_PROFILE": "few",
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "PATH": f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": str(PYTHON.parents[1]),
        **environment,
    }
    command = [str(PYTHON), "-m", "pytest", "-p", "framefold_in_pytest", "-p", "no:cacheprovider", *arguments]
    with output.open("w") as file:
        process = subprocess.Popen(
            command, cwd=TREE, env=variables, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_session(process.pid)
            process.wait()


def end_session(leader: int) -> None:
    """End pytest and all programs that it started, such as a JVM and its Python workers."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        ended = False
        for each in map(int, filter(str.isdigit, os.listdir("/proc"))):
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(each) == leader:
                    os.kill(each, number)
                    ended = True
        time.sleep(ended)
