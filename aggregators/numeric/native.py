"""The compiled loops over rows, or None: beside this module, or in the zip that executors import framefold from.

Each loop is faster than its twin in numpy, which is used where there is no compiler.
"""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.resources import as_file, files
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

FILES = tuple(f"loops{suffix}" for suffix in EXTENSION_SUFFIXES)
"""File names of libraries that this Python can load."""


def compiled_loops(package: str) -> ModuleType | None:
    """The loops of a package; None if installed without a compiler, or for another Python or system than this."""
    try:
        return import_module(f"{package}.loops")
    except ImportError:
        return from_zip(package)


def from_zip(package: str) -> ModuleType | None:
    """The loops in the zip of a package, by a temporary file: no library can be loaded from inside a zip."""
    for name in FILES:
        file = files(package) / name
        if file.is_file():
            try:
                with as_file(file) as path:
                    return loaded(package, path)
            except (ImportError, OSError):  # made for another system, or no file may be written or run here
                return None
    return None


def loaded(package: str, path: Path) -> ModuleType:
    """The loops in a file."""
    spec = spec_from_file_location(f"{package}.loops", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


loops = compiled_loops(__package__)
