"""framefold, and a user's own operations, on the executors."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import io
import marshal
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
import threading
import weakref
import zipfile
from collections import ChainMap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import CodeType, ModuleType
from typing import Any

import cloudpickle
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ...aggregators.errors import OperationError
from ...aggregators.loops import native
from .versions import check

PACKAGE = __name__.split(".")[0]
# The rooms need not lie side by side on disk (an editable install maps them), so each is looked up.
# cloudpickle goes with them: it is pure Python, and executors that have PySpark need not have it.
SHIPPED = (PACKAGE, f"{PACKAGE}.aggregators", f"{PACKAGE}.runtime", f"{PACKAGE}.spark", "cloudpickle")

HERE = platform.python_version()
THE_WORKERS = "the workers of Spark run"

Batches = Iterator[pa.RecordBatch]
Task = Callable[..., Batches]

_shipped: weakref.WeakSet[SparkSession] = weakref.WeakSet()
_registering = threading.Lock()


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


def pack(job: object) -> bytes:
    """Pickle what a task needs so that executors can open it though they have none of the user's modules.

    This is cloudpickle itself and not PySpark's copy, because states of Python objects are pickled with it too, and
    each copy keeps its own table of classes: a state whose class was pickled by value comes back as one of the user's
    own class, not of a copy.

    Raises
    ------
    OperationError
        If an operation holds something that cannot be pickled.
    """
    payload = io.BytesIO()
    with _registering, _by_value():
        try:
            _Pickler(payload).dump(job)
        except Exception as error:
            raise OperationError(f"the query cannot be sent to the executors, it does not pickle: {error}") from error
    return payload.getvalue()


def _code_with_filename(code: CodeType) -> tuple[Callable[..., CodeType], tuple[object, ...]]:
    return _code_of, (*cloudpickle.Pickler.dispatch_table[CodeType](code), code.co_filename)


def _code_of(make: Callable[..., CodeType], arguments: tuple[object, ...], filename: str) -> CodeType:
    return make(*arguments).replace(co_filename=filename)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """cloudpickle's, with the file of each function: without it (3.1.3 leaves it out) tracebacks lose their lines."""

    dispatch_table = ChainMap({CodeType: _code_with_filename}, cloudpickle.Pickler.dispatch_table)


def unpack(payload: bytes) -> Any:
    """Open what `pack` made."""
    return cloudpickle.loads(payload)


def stage(
    rows: DataFrame, function: Task, *arguments: object, schema: t.StructType, failed: Task | None = None
) -> DataFrame:
    """Rows through a function of framefold's in tasks, lazily.

    Parameters
    ----------
    rows
        What the tasks are given.
    function
        A function of a module of framefold. It is called with ``arguments`` and a task's batches, and gives batches.
    arguments
        Travel as `pack` has them.
    schema
        Of what the function gives.
    failed
        A function that makes batches of the report of an error that is not tried again; None: the task fails.
    """
    ship(rows.sparkSession)
    return rows.mapInArrow(task(rows.sparkSession, function, *arguments, failed=failed), schema)


def task(
    spark: SparkSession, function: Task, *arguments: object, failed: Task | None = None
) -> Callable[[Batches], Batches]:
    """The function that Spark pickles, for a session.

    It names no module of framefold's until it is called: a worker unpickles it before the zip is on its path.
    """
    names = [each and (each.__module__, each.__name__) for each in (function, failed)]
    worker, payload = f"{PACKAGE}.spark.session.worker", pack(arguments)
    workers, expected, imported = THE_WORKERS, python_advice(spark), importer(spark)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            produced: Iterator[pa.RecordBatch] = imported(worker).run(*names, payload, batches)
        except ModuleNotFoundError as error:
            import platform
            import sys

            here = f"{sys.executable} (Python {platform.python_version()})"
            raise ImportError(f"{workers} {here}, which lacks {error.name}; {expected}") from None
        return produced

    run.__name__ = f"{PACKAGE}_{function.__name__}"  # Spark shows it in plans
    return run


def python_advice(spark: SparkSession) -> str:
    """The advice part of an error message: which setting names the workers' Python.

    A server of Connect takes the Python of its workers from its own environment only.
    """
    if isinstance(spark, SparkSession):
        where, when = "PYSPARK_PYTHON, or spark.pyspark.python of spark-submit,", "Spark"
    else:
        where, when = "PYSPARK_PYTHON in the environment of the Spark Connect server", "it"
    return (
        f"expected {where} to name a Python {HERE.rpartition('.')[0]} with pyarrow and numpy when {when} starts; "
        f"this process runs {sys.executable} (Python {HERE})"
    )


def importer(spark: SparkSession) -> Callable[[str], ModuleType]:
    """How a task of a session imports modules of framefold.

    Through Connect a session's files are in a folder of their own within Spark's. Spark (4.3.0) gives those of a stream
    to its executors too, but the path of the workers has the folder around it, where the zip is not. There it is copied
    to, once an executor: Spark deletes folders of sessions that it has not seen for a while.
    """
    if isinstance(spark, SparkSession):
        return import_module
    package, (folder, name) = PACKAGE, os.path.split(package_zip())
    size = os.path.getsize(os.path.join(folder, name))

    def imported(module: str) -> ModuleType:
        import os
        import sys
        from glob import escape, iglob
        from shutil import copyfile

        target = next((path for path in sys.path if os.path.basename(path) == name), None)
        if target is None or name in str(getattr(sys.modules.get(package), "__file__", None)):
            return import_module(module)
        root, copy = os.path.dirname(target), f"{target}.{os.getpid()}"
        for found in () if os.path.exists(target) else iglob(os.path.join(escape(root), "*", name)):
            try:
                if os.path.getsize(found) == size:  # else it is still being written
                    copyfile(found, copy)
                    os.replace(copy, target)
                    break
            except OSError:  # it has just been deleted, and there is another
                continue
        if os.path.exists(target):
            # Of sessions of several versions, which share such workers: what was imported is another one's.
            for other in [each for each in sys.modules if each.split(".")[0] == package]:
                del sys.modules[other]
            sys.path.remove(target)
            sys.path.insert(0, target)
            sys.path_importer_cache.pop(target, None)
        return import_module(module)

    return imported


@contextmanager
def _by_value() -> Iterator[None]:
    """Pickle what the user's own modules define by value, not as a name to import."""
    registered = []
    try:
        for module in list(sys.modules.values()):
            if _is_users(module) and module.__name__ not in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.register_pickle_by_value(module)
                registered.append(module)
        yield
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)


def _is_users(module: Any) -> bool:
    """True for modules that executors will not have: neither Python's own, nor installed, nor framefold."""
    if not isinstance(module, ModuleType):
        return False
    path = getattr(module, "__file__", None)
    if path is not None and not _is_own(path):  # nearly all modules
        return False
    # What is shipped as a zip may run from that zip here; __main__ goes by value anyway.
    if sys.modules.get(module.__name__) is not module:
        return False
    if module.__name__.split(".")[0] in {*SHIPPED, "pyspark", "__main__"}:
        return False
    # Built in, a namespace package, or made by hand: only the last of those without a path is the user's.
    return path is not None or getattr(module, "__spec__", None) is None


@cache
def _is_own(path: str) -> bool:
    return not os.path.realpath(path).startswith(_installed())


@cache
def _installed() -> tuple[str, ...]:
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    places |= {path for path in sys.path if os.path.basename(path) in {"site-packages", "dist-packages"}}
    places |= {os.path.dirname(os.__file__)}  # in a virtual environment the standard library is elsewhere
    return tuple(os.path.join(os.path.realpath(place), "") for place in places if place)
