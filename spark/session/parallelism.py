"""The number of tasks that read files."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from ..tuning import MIN_READ_TASK_BYTES, READ_TASK_BYTES, READ_TASKS_A_CORE
from .session import cores

_parallelism: WeakKeyDictionary[SparkSession, int] = WeakKeyDictionary()


def runs(sizes: NDArray[np.int64], cores: int) -> list[slice]:
    """Runs of about equal size, none of them empty.

    A task has a fixed cost: there is one for each core, more only for much to read (so that a core that is done early
    takes another), and fewer for little.

    Examples
    --------
    >>> runs(np.array([4, 4, 4, 4, 8]) << 20, cores=3)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    if not len(sizes):
        return []
    weights = np.maximum(sizes, 1)
    total = int(weights.sum())
    count = max(cores, total // READ_TASK_BYTES)
    count = min(count, READ_TASKS_A_CORE * cores, total // MIN_READ_TASK_BYTES, len(sizes))
    middle = np.cumsum(weights) - weights / 2
    starts = np.flatnonzero(np.diff(np.floor(middle * max(1, count) / total), prepend=-1))
    return [slice(int(start), int(end)) for start, end in zip(starts, [*starts[1:], len(sizes)], strict=True)]


def parallelism(spark: SparkSession) -> int:
    """The tasks that a session of any kind runs at a time: those of a local master, else the default parallelism.

    That is the number of partitions that Spark gives a range; counting them is a job, run once a session.
    """
    if spark not in _parallelism:
        found = cores(spark.conf.get("spark.master", "") or "")
        if found is None:
            places = spark.range(1 << 14).select(f.spark_partition_id().alias("place")).toArrow().column("place")
            found = int(pc.max(places).as_py()) + 1
        _parallelism[spark] = found
    return _parallelism[spark]
