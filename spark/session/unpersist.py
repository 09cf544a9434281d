"""What is persisted for a DataFrame, for as long as somebody has that."""

from __future__ import annotations

import threading
import weakref

from pyspark.sql import DataFrame


def keep(persisted: DataFrame, result: DataFrame) -> None:
    """Let go of what is persisted as soon as nobody has the result any more."""
    weakref.finalize(result, _release, persisted).atexit = False


def _release(persisted: DataFrame) -> None:
    # In a thread of its own: the garbage collector may call this in the middle of a call to Spark.
    threading.Thread(target=_unpersist, args=(persisted,), daemon=True).start()


def _unpersist(persisted: DataFrame) -> None:
    try:
        persisted.unpersist()
    except Exception:  # the session has ended, and what it held with it
        return
