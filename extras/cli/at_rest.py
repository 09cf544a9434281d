"""What the commands of ``framefold partials`` do.

What is kept is said once, by ``create``; the other commands find it beside the manifests.
"""

from __future__ import annotations

import json
import time as clock
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow.fs import FileType
from rich.console import Console

from ... import QueryError
from ... import partials as of_python
from ...aggregators.errors import EngineError
from ...runtime.sources.files import one_line
from ..stored.commits import FOLDER
from ..stored.partials import StoredPartials
from ..stored.table import Table
from .arguments import read_aggregates, value
from .inputs import open_files
from .job import Destination, note
from .output import WINDOW, check_out, preview
from .windows import read_windows

WORDS = "create.json"
"""The file, in the folder of the manifests, with the words of ``create``."""


def create(path: str, time: str, frame: str, agg: list[str], by: Sequence[str], format: str | None) -> None:
    """Check and keep what is said; QueryError where something else has been said before."""
    said: dict[str, Any] = {"time": time, "frame": frame, "agg": agg}
    said["by"] = [key.strip() for each in by for key in each.split(",")]
    if format is not None:
        said["format"] = format
    system, place = place_of(path)
    if system.get_file_info(place).type != FileType.NotFound:
        if words_of(path) != said:
            raise QueryError(f"{path!r} has other partials, of {words_of(path)}; expected the same, or another path")
        return
    made(path, said, trust=False)
    system.create_dir(place.rpartition("/")[0], recursive=True)
    with system.open_output_stream(place) as stream:
        stream.write(json.dumps(said, indent=1).encode())


def append(path: str, events: list[str], run: str, format: str | None) -> None:
    """Add a run, and say what is in."""
    began = clock.perf_counter()
    added = opened(path).append(open_files(events, format).files, run=run)
    note(
        f"the run {run!r} has {added.events:,} events in {added.rows:,} partials; {clock.perf_counter() - began:.1f} s"
    )


def give(
    of: StoredPartials,
    windows: Sequence[str],
    every: str | None,
    times: Sequence[str | None],
    outputs: Sequence[str],
    out: str | None,
    shown: int,
) -> None:
    """Write and show windows, of those that end between two times if these are given."""
    began = clock.perf_counter()
    specs = [read_windows(each, {"every": every}) for each in windows]
    ends = (None if each is None else value(each) for each in times)
    found: pa.Table = of.window(*specs).ending(*ends).aggregate(*outputs)
    if out is not None:
        check_out(out, (), pa.schema([each for each in found.schema if each.name != WINDOW]), spark=False)
    Destination(out, None, shown).take_table(found, began)


def runs(path: str) -> None:
    """Show the runs that are in."""
    Console().print(preview(opened(path).runs()))


def opened(path: str, trust: bool = False) -> StoredPartials:
    """The partials that ``create`` has been told of."""
    return made(path, words_of(path), trust)


def made(path: str, said: dict[str, Any], trust: bool) -> StoredPartials:
    """The partials that are said to be at a path."""
    outputs: dict[str, Any] = read_aggregates(said["agg"], [])
    frame = read_windows(said["frame"], {})
    kind = said.get("format")
    return of_python(path, time=said["time"], by=said["by"], frame=frame, format=kind, trust=trust, **outputs)


def words_of(path: str) -> dict[str, Any]:
    """What ``create`` was given; EngineError where there is nothing."""
    system, place = place_of(path)
    try:
        if system.get_file_info(place).type == FileType.NotFound:
            raise QueryError(f"{path!r} has no partials of the command line; expected framefold partials create first")
        with system.open_input_stream(place) as stream:
            found: dict[str, Any] = json.loads(stream.read())
        lists = [found["agg"], found["by"]]
        if not all(isinstance(each, str) for each in (found["time"], found["frame"], *lists[0], *lists[1])):
            raise TypeError(found)
    except QueryError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{place!r} cannot be read: {one_line(error)}; expected what create has written") from error
    return found


def place_of(path: str) -> tuple[Any, str]:
    """The file system of a path, and the file on it that has the words of ``create``."""
    commits = Table.at(path).commits
    return commits.system, f"{commits.path.rstrip('/')}/{FOLDER}/{WORDS}"
