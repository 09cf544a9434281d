"""What a session lacks for streams."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pyspark
from pyspark.sql import GroupedData, SparkSession

from ...aggregators.errors import EngineError, installing
from ..session.session import cores
from ..session.settings import BATCH_BYTES, CHANGELOG, NO_LIMIT, PARTITIONS, PROVIDER
from ..session.worker_python import check_workers

PARTITIONS_A_CORE = 4
"""Of the state; of more a warning is given."""


def check_able(spark: SparkSession) -> None:
    """EngineError where no stream can run in a session; it names all that is missing, also what only makes it slow."""
    found, mended = [], []
    if not hasattr(GroupedData, "transformWithState"):
        found.append(f"PySpark is {pyspark.__version__}, and not 4.1 or later")
        mended.append("pip install 'pyspark>=4.1'")
    if find_spec("google.protobuf") is None:
        found.append("protobuf, which Spark's state in Python needs, is not installed")
        mended.append(installing("spark"))
    store = str(spark.conf.get(PROVIDER, "") or "Spark's own").rpartition(".")[2]
    if "RocksDB" not in store:
        found += [f"the state store is {store}, and not RocksDB", *slow_settings(spark)]
        mended.append(setting(spark))
    if found:
        raise EngineError(f"this session lacks what streams need: {'; '.join(found)}; expected {', '.join(mended)}")
    check_workers(spark, "protobuf", "pyarrow", "numpy")


def slow_settings(spark: SparkSession) -> list[str]:
    """The settings of a session with which each micro-batch takes longer than it need."""
    found, machine = [], cores(str(spark.conf.get("spark.master", "")))
    if machine is not None and partitions(spark) > PARTITIONS_A_CORE * machine:
        found.append(
            f"state has {partitions(spark)} partitions ({PARTITIONS}), for {machine} cores, each of which costs a core "
            "about a sixth of a second in every micro-batch, full or empty"
        )
    if str(spark.conf.get(CHANGELOG, "false")).lower() != "true":
        found.append(f"{CHANGELOG} is not true, and so each commit writes whole files of the state and not its changes")
    if (limit := spark.conf.get(BATCH_BYTES, None)) != NO_LIMIT:
        limit = "not set" if limit is None else limit
        found.append(
            f"{BATCH_BYTES} is {limit}, and so Spark adds up a batch's size after each event that it hands over"
        )
    return found


def advice(spark: SparkSession) -> str | None:
    """What makes streams of a session slow, with the line that mends it; None where nothing does."""
    found = slow_settings(spark)
    return f"{'; '.join(found)}; before the query first starts, {setting(spark)}" if found else None


def setting(spark: SparkSession) -> str:
    """The line that sets all that streams need, on a session that runs, too."""
    machine = cores(str(spark.conf.get("spark.master", "")))
    own = "" if machine in (None, os.cpu_count()) else f", partitions={machine}"
    if not isinstance(spark, SparkSession):  # of Connect, whose builder would need the address of the server again
        return f"spark.conf.set(name, value) for each of ff.spark_conf(streams=True{own}, running=True).items()"
    return f"SparkSession.builder.config(map=ff.spark_conf(streams=True{own})).getOrCreate()"


def partitions(spark: SparkSession) -> int:
    """Of the state, in a new checkpoint."""
    return int(spark.conf.get(PARTITIONS, "200") or 200)
