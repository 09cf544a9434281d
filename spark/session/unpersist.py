"""What is persisted for a DataFrame, for as long as somebody has that."""

from __future__ import annotations

import threading
import weakref

from pyspark.sql import DataFrame


def unpersist_with(persisted: DataFrame, result: DataFrame) -> None:
    """Unpersist a DataFrame as soon as nobody has the result any more."""
    weakref.finalize(result, _in_a_thread, persisted).atexit = False


def _in_a_thread(persisted: DataFrame) -> None:
    # The garbage collector may call this in the middle of a call to Spark.
    threading.Thread(target=_unpersist, args=(persisted,), daemon=True).start()


def _unpersist(persisted: DataFrame) -> None:
    try:
        persisted.unpersist()
    except Exception:  # the session has ended, and what it held with it
        return
