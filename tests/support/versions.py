"""Which versions a run of the tests was of, for the table that docs/make_versions.py fills."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import time
from pathlib import Path
from typing import Any

PACKAGES = ("pyspark", "pyspark-client")


def record(reporter: Any, folder: Path, remote: bool) -> Path:
    """A file in a folder with the versions of a run, and how its tests went.

    Parameters
    ----------
    reporter
        pytest's terminal reporter.
    folder
        Where the file goes.
    remote
        Whether the tests had their session through Spark Connect.
    """
    installed = {name: each for name in (*PACKAGES, "pandas") if (each := version(name)) is not None}
    counts = {name: len(reporter.stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
    found = {
        "spark": next((installed[name] for name in PACKAGES if name in installed), ""),
        "python": platform.python_version(), "pandas": installed.get("pandas", ""),
        "session": "Connect" if remote else "classic", "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "passed": counts["passed"], "failed": counts["failed"] + counts["error"], "skipped": counts["skipped"],
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found['spark']}-{found['python']}-{found['session']}.json"
    path.write_text(json.dumps(found) + "\n")
    return path


def version(package: str) -> str | None:
    """Of a package, where it is installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
