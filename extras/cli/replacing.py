"""Results in the place of earlier ones: written beside them, then renamed, so that a failure leaves the old whole."""

from __future__ import annotations

import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from ...runtime.sources.files import one_line
from .inputs import FileError, opened

PATIENCE = 2.0
"""Seconds for which a folder is removed again and again: the tasks of a cancelled job may still be writing into it."""


@contextmanager
def new_file(out: str) -> Iterator[Path]:
    """A path to write a file to, which takes the place of `out` when the body has ended without an exception.

    It keeps the owner and the permissions of the file that it replaces. Where `out` is a symbolic link, what it leads
    to is replaced. A pipe or a device is written to as it is.

    Raises
    ------
    OSError
        If the file cannot be made, or not take its place.
    """
    target = Path(out).resolve()
    if target.exists() and not target.is_file():
        yield target
        return
    new = _beside(target)
    try:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        yield new
        with open(new, "rb") as file:
            os.fsync(file.fileno())
        _take_after(target, new)
        os.replace(new, target)
    except BaseException as error:
        _clear(new, error)
        raise


@contextmanager
def new_object(address: str) -> Iterator[Path]:
    """A path to write a file to, which goes to an address when the body has ended without an exception.

    It goes to a name beside it first: other file systems show what is only partly written, too.

    Raises
    ------
    OSError
        If it cannot be sent; what is at the address is as it was.
    """
    from pyarrow.fs import LocalFileSystem, copy_files

    system, target = opened(address)
    folder, _, name = target.rpartition("/")
    new = f"{folder}/.{name[:40]}-{uuid.uuid4().hex[:12]}" if folder else f".{name}"
    with TemporaryDirectory(prefix="framefold-") as place:
        path = Path(place, name)
        yield path
        try:
            copy_files(str(path), new, source_filesystem=LocalFileSystem(), destination_filesystem=system)
            system.move(new, target)
        except BaseException:
            with suppress(OSError):
                system.delete_file(new)
            raise


@contextmanager
def new_folder(out: str) -> Iterator[Path]:
    """A path to make a folder at, which takes the place of `out`, like :func:`new_file` for a file.

    A folder cannot replace another in one step: the old one is renamed, then the new one, then the old one removed.

    Raises
    ------
    FileError
        If the old one cannot be removed; the new one has its place by then.
    OSError
        If the new one cannot take its place; the old one is there again.
    """
    target = Path(out).resolve()
    new = _beside(target)
    try:
        yield new
        _take_after(target, new)
        old = _swap(target, new)
    except BaseException as error:
        _clear(new, error)
        raise
    try:
        _remove(old)
    except OSError as error:
        raise FileError(
            f"{out!r} is written, but the earlier result stays behind in {str(old)!r}, which cannot be removed: "
            f"{one_line(error)}"
        ) from error


def _beside(target: Path) -> Path:
    """A name of its own in the folder of `target`, hidden, and never too long for a file system."""
    return target.with_name(f".{target.name[:40]}-{uuid.uuid4().hex[:12]}")


def _swap(target: Path, new: Path) -> Path:
    """Give a new folder its place; where the old one is now, if there was one."""
    old = new.with_name(f"{new.name}-old")
    try:
        if target.exists():
            os.rename(target, old)
        os.rename(new, target)
    except BaseException as error:
        if old.exists() and not target.exists():
            try:
                os.rename(old, target)
            except OSError as another:
                error.add_note(
                    f"the earlier result stays behind in {str(old)!r}, which cannot be renamed back: "
                    f"{one_line(another)}"
                )
        raise
    return old


def _take_after(target: Path, new: Path) -> None:
    """Give a new file or folder the owner and the permissions of what it replaces, as far as that is allowed."""
    if not target.exists() or target.is_dir() != new.is_dir():
        return
    past = target.stat()
    with suppress(PermissionError):
        os.chown(new, past.st_uid, past.st_gid)
    os.chmod(new, stat.S_IMODE(past.st_mode))


def _clear(new: Path, error: BaseException) -> None:
    """Remove what a failed write has left; where that fails too, the error says so."""
    try:
        _remove(new)
    except OSError as another:
        error.add_note(f"{str(new)!r} stays behind, which cannot be removed: {one_line(another)}")


def _remove(path: Path) -> None:
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    until = time.monotonic() + PATIENCE
    while path.exists():
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            continue
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
