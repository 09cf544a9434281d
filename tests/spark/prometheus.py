"""A Prometheus server of a test's own: Debian's, with the configuration that is among the examples."""

from __future__ import annotations

import json
import shutil
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ..support.processes import free_port, running

FOLDER = Path(__file__).parents[2] / "examples" / "watching"
OURS = "127.0.0.1:9108"
"""Where the example shows its figures."""


def program(name: str) -> str:
    """The path of ``prometheus`` or ``promtool``; without it the test is skipped."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name} on the PATH: apt-get install prometheus")
    return found


class Server:
    """What a running Prometheus is asked."""

    def __init__(self, address: str) -> None:
        self.address = address

    def get(self, path: str, **asked: str) -> Any:
        """The data of an answer of its HTTP API."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(asked)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def values(self, expression: str) -> list[float]:
        """What an expression in PromQL gives now."""
        return [float(each["value"][1]) for each in self.get("query", query=expression)["result"]]


@contextmanager
def server(folder: Path, port: int) -> Iterator[Server]:
    """One that reads the figures on a port of this machine each second, with the rules of the example."""
    said = (FOLDER / "prometheus.yml").read_text()
    assert said.count(OURS) == 1
    config = folder / "prometheus.yml"
    config.write_text(said.replace(OURS, f"127.0.0.1:{port}").replace("5s", "1s"))
    shutil.copy(FOLDER / "alerts.yml", folder)
    own = free_port()
    command = [program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
               f"--web.listen-address=127.0.0.1:{own}", "--log.level=error"]  # fmt: skip

    def ready() -> bool:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{own}/-/ready", timeout=5):
            return True
        return False

    with running(command, folder / "log", ready=ready, cwd=folder):
        yield Server(f"127.0.0.1:{own}")
