"""Partials that the driver has: sent to tasks, whole keys to each."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from ...runtime.partials.merge import Partials
from ..convert.ipc import to_ipc
from ..session.conf_overrides import batches_to_dataframe
from . import tasks
from .source import PartialRows

BLOBS = t.StructType([t.StructField("ipc", t.BinaryType())])


@dataclass(frozen=True)
class DriverSource:
    """Merged partials."""

    spark: SparkSession
    job: tasks.Job
    partials: Partials

    def collect(self, limit: int | None) -> Partials | None:
        return self.partials if limit is None or len(self.partials) <= limit else None

    def distribute(self) -> PartialRows:
        blobs = pa.table({"ipc": pa.array(blobs_of(self.partials), pa.binary())})
        return PartialRows(batches_to_dataframe(self.spark, blobs, BLOBS, 1), tasks.slide_blobs, None)

    def release(self, result: DataFrame | None) -> None:
        pass


def blobs_of(merged: Partials, rows: int = tasks.SLID_ROWS) -> list[bytes]:
    """IPC blobs of whole keys, of about ``rows`` partials each."""
    starts = merged.starts
    assert starts is not None
    edges = starts[np.searchsorted(starts, np.arange(0, len(merged), rows), side="left").clip(max=len(starts) - 1)]
    cuts = [*np.unique(np.append(edges, 0)).tolist(), len(merged)]
    return [to_ipc(merged.table.slice(first, last - first)) for first, last in itertools.pairwise(cuts)]
