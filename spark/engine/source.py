"""The interface of sources of partials, as ``driver`` uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from ...runtime.partials.partials import Partials
from ...runtime.reporting import LOGGER
from ..session.staging import Task


@dataclass(frozen=True)
class PartialRows:
    """Partials as rows of Spark's.

    Parameters
    ----------
    df
        The rows, lazily.
    slide
        The function of a task that makes results of rows of whole keys.
    order
        The columns by which the rows of one key are sorted for it, after keys ``k0``, ``k1``, ....
    merges
        Whether several tasks have partials of one key and frame, each as `PartialsCodec` writes them.
    """

    df: DataFrame
    slide: Task
    order: Sequence[str]
    merges: bool = True


class PartialsSource(Protocol):
    """Makes the partials of one query; see ``driver.run``."""

    def collect(self, limit: int | None) -> Partials | None:
        """All partials, in any order, on the driver; None where executors are to have them. Runs at once.

        There may be no more than ``limit``, as :func:`~framefold.spark.engine.tasks.weight_of` counts them, unless that
        is None.
        """

    def distribute(self) -> PartialRows:
        """The partials as rows that Spark can shuffle, lazily; after `collect`, from what that has persisted."""

    def release(self, result: DataFrame | None) -> None:
        """Unpersist what is persisted: now, or once nobody has the result any more that reads it."""


def limited(rows: DataFrame, limit: int | None) -> pa.Table | None:
    """Rows on the driver; None, and the logger is told, where there are more than ``limit``."""
    found = (rows if limit is None else rows.limit(limit + 1)).toArrow()
    if limit is None or len(found) <= limit:
        return found
    left_to_executors(f"max_driver_partials={limit} is not enough")
    return None


def left_to_executors(why: str) -> None:
    """Tell the logger that the driver gets no partials, and why: for a source that then gives None."""
    LOGGER.warning("executors merge and slide, not the driver: %s", why)
