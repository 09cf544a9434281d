"""Files of this user's that outlive a process, for those that take them by their path."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

KEPT_DAYS = 30
"""Days that a file is kept after a process has last asked for it."""

FOLDER = re.compile(r"[0-9a-f]{16}")
"""The names of the folders in the cache, by what is in them."""

_in_use: dict[Path, int] = {}
"""Folders that this process has asked for, open and locked until it ends: another one does not remove them."""


def cache_file(name: str, contents: str | bytes, *, executable: bool = False) -> Path:
    """Write a small file to the cache of this user, which nobody else can read.

    Parameters
    ----------
    name
        Path of the file inside a folder of its own.
    contents
        What it holds.
    executable
        Whether it is a program.

    Returns
    -------
    pathlib.Path
        Where it is. The same contents are the same file, and a file never changes, so several processes and
        environments may share it. A file that no process has asked for in `KEPT_DAYS` is removed.

    Examples
    --------
    >>> cache_file("greeting.txt", "hello").read_text()
    'hello'
    """
    data = contents.encode() if isinstance(contents, str) else contents
    folder = hashlib.sha256(f"{name} ".encode() + data).hexdigest()[:16]
    mode = 0o700 if executable else 0o600
    try:
        cache = _private(Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "framefold"))
        (cache / folder).mkdir(exist_ok=True)
        _use(cache / folder)
        path = write(cache / folder / name, data, mode)
        _prune(cache)
        return path
    except (OSError, RuntimeError, AttributeError, ImportError):
        # No home, one that cannot be written, or no users and locks as Unix has them: for this process only.
        return write(Path(tempfile.mkdtemp(prefix="framefold-")) / name, data, mode)


def _private(folder: Path) -> Path:
    """A folder that only this user can enter; OSError where it is another's."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for found in (folder.lstat(), folder.stat()):  # the link, where it is one, and where that leads to
        if found.st_uid != os.getuid():
            raise PermissionError(f"{folder} is not this user's")
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    return folder


def _use(folder: Path) -> None:
    """Have a folder of the cache kept while this process runs, and for some days."""
    import fcntl

    os.utime(folder)
    if folder not in _in_use:
        _in_use[folder] = os.open(folder, os.O_RDONLY)
        fcntl.flock(_in_use[folder], fcntl.LOCK_SH)


def _prune(cache: Path) -> None:
    """Remove what nobody uses any more from the cache."""
    import fcntl

    for folder in cache.iterdir():
        if not FOLDER.fullmatch(folder.name) or folder in _in_use:
            continue
        with suppress(OSError):  # another process prunes, too, or uses it
            if folder.stat().st_mtime > time.time() - KEPT_DAYS * 86_400:
                continue
            handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(handle)


def write(path: Path, data: bytes, mode: int = 0o600) -> Path:
    """Write a file at once: another process never sees half of it, and finds the one that there was as it is."""
    if path.is_file() and path.read_bytes() == data and path.stat().st_mode & 0o777 == mode:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    os.chmod(unfinished, mode)
    os.replace(unfinished, path)
    return path
