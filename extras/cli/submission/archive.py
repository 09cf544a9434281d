"""The archive of what a job needs on other machines."""

from __future__ import annotations

import ast
import io
import platform
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ....aggregators.errors import EngineError, QueryError
from ....spark.session.cache import cache_file
from ....spark.session.packaging import SHIPPED, package_zip

DATE = (1980, 1, 1, 0, 0, 0)
"""The date of every file: the same contents are the same archive."""


def build(name: str, job: Path | None) -> Path:
    """Write an archive that can be put on a Python path.

    Parameters
    ----------
    name
        Of the archive, without its extension.
    job
        The Python file whose modules go along; None for none.

    Returns
    -------
    pathlib.Path
        In the cache of this user. The same contents have the same path.

    Raises
    ------
    QueryError
        If the job, or a module beside it, is not Python, or a link to what is not beside the job.
    """
    added = {path: file.read_bytes() for path, file in modules_beside(job).items()} if job else {}
    # A package without an __init__.py is found in a zip by the entry of its folder only.
    added |= {f"{folder}/": b"" for path in added for folder in map(str, PurePosixPath(path).parents) if folder != "."}
    archive = io.BytesIO(Path(package_zip()).read_bytes())
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as opened:
        for path, contents in sorted(added.items()):
            opened.writestr(zipfile.ZipInfo(path, DATE), contents, zipfile.ZIP_DEFLATED)
    return cache_file(f"{name}.zip", archive.getvalue())


def modules_beside(job: Path) -> dict[str, Path]:
    """The modules in the folder of a job that it imports, or that these import, by their paths in the archive.

    Of a package the whole folder goes along, with its data. Imports are found in the source, also those inside
    functions; what is imported by a computed name is for ``--py-files``.

    Examples
    --------
    >>> Path("means.py").write_text("import numpy, helpers.logs") and None
    >>> Path("helpers").mkdir()
    >>> Path("helpers", "logs.py").touch()
    >>> Path("job.py").write_text("def late(): from means import Mean") and None
    >>> sorted(modules_beside(Path("job.py")))
    ['helpers/logs.py', 'means.py']
    """
    folder, found, left = job.parent, dict[str, Path](), [job]
    while left:
        for name in sorted(_imported(left.pop()) - set(SHIPPED)):
            for file in _files(folder, name):
                if not file.resolve().is_relative_to(folder.resolve()):
                    raise QueryError(
                        f"{str(file)!r} is a link to what is outside of {str(folder)!r}, and would go along with the "
                        "job; expected a copy of it, or no link"
                    )
                path = file.relative_to(folder).as_posix()
                if path not in found and file.resolve() != job.resolve():
                    found[path] = file
                    left += [file] if file.suffix == ".py" else []
    return found


def _imported(file: Path) -> set[str]:
    """The top-level names that a file imports, wherever in it."""
    try:
        tree = ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError) as error:
        raise QueryError(f"{str(file)!r} is not Python {platform.python_version()}: {error}") from error
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _files(folder: Path, name: str) -> Iterator[Path]:
    """The files of a module or package in a folder; none where there is no such."""
    package = folder / name
    if (package / "__init__.py").is_file() or (not (folder / f"{name}.py").is_file() and any(package.glob("*.py"))):
        for file in sorted(package.rglob("*")):
            inside = file.relative_to(folder).parts
            if file.is_file() and not any(part == "__pycache__" or part.startswith(".") for part in inside):
                yield file
    elif (folder / f"{name}.py").is_file():
        yield folder / f"{name}.py"


def pack_environment(place: str, into: Path) -> Path:
    """A virtual environment as an archive that executors unpack.

    Parameters
    ----------
    place
        The folder of a virtual environment, or an archive of one, which is taken as it is.
    into
        The folder to write an archive to.

    Raises
    ------
    QueryError
        If it is neither.
    EngineError
        If it cannot be packed.
    """
    path = Path(place)
    if path.is_file() and path.name.endswith((".tar.gz", ".tgz", ".zip", ".tar")):
        return path
    if not (path / "pyvenv.cfg").is_file():
        raise QueryError(
            f"--environment is {place!r}; expected the folder of a virtual environment, or an archive of one "
            "(.tar.gz, .tgz, .tar or .zip)"
        )
    target = into / f"{path.resolve().name.lstrip('.') or 'environment'}.tar.gz"
    command = [sys.executable, "-m", "venv_pack", "--prefix", place, "--output", str(target), "--force", "--quiet"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["it does not say why"]
        more = "; pip install venv-pack2" if "No module named" in said[-1] else ""
        raise EngineError(f"venv-pack cannot pack the environment {place!r}: {said[-1].strip()}{more}")
    return target
