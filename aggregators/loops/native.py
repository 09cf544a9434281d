"""Where the compiled loops are: beside this module, or in the zip that executors import framefold from."""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.resources import as_file, files
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

LOOPS = ("rows", "ranges", "windows")
FILES = frozenset(f"{name}{suffix}" for name in LOOPS for suffix in EXTENSION_SUFFIXES)
"""File names of the libraries that this Python can load."""


def compiled_loops(name: str) -> ModuleType | None:
    """The loops of a name; None if installed without a compiler, or for another Python or system than this."""
    try:
        return import_module(f"{__package__}.{name}")
    except ImportError:
        return from_zip(name)


def from_zip(name: str) -> ModuleType | None:
    """The loops in the zip of the package, by a temporary file: no library can be loaded from inside a zip."""
    for suffix in EXTENSION_SUFFIXES:
        file = files(__package__) / f"{name}{suffix}"
        if file.is_file():
            try:
                with as_file(file) as path:
                    spec = spec_from_file_location(f"{__package__}.{name}", path)
                    assert spec is not None
                    assert spec.loader is not None
                    module = module_from_spec(spec)
                    spec.loader.exec_module(module)
                    return module
            except (ImportError, OSError):  # made for another system, or no file may be written or run here
                return None
    return None
