from __future__ import annotations

import os
import re
import sys
from typing import Any, cast

import pyspark
import pytest
from pyspark.sql import SparkSession

import framefold as ff

from ..support.inner import inner, place_of
from ..support.sessions import local_session
from ..support.sessions import session as sessions
from ..support.spark_parts import packaging
from ..support.spark_results import conf


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """What a session changes is put back: setting first makes monkeypatch remember what was there."""
    for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch


@pytest.mark.parametrize(
    ("master", "address", "expected"),
    [
        *((master, None, "127.0.0.1") for master in ("local", "local[*]", "local[2,4]", "local-cluster[2,1,1024]")),
        ("local[2]", "127.0.0.2", "127.0.0.2"),
        ("spark://somewhere:7077", None, None),
    ],
)
def test_a_local_master_stays_on_this_machine_and_interpreter(
    master: str, address: str | None, expected: str | None, environment: pytest.MonkeyPatch
) -> None:
    """An address of the user's is kept; a cluster is reached from the address and with the Python of the user."""
    environment.setenv("PYSPARK_PYTHON", "another-python")
    if address:
        environment.setenv("SPARK_LOCAL_IP", address)
    inner("environment of a session")(master)
    assert os.environ.get("SPARK_LOCAL_IP") == expected
    assert os.environ["PYSPARK_PYTHON"] == (sys.executable if expected else "another-python")
    assert ("spark.sql.shuffle.partitions" in sessions._settings(master)) == bool(expected)


@pytest.mark.parametrize("version", ["3.5.9", "5.0.0.dev1"])
def test_another_spark_is_refused(version: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    sentence = re.escape(
        f"PySpark is {version}; expected 4.0 or later, and below 5: pip install '.[spark]' in a clone of framefold"
    )
    for data in (spark.range(3), ff.parquet("nowhere", spark=spark)):
        with pytest.raises(ff.EngineError, match=sentence):
            ff.events(data, time="id")


def test_a_server_of_another_spark_is_refused() -> None:
    class Session:
        version = "3.5.1"

    with pytest.raises(
        ff.EngineError, match=r"the Spark of the session is 3\.5\.1; expected 4\.0 or later, and below 5"
    ):
        packaging.ship(cast(Any, Session()))


@pytest.mark.classic("the server's settings are its own")
def test_settings(spark: SparkSession) -> None:
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch") == str(2**31 - 1)


@pytest.mark.classic("a session of Connect is not started by this process")
def test_a_running_session_is_handed_back(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> None:
        raise ff.JavaError("looked for Java though a JVM is running")

    monkeypatch.setattr(*place_of("Java of a session"), never)
    with conf(spark, {"spark.sql.shuffle.partitions": "3", "spark.framefold.test": "not yet"}):
        again = local_session("another", "local[2]", **{"spark.framefold.test": "yes"})
        assert again.sparkContext.applicationId == spark.sparkContext.applicationId
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
        assert spark.conf.get("spark.framefold.test") == "yes"


@pytest.mark.classic("without a JVM there is nothing to start")
def test_without_java_spark_is_not_even_started(
    environment: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from pyspark import SparkContext

    def none() -> None:
        raise ff.JavaError("no Java")

    environment.setattr(SparkContext, "_active_spark_context", None)
    environment.setattr(*place_of("Java of a session"), none)
    with pytest.raises(ff.JavaError, match="no Java"):
        local_session("never")
    assert capfd.readouterr() == ("", "")
