"""Which checkpoints Spark's readers of state find."""

from __future__ import annotations

import re

from ...aggregators.errors import EngineError

QUOTED = re.compile(r'[\x00-\x20"#%<>?\[\\\]^`{|}\x7f]')
"""What a path has in another spelling as an address (java.net.URI)."""


def require_readable(checkpoint: str) -> None:
    """EngineError where Spark's readers of state would look for another folder: they encode such paths twice."""
    if (found := QUOTED.search(checkpoint)) is not None:
        raise EngineError(
            f"the checkpoint {checkpoint!r} has {found[0]!r} in its path, which Spark's reader of state encodes once "
            "too often, and so does not find; expected a path without it"
        )
