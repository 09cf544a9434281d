"""The compiled loops, where there are any: beside this module, or in the zip that it was imported from.

Executors import framefold from a zip, and no system loads a library from inside one: it is written to a file first.
"""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from importlib.resources import as_file, files
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

FILES = tuple(f"loops{suffix}" for suffix in EXTENSION_SUFFIXES)
"""What their file may be called: by that, a Python tells whether it can load them."""


def found() -> ModuleType | None:
    """The loops; None if framefold was installed without a compiler, or for another Python or system than this."""
    try:
        from . import loops
    except ImportError:
        return from_zip()
    return loops


def from_zip() -> ModuleType | None:
    """The same from a file that is written for it, and gone once they are loaded."""
    for name in FILES:
        file = files(__package__) / name
        if file.is_file():
            try:
                with as_file(file) as path:
                    return loaded(path)
            except (ImportError, OSError):  # made for another system, or no file may be written or run here
                return None
    return None


def loaded(path: Path) -> ModuleType:
    """The loops in a file."""
    spec = spec_from_file_location(f"{__package__}.loops", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


loops = found()
