"""Which checkpoints Spark's readers of state find."""

from __future__ import annotations

import os
import re

from ...aggregators.errors import EngineError, QueryError

QUOTED = re.compile(r'[\x00-\x20"#%<>?\[\\\]^`{|}\x7f]')
"""What a path has in another spelling as an address (java.net.URI)."""


def readable(checkpoint: str | os.PathLike[str]) -> str:
    """The path of a checkpoint as Spark takes it.

    Raises
    ------
    QueryError
        If it is no path.
    EngineError
        If Spark's readers of state would look for another folder: they encode such paths twice.
    """
    place = os.fspath(checkpoint) if isinstance(checkpoint, os.PathLike) else checkpoint
    if not isinstance(place, str) or not place.strip():
        raise QueryError(f"the checkpoint is {checkpoint!r}; expected the checkpointLocation of a stream")
    if (found := QUOTED.search(place)) is not None:
        raise EngineError(
            f"the checkpoint {place!r} has {found[0]!r} in its path, which Spark's reader of state encodes once "
            "too often, and so does not find; expected a path without it"
        )
    return place
