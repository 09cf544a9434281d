"""A Kafka broker of a test's own, of the jars that `make slow` gets from Maven Central."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from ..support.processes import free_port, listens, running
from ..support.sessions import local_session

JARS = Path(sys.prefix) / "kafka" / "jars"
PYSPARK = Path(sys.prefix) / "kafka" / "python"
CONNECTOR = ("commons-pool2-", "kafka-clients-", "spark-")

SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/logs
num.partitions={partitions}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


def check() -> None:
    """Skip a test if there is no Kafka, or another PySpark than that of the connector."""
    pytest.importorskip("google.protobuf")
    found = {path.name for path in JARS.glob("spark-sql-kafka-*.jar")}
    if f"spark-sql-kafka-0-10_2.13-{pyspark.__version__}.jar" not in found:
        have = f"found {sorted(found) or 'none'} and PySpark {pyspark.__version__}"
        reason = f"Kafka needs Maven, and PySpark as old as its connector, which `make slow` brings: {have}"
        pytest.skip(reason)


def connector() -> str:
    """The jars of Spark's connector, as ``spark.jars`` has them."""
    return ",".join(str(path) for path in sorted(JARS.glob("*.jar")) if path.name.startswith(CONNECTOR))


@contextmanager
def broker(folder: Path, partitions: int = 2) -> Iterator[str]:
    """The address of a running broker, which keeps its topics in a folder; and how many partitions each has."""
    java = shutil.which("java", path=os.pathsep.join([f"{os.environ.get('JAVA_HOME', '')}/bin", os.environ["PATH"]]))
    assert java, "Kafka needs a Java"
    port, controller = free_port(), free_port()
    settings = folder / "server.properties"
    settings.write_text(SETTINGS.format(folder=folder, port=port, controller=controller, partitions=partitions))
    kafka = [java, "-XX:TieredStopAtLevel=1", "-Xmx512m", "-cp", f"{JARS}/*"]
    cluster = "A" + base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")[1:]  # no option: no "-" first
    with (folder / "broker.log").open("ab") as log:
        made = [*kafka, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)]
        subprocess.run(made, check=True, stdout=log, stderr=log)
    command, ready = [*kafka, "kafka.Kafka", settings], partial(listens, port)
    with running(command, folder / "broker.log", ready=ready, end=signal.SIGKILL):
        yield f"127.0.0.1:{port}"


@contextmanager
def kafka(folder: Path, **settings: str) -> Iterator[tuple[SparkSession, dict[str, str]]]:
    """A session with the connector, and the options of a broker whose topics have two partitions."""
    check()
    session = local_session("kafka", "local[2]", **{"spark.jars": connector()} | settings)
    try:
        with broker(folder, partitions=2) as address:
            yield session, {"kafka.bootstrap.servers": address}
    finally:
        session.stop()


def send(events: DataFrame, topic: str, options: dict[str, str], *columns: str) -> None:
    """Write events to a topic as JSON, each to the partition that its column says, in their order."""
    form = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
    value = f.to_json(f.struct(*columns), form).alias("value")
    events.select(value, "partition").write.format("kafka").options(**options, topic=topic).save()


def receive(session: SparkSession, topic: str, options: dict[str, str], schema: str, **more: Any) -> DataFrame:
    """A topic's events from its beginning, as a stream."""
    asked = options | {"subscribe": topic, "startingOffsets": "earliest"}
    records = session.readStream.format("kafka").options(**asked, **more).load()
    return records.select(f.from_json(f.col("value").cast("string"), schema).alias("event")).select("event.*")
