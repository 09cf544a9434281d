"""A quiet Spark session on this machine, for whoever has none."""

from __future__ import annotations

import os
import re
import sys
import warnings
from typing import TYPE_CHECKING

from ...aggregators.errors import EngineError
from .cache import cache_file
from .java import ensure_java
from .settings import PARTITIONS, spark_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark reads its log level from a file only: what is set later comes after the first lines are out. The class that is
# named is the JVM's side of pyspark, which prints a notice where its level differs from the root's.
_LOGGING = """\
status = error
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""


def local_session(app: str, master: str = "local[*]", **conf: str) -> SparkSession:
    """A new Spark session that prints errors only, or the one that is running.

    Parameters
    ----------
    app
        Name of the application.
    master
        Master URL. With a local one, Spark listens on the loopback address only (unless ``SPARK_LOCAL_IP`` says
        otherwise), shuffles into one partition per core, and runs this interpreter in its Python workers.
    **conf
        Spark settings, which win over those chosen here. On a session that is running already they are the only
        ones that are applied.

    Returns
    -------
    pyspark.sql.SparkSession
        A classic session. Its time zone is Spark's own default, the one of the machine.

    Raises
    ------
    JavaError
        If there is no Java 17 or later.

    Examples
    --------
    >>> from framefold.spark.session.session import local_session
    >>> session = local_session("trips", "local[2]", **{"spark.driver.memory": "2g"})  # doctest: +SKIP
    """
    without_advice_on_pandas()
    from pyspark.util import is_remote_only

    if is_remote_only():
        raise EngineError(
            "pyspark-client starts no Spark of its own; expected the address of a server of Spark Connect, "
            "as SparkSession.builder.remote('sc://HOST:PORT'), --master sc://HOST:PORT or in SPARK_REMOTE"
        )
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    settings = conf
    # Private, tried with PySpark 4.0.0 and 4.3.0: getActiveSession() is per thread, getOrCreate() starts a session.
    if SparkContext._active_spark_context is None:
        ensure_java()
        _set_environment(master)
        settings = _settings(master) | conf
    return SparkSession.builder.appName(app).master(master).config(map={**settings}).getOrCreate()


def without_advice_on_pandas() -> None:
    """Silence PySpark's advice not to use pandas 3: framefold passes Arrow tables to Spark, never pandas."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


def is_submitted() -> bool:
    """Whether spark-submit has started this process, on this machine or on a cluster."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def submitted_session(app: str, **conf: str) -> SparkSession:
    """The session that spark-submit was asked for: all it was given holds, and settings of ours are added."""
    without_advice_on_pandas()
    from pyspark.sql import SparkSession

    return SparkSession.builder.appName(app).config(map={**conf}).getOrCreate()


def connected(address: str, **conf: str) -> SparkSession:
    """A session of Spark Connect, by the address of its server, such as ``sc://host:15002``."""
    without_advice_on_pandas()
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(address).config(map={**conf}).getOrCreate()


def active_session() -> SparkSession | None:
    """The session of this process, of any kind; None where there is none."""
    without_advice_on_pandas()
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote
    from pyspark.util import is_remote_only

    # What has no JVM looks for one.
    return SparkSession.getActiveSession() if is_remote() or not is_remote_only() else None


def cores(master: str) -> int | None:
    """The number of tasks that a local master runs at a time.

    Parameters
    ----------
    master
        Master URL.

    Returns
    -------
    int or None
        None for a master that is not local.

    Examples
    --------
    >>> cores("local"), cores("local[2]"), cores("local[4,3]"), cores("local-cluster[2,3,1024]"), cores("yarn")
    (1, 2, 4, 6, None)
    """
    if master == "local":
        return 1
    if threads := re.fullmatch(r"local\[\s*(\d+|\*)\s*(?:,.*)?\]", master):
        return (os.cpu_count() or 1) if threads[1] == "*" else int(threads[1])
    if cluster := re.fullmatch(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]", master):
        return int(cluster[1]) * int(cluster[2])
    return None


def _settings(master: str) -> dict[str, str]:
    logging = cache_file("log4j2.properties", _LOGGING).as_uri()
    settings = spark_conf() | {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The defaults, not the extra options: those stay free for the user, and win.
        "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={logging}",
    }
    if tasks := cores(master):
        settings[PARTITIONS] = str(tasks)
    return settings


def _set_environment(master: str) -> None:
    if cores(master) is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        return
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # On one machine another interpreter than this one could only be of another version, or lack the packages.
    os.environ["PYSPARK_PYTHON"] = sys.executable
