"""Servers and programs that tests start on this machine, and the ports that these listen on."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(
    command: Sequence[object],
    log: Path,
    env: Mapping[str, str] | None = None,
    ready: Callable[[], bool] = lambda: True,
    end: int = signal.SIGTERM,
    **more: Any,
) -> Iterator[subprocess.Popen[bytes]]:
    """A process, once it is ready, that is ended at the end; an error with its log if it never is."""
    with log.open("ab") as file:
        words = [str(each) for each in command]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=file, stderr=file, env=env, **more)
    try:
        until = time.monotonic() + 90
        while not ready():
            if process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"{words[0]} did not start: {log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.1)
        yield process
    finally:
        process.send_signal(end)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
