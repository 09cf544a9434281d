"""The files in which Spark notes the micro-batches of a checkpoint, on a disk of this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pyarrow.fs import LocalFileSystem
from pyspark.sql import SparkSession

from ...aggregators.errors import EngineError, QueryError
from ...runtime.sources.files import Files
from ...runtime.sources.untrusted import untrusted
from .places import readable

OFFSETS, COMMITS, SOURCES, METADATA = "offsets", "commits", "sources", "metadata"
WATERMARKS = {OFFSETS: "batchWatermarkMs", COMMITS: "nextBatchWatermarkMs"}
"""Where the watermark is noted: that of the micro-batch, and that of the next one."""

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
NUMBER = re.compile(r"[0-9]{1,18}")
"""The names of their files."""

ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
"""What the id of a query looks like."""

KNOWN = "v1"
"""The version of these files, in their first line."""


@dataclass(frozen=True)
class Logs:
    """The files of a checkpoint.

    Parameters
    ----------
    path
        Its folder.
    """

    path: Path

    @classmethod
    def at(cls, checkpoint: str | os.PathLike[str]) -> Logs:
        """Those of a checkpoint, there or not; EngineError where it is not on a disk of this machine."""
        place = readable(checkpoint)
        try:
            system, (path,) = Files((place,)).places
        except QueryError:
            system, path = None, place
        if not isinstance(system, LocalFileSystem):
            raise EngineError(
                f"the checkpoint {place!r} is not on a disk of this machine, where one can be renamed as a whole; "
                "expected a path of this machine"
            )
        return cls(Path(path))

    @property
    def place(self) -> str:
        """Its address, as Spark takes it."""
        return f"file://{self.path}"

    def id(self) -> str:
        """The id of the query."""
        with self._reading(METADATA):
            return id_in((self.path / METADATA).read_text())

    def _reading(self, log: str) -> AbstractContextManager[None]:
        """EngineError where a file is none that Spark has written."""
        return reading(str(self.path), log)

    def last(self, spark: SparkSession) -> int:
        """The number of the last micro-batch, which is over.

        Raises
        ------
        EngineError
            If there is none, another one has begun, the query runs, or the files are of a format that is not known.
        """
        begun, over = self.numbers(OFFSETS), self.numbers(COMMITS)
        if not over or not (self.path / METADATA).is_file():
            raise EngineError(
                f"the checkpoint {str(self.path)!r} has no micro-batch that is over; expected the checkpointLocation "
                "of a query that has run"
            )
        identity = self.id()
        if any(query.id == identity for query in spark.streams.active):
            raise EngineError(f"the query of the checkpoint {str(self.path)!r} runs; expected it to be stopped before")
        if begun[-1:] != over[-1:]:
            raise EngineError(
                f"the micro-batch {begun[-1] if begun else 0} of the checkpoint {str(self.path)!r} has begun and is "
                "not over, and its sink may have it or not; expected the query to be started once more with "
                ".trigger(availableNow=True), and to end"
            )
        for log in WATERMARKS:
            self.lines(log, over[-1])
        return over[-1]

    def lines(self, log: str, number: int) -> list[str]:
        """The lines of a micro-batch; EngineError where they are of a version that is not known here."""
        with self._reading(log):
            lines = (self.path / log / str(number)).read_text().split("\n")
            if lines[0] != KNOWN or len(lines) < 2 or json.loads(lines[1]).get("stateUniqueIds"):
                raise EngineError(
                    f"the checkpoint {str(self.path)!r} is of another format of Spark's ({lines[0]!r:.40} in {log}); "
                    f"expected {KNOWN!r}, without spark.sql.streaming.stateStore.checkpointFormatVersion"
                )
        return lines

    def go_on_from(self, old: Logs, number: int) -> None:
        """Number the one micro-batch here as one of another checkpoint, with its offsets, watermarks, known files."""
        for log, name in WATERMARKS.items():
            there, own = old.lines(log, number), self.lines(log, 0)
            with old._reading(log):
                said, mine = json.loads(there[1]), json.loads(own[1])
                mine[name] = int(said[name])
                if POLICY in said.get("conf", {}):
                    mine["conf"][POLICY] = str(said["conf"][POLICY])
            remove(self.path / log / "0")
            (self.path / log / str(number)).write_text("\n".join([KNOWN, json.dumps(mine), *there[2:]]))
            if log == OFFSETS and number:  # Spark reads from where its last micro-batch has begun
                with old._reading(log):
                    shutil.copy(old.path / log / str(number - 1), self.path / log)
        shutil.rmtree(self.path / SOURCES, ignore_errors=True)
        if (old.path / SOURCES).is_dir():
            with old._reading(SOURCES):
                shutil.copytree(old.path / SOURCES, self.path / SOURCES, symlinks=True)  # of no file elsewhere
        for folder in self.path.glob("state/0/[0-9]*"):
            if not (folder / "1.zip").exists():
                raise EngineError(f"Spark has written no whole state to {str(folder)!r}; expected a .zip of RocksDB")
            for file in [*folder.glob("1.*"), *folder.glob(".1.*.crc")]:  # the version is the next micro-batch's number
                file.rename(file.with_name(file.name.replace("1.", f"{number + 1}.", 1)))

    def move(self, to: Path) -> None:
        """Rename it as a whole, once Spark's own notes of its path are changed."""
        for file in (self.path / "state").glob("*/_metadata/*/*"):
            if not file.name.endswith(".crc"):
                text = file.read_text().replace(f"{self.path}/", f"{to}/")
                remove(file)
                file.write_text(text)
        self.path.rename(to)

    def numbers(self, log: str) -> list[int]:
        """The micro-batches that a log has, in order."""
        folder = self.path / log
        return (
            sorted(int(each.name) for each in folder.iterdir() if NUMBER.fullmatch(each.name))
            if folder.is_dir()
            else []
        )


def reading(checkpoint: str, log: str) -> AbstractContextManager[None]:
    """EngineError where a file of a checkpoint is none that Spark has written."""
    place = f"the checkpoint {checkpoint!r} has {log} that cannot be read"
    return untrusted(place, "the checkpointLocation of a query that has run")


def id_in(metadata: str) -> str:
    """The id of a query, by what a checkpoint says of it; ValueError and others where it says none."""
    found = json.loads(metadata)["id"]
    if ID.fullmatch(found) is None:
        raise ValueError(f"the id is {found!r:.80}")
    return str(found)


def remove(file: Path) -> None:
    """Remove a file with the sum that Spark keeps beside it."""
    file.unlink()
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
