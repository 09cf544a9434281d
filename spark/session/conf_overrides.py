"""What a session is set to for the time of a step: settings, the description of its jobs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from .settings import PARTITIONS

BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"

LARGE_BATCHES = {BATCH_ROWS: str(1 << 17)}
"""Settings for rows that are collected: by default a batch has 10,000 of them, and each has costs of its own."""

FASTER_GROUPING = LARGE_BATCHES | {
    # By default a task looks for each group in a table of 65,536 rows first, and in the one that has room for all only
    # where that is full: two searches, and neither table stays in the cache.
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
    # By default 200, for each of which a task opens a file. From 201 on it sorts and writes one; Spark joins
    # small ones.
    PARTITIONS: "201",
}
"""Settings for groups that are collected."""

DESCRIPTION = "spark.job.description"
"""What Spark's own pages show of a job; a property of the thread that starts it."""

# Sessions that share one in the JVM share its settings, which no public API shows: one lock for all.
LOCK = threading.Lock()
_users: Counter[tuple[int, str]] = Counter()
"""The number of steps that need each setting of a session, by its id."""


@contextmanager
def conf_overrides(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings of a session temporarily, except those that its user has set.

    They change the speed of a computation, never its result.
    """
    ours = []
    if isinstance(spark, SparkSession):
        with LOCK:
            for name, value in settings.items():
                # Another query of this session, in another thread, may have set it.
                if _users[id(spark), name] or spark.conf.get(name, None) is None:
                    spark.conf.set(name, value)
                    _users[id(spark), name] += 1
                    ours.append(name)
    try:
        yield
    finally:
        with LOCK:
            for name in ours:
                _users[id(spark), name] -= 1
                if not _users[id(spark), name]:
                    spark.conf.unset(name)


@contextmanager
def replaced_conf(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings of a session temporarily, whoever has set them before; then they are as they were."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


@contextmanager
def described(spark: SparkSession, words: str) -> Iterator[None]:
    """The jobs that this thread starts under a description, unless the user has given them one; on Connect under a tag.

    Parameters
    ----------
    spark
        A session of any kind.
    words
        What the jobs are for.
    """
    if not isinstance(spark, SparkSession):
        tag = words.replace(",", ";")  # Spark's own separator
        spark.addTag(tag)
        try:
            yield
        finally:
            spark.removeTag(tag)
        return
    free = False
    with suppress(PySparkException, AttributeError):  # a cluster that gives users no context, or a stopped one
        # Only here: the description that Spark's pages show of jobs is a property of the thread, and tags, which both
        # kinds of sessions have, are not shown in its place.
        context = spark.sparkContext
        if free := context.getLocalProperty(DESCRIPTION) is None:
            context.setLocalProperty(DESCRIPTION, words)
    try:
        yield
    finally:
        if free:
            with suppress(AttributeError):  # it was stopped meanwhile
                context.setLocalProperty(DESCRIPTION, None)  # type: ignore[arg-type]
