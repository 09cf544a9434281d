"""The settings with which Spark runs framefold fast, or its streams at all."""

from __future__ import annotations

import os

from ...aggregators.errors import QueryError

__all__ = ["spark_conf"]

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
PARTITIONS = "spark.sql.shuffle.partitions"
BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
NO_LIMIT = str((1 << 31) - 1)

NO_BYTE_LIMIT = {BATCH_BYTES: NO_LIMIT}
"""For events that go to Python tasks: with a limit, 256 MB by default, Spark adds up the size of an Arrow batch after
each of its rows. The limit of rows remains."""

AT_START = {"spark.python.unix.domain.socket.enabled": "true"}
"""Over TCP a task's first and last rows come late. Spark before 4.1 does not know this setting."""


def of_streams(partitions: int) -> dict[str, str]:
    """What streams need of a session, which may run already, or are slow without."""
    return {PROVIDER: ROCKSDB, CHANGELOG: "true", PARTITIONS: str(partitions), **NO_BYTE_LIMIT}


def spark_conf(*, streams: bool = False, partitions: int | None = None, running: bool = False) -> dict[str, str]:
    """Settings for a Spark session, by their names: those that make framefold faster; those that its streams need.

    They never change a result.

    Parameters
    ----------
    streams
        Whether to have those of streams too: the state store RocksDB, without which there is no stream; changelogs,
        and few partitions, without which each micro-batch takes longer.
    partitions
        The partitions of a stream's state, which stay as they are in its checkpoint, and of all shuffles of the
        session. None: as many as this machine has cores, which is right where Spark runs on it; on a cluster say how
        many of its cores the stream is to use.
    running
        Whether to have only those that a running session takes, or one of Spark Connect, whose server runs already:
        settings of Spark SQL. ``spark.python.unix.domain.socket.enabled`` is none: it is read when Spark starts.

    Raises
    ------
    QueryError
        If the partitions are not a whole number of at least 1, or are given for a session without streams.

    Examples
    --------
    >>> import framefold as ff
    >>> for name, value in ff.spark_conf(streams=True, partitions=2).items():
    ...     print(name.removeprefix("spark."), value.split(".")[-1])
    python.unix.domain.socket.enabled true
    sql.streaming.stateStore.providerClass RocksDBStateStoreProvider
    sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled true
    sql.shuffle.partitions 2
    sql.execution.arrow.maxBytesPerBatch 2147483647

    A session with them: ``SparkSession.builder.config(map=ff.spark_conf(streams=True)).getOrCreate()``; on one that
    runs, ``spark.conf.set`` with each of ``ff.spark_conf(streams=True, running=True)``.
    """
    if partitions is not None:
        if not isinstance(partitions, int) or isinstance(partitions, bool) or partitions < 1:
            raise QueryError(f"partitions is {partitions!r}; expected a whole number of at least 1")
        if not streams:
            raise QueryError(
                f"partitions is {partitions!r}, which is of the state of streams; expected it with streams=True"
            )
    return ({} if running else AT_START) | (of_streams(partitions or os.cpu_count() or 1) if streams else NO_BYTE_LIMIT)
