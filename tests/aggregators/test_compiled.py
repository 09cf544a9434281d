"""Compiled loops: beside the module, in a zip, for another system, or not there."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.resources import files
from pathlib import Path

import pytest

from framefold.aggregators.loops import native

PROGRAM = """
import sys
sys.path.insert(0, {zip!r})
{first}
from package import native
print(native.__file__)
rows = native.compiled_loops("rows")
print(rows)
if rows is not None:
    import numpy as np
    sums = np.zeros(1, np.int64)
    rows.add_integers(np.array([1, 2]), np.zeros(2, np.intp), sums)
    print(sums[0])
"""


def zipped(folder: Path, **loops: bytes) -> str:
    """A zip of a package that has the module, and files of loops by what follows their name's dot."""
    path = folder / "package.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/__init__.py", "")
        archive.writestr("package/native.py", (files(native.__package__) / "native.py").read_bytes())
        for suffix, content in loops.items():
            archive.writestr(f"package/rows.{suffix}", content)
    return str(path)


def found(path: str, first: str = "") -> list[str]:
    """What a new process finds in a zip: where the module is, the loops, and what they find."""
    program = PROGRAM.format(zip=path, first=first)
    said = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True).stdout
    where, *rest = said.splitlines()
    assert where.startswith(path)
    return rest


@pytest.fixture
def library() -> bytes:
    """The file of the loops."""
    if native.compiled_loops("rows") is None:
        pytest.skip("framefold is installed without its compiled loops: there was no compiler")
    for suffix in EXTENSION_SUFFIXES:
        if (file := files(native.__package__) / f"rows{suffix}").is_file():
            return file.read_bytes()
    raise AssertionError("there are loops, and no file of them")


def test_loops_in_a_zip(tmp_path: Path, library: bytes) -> None:
    """No file of theirs is left behind."""
    here = tmp_path / "here"
    here.mkdir()
    path = zipped(tmp_path, **{EXTENSION_SUFFIXES[0].removeprefix("."): library})
    loops, added = found(path, f"import tempfile; tempfile.tempdir = {str(here)!r}")
    assert "package.rows" in loops
    assert added == "3"
    assert not list(here.iterdir())


def test_loops_where_no_file_can_be_written(tmp_path: Path, library: bytes) -> None:
    path = zipped(tmp_path, **{EXTENSION_SUFFIXES[0].removeprefix("."): library})
    assert found(path, f"import tempfile; tempfile.tempdir = {str(tmp_path / 'nowhere')!r}") == ["None"]


@pytest.mark.parametrize(
    "loops",
    [
        {},
        {EXTENSION_SUFFIXES[0].removeprefix("."): b"not a library"},
        {"cpython-399-other-linux-gnu.so": b"of another"},
    ],
)
def test_no_loops_for_this_system(tmp_path: Path, loops: dict[str, bytes]) -> None:
    assert found(zipped(tmp_path, **loops)) == ["None"]
