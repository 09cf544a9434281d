"""The zip of framefold that executors import."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import marshal
import os
import shutil
import sys
import tempfile
import weakref
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from pyspark.sql import SparkSession

from ...aggregators.loops import native
from .versions import check

PACKAGE = __name__.split(".")[0]
# The rooms need not lie side by side on disk (an editable install maps them), so each is looked up.
# cloudpickle goes with them: it is pure Python, and executors that have PySpark need not have it.
SHIPPED = (PACKAGE, *(f"{PACKAGE}.{room}" for room in ("aggregators", "extras", "runtime", "spark")), "cloudpickle")

_shipped: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def ship(spark: SparkSession) -> None:
    """Add this installation of framefold to what a session's executors can import, once per session.

    It goes in front of any other framefold they have, so that both sides always run the same code. Works for
    classic sessions and for Connect, where the file is uploaded to the server.
    """
    if spark in _shipped:
        return
    check(spark.version, "the Spark of the session", "that of its cluster or server")
    spark.addArtifacts(package_zip(), pyfile=True)
    _shipped.add(spark)


@cache
def package_zip() -> str:
    """Write framefold's own source to a zip and return its path.

    The name has the hash of the contents: the same code is the same file, which a session takes once. Workers of the
    same Python version use the compiled code in it, others the source.

    Returns
    -------
    str
        Path of a zip that can be put on a Python path.
    """
    sources = dict(sorted(each for package in SHIPPED for each in _files(files(package), package.replace(".", "/"))))
    digest = hashlib.sha256(sys.version.encode())
    for name, text in sources.items():
        digest.update(f"{name}:{len(text)}:".encode() + text)
    name = f"{PACKAGE}-{digest.hexdigest()[:16]}.zip"
    folder = tempfile.mkdtemp(prefix=f"{PACKAGE}-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = os.path.join(folder, name)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in sources.items():
            # A fixed date: Connect refuses a file whose name it knows and whose bytes differ.
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), text)
            if path.endswith(".py"):
                archive.writestr(zipfile.ZipInfo(f"{path}c", (1980, 1, 1, 0, 0, 0)), _compiled(path, text))
    return target


def _compiled(path: str, text: bytes) -> bytes:
    code = compile(text, f"{PACKAGE}.zip/{path}", "exec", dont_inherit=True)
    unchecked_hash = (1).to_bytes(4, "little") + importlib.util.source_hash(text)
    return importlib.util.MAGIC_NUMBER + unchecked_hash + marshal.dumps(code)


def _files(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_file() and (entry.name.endswith((".py", ".typed")) or entry.name in native.FILES):
            yield f"{path}/{entry.name}", entry.read_bytes()
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry, f"{path}/{entry.name}")
